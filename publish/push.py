"""Push a dataset, a metric or a board: the steps of `polyprobe push`, which return its lines."""

import os
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import huggingface_hub as hf
from huggingface_hub import CommitInfo, HfApi

from polyprobe import __version__
from polyprobe.system.messages import PolyprobeError

from . import hub
from .checks import check_source, find_objections
from .hub import Changes, Remote, State
from .source import Source, address_card, read_source

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
    """Address and revision of a commit or pull request."""

    url: str
    revision: str
    was_there: bool = False  # from before this push


def push_folder(
    folder: Path, target: Target, licenses: Collection[str] = (), dry_run: bool = False
) -> list[str]:
    """Upload the changes of a folder as one commit; return the lines to print."""
    # `licenses` are those that do not permit publication and are to be ignored.
    hub.check_revision(target.revision)
    source = read_source(folder)
    check_source(source)
    hub.check_repository_name(target.repo_id, f"write me/{source.name}")
    owner, _, name = target.repo_id.partition("/")
    if source.kind == "space" and name != source.name:
        raise PolyprobeError(
            f"a metric's repository has its name: evaluate.load({target.repo_id!r}) looks for "
            f"{name}.py in it; push to {owner}/{source.name}"
        )
    source = address_card(source, target.repo_id)
    api = HfApi()
    if dry_run:
        return preview(api, source, target, licenses)
    check_token(api, target.repo_id)
    remote = read_target(api, source, target)
    changes = hub.find_changes(source, remote)
    revision = target.revision
    if changes.is_empty and remote.branch:
        lines = [f"{target.repo_id}: nothing to upload, all {len(changes.same)} files are there"]
    else:
        if refusal := find_license_problem(source, target, remote, licenses):
            raise PolyprobeError(refusal)
        pushed = publish(api, source, target, remote, changes)
        text = "an open pull request has these files already"
        done = text if pushed.was_there else count_changes(source, changes)
        lines = [f"{target.repo_id}: {done}", pushed.url]
        revision = pushed.revision
    return [*lines, f"use: {usage(source, target, revision)}"]


def preview(api: HfApi, source: Source, target: Target, licenses: Collection[str]) -> list[str]:
    """Write the plan of a push. Without a connection every file counts as new."""
    notes = []
    try:
        remote = read_target(api, source, target)
        new = "" if remote.exists else ", a new repository"
    except hub.UnreachableError as error:
        remote, new = hub.NO_REPOSITORY, ""
        notes.append(f"shown as if the repository were empty: {error}")
    changes = hub.find_changes(source, remote)
    lines = []
    for mark, paths in zip("AMD=", changes[:4], strict=True):
        for path in paths:
            size = f"  {source.files[path].size:,} bytes" if path in source.files else ""
            lines.append(f"{mark} {path}{size}")
    notes += [f"kept in the repository, not from a push: {path}" for path in changes.foreign]
    notes += [f"not uploaded, not part of a {source.kind}: {path}" for path in source.left_out]
    if refusal := find_license_problem(source, target, remote, licenses):
        notes.append(refusal)
    return [
        *lines,
        *(f"note: {note}" for note in notes),
        f"{target.repo_id}{new}: {count_changes(source, changes)}; nothing was uploaded",
        f"commit: {title(source)}",
    ]


def read_target(api: HfApi, source: Source, target: Target) -> Remote:
    """Read the state of the target; refuse files of others and a wrong visibility."""
    with hub.explain_hub(target.repo_id):
        remote = hub.read_remote(api, target.repo_id, source.repo_type, target.revision)
        if not target.create_pr:
            hub.check_ours(api, target.repo_id, source, remote)
    if target.private and remote.private is False:
        remedy = "make it private in its settings, or leave out --private"
        raise PolyprobeError(f"{target.repo_id} is public already; {remedy}")
    if target.create_pr and not remote.branch:
        missing = f"branch {target.revision} of " if remote.exists else ""
        remedy = "to open a pull request in; leave out --create-pr"
        raise PolyprobeError(f"there is no {missing}{target.repo_id} {remedy}")
    return remote


def find_license_problem(
    source: Source, target: Target, remote: Remote, licenses: Collection[str]
) -> str | None:
    """Say why a licence of the card that is not in `licenses` does not permit publication."""
    # A private repository may hold anything.
    if target.private if remote.private is None else remote.private:
        return None
    for licence, reason in find_objections(source.card).items():
        if licence not in licenses:
            return (
                f"the card's licence is {licence!r}: {reason}; push it with --private, or, if you "
                f"have the right to publish it, with --despite-license {licence}"
            )
    return None


def count_changes(source: Source, changes: Changes) -> str:
    """Count the files added, changed, deleted and unchanged, in words."""
    size = sum(source.files[path].size for path in changes.added + changes.changed)
    return (
        f"{len(changes.added)} files added, {len(changes.changed)} changed ({size:,} bytes), "
        f"{len(changes.deleted)} deleted, {len(changes.same)} unchanged"
    )


def usage(source: Source, target: Target, revision: str) -> str:
    """Write the call that loads the pushed dataset or metric, or the address of the board."""
    at = "" if revision == hub.MAIN else f", revision={revision!r}"
    if source.kind == "board":
        return f"{hub.endpoint()}/spaces/{target.repo_id}"
    if source.kind == "space":
        return f"evaluate.load({target.repo_id!r}{at})"
    configs = source.card["configs"]
    default = next((c for c in configs if c.get("default")), configs[0])["config_name"]
    return f"load_dataset({target.repo_id!r}, {default!r}{at})"


def check_token(api: HfApi, repo_id: str) -> None:
    """Refuse to start without a token, or with a read-only one."""
    with hub.explain_hub(repo_id):
        token = hf.get_token()
        if not token or not token.isascii():
            problem = "HF_TOKEN is not a valid token" if token else "no token"
            raise PolyprobeError(f"{problem} to push {repo_id} with; {hub.how_to_log_in()}")
        me = api.whoami()
    # Only the Hub knows the permissions of a fine-grained token: it refuses the request itself.
    described = (me.get("auth") or {}).get("accessToken") or {}
    if described.get("role") == "read":
        name = described.get("displayName") or "in use"
        remedy = hub.how_to_log_in()
        raise PolyprobeError(f"the token {name!r} of {me['name']} may only read; {remedy}")


def publish(api: HfApi, source: Source, target: Target, remote: Remote, changes: Changes) -> Pushed:
    """Make the repository equal to the folder by one commit; create a missing repository."""
    # Large files are uploaded before the commit. The Hub keeps them: the next call sends the rest.
    try:
        with hub.explain_hub(target.repo_id) as state:
            if target.create_pr and (there := find_pull_request(api, source, target)):
                return there._replace(was_there=True)
            # Here, because create_commit validates the card after the repository was created.
            hf.RepoCard.load(source.files["README.md"].path).validate(source.repo_type)
            head = prepare(api, source, target, remote, state)
            done = commit(api, source, target, changes, head)
    except PolyprobeError:
        if arrived := find_arrived(api, source, target):
            return arrived
        raise
    return Pushed(done.pr_url or done.commit_url, done.pr_revision or target.revision)


def prepare(api: HfApi, source: Source, target: Target, remote: Remote, state: State) -> str:
    """Create a missing repository or branch; return the commit on which to build."""
    kind, head = source.repo_type, remote.head
    if not remote.exists:
        state.text = "the repository may be there, and empty"
        sdk = {"board": "static", "space": "gradio"}.get(source.kind)
        # An error if it was created since `remote` was read: it was not checked.
        api.create_repo(target.repo_id, repo_type=kind, private=target.private, space_sdk=sdk)
        state.text = "the repository is there, and empty"
        head = hub.read_remote(api, target.repo_id, kind).head
    else:
        state.text = "its files are as before"
    if not remote.branch and target.revision != hub.MAIN:
        api.create_branch(target.repo_id, branch=target.revision, repo_type=kind, exist_ok=True)
        state.text = f"branch {target.revision} is there, and is like {hub.MAIN}"
    return head


def commit(api: HfApi, source: Source, target: Target, changes: Changes, head: str) -> CommitInfo:
    """Add new and changed files and delete old ones, as one commit on top of `head`."""
    # Not by HfApi.upload_folder (huggingface_hub 2.4): with hf_xet it splits a folder of more than
    # 250 files, and a commit that keeps failing, into several commits, of which only the first has
    # `parent_commit`. With `create_pr` it opens the pull request before the upload, and only into
    # `main`. `*` in its patterns matches a slash: `delete_patterns` would delete files of others.
    for name, value in XET.items():
        os.environ.setdefault(name, value)
    paths = changes.added + changes.changed
    added = [hf.CommitOperationAdd(path, str(source.files[path].path)) for path in paths]
    deleted = [hf.CommitOperationDelete(path, is_folder=False) for path in changes.deleted]
    kinds = ("added", "changed", "deleted")
    summary = ", ".join(f"{len(x)} {kind}" for kind, x in zip(kinds, changes, strict=False) if x)
    return api.create_commit(
        target.repo_id,
        [*added, *deleted],
        commit_message=title(source),
        commit_description=f"{summary}; {len(changes.same)} of {len(source.files)} files unchanged",
        repo_type=source.repo_type,
        revision=target.revision,
        create_pr=target.create_pr,
        parent_commit=head or None,
    )


def title(source: Source) -> str:
    """Write the commit's message, which names the build; see `hub.PUSHED`."""
    made = "built by" if source.kind == "dataset" else "of"
    return f"{source.name} {made} polyprobe {__version__} (content {source.fingerprint})"


def find_arrived(api: HfApi, source: Source, target: Target) -> Pushed | None:
    """Find a commit whose answer was lost."""
    try:
        if target.create_pr:
            return find_pull_request(api, source, target)
        remote = hub.read_remote(api, target.repo_id, source.repo_type, target.revision)
    except Exception:  # the Hub is still unreachable: the caller reports the first error
        return None
    if not (remote.branch and hub.find_changes(source, remote).is_empty):
        return None
    page = f"{hub.endpoint()}/{source.repo_type}s/{target.repo_id}"
    return Pushed(f"{page}/commit/{remote.head}", target.revision)


def find_pull_request(api: HfApi, source: Source, target: Target) -> Pushed | None:
    """Find an open pull request that has the folder's files already."""
    repo_id, kind = target.repo_id, source.repo_type
    opened = api.get_repo_discussions(
        repo_id, repo_type=kind, discussion_type="pull_request", discussion_status="open"
    )
    for number in [request.num for request in opened]:  # all, before more is asked
        details = api.get_discussion_details(repo_id, number, repo_type=kind)
        base = str(getattr(details, "target_branch", "")).removeprefix("refs/heads/")
        remote = hub.read_remote(api, repo_id, kind, f"refs/pr/{number}")
        if base == target.revision and hub.find_changes(source, remote).is_empty:
            page = f"{hub.endpoint()}/{kind}s/{repo_id}/discussions/{number}"
            return Pushed(page, f"refs/pr/{number}")
    return None
