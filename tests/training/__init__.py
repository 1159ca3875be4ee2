"""What changes a model."""
