"""Search for the object in a sentence."""
