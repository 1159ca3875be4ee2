"""What is made of finished runs: comparisons, groups, relations of languages, boards, tokens."""
