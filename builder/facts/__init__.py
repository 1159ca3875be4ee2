"""Facts, labels and templates in one form, and inference from known facts."""
