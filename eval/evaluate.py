"""Evaluate a model on a dataset: score the missing languages, then compute the results."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from polyprobe.eval.results.compute import compute_results
from polyprobe.eval.run.asked import resolve
from polyprobe.eval.run.folder import FinishedRun, Run
from polyprobe.eval.run.protocol import check_askable
from polyprobe.eval.scoring.decoding import DecodingChoices, take_decoding
from polyprobe.eval.scoring.load import ModelOptions, load
from polyprobe.eval.work.choose import (
    WorkerChoices,
    choose_workers,
    open_store,
    remove_own_store,
    take_workers,
)
from polyprobe.eval.work.fill import fill_scores
from polyprobe.eval.work.fill_predictions import fill_predictions
from polyprobe.system.files import locked


class Options(ModelOptions, DecodingChoices, WorkerChoices, total=False):
    """Options of loading, scoring, decoding and of the workers."""


def evaluate_model(
    model: str,
    dataset: str,
    config: str | None = None,
    *,
    output: str | Path,
    languages: Sequence[str] | None = None,
    limit: int | None = None,
    sample: int | None = None,
    **options: Unpack[Options],
) -> dict[str, Any]:
    """Score a dataset's candidates with a model and return the content of results.json.

    Scores go to `output`, one file for each language, each written whole. Repeat the call to resume
    an interrupted run; the files are the same. Scores are also cached by content (`ScoreStore`), so
    that no run scores the same query with the same model twice. Name further languages in a later
    call to add them to a run. With `scoring="xfactr"` a masked model fills the slot freely, and the
    run has predictions instead of scores.

    Args:
        model: an id on the Hub, a local folder, a GGUF file, or the embedded `geolm`.
        dataset: a folder, a name, or OWNER/NAME on the Hub (see `load_facts`).
        config: configuration of the dataset; default: its own default.
        output: run folder.
        languages: split names; default: all.
        limit: the first N rows.
        sample: N rows spread over the relations, the same in every language.
        options: revision, device, dtype and so on, see `ModelOptions`; devices, ray and cache, see
            `WorkerChoices`; for `xfactr` also initial, refinement, beam and so on, see
            `DecodingOptions`.

    Raises:
        PolyprobeError: any error that the caller can correct, in one line.
    """
    return run_evaluation(
        model,
        dataset,
        config,
        output=output,
        languages=languages,
        limit=limit,
        sample=sample,
        **options,
    ).results


def run_evaluation(
    model: str,
    dataset: str,
    config: str | None = None,
    *,
    output: str | Path,
    languages: Sequence[str] | None = None,
    limit: int | None = None,
    sample: int | None = None,
    **options: Unpack[Options],
) -> FinishedRun:
    """Return the run of `evaluate_model` with its results and rows, for a report."""
    loading: dict[str, Any] = dict(options)
    decoding, who = take_decoding(loading), take_workers(loading)
    asked = resolve(model, dataset, config, languages, limit, sample)
    run = Run(output)
    if loading.get("batch_tokens") is None:
        loading["batch_tokens"] = run.budget(asked.model)
    loaded = load(model, **loading)
    check_askable(asked.tables, loaded.scorer.scoring)
    run.check_free()
    with locked(run.folder):
        settings = run.open(asked.describe(loaded, decoding))
        texts = asked.rows_as_asked(settings)
        missing = run.missing(asked.tables, settings.kind)
        todo = {language: texts[language].take(asked.rows) for language in missing}
        if decoding:
            fill_predictions(run, loaded.scorer, decoding, todo)
        elif todo:
            workers = choose_workers(who, settings.model, loading, loaded)
            del loaded  # free its memory for workers elsewhere
            fill_scores(run, todo, open_store(run, who), workers)
        remove_own_store(run)
        return FinishedRun(run, compute_results(run), texts)
