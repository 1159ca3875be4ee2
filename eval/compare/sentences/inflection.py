"""Rank of an answer's inflected form against its label, in both wordings."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from polyprobe.eval.results.facts import masked_scores
from polyprobe.metrics.inflection_delta.inflection_delta import rank_delta
from polyprobe.metrics.joint.significance import Averages, compare_averages
from polyprobe.metrics.recall_at_k.recall_at_k import expected_rank, find_standing
from polyprobe.metrics.shared.intervals import Ratio, take

from .texts import Texts

Tables = Mapping[str, pa.Table]


class Inflection(NamedTuple):
    """Inflection delta, rank(label) - rank(form), of rows in which exactly these are correct.

    Attributes:
        delta: {macro, micro: one row for each language, `mean` last}; None without such rows.
        n_queries: number of such rows by language.
    """

    delta: Averages | None
    n_queries: dict[str, int]


def measure_inflection(
    tables: tuple[Tables, Tables], texts: Texts, paired: Mapping[str, Any]
) -> Inflection:
    """Return the deltas of the sentence run, the template run, and sentence - template.

    Only rows with two correct forms in both wordings count; `paired` is as in `compare_ranks`.
    """
    counts = {x: len(forms) - forms.count(None) for x, forms in texts.forms.items()}
    languages = [language for language, count in counts.items() if count]
    if not languages:
        return Inflection(None, counts)
    marks = np.column_stack([[form is not None for form in texts.forms[x]] for x in languages])
    rows = np.flatnonzero(marks.any(axis=1))
    ratios = []
    for found in tables:
        deltas = [find_deltas(found[x], texts.forms[x]) for x in languages]
        ratios.append(Ratio(np.column_stack(deltas)[rows], marks[rows].astype(float)))
    own = {name: take(paired[name], rows.tolist()) for name in ("relations", "clusters")}
    found = compare_averages(languages, {"delta": (ratios[0], ratios[1])}, **{**paired, **own})
    return Inflection(found["delta"], counts)


def find_deltas(table: pa.Table, forms: Sequence[tuple[int, int] | None]) -> np.ndarray:
    """Return rank(label) - rank(form) of each row, 0 for rows without two forms.

    Ranks are among all candidates, ties in expectation.
    """
    rows = [row for row, form in enumerate(forms) if form]
    pairs = [form for form in forms if form]
    scores = masked_scores(table.take(rows))
    label, form = (
        expected_rank(find_standing(scores, [[pair[which]] for pair in pairs])) for which in (0, 1)
    )
    deltas = np.zeros(len(table))
    deltas[rows] = rank_delta(label, form)
    return deltas
