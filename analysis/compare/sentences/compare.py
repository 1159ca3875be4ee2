"""Compare runs on two wordings of a configuration: the effect of wording.

The configurations `NAME-sentence` and `NAME-chatgpt` hold the facts and candidates of `NAME` in
sentences that were translated whole (Semenov and Sennrich 2025); `NAME-wide`, `NAME-sentence-wide`
and `NAME-chatgpt-wide` have further correct answers. Differences are those of the runs in the given
order.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from polyprobe.analysis.compare.runs import match_runs
from polyprobe.analysis.figures.options import read_clusters
from polyprobe.metrics.joint.significance import Averages, swap_averages
from polyprobe.schema.run.folder import PROMPT
from polyprobe.schema.run.naming import list_differing
from polyprobe.schema.run.rows import ALL_ROWS, Choice
from polyprobe.system.errors import PolyprobeError

from .deltas import (
    Box,
    Inflection,
    Ranks,
    compare_ranks,
    draw_boxes,
    measure_inflection,
    read_ranks,
)
from .gender import (
    VERB_FORMS,
    Feminine,
    Words,
    measure_feminine,
    measure_words,
    read_genders,
    read_verb_forms,
)
from .quality import Comet, Overlap, Quality, measure_overlap, measure_quality
from .relations import RECALL, ByRelation, split_by_relation
from .texts import ENGLISH, WIDE, Texts, Versions, accepts_aliases, asks_whole_relations, load_texts

Measure = Callable[[Texts], Any]


class Wanted(NamedTuple):
    """Measures that need more than the runs and their datasets.

    Attributes:
        gender: a TSV file of entity ids and `female`, `male` or `none`; None: no verb forms.
        verb_forms: a TSV file of verb forms, see `gender.read_verb_forms`.
        stanza: folder of Stanza's models, which find verb forms too; None: not used.
        comet: the Python and model of COMET; None for no quality estimation.
        chrf_on: what chrF compares, of `COMPARED`.
    """

    gender: Path | None = None
    verb_forms: Path = VERB_FORMS
    stanza: Path | None = None
    comet: Comet | None = None
    chrf_on: str = "sentence"


class VersionComparison(NamedTuple):
    """The effect of wording.

    Attributes:
        versions: the runs; pairs of numbers are in the order of its `sides`.
        languages, left_out_languages, n_queries, left_out: as in `runs.Comparison`.
        ranks: recall@1 … recall@10 and mean_rank, {macro, micro: one row for each language, `mean`
            last}.
        boxes: five numbers and mean of the best ranks by language.
        inflection, words, feminine, overlap, quality: None if not measured; `notes` has the reason.
        by_relation: each language's changes by relation, always other - reference.
        notes: notes for the reader, one line each.
        failures: requested measures that failed, one line each, with the remedy.
    """

    versions: Versions
    languages: list[str]
    left_out_languages: list[str]
    n_queries: int
    left_out: tuple[int, int]
    ranks: dict[str, Averages]
    boxes: dict[str, tuple[Box, Box]]
    inflection: Inflection | None
    words: Words | None
    feminine: Feminine | None
    overlap: Overlap | None
    quality: Quality | None
    by_relation: dict[str, ByRelation]
    notes: list[str]
    failures: list[str]


NOTHING = Wanted()


def compare_versions(
    versions: Versions,
    wanted: Wanted = NOTHING,
    *,
    clusters: str = "auto",
    choice: Choice = ALL_ROWS,
    **options: Any,
) -> VersionComparison:
    """Return the effect of wording; options as in `runs.compare_runs`.

    Measures of the texts are omitted if a dataset is missing or has changed, as are requested
    measures that fail (stanza, COMET): see `notes` and `failures`.

    Raises:
        PolyprobeError: runs that are not comparable, or an invalid gender file.
    """
    genders = read_genders(wanted.gender) if wanted.gender else None
    verbs = read_verb_forms(wanted.verb_forms)
    matched = match_runs(versions.other, versions.reference, choice)
    first = next(iter(matched.tables[0].values()))
    paired = {
        **options,
        "relations": first["relation"].to_pylist(),
        "clusters": read_clusters(first, clusters),
    }
    one, other = map(read_ranks, matched.tables)
    boxes = zip(draw_boxes(one), draw_boxes(other), strict=True)
    asked = list_measures(matched.tables, wanted, genders, paired)
    if genders is not None:
        asked["verb forms"] = lambda texts: measure_words(
            texts, genders, verbs, (one, other), paired
        )
    compared = compare_ranks(one, other, paired)
    found, failures = _measure(versions, matched.languages, first["fact_id"].to_pylist(), asked)
    measured = VersionComparison(
        versions,
        matched.languages,
        matched.left_out_languages,
        len(first),
        matched.left_out,
        compared,
        dict(zip(matched.languages, boxes, strict=True)),
        found.get("inflection delta"),
        found.get("verb forms"),
        found.get("feminine verb forms"),
        found.get("chrF"),
        found.get("QE"),
        split_by_relation(
            paired["relations"],
            list_changes(matched.tables, (one, other), found),
            matched.languages,
        ),
        [*note_settings(versions), *note_missing(found, versions)],
        failures,
    )
    return _swap(measured) if versions.sides == versions.wordings else measured


def _swap(found: VersionComparison) -> VersionComparison:
    """Return a comparison with the reference as one of the reference with the other wording."""
    inflection, feminine, quality = found.inflection, found.feminine, found.quality
    words = found.words and found.words._replace(figures=_swap_all(found.words.figures))
    return found._replace(
        words=words,
        left_out=(found.left_out[1], found.left_out[0]),
        ranks=_swap_all(found.ranks),
        boxes={language: (other, one) for language, (one, other) in found.boxes.items()},
        inflection=inflection
        and inflection._replace(delta=inflection.delta and swap_averages(inflection.delta)),
        feminine=feminine
        and feminine._replace(share=feminine.share and swap_averages(feminine.share)),
        quality=quality and quality._replace(score=quality.score and swap_averages(quality.score)),
    )


def _swap_all(figures: Mapping[str, Averages]) -> dict[str, Averages]:
    return {name: swap_averages(averages) for name, averages in figures.items()}


def list_measures(
    tables: tuple[Mapping[str, pa.Table], Mapping[str, pa.Table]],
    wanted: Wanted,
    genders: Mapping[str, str] | None,
    paired: Mapping[str, Any],
) -> dict[str, Measure]:
    """Return the measures of texts by name: always two, others if wanted."""
    comet, stanza = wanted.comet, wanted.stanza
    measures: dict[str, Measure] = {
        "inflection delta": lambda texts: measure_inflection(tables, texts, paired),
        "chrF": lambda texts: measure_overlap(texts, paired, wanted.chrf_on),
    }
    if genders is not None and stanza is not None:
        measures["feminine verb forms"] = lambda texts: measure_feminine(
            texts, genders, stanza, paired
        )
    if comet is not None:
        measures["QE"] = lambda texts: measure_quality(texts, comet, paired)
    return measures


def list_changes(
    tables: tuple[Mapping[str, pa.Table], Mapping[str, pa.Table]],
    ranks: tuple[Ranks, Ranks],
    found: Mapping[str, Any],
) -> dict[str, np.ndarray]:
    """Return each figure's change of each row [rows, L], other - reference, NaN where unknown."""
    one, other = ranks
    changes = {RECALL: one.recall[0] - other.recall[0], "mean_rank": one.rank - other.rank}
    if quality := found.get("QE"):
        changes["QE"] = quality.change
    if overlap := found.get("chrF"):
        changes["chrF"] = overlap.each
    prompts = [
        np.column_stack([table[PROMPT].to_numpy().astype(float) for table in side.values()])
        for side in tables
    ]
    return {**changes, PROMPT: prompts[0] - prompts[1]}


def note_settings(versions: Versions) -> list[str]:
    """Return a line on the settings that differ between the runs besides the data, if any."""
    differing = {*list_differing(versions.runs)} - {"data", "other languages"}
    names = ", ".join(sorted(differing))
    line = f"the runs also differ in {names}: the differences are not of wording alone"
    return [line] if differing else []


def note_missing(found: Mapping[str, Any], versions: Versions) -> list[str]:
    """Return a line on each measured figure without a value, with its count."""
    lines = []
    inflection, feminine, quality = map(
        found.get, ("inflection delta", "feminine verb forms", "QE")
    )
    if inflection and inflection.delta is None:
        lines.append(f"inflection delta: {explain_no_forms(versions)}")
    if (words := found.get("verb forms")) and not words.figures:
        lines.append(
            "verb forms: 0 rows have a subject of --gender FILE and a relation and language of "
            "--verb-forms FILE"
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


def explain_no_forms(versions: Versions) -> str:
    """Return why no row has exactly a label and another form as correct candidates."""
    if asks_whole_relations(*versions.runs):
        return (
            "a run's candidates are all objects of a relation, which of them are label and form is "
            "not known; score both wordings with --scoring object"
        )
    if accepts_aliases(*versions.runs):
        return f"aliases are correct too; compare the configurations without {WIDE}"
    return "0 rows have a label and another form as right candidates"


def _measure(
    versions: Versions, languages: list[str], fact_ids: list[str], asked: Mapping[str, Measure]
) -> tuple[dict[str, Any], list[str]]:
    """Return the measured figures by name, and a line for each failure."""
    found, failures = {}, []
    try:
        texts = load_texts(versions, languages, fact_ids)
    except PolyprobeError as error:
        return {}, [f"{', '.join(asked)}: the texts are not at hand: {error}"]
    for name, measure in asked.items():
        try:
            found[name] = measure(texts)
        except PolyprobeError as error:
            failures.append(f"{name}: {error}")
    return found, failures
