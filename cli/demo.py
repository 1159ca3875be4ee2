"""`polyprobe demo`: the embedded model over the embedded dataset, offline."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from polyprobe.cli.show.run import show_run
from polyprobe.eval.embedded import TAUGHT
from polyprobe.system.extras import explain_missing_extras

UNTAUGHT = ("el", "hy", "ka", "ko", "ta", "th")
GROUPS = (
    "between untaught languages",
    "between a taught and an untaught",
    "between taught languages",
)


def demo(
    output: Annotated[Path, typer.Option(help="The run folder.")] = Path("demo-run"),
    every: Annotated[bool, typer.Option("--all", help="All 51 languages.")] = False,
) -> None:
    """Run the embedded model over the embedded dataset: six languages it was taught, six not."""
    with explain_missing_extras("evaluating"):
        from polyprobe.eval.evaluate import run_evaluation

    say = Console().print
    say("geolm, a small model that was taught the facts of geofacts in " + " ".join(TAUGHT))
    say(
        "and never saw another language. It should agree with itself in these, and guess elsewhere."
    )
    languages = None if every else [*TAUGHT, *UNTAUGHT]
    finished = run_evaluation("geolm", "geofacts", output=output, languages=languages)
    show_run(finished)
    say("\nadjusted RankC (0 is chance, 1 is agreement):")
    for group, value in group_means(finished.results["rankc_adjusted"]).items():
        say(f"  {group}: {value:z.3f}", highlight=False)
    say("\nThe same for a model of your own:", highlight=False)
    say("  polyprobe eval OWNER/MODEL --dataset geofacts --output my-run", highlight=False)


def group_means(pairs: dict[str, float]) -> dict[str, float]:
    """Return the mean of each group of pairs, by how many of the two languages were taught."""
    groups: dict[str, list[float]] = {group: [] for group in reversed(GROUPS)}
    for pair, value in pairs.items():
        groups[GROUPS[sum(language in TAUGHT for language in pair.split("-"))]].append(value)
    return {group: sum(values) / len(values) for group, values in groups.items()}
