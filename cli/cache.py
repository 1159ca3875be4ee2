"""`polyprobe cache`: what scores are kept for later runs, and their removal."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from polyprobe.system.errors import PolyprobeError
from polyprobe.system.store import cache_folder

if TYPE_CHECKING:
    from polyprobe.eval.work.cache import Stored

cache = typer.Typer(
    help="Show or remove the scores that are kept for later runs.", no_args_is_help=True
)
ABOUT = ("revision", "scoring", "dtype")


@cache.command()
def info() -> None:
    """Show what scores are kept, a row for each model and way to score."""
    from polyprobe.eval.work.cache import list_stores

    folder = cache_folder()
    stores = list_stores(folder)
    if stores:
        Console().print(draw_stores(stores))
        say(f"{total(stores)} in {folder}")
    else:
        say(f"no scores are kept in {folder}")


@cache.command()
def clear(
    model: Annotated[
        str | None, typer.Option(help="Only of models with this text in their name.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be removed, and keep it.")
    ] = False,
) -> None:
    """Remove the scores that are kept for later runs; the runs' own folders stay as they are."""
    from polyprobe.eval.work.cache import list_stores, remove

    folder = cache_folder()
    stores = list_stores(folder)
    if not stores:
        say(f"no scores are kept in {folder}")
        return
    chosen = choose_stores(stores, model)
    word = "would remove" if dry_run else "removed"
    for store in chosen:
        if not dry_run and not remove(store):
            say(f"{store.folder} stays: other files lie in it")
        say(f"{word} {describe(store)}")
    say(f"{word} {total(chosen)} from {folder}")


def choose_stores(stores: "list[Stored]", model: str | None) -> "list[Stored]":
    """Return the stores whose model has a text in its name; all where none is asked for."""
    if model is None:
        return stores
    if not model:  # a shell variable that is not set must not clear everything
        raise PolyprobeError("--model is empty; leave it out to remove the scores of every model")
    chosen = [store for store in stores if model in store.name]
    if not chosen:
        kept = ", ".join(dict.fromkeys(map(name_of, stores)))
        raise PolyprobeError(f"no scores are kept of a model like {model!r}; there are: {kept}")
    return chosen


def draw_stores(stores: "list[Stored]") -> Table:
    """Return the stores as a table, a row each; some differ in what only identity.json says."""
    table = Table(box=SIMPLE_HEAD, padding=0, show_edge=False, header_style="bold", highlight=False)
    table.add_column("model", overflow="fold", min_width=18)  # with the others 80 columns
    for name in ABOUT:
        table.add_column(name, overflow="fold")
    for name in ("rows", "size", "last used"):
        table.add_column(name, justify="right", no_wrap=True)
    for store in stores:
        revision, *others = (store.identity.get(name, "–") for name in ABOUT)
        used = datetime.fromtimestamp(store.used).strftime("%Y-%m-%d")
        cells = (name_of(store), revision[:12], *others, f"{store.rows:,}", decimal(store.size))
        table.add_row(*map(Text, (*cells, used)))
    return table


def describe(store: "Stored") -> str:
    """Return a store in a line, with the name of its folder."""
    about = ", ".join(store.identity.get(name, "–") for name in ABOUT)
    return f"{name_of(store)} ({about}): {total([store])}, {store.folder.name}"


def name_of(store: "Stored") -> str:
    """Return the model that a store is of."""
    return store.name if store.identity else "(its identity.json cannot be read)"


def total(stores: "list[Stored]") -> str:
    """Return how much is kept in all, in words."""
    rows, size = sum(store.rows for store in stores), sum(store.size for store in stores)
    return f"{rows:,} rows, {decimal(size)}"


def say(line: str) -> None:
    """Print one line, however long."""
    Console().print(line, markup=False, highlight=False, soft_wrap=True)
