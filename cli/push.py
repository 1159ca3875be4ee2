"""`polyprobe push`: a dataset or a metric goes to the Hub, what changed, as one commit."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from polyprobe.system.errors import PolyprobeError

if TYPE_CHECKING:  # huggingface_hub takes a second, which no other command has to wait for
    from huggingface_hub import HfApi

    from polyprobe.publish.push.commit import Target
    from polyprobe.publish.push.source import Source

from polyprobe.publish.push.push import check_name, find_refusal, look_at, tell_plan, usage


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

    from polyprobe.publish.push.checks import check_source
    from polyprobe.publish.push.commit import Target, check_token
    from polyprobe.publish.push.remote import check_revision
    from polyprobe.publish.push.source import read_source

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


def upload(
    api: "HfApi", source: "Source", target: "Target", card: dict, despite: Sequence[str]
) -> None:
    """Push, and say what was sent and how it is loaded."""
    from polyprobe.publish.push.commit import publish
    from polyprobe.publish.push.remote import compare

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


def show_plan(
    api: "HfApi", source: "Source", target: "Target", card: dict, despite: Sequence[str]
) -> None:
    """Print what a push would do, and the card; where the Hub cannot be asked, all is new."""
    from polyprobe.publish.push.commit import title
    from polyprobe.publish.push.failures import UnreachableError
    from polyprobe.publish.push.remote import NOTHING, compare

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
