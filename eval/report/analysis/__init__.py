"""Pages of analyses of runs."""
