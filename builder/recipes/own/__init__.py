"""Build a dataset from a user's own facts (CSV or TSV) and templates (TOML): a balanced set.

The facts have one row for each fact. Columns: `relation`, `subject_LANG` and `object_LANG` for each
language, and optionally `subject_id` and `object_id`. An entity without an id is identified by its
first label in the order of the columns.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import polars as pl

from polyprobe.builder.facts import FACTS, LABELS, SUBJECT, TEMPLATES, Facts, files
from polyprobe.builder.facts.labels import fold, mend
from polyprobe.builder.recipes import OWN
from polyprobe.builder.recipes.balanced import Balanced, balance, describe, dump
from polyprobe.builder.recipes.balanced.material import Provenance, assemble
from polyprobe.builder.recipes.requests import BalancedRequest, OwnRequest
from polyprobe.schema.columns import SLOT
from polyprobe.schema.languages import refuse_languages
from polyprobe.system.files import hash_files
from polyprobe.system.messages import PolyprobeError, refuse_unknown, report

__all__ = ["DEFAULT_CONFIG", "describe", "dump", "make"]

DEFAULT_CONFIG = "default"
ROLES = ("subject", "object")
FIXED = ("relation", "subject_id", "object_id")
EXPECTED = "expected relation, subject_en, object_en, subject_fr, object_fr, …"
REPEATED = "rows repeat a fact"


def make(request: OwnRequest) -> Balanced:
    """Return the balanced set of the facts that have labels and a template in all languages."""
    files.check_licence("--licence", request.licence)
    templates = files.read_template_tables(request.templates)
    content, languages = read_own_facts(request.facts, templates)
    request = replace(request, languages=check_languages(request, languages, templates))
    draw = BalancedRequest(OWN, request.languages, request.candidates, seed=request.seed)
    material = assemble(draw, content, pl.DataFrame(schema=TEMPLATES), languages)
    roles = {"facts": request.facts, "sentences": request.templates}
    sources = tuple(
        Provenance(path.name, role, "", hash_files([("", path)]), request.licence)
        for role, path in roles.items()
    )
    try:
        rows, notes = balance(draw, material._replace(sources=sources))
    except PolyprobeError as error:
        raise PolyprobeError(f"{request.facts}: {error}") from error
    largest: dict[str, int] = {}
    for row in rows[request.languages[0]]:
        largest[row.relation] = max(largest.get(row.relation, 0), len(row.candidates))
    minimum = request.candidates
    small = [f"{relation} {size}" for relation, size in largest.items() if size < minimum]
    if small:
        report(f"fewer than {minimum} candidates, for lack of objects: at most {', '.join(small)}")
    card = {"license": request.licence, "relations": templates.names}
    return Balanced(rows, notes._replace(config=DEFAULT_CONFIG, command=request.command, card=card))


def check_languages(
    request: OwnRequest, available: Sequence[str], templates: files.TemplateTables
) -> tuple[str, ...]:
    """Return the requested languages, by default all; refuse fewer than two, or any mute one."""
    refuse_languages(request.languages, str(request.facts), available)
    languages = request.languages or tuple(available)
    if len(languages) < 2:
        raise PolyprobeError(
            f"{request.facts}: one language, {languages[0]}; consistency needs two or more: add "
            "the columns subject_LANG and object_LANG of another language"
            + (", or name more --languages" if len(available) > 1 else "")
        )
    worded = {language for of_relation in templates.texts.values() for language in of_relation}
    for language in languages:
        if language not in worded:
            base = language.partition("-")[0]
            alike = [x for x in sorted(worded) if x.split("-")[0] == base and x not in languages]
            hint = f"; did you mean '{alike[0]}'? name both alike" if alike else ""
            raise PolyprobeError(
                f"{request.templates} has no template in '{language}'{hint}; add one to each "
                "relation, or leave the language out with --languages"
            )
    return languages


def read_own_facts(path: Path, templates: files.TemplateTables) -> tuple[Facts, tuple[str, ...]]:
    """Read the facts of a table with their templates, and the languages of its columns."""
    # A fact that several rows repeat counts once. Labels are cleaned (`labels.mend`) and compared
    # by `fold`. `repairs` counts repeated rows and changed labels.
    rows, languages = files.read_table_lines(path, FIXED, ROLES, EXPECTED)
    columns = [x for x in (rows[0].cells if rows else ()) if x and x not in FIXED]
    if ignored := [x for x in columns if x.partition("_")[0] not in ROLES]:
        report(f"{path}: ignored columns: {', '.join(ignored)}")
    facts: Counter[tuple[str, ...]] = Counter()
    labels: dict[tuple[str, str], tuple[str, int]] = {}  # with the line of the first one
    changed = set()
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
            if label != text:
                changed.add((language, text))
            if label:
                files.add_label(labels, row, (language, entity), label)
    files.report_missing(path, labels)
    if not facts:
        raise PolyprobeError(f"{path} has no facts below its header; add a row for each fact")
    repairs = {REPEATED: facts.total() - len(facts), files.CLEANED: len(changed)}
    names = sorted((*key, label) for key, (label, _) in labels.items())
    counts = {name: count for name, count in repairs.items() if count}
    triples = pl.DataFrame(sorted(facts), FACTS, orient="row")
    names_of_ids = pl.DataFrame(names, LABELS, orient="row")
    wordings = select_templates(templates.texts, languages)
    return Facts(triples, names_of_ids, counts, templates=wordings), languages


def select_templates(
    texts: Mapping[str, Mapping[str, Sequence[str]]], languages: Sequence[str]
) -> pl.DataFrame:
    """Return the templates in the languages of the facts (TEMPLATES); report other languages."""
    rows = [
        (language, relation, f"own:{relation}:0", text)
        for relation, part in texts.items()
        for language, [text] in part.items()
    ]
    if unused := sorted({language for language, *_ in rows} - set(languages)):
        report(f"templates not used, since the facts have no labels in {', '.join(unused)}")
    part = sorted(row for row in rows if row[0] in languages)
    return pl.DataFrame(part, TEMPLATES, orient="row")


def identify_end(row: files.Line, role: str, languages: Sequence[str]) -> str:
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
