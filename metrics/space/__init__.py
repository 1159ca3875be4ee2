"""The page of a metric's Space."""
