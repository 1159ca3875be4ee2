"""The routes of large files: selection, contents, verification.

Contents are sent to addresses that need no token, like those of the Hub's storage. Uploaded
contents are kept even without a commit.
"""

import hashlib
from http import HTTPStatus
from typing import Any

from tests.hub.access import find_to_write
from tests.hub.history import Repository
from tests.hub.messages import Answer, Call, HubError, send_json


def answer_batch(call: Call) -> Answer:
    """Return the upload address of each object, none for objects already in the repository."""
    asked = call.fields()
    revision = asked.get("ref", {}).get("name", "")
    pull = not revision  # as requested by clients before a pull request
    repository = find_to_write(call, pull, revision)
    objects = [tell_object(call, repository, each) for each in asked["objects"]]
    return send_json({"transfer": "basic", "objects": objects})


def tell_object(call: Call, repository: Repository, asked: dict[str, Any]) -> dict[str, Any]:
    """Return an object's entry, with `actions` if its content is missing."""
    oid, size = asked["oid"], asked["size"]
    entry = {"oid": oid, "size": size, "authenticated": True}
    if oid in repository.objects:
        return entry
    page = f"{call.server.url}/storage/{repository.kind}/{repository.name}/{oid}"
    upload = {"href": page, "header": {}}
    verify = {"href": f"{page}/verify", "header": {}}
    return entry | {"actions": {"upload": upload, "verify": verify}}


def answer_object(call: Call) -> Answer:
    """Take a whole content."""
    keep_object(call, call.body)
    return Answer()


def answer_verify(call: Call) -> Answer:
    """Tell whether the content has arrived; the one address of the three that needs a token."""
    repository, asked = find_to_write(call, pull=True), call.fields()
    kept = repository.objects.get(asked["oid"])
    if kept is None or kept.size != asked["size"]:
        raise HubError(HTTPStatus.NOT_FOUND, "", f"no object {asked['oid']}")
    return send_json({})


def keep_object(call: Call, content: bytes) -> None:
    """Keep a content in its repository if it is the announced one."""
    oid = call.values["oid"]
    repository = call.server.repositories[call.values["kind"], call.values["name"]]
    if hashlib.sha256(content).hexdigest() != oid:
        raise HubError(HTTPStatus.BAD_REQUEST, "", f"the content is not that of {oid}")
    repository.objects[oid] = call.server.store.keep(content, lfs=True)
    call.server.received.append(oid)
