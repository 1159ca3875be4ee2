"""Forward strategies of the engine: one module each."""
