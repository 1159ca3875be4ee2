"""Compare a run on templates with the run on their sentence twin: what good wording gives.

The configuration `NAME-sentence` holds the facts and candidates of `NAME` in sentences that were
translated whole (Semenov and Sennrich 2025). All differences are sentence - template.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from polyprobe.eval.compare.runs import match_runs
from polyprobe.eval.results.facts import read_clusters
from polyprobe.eval.run.folder import Run
from polyprobe.metrics.joint.averages import Averages
from polyprobe.system.errors import PolyprobeError

from .gender import Feminine, measure_feminine, read_females
from .inflection import Inflection, measure_inflection
from .quality import Comet, Overlap, Quality, measure_overlap, measure_quality
from .ranks import Box, compare_ranks, draw_boxes, read_ranks
from .texts import ENGLISH, Texts, asks_whole_relations, load_texts

SUFFIX = "-sentence"
Measure = Callable[[Texts], Any]


class Twins(NamedTuple):
    """Two runs of which the second was asked in sentences what the first was in templates."""

    template: Run
    sentence: Run


class Wanted(NamedTuple):
    """What is asked for beside the figures that need nothing but the runs and their datasets.

    Attributes:
        gender: a TSV file of entity ids and `female`, `male` or `none`; None: no feminine forms.
        stanza: folder of Stanza's models, None for its own.
        comet: the Python and model of COMET; None for no quality estimation.
    """

    gender: Path | None = None
    stanza: Path | None = None
    comet: Comet | None = None


class TwinComparison(NamedTuple):
    """What sentences change; differences are sentence - template.

    Attributes:
        languages: those that both runs have.
        left_out_languages: those that only one has.
        n_queries: rows that both have.
        left_out: rows that only the sentence run, only the template run has.
        ranks: recall@1 … recall@10 and mean_rank, {macro, micro: a row a language, `mean` last}.
        boxes: five numbers and mean of the best ranks by language, sentence before template.
        inflection, feminine, overlap, quality: None where they cannot be had; `notes` says why.
        notes: what a reader must know, a line each.
        failures: what was asked for and failed, a line each, with the remedy.
    """

    languages: list[str]
    left_out_languages: list[str]
    n_queries: int
    left_out: tuple[int, int]
    ranks: dict[str, Averages]
    boxes: dict[str, tuple[Box, Box]]
    inflection: Inflection | None
    feminine: Feminine | None
    overlap: Overlap | None
    quality: Quality | None
    notes: list[str]
    failures: list[str]


def find_twins(first: Run, second: Run) -> Twins | None:
    """Return the two runs as template and sentence, whichever comes first; None if they are not.

    Twins have datasets of one name, and configurations of which one is the other and `-sentence`.
    """
    names = [run.settings().data_name for run in (first, second)]
    if names[1] == names[0] + SUFFIX:
        return Twins(first, second)
    return Twins(second, first) if names[0] == names[1] + SUFFIX else None


NOTHING = Wanted()


def compare_twins(
    twins: Twins, wanted: Wanted = NOTHING, *, clusters: str = "none", **options: Any
) -> TwinComparison:
    """Return what the sentence twin changes; options as in `compare.compare_runs`.

    What needs the texts is left out where a dataset is gone or has changed, and what was asked for
    and failed (stanza, COMET) is left out while the rest is kept: `notes` and `failures` say so.

    Raises:
        PolyprobeError: runs that cannot be compared at all, or a gender file that is none.
    """
    females = read_females(wanted.gender) if wanted.gender else None
    matched = match_runs(twins.sentence, twins.template)
    first = next(iter(matched.tables[0].values()))
    paired = {
        **options,
        "relations": first["relation"].to_pylist(),
        "clusters": read_clusters(first, clusters),
    }
    one, other = map(read_ranks, matched.tables)
    boxes = (draw_boxes(one), draw_boxes(other))
    asked = list_measures(matched.tables, wanted, females, paired)
    compared = compare_ranks(one, other, paired)
    found, failures = _measure(twins, matched.languages, first["fact_id"].to_pylist(), asked)
    return TwinComparison(
        matched.languages,
        matched.left_out_languages,
        len(first),
        matched.left_out,
        compared,
        {x: (boxes[0][x], boxes[1][x]) for x in matched.languages},
        found.get("inflection delta"),
        found.get("feminine verb forms"),
        found.get("chrF"),
        found.get("QE"),
        [*tell_settings(twins), *tell_missing(found, asks_whole_relations(*twins))],
        failures,
    )


def list_measures(
    tables: tuple[Mapping[str, pa.Table], Mapping[str, pa.Table]],
    wanted: Wanted,
    females: set[str] | None,
    paired: Mapping[str, Any],
) -> dict[str, Measure]:
    """Return by name what can be measured on the texts: always two figures, others if wanted."""
    comet = wanted.comet
    measures: dict[str, Measure] = {
        "inflection delta": lambda texts: measure_inflection(tables, texts, paired),
        "chrF": lambda texts: measure_overlap(texts, paired),
    }
    if females is not None:
        measures["feminine verb forms"] = lambda texts: measure_feminine(
            texts, females, wanted.stanza, paired
        )
    if comet is not None:
        measures["QE"] = lambda texts: measure_quality(texts, comet, paired)
    return measures


def tell_settings(twins: Twins) -> list[str]:
    """Return a line on what else than the wording differs between the runs, if anything does."""
    one, other = (run.settings() for run in twins)
    names = ("model", "revision", "scoring", "bos", "dtype", "sample", "limit")
    differing = [name for name in names if getattr(one, name) != getattr(other, name)]
    if not differing:
        return []
    what = ", ".join(differing)
    return [f"the runs differ in {what} too: the differences are not of wording alone"]


def tell_missing(found: Mapping[str, Any], whole_relations: bool) -> list[str]:
    """Return a line on each figure that could be looked for and is not there, with its count."""
    lines = []
    inflection, feminine, quality = map(
        found.get, ("inflection delta", "feminine verb forms", "QE")
    )
    if inflection and inflection.delta is None:
        lines.append(
            "inflection delta: a run's candidates are all objects of a relation, which of them are "
            "label and form is not known; score both wordings with --scoring object"
            if whole_relations
            else "inflection delta: 0 rows have a label and another form as right candidates"
        )
    if feminine and feminine.share is None:
        lines.append(
            f"feminine verb forms: {feminine.n_facts:,} rows have a female subject, and in no "
            "language do both wordings show a verb with a gender"
        )
    for language, reason in feminine.without_tagger.items() if feminine else ():
        lines.append(f"feminine verb forms: no tagger for '{language}' ({reason})")
    if quality and quality.score is None:
        lines.append(
            f"QE: {quality.n_queries:,} rows with a sentence in a split '{ENGLISH}' of either "
            f"configuration or in a configuration '{ENGLISH}', and a language beside it are needed"
        )
    return lines


def _measure(
    twins: Twins,
    languages: list[str],
    fact_ids: list[str],
    asked: Mapping[str, Measure],
) -> tuple[dict[str, Any], list[str]]:
    """Return by name what could be measured on the texts, and a line for each that could not."""
    found, failures = {}, []
    try:
        texts = load_texts(twins.sentence, twins.template, languages, fact_ids)
    except PolyprobeError as error:
        return {}, [f"{', '.join(asked)}: the texts are not at hand: {error}"]
    for name, measure in asked.items():
        try:
            found[name] = measure(texts)
        except PolyprobeError as error:
            failures.append(f"{name}: {error}")
    return found, failures
