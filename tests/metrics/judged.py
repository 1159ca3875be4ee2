"""The answers of seven models to X-FaKT's questions, with a judge's ratings."""

import csv
import io
import zipfile

import pytest

from polyprobe.builder.recipes.xfakt import FILES
from tests.conftest import UPSTREAM

ANSWERS = UPSTREAM.parent / "oracles" / "x-fakt-answers.zip"
FOLDER = "results/factual_recall/{}/without_system_prompt/{}.csv"
MODELS = (
    *("gemma-2-9b-it", "gemma-2-2b-it", "Llama-3.2-3B-Instruct", "Llama-3.2-1B-Instruct"),
    *("Mistral-7B-Instruct-v0.2", "Orca-2-7b", "Phi-3.5-mini-instruct"),
)


def read_judged(model: str) -> dict[str, list[dict[str, str]]]:
    """Return the rows of a model's answers by language, in the order of the questions."""
    if not ANSWERS.is_file():
        pytest.skip(f"needs the judged answers, {ANSWERS}")
    tables = {}
    with zipfile.ZipFile(ANSWERS) as archive:
        for language, name in FILES.items():
            file = archive.open(FOLDER.format(model, name))
            with io.TextIOWrapper(file, encoding="utf-8", newline="") as lines:
                tables[language] = [*csv.DictReader(lines)]
    return tables


def is_right(row: dict[str, str]) -> bool:
    """Return whether the judge counts an answer as right: 4 is wrong."""
    return "[4]" not in row["llm_output"]
