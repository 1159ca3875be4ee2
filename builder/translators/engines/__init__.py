"""Translation engines: one module each."""
