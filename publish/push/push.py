"""The steps of `polyprobe push`, which return the lines to print."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi

from polyprobe.publish.names import check_repository_name
from polyprobe.system.errors import PolyprobeError

from .checks import check_source, find_objections
from .commit import Target, check_token, publish, title
from .failures import UnreachableError, explain_hub
from .remote import NO_REPOSITORY, Changes, Remote, check_ours, check_revision, compare, read_remote
from .source import Source, read_source

USAGE = {
    "dataset": "load_dataset({repo!r}, {config!r}{at})",
    "space": "evaluate.load({repo!r}{at})",
}


def push(
    folder: Path, target: Target, licenses: Collection[str] = (), dry_run: bool = False
) -> list[str]:
    """Upload the changes of a dataset or a metric as one commit; return the lines to print.

    Args:
        folder: of a dataset or a metric; it is checked first.
        target: the repository, which is created if it does not exist.
        licenses: those of the card's licences that do not permit publication and are to be ignored.
        dry_run: return the plan and the card, and upload nothing.

    Raises:
        PolyprobeError: the folder, its licence, the repository or the token does not permit the
            push, or the Hub fails. The message says in which state the repository is.
    """
    check_revision(target.revision)
    source = read_source(folder)
    card = check_source(source)
    check_name(source, target)
    api = HfApi()
    if dry_run:
        return preview(api, source, target, card, licenses)
    check_token(api, target.repo_id)
    remote = read_target(api, source, target)
    changes = compare(source, remote)
    revision = target.revision
    if changes.is_empty and remote.branch:
        lines = [f"{target.repo_id}: nothing to upload, all {len(changes.same)} files are there"]
    else:
        if refusal := find_license_problem(card, target, remote, licenses):
            raise PolyprobeError(refusal)
        pushed = publish(api, source, target, remote, changes)
        known = "an open pull request has these files already"
        done = known if pushed.was_there else count_changes(source, changes)
        lines = [f"{target.repo_id}: {done}", pushed.url]
        revision = pushed.revision
    return [*lines, f"use: {usage(source, target, card, revision)}"]


def preview(
    api: HfApi, source: Source, target: Target, card: Mapping[str, Any], licenses: Collection[str]
) -> list[str]:
    """Return the plan of a push and the card. Without a connection every file counts as new."""
    remote, notes, known = NO_REPOSITORY, [], True
    try:
        remote = read_target(api, source, target)
    except UnreachableError as error:
        notes.append(f"shown as if the repository were empty: {error}")
        known = False
    changes = compare(source, remote)
    lines = []
    for mark, paths in zip(
        "AMD=", (changes.added, changes.changed, changes.deleted, changes.same), strict=True
    ):
        for path in paths:
            size = f"  {source.files[path].size:,} bytes" if path in source.files else ""
            lines.append(f"{mark} {path}{size}")
    notes += [f"kept in the repository, not from a push: {path}" for path in changes.kept]
    notes += [f"not uploaded, not part of a {source.kind}: {path}" for path in source.left_out]
    if refusal := find_license_problem(card, target, remote, licenses):
        notes.append(refusal)
    new = "" if remote.exists or not known else ", a new repository"
    return [
        *lines,
        f"\n{source.files['README.md'].path.read_text(encoding='utf-8')}",
        *(f"note: {note}" for note in notes),
        f"{target.repo_id}{new}: {count_changes(source, changes)}; nothing was uploaded",
        f"commit: {title(source)}",
    ]


def check_name(source: Source, target: Target) -> None:
    """Refuse an invalid name, and one under which evaluate would not find the metric's file."""
    check_repository_name(target.repo_id, f"write me/{source.name}")
    owner, _, name = target.repo_id.partition("/")
    if source.kind == "space" and name != source.name:
        raise PolyprobeError(
            f"a metric's repository has its name: evaluate.load({target.repo_id!r}) looks for "
            f"{name}.py in it; push to {owner}/{source.name}"
        )


def read_target(api: HfApi, source: Source, target: Target) -> Remote:
    """Return the state of the target; refuse files of others and a wrong visibility."""
    with explain_hub(target.repo_id):
        remote = read_remote(api, target.repo_id, source.kind, target.revision)
        if not target.create_pr:
            check_ours(api, target.repo_id, source.kind, remote)
    if target.private and remote.private is False:
        raise PolyprobeError(
            f"{target.repo_id} is public already; make it private in its settings, or leave out "
            "--private"
        )
    if target.create_pr and not remote.branch:
        missing = f"branch {target.revision} of " if remote.exists else ""
        raise PolyprobeError(
            f"there is no {missing}{target.repo_id} to open a pull request in; leave out "
            "--create-pr"
        )
    return remote


def find_license_problem(
    card: Mapping[str, Any], target: Target, remote: Remote, licenses: Collection[str]
) -> str | None:
    """Return why the card's licences do not permit publication, None if they do.

    A private repository may hold anything. Licences in `licenses` are ignored.
    """
    if target.private if remote.private is None else remote.private:
        return None
    for licence, reason in find_objections(card).items():
        if licence not in licenses:
            return (
                f"the card's licence is {licence!r}: {reason}; push it with --private, or, if you "
                f"have the right to publish it, with --despite-license {licence}"
            )
    return None


def count_changes(source: Source, changes: Changes) -> str:
    """Return the number of files added, changed, deleted and unchanged, in words."""
    size = sum(source.files[path].size for path in changes.uploads)
    return (
        f"{len(changes.added)} files added, {len(changes.changed)} changed ({size:,} bytes), "
        f"{len(changes.deleted)} deleted, {len(changes.same)} unchanged"
    )


def usage(source: Source, target: Target, card: Mapping[str, Any], revision: str) -> str:
    """Return the call that loads the pushed dataset or metric."""
    configs = card.get("configs") or [{"config_name": "default"}]
    default = next((c for c in configs if c.get("default")), configs[0])["config_name"]
    at = "" if revision == "main" else f", revision={revision!r}"
    return USAGE[source.kind].format(repo=target.repo_id, config=default, at=at)
