"""Facts, labels and templates in one form, and what follows from known facts."""
