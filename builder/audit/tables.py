"""Tables of a dataset, as it is: unchecked, from Parquet files, the Hub, or the TSVs of BMLAMA.

Their templates are counted: how many a relation has, and how different they are. The figures are
those of table 1 of mParaRel (Fierro and Søgaard, arXiv:2203.11552). The paper does not define its
string distance; the mean Levenshtein distance gives its value, 13.9.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa
from rapidfuzz.distance import Levenshtein

from polyprobe.builder.facts import SUBJECT
from polyprobe.builder.sources.bmlama import read_raw
from polyprobe.report.finding import Cell, Column, Finding, Part, Role, Table
from polyprobe.schema.columns import split_name
from polyprobe.schema.languages import refuse_languages
from polyprobe.schema.load import read_splits
from polyprobe.schema.locate import list_splits, locate, read_card
from polyprobe.system.messages import PolyprobeError

from .checks import find_second_answers, read_split
from .limits import find_prior

Languages = list[str] | None  # None: all
NEEDED = ("relation", "template_id", "prompt", "subject")
ROWS = 20  # of a template, from which it is read
COLUMNS = (
    Column("", Role.NAME),
    *(Column(name, Role.COUNT) for name in ("relations", "templates", "fewest", "most")),
    Column("mean"),
    Column("edit distance", Role.RATIO),
)
MEANING = (
    "fewest, most, mean: templates of a relation; edit distance: Levenshtein distance of two "
    "templates of a relation, in characters with [X] and [Y], mean over all such pairs"
)


class TemplateCounts(NamedTuple):
    """The templates of one language, or means over languages."""

    relations: float
    templates: float
    fewest: int  # of a relation, as `most` and `mean`
    most: int
    mean: float
    distance: float | None  # mean edit distance, None if no relation has two templates
    unread: int  # the label of the subject is not in the prompt


def read_tables(dataset: str, config: str | None, languages: Languages) -> dict[str, pa.Table]:
    """Read the tables of a dataset by language, unchecked, or the TSV files of BMLAMA."""
    folder = Path(dataset)
    if folder.is_file():
        raise PolyprobeError(f"{dataset} is a file; give the folder of a dataset")
    has_parquet = any(folder.rglob("*.parquet"))
    if any(folder.glob("*.tsv")) and not has_parquet:
        if config:
            text = f"{dataset} holds TSV files, which have no configurations; omit --config"
            raise PolyprobeError(text)
        return read_raw(folder, languages)
    if folder.is_dir() and locate(dataset) == dataset and not has_parquet:
        raise PolyprobeError(f"{dataset} holds neither Parquet nor TSV files; give another folder")
    tables = read_splits(dataset, config)
    refuse_languages(languages or (), dataset, tables)
    return {language: tables[language] for language in languages or tables}


def count_templates(
    dataset: str, config: str | None, languages: Languages
) -> dict[str, TemplateCounts]:
    """Count the templates of each language, in all configurations if none is named."""
    card = Path(locate(dataset)) / "README.md"
    listed = list_splits(read_card(card)) if card.is_file() and not config else []
    splits = {name: [x.name for x in listed if x.config == name] for name, *_ in listed}
    if len(splits) < 2:
        tables = read_tables(dataset, config, languages)
    else:
        tables = {}
        refuse_languages(languages or (), dataset, set().union(*splits.values()))
        for name, names in splits.items():
            part = [language for language in names if languages is None or language in languages]
            for language, table in read_tables(dataset, name, part).items() if part else ():
                key = language if split_name(name) == language else f"{name} {language}"
                tables[key] = table
    counts = {key: tally_templates(table, f"{dataset}: {key}") for key, table in tables.items()}
    if all(of_key.unread == of_key.templates for of_key in counts.values()):
        raise PolyprobeError(
            f"{dataset} has no templates: no relation's prompts differ only in the subject's label"
        )
    return counts


def count_parts(dataset: str, languages: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Count the defects of languages in the configurations LANG-train, LANG-valid and LANG-test."""
    card = Path(locate(dataset)) / "README.md"
    configs = {x.config for x in list_splits(read_card(card))} if card.is_file() else set()
    counts, english = {}, dict[str, str]()  # {released id: fact}
    for language in dict.fromkeys(["en", *languages]):
        names = [f"{language.replace('_', '-')}-{part}" for part in ("train", "valid", "test")]
        tables = [read_splits(dataset, x, [language])[language] for x in names if x in configs]
        if not tables:
            continue
        table, n_train = pa.concat_tables(tables), len(tables[0]) if names[0] in configs else 0
        split = read_split(language, table, dataset)
        key = "dataset_id" if "dataset_id" in table.column_names else "fact_id"
        facts = dict(zip(table[key].to_pylist(), split.fact_id, strict=True))
        english = english or facts
        linked = {*english.values()}.intersection(facts.values())
        changes = [facts[x] != english[x] for x in english if facts.get(x) in linked]
        trained = {*split.prompt[:n_train]}
        counts[language] = {
            "rows": len(table),
            "rows_with_second_answer": sum(find_second_answers(split, split)),
            "rows_outside_train": len(table) - n_train,
            "rows_with_prompt_of_train": sum(x in trained for x in split.prompt[n_train:]),
            "accuracy_of_train_prior": find_prior(split, n_train),
            "ids_compared_to_en": len(changes),
            "ids_of_other_facts_than_in_en": sum(changes),
        }
    return {language: counts[language] for language in languages if language in counts}


def tally_templates(table: pa.Table, place: str) -> TemplateCounts:
    """Count the templates of a split, which has the columns NEEDED; `place` names it in errors."""
    for column in NEEDED:
        if column not in table.column_names:
            raise PolyprobeError(f"{place} has no column {column!r}; --templates needs it")
    if not table.num_rows:
        raise PolyprobeError(f"{place} has no rows; build the dataset again")
    # The templates of each `template_id` of a relation; '' for unread ones.
    frame = pl.DataFrame(pl.from_arrow(table.select(NEEDED)))
    some = frame.group_by("relation", "template_id", maintain_order=True).head(ROWS)
    collected: dict[str, list[str]] = {}
    for (relation, _), part in some.group_by("relation", "template_id", maintain_order=True):
        pairs = part.select("prompt", "subject").iter_rows()
        collected.setdefault(str(relation), []).append(read_template(pairs))
    sizes = [len(texts) for texts in collected.values()]
    # Unread templates count in all numbers but this.
    legible = ([text for text in texts if text] for texts in collected.values())
    distances = [
        Levenshtein.distance(*pair) for texts in legible for pair in combinations(texts, 2)
    ]
    ends, mean = (min(sizes), max(sizes)), fmean(sizes)
    distance = fmean(distances) if distances else None
    unread = sum(not text for texts in collected.values() for text in texts)
    return TemplateCounts(len(sizes), sum(sizes), *ends, mean, distance, unread)


def read_template(rows: Iterable[tuple[str, str]]) -> str:
    """Return the template of pairs (prompt, label of the subject), '' if they have none in common.

    >>> read_template([("is is in [Y]", "is"), ("Ulm is in [Y]", "Ulm")])
    '[X] is in [Y]'
    """
    # The prompt with each of its occurrences of the subject replaced, for each row.
    forms = []
    for prompt, subject in rows:
        matches = re.finditer(f"(?={re.escape(subject)})", prompt if subject else "")
        places = [match.start() for match in matches]
        forms.append({prompt[:x] + SUBJECT + prompt[x + len(subject) :] for x in places})
    return min(set.intersection(*forms) or {""})


def average_counts(counts: Mapping[str, TemplateCounts]) -> TemplateCounts:
    """Return the means over languages; fewest and most of all, `mean` over all relations."""
    relations, templates, fewest, largest, _, every, unread = zip(*counts.values(), strict=True)
    distances = [distance for distance in every if distance is not None]
    distance = fmean(distances) if distances else None
    ends, mean = (min(fewest), max(largest)), sum(templates) / sum(relations)
    return TemplateCounts(fmean(relations), fmean(templates), *ends, mean, distance, sum(unread))


def templates_json(counts: Mapping[str, TemplateCounts]) -> dict[str, dict]:
    """Return the counts by language, and `mean` over languages."""
    parts = {**counts, "mean": average_counts(counts)}
    return {name: part._asdict() for name, part in parts.items()}


def make_templates_finding(counts: Mapping[str, TemplateCounts], name: str) -> Finding:
    """Make the finding of a dataset: a line for each language, and their means."""
    means = average_counts(counts)
    unread = f"; {means.unread} templates cannot be read: no subject" if means.unread else ""
    rows: list[list[Any]] = [[language, *part[:-1]] for language, part in counts.items()]
    if len(counts) > 1:
        relations, templates, *rest, _ = means
        rows.append(["all", *(Cell(x, Role.RATIO) for x in (relations, templates)), *rest])
    part = Part("Templates", [Table(COLUMNS, rows)])
    return Finding(f"templates of {name}", [part], notes=[MEANING + unread])
