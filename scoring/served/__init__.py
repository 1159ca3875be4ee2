"""Models behind a server: the reads of a plan become requests."""

from .engine import ServedEngine
from .handshake import LimitedServerError, connect, shake
from .openai import TopCompletions

__all__ = ["LimitedServerError", "ServedEngine", "TopCompletions", "connect", "shake"]
