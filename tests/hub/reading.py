"""The routes that read a repository, and the Hub's JSON about it."""

import hashlib
import re
from http import HTTPStatus
from pathlib import Path
from typing import Any

from tests.hub.access import find_commit, find_repository, require_token
from tests.hub.contents import DATE, Blob, read_card
from tests.hub.history import Commit, Repository
from tests.hub.messages import Answer, Call, HubError, send_json


def tell_info(repository: Repository, commit: Commit) -> dict[str, Any]:
    name = {"modelId": repository.name} if repository.kind == "model" else {}
    sdk = {"sdk": repository.sdk} if repository.kind == "space" else {}
    return {
        **name,
        **sdk,
        "_id": commit.oid[:24],
        "id": repository.name,
        "author": repository.name.split("/")[0],
        "sha": commit.oid,
        "lastModified": commit.date,
        "createdAt": DATE,
        "private": repository.private,
        "gated": False,
        "disabled": False,
        "downloads": 0,
        "likes": 0,
        "tags": [],
        "cardData": read_card(commit.files),
        "siblings": [{"rfilename": path} for path in commit.files],
    }


def tell_refs(repository: Repository) -> dict[str, Any]:
    """Return the answer of `/refs`: branches and tags."""
    repository.refresh()
    heads = repository.branches.items()
    branches = [tell_ref(n, f"refs/heads/{n}", oid) for n, oid in heads if n[:5] != "refs/"]
    tags = [tell_ref(n, f"refs/tags/{n}", oid) for n, oid in repository.tags.items()]
    return {"branches": branches, "tags": tags, "converts": []}


def tell_ref(name: str, ref: str, oid: str) -> dict[str, str]:
    return {"name": name, "ref": ref, "targetCommit": oid}


def tell_commit(commit: Commit) -> dict[str, Any]:
    told = {"id": commit.oid, "title": commit.title, "message": commit.message}
    return told | {"authors": [{"user": commit.author}], "date": commit.date}


def list_entries(commit: Commit, paths: list[str]) -> list[dict[str, Any]]:
    """Return the entries of existing paths; others are excluded, as by the Hub."""
    folders = list_folders(commit)
    return [
        tell_file(path, commit.files[path]) if path in commit.files else tell_folder(path)
        for path in paths
        if path in commit.files or path in folders
    ]


def list_tree(commit: Commit, under: str, recursive: bool) -> list[dict[str, Any]]:
    """Return the entries of a folder (empty: the root), of its subfolders too on demand."""
    prefix = f"{under}/" if under else ""
    inside = [p for p in sorted({*commit.files, *list_folders(commit)}) if p.startswith(prefix)]
    return list_entries(commit, [x for x in inside if recursive or "/" not in x[len(prefix) :]])


def list_folders(commit: Commit) -> set[str]:
    return {str(parent) for path in commit.files for parent in Path(path).parents} - {"."}


def tell_file(path: str, blob: Blob) -> dict[str, Any]:
    entry = {"type": "file", "oid": blob.oid, "size": blob.size, "path": path}
    lfs = {"oid": blob.sha256, "size": blob.size, "pointerSize": len(blob.pointer)}
    return entry | ({"lfs": lfs} if blob.lfs else {})


def tell_folder(path: str) -> dict[str, Any]:
    """Return a folder's entry; its id is derived from its path; no client uses it."""
    oid = hashlib.sha1(path.encode()).hexdigest()
    return {"type": "directory", "oid": oid, "size": 0, "path": path}


def answer_whoami(call: Call) -> Answer:
    return send_json(require_token(call).whoami())


def answer_info(call: Call) -> Answer:
    repository = find_repository(call)
    commit = find_commit(repository, call.values.get("rev") or "main")
    return send_json(tell_info(repository, commit))


def answer_refs(call: Call) -> Answer:
    return send_json(tell_refs(find_repository(call)))


def answer_commits(call: Call) -> Answer:
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
    repository = find_repository(call)
    commit = find_commit(repository, call.values["rev"])
    return send_json(list_entries(commit, call.fields()["paths"]))


def answer_file(call: Call) -> Answer:
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
