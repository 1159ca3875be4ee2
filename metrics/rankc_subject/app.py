"""The Space of centred RankC: two scores of each candidate in each language as input."""

from collections.abc import Sequence
from itertools import combinations
from types import ModuleType

import numpy as np

from polyprobe.metrics.shared.ranks import WEIGHTS
from polyprobe.metrics.shared.rows import TIES
from polyprobe.metrics.space.entries import Output, list_figure, view_pairs
from polyprobe.metrics.space.languages import need_run, read_aligned
from polyprobe.metrics.space.page import make_page
from polyprobe.metrics.space.sheet import Sheets, need

DONOR = " donor"
DONOR_ANSWERS = f"right{DONOR}"  # 1 for the candidates that are answers of the donor
_SHARED = ("query", "candidate", "right", "answers")


def compute(module: ModuleType, sheets: Sheets, weights: str, ties: str) -> Output:
    """Compute centred RankC, its parts, floor and terms, of all pairs of languages and of each."""
    tables, donor_tables = split(sheets)
    (rows, right, relations, clusters), donors = map(read_aligned, (tables, donor_tables))
    answers, marks = next(iter(right.values()), None), donors.rows.pop(DONOR_ANSWERS, None)
    table = next(iter(tables.values()))
    donor_answers = table.get("donor_answers")
    if marks is not None:
        donor_answers = [np.flatnonzero(row).tolist() for row in marks]
    facts = table.get("fact_id")
    if facts and any(table.get("donor", [])):
        ids = [x or fact for x, fact in zip(table["donor"], facts, strict=True)]
        clusters = module.link_units(*take_subjects(facts, ids))
    options = relations, facts, weights, ties
    terms = module.compare_questions(rows, donors.rows, answers, donor_answers, *options)
    pairs, lists = [*combinations(rows, 2)], []
    for name in [*(module.RATIOS if answers else [*module.RATIOS][:1]), *module.MEANS]:
        mask = module.RATIOS[name](terms)[1] if name in module.RATIOS else terms.counted
        levels = [0.0 if name == "rankc_subject" else None] * len(pairs)
        defined = np.repeat(mask[:, None], len(pairs), axis=1)
        figure = module.find_terms(name, terms)
        lists.append(list_figure(figure, pairs, name, defined, levels, clusters=clusters))
    [p] = module.flip_signs(terms.interaction.mean(axis=1)[:, None], clusters, 1000)
    notes = [f"Sign-flip test of the mean R − 2P + Q of all pairs: p = {p:.2g}."]
    if lists[0][0].value is None:
        notes.append("Centred RankC is not defined: 1 − 2P + Q is not above .005.")
    return Output([entry for entries in zip(*lists, strict=True) for entry in entries], notes)


def split(sheets: Sheets) -> tuple[Sheets, Sheets]:
    """Split tables into the sentences' and the donors'; rows without a donor are left out."""
    if len(sheets) == 1 and not any("scores" in sheet for sheet in sheets.values()):
        [(file, sheet)] = sheets.items()
        table = {name: cells for name, cells in sheet.items() if not name.endswith(DONOR)}
        languages = [name for name in table if name not in _SHARED]
        need(sheet, *(name + DONOR for name in languages))
        donors = {name: sheet[name + DONOR] for name in languages}
        shared = {x: sheet[x] for x in ("query", "candidate", DONOR_ANSWERS) if x in sheet}
        return {file: table}, {file: shared | donors}
    names = ("donor_scores", "donor_answers")
    need_run(sheets, "scores", "answers", *names)
    columns = zip(*(sheet[name] for sheet in sheets.values() for name in names), strict=False)
    places = [place for place, cells in enumerate(columns) if None not in cells]
    if not places:
        raise ValueError("no row has 'donor_scores' in every file; expected a run with donors")
    tables = {
        file: {name: [cells[place] for place in places] for name, cells in sheet.items()}
        for file, sheet in sheets.items()
    }
    return tables, {file: {**x, "scores": x["donor_scores"]} for file, x in tables.items()}


def take_subjects(*columns: Sequence[str]) -> list[list[str]]:
    """Take the subjects of fact ids as P36:Q142:Q90; other ids are the facts themselves.

    >>> take_subjects(["P36:Q142:Q90"], ["P36:Q38:Q220"])
    [['Q142'], ['Q38']]
    """
    parts = [[fact.split(":") for fact in column] for column in columns]
    complete = all(len(x) == 3 for column in parts for x in column)
    return [[x[1] for x in column] for column in parts] if complete else [[*x] for x in columns]


CHOICES = {"weights": [*WEIGHTS], "ties": TIES}
PAGE = make_page(__file__, "rankc_subject", compute, view_pairs, CHOICES, several=True)
