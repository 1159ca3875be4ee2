"""Run a plan of inputs: common beginnings once, the head only where something is read."""

from .engine import Engine
from .forward import Forecast, Ids, Input, Network, Plan, Progress

__all__ = ["Engine", "Forecast", "Ids", "Input", "Network", "Plan", "Progress"]
