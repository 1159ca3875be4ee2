"""A stand-in for the Xet storage, to which hf_xet uploads the large files of a commit.

It answers hf_xet 1.8 during an upload (downloads from the stand-in Hub are plain HTTP):

    GET   /api/KINDs/NAME/xet-write-token/REV      address, token, expiry
    GET   /v1/chunks/default/CHUNK                 404: no chunk is known
    POST  /v1/xorb-grants/default/XORB             200: stored; 201: upload address
    PUT   /v1/xorb-uploads/GRANT                   the xorb itself, without a token
    POST  /v1/xorb-commits/default/XORB/grant/GRANT
    POST  /v1/xorbs/default/XORB                   the same in one step, when the PUT failed
    POST  /v2/shards                               the parts of the files; answers JSON lines
    POST  /v1/telemetry                            statistics of the upload, ignored

Sources: api.md of the specification, huggingface.co/docs/xet, and for the rest (grants, /v2,
telemetry) the requests of the client.
"""

import time
from http import HTTPStatus

from tests.hub.access import find_to_write
from tests.hub.history import Repository
from tests.hub.messages import Answer, Call, HubError, send_json
from tests.hub.xet_format import XetError
from tests.hub.xet_store import LIFETIME


def answer_token(call: Call) -> Answer:
    """Return the address for the files of users who may write or open a pull request."""
    repository = find_to_write(call, call.asks("create_pr"), call.values["rev"])
    token = call.server.xet.issue_token(repository)
    told = {"casUrl": call.server.url, "accessToken": token, "exp": int(time.time()) + LIFETIME}
    return send_json(told)


def find_writer(call: Call) -> Repository:
    """Return the repository that the token of `answer_token` writes."""
    token = call.headers.get("Authorization", "").removeprefix("Bearer ")
    if token not in call.server.xet.writers:
        raise HubError(HTTPStatus.UNAUTHORIZED, "", "unknown Xet token")
    return call.server.xet.writers[token]


def answer_chunk(call: Call) -> Answer:
    """Know no chunk: a client then sends all but those of its own records."""
    find_writer(call)
    return Answer(status=HTTPStatus.NOT_FOUND)


def answer_grant(call: Call) -> Answer:
    """Return the upload address of a xorb, unless it is stored."""
    find_writer(call)
    if call.values["hash"] in call.server.xet.xorbs:
        return Answer()
    number = call.server.xet.issue_grant()
    place = f"{call.server.url}/v1/xorb-uploads/{number}"
    told = {"id": number, "method": "PUT", "url": place, "headers": {}}
    return send_json(told, HTTPStatus.CREATED)


def take_xorb(call: Call) -> Answer:
    """Store the bytes of a xorb if a grant allows it."""
    if call.values["grant"] not in call.server.xet.grants:
        return Answer(status=HTTPStatus.FORBIDDEN)
    call.server.xet.grants[call.values["grant"]] = call.body
    return Answer()


def commit_xorb(call: Call) -> Answer:
    """Register a xorb whose bytes were received, else 404."""
    find_writer(call)
    content = call.server.xet.grants.get(call.values["grant"])
    return keep_xorb(call, content) if content else Answer(status=HTTPStatus.NOT_FOUND)


def take_and_commit_xorb(call: Call) -> Answer:
    """Store a xorb."""
    find_writer(call)
    return keep_xorb(call, call.body)


def keep_xorb(call: Call, content: bytes) -> Answer:
    """Keep a xorb; 400 if it cannot be read."""
    try:
        new = call.server.xet.keep(call.values["hash"], content)
    except XetError as error:
        raise HubError(HTTPStatus.BAD_REQUEST, "", str(error)) from error
    return send_json({"was_inserted": new})


def register_shard(call: Call) -> Answer:
    """Assemble the files of a shard and store them in the repository as LFS objects."""
    repository = find_writer(call)

    def keep(content: bytes) -> None:
        blob = call.server.store.keep(content, lfs=True)
        if blob.sha256 not in repository.objects:
            call.server.received.append(blob.sha256)
        repository.objects[blob.sha256] = blob

    try:
        call.server.xet.register(call.body, keep)
    except XetError as error:
        return send_json({"type": "error", "message": str(error), "retryable": False})
    return send_json({"type": "result"})


def drop_telemetry(call: Call) -> Answer:
    """Throw a message away."""
    return Answer(status=HTTPStatus.NO_CONTENT)
