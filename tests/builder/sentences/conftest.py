from .phrases import tiny

__all__ = ["tiny"]
