"""A record for Every Eval Ever, the shared archive of evaluations (its schema 0.3.0).

https://github.com/evaleval/every_eval_ever describes the fields and where a record lies:
`data/COLLECTION/DEVELOPER/MODEL/UUID.json`. The record has the means, the figures of all languages
together and those of each language. Those of pairs are left to `csv`: 53 languages have 1,378.
"""

import hashlib
import json
import re
import uuid
from pathlib import Path
from typing import Any

from polyprobe.eval.results.figures import BY_NAME, INFINITE, describe
from polyprobe.system.errors import PolyprobeError

from .exported import REMEDY, Exported, write_export
from .rows import Row

SCHEMA = "0.3.0"
UNKNOWN = "unknown"
# Names that the archive knows; every other figure is named after polyprobe.
KNOWN = {("accuracy", "scores"): "accuracy"}


def write_every_eval_ever(exported: Exported, output: Path | None) -> Path:
    """Write the record below a folder, by default `every-eval-ever` in the run's; return the file.

    The same run has the same file name, so that a second export replaces the first.
    """
    record = make_record(exported)
    if not record["evaluation_results"]:
        raise PolyprobeError(f"{exported.folder}/results.json has no defined figure; {REMEDY}")
    developer, _, model = record["model_info"]["id"].rpartition("/")
    parts = ("data", exported.dataset_name, developer or UNKNOWN, model)
    folder = Path(output or exported.folder / "every-eval-ever", *map(_portable, parts))
    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return write_export(folder / f"{find_uuid(exported)}.json", text)


def make_record(exported: Exported) -> dict[str, Any]:
    """Return the record of a run.

    Who ran it and in which relation to the model's makers is not known to a run: `unknown` and
    `other`, to be set by whoever hands the record in.
    """
    settings = exported.settings
    made = f"{exported.scored.timestamp():.0f}"
    model = exported.model_id or settings.model_name
    name = f"{_portable(exported.dataset_name)}.{exported.config}.{settings.scoring}"
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"{name}.{find_uuid(exported)[:8]}/{model}/{made}",
        "evaluation_timestamp": made,
        "retrieved_timestamp": made,
        "source_metadata": {
            "source_name": "polyprobe",
            "source_type": "evaluation_run",
            "source_organization_name": UNKNOWN,
            "evaluator_relationship": "other",
        },
        "eval_library": {
            "name": "polyprobe",
            "version": settings.versions.get("polyprobe", UNKNOWN),
            "additional_details": {"signature": settings.signature},
        },
        "model_info": describe_model(exported, model),
        "evaluation_results": [
            describe_result(exported, row)
            for row in exported.rows
            if row.value is not None and not row.other_language and row.figure in BY_NAME
        ],
    }


def find_uuid(exported: Exported) -> str:
    """Return a version 4 UUID that is the same for the same run, resampling and dataset."""
    known = [exported.settings.signature, exported.results["resampling"], exported.dataset_name]
    digest = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


def describe_model(exported: Exported, model: str) -> dict[str, Any]:
    """Return what is known of the model; weights in a folder may or may not be open."""
    settings, on_hub = exported.settings, exported.model_id is not None
    details = {
        "deployment_type": "self_deployed",
        "model_availability": "open_weights" if on_hub else UNKNOWN,
        **{name: str(getattr(settings, name)) for name in ("revision", "dtype", "device")},
    }
    engine = {"name": "transformers", "version": settings.versions.get("transformers", UNKNOWN)}
    developer = {"developer": model.partition("/")[0]} if "/" in model else {}
    return {
        "name": settings.model_name,
        "id": model,
        **developer,
        "inference_engine": engine,
        "additional_details": details,
    }


def describe_result(exported: Exported, row: Row) -> dict[str, Any]:
    """Return one figure of a language, of all, or a mean."""
    said = describe(row.figure, exported.settings.kind)
    details = {} if row.chance is None else {"details": {"chance": repr(row.chance)}}
    return {
        "evaluation_result_id": f"{row.figure}.{row.language}",
        "evaluation_name": f"{_portable(exported.dataset_name)}.{exported.config}.{row.language}",
        "source_data": describe_data(exported, row),
        "metric_config": {
            "evaluation_description": said.says,
            "metric_id": KNOWN.get(
                (row.figure, exported.settings.kind), f"polyprobe.{row.figure}".replace("@", "_at_")
            ),
            "metric_name": said.title,
            "metric_unit": "proportion" if said.highest == 1 else "rank",
            "lower_is_better": said.lower_is_better,
            "score_type": "continuous",
            "min_score": _bound(said.lowest),
            "max_score": _bound(said.highest),
        },
        "score_details": {
            "score": row.value,
            **details,
            **describe_uncertainty(exported, row),
        },
        "generation_config": {
            "additional_details": {
                "scoring": exported.settings.scoring,
                "bos": exported.settings.bos or "tokenizer",
                "rows": exported.asked,
            }
        },
    }


def describe_data(exported: Exported, row: Row) -> dict[str, Any]:
    """Return the dataset: a repository of the Hub, or one that lies in a folder."""
    name = exported.dataset_name.rpartition("/")[2]
    details = {"config": exported.config, "languages": "+".join(exported.settings.languages)}
    if exported.dataset_id is None:
        return {"dataset_name": name, "source_type": "other", "additional_details": details}
    split = {"hf_split": row.language} if row.language in exported.settings.languages else {}
    return {
        "dataset_name": name,
        "source_type": "hf_dataset",
        "hf_repo": exported.dataset_id,
        **split,
        "samples_number": exported.results["n_queries"],
        "additional_details": details,
    }


def describe_uncertainty(exported: Exported, row: Row) -> dict[str, Any]:
    """Return the bootstrap interval, nothing where there is none."""
    if row.low is None:
        return {}
    interval = {
        "lower": row.low,
        "upper": row.high,
        "confidence_level": 0.95,
        "method": "bootstrap",
    }
    counted = {} if row.n is None else {"num_samples": row.n}
    resamples = {"num_bootstrap_samples": exported.results["resampling"]["n_resamples"]}
    return {"uncertainty": {"confidence_interval": interval, **counted, **resamples}}


def _bound(value: float) -> float | str:
    """Return a bound as the schema writes it, since JSON has no infinity."""
    return {INFINITE: "Infinity", -INFINITE: "-Infinity"}.get(value, value)


def _portable(name: str) -> str:
    """Return a name as the archive's folders have it: slashes and other marks as underscores."""
    return re.sub(r'[<>:"/\\|?*\x00-\x1f]', "_", name).rstrip(". ") or UNKNOWN
