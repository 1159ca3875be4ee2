"""Who may read and who may write a repository, with the Hub's refusals."""

from http import HTTPStatus

from tests.hub.history import Commit, Folder, Repository
from tests.hub.messages import NO_TOKEN, READ_ONLY, Call, HubError, Token

NOT_YOURS = "Forbidden: pass `create_pr=1` as a query parameter to create a Pull Request"


def require_token(call: Call) -> Token:
    """Return the user of the call; without a token the Hub answers 401."""
    if call.token is None:
        raise HubError(HTTPStatus.UNAUTHORIZED, "", NO_TOKEN)
    return call.token


def find_repository(call: Call) -> Repository:
    """Return the repository of the call if its token may see it.

    The Hub hides whether one is missing or private: 401 without a token, 404 with one.
    """
    kind, name = call.values["kind"] or "model", call.values["name"]
    found = call.server.repositories.get((kind, name))
    owner = call.token is not None and call.token.owns(name.split("/")[0])
    if found is not None and (owner or not found.private):
        return found
    if call.token is None:
        raise HubError(HTTPStatus.UNAUTHORIZED, "RepoNotFound", NO_TOKEN)
    raise HubError(HTTPStatus.NOT_FOUND, "RepoNotFound", "Repository not found")


def find_to_write(call: Call, pull: bool = False, revision: str = "") -> Repository:
    """Return the repository of the call if its token may write to it or open a pull request.

    A pull request needs a token with any write permission, not rights in this repository. The same
    applies to a `revision` that is a pull request of the token's user.
    """
    repository = find_repository(call)
    token = require_token(call)
    if token.role == "read":
        raise HubError(HTTPStatus.FORBIDDEN, "", READ_ONLY)
    pull = pull or repository.pull_author(revision) == token.user
    if not pull and not token.may_write(repository.name):
        raise HubError(HTTPStatus.FORBIDDEN, "", NOT_YOURS)
    if isinstance(repository, Folder):
        raise HubError(HTTPStatus.FORBIDDEN, "", f"{repository.name} is a folder served read-only")
    return repository


def find_commit(repository: Repository, revision: str) -> Commit:
    commit = repository.find(revision)
    if commit is None:
        raise HubError(HTTPStatus.NOT_FOUND, "RevisionNotFound", f"Invalid rev id: {revision}")
    return commit
