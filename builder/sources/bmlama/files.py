"""The files of BMLAMA as published by Qi, Fernández and Bisazza (EMNLP 2023, arXiv:2310.10378).

Prompts, candidates and their order are unchanged, except that the released `<mask>` is written
`[Y]`. The files contain neither ids nor relations. Languages are aligned by row number, and a
relation is a contiguous block of rows with the same English template.
"""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain, groupby, islice, repeat
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import pyarrow as pa

from polyprobe.builder.sources import SOURCES
from polyprobe.schema.columns import SCHEMA, SLOT
from polyprobe.schema.languages import refuse_languages
from polyprobe.system.download import Repository, read_files, read_sums
from polyprobe.system.files import read_table_rows, read_toml
from polyprobe.system.messages import PolyprobeError, track

PUBLISHED = ("17", "53")
ABOUT = SOURCES["bmlama"]
REPOSITORY = Repository(**ABOUT["repository"], sha256=read_sums(__package__, "bmlama.sha256"))
MASK = "<mask>"

# The blocks in order: relation, rows in 17, rows in 53. Four of them (P30, P131, P17, P276) share
# one template; they are identified by mParaRel's tuples (tests/builder/test_bmlama.py).
_LINES = (line.values() for line in read_table_rows(__package__, "blocks.csv"))
BLOCKS = [(relation, int(in_17), int(in_53)) for relation, in_17, in_53 in _LINES]


class Columns(NamedTuple):
    """The columns of a released file; row i is the same query in every language."""

    prompt: Sequence[str]
    answer: Sequence[str]
    candidates: Sequence[tuple[str, ...]]
    subject: Sequence[str]


class Published(NamedTuple):
    """A configuration as published: the id and relation of each row, and {language: columns}."""

    ids: list[str]
    relations: list[str]
    columns: dict[str, Columns]


@lru_cache(maxsize=2)  # the published configurations are also the source of the repaired ones
def read_published(config: str, mirror: Path | None = None) -> Published:
    """Return BMLAMA-17 (`17`) or BMLAMA-53 (`53`); ids number the rows from 0001."""
    paths = list_paths(config)
    contents = map(parse_columns, read_files(REPOSITORY, paths.values(), mirror))
    progress = track(paths, f"reading bmlama/{config}")
    columns = dict(zip(progress, contents, strict=True))
    relations = recover_relations(columns["en"], config)
    ids = [f"{config}:{number:04}" for number in range(1, len(relations) + 1)]
    return Published(ids, relations, columns)


def list_paths(config: str) -> dict[str, str]:
    """Return {language: path in the repository} of one configuration, sorted by language."""
    paths = map(PurePosixPath, sorted(REPOSITORY.sha256))
    return {path.stem: str(path) for path in paths if path.parent.name == f"BMLAMA{config}"}


def parse_columns(content: bytes) -> Columns:
    """Return the columns of one released file, CSV with tabs and doubled quotation marks."""
    text = io.StringIO(content.decode("utf-8"), newline="")
    lines = csv.reader(text, delimiter="\t", strict=True)
    next(lines, None)  # that of zh has one field too many
    rows = list(lines)
    for number, row in enumerate(rows, start=1):
        if len(row) != len(Columns._fields):
            expected = ", ".join(Columns._fields)
            raise ValueError(f"row {number} has {len(row)} columns; expected {expected}")
    columns = map(list, zip(*rows, strict=True)) if rows else [[]] * 4
    prompts, answers, candidates, subjects = columns
    texts = [prompt.replace(MASK, SLOT) for prompt in prompts]
    return Columns(texts, answers, [tuple(names.split(", ")) for names in candidates], subjects)


def recover_relations(english: Columns, config: str) -> list[str]:
    """Return the relation of each row, found by the blocks of rows with equal English templates."""
    # ValueError if the lengths of the blocks are not those of BLOCKS.
    column = PUBLISHED.index(config)
    lengths = [len(list(block)) for _, block in groupby(blank_subjects(english))]
    expected = [(relation, rows[column]) for relation, *rows in BLOCKS if rows[column]]
    if lengths != [length for _, length in expected]:
        raise ValueError(f"blocks of English templates have {lengths} rows, expected {expected}")
    return [relation for relation, length in expected for _ in range(length)]


def blank_subjects(columns: Columns) -> list[str]:
    """Return the prompts with `[X]` in place of the subject."""
    pairs = zip(columns.prompt, columns.subject, strict=True)
    return [prompt.replace(subject, "[X]") for prompt, subject in pairs]


def make_published_table(part: Columns, ids: Sequence[str], relations: Sequence[str]) -> pa.Table:
    """Return the rows without ids of entities; every candidate that equals the answer is one."""
    nothing, pairs = [""] * len(ids), zip(part.candidates, part.answer, strict=True)
    answers = [[i for i, x in enumerate(names) if x == answer] for names, answer in pairs]
    head = ids, relations, nothing, nothing, part.subject, part.prompt, part.candidates
    values = (*head, [()] * len(ids), answers, [*zip(part.answer, strict=True)], relations)
    return pa.table(dict(zip(SCHEMA.names, values, strict=True)), schema=SCHEMA)


def read_fallback_templates(mirror: Path | None = None) -> list[tuple[str, str, str, str]]:
    """Return the rows of `facts.TEMPLATES` in all 53 languages, sorted by language and relation."""
    # A template is the most frequent prompt of a relation with `[X]` for the subject; those of
    # BMLAMA-17 have priority, and plainly wrong ones are replaced by ours.
    rows: dict[tuple[str, str], tuple[str, str, str, str]] = {}
    for config in PUBLISHED:
        published, replacements = read_published(config, mirror), list_replacements(config)
        for language, part in published.columns.items():
            templates = zip(published.relations, blank_subjects(part), strict=True)
            for relation, block in groupby(templates, itemgetter(0)):
                (_, template), _ = Counter(block).most_common(1)[0]
                replaced = replacements.get(relation, {}).get(language)
                name = f"polyprobe:{relation}" if replaced else f"bmlama:{relation}:0"
                line = (language, relation, name, replaced or template)
                rows.setdefault((language, relation), line)
    return [rows[key] for key in sorted(rows)]


def list_replacements(config: str) -> dict[str, dict[str, str]]:
    """Return {relation: {language: our template}} for the replaced templates of `17` or `53`."""
    tables = read_toml(__package__, "templates.toml")
    overrides = tables.pop("53")
    replacements = {
        relation: table | (overrides.get(relation, {}) if config == "53" else {})
        for relation, table in tables.items()
    }
    uninflected = read_toml(__package__, "uninflected.toml")
    uninflected |= read_toml(__package__, "uninflected_53.toml")
    for language, sentences in uninflected.items():
        for relation, sentence in sentences.items():
            replacements.setdefault(relation, {})[language] = sentence
    return {relation: dict(sorted(table.items())) for relation, table in replacements.items()}


def read_entry_templates() -> dict[str, dict[str, str]]:
    """Return {relation: {language: template}} of entries.csv: one form in all languages."""
    # `[X] (capital: [Y]).`: both labels and the noun are in the dictionary form. The first line
    # has each language's punctuation.
    forms, *rows = read_table_rows(__package__, "entries.csv")
    forms.pop("relation")
    return {row["relation"]: {x: y.format(row[x]) for x, y in forms.items()} for row in rows}


def read_raw(folder: Path, languages: Sequence[str] | None = None) -> dict[str, pa.Table]:
    """Return {language: table} of the folder's TSVs, in the requested order or by language."""
    # `relation` is recovered if the English templates have the blocks of BMLAMA-17 or 53. Otherwise
    # it is `block-N`. Without English, the blocks are those of the first language.
    paths = {path.stem.replace("-", "_"): path for path in sorted(folder.glob("*.tsv"))}
    refuse_languages(languages or (), str(folder), paths)
    columns = {language: read_language_file(paths[language]) for language in languages or paths}
    first = columns.get("en") or next(iter(columns.values()))
    blocks = enumerate(groupby(blank_subjects(first)), start=1)
    relations = [f"block-{number}" for number, (_, rows) in blocks for _ in rows]
    for config in PUBLISHED:
        with suppress(ValueError):
            relations = recover_relations(first, config)
    tables = {}
    for language, part in columns.items():
        size = len(part.prompt)
        # A language may have more rows than the first one: the last ones have no relation.
        names = list(islice(chain(relations, repeat("")), size))
        ids = [f"{number:04}" for number in range(1, size + 1)]
        tables[language] = make_published_table(part, ids, names)
    return tables


def read_language_file(path: Path) -> Columns:
    """Return the columns of a released file; raise PolyprobeError if it is not valid."""
    try:
        columns = parse_columns(path.read_bytes())
    except csv.Error as error:
        message = f"{path} has an unclosed quotation mark ({error}); unpack it again"
        raise PolyprobeError(message) from error
    except (ValueError, OSError) as error:  # not UTF-8, or rows of other columns
        reason = getattr(error, "strerror", None) or error
        raise PolyprobeError(f"cannot read {path}: {reason}; unpack it again") from error
    if not columns.prompt:
        raise PolyprobeError(f"{path} has no rows; unpack it again")
    return columns
