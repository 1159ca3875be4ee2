"""`polyprobe push`: a dataset or a metric goes to the Hub, what changed, as one commit."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from polyprobe import PolyprobeError

if TYPE_CHECKING:  # huggingface_hub takes a second, which no other command has to wait for
    from huggingface_hub import HfApi

    from .hub.publish import Target
    from .hub.remote import Plan, Remote
    from .hub.source import Source

NEXT = {
    "dataset": "load_dataset({repo!r}, {config!r}{at})",
    "space": "evaluate.load({repo!r}{at})",
}


def push(
    source: Annotated[
        Path, typer.Argument(help="A folder of a dataset or a metric: datasets/bmlama.")
    ],
    repo: Annotated[str, typer.Argument(help="OWNER/NAME on the Hub, made where it is missing.")],
    private: Annotated[
        bool, typer.Option("--private", help="Make the repository private, where it is made.")
    ] = False,
    revision: Annotated[str, typer.Option(help="The branch, made where it is missing.")] = "main",
    create_pr: Annotated[
        bool, typer.Option("--create-pr", help="Open a pull request instead of committing.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show files and card; upload nothing.")
    ] = False,
    despite_license: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LICENSE",
            help="Publish although this licence of the card does not allow it: you have the right. "
            "Once for each such licence.",
        ),
    ] = None,
) -> None:
    """Upload what changed of a dataset or a metric (a Gradio Space) to the Hub, as one commit.

    Card, configurations, rows and licence are checked first. The token is that of `hf auth login`
    or HF_TOKEN. The same line again goes on where it stopped, and sends nothing that is there.
    """
    from huggingface_hub import HfApi

    from .hub.checks import check_source
    from .hub.publish import Target, check_token
    from .hub.remote import check_revision
    from .hub.source import read_source

    check_revision(revision)
    folder = read_source(source)
    card = check_source(folder)
    target = Target(repo, private, revision, create_pr)
    check_name(folder, target)
    api = HfApi()
    if dry_run:
        show_plan(api, folder, target, card, despite_license or ())
        return
    check_token(api, repo)
    upload(api, folder, target, card, despite_license or ())


def check_name(source: "Source", target: "Target") -> None:
    """Refuse a name that is none, or under which evaluate would not find the metric's file."""
    owner, _, name = target.repo_id.partition("/")
    if not owner or not name or "/" in name:
        raise PolyprobeError(f"{target.repo_id!r} is no OWNER/NAME; write me/{source.name}")
    if source.kind == "space" and name != source.name:
        raise PolyprobeError(
            f"a metric's repository has its name: evaluate.load({target.repo_id!r}) looks for "
            f"{name}.py in it; push to {owner}/{source.name}"
        )


def upload(
    api: "HfApi", source: "Source", target: "Target", card: dict, despite: Sequence[str]
) -> None:
    """Push, and say what was sent and how it is loaded."""
    from .hub.publish import publish
    from .hub.remote import compare

    remote = look_at(api, source, target)
    plan = compare(source, remote)
    console, revision = Console(soft_wrap=True, highlight=False, markup=False), target.revision
    if plan.is_empty and remote.branch:
        console.print(f"{target.repo_id}: nothing to upload, all {len(plan.same)} files are there")
    elif refusal := find_refusal(card, target, remote, despite):
        raise PolyprobeError(refusal)
    else:
        pushed = publish(api, source, target, remote, plan)
        done = "it was there already" if pushed.was_there else tell_plan(source, plan)
        console.print(f"{target.repo_id}: {done}\n{pushed.url}")
        revision = pushed.revision
    console.print(f"use: {usage(source, target, card, revision)}")


def look_at(api: "HfApi", source: "Source", target: "Target") -> "Remote":
    """Return what the Hub has, refused where a push would do what nobody asked for."""
    from .hub.failures import explain_hub
    from .hub.remote import check_ours, read_remote

    with explain_hub(target.repo_id):
        remote = read_remote(api, target.repo_id, source.kind, target.revision)
        if not target.create_pr:
            check_ours(api, target.repo_id, source.kind, remote)
    check_visibility(target, remote)
    if target.create_pr and not remote.branch:
        what = f"branch {target.revision} of " if remote.exists else ""
        raise PolyprobeError(
            f"there is no {what}{target.repo_id} to open a pull request in; leave out --create-pr"
        )
    return remote


def check_visibility(target: "Target", remote: "Remote") -> None:
    """Refuse `--private` for a repository that everybody sees: a push does not hide it."""
    if target.private and remote.private is False:
        raise PolyprobeError(
            f"{target.repo_id} is public already; make it private in its settings, or leave out "
            "--private"
        )


def find_refusal(
    card: dict, target: "Target", remote: "Remote", despite: Sequence[str]
) -> str | None:
    """Return why the data may not be published, None if it may or will be seen by its owner alone.

    Each licence that stands against it must be named by `--despite-license`.
    """
    from .hub.licences import find_objections

    if target.private if remote.private is None else remote.private:
        return None
    for licence, reason in find_objections(card).items():
        if licence not in despite:
            return (
                f"the card's licence is {licence!r}: {reason}; push it with --private, or, if you "
                f"have the right to publish it, with --despite-license {licence}"
            )
    return None


def show_plan(
    api: "HfApi", source: "Source", target: "Target", card: dict, despite: Sequence[str]
) -> None:
    """Print what a push would do, and the card; where the Hub cannot be asked, all is new."""
    from .hub.failures import UnreachableError
    from .hub.publish import title
    from .hub.remote import NOTHING, compare

    console = Console(soft_wrap=True, highlight=False, markup=False)
    remote, notes, known = NOTHING, [], True
    try:
        remote = look_at(api, source, target)
    except UnreachableError as error:
        notes.append(f"shown as if the repository were empty: {error}")
        known = False
    plan = compare(source, remote)
    for mark, paths in zip(
        "AMD=", (plan.added, plan.changed, plan.deleted, plan.same), strict=True
    ):
        for path in paths:
            size = f"  {source.files[path].size:,} bytes" if path in source.files else ""
            console.print(f"{mark} {path}{size}")
    notes += [f"stays, not written by a push: {path}" for path in plan.kept]
    notes += [f"stays here, not for the Hub: {path}" for path in source.left_out]
    if refusal := find_refusal(card, target, remote, despite):
        notes.append(refusal)
    console.print(f"\n{source.files['README.md'].path.read_text(encoding='utf-8')}")
    for note in notes:
        console.print(f"note: {note}")
    new = "" if remote.exists or not known else ", a new repository"
    console.print(f"{target.repo_id}{new}: {tell_plan(source, plan)}; nothing was uploaded")
    console.print(f"commit: {title(source)}")


def tell_plan(source: "Source", plan: "Plan") -> str:
    """Return the counts of a plan as words."""
    size = sum(source.files[path].size for path in plan.uploads)
    return (
        f"{len(plan.added)} files added, {len(plan.changed)} changed ({size:,} bytes), "
        f"{len(plan.deleted)} deleted, {len(plan.same)} as they were"
    )


def usage(source: "Source", target: "Target", card: dict, revision: str) -> str:
    """Return the line that loads what was pushed."""
    configs = card.get("configs") or [{"config_name": "default"}]
    default = next((c for c in configs if c.get("default")), configs[0])["config_name"]
    at = "" if revision == "main" else f", revision={revision!r}"
    return NEXT[source.kind].format(repo=target.repo_id, config=default, at=at)
