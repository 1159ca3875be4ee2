"""The Hub's JSON about a repository: info, references, files and commits."""

import hashlib
from pathlib import Path
from typing import Any

from tests.hub.cards import read_card
from tests.hub.history import Commit, Repository
from tests.hub.store import Blob
from tests.hub.tokens import DATE


def tell_info(repository: Repository, commit: Commit) -> dict[str, Any]:
    """Return the answer of `/api/KINDs/NAME` at a commit."""
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
    """Return a reference's entry."""
    return {"name": name, "ref": ref, "targetCommit": oid}


def tell_commit(commit: Commit) -> dict[str, Any]:
    """Return a commit's entry in `/commits`."""
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
    """Return the folders that have files, without the root."""
    return {str(parent) for path in commit.files for parent in Path(path).parents} - {"."}


def tell_file(path: str, blob: Blob) -> dict[str, Any]:
    """Return a file's entry."""
    entry = {"type": "file", "oid": blob.oid, "size": blob.size, "path": path}
    lfs = {"oid": blob.sha256, "size": blob.size, "pointerSize": len(blob.pointer)}
    return entry | ({"lfs": lfs} if blob.lfs else {})


def tell_folder(path: str) -> dict[str, Any]:
    """Return a folder's entry; its id is derived from its path; no client uses it."""
    oid = hashlib.sha1(path.encode()).hexdigest()
    return {"type": "directory", "oid": oid, "size": 0, "path": path}
