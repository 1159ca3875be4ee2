"""The routes that change a repository: create, branch, tag, upload, commit, pull request."""

import hashlib
import json
import re
from base64 import b64decode
from http import HTTPStatus
from typing import Any

from tests.hub.access import find_commit, find_repository, find_to_write, require_token
from tests.hub.contents import DATE, Blob, check_card, is_lfs, list_messages, write_attributes
from tests.hub.history import Commit, Pull, Repository
from tests.hub.messages import Answer, Call, HubError, send_json

NAME = re.compile(r"(?!.*(?:--|\.\.))[A-Za-z0-9_](?:[\w.-]{0,94}[A-Za-z0-9_])?", re.ASCII)
NO_RIGHTS = 'You don\'t have the rights to create a {kind} under the namespace "{namespace}"'
SPACE_CARD = """\
---
title: {title}
emoji: 🏆
colorFrom: red
colorTo: blue
sdk: {sdk}
app_file: app.py
pinned: false
---

Check out the configuration reference at https://huggingface.co/docs/hub/spaces-config-reference
"""


def answer_create(call: Call) -> Answer:
    """Create a repository; the first commit has `.gitattributes`, and for a Space a README."""
    token, asked = require_token(call), call.fields()
    kind, namespace = asked.get("type") or "model", asked.get("organization") or token.user
    name = f"{namespace}/{asked['name']}"
    if not NAME.fullmatch(asked["name"]) or asked["name"].endswith(".git"):
        raise HubError(HTTPStatus.BAD_REQUEST, "", f"Invalid repo name: {name}")
    if not token.may_write(name):
        message = NO_RIGHTS.format(kind=kind, namespace=namespace)
        raise HubError(HTTPStatus.FORBIDDEN, "", message)
    url = tell_url(call, kind, name)
    if (kind, name) in call.server.repositories:
        message = f"You already created this {kind} repo: {name}"
        raise HubError(HTTPStatus.CONFLICT, "", message, fields={"url": url})
    repository = Repository(kind, name)
    repository.private = asked.get("visibility") == "private" or bool(asked.get("private"))
    begin(call, repository, asked.get("sdk", ""))
    call.server.repositories[kind, name] = repository
    return send_json({"url": url, "name": name, "id": repository.commit()[:24]})


def begin(call: Call, repository: Repository, sdk: str) -> None:
    """Make the first commit; a Space needs an SDK."""
    kind, title = repository.kind, repository.name.split("/")[1]
    files = {".gitattributes": keep_text(call, write_attributes(kind))}
    if kind == "space":
        if not sdk:
            raise HubError(HTTPStatus.BAD_REQUEST, "", '"sdk" is required')
        repository.sdk = sdk
        files["README.md"] = keep_text(call, SPACE_CARD.format(title=title, sdk=sdk))
        if sdk == "static":
            files |= {name: keep_text(call, name) for name in ("index.html", "style.css")}
    repository.write("main", files, "initial commit", "", "system")


def keep_text(call: Call, text: str) -> Blob:
    """Store a file written by the Hub."""
    return call.server.store.keep(text.encode(), lfs=False)


def answer_branch(call: Call) -> Answer:
    """Make a branch at a revision (default: `main`)."""
    repository, branch = find_to_write(call), call.values["branch"]
    if branch in repository.branches:
        message = f"Reference already exists: refs/heads/{branch}"
        raise HubError(HTTPStatus.CONFLICT, "", message)
    start = call.fields().get("startingPoint", "main")
    repository.branches[branch] = find_commit(repository, start).oid
    return Answer()


def answer_tag(call: Call) -> Answer:
    repository = find_to_write(call)
    repository.tags[call.fields()["tag"]] = find_commit(repository, call.values["rev"]).oid
    return Answer()


def tell_url(call: Call, kind: str, name: str) -> str:
    return f"{call.server.url}/{'' if kind == 'model' else f'{kind}s/'}{name}"


def answer_batch(call: Call) -> Answer:
    """Return the upload address of each object, none for objects already in the repository."""
    asked = call.fields()
    revision = asked.get("ref", {}).get("name", "")
    pull = not revision  # as requested by clients before a pull request
    repository = find_to_write(call, pull, revision)
    objects = [tell_object(call, repository, each) for each in asked["objects"]]
    return send_json({"transfer": "basic", "objects": objects})


def tell_object(call: Call, repository: Repository, asked: dict[str, Any]) -> dict[str, Any]:
    oid, size = asked["oid"], asked["size"]
    entry = {"oid": oid, "size": size, "authenticated": True}
    if oid in repository.objects:
        return entry
    page = f"{call.server.url}/storage/{repository.kind}/{repository.name}/{oid}"
    upload = {"href": page, "header": {}}
    verify = {"href": f"{page}/verify", "header": {}}
    return entry | {"actions": {"upload": upload, "verify": verify}}


def answer_object(call: Call) -> Answer:
    keep_object(call, call.body)
    return Answer()


def answer_xet_token(call: Call) -> Answer:
    """Send hf_xet to this server, which has no Xet storage: tests make its requests fail."""
    find_to_write(call, call.asks("create_pr"), call.values["rev"])
    return send_json({"casUrl": call.server.url, "accessToken": "xet", "exp": 2**32})


def answer_verify(call: Call) -> Answer:
    """Tell whether the content has arrived; the one address of the three that needs a token."""
    repository, asked = find_to_write(call, pull=True), call.fields()
    kept = repository.objects.get(asked["oid"])
    if kept is None or kept.size != asked["size"]:
        raise HubError(HTTPStatus.NOT_FOUND, "", f"no object {asked['oid']}")
    return send_json({})


def keep_object(call: Call, content: bytes) -> None:
    oid = call.values["oid"]
    repository = call.server.repositories[call.values["kind"], call.values["name"]]
    if hashlib.sha256(content).hexdigest() != oid:
        raise HubError(HTTPStatus.BAD_REQUEST, "", f"the content is not that of {oid}")
    repository.objects[oid] = call.server.store.keep(content, lfs=True)
    call.server.received.append(oid)


def open_pull(repository: Repository, title: str, author: str, base: Commit) -> str:
    repository.pulls.append(Pull(title, author, base.oid))
    reference = f"refs/pr/{len(repository.pulls)}"
    repository.branches[reference] = base.oid
    return reference


def answer_pulls(call: Call) -> Answer:
    """List the pull requests, the last first, on one page."""
    repository = find_repository(call)
    found = [tell_pull(repository, n) for n in range(len(repository.pulls), 0, -1)]
    page = [] if call.query.get("p", "0") != "0" else found
    return send_json({"count": len(found), "start": 0, "discussions": page})


def answer_pull(call: Call) -> Answer:
    told = {"changes": {"base": "refs/heads/main"}, "filesWithConflicts": [], "events": []}
    return send_json(tell_pull(find_repository(call), int(call.values["number"])) | told)


def tell_pull(repository: Repository, number: int) -> dict[str, Any]:
    pull = repository.pulls[number - 1]
    return {
        "num": number,
        "title": pull.title,
        "status": "open",
        "author": {"name": pull.author},
        "createdAt": DATE,
        "isPullRequest": True,
        "repo": {"name": repository.name, "type": repository.kind},
    }


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
    blob = files.get("README.md")
    if blob is None or blob == base.files.get("README.md"):
        return
    if errors := check_card(blob.file.read_text(encoding="utf-8")):
        raise HubError(HTTPStatus.BAD_REQUEST, "", REJECTED, fields=list_messages(errors))
