"""Every published cell of Fluent-mLAMA in the authors' logs, to the printed digit.

The recipe (SPEC, section 4) takes facts of 15 relations for the Slavic languages and of 8 for the
others, excludes those with a too short Google prompt, and averages over relations. Details that the
recipe, the paper and the logs leave open, and the evidence of the cells:

- The paper mentions facts whose Google sentence has another word order. The rule by length gives
  the cells: without it 10 of the 24 cells of recall and rank differ, and 4 of the 6 deltas. The
  sizes in the paper's table 4 are from before the filter (ru P101: 605).
- With a ChatGPT prompt the bound is a third of the mean of two lengths. A third of the template's
  length only, or excluding prompts exactly at the bound, would not change any cell.
- Table 2 does not name its eight relations; those of SPEC give all its six cells.
- A missing prompt would have the length of "nan", 3; these files have none.
- Ranks count from 1 in one list of all correct forms and the distractors; no two are equal.
- The label is the form that the log lists as such; it is always among the ranks. "In all three
  kinds" changes nothing, as the forms are the same for each kind of prompt. Rows with three
  forms are excluded: with them all six deltas differ.
"""

import csv
import io
import zipfile
from ast import literal_eval
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import evaluate
import pytest

from tests.conftest import UPSTREAM

METRICS = Path(__file__).resolve().parents[2] / "metrics"
LOGS = UPSTREAM.parent / "oracles" / "fluent-mlama-logs.zip"

SLAVIC = [
    f"P{n}" for n in (101, 103, 108, 127, 1376, 159, 19, 20, 36, 364, 407, 449, 463, 495, 740)
]
OTHERS = [f"P{n}" for n in (103, 108, 159, 19, 36, 364, 407, 740)]
INFLECTED = [f"P{n}" for n in (101, 1376, 159, 19, 20, 407, 495, 740)]
THREE, TWO = ("template", "gt", "chatgpt"), ("template", "gt")

TABLES = {
    ("ru", THREE): {"template": (0.512, 4.91), "gt": (0.586, 3.95), "chatgpt": (0.545, 4.65)},
    ("uk", THREE): {"template": (0.488, 5.12), "gt": (0.525, 4.43), "chatgpt": (0.492, 5.00)},
    ("zh", TWO): {"template": (0.020, 19.98), "gt": (0.059, 15.68)},
    ("vi", TWO): {"template": (0.587, 4.10), "gt": (0.765, 2.59)},
    ("da", TWO): {"template": (0.568, 4.16), "gt": (0.640, 3.84)},
}
DELTAS = {
    ("ru", THREE): {"template": 5.80, "gt": 8.59, "chatgpt": 7.54},
    ("uk", THREE): {"template": 7.86, "gt": 9.02, "chatgpt": 9.07},
}


class Fact(NamedTuple):
    """A logged fact: its object's label, and by kind of prompt the rank of each correct form."""

    relation: str
    label: str
    ranks: dict[str, dict[str, int]]


def read_facts(
    archive: zipfile.ZipFile, language: str, kinds: Sequence[str], relations: Sequence[str]
) -> list[Fact]:
    """Return the facts of a language that pass the filter by length, in the order of the logs."""
    facts = []
    for relation in relations:
        [name] = [n for n in archive.namelist() if f"/{language}_{relation}_" in n]
        with io.TextIOWrapper(archive.open(name), encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines, delimiter="\t"):
                if has_long_prompt(row):
                    ranks = {kind: literal_eval(row[f"{kind}_true_ranks"]) for kind in kinds}
                    facts.append(Fact(relation, row["obj_label"], ranks))
    return facts


def has_long_prompt(row: dict[str, str]) -> bool:
    """Return whether the Google prompt has at least a third of the others' mean length."""
    others = [row[f"{kind}_prompt"] for kind in ("template", "chatgpt") if f"{kind}_prompt" in row]
    length = sum(len(prompt or "nan") for prompt in others)
    return len(row["gt_prompt"] or "nan") >= length / (3 * len(others))


def tabulate_recall(
    metric: evaluate.Metric,
    archive: zipfile.ZipFile,
    language: str,
    kinds: Sequence[str],
    **options,
) -> dict[str, dict]:
    """Return the result for each kind of prompt: scores -1 ... -N put candidates at their ranks."""
    facts = read_facts(archive, language, kinds, SLAVIC if "chatgpt" in kinds else OTHERS)
    results = {}
    for kind in kinds:
        ranks = [[*fact.ranks[kind].values()] for fact in facts]
        results[kind] = metric.compute(
            predictions=[[float(-place) for place in range(1, max(row) + 1)] for row in ranks],
            references=[[rank - 1 for rank in row] for row in ranks],
            groups=[fact.relation for fact in facts],
            **options,
        )
    return results


def tabulate_deltas(
    metric: evaluate.Metric,
    archive: zipfile.ZipFile,
    language: str,
    kinds: Sequence[str],
    **options,
) -> dict[str, dict]:
    """Return the result for each kind of prompt over facts with two forms, including the label."""
    facts = [
        fact
        for fact in read_facts(archive, language, kinds, INFLECTED)
        if all(len(forms) == 2 and fact.label in forms for forms in fact.ranks.values())
    ]
    results = {}
    for kind in kinds:
        label = [fact.ranks[kind][fact.label] for fact in facts]
        both = [sum(fact.ranks[kind].values()) for fact in facts]
        results[kind] = metric.compute(
            predictions=label,
            references=[total - rank for total, rank in zip(both, label, strict=True)],
            groups=[fact.relation for fact in facts],
            **options,
        )
    return results


@pytest.fixture(scope="module")
def archive():
    if not LOGS.is_file():
        pytest.skip(f"needs the papers' result logs in {LOGS.parent}")
    with zipfile.ZipFile(LOGS) as logs:
        yield logs


@pytest.fixture
def load(tmp_path, monkeypatch):
    monkeypatch.setattr(evaluate.config, "HF_UPDATE_DOWNLOAD_COUNTS", False)
    return lambda name: evaluate.load(str(METRICS / name), cache_dir=str(tmp_path))


@pytest.mark.upstream
@pytest.mark.parametrize(("language", "kinds"), TABLES)
def test_recall_and_mean_rank(load, archive, language, kinds):
    table = tabulate_recall(load("recall_at_k"), archive, language, kinds, k=1, n_resamples=0)
    cells = {
        kind: (round(result["recall@1"], 3), round(result["mean_rank"], 2))
        for kind, result in table.items()
    }
    assert cells == TABLES[language, kinds]
    assert all(result["n_tied"] == 0 for result in table.values())


@pytest.mark.upstream
@pytest.mark.parametrize(("language", "kinds"), DELTAS)
def test_inflection_delta(load, archive, language, kinds):
    table = tabulate_deltas(load("inflection_delta"), archive, language, kinds, n_resamples=0)
    cells = {kind: round(result["inflection_delta"], 2) for kind, result in table.items()}
    assert cells == DELTAS[language, kinds]
