"""Compare runs on two wordings (Semenov and Sennrich 2025), and the quality of both."""

import json
import math
import subprocess
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from polyprobe.analysis.compare.match import Pair, Versions, match_runs
from polyprobe.analysis.compare.options import NO_OPTIONS, REFERENCE_FREE, WordingOptions
from polyprobe.analysis.figures.units import read_clusters
from polyprobe.metrics.joint.significance import Averages, Paired
from polyprobe.metrics.pictures.picture import Quartiles
from polyprobe.metrics.shared.intervals import Ratio, summarize
from polyprobe.schema.run.folder import PROMPT, compare_settings
from polyprobe.schema.run.rows import ALL_ROWS, Choice
from polyprobe.system.messages import Console, PolyprobeError, missing, one_line, track

from . import deltas, gender
from .deltas import (
    ENGLISH,
    INFLECTION,
    NO_AVERAGES,
    Measured,
    WordingTest,
    WordingTexts,
    load_texts,
)

# torchmetrics 0.10, which comet 2.2.7 needs, imports pkg_resources
REMEDY = (
    "install it with `python3 -m venv DIR && DIR/bin/pip install unbabel-comet 'setuptools<81'`, "
    "give `--comet DIR/bin/comet-score` and as --comet-model a reference-free model such as "
    f"{REFERENCE_FREE} (its licence is to be accepted on the Hub, with a login there) or the path "
    "of a checkpoint (.ckpt); if memory ran out, a smaller one"
)
Translation = tuple[str, str]  # source and translation
Measure = Callable[[WordingTexts], Measured]
CHRF, QE = "chrF", "QE"
# Measure → its key in the JSON, in this order.
KEYS = {
    INFLECTION: "inflection_delta",
    gender.WORDS: "verb_forms",
    CHRF: "chrf",
    QE: "qe",
}


def measure_overlap(texts: WordingTexts, test: WordingTest, unit: str = "sentence") -> Measured:
    """Compute chrF (Popović 2015) of the variant's texts against those of the reference.

    It is 0 to 100, over the corpus, and the mean of the sentences. Fluent-mLAMA compares prompts,
    and a prompt without text has chrF 0.
    """
    try:
        from sacrebleu import metrics
    except ImportError:
        raise missing(CHRF, "sacrebleu") from None
    chrf = metrics.CHRF()
    n_resamples = min(test.options.get("n_resamples", 1000), 1000)
    resampling = {"n_resamples": n_resamples, "seed": test.options.get("seed", 0)}
    by_language, columns = {}, []
    for language in track(texts.variant, CHRF):
        pair = (texts.variant[language], texts.reference[language])
        variants, references = texts.starts[language] if unit == "prompt" else pair
        scores = [
            chrf.sentence_score(text, [reference]).score
            for text, reference in zip(variants, references, strict=True)
        ]
        mean = summarize({"chrf": scores}, clusters=test.clusters, **resampling)
        corpus = chrf.corpus_score(variants, [references]).score
        by_language[language] = {
            "corpus": corpus, "sentences": mean["chrf"], "sentences_ci": mean["chrf_ci"]
        }  # fmt: skip
        columns.append(scores)
    signature = str(chrf.get_signature())
    fields = {"by_language": by_language, "signature": signature, "compared": unit}
    return Measured({}, fields, [], np.array(columns).T)


def measure_quality(texts: WordingTexts, command: str, model: str, test: WordingTest) -> Measured:
    """Compare the quality of both wordings as translations of the English sentence, by language."""
    change = np.full((len(texts.english), len(texts.variant)), np.nan)
    rows = [row for row, text in enumerate(texts.english) if text is not None]
    languages = [language for language in texts.variant if language != ENGLISH]
    fields = {"n_queries": len(rows), "source": texts.english_from, "model": ""}
    if not rows or not languages:
        note = (
            f"QE: {len(rows):,} rows with a sentence in a split '{ENGLISH}' of either "
            f"configuration or in a configuration '{ENGLISH}', and a language beside it are needed"
        )
        return Measured({}, {**NO_AVERAGES, **fields}, [note], change)
    sides = [
        [[(texts.english[row] or "", wording[x][row]) for row in rows] for x in languages]
        for wording in (texts.variant, texts.reference)
    ]
    # an equal text is scored once
    pairs = list(dict.fromkeys(pair for side in sides for column in side for pair in column))
    with Console(stderr=True).status(f"COMET scores {len(pairs):,} texts"):
        scores = score_translations(pairs, command, model)
    by_pair = dict(zip(pairs, scores, strict=True))
    variant, reference = (
        np.array([[by_pair[pair] for pair in column] for column in side]).T for side in sides
    )
    places = [[*texts.variant].index(x) for x in languages]
    change[np.ix_(rows, places)] = variant - reference
    ones = np.ones((len(rows), 1))
    figures = test.compare(languages, {QE: (Ratio(variant, ones), Ratio(reference, ones))}, rows)
    return Measured(figures, {**figures[QE], **fields, "model": model}, [], change)


def score_translations(
    pairs: Sequence[Translation], command: str, model: str = REFERENCE_FREE
) -> list[float]:
    """Score (source, translation) pairs with the command `comet-score`, in half precision.

    The command reads a text from each line: line breaks become blanks.
    """
    with TemporaryDirectory() as folder:
        sources, texts, output = (Path(folder, name) for name in ("sources", "texts", "json"))
        for file, column in zip((sources, texts), zip(*pairs, strict=True), strict=True):
            content = "".join(f"{' '.join(text.splitlines())}\n" for text in column)
            file.write_text(content, encoding="utf-8")
        arguments = [command, "-s", str(sources), "-t", str(texts), "--model", model]
        arguments += ["--quiet", "--to_json", str(output)]
        scores: list[float] = []
        try:
            process = subprocess.run(
                arguments, stdin=subprocess.DEVNULL, capture_output=True, check=False
            )
            lines = process.stderr.decode("utf-8", "replace").strip().splitlines()
            problem = f"status {process.returncode}, {one_line((lines or ['no message'])[-1])}"
            if not process.returncode and output.exists():
                (rows,) = json.loads(output.read_bytes()).values()  # of one file of translations
                scores = [row["COMET"] for row in rows]
                problem = f"{len(scores)} scores for {len(pairs)} texts, or not all are numbers"
        except OSError as error:
            problem = str(error.strerror)
    if len(scores) != len(pairs) or not all(map(math.isfinite, scores)):
        raise PolyprobeError(f"COMET ({command}, {model}): {problem}; {REMEDY}")
    return scores


class VersionComparison(NamedTuple):
    """The effect of wording."""

    versions: Versions  # pairs of numbers are in the order of its `sides`
    languages: list[str]  # these four as in `runs.Comparison`
    left_out_languages: list[str]
    n_queries: int
    left_out: tuple[int, int]
    ranks: dict[str, Averages]  # recall@1 … recall@10 and mean_rank
    boxes: dict[str, tuple[Quartiles, Quartiles]]  # of the best ranks by language
    by_relation: dict[str, deltas.ByRelation]  # always variant - reference, by language
    notes: list[str]
    failures: list[str]  # requested measures that failed, with the remedy
    measures: dict[str, Measured]  # of `KEYS`, those that were measured

    @property
    def direction(self) -> str:
        """Name the direction of all differences, such as `sentence - template`."""
        return " - ".join(self.versions.sides)

    @property
    def relation_direction(self) -> str:
        """Name the direction of the changes by relation."""
        return " - ".join(reversed(self.versions.wordings))

    @property
    def figures(self) -> dict[str, Averages]:
        """List all measured paired figures by name."""
        measured = (x.figures.items() for x in self.measures.values())
        return {**self.ranks, **dict(chain.from_iterable(measured))}

    def as_json(self) -> dict[str, Any]:
        """List figure, average, language, values; sides have the names of the wordings."""
        sides = self.versions.sides
        names = {"first": sides[0], "second": sides[1]}
        measures = {key: self.measures.get(name) for name, key in KEYS.items()}
        return {
            "difference": self.direction,
            "languages": self.languages,
            "left_out_languages": self.left_out_languages,
            "n_queries": self.n_queries,
            "left_out": dict(zip(sides, self.left_out, strict=True)),
            "ranks": _name(self.ranks, names),
            "boxes": {
                language: {side: box._asdict() for side, box in zip(sides, boxes, strict=True)}
                for language, boxes in self.boxes.items()
            },
            **{key: x and _name(x.fields, names) for key, x in measures.items()},
            "by_relation": {
                "difference": self.relation_direction,
                **_name(self.by_relation, names),
            },
            "notes": self.notes,
            "failures": self.failures,
        }


def _name(value: Any, names: Mapping[str, str]) -> Any:
    """Make JSON of a value: rows by name, and sides renamed: `first_ci` → `sentence_ci`."""
    if isinstance(value, Mapping):
        return {key: _name(part, names) for key, part in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], Paired):
        return {row.name: _name(row, names) for row in value}
    if not hasattr(value, "_asdict"):
        return value
    fields = {}
    for field, part in value._asdict().items():
        side, mark, end = field.partition("_")
        fields[names.get(side, side) + mark + end] = _name(part, names)
    fields.pop("name", None)
    return fields


def compare_versions(
    versions: Versions,
    options: WordingOptions = NO_OPTIONS,
    *,
    clusters: str = "auto",
    choice: Choice = ALL_ROWS,
    **keywords: Any,
) -> VersionComparison:
    """Compare two wordings; clusters, choice and keywords are as in `runs.compare_runs`."""
    match = match_runs(versions.variant, versions.reference, choice)
    table = match.tables[0][match.languages[0]]  # ids and relations are those of all languages
    relations, units = table["relation"].to_pylist(), read_clusters(table, clusters)
    swapped = versions.sides == versions.wordings
    test = deltas.WordingTest(relations, units, keywords, swapped)
    ranks = (deltas.rank_answers(match.tables[0]), deltas.rank_answers(match.tables[1]))
    # ranks and tables are of variant and reference, what is listed is in the order of the runs
    first, second = ranks[::-1] if swapped else ranks
    boxes = zip(deltas.summarize_ranks(first), deltas.summarize_ranks(second), strict=True)
    plan = _list_measures(match.tables, options, ranks, test)
    averages = deltas.compare_ranks(*ranks, test)
    measures, failures = _measure(versions, match.languages, table, plan)
    changes = _list_changes(match.tables, ranks, measures)
    return VersionComparison(
        versions,
        match.languages,
        match.left_out_languages,
        len(table),
        match.left_out[::-1] if swapped else match.left_out,
        averages,
        dict(zip(match.languages, boxes, strict=True)),
        deltas.split_by_relation(relations, changes, match.languages),
        _list_notes(measures, versions, match.n_differing),
        failures,
        measures,
    )


def _list_measures(
    tables: Pair, options: WordingOptions, ranks: gender.RanksOfBoth, test: deltas.WordingTest
) -> dict[str, Measure]:
    """List the measures of texts by name: always two, others if the options ask for them."""
    measures: dict[str, Measure] = {}
    if options.gender:
        genders = gender.read_genders(options.gender)
        inputs = (gender.read_verb_forms(options.verb_forms or gender.VERB_FORMS), ranks, test)
        measures[gender.WORDS] = lambda texts: gender.measure_words(texts, genders, *inputs)
    measures[INFLECTION] = lambda texts: deltas.measure_inflection(tables, texts, test)
    if command := options.comet:
        of_comet = (command, options.comet_model or REFERENCE_FREE, test)
        measures[QE] = lambda texts: measure_quality(texts, *of_comet)
    measures[CHRF] = lambda texts: measure_overlap(texts, test, options.chrf_on)
    return measures


def _list_changes(
    tables: Pair, ranks: gender.RanksOfBoth, measures: Mapping[str, Measured]
) -> dict[str, np.ndarray]:
    """List each figure's change of each row [rows, L], variant - reference, NaN where unknown."""
    variant, reference = ranks
    changes = {
        deltas.RECALL: variant.recall[0] - reference.recall[0],
        "mean_rank": variant.rank - reference.rank,
    }
    changes |= {x: y.changes for x, y in measures.items() if y.changes is not None}
    prompts = [
        np.column_stack([table[PROMPT].to_numpy().astype(float) for table in side.values()])
        for side in tables
    ]
    return {**changes, PROMPT: prompts[0] - prompts[1]}


def _list_notes(
    measures: Mapping[str, Measured], versions: Versions, n_differing: int
) -> list[str]:
    """Write a line on what else differs, and on each measured figure without a value."""
    lines = []
    if n_differing:
        lines.append(
            f"{n_differing:,} rows have other correct answers or more candidates in one wording: "
            "each is ranked among its own, without inflection delta"
        )
    differences = compare_settings([run.settings() for run in versions.runs])
    if differing := {*differences} - {"data", "other languages"}:
        settings = ", ".join(sorted(differing))
        lines.append(
            f"the runs also differ in {settings}: the differences are not of wording alone"
        )
    return [*lines, *(note for x in measures.values() for note in x.notes)]


def _measure(
    versions: Versions, languages: Sequence[str], table: pa.Table, measures: Mapping[str, Measure]
) -> tuple[dict[str, Measured], list[str]]:
    """Measure the texts of the rows of a table; list results and failures by name."""
    results, failures = {}, []
    try:
        texts = load_texts(versions, languages, table["fact_id"].to_pylist())
    except PolyprobeError as error:
        return {}, [f"{', '.join(measures)}: the texts are not at hand: {error}"]
    for name, measure in measures.items():
        try:
            results[name] = measure(texts)
        except PolyprobeError as error:
            failures.append(f"{name}: {error}")
    return results, failures
