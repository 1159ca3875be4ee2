"""What changes a model: edits, code-switched sentences, consistency as a signal."""
