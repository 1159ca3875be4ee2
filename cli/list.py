"""`polyprobe list`: the names that other commands take."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from polyprobe.builder.recipes import BALANCED, MUBENCH, OWN, RECIPES, XFAKT
from polyprobe.builder.sources import FACT_SOURCES
from polyprobe.builder.translators import TRANSLATORS
from polyprobe.publish.export import RUN_FORMATS
from polyprobe.publish.harness import HARNESSES
from polyprobe.scoring.options import SCORING_NAMES

from .options import one_of, say

Rows = Iterator[tuple[str, str]]


def _list_datasets() -> Rows:
    """Yield the datasets at hand with their configurations, then those that can be built."""
    from polyprobe.schema.locate import list_datasets, list_splits, locate, read_card

    for name in list_datasets():
        card = Path(locate(name)) / "README.md"
        if not os.path.isdir(card.parent):
            yield name, "installed"
            continue
        splits = list_splits(read_card(card)) if card.is_file() else []
        sizes = Counter(split.config for split in splits)
        listed = ", ".join(f"{config} ({size} languages)" for config, size in sizes.items())
        place = os.path.relpath(card.parent)
        if place.startswith(os.pardir):  # of the package: a chain of `..` is hard to read
            place = str(card.parent.absolute())
        yield name, f"{listed or 'no card'}; {place}"
    for name, recipe in RECIPES.items():
        yield f"build {name}", f"{recipe.title}: {', '.join(recipe.configs)}"
    yield f"build {BALANCED}", f"facts that all languages have, from {', '.join(FACT_SOURCES)}"
    yield f"build {OWN}", "your own facts and templates"
    yield f"build {MUBENCH}", "BMLAMA as MuBench and BabyLM 2026 have it"
    yield f"build {XFAKT}", "questions about 13 countries in their 13 languages"


def _list_metrics() -> Rows:
    from polyprobe.schema.locate import read_card

    for app in sorted(Path(str(files("polyprobe"))).glob("metrics/*/app.py")):
        yield app.parent.name, read_card(app.with_name("README.md"))["description"]


FORMATS = dict.fromkeys(RUN_FORMATS, "results of a run")
FORMATS |= dict.fromkeys(HARNESSES, "a dataset as tasks of this harness")
KINDS: dict[str, Callable[[], Rows]] = {
    "datasets": _list_datasets,
    "metrics": _list_metrics,
    "scorings": lambda: ((x, f"{text} ({takers})") for x, (takers, text) in SCORING_NAMES.items()),
    "translators": lambda: iter(TRANSLATORS.items()),
    "formats": lambda: iter(FORMATS.items()),
}


def list_kinds(
    kind: Annotated[
        str | None,
        typer.Argument(callback=one_of("kind", KINDS), help=f"{', '.join(KINDS)} (default: all)."),
    ] = None,
) -> None:
    """List datasets, metrics, scorings, translators and export formats by name."""
    table = Table(show_header=False, box=None, pad_edge=False)
    for title in [kind] if kind else KINDS:
        table.add_row(Text(title, "bold"), end_section=True)
        for name, text in KINDS[title]():
            table.add_row(f"  {name}", text)
    say(table)
