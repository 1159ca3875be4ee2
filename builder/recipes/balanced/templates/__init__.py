"""Templates: translation, votes, slots."""
