"""Files of a dataset: Parquet, card, eval.yaml."""
