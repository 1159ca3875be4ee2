"""How a plan's inputs are run: shared beginnings once, heads where something is read."""

from .engine import Engine
from .network import Network
from .plan import Input, Plan

__all__ = ["Engine", "Input", "Network", "Plan"]
