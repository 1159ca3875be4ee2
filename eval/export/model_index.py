"""`model-index`, the results in a model card's metadata, as a file or in the card itself."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult
from huggingface_hub.repocard_data import eval_results_to_model_index

from polyprobe import PolyprobeError

from .card import read_metadata, replace_key
from .described import describe
from .rows import MEAN, find_mean, mean_with_others
from .source import Source
from .writing import REMEDY, as_yaml, write_export

KEY = "model-index"
TASK = "Factual knowledge across languages"
# The columns of the table that `polyprobe eval` shows.
FIGURES = ("accuracy", "rankc", "rankc_adjusted", "coverlap")


def write_model_index(source: Source, output: Path | None) -> Path:
    """Write `model-index.yaml`: what belongs between the two `---` of a model card."""
    index = make_index(source)
    return write_export(output or source.folder / "model-index.yaml", as_yaml({KEY: index}))


def merge_model_index(source: Source, card: Path) -> Path:
    """Put the results into a model card and return its path; nothing else of it changes.

    Results of others stay; those that an earlier export of the same dataset, configuration and
    scoring left are replaced.

    Raises:
        PolyprobeError: no card there, or metadata that are no YAML.
    """
    text, known = read_metadata(card)
    index = known.get(KEY) or []
    try:
        kept = [{**model, "results": list(_others(model["results"], source))} for model in index]
    except (AttributeError, KeyError, TypeError) as error:
        raise PolyprobeError(f"{card}: its {KEY} is not as the Hub expects ({error!r})") from error
    made = make_index(source)
    if kept:  # the card is of one model, whatever it is called there
        made = [{**kept[0], "results": kept[0]["results"] + made[0]["results"]}, *kept[1:]]
    return replace_key(card, text, KEY, made)


def make_index(source: Source) -> list[dict[str, Any]]:
    """Return the model-index, a result a language and figure and one for each figure's mean.

    Raises:
        PolyprobeError: no figure is defined.
    """
    results = list(list_eval_results(source))
    if not results:
        raise PolyprobeError(f"{source.folder}/results.json has no defined figure; {REMEDY}")
    return eval_results_to_model_index(source.settings.model_name, results)


def list_eval_results(source: Source) -> Iterator[EvalResult]:
    """Yield the means, then each language's figures; undefined ones are left out.

    A language is the dataset's split; its RankC and COverlap are means with the other languages.
    """
    for figure in FIGURES:
        row = find_mean(source.rows, figure)
        if row:
            yield make_result(source, figure, MEAN, row.value)
    for language in source.settings.languages:
        for figure in FIGURES:
            value = mean_with_others(source.rows, figure, language)
            if value is not None:
                yield make_result(source, figure, language, value)


def make_result(source: Source, figure: str, language: str, value: float | None) -> EvalResult:
    """Return one result; the signature stands with the means, which have no split."""
    settings, mean = source.settings, language == MEAN
    title = describe(figure, settings.kind).title
    with_others = "" if mean or figure == "accuracy" else ", mean with the other languages"
    args: dict[str, Any] = {"scoring": settings.scoring}
    if settings.limit or settings.sample:
        args["rows"] = settings.sample or settings.limit
    return EvalResult(
        task_type="fill-mask" if settings.kind == "predictions" else "multiple-choice",
        task_name=TASK,
        dataset_type=source.dataset_name,
        dataset_name=source.dataset_name.rpartition("/")[2],
        dataset_config=source.config,
        dataset_split=None if mean else language,
        metric_type=figure,
        metric_name=f"{title} ({source.asked})" if mean else title + with_others,
        metric_value=value,
        metric_args={**args, "signature": settings.signature} if mean else args,
    )


def _others(results: list[dict[str, Any]], source: Source) -> Iterator[dict[str, Any]]:
    """Yield the results without those metrics that an export of this run's kind would make."""
    for result in results:
        dataset = result.get("dataset") or {}
        about = (result["task"].get("name"), dataset.get("type"), dataset.get("config"))
        if about != (TASK, source.dataset_name, source.config):
            yield result
            continue
        metrics = [m for m in result["metrics"] if not _is_ours(m, source.settings.scoring)]
        if metrics:
            yield {**result, "metrics": metrics}


def _is_ours(metric: dict[str, Any], scoring: str) -> bool:
    args = metric.get("args")
    return isinstance(args, dict) and args.get("scoring") == scoring
