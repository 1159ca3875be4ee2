"""The routes that read a repository."""

import re
from http import HTTPStatus

from tests.hub.access import (
    find_commit,
    find_repository,
    require_token,
)
from tests.hub.history import Commit
from tests.hub.listing import list_entries, list_tree, tell_commit, tell_info, tell_refs
from tests.hub.messages import Answer, Call, HubError, send_json
from tests.hub.store import Blob


def answer_whoami(call: Call) -> Answer:
    """Answer with the user of the token and its permissions."""
    return send_json(require_token(call).whoami())


def answer_info(call: Call) -> Answer:
    """Answer with a repository's info at a revision or at its head."""
    repository = find_repository(call)
    commit = find_commit(repository, call.values.get("rev") or "main")
    return send_json(tell_info(repository, commit))


def answer_refs(call: Call) -> Answer:
    """List branches and tags."""
    return send_json(tell_refs(find_repository(call)))


def answer_commits(call: Call) -> Answer:
    """List the commits of a revision, the last first."""
    repository = find_repository(call)
    commit = find_commit(repository, call.values["rev"])
    return send_json([tell_commit(each) for each in repository.log(commit.oid)])


def answer_tree(call: Call) -> Answer:
    """List a folder's entries; a missing folder is an error."""
    repository, under = find_repository(call), call.values.get("path") or ""
    commit = find_commit(repository, call.values["rev"])
    entries = list_tree(commit, under, call.asks("recursive"))
    if under and not entries:
        raise no_entry(call, under, commit)
    return send_json(entries)


def answer_paths(call: Call) -> Answer:
    """Describe the paths of the body that exist."""
    repository = find_repository(call)
    commit = find_commit(repository, call.values["rev"])
    return send_json(list_entries(commit, call.fields()["paths"]))


def answer_file(call: Call) -> Answer:
    """Send a file, or the part in the Range header."""
    repository, path = find_repository(call), call.values["path"]
    commit = find_commit(repository, call.values["rev"])
    blob = commit.files.get(path)
    if blob is None:
        raise no_entry(call, path, commit)
    return send_file(blob, commit.oid, call.headers.get("Range") or "")


def no_entry(call: Call, path: str, commit: Commit) -> HubError:
    """Return the refusal of a path, with the commit, by which clients cache the absence."""
    message = f"{path} does not exist on {call.values['rev']}"
    head = {"X-Repo-Commit": commit.oid}
    return HubError(HTTPStatus.NOT_FOUND, "EntryNotFound", message, head)


def send_file(blob: Blob, commit: str, wanted: str) -> Answer:
    """Return a file's content, whole or in part, under its ETag."""
    head = {
        "ETag": f'"{blob.etag}"',
        "X-Repo-Commit": commit,
        "Accept-Ranges": "bytes",
        "Content-Type": "application/octet-stream",
    }
    content = blob.file.read_bytes()
    asked = re.fullmatch(r"bytes=(\d*)-(\d*)", wanted)
    if not asked:
        return Answer(content, head)
    start, stop = span(asked[1], asked[2], blob.size)
    if start >= stop:
        raise HubError(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, "", wanted)
    head["Content-Range"] = f"bytes {start}-{stop - 1}/{blob.size}"
    return Answer(content[start:stop], head, HTTPStatus.PARTIAL_CONTENT)


def span(first: str, last: str, size: int) -> tuple[int, int]:
    """Return a byte range as start and stop; without a first byte it is the last ones.

    >>> span("2", "4", 10), span("2", "", 10), span("", "3", 10)
    ((2, 5), (2, 10), (7, 10))
    """
    if not first:
        return max(size - int(last), 0), size
    return int(first), min(int(last) + 1, size) if last else size
