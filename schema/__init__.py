"""The table that every dataset shares: columns, checks, finding, loading, identity."""
