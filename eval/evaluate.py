"""Evaluate a model on a dataset: score the missing languages, then compute the results."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from polyprobe.analysis.figures.compute import compute_results
from polyprobe.schema.load import Splits
from polyprobe.schema.run.folder import FinishedRun, Run
from polyprobe.schema.run.settings import Settings
from polyprobe.scoring.load import Loaded, load
from polyprobe.scoring.model_objects import check_object
from polyprobe.scoring.options import FREE, ScorerOptions, is_name
from polyprobe.system.devices import limit_threads
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.files import locked
from polyprobe.system.options import check_keywords, collect_options, with_keywords
from polyprobe.system.progress import report as say

from .evaluation import Evaluation, Questions, resolve
from .options import EvaluationOptions, EvaluationRequest
from .work.fill import choose_workers, fill_scores, forecast, plan_work
from .work.predictions import fill_predictions
from .work.score_store import find_store, remove_own_store
from .work.served import check_same_model

# Writes the scores or predictions of a run's missing languages, given their rows.
Filling = Callable[[Run, Settings, Mapping[str, pa.Table]], None]


@with_keywords(EvaluationOptions)
def evaluate_model(
    model: Any,
    dataset: str | Splits,
    config: str | None = None,
    *,
    output: str | Path | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Score a dataset's candidates with a model and return the content of results.json.

    Scores go to `output`, one file for each language, each written whole. Repeat the call to resume
    an interrupted run; the files are the same. Scores are also cached by content (`ScoreStore`), so
    that no run scores the same query with the same model twice. Name further languages in a later
    call to add them to a run. With `scoring="xfactr"` a masked model fills the slot freely, and the
    run has predictions instead of scores.

    Args:
        model: an id on the Hub, a local folder, a GGUF file, or the embedded `geolm`; a
            transformers model, also wrapped by PEFT, with `tokenizer`; or a scorer of
            `load_scorer`. A model in memory is identified by a hash of its weights and settings,
            which does not see code: its scores are kept in the run folder, not in the cache.
        dataset: a folder, a name, or OWNER/NAME on the Hub (see `load_facts`); or a `DatasetDict`.
        config: configuration of the dataset; default: its own default.
        output: run folder. Without one nothing is written except the cache, from which a later call
            with a folder takes the scores of a model that has a name.
        options: the options of `polyprobe eval` by name, with underscores: languages, sample,
            scoring, device and so on (`EvaluationOptions`). Names of languages, relations and flags
            are lists, or texts with commas.

    Raises:
        PolyprobeError: any error that the caller can correct, in one line.
    """
    check_keywords(options, evaluate_model)
    if not is_name(model):  # its own options are not to be checked against our defaults
        check_object(model, {x: options[x] for x in options if x in collect_options(ScorerOptions)})
    settings = EvaluationOptions.from_keywords(options, evaluate_model)
    request = EvaluationRequest.of(model, dataset, config, settings)
    with TemporaryDirectory(prefix="polyprobe-") as folder:
        return evaluate_request(request, folder if output is None else output).results


def evaluate_request(request: EvaluationRequest, output: str | Path) -> FinishedRun:
    """Return the run of a request with its results and rows, for a report."""
    evaluation = resolve(request)
    run, earlier = find_run(evaluation, output)
    with limit_threads(evaluation.options.threads):
        loaded = load(request.model, evaluation.options, earlier)
        settings = evaluation.describe(loaded)
        with locked(run.folder):
            settings = run.open(settings)
            questions = evaluation.ask(run, settings)
            fill = choose_filling(evaluation, loaded, questions)
            del loaded  # workers elsewhere need its memory
            if questions.missing:
                fill(run, settings, questions.missing)
            remove_own_store(run)
            results = compute_results(run)
    _warn_of_letters(results.get("letters_read", {}))
    return FinishedRun(run, results, questions.texts)


def forecast_work(request: EvaluationRequest, output: str | Path) -> str:
    """Return the work of a request in one line; the run folder is not touched."""
    if request.scoring == FREE:
        raise PolyprobeError(
            f"--dry-run counts candidates; --scoring {FREE} has none: leave it out"
        )
    evaluation = resolve(request)
    run, earlier = find_run(evaluation, output)
    with limit_threads(evaluation.options.threads):
        loaded = load(request.model, evaluation.options, earlier)
        settings = run.join(evaluation.describe(loaded))
        missing = evaluation.ask(run, settings).missing
        work = plan_work(missing, find_store(run, settings, evaluation.options.cache))
        return forecast(work, loaded.scorer) if work.tasks else "nothing is left to score"


def find_run(evaluation: Evaluation, output: str | Path) -> tuple[Run, Settings | None]:
    """Return the run in a folder, and the settings of one to resume with the same model."""
    run = Run(output)
    run.check_free()
    return run, run.before(evaluation.model)


def choose_filling(evaluation: Evaluation, loaded: Loaded, questions: Questions) -> Filling:
    """Return the function that scores what is missing; it holds the model only to score here."""
    options, scorer = evaluation.options, loaded.scorer
    if evaluation.request.scoring == FREE:
        return partial(fill_predictions, scorer, options)
    fill = partial(fill_scores, choose_workers(evaluation.model, options, loaded), options.cache)
    if scorer.model is not None:
        return fill

    def fill_by_requests(run: Run, settings: Settings, tables: Mapping[str, pa.Table]) -> None:
        check_same_model(run, scorer, questions.texts, evaluation.rows.numbers)
        announce = partial(forecast, scorer=scorer)  # requests may cost money
        fill(run, settings, tables, announce=announce)

    return fill_by_requests


def _warn_of_letters(shares: Mapping[str, float]) -> None:
    for language, share in shares.items():
        if share < 1:
            say(
                f"warning: {1 - share:.1%} of the letters in {language} were not among the most "
                "probable tokens of the server; they count as 1 nat below the least"
            )
