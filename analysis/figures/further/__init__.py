"""What is computed or shown only if it is asked for."""
