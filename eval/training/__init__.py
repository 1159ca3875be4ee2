"""Evaluation during training."""
