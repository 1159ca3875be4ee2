"""Push a dataset or a metric to the Hub: files, checks, one commit."""
