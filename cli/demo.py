"""`polyprobe demo`: evaluate the embedded model on the embedded dataset, offline."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from polyprobe.cli.show.run import show_run
from polyprobe.eval.embedded import TRAINED
from polyprobe.system.extras import explain_missing_extras

OTHERS = ("el", "hy", "ka", "ko", "ta", "th")
GROUPS = (
    "between other languages",
    "between a trained and another language",
    "between trained languages",
)


def demo(
    output: Annotated[Path, typer.Option(help="Run folder.")] = Path("demo-run"),
    every: Annotated[bool, typer.Option("--all", help="All 51 languages.")] = False,
) -> None:
    """Evaluate the embedded model in six languages of its training data and six others."""
    with explain_missing_extras("evaluating"):
        from polyprobe.eval.evaluate import run_evaluation

    say = Console().print
    say("geolm is a small model trained on the facts of geofacts in " + " ".join(TRAINED) + ".")
    say("It should be consistent between these languages, and guess in all others.")
    languages = None if every else [*TRAINED, *OTHERS]
    finished = run_evaluation("geolm", "geofacts", output=output, languages=languages)
    show_run(finished)
    say("\nadjusted RankC (0 is chance, 1 is agreement):")
    for group, value in group_means(finished.results["rankc_adjusted"]).items():
        say(f"  {group}: {value:z.3f}", highlight=False)
    say("\nTo evaluate your own model:", highlight=False)
    say("  polyprobe eval OWNER/MODEL --dataset geofacts --output my-run", highlight=False)


def group_means(pairs: dict[str, float]) -> dict[str, float]:
    """Return the mean of each group of pairs, by the number of languages in the training data."""
    groups: dict[str, list[float]] = {group: [] for group in reversed(GROUPS)}
    for pair, value in pairs.items():
        groups[GROUPS[sum(language in TRAINED for language in pair.split("-"))]].append(value)
    return {group: sum(values) / len(values) for group, values in groups.items()}
