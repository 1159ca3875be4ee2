"""Models behind a server: the reads of a plan become requests."""

from .engine import ServedEngine
from .handshake import LimitedServerError, shake
from .kinds import connect
from .openai import TopCompletions

__all__ = ["LimitedServerError", "ServedEngine", "TopCompletions", "connect", "shake"]
