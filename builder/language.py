"""Add a language by a contributor's files to a dataset, and write the files to fill in.

The language has the rows, candidates and ids of the others. A row that the files do not complete is
left out in all languages.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from polyprobe.schema.columns import ANSWER_IN_SUBJECT, Row, key_rows, split_name, to_table
from polyprobe.system.files import write_text
from polyprobe.system.messages import PolyprobeError, check_ending, report
from polyprobe.system.options import check_arguments

from .audit.checks import CHECKS, make_splits
from .facts import SUBJECT, files
from .facts.truths import occurs
from .output.folder import render_text
from .recipes import RECIPES, choose_configs, load_recipe

HELP = ("en", "es", "fr")  # languages whose labels are beside the cells to fill in
Tables = Mapping[str, pa.Table]
Question = dict[str, Any]  # a row, and the `number` of its template among those of its fact


def add_language(
    name: str, tables: Tables, added: files.Addition
) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """Return {language: rows} with one more, and notes on it; report the rows that are left out.

    The k-th template of a relation is for the k-th row of a fact. `name` is the dataset's, for
    messages. PolyprobeError for a language that it has, rows without ids, or no complete row.
    """
    questions = read_questions(name, tables, added.language)
    names = name_entities(questions)
    zeros = {x.lstrip("0"): x for x in names if x.startswith("0")}  # Excel cuts them
    added = added._replace(labels={zeros.get(x, x): y for x, y in added.labels.items()})
    expected = names.keys() | {question["relation"] for question in questions}
    if strangers := [x for x in (*added.labels, *added.templates) if x not in expected]:
        report(f"{len(strangers):,} ids are not in {name}: {files.list_three(strangers)}")
    rows, lacks = phrase(questions, added)
    english = tables.get("en", next(iter(tables.values())))
    if rows:
        for place, reason in find_defects(english, rows, added.language).items():
            lacks[reason].append(rows.pop(place)["fact_id"])
    for reason, ids in lacks.items():
        details = [f"{x} {names.get(x, '')}".strip() for x, _ in Counter(ids).most_common()]
        report(f"{name}: {len(ids):,} rows left out, {reason}: {files.list_three(details)}")
    if not rows:
        raise PolyprobeError(f"{' and '.join(added.files)} complete no row of {name}; fill in more")
    result = {language: table.take([*rows]) for language, table in tables.items()}
    result[added.language] = pa.Table.from_pylist([*rows.values()], english.schema)
    if "flags" in english.column_names:
        place, flags = english.column_names.index("flags"), result[added.language]["flags"]
        result = {x: table.set_column(place, "flags", flags) for x, table in result.items()}
    counts = (f"{len(added.labels):,}", f"{len(rows):,} of {len(questions):,}")
    report(f"{name}-{added.language}: {counts[1]} rows")
    cells = (added.language, *counts, added.licence, added.contributor)
    return result, {"rows": len(rows), "language": cells, "files": added.files}


def read_questions(name: str, tables: Tables, language: str) -> list[Question]:
    """Return the rows of English, or else of the first language; refuse what cannot be added."""
    questions = tables.get("en", next(iter(tables.values()))).to_pylist()
    if split_name(language) in map(split_name, tables):
        raise PolyprobeError(
            f"{name} has '{language}' already; choose a configuration without it, or another code"
        )
    has_ids = all(row["subject_id"] and row["candidate_ids"] for row in questions)
    if not has_ids or {*questions[0]} - {*Row._fields}:
        text = f"{name} has rows without ids, or with texts that files do not give; choose another"
        raise PolyprobeError(text)
    numbers = [number for _, number in key_rows([row["fact_id"] for row in questions])]
    return [row | {"number": x} for row, x in zip(questions, numbers, strict=True)]


def name_entities(rows: Sequence[Question]) -> dict[str, str]:
    """Return {id: label} of the candidates and subjects of rows."""
    names: dict[str, str] = {}
    for row in rows:
        names |= zip(row["candidate_ids"], row["candidates"], strict=True)
        names[row["subject_id"]] = row["subject"]
    return names


def phrase(
    questions: Sequence[Question], added: files.Addition
) -> tuple[dict[int, Question], dict[str, list[str]]]:
    """Return {place: row} in the added language, and for other rows {reason: what they lack}."""
    rows: dict[int, Question] = {}
    lacks: dict[str, list[str]] = defaultdict(list)
    for place, row in enumerate(questions):
        templates = added.templates.get(row["relation"], [])[row["number"] :]
        ids = [row["subject_id"], *row["candidate_ids"]]
        gaps = [x for x in ids if x not in added.labels]
        if gaps or not templates:
            reason = "no label" if templates else "no template"
            lacks[reason].append(gaps[0] if templates else row["relation"])
            continue
        [subject, *_], *candidates = (added.labels[x] for x in ids)
        forms = [*dict.fromkeys(chain(*(candidates[index] for index in row["answers"])))]
        inside = [ANSWER_IN_SUBJECT] * any(occurs(form, subject) for form in forms)
        rows[place] = row | {
            "subject": subject,
            "prompt": templates[0].replace(SUBJECT, subject),
            "candidates": [texts[0] for texts in candidates],
            "answer_forms": forms,
            "template_id": f"{added.language}:{row['relation']}:{row['number']}",
            "repairs": [],  # of published rows
            "flags": sorted({*row.get("flags", ()), *inside}),
        }
    return rows, lacks


def find_defects(english: pa.Table, rows: Mapping[int, Question], language: str) -> dict[int, str]:
    """Return {place of a row: what the audit finds in it, and not in the same row of English}."""
    table = pa.Table.from_pylist([*rows.values()], english.schema)
    splits = make_splits({"en": english.take([*rows]), language: table}, language).values()
    defects: dict[int, str] = {}
    for check in CHECKS.values():
        marks = zip(rows, *(check.find(split, split) for split in splits), strict=True)
        defects |= {place: check.heading for place, before, after in marks if after > before}
    if "flags" not in english.column_names:
        defects |= {x: "answer in the subject" for x, row in rows.items() if row["flags"]}
    return defects


def load_tables(dataset: str, config: str | None, mirror: Path | None) -> dict[str, pa.Table]:
    """Return {language: rows} of a configuration of a folder or of a recipe."""
    if dataset in RECIPES and config:
        parts = load_recipe(dataset).build(config, mirror)
    else:
        from polyprobe.schema.load import read_splits  # its import takes seconds

        parts = read_splits(dataset, config)
    return {code: to_table(part) for code, part in parts.items()}


@check_arguments
def build_sheet(
    dataset: str, language: str, output: Path, config: str | None = None, mirror: Path | None = None
) -> str:
    """Write the labels of a language to fill in (CSV), and templates beside them (TOML).

    Files that exist stay as they are. Return a line on how much is filled in. `dataset` is a folder
    or the name of a recipe, whose `config` (default: its own) lacks the language.
    """
    language, file = files.read_language(language, "--language"), output.with_suffix(".toml")
    check_ending("--output", output, (".csv",))
    if dataset in RECIPES:
        [config] = choose_configs(dataset, [config or load_recipe(dataset).DEFAULT_CONFIG])
    tables = load_tables(dataset, config, mirror)
    questions = read_questions(f"{dataset}/{config or 'default'}", tables, language)
    pools: dict[str, set[str]] = defaultdict(set)
    for row in questions:
        pools[row["relation"]].update(row["candidate_ids"])
    # Relations with few candidates first: whoever fills in from the top completes rows soon.
    questions.sort(key=lambda row: (len(pools[row["relation"]]), row["relation"]))
    ids = dict.fromkeys(x for row in questions for x in (*row["candidate_ids"], row["subject_id"]))
    if not output.exists():
        helps = {x: name_entities(tables[x].to_pylist()) for x in HELP if x in tables}
        cells: dict[str, Any] = {x: [names[i] for i in ids] for x, names in helps.items()}
        cells |= dict.fromkeys((f"label_{language}", f"forms_{language}"))
        # Excel reads UTF-8 with this mark only.
        write_text(output, "\ufeff" + pl.DataFrame({"id": [*ids], **cells}).write_csv())
    if not file.exists():
        relations = dict.fromkeys(row["relation"] for row in questions)
        values = {"language": language, "questions": questions, "relations": relations}
        write_text(file, render_text(__package__, "language.txt", **values))
    added = files.read_addition(output, file)
    if not added or added.language != language:
        raise PolyprobeError(f"{output} is not for '{language}'; choose another --output")
    return (
        f"{output}: {len(added.labels):,} of {len(ids):,} labels; "
        f"{file}: {sum(map(bool, added.templates.values()))} of {len(pools)} relations; "
        f"{len(phrase(questions, added)[0]):,} of {len(questions):,} rows complete"
    )
