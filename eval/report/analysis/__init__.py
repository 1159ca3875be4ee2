"""Pages of what is made of finished runs."""
