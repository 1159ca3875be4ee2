"""The builder: sources to facts to Parquet and card."""
