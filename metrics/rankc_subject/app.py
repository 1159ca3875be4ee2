"""The Space of subject-corrected RankC: two scores of each candidate in each language as input."""

from itertools import combinations

import numpy as np

from polyprobe.metrics.space.entries import Output, list_figure, list_means
from polyprobe.metrics.space.languages import need_run, read_aligned
from polyprobe.metrics.space.page import Page, load_formulas, serve
from polyprobe.metrics.space.sheet import Sheets, need
from polyprobe.metrics.space.views import view_pairs

DONOR = " donor"
_SHARED = ("query", "candidate", "right", "answers")
WEIGHTS = ["softmax", "norm1", "norm2", "norm1-released", "norm2-released"]
EXAMPLES = {
    "the card's": """\
query,candidate,English,English donor,Spanish,Spanish donor
Capital of Kenya,Nairobi,-0.5,-2.5,-0.4,-2.0
Capital of Kenya,Mombasa,-1.5,-1.0,-2.8,-1.5
Capital of Kenya,Kisumu,-3.0,-2.0,-1.9,-3.1
Language of Peru,Spanish,-0.2,-0.9,-0.3,-0.6
Language of Peru,Finnish,-2.2,-0.5,-3.5,-2.0
""",
    "the subject is ignored": """\
query,candidate,English,English donor,Spanish,Spanish donor
Capital of Kenya,Nairobi,3,3,2,2
Capital of Kenya,Mombasa,2,2,3,3
Capital of Kenya,Kisumu,1,1,1,1
Language of Peru,Spanish,2,2,2,2
Language of Peru,Finnish,1,1,1,1
""",
}
QUESTION = """\
How much of the consistency of two languages depends on the subject of the question? Enter one line
for each candidate: `query`, `candidate`, then two columns for each language: its scores, and under
the same name with `donor` (`English`, `English donor`) the scores of the same candidates in the
sentence about another subject. JSON with one list of scores for each query is accepted, and so are
the files `scores/LANG.parquet` of a polyprobe run, uploaded together.
"""
READING = """\
`rankc_subject` is `(R − P) / (1 − P)`: R is RankC, P is RankC with the other subject in one of the
two languages (`rankc_donor`). **0** is the value of a model that ranks the candidates alike
whatever the subject, **1** that of equal rankings that another subject does not give. It is
negative where the subject matters in one language only. The interval comes from resampled queries.
"""


def compute(sheets: Sheets, weights: str = "softmax", ties: str = "expected") -> Output:
    """Compute the corrected RankC, R, P and R - P of all pairs of languages and of each."""
    module = load_formulas(__file__, "rankc_subject")
    scores, donors = map(read_aligned, split(sheets))
    pairs, clusters = [*combinations(scores.rows, 2)], scores.clusters
    values = [
        module.rankc_subject_per_query(
            scores.rows[a], scores.rows[b], donors.rows[a], donors.rows[b], weights, ties
        )
        for a, b in pairs
    ]
    first, second = (np.column_stack(of_pairs) for of_pairs in zip(*values, strict=True))
    every: np.ndarray = np.ones(len(first), dtype=bool)
    figure = module.find_rankc_subject([*scores.rows], first, second, every)
    defined, zeros = np.ones(first.shape, dtype=bool), [0.0] * len(pairs)
    title, unknown = "all pairs", [None] * len(pairs)
    entries = [
        list_figure(figure, pairs, title, "rankc_subject", defined, zeros, clusters=clusters),
        list_means(pairs, title, "rankc", first, unknown, share=True, clusters=clusters),
        list_means(pairs, title, "rankc_donor", second, unknown, share=True, clusters=clusters),
        list_means(
            pairs, title, "difference", first - second, zeros, share=False, clusters=clusters
        ),
    ]
    [p] = module.flip_signs((first - second).mean(axis=1)[:, None], clusters, 1000)
    note = f"Sign-flip test of the mean difference of all pairs: p = {p:.2g}."
    return Output([entry for group in zip(*entries, strict=True) for entry in group], [note])


def split(sheets: Sheets) -> tuple[Sheets, Sheets]:
    """Split tables into those of the sentences and the donors', both as `read_aligned` takes them.

    The rows of a run without a donor are left out.
    """
    if len(sheets) > 1 or any("scores" in sheet for sheet in sheets.values()):
        return _split_run(sheets)
    [(file, sheet)] = sheets.items()
    table = {name: cells for name, cells in sheet.items() if not name.endswith(DONOR)}
    shared = {name: table[name] for name in table if name in _SHARED}
    languages = [name for name in table if name not in _SHARED]
    need(sheet, *(name + DONOR for name in languages))
    return {file: table}, {file: shared | {name: sheet[name + DONOR] for name in languages}}


def _split_run(sheets: Sheets) -> tuple[Sheets, Sheets]:
    need_run(sheets, "scores", "answers", "donor_scores")
    columns = zip(*(sheet["donor_scores"] for sheet in sheets.values()), strict=False)
    rows = [row for row, cells in enumerate(columns) if None not in cells]
    if not rows:
        raise ValueError("no row has 'donor_scores' in every file; expected a run with donors")
    tables = {
        file: {name: [cells[row] for row in rows] for name, cells in sheet.items()}
        for file, sheet in sheets.items()
    }
    return tables, {file: {**x, "scores": x["donor_scores"]} for file, x in tables.items()}


PAGE = Page(
    title="Subject-corrected RankC",
    question=QUESTION,
    reading=READING,
    examples=EXAMPLES,
    compute=compute,
    view=view_pairs,
    choices={"weights": WEIGHTS, "ties": ["expected", "released"]},
    several=True,
)


if __name__ == "__main__":
    serve(PAGE)
