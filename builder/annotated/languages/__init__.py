"""Articles and inflection, one module for each language."""
