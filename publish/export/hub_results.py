"""The results in the two forms that the Hub shows: `.eval_results/*.yaml` and `model-index`."""

from itertools import product
from pathlib import Path
from typing import Any

import huggingface_hub as hub
import yaml
from huggingface_hub.repocard_data import eval_results_to_model_index

from polyprobe.analysis.figures.figures import find_figure
from polyprobe.analysis.figures.results import MEAN, mean_known
from polyprobe.metrics.joint import HEADLINES
from polyprobe.schema.run.protocol import protocol_of
from polyprobe.system.files import write_whole
from polyprobe.system.messages import PolyprobeError, one_line

from .exported import Exported, as_yaml, write_export

KEY = "model-index"
TASK = "Factual knowledge across languages"


def write_eval_results(exported: Exported, output: Path | None) -> Path:
    """Write the results as `.eval_results/polyprobe-NAME-CONFIG.yaml` in the run's folder."""
    # The format is that of https://huggingface.co/docs/hub/eval-results. The documentation requires
    # no scale (its examples are 20.90 and 0.412) and no length of `notes`; values are proportions.
    if exported.dataset_id is None:
        raise PolyprobeError(
            f"{exported.folder} is of a dataset in a folder ({exported.dataset_name}); "
            "give its name on the Hub: --dataset-id OWNER/NAME"
        )
    means = {x.figure: x for x in exported.rows if x.language == MEAN and x.value is not None}
    scoring, entries = f"scoring {exported.settings.scoring_name}", []
    for row in (means[figure] for figure in HEADLINES if figure in means):
        bounds = None if row.low is None else f"95% {row.low:.4f} to {row.high:.4f}"
        chance = None if row.chance is None else f"chance {row.chance:.4f}"
        floor = None if row.floor is None else f"floor {row.floor:.4f} ({row.floor_name})"
        notes = (exported.selection, scoring, bounds, chance, floor, exported.signature)
        # Without `source` and `dataset.revision`: a run in a folder has no URL, and identifies its
        # data by hashes (in the signature), not by a commit.
        names = {"dataset_id": exported.dataset_id, "task_id": f"{exported.config}_{row.figure}"}
        day = exported.scored.date().isoformat()
        names |= {"date": day, "notes": "; ".join(filter(None, notes))}
        entries.append(hub.EvalResultEntry(**names, value=row.value))
    if not entries:
        raise exported.no_figure()
    name = f"polyprobe-{exported.dataset_id.rpartition('/')[2]}-{exported.config}.yaml"
    file = output or exported.folder / ".eval_results" / name
    return write_export(file, as_yaml(hub.eval_result_entries_to_yaml(entries)))


def write_model_index(exported: Exported, output: Path | None) -> Path:
    """Write `model-index.yaml`, for the metadata of a model card."""
    index = eval_results_to_model_index(exported.settings.model_name, list_results(exported))
    return write_export(output or exported.folder / "model-index.yaml", as_yaml({KEY: index}))


def merge_model_index(exported: Exported, card: Path) -> Path:
    """Add the results to a model card and return its path."""
    # Results of other tools stay. The card is replaced whole or not at all; its text and line ends
    # stay. YAML comments and quotes in the metadata are lost.
    if not card.is_file():
        raise PolyprobeError(
            f"no model card {card}; give an existing one, or leave --card out for a separate file"
        )
    try:
        content = hub.ModelCard.load(card)
    except (AttributeError, OSError, ValueError, yaml.YAMLError) as error:
        raise PolyprobeError(f"{card}: its metadata cannot be read: {one_line(error)}") from error
    if content.text.lstrip().startswith("---\n"):
        raise PolyprobeError(f"{card}: its metadata have no closing `---`; add that line")
    data = content.data
    foreign = [x for x in data.eval_results or () if not _is_replaced(x, exported)]
    data.eval_results = [*foreign, *list_results(exported)]
    data.model_name = data.model_name or exported.settings.model_name
    write_whole(card, content.save, "the card is unchanged")
    return card


def _is_replaced(result: hub.EvalResult, exported: Exported) -> bool:
    """Tell whether a result is of an export of the same run."""
    about = (result.task_name, result.dataset_type, result.dataset_config)
    scoring = result.metric_args and result.metric_args.get("scoring")
    own = (TASK, exported.dataset_name, exported.config)
    return about == own and scoring == exported.settings.scoring_name


def list_results(exported: Exported) -> list[hub.EvalResult]:
    """List the results: the headline figures' means, then those of each language."""
    # RankC and COverlap of a language are means with others. Undefined figures are omitted.
    results = []
    for language, figure in product((MEAN, *exported.settings.languages), HEADLINES):
        of_figure = [row for row in exported.rows if row.figure == figure]
        rows = [row for row in of_figure if language in (row.language, row.other_language)]
        value = mean_known(row.value for row in rows)
        if value is not None:
            results.append(make_result(exported, figure, language, value))
    if not results:
        raise exported.no_figure()
    return results


def make_result(exported: Exported, figure: str, language: str, value: float) -> hub.EvalResult:
    """Make one result; means have the signature and no split."""
    settings, mean = exported.settings, language == MEAN
    title = find_figure(figure, settings.kind).title
    with_others = "" if mean or figure == "accuracy" else ", mean with the other languages"
    args: dict[str, Any] = {"scoring": settings.scoring_name}
    if exported.part:
        args["rows"] = settings.sample or settings.limit or exported.part
    for name in ("relations", "exclude"):
        if names := getattr(settings, name):
            args[name] = "+".join(names)
    args |= exported.options
    free = "text-generation" if protocol_of(settings.scoring).answers else "multiple-choice"
    return hub.EvalResult(
        task_type="fill-mask" if settings.kind == "predictions" else free,
        task_name=TASK,
        dataset_type=exported.dataset_name,
        dataset_name=exported.dataset_name.rpartition("/")[2],
        dataset_config=exported.config,
        dataset_split=None if mean else language,
        metric_type=figure,
        metric_name=f"{title} ({exported.selection})" if mean else title + with_others,
        metric_value=value,
        metric_args={**args, "signature": settings.signature} if mean else args,
    )
