"""Pull requests: opened by a commit, listed, shown, merged."""

from http import HTTPStatus
from typing import Any

from tests.hub.access import find_repository, find_to_write
from tests.hub.history import Commit, Pull, Repository
from tests.hub.messages import Answer, Call, HubError, send_json
from tests.hub.tokens import DATE


def open_pull(repository: Repository, title: str, author: str, base: Commit) -> str:
    """Open a pull request and return its reference `refs/pr/N`, which starts at `base`."""
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
    """Return a pull request with its changes."""
    repository, number = find_repository(call), find_number(call)
    pull = repository.pulls[number - 1]
    changes = {"base": "refs/heads/main", "mergeCommitId": pull.merged or None}
    told = {"changes": changes, "filesWithConflicts": [], "events": [], "diff": ""}
    return send_json(tell_pull(repository, number) | told)


def answer_merge(call: Call) -> Answer:
    """Make the files of a pull request the head of `main`."""
    repository, number = find_to_write(call), find_number(call)
    pull = repository.pulls[number - 1]
    files = repository.blobs(f"refs/pr/{number}")
    made = repository.write("main", files, f"{pull.title} (#{number})", "", pull.author)
    repository.pulls[number - 1] = pull._replace(status="merged", merged=made.oid)
    return send_json(tell_pull(repository, number))


def find_number(call: Call) -> int:
    """Return the number of the route's pull request."""
    number = int(call.values["number"])
    if not 0 < number <= len(find_repository(call).pulls):
        raise HubError(HTTPStatus.NOT_FOUND, "", f"no discussion {number}")
    return number


def tell_pull(repository: Repository, number: int) -> dict[str, Any]:
    """Return a pull request's entry."""
    pull = repository.pulls[number - 1]
    return {
        "num": number,
        "title": pull.title,
        "status": pull.status,
        "author": {"name": pull.author},
        "createdAt": DATE,
        "isPullRequest": True,
        "repo": {"name": repository.name, "type": repository.kind},
    }
