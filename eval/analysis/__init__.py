"""What is made of finished runs: comparisons, and the tokens of a dataset."""
