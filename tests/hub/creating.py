"""The routes that create repositories, branches and tags."""

import re
from http import HTTPStatus

from tests.hub.access import find_commit, find_to_write, require_token
from tests.hub.attributes import write_attributes
from tests.hub.history import Repository
from tests.hub.messages import Answer, Call, HubError, send_json
from tests.hub.store import Blob

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
    """Tag a revision."""
    repository = find_to_write(call)
    repository.tags[call.fields()["tag"]] = find_commit(repository, call.values["rev"]).oid
    return Answer()


def tell_url(call: Call, kind: str, name: str) -> str:
    """Return a repository's page."""
    return f"{call.server.url}/{'' if kind == 'model' else f'{kind}s/'}{name}"
