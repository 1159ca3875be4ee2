"""Compare a configuration with its sentence version."""

CHRF_UNITS = ("sentence", "prompt")  # what chrF compares
