"""`polyprobe demo`: the embedded model over the embedded dataset, offline."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .output import show_run

TAUGHT = ("en", "es", "ru", "ar", "zh", "hi")
UNTAUGHT = ("el", "hy", "ka", "ko", "ta", "th")


def demo(
    output: Annotated[Path, typer.Option(help="The run folder.")] = Path("demo-run"),
    every: Annotated[bool, typer.Option("--all", help="All 51 languages.")] = False,
) -> None:
    """Run the embedded model over the embedded dataset: six languages it was taught, six not."""
    from polyprobe.eval import evaluate_model

    say = Console().print
    say("geolm, a small model that was taught the facts of geofacts in " + " ".join(TAUGHT))
    say(
        "and never saw another language. It should agree with itself in these, and guess elsewhere."
    )
    evaluate_model(
        "geolm", "geofacts", output=output, languages=None if every else [*TAUGHT, *UNTAUGHT]
    )
    show_run(output)
    say("\nThe same for a model of your own:", highlight=False)
    say("  polyprobe eval OWNER/MODEL --dataset geofacts --output my-run", highlight=False)
