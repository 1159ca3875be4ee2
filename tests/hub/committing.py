"""The routes of a commit: selection of LFS files, then the commit, line by line."""

import json
from base64 import b64decode
from http import HTTPStatus
from typing import Any

from tests.hub.access import find_commit, find_to_write, require_token
from tests.hub.attributes import is_lfs
from tests.hub.cards import check_card, list_messages
from tests.hub.creating import tell_url
from tests.hub.history import Commit, Repository
from tests.hub.messages import Answer, Call, HubError, send_json
from tests.hub.pulls import open_pull
from tests.hub.store import Blob

SINCE = "A commit has happened since. Please refresh and try again."
DANGLING = (
    "Your push was rejected because an LFS pointer pointed to a file that does not exist."
    " Offending file: - {path}"
)
NO_FILE = "A file with this name doesn't exist"
REJECTED = "Your push was rejected during YAML metadata verification"


def answer_card(call: Call) -> Answer:
    """Check a README's metadata: errors give status 400."""
    errors = check_card(call.fields()["content"])
    return send_json(list_messages(errors), HTTPStatus.BAD_REQUEST if errors else HTTPStatus.OK)


def answer_preupload(call: Call) -> Answer:
    """Return the upload mode of each file, and the id of the content at its path."""
    repository = find_to_write(call, call.asks("create_pr"), call.values["rev"])
    commit, asked = find_commit(repository, call.values["rev"]), call.fields()
    attributes = read_text(commit, ".gitattributes")
    return send_json({"files": [tell_mode(file, commit, attributes) for file in asked["files"]]})


def tell_mode(file: dict[str, Any], commit: Commit, attributes: str) -> dict[str, Any]:
    """Return a file's entry; `oid` is its SHA-256 if it is a file of LFS."""
    path, blob = file["path"], commit.files.get(file["path"])
    entry = {
        "path": path,
        "uploadMode": "lfs" if is_lfs(path, file["size"], attributes) else "regular",
        "shouldIgnore": False,
    }
    return entry | ({"oid": blob.etag} if blob else {})


def read_text(commit: Commit, path: str) -> str:
    """Return a file of a commit, empty if it has none of that name."""
    blob = commit.files.get(path)
    return blob.file.read_text(encoding="utf-8") if blob else ""


def answer_commit(call: Call) -> Answer:
    """Make a commit on a branch, or as a pull request, from the lines of the body.

    Everything is checked before any change. A `parentCommit` that is not the head is a 412.
    """
    pull = call.asks("create_pr")
    repository, token = find_to_write(call, pull, call.values["rev"]), require_token(call)
    lines = [json.loads(line) for line in call.body.splitlines() if line.strip()]
    told = lines[0]["value"]
    base = find_base(call, repository, told.get("parentCommit"), pull)
    files = dict(base.files)
    for line in lines[1:]:
        change(call, repository, files, line["key"], line["value"])
    check_readme(base, files)
    branch = call.values["rev"]
    if pull:
        branch = open_pull(repository, told["summary"], token.user, base)
    made = repository.write(branch, files, told["summary"], told.get("description", ""), token.user)
    page = tell_url(call, repository.kind, repository.name)
    answer = {"success": True, "commitOid": made.oid, "commitUrl": f"{page}/commit/{made.oid}"}
    number = len(repository.pulls)
    request = {"pullRequestUrl": f"{page}/discussions/{number}"} if pull else {}
    return send_json(answer | request | {"hookOutput": ""})


def find_base(call: Call, repository: Repository, parent: str | None, pull: bool) -> Commit:
    """Return the commit to build on: the branch's head, for a pull request any revision."""
    revision = call.values["rev"]
    head = find_commit(repository, revision)
    if pull:
        return find_commit(repository, parent or revision)
    if revision not in repository.branches:
        raise HubError(HTTPStatus.BAD_REQUEST, "", f"{revision} is not a branch")
    if parent and not head.oid.startswith(parent):
        raise HubError(HTTPStatus.PRECONDITION_FAILED, "", SINCE)
    return head


def change(
    call: Call, repository: Repository, files: dict[str, Blob], key: str, value: dict[str, Any]
) -> None:
    """Apply one line of the body to the files."""
    path = value["path"].rstrip("/")
    if ".." in path.split("/") or path.startswith("/"):
        raise HubError(HTTPStatus.BAD_REQUEST, "", f"invalid path: {path}")
    if key == "file":
        files[path] = call.server.store.keep(b64decode(value["content"]), lfs=False)
        call.server.received.append(path)
    elif key == "lfsFile" and value["oid"] not in repository.objects:
        raise HubError(HTTPStatus.BAD_REQUEST, "", DANGLING.format(path=path))
    elif key == "lfsFile":
        files[path] = repository.objects[value["oid"]]
    elif key == "deletedFile" and path not in files:
        raise HubError(HTTPStatus.NOT_FOUND, "EntryNotFound", NO_FILE)
    elif key == "deletedFile":
        del files[path]
    else:
        raise HubError(HTTPStatus.BAD_REQUEST, "", f"unknown operation: {key}")


def check_readme(base: Commit, files: dict[str, Blob]) -> None:
    """Refuse a commit that brings a README with wrong metadata."""
    blob = files.get("README.md")
    if blob is None or blob == base.files.get("README.md"):
        return
    if errors := check_card(blob.file.read_text(encoding="utf-8")):
        raise HubError(HTTPStatus.BAD_REQUEST, "", REJECTED, fields=list_messages(errors))
