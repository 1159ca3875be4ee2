"""The Spaces without their pages: tables to enter, and the figures of each first example."""

import csv
import json
from importlib import import_module
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from polyprobe.metrics.space import sheet

METRICS = Path(__file__).resolve().parents[2] / "metrics"
NAMES = sorted(path.parent.name for path in METRICS.glob("*/app.py"))
E = 2.718281828459045
# figures of the first example of each page, worked out by hand
FIRST = {
    "rankc": {
        ("English – Spanish", "rankc"): (E**2 * 1 + E * 1 / 2 + 1 * 1) / (E**2 + E + 1),
    },
    # R: the tops share 1, 1 of 2, 3; 1, 2. 2P: 0, 3 of 2, 6; 0, 4. Q: 1, 1 of 2, 3; 1, 2
    "rankc_subject": {
        ("English – Spanish", "rankc_subject"): (
            (2 * E**2 - E / 2) / (E**2 + E + 1) + 2 * E / (E + 1)
        )
        / (2 * E**2 / (E**2 + E + 1) + 2 * E / (E + 1)),
        # the right answers are first, then third and second; then second in both languages
        ("English – Spanish", "rankc_right"): (E**2 / (E**2 + E + 1) + E / (E + 1))
        / (2 * E**2 / (E**2 + E + 1) + 2 * E / (E + 1)),
    },
    "rank_overlap": {
        ("English – Spanish", "rbo"): ((0.1 * 1 + 0.09 * 1 / 2 + 0.081 + 0.729) + (0 + 0.9)) / 2,
        ("English – Spanish", "kendall_tau_b"): ((5 - 1) / 6 - 1) / 2,
        ("English – Spanish", "top_k_overlap@1"): (1 + 0) / 2,
        ("English – Spanish", "top_k_overlap@2"): (1 / 2 + 1) / 2,
    },
    "accuracy_at_1": {
        ("all languages", "accuracy_at_1"): (1 / 2 + 3 / 4) / 2,
        ("English", "accuracy_at_1"): (1 + 0) / 2,
        ("Spanish", "accuracy_at_1"): (1 + 1 / 2) / 2,
    },
    "recall_at_k": {
        ("Russian", "recall@1"): 0,
        ("Russian", "recall@2"): (1 + 0) / 2,
        ("Russian", "recall@3"): (1 + 1 / 2) / 2,
        ("Russian", "mean_rank"): (2 + 3.5) / 2,
    },
    "coverlap": {
        ("all pairs", "coverlap"): (1 / 2 + 1 / 3 + 0 / 3) / 3,
        ("English – Spanish", "coverlap"): 1 / 2,
        ("English – Finnish", "coverlap"): 1 / 3,
        ("Spanish – Finnish", "coverlap"): 0 / 3,
    },
    "answer_agreement": {
        ("all pairs", "agreement"): (1 / 3 + 3 / 3 + 0 / 3) / 3,
        ("all pairs", "agree_wrong"): (0 + 3 / 3 + 0) / 3,
        ("en – fr", "agreement"): 2 / 3,
        ("fr – ru", "agreement"): 1 / 3,
    },
    "contrastive_knowledge": {
        ("all languages", "accuracy"): (1 / 2 + 0) / 2,
        ("Croatian", "tie_share"): 1,
    },
    "factual_accuracy": {
        ("all relations", "accuracy"): (1 / 2 + 1 / 2) / 2,
        ("all relations", "accuracy_single"): (1 / 2 + 0 / 1) / 2,
        ("all relations", "accuracy_multi"): 1 / 1,
        ("P1412", "accuracy_multi"): None,
    },
    "answer_match": {
        ("all languages", "accuracy"): (1 / 2 + 2 / 2) / 2,
        ("en", "refusal"): 1 / 2,
        ("ru", "right"): 2 / 2,
    },
    # A is 0, N the mean of 1 / 2 and 1
    "factual_transfer": {
        ("all languages", "recall"): 3 / 2 * (1 / (3 / 4 + 1) - 1 / 3),
        ("all languages", "transfer"): 2 * (1 / (3 / 4 + 1) - 1 / 2),
        ("all languages", "others"): 1 - 3 / 4,
    },
    "inflection_delta": {
        ("all relations (macro)", "inflection_delta"): ((5 - 2 + 11) / 3 + 1) / 2,
        ("P19", "share_inflected"): 2 / 3,
    },
    "paraphrase_consistency": {
        ("all relations", "consistency"): ((1 / 3 + 1) / 2 + 1) / 2,
        ("all relations", "accuracy"): ((2 / 3 + 0) / 2 + 1) / 2,
        ("all relations", "consistency_accuracy"): ((1 / 3 + 0) / 2 + 1) / 2,
    },
}


def import_app(name):
    return import_module(f"polyprobe.metrics.{name}.app")


def compute(app, text="", files=(), **choices):
    return app.PAGE.compute(sheet.read_sheets(text, files), **choices)


def values(answer):
    return {(figure.label, figure.name): figure.value for figure in answer.entries}


def write_table(path, table):
    """Write a table of columns in the format of the path's ending."""
    if path.suffix == ".parquet":
        pq.write_table(pa.table(table), path)
    elif path.suffix == ".json":
        rows = [dict(zip(table, cells, strict=True)) for cells in zip(*table.values(), strict=True)]
        path.write_text(json.dumps(rows), encoding="utf-8")
    else:
        lines = [list(table), *zip(*table.values(), strict=True)]
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",").writerows(lines)
    return str(path)


RUN = {  # scores/LANG.parquet: the card's example of accuracy@1, in two languages
    "en": [[-0.5, -1.0, -4.0], [-3.0, -0.1]],
    "es": [[-0.9, -3.5, -2.2], [-1.8, -1.8]],
}
