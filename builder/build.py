"""From a dataset's name to its folder: source, Parquet, card."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from polyprobe import PolyprobeError

from .benchmark import render_benchmark
from .card import MARK, is_built, read_config, render_card
from .names import unknown
from .table import SENTENCE
from .write import recover, write_config, write_text

if TYPE_CHECKING:  # it needs polars, an extra
    import polars as pl

    from .balanced import Notes
    from .request import Request

BALANCED = "balanced"  # the dataset that is made as one asks for it, of any source of facts
SOURCES = {
    "bmlama": "polyprobe.builder.sources.bmlama",
    "fluent-mlama": "polyprobe.builder.sources.fluent_mlama_pools",
    "geofacts": "polyprobe.builder.sources.geofacts",
}
STATES = ("{}", ".{}.new", ".{}.old")  # a configuration's folder: whole, begun, set aside
EXTRAS = {"builder": ("babel", "polars", "pooch", "requests", "scipy"), "sentences": ("rapidfuzz",)}


def build_dataset(
    name: str,
    configs: Sequence[str] = (),
    mirror: Path | None = None,
    output: Path | None = None,
) -> Path:
    """Build configurations of the dataset `name` and return the folder they lie in.

    No `configs` means all but sentence-level twins (`sentences/`). The folder is `output`, or
    `datasets/NAME` under the current one; configurations that lie there already stay, and the card
    lists those present.
    """
    folder = output or Path("datasets", name)
    with explain_missing_extras():
        source = load_source(name)
        wanted = choose_configs(name, source, configs)
        check_mirror(mirror)
        check_folder(folder, name, source.CONFIGS)
        for config in source.CONFIGS:
            recover(folder, config)
        for config in wanted:
            write_config(folder, config, source.build(config, mirror))
            write_card(folder, name, list_known(folder, name), source)
    return folder


def build_balanced(
    request: "Request",
    mirror: Path | None = None,
    output: Path | None = None,
    announce: "Callable[[pl.DataFrame], None]" = lambda costs: None,
) -> "tuple[Path, Notes]":
    """Build a balanced set and return the folder it lies in, and how it came about.

    Configurations that lie in the folder already stay. `announce` is given the costs of the
    languages (`coverage.COSTS`) before anything is built.
    """
    folder = output or Path("datasets", BALANCED)
    with explain_missing_extras():
        from . import balanced_card
        from .balanced import balance, list_costs
        from .material import gather
        from .request import check_buildable

        check_buildable(request)
        check_mirror(mirror)
        check_folder(folder, BALANCED, sorted({*list_configs(folder), request.name}))
        recover(folder, request.name)
        check_same(folder, request)
        material = gather(request, mirror)
        announce(list_costs(request, material))
        made = balance(request, material, mirror)
        write_config(folder, request.name, made.rows, balanced_card.dump(made.notes))
        write_card(folder, BALANCED, list_configs(folder), balanced_card)
    return folder, made.notes


def check_same(folder: Path, request: "Request") -> None:
    """Raise PolyprobeError where the configuration lies there already and was made otherwise."""
    built = read_config(folder, request.name) if is_built(folder, request.name) else None
    command = built.notes.get("command") if built else request.command
    if command != request.command:
        raise PolyprobeError(
            f"{folder} holds another {request.name}, made by `{command}`; "
            "name this one with --config, or remove that one"
        )


def write_card(folder: Path, name: str, configs: Sequence[str], source: ModuleType) -> None:
    """Write card and `eval.yaml` of what lies in the folder; `source` has `describe`."""
    default = getattr(source, "DEFAULT_CONFIG", configs[0])
    write_text(folder / "README.md", render_card(folder, name, configs, default, source.describe))
    write_text(folder / "eval.yaml", render_benchmark(folder, name, configs))


def list_configs(folder: Path) -> list[str]:
    """Return the configurations in a folder, those that hold nothing but Parquet."""
    found = sorted(path for path in folder.glob("data/[!.]*") if path.is_dir())
    return [path.name for path in found if all(p.suffix == ".parquet" for p in path.iterdir())]


def list_known(folder: Path, name: str) -> list[str]:
    """Return what the folder may hold: the dataset's configurations, and the twins that are there.

    Of a balanced set it is what lies there.
    """
    here = list_configs(folder)
    if name == BALANCED:
        return here
    own = load_source(name).CONFIGS
    return [*own, *(config for config in here if is_twin(name, config))]


def is_twin(name: str, config: str) -> bool:
    """Tell whether a configuration of a dataset would be a sentence-level twin, by its name."""
    own = () if name == BALANCED else load_source(name).CONFIGS
    return config.endswith(SENTENCE) and config not in own


def load_describer(name: str) -> ModuleType:
    """Return the module whose `describe` says what the card of a dataset has of its own."""
    return import_module(".balanced_card", __package__) if name == BALANCED else load_source(name)


def load_source(name: str) -> ModuleType:
    """Return the module that makes the dataset `name`."""
    if name not in SOURCES:
        raise unknown("dataset", name, "polyprobe", (*SOURCES, BALANCED))
    return import_module(SOURCES[name])


def choose_configs(name: str, source: ModuleType, configs: Sequence[str]) -> list[str]:
    """Return the configurations asked for, all where none is, in the source's order."""
    for config in configs:
        if config not in source.CONFIGS:
            raise unknown("configuration", config, name, source.CONFIGS)
    return [config for config in source.CONFIGS if config in configs or not configs]


def check_mirror(mirror: Path | None) -> None:
    """Raise PolyprobeError where the mirror is no folder."""
    if mirror is not None and mirror.is_file():
        raise PolyprobeError(f"{mirror} is a file; give --mirror the folder with the archives")
    if mirror is not None and not mirror.is_dir():
        raise PolyprobeError(f"no mirror folder {mirror}")


def check_folder(folder: Path, name: str, configs: Sequence[str]) -> None:
    """Raise PolyprobeError unless the folder is missing, empty, or a build of this dataset.

    A build is told by its card, or, where it was killed before the card was written, by holding
    nothing but a licence and `data` with folders of ours.
    """
    if folder.exists() and not folder.is_dir():
        raise PolyprobeError(f"{folder} is a file; give --output a folder")
    card = folder / "README.md"
    if card.is_file():
        ours = MARK.format(name=name) in card.read_text(encoding="utf-8", errors="replace")
    else:
        ours = all(path in own_paths(folder, configs) for path in list_paths(folder))
    if not ours:
        raise PolyprobeError(
            f"{folder} holds something other than a build of {name}; give another --output"
        )
    place = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise PolyprobeError(f"cannot write to {place}; give another --output")


def list_paths(folder: Path) -> list[Path]:
    """Return what lies in the folder and in its `data`."""
    return [*folder.glob("*"), *folder.glob("data/*")]


def own_paths(folder: Path, configs: Sequence[str]) -> set[Path]:
    """Return what a build may have left in its folder and in `data`, killed or not."""
    data = folder / "data"
    twins = [config + SENTENCE for config in configs]
    states = {data / state.format(config) for config in (*configs, *twins) for state in STATES}
    states = {path for path in (*states, folder / "sentences") if not path.is_file()}
    return {data, folder / ".README.md.new", *folder.glob("LICENSE*")} | states


@contextmanager
def explain_missing_extras() -> Iterator[None]:
    """Turn the want of a package that only the builder needs into one line."""
    try:
        yield
    except ModuleNotFoundError as error:
        extra = next((extra for extra, packages in EXTRAS.items() if error.name in packages), None)
        if not extra:
            raise
        raise PolyprobeError(
            f"building needs the package {error.name}: pip install 'polyprobe[{extra}]'"
        ) from error
