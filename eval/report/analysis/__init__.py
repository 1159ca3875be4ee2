"""The HTML pages of analyses."""
