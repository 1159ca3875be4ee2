"""The fewest requests that answer all reads of a plan."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from polyprobe.scoring.engine import Plan


class Request(NamedTuple):
    """Token ids, and the log-probabilities that are wanted.

    Attributes:
        ids: the prompt.
        children: tokens whose log-probability behind `ids` is wanted.
        path: whether that of each of `ids[1:]` behind those before it is wanted.
    """

    ids: tuple[int, ...]
    children: tuple[int, ...] = ()
    path: bool = False


class Reach(NamedTuple):
    """The log-probabilities that one request can return.

    Attributes:
        path: those of the prompt's own tokens.
        children: number of named tokens behind the prompt, at most.
    """

    path: bool
    children: int


class Node:
    """A beginning of inputs in a trie.

    Attributes:
        token: its last token.
        parent: the beginning without it; None of the root.
        children: the beginnings with one token more, by that token.
        reads: the numbers of the reads of `token` behind the parent.
        request: whether a request ends here or further down.
        asked: the children that are read by a request here.
        path: whether the request here returns the log-probabilities of its own tokens.
    """

    __slots__ = ("asked", "children", "parent", "path", "reads", "request", "token")

    def __init__(self, token: int, parent: "Node | None") -> None:
        self.token, self.parent = token, parent
        self.children: dict[int, Node] = {}
        self.reads: list[int] = []
        self.asked: list[Node] = []
        self.request = self.path = False

    def line(self) -> Iterator["Node"]:
        """Yield this node and its ancestors, the root excluded."""
        node = self
        while node.parent is not None:
            yield node
            node = node.parent


class Wanted(NamedTuple):
    """A request, and the numbers of the reads that it answers.

    Attributes:
        request: the request.
        path: numbers of the reads of each of `ids[1:]`, empty without `path`.
        children: numbers of the reads of each child.
    """

    request: Request
    path: list[list[int]]
    children: list[list[int]]


def cover(plan: Plan, reach: Reach) -> list[Wanted]:
    """Return the fewest requests that answer all reads, in depth-first order.

    A read is an edge of the trie of all inputs: a token behind its beginning. A request at a node
    answers the edges on the way to it (`Reach.path`) and those to its children (`Reach.children`).
    With both, requests are needed at the parents of leaves only, and prompt log-probabilities, for
    which a server does not use its prefix cache, only where an edge has no request at its
    beginning. Neighbours in the order of the requests share most of their prompts.
    """
    nodes = grow(plan)
    for node in reversed(nodes):
        below = [child for child in node.children.values() if child.request]
        wanted = [child for child in node.children.values() if child.reads]
        if not reach.children:
            node.request = bool(below or node.reads)
            node.path = bool(node.reads) and not below
        elif not reach.path or any(not child.request for child in wanted):
            node.asked, node.request = wanted, bool(below or wanted)
        else:
            node.request = bool(below)
    if reach.path and reach.children:
        _flag_paths(nodes)
    answered: set[Node] = set()
    return [found for node in _in_order(nodes[0]) for found in _requests(node, reach, answered)]


def grow(plan: Plan) -> list[Node]:
    """Return the nodes of the trie of all inputs and targets, parents before children."""
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
    """Ask for the path of a request below each edge that no request at its beginning answers."""
    answered: set[Node] = set()
    for node in reversed([*nodes]):
        if not node.reads or node in answered or node.parent is None or node.parent.asked:
            continue
        end = node
        while not end.asked:
            end = next(child for child in end.children.values() if child.request)
        end.path = True
        answered.update(end.line())


def _in_order(root: Node) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children.values()))


def _requests(node: Node, reach: Reach, answered: set[Node]) -> Iterator[Wanted]:
    """Yield the requests at a node; each read belongs to the first request that answers it."""
    if not node.asked and not node.path:
        return
    line = [*reversed([*node.line()])]
    path = [[] if one in answered else one.reads for one in line[1:]] if node.path else []
    answered.update(line if node.path else ())
    for start in range(0, max(1, len(node.asked)), max(1, reach.children)):
        part = node.asked[start : start + reach.children]
        ids, children = tuple(one.token for one in line), tuple(child.token for child in part)
        request = Request(ids, children, node.path and not start)
        reads = [[] if child in answered else child.reads for child in part]
        yield Wanted(request, [] if start else path, reads)
        answered.update(part)
