"""Read a user's facts (CSV or TSV) and templates (TOML).

The facts have one row for each fact. Columns: `relation`, `subject_LANG` and `object_LANG` for each
language, and optionally `subject_id` and `object_id`. An entity without an id is identified by its
first label in the order of the columns.
"""

import csv
import io
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import polars as pl

from polyprobe.builder.facts import FACTS, LABELS, SUBJECT, TEMPLATES, Facts, is_template
from polyprobe.builder.facts.labels import fold, mend
from polyprobe.schema.columns import SLOT
from polyprobe.system.files import read_user_text
from polyprobe.system.messages import PolyprobeError, one_line, refuse_unknown, report

ROLES = ("subject", "object")
EXPECTED = "expected relation, subject_en, object_en, subject_fr, object_fr, …"
REPEATED = "rows repeat a fact"
CLEANED = "labels cleaned (invisible characters, words in two alphabets, traditional Chinese in zh)"
TITLE = "name"  # key of a relation's name among its templates
MISSING = {"none", "null", "nan", "na", "n/a", "nil"}  # what programs write for a missing value
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8})*")


class Line(NamedTuple):
    """A row of the table of facts: its file and line, and its cells {column: text}."""

    path: Path
    number: int
    cells: dict[str, str]

    def fail(self, problem: str) -> PolyprobeError:
        """Return the error of a problem in this row."""
        return PolyprobeError(f"{self.path}, line {self.number}: {problem}")


class OwnTemplates(NamedTuple):
    """A file of templates: {relation: {language: template}}, and {relation: name}."""

    path: Path
    texts: dict[str, dict[str, str]]
    names: dict[str, str]


def read_own_templates(path: Path) -> OwnTemplates:
    """Read the templates and names of a TOML file with a table for each relation."""
    try:
        tables = tomllib.loads(read_user_text(path))
    except tomllib.TOMLDecodeError as error:
        raise PolyprobeError(f"{path} is not valid TOML: {one_line(error)}; correct it") from error
    if not tables:
        raise PolyprobeError(f"{path} has no templates; add a table for each relation: [capital]")
    texts: dict[str, dict[str, str]] = {}
    names = {}
    for relation, table in tables.items():
        if not isinstance(table, dict):
            raise PolyprobeError(
                f"{path}: {relation} is not a table; write [{relation}], then a template for each "
                f'language: en = "The {relation} of {SUBJECT} is {SLOT}."'
            )
        if wrong := set(":,") & set(relation):
            raise PolyprobeError(
                f"{path}: the name of relation {relation!r} contains {wrong.pop()!r}; rename it"
            )
        texts[relation] = {}
        for key, text in table.items():
            place = f"{path}: [{relation}] {key}"
            if not isinstance(text, str):
                raise PolyprobeError(f"{place}: expected text in quotation marks")
            if key == TITLE:
                names[relation] = text
                continue
            language = read_language(key, place)
            if not is_template(text):
                raise PolyprobeError(
                    f"{place}: expected {SUBJECT} and {SLOT} once each and no other brackets in "
                    f"{text!r}"
                )
            texts[relation][language] = unicodedata.normalize("NFC", text.strip())
    return OwnTemplates(path, texts, names)


def read_own_facts(path: Path, templates: OwnTemplates) -> tuple[Facts, tuple[str, ...]]:
    """Read the facts of a table with their templates, and the languages of its columns."""
    # A fact that several rows repeat counts once. Labels are cleaned (`labels.mend`) and compared
    # by `fold`. `repairs` counts repeated rows and changed labels.
    rows, languages = read_fact_lines(path)
    facts: Counter[tuple[str, ...]] = Counter()
    labels: dict[tuple[str, str], tuple[str, int]] = {}  # with the line of the first one
    changed = set()
    doubtful = []
    for row in rows:
        relation = row.cells["relation"]
        if not relation:
            raise row.fail("no relation; fill in the column 'relation', or delete the row")
        place = f"{templates.path} ({path}, line {row.number})"
        refuse_unknown("relation", [relation], place, templates.texts)
        ends = [identify_end(row, role, languages) for role in ROLES]
        facts[(relation, *ends)] += 1
        for (role, entity), language in product(zip(ROLES, ends, strict=True), languages):
            text = row.cells[f"{role}_{language}"]
            label = mend(text, language)
            if label.casefold() in MISSING:
                doubtful.append(f"{label} (line {row.number})")
            if label != text:
                changed.add((language, text))
            if label:
                add_label(labels, row, (language, entity), label)
    report_doubtful(path, doubtful)
    if not facts:
        raise PolyprobeError(f"{path} has no facts below its header; add a row for each fact")
    repairs = {REPEATED: facts.total() - len(facts), CLEANED: len(changed)}
    names = sorted((*key, label) for key, (label, _) in labels.items())
    content = Facts(
        facts=pl.DataFrame(sorted(facts), FACTS, orient="row"),
        labels=pl.DataFrame(names, LABELS, orient="row"),
        repairs={name: count for name, count in repairs.items() if count},
        templates=select_templates(templates.texts, languages),
    )
    return content, languages


def report_doubtful(path: Path, doubtful: Sequence[str]) -> None:
    """Report labels that are words for a missing value, if there are some."""
    if doubtful:
        more = f" and {len(doubtful) - 3} more" if len(doubtful) > 3 else ""
        report(
            f"{path}: labels, not missing values: {', '.join(doubtful[:3])}{more}; otherwise empty "
            "these cells"
        )


def add_label(
    labels: dict[tuple[str, str], tuple[str, int]], row: Line, key: tuple[str, str], label: str
) -> None:
    """Add the label of (language, entity) with its line; PolyprobeError if it has another one."""
    before, line = labels.setdefault(key, (label, row.number))
    if fold(before) != fold(label):
        language, entity = key
        raise row.fail(
            f"{entity!r} is {label!r} in '{language}', but {before!r} in line {line}; correct one "
            "of them, or give different entities different ids (columns subject_id, object_id)"
        )


def select_templates(
    texts: Mapping[str, Mapping[str, str]], languages: Sequence[str]
) -> pl.DataFrame:
    """Return the templates in the languages of the facts (TEMPLATES); report other languages."""
    rows = [
        (language, relation, f"own:{relation}:0", text)
        for relation, part in texts.items()
        for language, text in part.items()
    ]
    if unused := sorted({language for language, *_ in rows} - set(languages)):
        report(f"templates not used, since the facts have no labels in {', '.join(unused)}")
    part = sorted(row for row in rows if row[0] in languages)
    return pl.DataFrame(part, TEMPLATES, orient="row")


def identify_end(row: Line, role: str, languages: Sequence[str]) -> str:
    """Return the id of a row's subject or object: its own, or its first label as an id."""
    for language in languages:
        text = row.cells[f"{role}_{language}"]
        if SUBJECT in text or SLOT in text or "\n" in text or "\r" in text:
            raise row.fail(
                f"{role}_{language} contains {SUBJECT}, {SLOT} or a line break: {text[:60]!r}; "
                "correct the cell and its quotation marks"
            )
    entity = row.cells.get(f"{role}_id", "")
    if ":" in entity:
        raise row.fail(f"{role}_id {entity!r} contains ':'; use other characters")
    if entity:
        return entity
    texts = (mend(row.cells[f"{role}_{language}"], language) for language in languages)
    label = next(filter(None, texts), "")
    if not label:
        raise row.fail(f"no {role}; fill in {role}_{languages[0]}, or delete the row")
    return re.sub(r"[\s:]+", "_", fold(label))


def read_fact_lines(path: Path) -> tuple[list[Line], tuple[str, ...]]:
    """Return the rows of a CSV or TSV file that are not blank, and the languages of its columns."""
    lines = split_cells(path, read_user_text(path))
    columns, languages = read_header(path, next(lines, (1, []))[1])
    rows = []
    for number, texts in lines:
        cells = [unicodedata.normalize("NFC", cell.strip()) for cell in texts]
        if not any(cells):
            continue
        row = Line(path, number, {})
        if len(cells) != len(columns):
            raise row.fail(
                f"{len(cells)} cells, but {len(columns)} columns; put cells that contain the "
                "delimiter in quotation marks"
            )
        rows.append(row._replace(cells=dict(zip(columns, cells, strict=True))))
    return rows, languages


def split_cells(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line number and the cells of each row, cut at the delimiter of line 1."""
    # Excel writes semicolons in countries with a decimal comma.
    head = text.partition("\n")[0]
    delimiter = max(",;\t", key=head.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    number = 1
    try:
        for cells in reader:
            yield number, cells
            number = reader.line_num + 1
    except csv.Error as error:
        remedy = "close quotation marks, and double those inside a cell"
        if "field limit" in str(error):
            remedy = "shorten the cell, or close its quotation marks"
        raise PolyprobeError(f"{path}, line {number}: {one_line(error)}; {remedy}") from error


def read_header(path: Path, cells: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the names of the columns, and the languages with labels, in their order."""
    columns = []
    languages: dict[str, None] = {}
    ignored = []
    for cell in cells:
        name = cell.strip().casefold()
        role, _, rest = name.partition("_")
        if role in ROLES and rest and rest != "id":
            language = read_language(rest, f"{path}: column {cell.strip()!r}")
            languages[language] = None
            name = f"{role}_{language}"
        elif name and name not in ("relation", "subject_id", "object_id"):
            ignored.append(cell.strip())
        columns.append(name)
    for name, count in Counter(columns).items():
        if name and count > 1:
            raise PolyprobeError(f"{path} has {count} columns {name!r}; rename or delete one")
    required = ["relation", *(f"{role}_{language}" for language in languages for role in ROLES)]
    if not languages:
        required += ["subject_en", "object_en"]
    if missing := [name for name in required if name not in columns]:
        names = ", ".join(filter(None, columns))[:200] or "none"
        raise PolyprobeError(f"{path} has no column {missing[0]!r}; {EXPECTED}; found: {names}")
    if ignored:
        report(f"{path}: ignored columns: {', '.join(ignored)}")
    return columns, tuple(languages)


def read_language(text: str, place: str) -> str:
    """Return a language code with hyphens, in lower case; PolyprobeError for another text."""
    code = text.casefold().replace("_", "-")
    if not _LANGUAGE.fullmatch(code):
        raise PolyprobeError(f"{place}: {text!r} is not a language code such as en or zh-hans")
    return code
