"""The routes of large files: selection, contents (whole or in parts), verification.

Contents are sent to addresses that need no token, like those of the Hub's storage. Uploaded
contents are kept even without a commit.
"""

import hashlib
import re
from http import HTTPStatus
from typing import Any

from tests.hub.access import find_to_write
from tests.hub.history import Repository
from tests.hub.messages import Answer, Call, HubError, send_json

PART = 2**20  # bytes: from here on a content is sent in parts of this size, if the client can


def answer_batch(call: Call) -> Answer:
    """Return the upload address of each object, none for objects already in the repository."""
    asked = call.fields()
    revision = asked.get("ref", {}).get("name", "")
    pull = not revision  # as requested by clients before a pull request
    repository = find_to_write(call, pull, revision)
    parts = "multipart" in asked["transfers"]
    objects = [tell_object(call, repository, each, parts) for each in asked["objects"]]
    kind = "multipart" if parts else "basic"
    return send_json({"transfer": kind, "objects": objects})


def tell_object(
    call: Call, repository: Repository, asked: dict[str, Any], parts: bool
) -> dict[str, Any]:
    """Return an object's entry, with `actions` if its content is missing."""
    oid, size = asked["oid"], asked["size"]
    entry = {"oid": oid, "size": size, "authenticated": True}
    if not re.fullmatch("[0-9a-f]{64}", oid):
        return entry | {"error": {"code": 422, "message": f"invalid oid {oid}"}}
    if oid in repository.objects:
        return entry
    page = f"{call.server.url}/storage/{repository.kind}/{repository.name}/{oid}"
    header = tell_parts(page, size) if parts and size > PART else {}
    upload = {"href": page, "header": header}
    verify = {"href": f"{page}/verify", "header": {}}
    return entry | {"actions": {"upload": upload, "verify": verify}}


def tell_parts(page: str, size: int) -> dict[str, str]:
    """Return the addresses of the parts by their number from 1, and the size of all but the last.

    >>> tell_parts("/x", PART + 1)
    {'chunk_size': '1048576', '1': '/x/1', '2': '/x/2'}
    """
    numbers = range(1, -(-size // PART) + 1)
    return {"chunk_size": str(PART)} | {str(n): f"{page}/{n}" for n in numbers}


def answer_object(call: Call) -> Answer:
    """Take a whole content."""
    keep_object(call, call.body)
    return Answer()


def answer_part(call: Call) -> Answer:
    """Store one part; its ETag is in the list that completes the upload."""
    key = (call.values["oid"], int(call.values["part"]))
    call.server.parts[key] = call.body
    return Answer(head={"ETag": f'"{hashlib.md5(call.body).hexdigest()}"'})


def answer_parts(call: Call) -> Answer:
    """Put the parts of the list together."""
    oid = call.values["oid"]
    numbers = sorted(part["partNumber"] for part in call.fields()["parts"])
    keep_object(call, b"".join(call.server.parts.pop((oid, number)) for number in numbers))
    return send_json({})


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
