"""`model-index`, the results in a model card's metadata, as a file or in the card itself."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult
from huggingface_hub.repocard_data import eval_results_to_model_index

from polyprobe.eval.results.figures import describe
from polyprobe.metrics.joint import HEADLINES
from polyprobe.system.errors import PolyprobeError

from .card import read_metadata, save_metadata
from .exported import REMEDY, Exported, as_yaml, write_export
from .rows import MEAN, find_mean, mean_with_others

KEY = "model-index"
TASK = "Factual knowledge across languages"


def write_model_index(exported: Exported, output: Path | None) -> Path:
    """Write `model-index.yaml`, for the metadata of a model card."""
    index = make_index(exported)
    return write_export(output or exported.folder / "model-index.yaml", as_yaml({KEY: index}))


def merge_model_index(exported: Exported, card: Path) -> Path:
    """Add the results to a model card and return its path.

    Results of other tools stay; those of an earlier export of the same dataset, configuration and
    scoring are replaced. YAML comments in the metadata are lost.

    Raises:
        PolyprobeError: no such card, or metadata that are not valid YAML.
    """
    known = read_metadata(card)
    index = known.get(KEY) or []
    try:
        kept = [{**model, "results": list(_others(model["results"], exported))} for model in index]
    except (AttributeError, KeyError, TypeError) as error:
        raise PolyprobeError(f"{card}: its {KEY} is not as the Hub expects ({error!r})") from error
    made = make_index(exported)
    if kept:  # the card has one model, whatever its name there
        made = [{**kept[0], "results": kept[0]["results"] + made[0]["results"]}, *kept[1:]]
    return save_metadata(card, {**known, KEY: made})


def make_index(exported: Exported) -> list[dict[str, Any]]:
    """Return the model-index: one result for each headline figure's mean and each language.

    Raises:
        PolyprobeError: no figure is defined.
    """
    results = list(list_eval_results(exported))
    if not results:
        raise PolyprobeError(f"{exported.folder}/results.json has no defined figure; {REMEDY}")
    return eval_results_to_model_index(exported.settings.model_name, results)


def list_eval_results(exported: Exported) -> Iterator[EvalResult]:
    """Yield the means, then each language's figures; undefined ones are omitted.

    A language is a split of the dataset; its RankC and COverlap are means with other languages.
    """
    for figure in HEADLINES:
        row = find_mean(exported.rows, figure)
        if row:
            yield make_result(exported, figure, MEAN, row.value)
    for language in exported.settings.languages:
        for figure in HEADLINES:
            value = mean_with_others(exported.rows, figure, language)
            if value is not None:
                yield make_result(exported, figure, language, value)


def make_result(exported: Exported, figure: str, language: str, value: float | None) -> EvalResult:
    """Return one result; means have the signature and no split."""
    settings, mean = exported.settings, language == MEAN
    title = describe(figure, settings.kind).title
    with_others = "" if mean or figure == "accuracy" else ", mean with the other languages"
    args: dict[str, Any] = {"scoring": settings.scoring}
    if exported.part:
        args["rows"] = settings.sample or settings.limit
    return EvalResult(
        task_type="fill-mask" if settings.kind == "predictions" else "multiple-choice",
        task_name=TASK,
        dataset_type=exported.dataset_name,
        dataset_name=exported.dataset_name.rpartition("/")[2],
        dataset_config=exported.config,
        dataset_split=None if mean else language,
        metric_type=figure,
        metric_name=f"{title} ({exported.asked})" if mean else title + with_others,
        metric_value=value,
        metric_args={**args, "signature": settings.signature} if mean else args,
    )


def _others(results: list[dict[str, Any]], exported: Exported) -> Iterator[dict[str, Any]]:
    """Yield the results without the metrics that an export of this run replaces."""
    for result in results:
        dataset = result.get("dataset") or {}
        about = (result["task"].get("name"), dataset.get("type"), dataset.get("config"))
        if about != (TASK, exported.dataset_name, exported.config):
            yield result
            continue
        metrics = [m for m in result["metrics"] if not _is_ours(m, exported.settings.scoring)]
        if metrics:
            yield {**result, "metrics": metrics}


def _is_ours(metric: dict[str, Any], scoring: str) -> bool:
    args = metric.get("args")
    return isinstance(args, dict) and args.get("scoring") == scoring
