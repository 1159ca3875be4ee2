"""Workers, tasks and the score store."""
