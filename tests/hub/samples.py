"""Small repositories to serve: a dataset of two configurations, a metric."""

from pathlib import Path

from polyprobe.schema.columns import Row
from tests.making.datasets import write_dataset as write_folder

LANGUAGES = ("en", "fr")
METRIC = '''\
"""Count equal pairs."""

import datasets
import evaluate

INTEGERS = {"predictions": datasets.Value("int64"), "references": datasets.Value("int64")}
SIGN = "#1"


class Same(evaluate.Metric):
    def _info(self):
        return evaluate.MetricInfo(
            description="", citation="", inputs_description="", features=datasets.Features(INTEGERS)
        )

    def _compute(self, predictions, references):
        pairs = zip(predictions, references, strict=True)
        return {"same": sum(a == b for a, b in pairs), "sign": SIGN}
'''


def rows(language: str, size: int, answer: str = "Paris") -> list[Row]:
    """Return queries about capitals in a language; they depend on the arguments only."""
    return [
        Row(
            fact_id=f"P36:{number}",
            relation="P36",
            subject_id=f"Q{number}",
            object_id="Q90",
            subject=f"{language} {number}",
            prompt=f"{language} {number}: [Y].",
            candidates=["Roma", answer],
            candidate_ids=["Q220", "Q90"],
            answers=[1],
            answer_forms=[answer],
            template_id="",
        )
        for number in range(size)
    ]


def write_dataset(folder: Path, answer: str = "Paris") -> Path:
    """Write a dataset of the configurations small (2 rows) and large (5 rows, the default)."""
    sizes = {"small": 2, "large": 5}
    configs = {c: {x: rows(x, size, answer) for x in LANGUAGES} for c, size in sizes.items()}
    return write_folder(folder, configs, default="large", head="license: mit")


def write_metric(folder: Path, sign: str = "#1") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    code = METRIC.replace('"#1"', f'"{sign}"')
    (folder / f"{folder.name}.py").write_text(code, encoding="utf-8")
    return folder
