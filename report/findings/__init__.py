"""What each analysis shows: a `Finding` made of its numbers."""
