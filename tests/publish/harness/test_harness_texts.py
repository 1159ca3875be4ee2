"""The harnesses score the same texts as polyprobe's scorers."""

import ast
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import jinja2
import pytest
import yaml

from polyprobe.publish.harness import export_dataset
from polyprobe.scoring.engine import Plan
from polyprobe.scoring.scorers import Queries
from polyprobe.scoring.scorers.causal import CausalObjectScorer, CausalScorer
from tests.publish.harness.harness_rows import ROWS, load_module, write_dataset

ENVIRONMENT = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
EVERY = [row for rows in ROWS.values() for row in rows]


def list_sentences(prompt: str, candidates: list[str]) -> list[str]:
    seen: list[str] = []
    scorer = CausalScorer.__new__(CausalScorer)
    scorer._sentence_ids = lambda sentences: seen.extend(sentences) or [(0, 1)] * len(sentences)
    scorer.plan(Plan(), Queries([prompt], [candidates], {}))
    return seen


def list_prefix(prompt: str) -> str:
    seen: list[str] = []
    scorer = CausalObjectScorer.__new__(CausalObjectScorer)
    scorer.prefixes = lambda texts: seen.extend(texts) or [(0,)] * len(texts)
    scorer.plan(Plan(), Queries([prompt], [["a"]], {"a": (1,)}))
    return seen[0]


def render(template: str, row: dict) -> str:
    return ENVIRONMENT.from_string(template).render(**row)


def as_row(prompt, candidates, answers) -> dict:
    return {"prompt": prompt, "candidates": candidates, "answers": answers}


@pytest.fixture
def folder(tmp_path) -> Path:
    return write_dataset(tmp_path / "tiny")


def read_shared(folder: Path, output: Path, scoring: str) -> dict:
    file = export_dataset(folder, "lm-eval", output, scoring=scoring)[1]
    return yaml.safe_load(file.read_text("utf-8"))


def test_lm_eval_chooses_between_the_sentences_of_equation_10(folder, tmp_path):
    shared = read_shared(folder, tmp_path / "out", "bmlama")
    assert shared["doc_to_text"] == shared["target_delimiter"] == ""
    assert shared["doc_to_target"] == "answers"
    for row in EVERY:
        choices = ast.literal_eval(render(shared["doc_to_choice"], as_row(*row)))
        assert choices == list_sentences(*row[:2])


def test_lm_eval_has_the_object_behind_the_prompt(folder, tmp_path):
    shared = read_shared(folder, tmp_path / "out", "object")
    assert shared["doc_to_choice"] == "candidates"
    assert shared["target_delimiter"] == ""
    for row in EVERY:
        assert render(shared["doc_to_text"], as_row(*row)) == list_prefix(row[0])


@pytest.fixture
def lighteval(monkeypatch) -> None:
    """Stand-ins for the names that the tasks import: records of their arguments."""
    names = {
        "metrics.metrics_sample": {"SampleLevelComputation": object},
        "metrics.utils.metric_utils": {"SampleLevelMetric": SimpleNamespace},
        "tasks.lighteval_task": {"LightevalTaskConfig": SimpleNamespace},
        "tasks.requests": {"Doc": SimpleNamespace, "SamplingMethod": SimpleNamespace(LOGPROBS=0)},
    }
    for path, content in names.items():
        module = ModuleType(f"lighteval.{path}")
        module.__dict__.update(content)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    for path in ("", ".metrics", ".metrics.utils", ".tasks"):
        monkeypatch.setitem(sys.modules, f"lighteval{path}", ModuleType(f"lighteval{path}"))


def load(folder: Path, output: Path, scoring: str = "bmlama", **options) -> ModuleType:
    return load_module(export_dataset(folder, "lighteval", output, scoring=scoring, **options)[0])


def choices(doc) -> list[str]:
    return doc.choices[: doc.specific["n_choices"]]


@pytest.mark.usefixtures("lighteval")
def test_lighteval_chooses_between_the_sentences_of_equation_10(folder, tmp_path):
    module = load(folder, tmp_path / "out")
    for row in EVERY:
        doc = module.ask_sentence(as_row(*row), "task")
        assert (doc.query, choices(doc), doc.gold_index) == ("", list_sentences(*row[:2]), row[2])
        assert len(doc.choices[-1].split()) == len(row[1])  # a token each, whatever the tokenizer


@pytest.mark.usefixtures("lighteval")
def test_lighteval_has_the_object_behind_the_prompt(folder, tmp_path):
    module = load(folder, tmp_path / "out", "object")
    for row in EVERY:
        doc = module.ask_object(as_row(*row), "task")
        assert (doc.query, choices(doc)) == (list_prefix(row[0]), row[1])


@pytest.mark.usefixtures("lighteval")
def test_without_bos_the_first_word_or_letter_is_the_context(folder, tmp_path):
    module = load(folder, tmp_path / "out")
    queries = {
        "Oslo lies in [Y].": "Oslo",
        " Oslo lies in [Y].": " Oslo",
        "12 [Y]": "12",
        "オスロは[Y]にある。": "オ",
        "a[Y]": "a",
        " a[Y]": " a",
    }
    for prompt, query in queries.items():
        row = as_row(prompt, ["x", "y z"], [1])
        doc = module.ask_behind_first_word(row, "task")
        assert doc.query == query
        assert [query + choice for choice in choices(doc)] == list_sentences(prompt, ["x", "y z"])


@pytest.mark.usefixtures("lighteval")
def test_a_task_a_language_and_none_without_bos_where_a_prompt_begins_with_the_slot(
    folder, tmp_path
):
    module = load(folder, tmp_path / "out")
    names = [task.name for task in module.TASKS_TABLE]
    stem = "polyprobe_tiny_default"
    assert names == [f"{stem}:en", f"{stem}:ja", f"{stem}_no_bos:en"]
    assert "prompts that begin with the slot: ja (2)." in module.__doc__
    assert {task.hf_repo for task in module.TASKS_TABLE} == {str(tmp_path / "out" / f"{stem}.data")}
    assert [task.evaluation_splits for task in module.TASKS_TABLE] == [["en"], ["ja"], ["en"]]


@pytest.mark.usefixtures("lighteval")
def test_the_metrics_divide_by_tokens_letters_and_bytes(folder, tmp_path):
    module = load(folder, tmp_path / "out")
    doc = SimpleNamespace(
        choices=["aaaa", "éé", "bbbbbbbb", "0 1 2"], specific={"n_choices": 3}, gold_index=[1]
    )
    response = SimpleNamespace(
        logprobs=[-6.0, -5.0, -8.8, -0.1],
        # means a token -3, -5, -2.2; a letter -1.5, -2.5, -1.1; a byte -1.5, -1.25, -1.1
        output_tokens=[[5, 5, -1, -1], [5, -1, -1, -1], [5, 5, 5, 5], [5, 5, 5, -1]],
    )
    for gold, right in ((1, {"acc"}), (2, {"acc_tokens", "acc_norm", "acc_bytes"}), (0, set())):
        doc.gold_index = [gold]
        found = {m.metric_name for m in module.METRICS if m.sample_level_fn.compute(doc, response)}
        assert found == right
