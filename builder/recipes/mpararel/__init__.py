"""mpararel: every released tuple of a language in every released pattern of its relation."""
