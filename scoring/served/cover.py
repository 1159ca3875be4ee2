"""The fewest prompts that answer all reads of a plan."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from polyprobe.scoring.engine import Ids, Plan


class Prompt(NamedTuple):
    """Token ids, and the log-probabilities to return."""

    ids: tuple[int, ...]
    children: tuple[int, ...] = ()  # tokens whose log-probability behind `ids` is to be returned
    path: bool = False  # whether to return that of each of `ids[1:]` behind those before it


class Reach(NamedTuple):
    """The log-probabilities that one prompt can return."""

    path: bool  # those of the prompt's own tokens
    children: int  # number of named tokens behind the prompt, at most


class PromptReads(NamedTuple):
    """A prompt, and the numbers of the reads that it answers."""

    prompt: Prompt
    path: list[list[int]]  # numbers of the reads of each of `ids[1:]`, empty without `path`
    children: list[list[int]]  # numbers of the reads of each child


def cover(plan: Plan, reach: Reach) -> list[PromptReads]:
    """Choose the fewest prompts that answer all reads, in sorted order."""
    # A read is an edge: a target behind its beginning. A prompt answers the edges on the way to its
    # end (`Reach.path`) and those behind it (`Reach.children`). With both, prompts are needed at
    # the beginnings of leaves only: of edges that no other edge continues. Neighbours in the order
    # of the prompts share most of their tokens.
    edges = _list_edges(plan)
    ordered = sorted(edges)
    pairs = zip_longest(ordered, ordered[1:], fillvalue=())
    leaves = [edge for edge, after in pairs if not reach.path or after[: len(edge)] != edge]
    ends = sorted({edge[:-1] if reach.children else edge for edge in leaves})
    paths = _choose_paths(ordered, ends)
    children: dict[Ids, list[Ids]] = {}
    for edge in edges:
        children.setdefault(edge[:-1], []).append(edge)
    answered: set[Ids] = set()  # each read belongs to the first prompt that answers it
    prompts = []
    for end in ends:
        way = [end[:k] for k in range(2, len(end) + 1)] if end in paths else []
        path = [[] if edge in answered else edges.get(edge, []) for edge in way]
        answered.update(way)
        targets = children.get(end, [])
        for start in range(0, max(1, len(targets)), max(1, reach.children)):
            part = targets[start : start + reach.children]
            prompt = Prompt(end, tuple(edge[-1] for edge in part), bool(way) and not start)
            reads = [[] if edge in answered else edges[edge] for edge in part]
            prompts.append(PromptReads(prompt, [] if start else path, reads))
            answered.update(part)
    return prompts


def _list_edges(plan: Plan) -> dict[Ids, list[int]]:
    """Return the numbers of the reads of each target behind its beginning."""
    edges: dict[Ids, list[int]] = {}
    for row, reads in sorted(plan.reads.items()):
        for position, target, number in zip(*reads, strict=True):
            edges.setdefault((*row.ids[: position + 1], target), []).append(number)
    return edges


def _choose_paths(edges: Sequence[Ids], ends: Sequence[Ids]) -> set[Ids]:
    """Choose the prompts with a path: one on which each edge without a prompt in front of it is."""
    # A server does not use its prefix cache for the log-probabilities of a prompt.
    paths, places = set[Ids](), {*ends}
    latest: Ids = ()
    for edge in reversed(edges):  # the deepest first: its path answers the edges above too
        if edge[:-1] not in places and latest[: len(edge)] != edge:
            latest = ends[bisect_left(ends, edge)]  # the first that begins with the edge
            paths.add(latest)
    return paths
