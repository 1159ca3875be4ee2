"""Build xfakt: 802 questions about 13 countries in their 13 languages (arXiv:2502.17955).

The source is a folder of the authors' repository with a CSV file for each language, whose rows are
parallel: a question, its country and its kind. Countries have the names of the files and of Unicode
CLDR, and those of names.csv: short names, and names of their people, by which answers name them.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa
from babel import Locale

from polyprobe.schema.columns import SLOT, Row, to_table
from polyprobe.schema.languages import refuse_languages
from polyprobe.system.files import read_table_rows
from polyprobe.system.messages import PolyprobeError, one_line

DEFAULT_CONFIG = "default"
COLUMNS = ("Question", "answers", "label")
NAMES = {row["iso"]: row for row in read_table_rows(__package__, "names.csv")}
# The languages, behind the two ids of a country, and the names of their files.
FILES = {x: Locale("en").languages[x] for x in [*next(iter(NAMES.values()))][2:]}


def read_questions(folder: Path, language: str) -> pl.DataFrame:
    """Read the rows of a language: its question, the label of its country, and its kind."""
    path = folder / f"{FILES[language]}.csv"
    try:
        rows = pl.read_csv(path, columns=COLUMNS, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise PolyprobeError(f"{path} is no table of X-FaKT: {one_line(error)}") from error
    empty = rows.select(pl.any_horizontal(pl.all().is_null()).arg_true()).to_series()
    if len(empty) or not len(rows):
        place = f"row {empty[0] + 1} has an empty cell" if len(empty) else "it has no rows"
        raise PolyprobeError(f"{path} is no table of X-FaKT: {place}")
    return rows


def list_names(language: str, iso: str, label: str) -> list[str]:
    """List the names of a country in a language, the file's first."""
    short = NAMES[iso][language].split(";")
    return [*dict.fromkeys(filter(None, [label, Locale(language).territories[iso], *short]))]


def make_configs(
    source: str, languages: Sequence[str], mirror: Path | None
) -> dict[str, dict[str, pa.Table]]:
    """Return {configuration: {language: rows}} of a folder; `mirror` is unused."""
    folder = next(iter(sorted(Path(source).rglob("English.csv"))), Path(source, "?")).parent
    refuse_languages(languages, source, FILES)
    english = read_questions(folder, "en")
    iso_of = {name: iso for iso in NAMES for name in list_names("en", iso, "")}
    if unknown := set(english["answers"]) - set(iso_of):
        text = f"{folder / 'English.csv'}: {min(unknown)!r} is none of the 13 countries of X-FaKT"
        raise PolyprobeError(text)
    countries = [iso_of[name] for name in english["answers"]]
    order = [*dict.fromkeys(countries)]
    tables = {}
    for language in languages or FILES:
        rows = read_questions(folder, language)
        if rows["label"].to_list() != english["label"].to_list():
            raise PolyprobeError(f"{folder}: {FILES[language]}.csv has other rows than English")
        first: dict[str, str] = {}
        for number, (label, iso) in enumerate(zip(rows["answers"], countries, strict=True), 1):
            same = [x for x, of in first.items() if of == label]
            if first.setdefault(iso, label) != label and same:
                raise PolyprobeError(
                    f"{folder / FILES[language]}.csv, row {number}: {label!r} is the name of "
                    "another country than in English.csv; rows must be parallel"
                )
        names = {iso: list_names(language, iso, first[iso]) for iso in order}
        labels, ids = [first[x] for x in order], [NAMES[x]["entity"] for x in order]
        columns = zip(rows["Question"], rows["label"], countries, strict=True)
        table = []
        for number, (question, kind, iso) in enumerate(columns, start=1):
            fact = f"{kind}-{number:03}"
            head = fact, kind, fact, NAMES[iso]["entity"], "", f"{question} {SLOT}"
            table.append(Row(*head, labels, ids, [order.index(iso)], names[iso], "question"))
        tables[language] = to_table(table)
    return {DEFAULT_CONFIG: tables}
