"""Models behind a server: the reads of a plan become requests."""

from .engine import ServedEngine
from .handshake import shake
from .kinds import connect

__all__ = ["ServedEngine", "connect", "shake"]
