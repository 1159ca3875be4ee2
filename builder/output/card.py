"""The dataset card and `eval.yaml`: text of `recipes/NAME/card.md`, figures of the Parquet files.

The fields of `eval.yaml`, the benchmark file that the Hub reads, are documented at
https://huggingface.co/docs/hub/eval-results. The name of the framework "could be your own", from a
list maintained by the Hub. polyprobe is not in that list yet, so the Hub marks the field as invalid
(as in huggingface.js#2096) and shows no leaderboard. `inspect-ai` would be accepted but wrong: its
solvers and scorers generate and judge text, while polyprobe ranks candidates by probability and
compares languages.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from huggingface_hub import DatasetCard, DatasetCardData
from huggingface_hub.utils import yaml_dump

from polyprobe.builder.audit.baseline import Baseline, find_baselines
from polyprobe.builder.audit.parallel import find_ids
from polyprobe.builder.audit.report import decimals
from polyprobe.builder.audit.split import read_split
from polyprobe.metrics.joint import HEADLINES
from polyprobe.schema.checks import find_different
from polyprobe.schema.columns import DESCRIPTIONS, FLAGS, UNREADABLE, split_name
from polyprobe.system.errors import PolyprobeError

NOTES = "polyprobe"  # key of the notes in the metadata of a Parquet file
MARK = "<!-- made by `polyprobe build {name}`"
EDIT = " from builder/recipes/{folder}/card.md: edit there -->"
DTYPES = {"float": "float32"}  # name in Arrow: name in `datasets`
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**6, "100K<n<1M"))
SENTENCE_HEAD = ("language", "rows", "translated", "found", "last", "cost", "kept", "kept last")
MEANING = """\
*Translated* is the number of rows with a translation, *found* with the answer located in it, \
*last* with only punctuation after the answer. *Cost* is the number of rows that only this \
language lost. *Kept* rows are found in every language; a fact in several templates keeps all of \
its rows or none."""
BASELINE = """\
*Chance* and *frequency* are accuracies without a model: of random rankings, and of candidates \
ranked by how many other facts of the relation they answer. Compare accuracy with the larger one."""
STALE = (
    "**Out of date**: `{}` has changed since this sentence version was built. Run the command "
    "above again."
)
PARTIAL = "Rows found in every language, but excluded because another row of their fact is lost:"
FRAMEWORK = "polyprobe"
UNRANKED = ("accuracy", "coverlap")  # headline figures that compare no rankings
MOST_COLUMNS = 24  # configurations beside each other; more are summed up


class SplitSize(NamedTuple):
    """One language of a configuration; bytes in memory are Arrow's, as `datasets` counts them."""

    name: str
    path: str
    rows: int
    bytes_on_disk: int
    bytes_in_memory: int


class Config(NamedTuple):
    """A configuration on disk: its splits, and counts of its queries.

    `relations` counts queries by relation, `sizes` by number of candidates, `flags` by flag; they
    are the same in every language and read from the first. `baseline` is the accuracy without a
    model in English, or in the first language without English; it is undefined for rows of one
    candidate, whose others the protocol adds. `figures` are the headline figures that a run has:
    accuracy alone in one language, no RankC if languages have other candidates. `repairs` counts
    queries with a code in at least one language. `notes` describe the build; they are empty if the
    dataset depends only on its source.
    """

    name: str
    splits: list[SplitSize]
    schema: pa.Schema
    relations: Counter[str]
    sizes: Counter[int]
    repairs: Counter[str]
    flags: Counter[str]
    baseline: Baseline
    figures: tuple[str, ...]
    notes: dict[str, Any]


Describe = Callable[[Sequence[Config]], dict[str, str]]


def render_benchmark(name: str, configs: Mapping[str, Sequence[str]], title: str = "") -> str:
    """Return `eval.yaml` for {configuration: figures}; `title` replaces a missing `pretty_name`."""
    source = DatasetCard(read_prose(name))
    tasks = [
        # `.eval_results/` of model repositories uses the same ids.
        {"id": f"{config}_{figure}", "config": config}
        for config, figures in configs.items()
        for figure in figures
    ]
    benchmark = {
        "name": source.data.get("pretty_name", title or name),
        "description": first_paragraph(source.text),
        "evaluation_framework": FRAMEWORK,
        "tasks": tasks,
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
    """Return the card of the dataset in `folder`, for these configurations.

    `default` is the default configuration; if it is not among `configs`, the first one is.
    `describe` returns the dataset-specific parts, {placeholder in the text: part}, for all
    configurations except sentence versions.
    """
    source = DatasetCard(read_prose(name))
    authored = source.data.to_dict()
    for config in configs:
        authored |= config.notes.get("card", {})
    names = authored.pop("relations")
    title = folder.absolute().name
    main = default if default in [config.name for config in configs] else configs[0].name
    data = DatasetCardData(
        language=sorted({split.name.replace("_", "-") for c in configs for split in c.splits}),
        size_categories=[size_category(configs)],
        **{"pretty_name": title, **authored},
        configs=[describe_files(config, main) for config in configs],
        dataset_info=[describe_features(config) for config in configs],
    )
    parts = {
        "name": title,
        "columns": columns_table(configs),
        "statistics": statistics_table(configs),
        "relations": relations_table(configs, names),
        **describe_sentences(configs, folder),
        **describe([config for config in configs if "twin_of" not in config.notes]),
    }
    body = re.sub(r"<!-- (\w+) -->", lambda place: parts[place[1]], source.text.strip())
    mark = MARK.format(name=name) + EDIT.format(folder=name.replace("-", "_"))
    return f"---\n{data.to_yaml()}\n---\n{mark}\n\n{body}\n"


def read_config(folder: Path, name: str) -> Config:
    """Return the description of one configuration, read from its Parquet files."""
    paths = sorted((folder / "data" / name).glob("*.parquet"))
    tables = [read_parquet(path) for path in paths]
    first = tables[0]
    flagged = first["flags"].to_pylist() if "flags" in first.column_names else []
    place = next((n for n, path in enumerate(paths) if path.stem == "en"), 0)
    return Config(
        name=name,
        splits=[
            SplitSize(
                path.stem,
                path.relative_to(folder).as_posix(),
                table.num_rows,
                path.stat().st_size,
                table.nbytes,
            )
            for path, table in zip(paths, tables, strict=True)
        ],
        schema=first.schema.remove_metadata(),
        relations=count_values(first["relation"]),
        sizes=count_values(pc.list_value_length(first["candidates"])),
        repairs=count_repairs([x["repairs"] for x in tables if "repairs" in x.column_names]),
        flags=Counter(flag for row in flagged for flag in row),
        baseline=measure_baseline(paths[place].stem, tables[place], name),
        figures=list_headlines(tables),
        notes=json.loads((first.schema.metadata or {}).get(NOTES.encode(), b"{}")),
    )


def list_headlines(tables: Sequence[pa.Table]) -> tuple[str, ...]:
    """Return the headline figures of a run with these languages."""
    if len(tables) == 1:
        return HEADLINES[:1]
    return UNRANKED if find_different(tables).any() else HEADLINES


def count_values(column: pa.ChunkedArray) -> Counter[Any]:
    """Return the number of each value, in the order of first occurrence."""
    return Counter({x["values"].as_py(): x["counts"].as_py() for x in pc.value_counts(column)})


def count_repairs(columns: Sequence[pa.ChunkedArray]) -> Counter[str]:
    """Return the number of queries with each code in at least one language's column."""
    pairs = [
        pa.table([pc.list_parent_indices(part), pc.list_flatten(part)], ["row", "code"])
        for part in (column.combine_chunks() for column in columns)
    ]
    if not pairs:
        return Counter()
    return count_values(pa.concat_tables(pairs).group_by(["row", "code"]).aggregate([])["code"])


def measure_baseline(language: str, table: pa.Table, name: str) -> Baseline:
    """Return the accuracy of a split without a model; None if all rows have one candidate."""
    if pc.max(pc.list_value_length(table["candidates"])).as_py() == 1:
        return Baseline(table.num_rows, None, None)
    split = read_split(language, table, name)
    return find_baselines(split, find_ids({language: split}))[""]


def read_parquet(path: Path) -> pa.Table:
    """Return the table of a split; PolyprobeError with the path of a damaged file."""
    try:
        return pq.read_table(path, page_checksum_verification=True)
    except UNREADABLE as error:
        config = path.parent.name
        raise PolyprobeError(
            f"{path} is not a Parquet file; build it again: --config {config}"
        ) from error


def size_category(configs: Sequence[Config]) -> str:
    """Return the Hub's size category for the rows of all configurations and languages."""
    rows = sum(split.rows for config in configs for split in config.splits)
    return next((name for limit, name in SIZES if rows < limit), "1M<n<10M")


def describe_files(config: Config, default: str) -> dict[str, Any]:
    """Return the entry of `configs`: the paths of the splits for `load_dataset`."""
    return {
        "config_name": config.name,
        **({"default": True} if config.name == default else {}),
        "data_files": [{"split": split.name, "path": split.path} for split in config.splits],
    }


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


def columns_table(configs: Sequence[Config]) -> str:
    """Return the table of columns with their types and descriptions."""
    fields = {field.name: field for config in configs for field in config.schema}
    rows = [
        (f"`{name}`", f"`{field.type}`".replace("element: ", ""), DESCRIPTIONS[name])
        for name, field in fields.items()
    ]
    return markdown_table(("column", "type", "description"), rows)


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown, with bars in cells escaped."""
    lines = [head, ("---",) * len(head), *rows]
    safe = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in safe)


def statistics_table(configs: Sequence[Config]) -> str:
    """Return one line for each configuration: queries of one language, mean of candidates."""
    counts = ("languages", "queries", "relations", "candidates", "fewest", "most")
    head = ("configuration", *counts, "chance", "frequency")
    rows = [
        (
            f"`{config.name}`",
            f"{len(config.splits)}",
            f"{config.sizes.total():,}",
            f"{len(config.relations)}",
            f"{fmean(config.sizes.elements()):.2f}",
            f"{min(config.sizes)}",
            f"{max(config.sizes)}",
            decimals(config.baseline.chance),
            decimals(config.baseline.frequency),
        )
        for config in configs
    ]
    return f"{markdown_table(head, rows)}\n\n{BASELINE}"


def relations_table(configs: Sequence[Config], names: dict[str, str]) -> str:
    """Return one line for each relation: its number of queries in each configuration.

    More than MOST_COLUMNS configurations are summed up.
    """
    order = dict.fromkeys(relation for config in configs for relation in config.relations)
    if len(configs) > MOST_COLUMNS:
        return sum_relations([config.relations for config in configs], list(order), names)
    rows = [
        (
            link_relation(relation),
            names.get(relation, ""),
            *(f"{config.relations[relation]}" for config in configs),
        )
        for relation in order
    ]
    return markdown_table(("relation", "name", *(f"`{c.name}`" for c in configs)), rows)


def sum_relations(
    counts: Sequence[Counter[str]], order: Sequence[str], names: dict[str, str]
) -> str:
    """Return one line for each relation: its configurations and their numbers of queries."""
    rows = []
    for relation in order:
        numbers = [count[relation] for count in counts if relation in count]
        figures = (len(numbers), sum(numbers), min(numbers), max(numbers))
        rows.append(
            (link_relation(relation), names.get(relation, ""), *(f"{n:,}" for n in figures))
        )
    head = ("relation", "name", "configurations", "queries", "fewest", "most")
    return markdown_table(head, rows)


def link_relation(relation: str) -> str:
    """Return a relation in Markdown, a property of Wikidata with a link.

    >>> link_relation("P36"), link_relation("place_of_birth")
    ('[P36](https://www.wikidata.org/wiki/Property:P36)', 'place_of_birth')
    """
    is_property = re.fullmatch(r"P\d+", relation)
    return (
        f"[{relation}](https://www.wikidata.org/wiki/Property:{relation})"
        if is_property
        else relation
    )


def repairs_table(configs: Sequence[Config], meanings: dict[str, str]) -> str:
    """Return one line for each code: the number of queries with it in at least one language."""
    repaired = [config for config in configs if config.repairs]
    if not repaired:
        return "No configuration here is repaired."
    rows = [
        (f"`{code}`", meaning, *(f"{config.repairs[code]:,}" for config in repaired))
        for code, meaning in meanings.items()
    ]
    return markdown_table(("code", "change", *(f"`{c.name}`" for c in repaired)), rows)


def flags_table(configs: Sequence[Config]) -> str:
    """Return one line for each flag: its number of queries in each configuration with flags."""
    flagged = [config for config in configs if config.flags]
    rows = [
        (f"`{flag}`", meaning, *(f"{config.flags[flag]:,}" for config in flagged))
        for flag, meaning in FLAGS.items()
        if any(config.flags[flag] for config in flagged)
    ]
    return markdown_table(("flag", "meaning", *(f"`{c.name}`" for c in flagged)), rows)


def describe_sentences(configs: Sequence[Config], folder: Path) -> dict[str, str]:
    """Return the part of the card on sentence versions in a folder, empty without one."""
    versions = [describe_version(config, folder) for config in configs if "twin_of" in config.notes]
    introduction = files(__package__).joinpath("sentences.md").read_text(encoding="utf-8").rstrip()
    return {"sentences": "\n\n".join(["", introduction, *versions]) if versions else ""}


def describe_version(config: Config, folder: Path) -> str:
    """Return the command, the cost of each language, and the reasons for lost rows.

    A note warns if the base configuration changed after the sentence version was built.
    """
    notes = config.notes
    lemmatizers = [f"{language}: {name}" for language, name in notes["lemmatizers"].items()]
    costs = [(language, *(f"{n:,}" for n in counts)) for language, *counts in notes["costs"]]
    base = hash_base(folder, notes["twin_of"], [notes["source_language"], *notes["languages"]])
    parts = [
        f"### `{config.name}`",
        f"```\n{notes['command']}\n```",
        *([STALE.format(notes["twin_of"])] if notes.get("base") not in (None, base) else []),
        f"{notes['rows']:,} of {notes['costs'][0][1]:,} rows. Translator: `{notes['translator']}`. "
        f"Lemmatizer: {', '.join(lemmatizers)}. Minimum similarity of object and label: "
        f"{notes['threshold']:g} of 100.",
        markdown_table(SENTENCE_HEAD, costs),
        MEANING,
    ]
    if notes.get("partial"):
        parts.append(f"{PARTIAL} {notes['partial']:,}.")
    if notes["lost"]:
        lost = [(language, status, f"{rows:,}") for language, status, rows in notes["lost"]]
        parts.append(markdown_table(("language", "reason", "rows"), lost))
    return "\n\n".join(parts)


def hash_base(folder: Path, config: str, languages: Iterable[str]) -> str:
    """Return a hash of a configuration's files in some languages; "" if one is missing."""
    digest = hashlib.sha256()
    for language in sorted(languages):
        file = folder / "data" / config / f"{split_name(language)}.parquet"
        if not file.is_file():
            return ""
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()
