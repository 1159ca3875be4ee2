"""Find the object in a sentence."""
