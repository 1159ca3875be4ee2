"""`polyprobe cache`: list and delete the stored scores that later runs reuse."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.filesize import decimal
from rich.table import Table

from polyprobe.system.download import cache_folder
from polyprobe.system.messages import PolyprobeError

from .options import say

if TYPE_CHECKING:
    from polyprobe.eval.work.score_store import Stored

cache = typer.Typer(help="List or delete the scores that runs reuse.", no_args_is_help=True)
ABOUT = ("revision", "scoring", "dtype")


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
