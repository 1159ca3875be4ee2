"""X-FACTR's facts in 23 languages, one configuration for each."""
