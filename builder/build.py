"""Build datasets: from a name to a folder of Parquet files and a card."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from polyprobe.system.errors import PolyprobeError
from polyprobe.system.extras import explain_missing_extras

from .output.card import is_built, read_config
from .output.folder import check_folder, check_mirror, list_configs, write_card
from .output.write import recover, write_config
from .recipes.table import BALANCED, choose_configs, list_known, load_source

if TYPE_CHECKING:  # these need the extras `builder` and `sentences`
    import polars as pl

    from .output import sentence_part
    from .recipes.balanced.build import Notes
    from .recipes.balanced.request import Request
    from .recipes.sentences import request as sentences
    from .translators import Translator


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
        from .recipes.balanced import card as balanced_card
        from .recipes.balanced.build import balance, list_costs
        from .recipes.balanced.material import gather
        from .recipes.balanced.request import check_buildable

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


def build_sentences(
    dataset: str,
    config: str = "default",
    translator: "str | Translator" = "googletrans",
    languages: Sequence[str] = (),
    lemmatizer: str = "auto",
    stanza_dir: Path | None = None,
    threshold: float = 75,
    source_language: str = "en",
    translator_options: Mapping[str, str] | None = None,
    mirror: Path | None = None,
    output: Path | None = None,
) -> "tuple[Path, sentence_part.Notes]":
    """Build `CONFIG-sentence` beside `CONFIG` and return the folder, and how it came about.

    Args:
        dataset: name of a dataset; its folder is `output`, or `datasets/NAME`.
        config: the configuration of templates; it is built where it does not lie in the folder,
            a balanced one must.
        translator: name of one (`translators.TRANSLATORS`) or one made already.
        languages: splits of the configuration; all by default. The source language is always there.
        lemmatizer: as in `objects.find_objects`, with the folder of Stanza's models.
        stanza_dir: see there.
        threshold: least likeness of object and label, 0 to 100; what is below is left out.
        source_language: the split whose sentences are translated.
        translator_options: of the translator, where it is named.
        mirror: folder with the upstream archives, for a configuration that is not built.
        output: folder to write to.

    Raises:
        PolyprobeError: unknown names, a pair that the translator does not know, a missing package,
            a twin made with other settings, no fact that every language has. What was translated
            is kept (`translators/memory.py`), what was lost is written with its reason.
    """
    from .recipes.sentences.build import prepare_translator

    engine = prepare_translator(translator, translator_options or {})
    options = (engine.name, tuple(languages), lemmatizer, float(threshold), source_language)
    with explain_missing_extras():
        from .recipes.sentences.base import choose_languages, read_base
        from .recipes.sentences.build import check_settings, settle, word_all, write_twin
        from .recipes.sentences.request import Request, check_request

        request = Request(dataset, config, *options)
        check_request(request)
        if stanza_dir is not None and not stanza_dir.is_dir():
            raise PolyprobeError(f"no folder {stanza_dir}; give --stanza one with Stanza's models")
        folder = find_base(request, mirror, output)
        base = read_base(folder, config)
        targets = choose_languages(base, languages, source_language, f"{dataset}/{config}")
        request = request._replace(languages=tuple(targets))
        settings = settle(request, engine, stanza_dir)
        check_settings(folder, request, settings)
        worded = word_all(request, base, engine, stanza_dir)
        notes = write_twin(folder, request, settings, base, worded)
    return folder, notes


def find_base(request: "sentences.Request", mirror: Path | None, output: Path | None) -> Path:
    """Return the folder that holds the configuration, which is built where it is missing."""
    folder = output or Path("datasets", request.dataset)
    check_mirror(mirror)
    if request.dataset != BALANCED:
        choose_configs(request.dataset, load_source(request.dataset), [request.config])
    check_folder(folder, request.dataset, [*list_known(folder, request.dataset), request.config])
    for config in (request.config, request.name):
        recover(folder, config)
    if not is_built(folder, request.config):
        if request.dataset == BALANCED:
            raise PolyprobeError(
                f"no configuration {request.config} in {folder}; build it first: polyprobe build "
                f"balanced --source SOURCE --languages en,… --config {request.config}"
            )
        build_dataset(request.dataset, [request.config], mirror, output)
    return folder
