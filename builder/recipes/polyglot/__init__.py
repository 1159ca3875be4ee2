"""The dataset polyglot: build and card."""
