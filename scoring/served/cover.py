"""The fewest prompts that answer all reads of a plan."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from polyprobe.scoring.engine import Plan


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


@dataclass(slots=True, eq=False)
class Node:
    """A beginning of inputs in a trie."""

    token: int  # its last token
    parent: "Node | None"  # the beginning without it; None of the root
    # The beginnings with one token more, by that token
    children: "dict[int, Node]" = field(default_factory=dict)
    # The numbers of the reads of `token` behind the parent
    reads: list[int] = field(default_factory=list)
    targets: "list[Node]" = field(default_factory=list)  # the children that a prompt here reads
    sends: bool = False  # whether a prompt ends here or at a descendant
    path: bool = False  # whether the prompt here returns the log-probabilities of its own tokens

    def line(self) -> "list[Node]":
        """Return this node and its ancestors, the root excluded."""
        node, line = self, []
        while node.parent is not None:
            line.append(node)
            node = node.parent
        return line


def cover(plan: Plan, reach: Reach) -> list[PromptReads]:
    """Choose the fewest prompts that answer all reads, in depth-first order."""
    # A read is an edge of the trie of all inputs: a token behind its beginning. A prompt at a node
    # answers the edges on the way to it (`Reach.path`) and those to its children
    # (`Reach.children`). With both, prompts are needed at the parents of leaves only, and prompt
    # log-probabilities, for which a server does not use its prefix cache, only where an edge has no
    # prompt at its beginning. Neighbours in the order of the prompts share most of their tokens.
    nodes = grow(plan)
    for node in reversed(nodes):  # children before their parents
        below = any(child.sends for child in node.children.values())
        targets = [child for child in node.children.values() if child.reads]
        if not reach.children:
            node.sends = below or bool(node.reads)
            node.path = bool(node.reads) and not below
        elif not reach.path or any(not child.sends for child in targets):
            node.targets, node.sends = targets, below or bool(targets)
        else:
            node.sends = below
    if reach.path and reach.children:
        _flag_paths(nodes)
    answered: set[Node] = set()
    pending, ordered = [nodes[0]], list[PromptReads]()
    while pending:
        node = pending.pop()
        ordered += _ask(node, reach, answered)
        pending.extend(reversed(node.children.values()))
    return ordered


def grow(plan: Plan) -> list[Node]:
    """Grow the trie of all inputs and targets; return its nodes, parents before children."""
    nodes = [Node(-1, None)]

    def descend(node: Node, token: int) -> Node:
        if token not in node.children:
            node.children[token] = Node(token, node)
            nodes.append(node.children[token])
        return node.children[token]

    for row, reads in sorted(plan.reads.items()):
        line = [nodes[0]]
        for token in row.ids[: max(reads.positions) + 1]:
            line.append(descend(line[-1], token))
        for position, target, number in zip(*reads, strict=True):
            descend(line[position + 1], target).reads.append(number)
    return nodes


def _flag_paths(nodes: Iterable[Node]) -> None:
    """Flag the path of a prompt below each edge that no prompt at its beginning answers."""
    answered: set[Node] = set()
    for node in reversed([*nodes]):  # the deepest first: its path answers the edges above too
        if not node.reads or node in answered or node.parent is None or node.parent.targets:
            continue
        end = node
        while not end.targets:
            end = next(child for child in end.children.values() if child.sends)
        end.path = True
        answered.update(end.line())


def _ask(node: Node, reach: Reach, answered: set[Node]) -> Iterator[PromptReads]:
    """Yield the prompts at a node; each read belongs to the first prompt that answers it."""
    if not node.targets and not node.path:
        return
    line = node.line()[::-1]
    ids = tuple(step.token for step in line)
    path = [[] if step in answered else step.reads for step in line[1:]] if node.path else []
    answered.update(line if node.path else ())
    for start in range(0, max(1, len(node.targets)), max(1, reach.children)):
        part = node.targets[start : start + reach.children]
        prompt = Prompt(ids, tuple(child.token for child in part), node.path and not start)
        reads = [[] if child in answered else child.reads for child in part]
        yield PromptReads(prompt, [] if start else path, reads)
        answered.update(part)
