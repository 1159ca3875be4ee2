"""One commit makes a repository like a folder; what is there already is not sent."""

import os
from typing import NamedTuple

from huggingface_hub import CommitInfo, CommitOperationAdd, CommitOperationDelete, HfApi, get_token

from polyprobe import PolyprobeError, __version__

from .failures import endpoint, explain_hub, how_to_log_in
from .remote import MAIN, Plan, Remote, compare, read_remote
from .source import Source

PULL_REQUESTS = 5
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
    """The address of the commit or pull request, and whether it was there before."""

    url: str
    was_there: bool


def check_token(api: HfApi, repo_id: str) -> None:
    """Refuse to begin without a token, or with one that may only read.

    Of a fine-grained token only the Hub knows what it may: it says so when it is asked to.
    """
    if not get_token():
        raise PolyprobeError(f"no token to push {repo_id} with; {how_to_log_in()}")
    with explain_hub(repo_id):
        me = api.whoami()
    token = (me.get("auth") or {}).get("accessToken") or {}
    if token.get("role") == "read":
        name = token.get("displayName") or "in use"
        raise PolyprobeError(f"the token {name!r} of {me['name']} may only read; {how_to_log_in()}")


def publish(api: HfApi, source: Source, target: Target, remote: Remote, plan: Plan) -> Pushed:
    """Make the repository like the folder by one commit, and the repository where it is missing.

    Large files are uploaded before the commit, which is all or nothing; the Hub keeps what came,
    so that the next call sends what is missing.

    Raises:
        PolyprobeError: whatever fails, in one line; the files in the repository are then as before.
    """
    with explain_hub(target.repo_id):
        if twin := find_pull_request(api, source, target):
            return Pushed(twin, was_there=True)
        head = prepare(api, source, target, remote)
    left = "its files are as before" if remote.exists else "the repository is there, and empty"
    try:
        with explain_hub(target.repo_id, left):
            done = commit(api, source, target, plan, head)
    except PolyprobeError:
        if arrived := find_arrived(api, source, target):
            return Pushed(arrived, was_there=False)
        raise
    return Pushed(done.pr_url or done.commit_url, was_there=False)


def prepare(api: HfApi, source: Source, target: Target, remote: Remote) -> str:
    """Make repository and branch where they are missing; return the commit to build upon."""
    kind = source.kind
    if not remote.exists:
        sdk = "gradio" if kind == "space" else None
        api.create_repo(
            target.repo_id, repo_type=kind, private=target.private, space_sdk=sdk, exist_ok=True
        )
    if not remote.branch and target.revision != MAIN:
        api.create_branch(target.repo_id, branch=target.revision, repo_type=kind, exist_ok=True)
    return remote.head or read_remote(api, target.repo_id, kind, target.revision).head


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


def find_arrived(api: HfApi, source: Source, target: Target) -> str | None:
    """Return the address of a commit that was made although its answer was lost, None if not."""
    try:
        if target.create_pr:
            return find_pull_request(api, source, target)
        remote = read_remote(api, target.repo_id, source.kind, target.revision)
    except Exception:  # the Hub is still out of reach: the first error is the one to tell
        return None
    arrived = remote.exists and compare(source, remote).is_empty
    return f"{address(source.kind, target.repo_id)}/commit/{remote.head}" if arrived else None


def find_pull_request(api: HfApi, source: Source, target: Target) -> str | None:
    """Return the address of a pull request that holds the folder's files already, None if none."""
    if not target.create_pr:
        return None
    refs = api.list_repo_refs(target.repo_id, repo_type=source.kind, include_pull_requests=True)
    numbers = sorted((int(r.ref.split("/")[2]) for r in refs.pull_requests or ()), reverse=True)
    for number in numbers[:PULL_REQUESTS]:
        remote = read_remote(api, target.repo_id, source.kind, f"refs/pr/{number}")
        if compare(source, remote).is_empty:
            return f"{address(source.kind, target.repo_id)}/discussions/{number}"
    return None


def address(kind: str, repo_id: str) -> str:
    """Return where a repository is seen."""
    return f"{endpoint()}/{kind}s/{repo_id}"
