"""Chat templates of our own, and the text that each must put in front of an answer."""

from .answering import ANSWERING
from .case import Case
from .thinking import THINKING

CASES: dict[str, Case] = {**ANSWERING, **THINKING}

__all__ = ["CASES"]
