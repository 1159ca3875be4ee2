"""Who scores tasks: this process, several devices of this machine, or a Ray cluster."""

from .devices import score_on_devices
from .local import Progress, score_here
from .ray_cluster import score_on_ray

__all__ = ["Progress", "score_here", "score_on_devices", "score_on_ray"]
