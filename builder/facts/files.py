"""Read the files of users: tables (CSV, TSV) of labels, and templates in TOML."""

import csv
import hashlib
import io
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from polyprobe.schema.columns import SLOT
from polyprobe.system.files import read_user_text
from polyprobe.system.messages import PolyprobeError, one_line, report

from . import SUBJECT, is_template
from .labels import find_script, fold, mend, normalise, simplify

CLEANED = "labels cleaned (invisible characters, words in two alphabets, traditional Chinese in zh)"
TITLE = "name"  # key of a relation's name among its templates
HEAD = ("licence", "contributor")  # texts before the tables of a language's templates
OPTIONAL = ("forms",)  # roles of columns that a table may lack
# What programs write for a missing value, and for letters that an encoding lacks.
MISSING = re.compile(r"none|null|nan|na|n/a|nil|#n/a|#ref!|#name\?|#value!|[\s?\ufffd]+", re.I)
# The columns of a contributor's labels, as arguments of `read_table_lines`.
SHEET = ("id",), ("label", "forms"), "expected id, label_LANG, …, as polyprobe build sheet writes"
JAPANESE = ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA")  # beside Chinese characters
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8})*")


class Line(NamedTuple):
    """A row of a table: its file and line, and its cells {column: text}."""

    path: Path
    number: int
    cells: dict[str, str]

    def fail(self, problem: str) -> PolyprobeError:
        """Return the error of a problem in this row."""
        return PolyprobeError(f"{self.path}, line {self.number}: {problem}")


class TemplateTables(NamedTuple):
    """A file of templates: {relation: {language: templates}}, {relation: name}, and its HEAD."""

    path: Path
    texts: dict[str, dict[str, list[str]]]
    names: dict[str, str]
    head: dict[str, str]


class Addition(NamedTuple):
    """A language by a contributor's files; forms follow their label, templates are in order."""

    language: str
    labels: dict[str, list[str]]  # {id: label and further accepted forms}
    templates: dict[str, list[str]]  # {relation: templates}
    files: dict[str, str]  # {name: SHA-256}
    licence: str = "unknown"
    contributor: str = ""


def read_addition(labels: Path | None, templates: Path | None) -> Addition | None:
    """Read the two files of a language, cleaned, if given; report labels that look wrong."""
    if not labels or not templates:
        if file := labels or templates:
            raise PolyprobeError(f"{file} alone: a language needs both --labels and --templates")
        return None
    lines, languages = read_table_lines(labels, *SHEET)
    tables = read_template_tables(templates, HEAD)
    language, *rest = dict.fromkeys(chain(languages, *tables.texts.values()))
    if rest:
        place = f"{labels} and {templates} are in {language} and {' and '.join(rest)}"
        raise PolyprobeError(f"{place}; give two files of one language")
    check_licence(f"{templates}: licence", tables.head.get("licence", "unknown"))
    texts = {relation: table.get(language, []) for relation, table in tables.texts.items()}
    scripts = {f"[{x}] in {templates}": find_main_script("".join(y)) for x, y in texts.items()}
    names = select_labels(labels, lines, language, scripts)
    files = {x.name: hashlib.sha256(x.read_bytes()).hexdigest() for x in (labels, templates)}
    return Addition(language, names, texts, files, **tables.head)


def select_labels(
    path: Path, lines: Iterable[Line], language: str, scripts: dict[str, str]
) -> dict[str, list[str]]:
    """Return {id: label and forms} of lines with SHEET; report labels that look wrong.

    `scripts` are those of other texts by name, to compare with those of the labels.
    """
    places: dict[tuple[str, str], tuple[str, int]] = {}
    texts: dict[str, list[str]] = {}
    for row in lines:
        cells = [row.cells[f"label_{language}"], *row.cells.get(f"forms_{language}", "").split(";")]
        label, *forms = (mend(text.strip(), language) for text in cells)
        if label:
            add_label(places, row, (language, row.cells["id"]), label)
            forms = [*dict.fromkeys([label, *filter(None, forms)])]
            texts.setdefault(row.cells["id"], forms)
    lines_of = {f"{label} (line {number})": label for label, number in places.values()}
    main = find_main_script("".join(lines_of.values()))
    scripts |= {place: find_main_script(label) for place, label in lines_of.items()}
    strangers = [place for place, script in scripts.items() if main and script not in ("", main)]
    report_missing(path, places)
    report_labels(path, strangers, f"not in {main}, as most labels are", "check them")
    return texts


def find_main_script(text: str) -> str:
    """Return the script of most letters, as in Unicode names (`LATIN`); '' without letters."""
    scripts = (find_script(letter) for letter in text.replace(SUBJECT, "").replace(SLOT, ""))
    counts = Counter("CJK" if script in JAPANESE else script for script in scripts if script)
    return counts.most_common(1)[0][0] if counts else ""


def read_template_tables(path: Path, head: Sequence[str] = ()) -> TemplateTables:
    """Read the templates and names of a TOML file with a table for each relation.

    With `head`, these texts may precede the tables, a template may be empty, and a relation may
    have several in a list.
    """
    try:
        tables = tomllib.loads(read_user_text(path))
    except tomllib.TOMLDecodeError as error:
        raise PolyprobeError(f"{path} is not valid TOML: {one_line(error)}; correct it") from error
    made = TemplateTables(path, {}, {}, {})
    for relation, table in tables.items():
        if relation in head and isinstance(table, str):
            made.head[relation] = table.strip()
            continue
        if not isinstance(table, dict):
            raise PolyprobeError(
                f"{path}: {relation} is not a table; write [{relation}], then a template for each "
                f'language: en = "The {relation} of {SUBJECT} is {SLOT}."'
            )
        if marks := set(":,") & set(relation):
            text = f"{path}: the name of relation {relation!r} contains {marks.pop()!r}; rename it"
            raise PolyprobeError(text)
        made.texts[relation] = {}
        for key, value in table.items():
            place = f"{path}: [{relation}] {key}"
            texts = value if head and isinstance(value, list) else [value]
            if not all(isinstance(text, str) for text in texts):
                several = ", or a list of such texts" if head else ""
                raise PolyprobeError(f"{place}: expected text in quotation marks{several}")
            if key == TITLE:
                made.names[relation] = texts[0]
            else:
                language, texts = read_language(key, place), [x for x in texts if x or not head]
                made.texts[relation][language] = clean_templates(texts, language, place)
    if not made.texts:
        raise PolyprobeError(f"{path} has no templates; add a table for each relation: [capital]")
    return made


def clean_templates(texts: Sequence[str], language: str, place: str) -> list[str]:
    """Return templates cleaned, in NFC; refuse equal ones, and one without its two places."""
    if wrong := [text for text in texts if not is_template(text)]:
        raise PolyprobeError(
            f"{place}: expected {SUBJECT} and {SLOT} once each and no other brackets in "
            f"{wrong[0]!r}"
        )
    composed = [unicodedata.normalize("NFC", text.strip()) for text in texts]
    cleaned = [simplify(normalise(text, language), language) for text in composed]
    if len({*cleaned}) < len(cleaned):
        raise PolyprobeError(f"{place}: two templates are equal; change one")
    return cleaned


def check_licence(place: str, licence: str) -> None:
    """Refuse a licence that is no id of the Hub, where `other` also needs a name and a link."""
    if licence == "other" or not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", licence):
        raise PolyprobeError(
            f"{place} {licence!r}: expected an id of the Hub, such as cc-by-4.0, "
            "cc0-1.0, mit or unknown (https://huggingface.co/docs/hub/repositories-licenses)"
        )


def report_labels(path: Path, labels: Sequence[str], problem: str, remedy: str) -> None:
    """Report labels that may be wrong, if there are some."""
    if labels:
        report(f"{path}: {problem}: {list_three(labels)}; {remedy}")


def report_missing(path: Path, labels: Mapping[tuple[str, str], tuple[str, int]]) -> None:
    """Report labels that may be what a program writes for a missing value."""
    doubtful = [f"{x} (line {line})" for x, line in labels.values() if MISSING.fullmatch(x)]
    report_labels(path, doubtful, "labels, not missing values", "otherwise empty these cells")


def list_three(names: Sequence[str]) -> str:
    """List at most three names, and the number of the others."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")


def add_label(
    labels: dict[tuple[str, str], tuple[str, int]], row: Line, key: tuple[str, str], label: str
) -> None:
    """Add the label of (language, entity) with its line; PolyprobeError if it has another one."""
    before, line = labels.setdefault(key, (label, row.number))
    if fold(before) != fold(label):
        language, entity = key
        raise row.fail(
            f"{entity!r} is {label!r} in '{language}', but {before!r} in line {line}; correct one "
            "of them, or give different entities different ids"
        )


def read_table_lines(
    path: Path, fixed: Sequence[str], roles: Sequence[str], expected: str
) -> tuple[list[Line], tuple[str, ...]]:
    """Return the rows of a CSV or TSV file that are not blank, and the languages of its columns.

    The first of the `fixed` columns is needed, and ROLE_LANG of each role but the OPTIONAL ones.
    """
    lines = split_cells(path, read_user_text(path))
    columns, languages = [], dict[str, None]()
    for cell in next(lines, (1, []))[1]:
        name = cell.strip().casefold()
        role, _, rest = name.partition("_")
        if role in roles and rest and name not in fixed:
            language = read_language(rest, f"{path}: column {cell.strip()!r}")
            languages[language] = None
            name = f"{role}_{language}"
        columns.append(name)
    for name, count in Counter(columns).items():
        if name and count > 1:
            raise PolyprobeError(f"{path} has {count} columns {name!r}; rename or delete one")
    required = [f"{x}_{lang}" for lang in languages or ["en"] for x in roles if x not in OPTIONAL]
    if missing := [name for name in (fixed[0], *required) if name not in columns]:
        names = ", ".join(filter(None, columns))[:200] or "none"
        raise PolyprobeError(f"{path} has no column {missing[0]!r}; {expected}; found: {names}")
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
    return rows, tuple(languages)


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


def read_language(text: str, place: str) -> str:
    """Return a language code with hyphens, in lower case; PolyprobeError for another text."""
    code = text.casefold().replace("_", "-")
    if not _LANGUAGE.fullmatch(code):
        raise PolyprobeError(f"{place}: {text!r} is not a language code such as en or zh-hans")
    return code
