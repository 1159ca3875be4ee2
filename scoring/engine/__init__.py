"""Run a plan of inputs: common beginnings once, the head only where something is read."""

from .engine import Engine
from .forward import Forecast, Input, Network, Plan

__all__ = ["Engine", "Forecast", "Input", "Network", "Plan"]
