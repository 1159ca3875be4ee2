"""Compare two finished runs."""
