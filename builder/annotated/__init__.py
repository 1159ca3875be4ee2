"""X-FACTR's annotated prompts: parse them and render them with inflected forms."""
