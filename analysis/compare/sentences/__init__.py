"""Compare a configuration with its sentence version."""
