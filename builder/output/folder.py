"""The folder of a dataset: Parquet files, of which a configuration is replaced whole, and the card.

The text of a card is that of `recipes/NAME/card.md`. The fields of `eval.yaml`, the benchmark file
that the Hub reads, are documented at https://huggingface.co/docs/hub/eval-results.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from types import ModuleType
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from huggingface_hub import DatasetCard, DatasetCardData
from huggingface_hub.utils import yaml_dump
from jinja2 import Environment, StrictUndefined

from polyprobe.builder.audit.checks import find_ids, read_split
from polyprobe.builder.audit.limits import Baseline, find_baselines
from polyprobe.builder.objects.lemmatizers import list_unmeasured
from polyprobe.metrics.joint import HEADLINES
from polyprobe.schema.columns import UNREADABLE, Row, find_different, split_name, to_table
from polyprobe.schema.locate import SENTENCE
from polyprobe.system.files import LOCK, hash_files, part_of, read_toml, replacing, write_text
from polyprobe.system.messages import PolyprobeError, track
from polyprobe.system.text import clean, escape_markdown

NOTES = "polyprobe"  # key of the notes in the metadata of a Parquet file
UNRANKED = ("accuracy", "coverlap")  # headline figures that compare no rankings
MARK = "<!-- made by `polyprobe build {name}`"
EDIT = " from builder/recipes/{folder}/card.md: edit there -->"
DTYPES = {"float": "float32"}  # name in Arrow: name in `datasets`
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**6, "100K<n<1M"))
SENTENCE_HEAD = ("language", "rows", "translated", "found", "last", "cost", "kept", "kept last")
TEXTS = read_toml(__package__, "columns.toml")
DESCRIPTIONS, FLAGS, PARQUET = TEXTS["columns"], TEXTS["flags"], TEXTS["parquet"]
MOST_COLUMNS = 24  # configurations beside each other; more are summed up
STATES = ("{}", ".{}.new", ".{}.old")  # a configuration's folder: complete, new, old


class SplitSize(NamedTuple):
    """One language of a configuration; bytes in memory are Arrow's, as `datasets` counts them."""

    name: str
    path: str
    rows: int
    bytes_on_disk: int
    bytes_in_memory: int


class Config(NamedTuple):
    """A configuration on disk: its splits, and counts of its queries."""

    name: str
    splits: list[SplitSize]
    schema: pa.Schema
    # Queries by relation, by number of candidates, by code in at least one language, and by flag.
    # All but `repairs` are the same in every language and read from the first.
    relations: Counter[str]
    sizes: Counter[int]
    repairs: Counter[str]
    flags: Counter[str]
    baseline: Baseline  # in English, or in the first language without English
    figures: tuple[str, ...]  # the headline figures that a run has
    notes: dict[str, Any]  # on the build; empty if the dataset depends only on its source


Describe = Callable[[Sequence[Config]], dict[str, str]]
Splits = Mapping[str, Sequence[Row] | pa.Table]


def read_config(folder: Path, name: str) -> Config:
    """Return the description of one configuration, read from its Parquet files."""
    paths = sorted((folder / "data" / name).glob("*.parquet"))
    tables = [read_parquet(path) for path in paths]
    first = tables[0]
    flagged = first["flags"].to_pylist() if "flags" in first.column_names else []
    parts = [x["repairs"].to_pylist() for x in tables if "repairs" in x.column_names]
    repairs = Counter(code for row in zip(*parts, strict=True) for code in set().union(*row))
    reference = next((n for n, path in enumerate(paths) if path.stem == "en"), 0)
    # A protocol adds the other candidates of rows of one, so their baseline is unknown here.
    baseline = Baseline(tables[reference].num_rows, None, None, None)
    if pc.max(pc.list_value_length(tables[reference]["candidates"])).as_py() != 1:
        split = read_split(paths[reference].stem, tables[reference], name)
        baseline = find_baselines(split, all(find_ids({split.language: split})))[""]
    figures: tuple[str, ...] = HEADLINES
    if len(tables) == 1:
        figures = HEADLINES[:1]
    elif find_different(tables).any():  # no rankings to compare
        figures = UNRANKED
    splits = [
        SplitSize(x.stem, f"data/{name}/{x.name}", len(y), x.stat().st_size, y.nbytes)
        for x, y in zip(paths, tables, strict=True)
    ]
    schema, relations = first.schema.remove_metadata(), count_values(first["relation"])
    sizes = count_values(pc.list_value_length(first["candidates"]))
    flags = Counter(flag for row in flagged for flag in row)
    notes = json.loads((first.schema.metadata or {}).get(NOTES.encode(), b"{}"))
    return Config(name, splits, schema, relations, sizes, repairs, flags, baseline, figures, notes)


def read_parquet(path: Path) -> pa.Table:
    """Return the table of a split; PolyprobeError with the path of a damaged file."""
    try:
        return pq.read_table(path, page_checksum_verification=True)
    except UNREADABLE as error:
        remedy = f"build it again: --config {path.parent.name}"
        raise PolyprobeError(f"{path} is not a Parquet file; {remedy}") from error


def count_values(column: pa.ChunkedArray) -> Counter[Any]:
    """Return the number of each value, in the order of first occurrence."""
    return Counter({x["values"].as_py(): x["counts"].as_py() for x in pc.value_counts(column)})


def hash_base(folder: Path, config: str, languages: Iterable[str]) -> str:
    """Return a hash of a configuration's files in some languages; "" if one is missing."""
    data = folder / "data" / config
    paths = [data / f"{split_name(language)}.parquet" for language in sorted(languages)]
    if not all(path.is_file() for path in paths):
        return ""
    return hash_files(("", path) for path in paths)


def render_benchmark(name: str, configs: Mapping[str, Sequence[str]], title: str = "") -> str:
    """Return `eval.yaml` for {configuration: figures}; `title` replaces a missing `pretty_name`."""
    source = DatasetCard(read_prose(name))
    benchmark = {
        "name": source.data.get("pretty_name", title or name),
        "description": first_paragraph(source.text),
        # Not in the Hub's list yet, so that it shows no leaderboard (as in huggingface.js#2096).
        # Frameworks in the list would be wrong: they generate and judge text.
        "evaluation_framework": "polyprobe",
        "tasks": [
            # `.eval_results/` of model repositories uses the same ids.
            {"id": f"{config}_{figure}", "config": config}
            for config, figures in configs.items()
            for figure in figures
        ],
    }
    head = files(__package__).joinpath("eval.txt").read_text(encoding="utf-8")
    return head.format(name=name) + yaml_dump(benchmark, sort_keys=False)


def read_prose(name: str) -> str:
    """Return `recipes/NAME/card.md`: the YAML and the text written by hand."""
    folder = files("polyprobe.builder.recipes").joinpath(name.replace("-", "_"))
    return folder.joinpath("card.md").read_text(encoding="utf-8")


def first_paragraph(text: str) -> str:
    r"""Return the first paragraph after a card's title, on one line, without Markdown.

    >>> first_paragraph("# Title\n\nA *set*\nof [facts](https://x.y).\n\nMore.")
    'A set of facts.'
    """
    blocks = (block.strip() for block in text.split("\n\n"))
    paragraph = next((x for x in blocks if x and not x.startswith(("#", "<!--"))), "")
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", paragraph)
    return " ".join(re.sub(r"[*`]", "", plain).split())


def render_card(
    folder: Path, name: str, configs: Sequence[Config], default: str, describe: Describe
) -> str:
    """Return the card of the dataset in `folder`, for these configurations."""
    source = DatasetCard(read_prose(name))
    authored = source.data.to_dict()
    # A build may say what its own facts need, such as the licence of a user's data.
    for config in configs:
        authored |= config.notes.get("card", {})
    more = [config.notes["language"][3] for config in configs if "language" in config.notes]
    authored |= {"license": [*dict.fromkeys([authored["license"], *more])]} if more else {}
    names, title = authored.pop("relations"), folder.absolute().name
    main = default if default in [config.name for config in configs] else configs[0].name
    data = DatasetCardData(
        language=sorted({split.name.replace("_", "-") for c in configs for split in c.splits}),
        size_categories=[size_category(configs)],
        **{"pretty_name": title, **authored},
        configs=[
            {
                "config_name": config.name,
                **({"default": True} if config.name == main else {}),
                "data_files": [{"split": x.name, "path": x.path} for x in config.splits],
            }
            for config in configs
        ],
        dataset_info=[describe_features(config) for config in configs],
    )
    # `describe` returns the dataset-specific parts: {placeholder in the text: part}.
    parts = {
        "name": title,
        "sentences": describe_versions(configs, folder),
        **describe([config for config in configs if "twin_of" not in config.notes]),
        "columns": columns_table(configs),
        "flags": flags_table(configs),
        "statistics": statistics_table(configs),
        "relations": relations_table(configs, names),
    }
    body = re.sub(r"<!-- (\w+) -->", lambda place: parts[place[1]], source.text.strip())
    mark = MARK.format(name=name) + EDIT.format(folder=name.replace("-", "_"))
    return f"---\n{data.to_yaml()}\n---\n{mark}\n\n{body}\n"


def size_category(configs: Sequence[Config]) -> str:
    """Return the Hub's size category for the rows of all configurations and languages."""
    rows = sum(split.rows for config in configs for split in config.splits)
    return next((name for limit, name in SIZES if rows < limit), "1M<n<10M")


def describe_features(config: Config) -> dict[str, Any]:
    """Return the entry of `dataset_info`."""
    return {
        "config_name": config.name,
        "features": [describe_feature(field) for field in config.schema],
        "splits": [
            {"name": s.name, "num_bytes": s.bytes_in_memory, "num_examples": s.rows}
            for s in config.splits
        ],
        "download_size": sum(split.bytes_on_disk for split in config.splits),
        "dataset_size": sum(split.bytes_in_memory for split in config.splits),
    }


def describe_feature(field: pa.Field) -> dict[str, str]:
    """Return a column in the format of `datasets`, with the items' type under `list` for a list."""
    if pa.types.is_list(field.type):
        return {"name": field.name, "list": str(field.type.value_type)}
    return {"name": field.name, "dtype": DTYPES.get(str(field.type), str(field.type))}


def describe_versions(configs: Sequence[Config], folder: Path) -> str:
    """Return the parts of the card on sentence versions and on contributors' languages."""
    versions = []
    for config in configs:
        if "twin_of" in config.notes:
            notes = config.notes
            languages = [notes["source_language"], *notes["languages"]]
            # The card warns if the base configuration changed after the version was built.
            is_stale = notes["base"] != hash_base(folder, notes["twin_of"], languages)
            unmeasured = list_unmeasured(notes["lemmatizers"])
            more = {"name": config.name, "is_stale": is_stale, "unmeasured": unmeasured}
            versions.append({**notes, **more})
    values = {"configs": configs, "versions": versions, "head": SENTENCE_HEAD}
    return render_text(__package__, "versions.md", **values)


def markdown_table(head: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table in Markdown, with commas in numbers and bars in cells escaped."""
    texts = [[f"{x:,}" if isinstance(x, int) else str(x) for x in row] for row in rows]
    rule = ("---",) * len(head)
    lines = ([re.sub(r"(?<!\\)\|", r"\|", clean(x)) for x in line] for line in (head, rule, *texts))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def render_text(package: str, file: str, **values: Any) -> str:
    """Fill in a Jinja template of a package."""
    environment = Environment(undefined=StrictUndefined)
    # `HEAD | table(rows)` is a table in Markdown, and `number | count` has commas.
    environment.filters |= {"table": markdown_table, "count": "{:,}".format}
    template = files(package).joinpath(file).read_text(encoding="utf-8")
    return environment.from_string(template).render(**values)


def columns_table(configs: Sequence[Config]) -> str:
    """Return the table of columns with their types and descriptions."""
    fields = {field.name: field for config in configs for field in config.schema}
    rows = [
        (f"`{name}`", f"`{field.type}`".replace("element: ", ""), DESCRIPTIONS[name])
        for name, field in fields.items()
    ]
    return markdown_table(("column", "type", "description"), rows)


def statistics_table(configs: Sequence[Config]) -> str:
    """Return one line for each configuration: queries of one language, mean of candidates."""
    counts = ("languages", "queries", "relations", "candidates", "fewest", "most")
    head = ("configuration", *counts, "chance", "frequency")
    rows = []
    for config in configs:
        of_config = (len(config.splits), config.sizes.total(), len(config.relations))
        sizes = (f"{fmean(config.sizes.elements()):.2f}", min(config.sizes), max(config.sizes))
        shares = ("–" if share is None else f"{share:.3f}" for share in config.baseline[1:3])
        rows.append((f"`{config.name}`", *of_config, *sizes, *shares))
    return f"{markdown_table(head, rows)}\n\n{TEXTS['baseline']}"


def relations_table(configs: Sequence[Config], names: dict[str, str]) -> str:
    """Return one line for each relation: its number of queries in each configuration."""
    columns = [f"`{config.name}`" for config in configs]
    is_sum = len(configs) > MOST_COLUMNS
    if is_sum:
        columns = ["configurations", "queries", "fewest", "most"]
    rows = []
    for relation in dict.fromkeys(name for config in configs for name in config.relations):
        place = f"https://www.wikidata.org/wiki/Property:{relation}"
        title = escape_markdown(relation)
        title = f"[{title}]({place})" if re.fullmatch(r"P\d+", relation) else title
        name = escape_markdown(names.get(relation, ""))
        numbers = [c.relations[relation] for c in configs if relation in c.relations or not is_sum]
        # Numbers of single configurations are text, as they have no commas.
        sums = (len(numbers), sum(numbers), min(numbers), max(numbers))
        rows.append((title, name, *(sums if is_sum else map(str, numbers))))
    return markdown_table(("relation", "name", *columns), rows)


def flags_table(configs: Sequence[Config]) -> str:
    """Return one line for each flag: its number of queries in each configuration with flags."""
    counts = {config.name: config.flags for config in configs if config.flags}
    present = set().union(*counts.values())
    meanings = {flag: meaning for flag, meaning in FLAGS.items() if flag in present}
    return codes_table(("flag", "meaning"), counts, meanings)


def codes_table(head: Sequence[str], counts: dict[str, Counter[str]], texts: dict[str, str]) -> str:
    """Return one line for each code: its number of queries in each configuration."""
    rows = [(f"`{x}`", text, *(of[x] for of in counts.values())) for x, text in texts.items()]
    return markdown_table((*head, *(f"`{name}`" for name in counts)), rows)


def list_configs(folder: Path) -> list[str]:
    """Return the configurations in a folder: subfolders of `data` with only Parquet files."""
    folders = sorted(path for path in folder.glob("data/[!.]*") if path.is_dir())
    return [path.name for path in folders if all(p.suffix == ".parquet" for p in path.iterdir())]


def list_versions(folder: Path, recipe_configs: Sequence[str]) -> list[str]:
    """Return the configurations of a recipe, then versions of them in the folder."""
    present = list_configs(folder)
    # A balanced set has no recipe: all configurations in the folder are its versions.
    if not recipe_configs:
        return present
    versions = [x for x in present if x.startswith(tuple(f"{y}-" for y in recipe_configs))]
    return [*dict.fromkeys([*recipe_configs, *versions])]


def check_mirror(mirror: Path | None) -> None:
    """Raise PolyprobeError if the mirror is not a folder."""
    if mirror is not None and not mirror.is_dir():
        text = f"{mirror} is a file; give --mirror the folder with the archives"
        raise PolyprobeError(text if mirror.is_file() else f"no mirror folder {mirror}")


def check_folder(folder: Path, name: str, configs: Sequence[str]) -> None:
    """Raise PolyprobeError unless the folder is missing, empty, or a build of this dataset.

    A configuration that a killed build left between its two renames is restored.
    """
    if folder.exists() and not folder.is_dir():
        raise PolyprobeError(f"{folder} is a file; give --output a folder")
    names = [*configs, *(config + SENTENCE for config in configs)]
    # A build is identified by its card; a killed one has none, and nothing that is not a build's.
    card = folder / "README.md"
    if card.is_file():
        is_build = MARK.format(name=name) in card.read_text(encoding="utf-8", errors="replace")
    else:
        # The paths that a complete or killed build may leave.
        data = folder / "data"
        states = {data / state.format(config) for config in names for state in STATES}
        states = {path for path in (*states, folder / "sentences") if not path.is_file()}
        parts = {part_of(folder / file) for file in ("README.md", "eval.yaml")}
        paths = {*folder.glob("*"), *folder.glob("data/*")} - {folder / LOCK}
        is_build = paths <= {data, *parts, *states, *folder.glob("LICENSE*")}
    if not is_build:
        text = f"{folder} holds something other than a build of {name}; give another --output"
        raise PolyprobeError(text)
    place = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise PolyprobeError(f"cannot write to {place}; give another --output")
    for config in names:
        recover(folder, config)


def check_same(folder: Path, name: str, expected: Mapping[str, object], remedy: str) -> None:
    """Raise PolyprobeError if the folder has the configuration with other notes than expected."""
    notes = read_notes(folder, name)
    if notes and any(notes.get(key) != value for key, value in expected.items()):
        raise PolyprobeError(
            f"{folder} holds another {name}, made by `{notes['command']}`; {remedy}, or remove "
            f"{folder / 'data' / name}"
        )


def read_notes(folder: Path, name: str) -> dict[str, Any]:
    """Return the notes of a configuration, with its `command`; none if it is not in the folder."""
    if not is_built(folder, name):
        return {}
    return {"command": "another program", **read_config(folder, name).notes}


def is_built(folder: Path, config: str) -> bool:
    """Return whether the folder contains the configuration."""
    return any((folder / "data" / config).glob("*.parquet"))


def recover(folder: Path, config: str) -> None:
    """Restore a configuration if a build was killed between its two renames."""
    target = folder / "data" / config
    old = target.with_name(f".{config}.old")
    if old.exists() and not target.exists():
        old.rename(target)


def write_config(
    folder: Path, config: str, splits: Splits, notes: str = "", size: str = "usual"
) -> None:
    """Write `folder/data/CONFIG/LANG.parquet` for every language, all or none, as `write_split`."""
    # In `data/.CONFIG.new` first: after a full disk or Ctrl-C, the previous configuration remains.
    with replacing(folder / "data" / config, folder) as new:
        for language, part in track(splits.items(), f"writing {config}"):
            table = to_table(part)
            noted = table.replace_schema_metadata({NOTES: notes}) if notes else table
            write_split(noted, new / f"{split_name(language)}.parquet", size)


def write_split(table: pa.Table, path: Path, size: str = "usual") -> None:
    """Write one split as Parquet; `size` is a key of `PARQUET`."""
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, write_page_checksum=True, **PARQUET[size])
    # Written at once: a full disk is noticed before half a file looks like Parquet. On disk before
    # a folder with its name is renamed: a loss of power leaves no half of it either.
    with path.open("wb") as file:
        file.write(buffer.getvalue())
        file.flush()
        os.fsync(file.fileno())


def write_card(folder: Path, name: str, recipe_configs: Sequence[str], source: ModuleType) -> None:
    """Write card and `eval.yaml` of the configurations in the folder (`list_versions`)."""
    names = list_versions(folder, recipe_configs)
    descriptions = [read_config(folder, config) for config in names if is_built(folder, config)]
    figures = {config.name: config.figures for config in descriptions}
    benchmark = render_benchmark(name, figures, folder.absolute().name)
    # Balanced sets have no default, small recipes no text of their own.
    default = getattr(source, "DEFAULT_CONFIG", "")
    describe: Describe = getattr(source, "describe", lambda configs: {})
    write_text(folder / "README.md", render_card(folder, name, descriptions, default, describe))
    write_text(folder / "eval.yaml", benchmark)
