"""Texts of two wordings, and ranks of the right answer and its inflected form (Fluent-mLAMA)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from scipy.stats import pearsonr

from polyprobe.analysis.compare.match import WIDE, WORDINGS, Pair, Tables, Versions
from polyprobe.analysis.figures.facts import masked_scores
from polyprobe.metrics.inflection_delta.formulas import rank_delta
from polyprobe.metrics.joint.significance import Averages, compare_averages, swap_averages
from polyprobe.metrics.pictures.picture import Quartiles
from polyprobe.metrics.recall_at_k.formulas import expected_rank, find_standing, recall_probability
from polyprobe.metrics.shared.intervals import Ratio, divide_by, index_labels, sum_by
from polyprobe.metrics.shared.rows import take
from polyprobe.schema.columns import SLOT, key_rows, place_rows, split_fact
from polyprobe.schema.run.folder import Run, load_again
from polyprobe.schema.run.protocol import protocol_of
from polyprobe.system.messages import Console, PolyprobeError

ENGLISH = "en"
FormPair = tuple[int, int]  # indices of label and form among the candidates
_COLUMNS = ("prompt", "candidates", "answers", "answer_forms")
DEEPEST = 10
RECALL, INFLECTION = "recall@1", "inflection delta"
NO_AVERAGES = {"macro": None, "micro": None}
FEWEST = 3  # relations for a correlation


class WordingTexts(NamedTuple):
    """The prompts of both runs for the matched rows."""

    # By language, prompts with the answer in the slot: its form in sentences, its label in
    # templates
    variant: dict[str, list[str]]
    reference: dict[str, list[str]]
    starts: dict[str, tuple[list[str], list[str]]]  # both sides' prompts up to the slot
    # Label and form of each row, if exactly these are correct in both wordings and can be told (see
    # `find_obstacle`)
    forms: dict[str, list[FormPair | None]]
    subjects: list[str]  # id of each row, "" if unknown
    english: list[str | None]  # sentence of each row, None without one
    english_from: str  # their configuration
    obstacle: str  # see `find_obstacle`


class Measured(NamedTuple):
    """What a measure of two wordings gives: figures, what they count, changes by row."""

    figures: dict[str, Averages]  # by name; none without a value
    fields: dict[str, Any]  # of the JSON
    notes: list[str]  # on what has no value
    # Variant - reference [rows, L], NaN where unknown; of chrF the similarity of both. None: only
    # averages are compared
    changes: np.ndarray | None = None


def load_texts(versions: Versions, languages: Sequence[str], ids: Sequence[str]) -> WordingTexts:
    """Load the texts of the matched rows; refuse a dataset that differs from the run's."""
    runs = (versions.variant, versions.reference)
    splits = (load_again(run.settings(), languages).items() for run in runs)
    variants, references = (
        {x: table.take(place_rows(table, ids)) for x, table in pairs} for pairs in splits
    )
    wording_of_reference, wording = versions.wordings
    english, origin = _find_english(runs, (wording, wording_of_reference), ids)
    forms: dict[str, list[FormPair | None]] = {x: [None] * len(ids) for x in languages}
    if not (obstacle := find_obstacle(runs)):
        forms = {x: _find_forms(variants[x], references[x]) for x in languages}
    return WordingTexts(
        {x: _fill_slots(table, wording) for x, table in variants.items()},
        {x: _fill_slots(table, wording_of_reference) for x, table in references.items()},
        {x: (_cut_prompts(variants[x]), _cut_prompts(references[x])) for x in languages},
        forms,
        _read_subjects(variants[languages[0]]),
        english,
        origin,
        obstacle,
    )


def find_obstacle(runs: Sequence[Run]) -> str:
    """Explain why label and form cannot be told among the candidates; "" if they can."""
    if any(protocol_of(run.settings().scoring).whole_relation for run in runs):
        # the indices of the dataset's candidates are not those of the scores
        return (
            "a run's candidates are all objects of a relation, which of them are label and form is "
            "not known; score both wordings again: polyprobe eval --scoring object"
        )
    if any((run.settings().config or "").endswith(WIDE) for run in runs):
        return f"aliases are correct too; compare the configurations without {WIDE}"
    return ""


def _fill_slots(table: pa.Table, wording: str) -> list[str]:
    return [x["prompt"].replace(SLOT, find_answer_text(x, wording)) for x in _list_rows(table)]


def _cut_prompts(table: pa.Table) -> list[str]:
    return [prompt.partition(SLOT)[0] for prompt in table["prompt"].to_pylist()]


def find_answer_text(row: Mapping[str, Any], wording: str) -> str:
    """Name the correct answer of a row: its label in templates, else its form.

    `answer_forms` begins with the label, Google's form and ChatGPT's form, without repetitions: of
    two, the second is taken for the form of either. Without that column, or if that text is not a
    correct candidate, take the first correct candidate.

    >>> row = {"candidates": ["Рим", "Риме"], "answers": [0, 1], "answer_forms": ["Рим", "Риме"]}
    >>> find_answer_text(row, "sentence")
    'Риме'
    """
    right = [*_find_answers(row)]
    forms = (row.get("answer_forms") or [])[: [*WORDINGS].index(wording) + 1]
    return forms[-1] if forms and forms[-1] in right else right[0]


def _find_forms(variants: pa.Table, references: pa.Table) -> list[FormPair | None]:
    """Find label and form of each row where only these are correct, in both wordings."""
    pairs: list[FormPair | None] = []
    for row, row_of_reference in zip(_list_rows(variants), _list_rows(references), strict=True):
        forms, places = (row.get("answer_forms") or [])[:2], _find_answers(row)
        correct = len(places) == 2 and {*forms} == {*places}
        same = correct and places == _find_answers(row_of_reference)
        pairs.append((places[forms[0]], places[forms[1]]) if same else None)
    return pairs


def _find_answers(row: Mapping[str, Any]) -> dict[str, int]:
    return {row["candidates"][place]: place for place in row["answers"]}


def _read_subjects(table: pa.Table) -> list[str]:
    """Read each row's subject id, from the column or the middle of RELATION:SUBJECT:OBJECT."""
    subjects = table["subject_id"].to_pylist() if "subject_id" in table.column_names else []
    if any(subjects):
        return [subject or "" for subject in subjects]
    parts = map(split_fact, table["fact_id"].to_pylist())
    return [part[1] if part else "" for part in parts]


def _find_english(
    runs: Sequence[Run], wordings: Sequence[str], fact_ids: Sequence[str]
) -> tuple[list[str | None], str]:
    """Find the English sentence of each row, and its configuration."""
    # imports datasets, which takes seconds
    from polyprobe.schema.load import load_facts

    settings, keys = [run.settings() for run in runs], key_rows(fact_ids)
    # The first of these that has a split `en` and any of the facts.
    places = [(s.dataset, s.config) for s in settings] + [(settings[1].dataset, ENGLISH)]
    for place, wording in zip(places, (*wordings, "template"), strict=True):
        try:
            table = load_facts(*place, [ENGLISH])[ENGLISH]
        except PolyprobeError:
            continue
        texts = _fill_slots(table, wording)
        sentences = dict(zip(key_rows(table["fact_id"].to_pylist()), texts, strict=True))
        english = [sentences.get(key) for key in keys]
        if any(english):
            return english, place[1] or "default"
    return [None] * len(keys), ""


def _list_rows(table: pa.Table) -> list[dict[str, Any]]:
    return table.select([name for name in _COLUMNS if name in table.column_names]).to_pylist()


class WordingTest(NamedTuple):
    """How the rows of two wordings are compared."""

    relations: Sequence[str]  # of each row
    clusters: Sequence[str] | None
    options: Mapping[str, Any]  # of `significance.compare_figures`
    swapped: bool = False  # the reference is the first run: its values come first

    def compare(
        self,
        languages: Sequence[str],
        measures: Mapping[str, tuple[Ratio, Ratio]],
        rows: Sequence[int] | None = None,
    ) -> dict[str, Averages]:
        """Compare measures of some of the rows (None: all), in the order of the runs."""
        rows = range(len(self.relations)) if rows is None else rows
        relations = [self.relations[row] for row in rows]
        options = {**self.options, "clusters": take(self.clusters, rows)}
        averages = compare_averages(languages, measures, relations, **options)
        return {x: swap_averages(y) if self.swapped else y for x, y in averages.items()}


class Ranks(NamedTuple):
    """Ranks of the best correct candidate in one run."""

    languages: list[str]
    recall: np.ndarray  # probability of a rank up to k [k, facts, L], k = 1 … 10 or fewer
    rank: np.ndarray  # expected rank, from 1 [facts, L]


class Pearson(NamedTuple):
    """Pearson's r of a figure with the change of recall@1 over relations."""

    n: int  # relations in which the figure is defined
    r: float | None = None  # None with fewer than 3 relations, or without any variation
    p: float | None = None  # two-sided, of Student's t with n - 2 degrees of freedom
    ci: list[float] | None = None  # 95% interval of Fisher's z; None below 4 relations


class ByRelation(NamedTuple):
    """The changes of one language, variant less reference, whatever the order of the runs."""

    n_queries: dict[str, int]  # by relation
    # figure → relation → mean over its rows; `chrF` is no change but the similarity of the variant
    # to the reference
    figures: dict[str, dict[str, float | None]]
    means: dict[str, float | None]  # unweighted, over the relations with a value
    correlations: dict[str, Pearson]  # with the change of recall@1


def rank_answers(tables: Tables) -> Ranks:
    """Compute recalls and ranks of score tables, ties in expectation as in `recall_at_k`."""
    standings = [
        find_standing(masked_scores(table), table["answers"].to_pylist())
        for table in tables.values()
    ]
    depths = range(1, min(DEEPEST, max(int(s.pool.max()) for s in standings)) + 1)
    return Ranks(
        list(tables),
        np.stack([recall_probability(standing, depths) for standing in standings], axis=-1),
        np.stack([expected_rank(standing) for standing in standings], axis=-1),
    )


def compare_ranks(first: Ranks, second: Ranks, test: WordingTest) -> dict[str, Averages]:
    """Compare recall@1 … and mean_rank of both runs, by language."""
    ones = np.ones((len(first.rank), 1))
    measures = {
        f"recall@{k}": (Ratio(before, ones, share=True), Ratio(after, ones, share=True))
        for k, (before, after) in enumerate(zip(first.recall, second.recall, strict=True), start=1)
    }
    measures["mean_rank"] = (Ratio(first.rank, ones), Ratio(second.rank, ones))
    with Console(stderr=True).status("comparing ranks"):
        return test.compare(first.languages, measures)


def summarize_ranks(ranks: Ranks) -> Iterator[Quartiles]:
    """Yield the quartiles of each language."""
    for column in ranks.rank.T:
        q1, median, q3 = np.quantile(column, [0.25, 0.5, 0.75])
        reach = 1.5 * (q3 - q1)  # whiskers end at the last ranks within it (Tukey)
        inside = column[(column >= q1 - reach) & (column <= q3 + reach)]
        numbers = (inside.min(), q1, median, q3, inside.max(), column.mean())
        yield Quartiles(*map(float, numbers))


def measure_inflection(tables: Pair, texts: WordingTexts, test: WordingTest) -> Measured:
    """Compare rank(label) - rank(form) in rows where exactly these are correct."""
    counts = {x: len(forms) - forms.count(None) for x, forms in texts.forms.items()}
    languages = [language for language, count in counts.items() if count]
    if not languages:
        reason = texts.obstacle or "0 rows have a label and another form as right candidates"
        note = f"{INFLECTION}: {reason}"
        return Measured({}, {**NO_AVERAGES, "n_queries": counts}, [note])
    marks = np.column_stack([[form is not None for form in texts.forms[x]] for x in languages])
    rows = np.flatnonzero(marks.any(axis=1))
    weights = marks[rows].astype(float)
    deltas = ([_find_deltas(side[x], texts.forms[x]) for x in languages] for side in tables)
    variant, reference = (Ratio(np.column_stack(columns)[rows], weights) for columns in deltas)
    figures = test.compare(languages, {INFLECTION: (variant, reference)}, rows.tolist())
    return Measured(figures, {**figures[INFLECTION], "n_queries": counts}, [])


def _find_deltas(table: pa.Table, forms: Sequence[FormPair | None]) -> np.ndarray:
    """Compute rank(label) - rank(form) of each row, 0 for rows without two forms."""
    rows = [row for row, form in enumerate(forms) if form]
    pairs = [form for form in forms if form]
    # Both are ranked among all candidates: each may stand before the other.
    scores = masked_scores(table.take(rows))
    label, form = (
        expected_rank(find_standing(scores, [[pair[place]] for pair in pairs])) for place in (0, 1)
    )
    deltas = np.zeros(len(table))
    deltas[rows] = rank_delta(label, form)
    return deltas


def split_by_relation(
    relations: Sequence[str], values: Mapping[str, np.ndarray], languages: Sequence[str]
) -> dict[str, ByRelation]:
    """Average the changes [rows, L] of each language over each relation; NaN where not known."""
    names, codes = index_labels(relations, len(relations), "relations")
    counts = dict(zip(map(str, names), np.bincount(codes).tolist(), strict=True))
    means = {}
    for name, table in values.items():
        defined = ~np.isnan(table)
        totals = sum_by(codes, np.where(defined, table, 0))
        means[name] = divide_by(totals, sum_by(codes, defined.astype(float)))
    return {
        language: _summarize(counts, {x: table[:, place] for x, table in means.items()})
        for place, language in enumerate(languages)
    }


def _summarize(counts: dict[str, int], columns: Mapping[str, np.ndarray]) -> ByRelation:
    columns = {name: column for name, column in columns.items() if not np.isnan(column).all()}
    figures = {
        name: {
            relation: None if np.isnan(value) else value
            for relation, value in zip(counts, column.tolist(), strict=True)
        }
        for name, column in columns.items()
    }
    means: dict[str, float | None] = {x: float(np.nanmean(y)) for x, y in columns.items()}
    correlations = {
        x: compute_pearson(columns[RECALL], y) for x, y in columns.items() if x != RECALL
    }
    return ByRelation(counts, figures, means, correlations)


def compute_pearson(first: np.ndarray, second: np.ndarray) -> Pearson:
    """Compute Pearson's r over the relations in which both are defined."""
    defined = ~(np.isnan(first) | np.isnan(second))
    x, y = first[defined], second[defined]
    if len(x) < FEWEST or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Pearson(len(x))
    result = pearsonr(x, y)
    bounds = result.confidence_interval(0.95) if len(x) > FEWEST else None
    ci = None if bounds is None else [float(bounds.low), float(bounds.high)]
    return Pearson(len(x), float(result.statistic), float(result.pvalue), ci)
