"""Score tasks: in this process, in several processes of this machine, or on a Ray cluster."""

from .here import Report, Task, score_here
from .processes import score_in_processes
from .ray_cluster import score_on_ray

__all__ = ["Report", "Task", "score_here", "score_in_processes", "score_on_ray"]
