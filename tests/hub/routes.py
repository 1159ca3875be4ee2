"""The table of routes: the function for each method and path."""

import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import unquote

from tests.hub import reading, writing
from tests.hub.messages import Answer, Call

PARTS = {
    "kind": "model|dataset|space",
    "name": "[^/]+(?:/[^/]+)?",
    "path": ".+",
    "oid": "[^/]+",
    "number": r"\d+",
}
NAMED = re.compile(r"\{(\w+)\}")


class Route(NamedTuple):
    """One route: methods, path pattern, function."""

    methods: tuple[str, ...]
    pattern: re.Pattern[str]
    answer: Callable[[Call], Answer]


def route(methods: str, path: str, answer: Callable[[Call], Answer]) -> Route:
    """Return a route; `{kind}` etc. match parts of a path, `{page}` the start of a page's path."""
    prefix = "/{page}"  # empty for a model: /NAME, /datasets/NAME, /spaces/NAME
    pattern = path.replace(prefix, "(?:/(?P<kind>dataset|space)s)?/{name}")
    pattern = NAMED.sub(lambda part: f"(?P<{part[1]}>{PARTS.get(part[1], '[^/]+')})", pattern)
    return Route(tuple(methods.split()), re.compile(pattern), answer)


API, STORAGE, LFS = "/api/{kind}s/{name}", "/storage/{kind}/{name}/{oid}", "/{page}.git/info/lfs"
ROUTES = (
    route("GET", "/api/whoami-v2", reading.answer_whoami),
    route("POST", "/api/validate-yaml", writing.answer_card),
    route("POST", "/api/repos/create", writing.answer_create),
    route("POST", f"{API}/branch/{{branch}}", writing.answer_branch),
    route("POST", f"{API}/tag/{{rev}}", writing.answer_tag),
    route("POST", f"{API}/preupload/{{rev}}", writing.answer_preupload),
    route("POST", f"{API}/commit/{{rev}}", writing.answer_commit),
    route("GET", f"{API}/discussions", writing.answer_pulls),
    route("GET", f"{API}/discussions/{{number}}", writing.answer_pull),
    route("POST", f"{LFS}/objects/batch", writing.answer_batch),
    route("PUT", STORAGE, writing.answer_object),
    route("POST", f"{STORAGE}/verify", writing.answer_verify),
    route("GET", f"{API}/xet-write-token/{{rev}}", writing.answer_xet_token),
    route("GET", f"{API}/tree/{{rev}}(?:/{{path}})?", reading.answer_tree),
    route("POST", f"{API}/paths-info/{{rev}}", reading.answer_paths),
    route("GET", f"{API}/refs", reading.answer_refs),
    route("GET", f"{API}/commits/{{rev}}", reading.answer_commits),
    route("GET", f"{API}/revision/{{rev}}", reading.answer_info),
    route("GET HEAD", "/{page}/resolve/{rev}/{path}", reading.answer_file),
    route("GET", API, reading.answer_info),
)


def find_route(method: str, path: str) -> tuple[Callable[[Call], Answer], dict[str, str]] | None:
    """Return who answers a path and the path's parts, unquoted; none if no route fits."""
    for each in ROUTES:
        found = each.pattern.fullmatch(path) if method in each.methods else None
        if found:
            return each.answer, {k: unquote(v or "") for k, v in found.groupdict().items()}
    return None
