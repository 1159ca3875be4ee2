"""One commit makes a repository like a folder; what is there already is not sent."""

import os
from typing import NamedTuple

from huggingface_hub import (
    CommitInfo,
    CommitOperationAdd,
    CommitOperationDelete,
    HfApi,
    RepoCard,
    get_token,
)

from polyprobe import __version__
from polyprobe.system.errors import PolyprobeError

from .failures import Left, endpoint, explain_hub, how_to_log_in
from .remote import MAIN, Plan, Remote, compare, read_remote
from .source import Source

# Of hf_xet, which uploads large files: it notes what it has sent every 20 s only, so that a killed
# upload would begin anew, and waits up to four minutes before it tries a request again.
XET = {
    "HF_XET_DATA_SESSION_XORB_METADATA_FLUSH_MAX_COUNT": "1",
    "HF_XET_CLIENT_RETRY_MAX_DURATION": "10s",
}


class Target(NamedTuple):
    """Where a folder goes: `OWNER/NAME`, and how."""

    repo_id: str
    private: bool
    revision: str
    create_pr: bool


class Pushed(NamedTuple):
    """Address and revision of the commit or pull request, and whether it was there before."""

    url: str
    revision: str
    was_there: bool


def check_token(api: HfApi, repo_id: str) -> None:
    """Refuse to begin without a token, or with one that may only read.

    Of a fine-grained token only the Hub knows what it may: it says so when it is asked to.
    """
    with explain_hub(repo_id):
        token = get_token()
        if not token or not token.isascii():
            what = "HF_TOKEN is no token" if token else "no token"
            raise PolyprobeError(f"{what} to push {repo_id} with; {how_to_log_in()}")
        me = api.whoami()
    described = (me.get("auth") or {}).get("accessToken") or {}
    if described.get("role") == "read":
        name = described.get("displayName") or "in use"
        raise PolyprobeError(f"the token {name!r} of {me['name']} may only read; {how_to_log_in()}")


def publish(api: HfApi, source: Source, target: Target, remote: Remote, plan: Plan) -> Pushed:
    """Make the repository like the folder by one commit, and the repository where it is missing.

    Large files are uploaded before the commit, which is all or nothing; the Hub keeps what came,
    so that the next call sends what is missing.

    Raises:
        PolyprobeError: whatever fails, in one line that says what is left there: the files as they
            were, or a new repository or branch without the folder's files.
    """
    left = Left()
    try:
        with explain_hub(target.repo_id, left):
            if target.create_pr and (there := find_pull_request(api, source, target)):
                return Pushed(*there, was_there=True)
            RepoCard.load(source.files["README.md"].path).validate(source.kind)
            head = prepare(api, source, target, remote, left)
            done = commit(api, source, target, plan, head)
    except PolyprobeError:
        if arrived := find_arrived(api, source, target):
            return Pushed(*arrived, was_there=False)
        raise
    revision = done.pr_revision or target.revision
    return Pushed(done.pr_url or done.commit_url, revision, was_there=False)


def prepare(api: HfApi, source: Source, target: Target, remote: Remote, left: Left) -> str:
    """Make repository and branch where they are missing; return the commit to build upon.

    A repository that somebody has made meanwhile is an error: nobody has looked at it.
    """
    kind, head = source.kind, remote.head
    if not remote.exists:
        left.said = "the repository may be there, and empty"
        sdk = "gradio" if kind == "space" else None
        api.create_repo(target.repo_id, repo_type=kind, private=target.private, space_sdk=sdk)
        left.said = "the repository is there, and empty"
        head = read_remote(api, target.repo_id, kind).head
    else:
        left.said = "its files are as before"
    if not remote.branch and target.revision != MAIN:
        api.create_branch(target.repo_id, branch=target.revision, repo_type=kind, exist_ok=True)
        left.said = f"branch {target.revision} is there, and is like {MAIN}"
    return head


def commit(api: HfApi, source: Source, target: Target, plan: Plan, head: str) -> CommitInfo:
    """Upload what is new or changed, delete what is gone, as one commit on top of `head`."""
    for name, value in XET.items():
        os.environ.setdefault(name, value)
    sent = [CommitOperationAdd(path, str(source.files[path].path)) for path in plan.uploads]
    gone = [CommitOperationDelete(path, is_folder=False) for path in plan.deleted]
    return api.create_commit(
        target.repo_id,
        [*sent, *gone],
        commit_message=title(source),
        commit_description=describe(source, plan),
        repo_type=source.kind,
        revision=target.revision,
        create_pr=target.create_pr,
        parent_commit=head or None,
    )


def title(source: Source) -> str:
    """Return the commit's message: which build it comes from."""
    made = "built by" if source.kind == "dataset" else "of"
    return f"{source.name} {made} polyprobe {__version__} (content {source.fingerprint})"


def describe(source: Source, plan: Plan) -> str:
    """Return the body of the commit's message: how many files."""
    counts = {"added": plan.added, "changed": plan.changed, "deleted": plan.deleted}
    told = ", ".join(f"{len(paths)} {what}" for what, paths in counts.items() if paths)
    return f"{told}; {len(plan.same)} of {len(source.files)} files as they were"


def find_arrived(api: HfApi, source: Source, target: Target) -> tuple[str, str] | None:
    """Return address and revision of what was done and not answered, None if it was not done."""
    try:
        if target.create_pr:
            return find_pull_request(api, source, target)
        remote = read_remote(api, target.repo_id, source.kind, target.revision)
    except Exception:  # the Hub is still out of reach: the first error is the one to tell
        return None
    if not remote.exists or not remote.branch or not compare(source, remote).is_empty:
        return None
    return f"{address(source.kind, target.repo_id)}/commit/{remote.head}", target.revision


def find_pull_request(api: HfApi, source: Source, target: Target) -> tuple[str, str] | None:
    """Return address and revision of an open pull request that holds the folder's files already."""
    repo_id, kind = target.repo_id, source.kind
    opened = api.get_repo_discussions(
        repo_id, repo_type=kind, discussion_type="pull_request", discussion_status="open"
    )
    for number in [request.num for request in opened]:
        details = api.get_discussion_details(repo_id, number, repo_type=kind)
        base = str(getattr(details, "target_branch", "")).removeprefix("refs/heads/")
        remote = read_remote(api, repo_id, kind, f"refs/pr/{number}")
        if base == target.revision and compare(source, remote).is_empty:
            return f"{address(kind, repo_id)}/discussions/{number}", f"refs/pr/{number}"
    return None


def address(kind: str, repo_id: str) -> str:
    """Return where a repository is seen."""
    return f"{endpoint()}/{kind}s/{repo_id}"
