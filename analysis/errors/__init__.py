"""What kind of mistake a free answer is."""
