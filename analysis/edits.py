"""Measure in which languages an edit arrives (Qi et al. 2023, section 7), from an `edits.json`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import rankdata

from polyprobe.metrics.joint.relate import relate_within
from polyprobe.metrics.shared import intervals
from polyprobe.system.messages import PolyprobeError

OTHERS = "others"
_UNBOUND = ("fall", "rank_before", "rank_after")  # no shares
_EMPTY = dict.fromkeys(("before", "after"), dict.fromkeys(("right", "target", "rank"), np.nan))


def summarize_edits(edits: Mapping[str, Any]) -> dict[str, Any]:
    """Compute the effect of the edits by language, and whether it follows consistency.

    Returns:
        `figures`: by language, and of the mean of the languages but the source (`others`, if there
        are several), means over facts with intervals (NAME_ci; facts of one subject are drawn
        together), None if no fact has them:
        `right_before`: p(right) / (p(right) + p(target)), as in tables 3 and 8; `right_after`;
        the same of `target`, `neighbours`, `paraphrases`; `rank_before`, `rank_after` of the
        target; `fall`: right_before - right_after; `flipped`: how often it falls below one half.
        `shares`: [before, after] of each fact by language. `correlation`: see `_correlate`.
    """
    facts, languages, consistency = edits["facts"], edits["languages"], edits.get("consistency")
    if not facts:
        raise PolyprobeError("no fact is edited yet; repeat the command")
    subjects, names = [fact["subject"] for fact in facts], [*_measure(_EMPTY)]
    rows = ([_measure(fact["languages"].get(x, _EMPTY)) for x in languages] for fact in facts)
    table = np.array([[[*values.values()] for values in row] for row in rows], dtype=np.float64)
    tables = dict(zip(languages, table.swapaxes(0, 1), strict=True))  # each [facts, names]
    shares = {x: np.where(np.isnan(y[:, :2]), None, y[:, :2]).tolist() for x, y in tables.items()}
    targets = [place for place, x in enumerate(languages) if x != edits["source"]]
    if len(targets) > 1:
        n = (~np.isnan(table[:, targets])).sum(axis=1)
        tables[OTHERS] = intervals.divide_by(np.nansum(table[:, targets], axis=1), n)
    figures = {}
    for language, columns in tables.items():
        values = zip(names, columns.T, strict=True)
        measures = {x: y if x in _UNBOUND else intervals.share(y) for x, y in values}
        figures[language] = intervals.summarize(measures, clusters=subjects)
    levels = np.array([(consistency or {}).get(x) for x in languages], dtype=np.float64)[targets]
    correlation = _correlate(table[:, targets, names.index("fall")], levels, subjects)
    return {"figures": figures, "shares": shares, "correlation": correlation}


def _measure(texts: Mapping[str, Any]) -> dict[str, Any]:
    """Compute the figures of one fact in a language, shares of the right answer first."""
    before, after = (expit(texts[side]["right"] - texts[side]["target"]) for side in _EMPTY)
    flipped = np.nan if np.isnan(before - after) else after < 0.5 <= before
    values = {"right_before": before, "right_after": after, "fall": before - after}
    values |= {"flipped": flipped, "target_before": 1 - before, "target_after": 1 - after}
    for side in _EMPTY:
        values[f"rank_{side}"] = texts[side]["rank"]
        for name in ("neighbours", "paraphrases"):
            pairs = np.array(texts.get(name, {}).get(side) or [[np.nan, np.nan]])
            values[f"{name}_{side}"] = expit(pairs[:, 0] - pairs[:, 1]).mean()
    return values


def _correlate(falls: np.ndarray, levels: np.ndarray, subjects: Sequence[str]) -> dict[str, Any]:
    """Correlate falls [facts, L] with consistency [L] over `n` points: `pearson`, `spearman`."""
    fact, language = np.nonzero(~np.isnan(falls + levels))
    points = np.stack([falls[fact, language], levels[language]])
    result: dict[str, Any] = {"n": len(fact)}
    if len(fact) and np.ptp(points, axis=1).all():
        clusters = [subjects[place] for place in fact.tolist()]
        for name, (x, y) in {"pearson": points, "spearman": rankdata(points, axis=1)}.items():
            figure = relate_within(x[:, None], y[:, None], np.zeros_like(fact))
            values = intervals.estimate_figure(figure, clusters=clusters)
            result |= {name: values["r"], f"{name}_ci": values["r_ci"]}
    return result
