"""The kinds of faults, and the moment of each."""

from typing import NamedTuple

FILES = ("open", "write", "fsync", "rename", "unlink", "mkdir")
EVERY = (*FILES, "sql", "request")
# By kind, the operations at which it may happen.
KINDS = {
    "kill": EVERY,  # SIGKILL: what is not flushed is lost
    "interrupt": EVERY,  # Ctrl-C
    "power": EVERY,  # and what is not synced is cut
    "torn": ("write",),  # killed in a write
    "full": ("write", "mkdir", "sql"),  # no space is left, from this operation on
    "rename": ("rename",),  # the three operations that fail once, with EIO or EACCES
    "fsync": ("fsync",),
    "denied": ("open", "mkdir", "unlink"),
    "second": EVERY,  # another process starts
    "drop": ("request",),  # of a server: the connection is lost, before the request is handled
    "lost": ("request",),  # and after it
    "slow": ("request",),
    "busy": ("request",),
    "broken": ("request",),  # HTTP 503
    "cut": ("request",),  # half of an answer
    "page": ("request",),  # a page of another server
}
NETWORK = ("drop", "lost", "slow", "busy", "broken", "cut", "page")


class Fault(NamedTuple):
    """A fault at a share of the operations of a process that it may happen at."""

    kind: str
    share: float  # 0: the first one; 1: behind the last
    part: float = 0.0  # of a write that arrives; of the operations between two switches
    times: int = 1  # number of requests in a row
    command: str = ""  # of a second process

    def __str__(self) -> str:
        more = [f"×{self.times}"] * (self.times > 1) + [self.command] * bool(self.command)
        return " ".join([f"{self.kind}@{self.share:.3f}", *more])

    def place(self, counts: dict[str, int]) -> int:
        """Compute the number of the operation, from 1, given the counts without faults."""
        total = sum(counts.get(kind, 0) for kind in KINDS[self.kind])
        end = self.kind in ("kill", "power")  # these may happen behind the last one
        return 1 + min(int(self.share * (total + end)), max(total - 1 + end, 0))
