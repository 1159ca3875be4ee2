"""The Space of subject-corrected RankC: two scores of each candidate in each language as input."""

from itertools import combinations
from types import ModuleType

import numpy as np

from polyprobe.metrics.shared.ranks import WEIGHTS
from polyprobe.metrics.shared.rows import TIES
from polyprobe.metrics.space.entries import Output, list_figure, list_pairs
from polyprobe.metrics.space.languages import need_run, read_aligned
from polyprobe.metrics.space.page import make_page, serve
from polyprobe.metrics.space.sheet import Sheets, need
from polyprobe.metrics.space.views import view_pairs

DONOR = " donor"
_SHARED = ("query", "candidate", "right", "answers")


def compute(
    module: ModuleType, sheets: Sheets, weights: str = "softmax", ties: str = "expected"
) -> Output:
    """Compute the corrected RankC, R, P and R - P of all pairs of languages and of each."""
    (rows, _, _, clusters), (donors, *_) = map(read_aligned, split(sheets))
    pairs = [*combinations(rows, 2)]
    values = [
        module.rankc_subject_per_query(rows[a], rows[b], donors[a], donors[b], weights, ties)
        for a, b in pairs
    ]
    first, second = (np.column_stack(of_pairs) for of_pairs in zip(*values, strict=True))
    defined = np.ones(first.shape, dtype=bool)
    figure = module.find_rankc_subject([*rows], first, second, defined[:, 0])
    zeros, name = [0.0] * len(pairs), "rankc_subject"
    corrected = list_figure(figure, pairs, name, defined, zeros, clusters=clusters)
    measures = [
        ("rankc", first, None, True),
        ("rankc_donor", second, None, True),
        ("difference", first - second, 0.0, False),
    ]
    [p] = module.flip_signs((first - second).mean(axis=1)[:, None], clusters, 1000)
    note = f"Sign-flip test of the mean difference of all pairs: p = {p:.2g}."
    return Output(list_pairs([*rows], measures, clusters, corrected), [note])


def split(sheets: Sheets) -> tuple[Sheets, Sheets]:
    """Split tables into the sentences' and the donors'; rows without a donor are left out."""
    if len(sheets) == 1 and not any("scores" in sheet for sheet in sheets.values()):
        [(file, sheet)] = sheets.items()
        table = {name: cells for name, cells in sheet.items() if not name.endswith(DONOR)}
        languages = [name for name in table if name not in _SHARED]
        need(sheet, *(name + DONOR for name in languages))
        donors = {name: sheet[name + DONOR] for name in languages}
        return {file: table}, {file: table | donors}
    need_run(sheets, "scores", "answers", "donor_scores")
    columns = zip(*(sheet["donor_scores"] for sheet in sheets.values()), strict=False)
    places = [place for place, cells in enumerate(columns) if None not in cells]
    if not places:
        raise ValueError("no row has 'donor_scores' in every file; expected a run with donors")
    tables = {
        file: {name: [cells[place] for place in places] for name, cells in sheet.items()}
        for file, sheet in sheets.items()
    }
    return tables, {file: {**x, "scores": x["donor_scores"]} for file, x in tables.items()}


CHOICES = {"weights": [*WEIGHTS], "ties": TIES}
PAGE = make_page(__file__, "rankc_subject", compute, view_pairs, CHOICES, several=True)

if __name__ == "__main__":
    serve(PAGE)
