"""BMLAMA as MuBench and BabyLM 2026 have it."""
