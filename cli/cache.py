"""`polyprobe cache`: list and delete the stored scores that later runs reuse."""

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

from .options import example, say

if TYPE_CHECKING:
    from polyprobe.eval.work.score_store import Stored

cache = typer.Typer(
    help="List or delete the stored scores that later runs reuse.", no_args_is_help=True
)
ABOUT = ("revision", "scoring", "dtype")


@cache.command(epilog=example("polyprobe cache info"))
def info() -> None:
    """List stored scores, one row for each model and its settings."""
    from polyprobe.eval.work.score_store import list_stores

    folder = cache_folder()
    stores = list_stores(folder)
    if stores:
        Console().print(draw_stores(stores))
        say(f"{total(stores)} in {folder}")
    else:
        say(f"no scores are stored in {folder}")


@cache.command(epilog=example("polyprobe cache clear --model bloom --dry-run"))
def clear(
    model: Annotated[
        str | None, typer.Option(help="Only models with this text in their name.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the stores without deleting them.")
    ] = False,
) -> None:
    """Delete stored scores; run folders are not changed."""
    from polyprobe.eval.work.score_store import list_stores, remove

    folder = cache_folder()
    stores = list_stores(folder)
    if not stores:
        say(f"no scores are stored in {folder}")
        return
    chosen = choose_stores(stores, model)
    word = "would delete" if dry_run else "deleted"
    for store in chosen:
        if not dry_run:
            remove(store)
        say(f"{word} {describe(store)}")
    say(f"{word} {total(chosen)} from {folder}")


def choose_stores(stores: "list[Stored]", model: str | None) -> "list[Stored]":
    """Return the stores whose model name contains a text; None selects all."""
    if model is None:
        return stores
    if not model:  # a shell variable that is not set must not clear everything
        raise PolyprobeError("--model is empty; leave it out to delete the scores of all models")
    chosen = [store for store in stores if model in store.name]
    if not chosen:
        kept = ", ".join(dict.fromkeys(map(name_of, stores)))
        raise PolyprobeError(f"no scores are stored for a model like {model!r}; available: {kept}")
    return chosen


def draw_stores(stores: "list[Stored]") -> Table:
    """Return a table with one row for each store.

    Further settings are shown of rows that differ in nothing else.
    """
    table = Table(box=SIMPLE_HEAD, padding=0, show_edge=False, header_style="bold", highlight=False)
    table.add_column("model", overflow="fold", min_width=18)  # with the others 80 columns
    for name in ABOUT:
        table.add_column(name, overflow="fold")
    further = {store.file: list_further(store, stores) for store in stores}
    if any(further.values()):
        table.add_column("other settings", overflow="fold")
    for name in ("rows", "size", "last used"):
        table.add_column(name, justify="right", no_wrap=True)
    for store in stores:
        revision, *others = (store.identity.get(name, "–") for name in ABOUT)
        used = datetime.fromtimestamp(store.used).strftime("%Y-%m-%d")
        others += [further[store.file]] if any(further.values()) else []
        cells = (name_of(store), revision[:12], *others, f"{store.rows:,}", decimal(store.size))
        table.add_row(*map(Text, (*cells, used)))
    return table


def list_further(store: "Stored", stores: "list[Stored]") -> str:
    """Return the settings that a store has not in common with those of the same row otherwise."""

    def key(other: "Stored") -> tuple[str, ...]:
        return (other.name, *(other.identity.get(name, "") for name in ABOUT))

    alike = [other.identity for other in stores if key(other) == key(store)]
    return ", ".join(
        f"{name} {value}"
        for name, value in store.identity.items()
        if len({identity.get(name) for identity in alike}) > 1
    )


def describe(store: "Stored") -> str:
    """Return a line about a store that ends with its file name."""
    about = ", ".join(store.identity.get(name, "–") for name in ABOUT)
    return f"{name_of(store)} ({about}): {total([store])}, {store.file.name}"


def name_of(store: "Stored") -> str:
    """Return the name of a store's model."""
    return store.name if store.identity else "(damaged file)"


def total(stores: "list[Stored]") -> str:
    """Return the total numbers of rows and bytes in words."""
    rows, size = sum(store.rows for store in stores), sum(store.size for store in stores)
    return f"{rows:,} rows, {decimal(size)}"
