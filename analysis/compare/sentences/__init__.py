"""Compare a configuration with its sentence version."""

COMPARED = ("sentence", "prompt")  # by chrF
