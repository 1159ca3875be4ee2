"""Build datasets: from a name or a request to a folder of Parquet files and a card."""

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from polyprobe.system.files import locked
from polyprobe.system.messages import PolyprobeError, explain_missing_extras, report
from polyprobe.system.options import check_arguments, convert_value

from .recipes import BALANCED, OWN, REQUESTED, choose_configs, list_recipe_configs, load_recipe
from .recipes.requests import BalancedRequest, OwnRequest, SentenceRequest
from .translators import Translator, load_translator

with explain_missing_extras("building"):
    import polars as pl

    from .facts import files
    from .language import add_language
    from .output import folder as disk
    from .recipes import balanced, own, sentences
    from .recipes.balanced.material import gather, trace_costs


@check_arguments
def build_dataset(
    name: str, configs: Sequence[str] = (), mirror: Path | None = None, output: Path | None = None
) -> Path:
    """Build configurations of the published dataset `name` and return its folder.

    Args:
        name: a dataset of `recipes.RECIPES`.
        configs: configurations to build; by default all of the recipe.
        mirror: folder with the upstream archives; by default they are downloaded.
        output: folder to write to; by default `datasets/NAME` in the current folder. Other
            configurations in it are kept, and the card lists all that are present.

    A folder in which another process builds is waited for, here and in the functions below.
    """
    selection = choose_configs(name, configs)
    with open_folder(name, output, mirror) as folder:
        write_configs(folder, name, selection, mirror)
    return folder


@check_arguments
def extend_dataset(name: str, base: str, added: files.Addition, output: Path | None = None) -> Path:
    """Write CONFIG-LANGUAGE beside a built configuration, with a contributor's language.

    `added` are the files of `build_sheet`, filled in, as `read_addition(labels, templates)` reads
    them. Rows that they do not complete are left out. Return the folder, see `build_dataset`.
    """
    with open_folder(name, output) as folder:
        notes = {"command": f"polyprobe build {name} --config {base}"}
        if name == BALANCED:
            notes = disk.read_notes(folder, base)
        paths = sorted((folder / "data" / base).glob("*.parquet"))
        parts = {path.stem: disk.read_parquet(path) for path in paths}
        tables, about = add_language(f"{name}/{base}", parts, added)
        words = chain(*zip(("--labels", "--templates"), added.files, strict=True))
        about["command"] = f"{notes['command']} {shlex.join(words)}"
        disk.write_config(folder, f"{base}-{added.language}", tables, json.dumps(notes | about))
        disk.write_card(folder, name, list_recipe_configs(name), load_recipe(name))
    return folder


@contextmanager
def open_folder(name: str, output: Path | None, mirror: Path | None = None) -> Iterator[Path]:
    """Give the folder of a dataset, which no other process uses meanwhile; check the mirror."""
    folder = convert_value("the folder", output or Path("datasets", name), Path)
    with explain_missing_extras("building"), locked(folder, wait=True):
        disk.check_mirror(mirror)
        yield folder


def write_configs(folder: Path, name: str, selection: Sequence[str], mirror: Path | None) -> None:
    """Build configurations of a published dataset into a folder that no other process uses."""
    recipe, configs = load_recipe(name), list_recipe_configs(name)
    disk.check_folder(folder, name, configs)
    built = 0
    try:
        for built, config in enumerate(selection):
            report(f"building {name}/{config} ({built + 1} of {len(selection)})")
            size = "small" if config in getattr(recipe, "SMALL", ()) else "usual"
            disk.write_config(folder, config, recipe.build(config, mirror), size=size)
        built = len(selection)
    finally:
        # The card lists the complete configurations, also after an error or Ctrl-C.
        if built:
            disk.write_card(folder, name, configs, recipe)


def plan_balanced(request: BalancedRequest, mirror: Path | None = None) -> pl.DataFrame:
    """Return the cost of each language in facts (`material.COSTS`); build nothing."""
    request.check_names(plan=True)
    disk.check_mirror(mirror)
    return trace_costs(gather(request, mirror).coverage, request.languages)


@check_arguments
def build_balanced(
    request: BalancedRequest,
    mirror: Path | None = None,
    output: Path | None = None,
    announce: Callable[[pl.DataFrame], None] = lambda costs: None,
) -> tuple[Path, balanced.Notes]:
    """Build a balanced set and return its folder, and notes on how it was made.

    Other configurations in the folder are kept. `announce` receives the costs of the languages
    (`material.COSTS`) before anything is built.
    """
    request.check_names()
    with open_folder(BALANCED, output, mirror) as folder:
        name, command = request.name, {"command": request.command}
        disk.check_folder(folder, BALANCED, sorted({*disk.list_configs(folder), name}))
        disk.check_same(folder, name, command, "name this one with --config")
        material = gather(request, mirror)
        announce(trace_costs(material.coverage, request.languages))
        report(f"building {BALANCED}/{name}")
        made = balanced.balance(request, material, mirror)
        first = made.rows[request.languages[0]]
        published = balanced.count_published(request, material.coverage, first, mirror)
        notes = made.notes._replace(published=published)
        disk.write_config(folder, name, made.rows, balanced.dump(notes))
        disk.write_card(folder, BALANCED, (), balanced)
    return folder, notes


@check_arguments
def build_own(request: OwnRequest, output: Path | None = None) -> tuple[Path, balanced.Notes]:
    """Build a dataset of a user's own facts; return its folder, and notes on how it was made.

    An earlier build in the folder is replaced. `output` defaults to `datasets/own`; the dataset has
    the name of its folder.

    Raises:
        PolyprobeError: a mistake in a file (the message names file and line), an unknown language,
            or a folder with other content.
    """
    with open_folder(OWN, output) as folder:
        name = own.DEFAULT_CONFIG
        disk.check_folder(folder, OWN, [*disk.list_configs(folder), name])
        # Made before the old build is touched: a mistake in a file replaces nothing.
        made = own.make(request)
        before = disk.read_notes(folder, name).get("command")
        if before not in (None, made.notes.command):
            report(f"replacing {folder}, made by `{before}`")
        disk.write_config(folder, name, made.rows, own.dump(made.notes))
        disk.write_card(folder, OWN, (), own)
    return folder, made.notes


@check_arguments
def build_sourced(
    name: str,
    source: str,
    languages: Sequence[str] = (),
    mirror: Path | None = None,
    output: Path | None = None,
) -> Path:
    """Build a dataset from files of others, one of `recipes.SOURCED`, and return its folder.

    `source` is a folder: of BabyLM's JSON lines (or OWNER/NAME on the Hub, `aialt/MuBench`), or of
    X-FaKT's repository. The others are those of `build_dataset`. PolyprobeError names file and line
    of a mistake.
    """
    recipe = load_recipe(name)
    with open_folder(name, output, mirror) as folder:
        disk.check_folder(folder, name, disk.list_configs(folder))
        for config, tables in recipe.make_configs(source, languages, mirror).items():
            disk.write_config(folder, config, tables)
        disk.write_card(folder, name, (), recipe)
    return folder


@check_arguments
def build_sentences(
    dataset: str,
    config: str = "default",
    translator: str | Translator = "googletrans",
    languages: Sequence[str] = (),
    translator_options: Mapping[str, str] | None = None,
    mirror: Path | None = None,
    output: Path | None = None,
    **options: Any,
) -> tuple[Path, sentences.SentenceNotes]:
    """Build `CONFIG-sentence`, the sentence version of `CONFIG`, in the folder of `CONFIG`.

    Return the folder, and notes on how the version was made.

    Args:
        dataset: name of a dataset; its folder is `output`, or `datasets/NAME`.
        config: the configuration of templates. If it is missing it is built first, except for
            `balanced` and `own`, where it must exist.
        translator: a name in `translators.TRANSLATORS`, or a Translator.
        languages: splits of the configuration; all by default. The source language is always added.
        translator_options: options of the translator, if it is given by name.
        mirror: folder with the upstream archives, for a configuration that has to be built.
        output: folder to write to.
        options: the other options of `SentenceRequest`, such as `lemmatizer`.

    Raises:
        PolyprobeError: an unknown name, a pair of languages that the translator does not have, a
            missing package, an existing version with other settings, or no fact that is complete
            in every language. Translations are cached (`system/download.py`), and every excluded
            row is written with its reason.
    """
    engine = translator
    if isinstance(engine, str):
        engine = load_translator(engine, **(translator_options or {}))
    request = SentenceRequest(dataset, config, engine.name, tuple(languages), **options)
    with open_folder(dataset, output, mirror) as folder:
        find_base(folder, request, mirror)
        base = sentences.read_base(folder, config)
        request = replace(request, languages=sentences.choose_targets(base, request))
        settings = sentences.find_settings(request, engine)
        expected = {**settings._asdict(), "languages": list(settings.languages)}
        disk.check_same(folder, request.name, expected, "give another --output")
        inflected = sentences.translate(request, base, engine)
        notes = sentences.write_version(folder, request, settings, base, inflected)
    return folder, notes


def find_base(folder: Path, request: SentenceRequest, mirror: Path | None) -> None:
    """Check the folder, and build the configuration of templates if it is missing."""
    dataset, config = request.dataset, request.config
    recipe_configs = list_recipe_configs(dataset)
    if recipe_configs:
        choose_configs(dataset, [config])
    if request.name in recipe_configs:
        raise PolyprobeError(
            f"{dataset} has its own {request.name}: polyprobe build {dataset} --config "
            f"{request.name}"
        )
    disk.check_folder(folder, dataset, [*disk.list_versions(folder, recipe_configs), config])
    if not disk.is_built(folder, config):
        if dataset in REQUESTED:
            raise PolyprobeError(
                f"no configuration {config} in {folder}; build it first: polyprobe build {dataset}"
                + (f" --source SOURCE --languages en,… --config {config}" * (dataset == BALANCED))
            )
        write_configs(folder, dataset, [config], mirror)
