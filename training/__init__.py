"""What changes a model: edits, code-switched sentences, consistency as a signal."""

FREQUENCY, LABEL = "frequency", "label"  # how the names of switched sentences are chosen
