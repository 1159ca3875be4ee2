"""`polyprobe list` and `cache`: the names that commands take, the scores that later runs reuse."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from polyprobe.builder.recipes import BALANCED, OWN, RECIPES, SOURCED
from polyprobe.builder.sources import FACT_SOURCES
from polyprobe.builder.translators import TRANSLATORS
from polyprobe.publish.export import RUN_FORMATS
from polyprobe.publish.harness import HARNESSES
from polyprobe.scoring.options import SCORING_NAMES
from polyprobe.system.download import cache_folder
from polyprobe.system.messages import PolyprobeError

from .options import one_of, say

if TYPE_CHECKING:
    from polyprobe.eval.work.score_store import Stored

Rows = Iterator[tuple[str, str]]
cache = typer.Typer(help="List or delete the scores that runs reuse.", no_args_is_help=True)
ABOUT = ("revision", "scoring", "dtype")


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
    yield from ((f"build {name}", texts["title"]) for name, texts in SOURCED.items())


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


def _read_stores() -> "list[Stored]":
    from polyprobe.eval.work.score_store import list_stores

    if not (stores := list_stores(cache_folder())):
        say(f"no scores are stored in {cache_folder()}")
    return stores


@cache.command(epilog="Example: polyprobe cache info")
def info() -> None:
    """List stored scores, one row for each model and its settings."""
    if not (stores := _read_stores()):
        return
    table = Table(box=SIMPLE_HEAD, padding=0, show_edge=False, header_style="bold", highlight=False)
    table.add_column("model", overflow="fold", min_width=18)  # with the others 80 columns
    for name in ABOUT:
        table.add_column(name, overflow="fold")
    # further settings are shown of rows that differ only in them
    settings = {store.file: _list_differing(store, stores) for store in stores}
    if any(settings.values()):
        table.add_column("other settings", overflow="fold")
    for name in ("rows", "size", "last used"):
        table.add_column(name, justify="right", no_wrap=True)
    for store in stores:
        revision, *values = (store.identity.get(name, "–") for name in ABOUT)
        date = datetime.fromtimestamp(store.last_use).strftime("%Y-%m-%d")
        values += [settings[store.file]] if any(settings.values()) else []
        cells = (_name_store(store), revision[:12], *values, f"{store.rows:,}", decimal(store.size))
        table.add_row(*cells, date)
    say(table, f"{_count_total(stores)} in {cache_folder()}")


@cache.command(epilog="Example: polyprobe cache clear --model bloom --dry-run")
def clear(
    model: Annotated[str | None, typer.Option(help="Only models with this in their name.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List them; delete nothing.")] = False,
) -> None:
    """Delete stored scores; run folders are not changed."""
    from polyprobe.eval.work.score_store import remove_store

    if not (stores := _read_stores()):
        return
    if model == "":  # a shell variable that is not set must not clear everything
        raise PolyprobeError("--model is empty; leave it out to delete the scores of all models")
    selection = [store for store in stores if model is None or model in store.name]
    if not selection:
        names = ", ".join(dict.fromkeys(map(_name_store, stores)))
        raise PolyprobeError(f"no scores are stored for a model like {model!r}; available: {names}")
    word = "would delete" if dry_run else "deleted"
    for store in selection:
        if not dry_run:
            remove_store(store)
        about = ", ".join(store.identity.get(name, "–") for name in ABOUT)
        counts = _count_total([store])
        say(f"{word} {_name_store(store)} ({about}): {counts}, {store.file.name}")
    say(f"{word} {_count_total(selection)} from {cache_folder()}")


def _list_differing(store: "Stored", stores: "list[Stored]") -> str:
    """List the settings that a store has not in common with those of the same row otherwise."""

    def key(row: "Stored") -> tuple[str, ...]:
        return (row.name, *(row.identity.get(name, "") for name in ABOUT))

    alike = [x.identity for x in stores if key(x) == key(store)]
    pairs = [(x, y) for x, y in store.identity.items() if len({of.get(x) for of in alike}) > 1]
    return ", ".join(f"{name} {value}" for name, value in pairs)


def _name_store(store: "Stored") -> str:
    return store.name if store.identity else "(damaged file)"


def _count_total(stores: "list[Stored]") -> str:
    rows, size = sum(store.rows for store in stores), sum(store.size for store in stores)
    return f"{rows:,} rows, {decimal(size)}"
