"""Types of errors of free predictions, by rule, without a model (X-FACTR, table 2)."""
