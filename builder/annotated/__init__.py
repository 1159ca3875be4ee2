"""X-FACTR's annotated prompts: read, and written out with the forms that its marks ask for."""
