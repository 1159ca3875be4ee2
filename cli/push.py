"""`polyprobe push`: upload a dataset or a metric to the Hub as one commit."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def push(
    source: Annotated[
        Path, typer.Argument(help="Folder of a dataset or a metric, such as datasets/bmlama.")
    ],
    repo: Annotated[str, typer.Argument(help="OWNER/NAME on the Hub, created if missing.")],
    private: Annotated[
        bool, typer.Option("--private", help="Create the repository as a private one.")
    ] = False,
    revision: Annotated[str, typer.Option(help="Branch, created if missing.")] = "main",
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
            help="Publish although this licence of the card does not permit it, because you have "
            "the right. Repeat for each such licence.",
        ),
    ] = None,
) -> None:
    """Upload the changes of a dataset or a metric (a Gradio Space) to the Hub, as one commit.

    Card, configurations, rows and licence are checked first. The token is taken from
    `hf auth login` or HF_TOKEN. Run the same command again to resume; unchanged files are not
    uploaded.
    """
    # huggingface_hub takes a second to import, which no other command should wait for.
    from polyprobe.publish import push as steps

    target = steps.Target(repo, private, revision, create_pr)
    console = Console(soft_wrap=True, highlight=False, markup=False)
    for line in steps.push(source, target, despite_license or (), dry_run):
        console.print(line)
