"""Models behind a server: the reads of a plan become requests."""
