"""Make a repository equal to a folder by one commit.

`HfApi.upload_folder` (huggingface_hub 2.4) is not used: with hf_xet it uploads in a pipeline of
commits. It splits a folder of more than 250 files, and a commit that keeps failing, into several
commits, and only the first of them has `parent_commit`. With `create_pr` it opens the pull request
before the upload, so that a failure leaves an empty one, and only into `main`. In its patterns `*`
matches a slash, so that `delete_patterns` would delete files of others in subfolders.
`create_commit` makes one commit on `parent_commit`, or none.
"""

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

from .failures import State, endpoint, explain_hub, how_to_log_in
from .remote import MAIN, Changes, Remote, compare, read_remote
from .source import Source

# Settings of hf_xet, which uploads large files. By default it records the sent parts every 20 s,
# so that an upload killed before starts from zero, and it repeats a failed request for 4 minutes.
XET = {
    "HF_XET_DATA_SESSION_XORB_METADATA_FLUSH_MAX_COUNT": "1",
    "HF_XET_CLIENT_RETRY_MAX_DURATION": "10s",
}


class Target(NamedTuple):
    """The repository OWNER/NAME of a push, and its options."""

    repo_id: str
    private: bool
    revision: str
    create_pr: bool


class Pushed(NamedTuple):
    """Address and revision of a commit or pull request; `was_there` if it is from before."""

    url: str
    revision: str
    was_there: bool


def check_token(api: HfApi, repo_id: str) -> None:
    """Refuse to start without a token, or with a read-only one.

    Only the Hub knows the permissions of a fine-grained token: it refuses the request itself.
    """
    with explain_hub(repo_id):
        token = get_token()
        if not token or not token.isascii():
            problem = "HF_TOKEN is not a valid token" if token else "no token"
            raise PolyprobeError(f"{problem} to push {repo_id} with; {how_to_log_in()}")
        me = api.whoami()
    described = (me.get("auth") or {}).get("accessToken") or {}
    if described.get("role") == "read":
        name = described.get("displayName") or "in use"
        raise PolyprobeError(f"the token {name!r} of {me['name']} may only read; {how_to_log_in()}")


def publish(api: HfApi, source: Source, target: Target, remote: Remote, changes: Changes) -> Pushed:
    """Make the repository equal to the folder by one commit; create a missing repository.

    Large files are uploaded before the commit, which is all or nothing. The Hub keeps uploaded
    files, so that the next call sends only missing ones.

    Raises:
        PolyprobeError: the push failed. The message is one line that names the state of the
            repository: its files are as before, or it is new and without the folder's files.
    """
    state = State()
    try:
        with explain_hub(target.repo_id, state):
            if target.create_pr and (there := find_pull_request(api, source, target)):
                return Pushed(*there, was_there=True)
            # Here, because create_commit validates the card after the repository was created.
            RepoCard.load(source.files["README.md"].path).validate(source.kind)
            head = prepare(api, source, target, remote, state)
            done = commit(api, source, target, changes, head)
    except PolyprobeError:
        if arrived := find_arrived(api, source, target):
            return Pushed(*arrived, was_there=False)
        raise
    revision = done.pr_revision or target.revision
    return Pushed(done.pr_url or done.commit_url, revision, was_there=False)


def prepare(api: HfApi, source: Source, target: Target, remote: Remote, state: State) -> str:
    """Create a missing repository or branch; return the commit on which to build.

    A repository that was created since `remote` was read is an error: it was not checked.
    """
    kind, head = source.kind, remote.head
    if not remote.exists:
        state.text = "the repository may be there, and empty"
        sdk = "gradio" if kind == "space" else None
        api.create_repo(target.repo_id, repo_type=kind, private=target.private, space_sdk=sdk)
        state.text = "the repository is there, and empty"
        head = read_remote(api, target.repo_id, kind).head
    else:
        state.text = "its files are as before"
    if not remote.branch and target.revision != MAIN:
        api.create_branch(target.repo_id, branch=target.revision, repo_type=kind, exist_ok=True)
        state.text = f"branch {target.revision} is there, and is like {MAIN}"
    return head


def commit(api: HfApi, source: Source, target: Target, changes: Changes, head: str) -> CommitInfo:
    """Add new and changed files and delete old ones, as one commit on top of `head`."""
    for name, value in XET.items():
        os.environ.setdefault(name, value)
    added = [CommitOperationAdd(path, str(source.files[path].path)) for path in changes.uploads]
    deleted = [CommitOperationDelete(path, is_folder=False) for path in changes.deleted]
    counts = {"added": changes.added, "changed": changes.changed, "deleted": changes.deleted}
    summary = ", ".join(f"{len(paths)} {how}" for how, paths in counts.items() if paths)
    return api.create_commit(
        target.repo_id,
        [*added, *deleted],
        commit_message=title(source),
        commit_description=f"{summary}; {len(changes.same)} of {len(source.files)} files unchanged",
        repo_type=source.kind,
        revision=target.revision,
        create_pr=target.create_pr,
        parent_commit=head or None,
    )


def title(source: Source) -> str:
    """Return the commit's message, which names the build."""
    made = "built by" if source.kind == "dataset" else "of"
    return f"{source.name} {made} polyprobe {__version__} (content {source.fingerprint})"


def find_arrived(api: HfApi, source: Source, target: Target) -> tuple[str, str] | None:
    """Return address and revision of a commit whose answer was lost, None if there is none."""
    try:
        if target.create_pr:
            return find_pull_request(api, source, target)
        remote = read_remote(api, target.repo_id, source.kind, target.revision)
    except Exception:  # the Hub is still unreachable: the caller reports the first error
        return None
    if not remote.exists or not remote.branch or not compare(source, remote).is_empty:
        return None
    return f"{address(source.kind, target.repo_id)}/commit/{remote.head}", target.revision


def find_pull_request(api: HfApi, source: Source, target: Target) -> tuple[str, str] | None:
    """Return address and revision of an open pull request that has the folder's files already."""
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
    """Return a repository's address in a browser."""
    return f"{endpoint()}/{kind}s/{repo_id}"
