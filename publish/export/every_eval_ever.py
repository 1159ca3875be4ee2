"""A record for Every Eval Ever, the shared archive of evaluations (schema 0.3.0).

https://github.com/evaleval/every_eval_ever describes the fields and the path of a record. Pairs are
in `csv`: 53 languages have 1,378. So are the shares of types of errors, which have no direction.
"""

import hashlib
import json
import re
import uuid
from pathlib import Path
from typing import Any

from polyprobe.analysis.figures.figures import FIGURES, INFINITE, find_figure
from polyprobe.analysis.figures.results import FigureRow
from polyprobe.system.files import read_toml

from .exported import Exported, write_export

SCHEMA = "0.3.0"
UNKNOWN = "unknown"
# The schema requires figures to be better higher or lower.
DIRECTED = {figure.name for figure in FIGURES if figure.lower_is_better is not None}
BOUNDS = {INFINITE: "Infinity", -INFINITE: "-Infinity"}  # JSON has no infinity


def write_every_eval_ever(exported: Exported, output: Path | None) -> Path:
    """Write the record below a folder (default: `every-eval-ever` in the run); return the file."""
    record = make_record(exported)
    if not record["evaluation_results"]:
        raise exported.no_figure()
    developer, _, model = record["model_info"]["id"].rpartition("/")
    parts = ("data", exported.dataset_name, developer or UNKNOWN, model)
    folder = Path(output or exported.folder / "every-eval-ever", *map(_portable, parts))
    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return write_export(folder / f"{find_uuid(exported)}.json", text)


def make_record(exported: Exported) -> dict[str, Any]:
    """Make the record of a run."""
    settings, versions = exported.settings, exported.settings.versions
    made = f"{exported.scored.timestamp():.0f}"
    model = exported.model_id or settings.model_name
    name = f"{_portable(exported.dataset_name)}.{exported.config}.{settings.scoring}"
    library = {"name": "polyprobe", "version": versions.get("polyprobe", UNKNOWN)}
    engine = {"name": "transformers", "version": versions.get("transformers", UNKNOWN)}
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"{name}.{find_uuid(exported)[:8]}/{model}/{made}",
        "evaluation_timestamp": made,
        "retrieved_timestamp": made,
        **read_toml(__package__, "every_eval_ever.toml"),
        "eval_library": {**library, "additional_details": {"signature": settings.signature}},
        "model_info": {
            "name": settings.model_name,
            "id": model,
            **({"developer": model.partition("/")[0]} if "/" in model else {}),
            "inference_engine": engine,
            "additional_details": {
                "deployment_type": "self_deployed",
                "model_availability": "open_weights" if exported.model_id else UNKNOWN,
                **{name: str(getattr(settings, name)) for name in ("revision", "dtype", "device")},
                **settings.further,
            },
        },
        "evaluation_results": [
            describe_result(exported, row)
            for row in exported.rows
            if row.value is not None and not row.other_language and row.figure in DIRECTED
        ],
    }


def describe_result(exported: Exported, row: FigureRow) -> dict[str, Any]:
    """Describe one figure of a language, of all languages, or a mean."""
    settings, figure = exported.settings, find_figure(row.figure, exported.settings.kind)
    name = f"polyprobe.{row.figure}".replace("@", "_at_")
    if row.figure == "accuracy" and settings.kind == "scores":  # a name of the archive
        name = row.figure
    levels = [("chance", row.chance), ("floor", row.floor)]
    score: dict[str, Any] = {"score": row.value}
    if details := {name: repr(level) for name, level in levels if level is not None}:
        score["details"] = details
    if row.low is not None:
        interval = {"lower": row.low, "upper": row.high, "confidence_level": 0.95}
        score["uncertainty"] = {
            "confidence_interval": {**interval, "method": "bootstrap; of shares, Wilson score"},
            **({} if row.n is None else {"num_samples": row.n}),
            "num_bootstrap_samples": exported.results["resampling"]["n_resamples"],
        }
    protocol = {"scoring": settings.scoring_name, "bos": settings.bos or "tokenizer"}
    protocol |= exported.options
    return {
        "evaluation_result_id": f"{row.figure}.{row.language}",
        "evaluation_name": f"{_portable(exported.dataset_name)}.{exported.config}.{row.language}",
        "source_data": _describe_data(exported, row),
        "metric_config": {
            "evaluation_description": figure.definition,
            "metric_id": name,
            "metric_name": figure.title,
            "metric_unit": "proportion" if figure.highest == 1 else "rank",
            "lower_is_better": figure.lower_is_better,
            "score_type": "continuous",
            "min_score": BOUNDS.get(figure.lowest, figure.lowest),
            "max_score": BOUNDS.get(figure.highest, figure.highest),
        },
        "score_details": score,
        "generation_config": {"additional_details": {**protocol, "rows": exported.selection}},
    }


def _describe_data(exported: Exported, row: FigureRow) -> dict[str, Any]:
    languages = exported.settings.languages
    data: dict[str, Any] = {"dataset_name": exported.dataset_name.rpartition("/")[2]}
    data["source_type"] = "hf_dataset" if exported.dataset_id else "other"
    if exported.dataset_id:
        data["hf_repo"] = exported.dataset_id
        if row.language in languages:
            data["hf_split"] = row.language
        data["samples_number"] = exported.results["n_queries"]
    details = {"config": exported.config, "languages": "+".join(languages)}
    return {**data, "additional_details": details}


def find_uuid(exported: Exported) -> str:
    """Make a version 4 UUID that depends on the run, its resampling and the dataset alone."""
    # A second export then replaces the first.
    parts = [exported.settings.signature, exported.results["resampling"], exported.dataset_name]
    parts += exported.listed_options
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


def _portable(name: str) -> str:
    # slashes and other characters that a file system may refuse
    return re.sub(r'[<>:"/\\|?*\x00-\x1f]', "_", name).rstrip(". ") or UNKNOWN
