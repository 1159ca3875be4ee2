"""Compute the results of free predictions (X-FACTR), also of fillings that did not win."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from polyprobe.analysis.errors import measure_language
from polyprobe.metrics.factual_accuracy import formulas
from polyprobe.metrics.joint.measures import count_correct
from polyprobe.metrics.shared.intervals import Figure, estimate, mean_of, name_pairs
from polyprobe.metrics.shared.rows import take
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.protocol import choose_again, count_masks, value_of
from polyprobe.scoring.options import is_normalised

from .modules import measure_calibration
from .options import FillingOptions
from .parts import split_figures
from .results import mean_known
from .units import Units

ROUNDING = 1e-4  # nats between two readings of one filling in other batches
_COLUMNS = ("relation", "prompt", "answer_forms", "prediction", "single_token", "fillings",
            "n_masks", "log_probability", "gold_log_c")  # fmt: skip


class PredictedFacts:
    """The free predictions of a run: the same facts in the same order in every language."""

    def __init__(self, tables: Mapping[str, pa.Table], length_norm: bool = False) -> None:
        self.tables, self.languages, self.length_norm = tables, list(tables), length_norm
        self.table: pa.Table = tables[self.languages[0]]
        self.right = mark_predictions(tables)
        # Numbers of the facts that were asked, and columns of these facts.
        self.places = {x: np.flatnonzero(~np.isnan(marks)) for x, marks in self.right.items()}

    @cached_property
    def rows(self) -> dict[str, dict[str, list[Any]]]:
        """List the columns of the facts that were asked, by language."""
        places = self.places.items()
        return {x: self.tables[x].select(_COLUMNS).take(y).to_pydict() for x, y in places}

    def split(self, language: str) -> dict[str, np.ndarray]:
        """Mark all facts that were asked, those with an answer of a single token, and others."""
        single = np.array(self.rows[language]["single_token"], dtype=bool)
        return {"all": np.ones_like(single), "single": single, "multi": ~single}


def read_predictions(
    run: Run, tables: Mapping[str, pa.Table], options: FillingOptions
) -> PredictedFacts:
    """Read rows of a run's predictions, with the winners of the options."""
    norm, max_masks = options.length_norm, options.max_masks
    length_norm = is_normalised(run.settings().scoring) if norm is None else norm
    if (norm, max_masks) != (None, None):
        tables = choose_again(tables, length_norm, max_masks, run.folder)
    return PredictedFacts(tables, length_norm)


def summarize_predictions(facts: PredictedFacts, units: Units) -> dict[str, Any]:
    """Compute factual accuracy by language, COverlap by pair over the facts asked in both."""
    languages, pairs, right = facts.languages, name_pairs(facts.languages), facts.right
    accuracy = {x: _measure(facts, x, facts.rows[x]["prediction"], units) for x in languages}
    figures = {"accuracy": mark_accuracy(right), "coverlap": find_overlaps(right)}
    coverlap = estimate(figures["coverlap"], units.rows)
    overlaps = {pair: coverlap[pair] for pair in pairs}
    intervals = {}
    if units.n_resamples:
        intervals = {
            "accuracy": {x: values.get("all_ci") for x, values in accuracy.items()},
            "coverlap": {pair: coverlap[f"{pair}_ci"] for pair in pairs},
            "mean": {"coverlap": coverlap["mean_ci"]},
        }
    means = {
        "accuracy": mean_known(values["all"] for values in accuracy.values()),
        "coverlap": coverlap["mean"],
    }
    return {
        "languages": languages,
        "n_queries": len(facts.table),
        "accuracy": {x: values["all"] for x, values in accuracy.items()},
        "factual_accuracy": accuracy,
        "error_types": {
            x: measure_language(table, right[x], x, units.rows) for x, table in facts.tables.items()
        },
        **measure_lengths(facts, units),
        "calibration": {x: calibrate_predictions(facts, x) for x in languages},
        **compare_with_gold(facts, units.average),
        "coverlap": overlaps,
        **count_correct({x: np.nan_to_num(marks) for x, marks in right.items()}),
        "mean": means,
        "by_relation": split_figures(
            figures.items(), facts.table["relation"].to_pylist(), lambda name: units.relation
        ),
        "intervals": intervals,
        "left_out": {
            "coverlap": [*overlaps.values()].count(None),
            "facts": {x: len(facts.table) - len(places) for x, places in facts.places.items()},
        },
    }


def measure_lengths(facts: PredictedFacts, units: Units) -> dict[str, dict[str, Any]]:
    """Compute the accuracy that other numbers of masks give (Jiang et al. 2020, figure 4)."""
    figures: dict[str, dict[str, Any]] = {
        name: {} for name in ("oracle_length", "single_mask", "by_masks", "n_masks")
    }
    for language, table in facts.tables.items():
        texts = predict_right_length(table, language)
        oracle = [texts[place] for place in facts.places[language].tolist()]
        first = [row[0]["text"] if row else None for row in facts.rows[language]["fillings"]]
        figures["oracle_length"][language] = _measure(facts, language, oracle, units)
        figures["single_mask"][language] = _measure(facts, language, first, units)
        figures["by_masks"][language] = _limit_masks(facts, language, units.average)
        counts = table["n_masks"].drop_null().to_numpy()
        lengths = np.bincount(counts, minlength=count_masks(table) + 1)
        figures["n_masks"][language] = lengths[1:].tolist()
    return figures


def calibrate_predictions(facts: PredictedFacts, language: str) -> dict[str, Any]:
    """Compute the calibration of one language's free predictions, of all, single and multi."""
    rows, right = facts.rows[language], facts.right[language][facts.places[language]]
    masks, values = (np.array(rows[x], dtype=np.float64) for x in ("n_masks", "log_probability"))
    # exp(mean log c) of the prediction's tokens, whether or not the lengths compete by their means
    confidence = np.exp(values if facts.length_norm else values / masks)
    result: dict[str, Any] = {}
    for name, part in facts.split(language).items():
        figures = measure_calibration(confidence[part], right[part])
        of_part = (f"ece_{name}", f"n_{name}", f"bins_{name}")
        result |= zip(figures if name == "all" else of_part, figures.values(), strict=True)
    return result


def compare_with_gold(facts: PredictedFacts, average: str = "macro") -> dict[str, dict[str, Any]]:
    """Compute how often the prediction is at least as probable as the right answer, by language.

    As the task `logprob` of X-FACTR's released code. Empty for a run without `--gold`.
    """
    if all(table["gold_log_c"].null_count == len(table) for table in facts.tables.values()):
        return {}
    shares = {}
    for language, rows in facts.rows.items():
        pairs = [*zip(rows["fillings"], rows["n_masks"], rows["gold_log_c"], strict=True)]
        right: np.ndarray = np.zeros(len(pairs), dtype=bool)
        for place, (fillings, n_masks, log_c) in enumerate(pairs):
            if log_c is not None:
                prediction = value_of(fillings[n_masks - 1]["log_c"], facts.length_norm)
                right[place] = prediction >= value_of(log_c, facts.length_norm) - ROUNDING
        scored = np.array([log_c is not None for *_, log_c in pairs], dtype=bool)
        shares[language] = {
            name: _average(right, part & scored, rows["relation"], average)
            for name, part in facts.split(language).items()
        }
    return {"prediction_at_least_gold": shares}


def predict_right_length(table: pa.Table, language: str) -> list[str | None]:
    """List the filling that is right if the number of tokens of the answer is known, else None."""
    # As the released code (ana.py --gold_len): each form beside the filling of its own length.
    names = ["prompt", "answer_forms", "form_lengths", "fillings", "prediction"]
    texts: list[str | None] = []
    for prompt, forms, lengths, fillings, prediction in zip(
        *(table[name].to_pylist() for name in names), strict=True
    ):
        pairs = _offer(forms, lengths, fillings or (), prediction, language)
        right = (text for text, form in pairs if formulas.match(text, [form], language, prompt))
        texts.append(next(right, None))
    return texts


def _offer(
    forms: Sequence[str],
    lengths: Sequence[int],
    fillings: Sequence[Mapping[str, Any]],
    prediction: str,
    language: str,
) -> Iterator[tuple[str, str]]:
    """Yield the fillings of the length of each accepted form, with the form."""
    for form, length in zip(forms, lengths, strict=True) if fillings else ():
        if not 1 <= length <= len(fillings):  # longer than all fillings
            yield prediction, form
            continue
        # In English also the one that has a token less, for the full stop.
        shortest = max(1, length - 1) if language == "en" else length
        for m in range(length, shortest - 1, -1):
            yield fillings[m - 1]["text"], form


def _limit_masks(facts: PredictedFacts, language: str, average: str) -> dict[str, list[Any]]:
    """Compute the accuracies with at most 1, 2, … M masks, macro or micro."""
    rows, parts = facts.rows[language], facts.split(language)
    n = len(parts["all"])
    best: np.ndarray = np.full(n, -np.inf)
    right: np.ndarray = np.zeros(n, dtype=bool)
    curves: dict[str, list[Any]] = {name: [] for name in parts}
    for m in range(count_masks(facts.tables[language])):
        fillings = [row[m] for row in rows["fillings"]]
        values = np.array([value_of(row["log_c"], facts.length_norm) for row in fillings])
        # the first of equal values wins, as in the decoder
        wins = values > best if m else np.ones(n, dtype=bool)
        best = np.where(wins, values, best)
        for k in np.flatnonzero(wins):
            accepted, prompt = rows["answer_forms"][k], rows["prompt"][k]
            right[k] = formulas.match(fillings[k]["text"], accepted, language, prompt)
        for name, part in parts.items():
            curves[name].append(_average(right, part, rows["relation"], average))
    return curves


def _average(
    right: np.ndarray, part: np.ndarray, relations: Sequence[str], average: str
) -> float | None:
    """Compute the share of right facts of a part, macro over relations or micro; None if empty."""
    if average == "micro":
        return float(right[part].mean()) if part.any() else None
    codes = np.unique(relations, return_inverse=True)[1]
    sizes = np.bincount(codes, part)
    shares = np.bincount(codes, right & part)[sizes > 0] / sizes[sizes > 0]
    return float(shares.mean()) if len(shares) else None


def mark_accuracy(right: Mapping[str, np.ndarray]) -> Figure:
    """Make the share of correct facts by language, over the facts asked in it."""
    values = np.column_stack(list(right.values()))
    return mean_of(list(right), np.nan_to_num(values), ~np.isnan(values))


def find_overlaps(right: Mapping[str, np.ndarray]) -> Figure:
    """Make COverlap by pair over the facts asked in both languages (`mark_predictions`)."""
    values = np.column_stack(list(right.values()))
    rows, columns = np.triu_indices(values.shape[1], 1)
    first, second = values[:, rows], values[:, columns]
    common = ~np.isnan(first + second)
    joint = np.where(common, first * second, 0)
    union = np.where(common, np.maximum(first, second), 0)
    return mean_of(name_pairs(list(right)), joint, union, share=True)


def _measure(
    facts: PredictedFacts, language: str, texts: Sequence[str | None], units: Units
) -> dict[str, Any]:
    rows = facts.rows[language]
    if not texts:  # all its labels have unknown tokens
        return {"all": None, "single": None, "multi": None, "n_queries": 0}
    clusters = take(units.clusters, facts.places[language])
    options = units.modules._replace(groups=rows["relation"], clusters=clusters)._asdict()
    forms, single, prompts = rows["answer_forms"], rows["single_token"], rows["prompt"]
    arguments = texts, forms, single, language, prompts
    return formulas.measure_factual_accuracy(*arguments, by_group=False, **options)


def mark_predictions(tables: Mapping[str, pa.Table]) -> dict[str, np.ndarray]:
    """Mark correct facts by 1, others by 0, facts that were not asked by NaN, by language."""
    marks = {}
    for language, table in tables.items():
        columns = ["prediction", "answer_forms", "prompt"]
        predictions, forms, prompts = (table[name].to_pylist() for name in columns)
        right = formulas.find_matches(predictions, forms, language, prompts)
        marks[language] = np.where(table["single_token"].is_valid().to_numpy(), right, np.nan)
    return marks
