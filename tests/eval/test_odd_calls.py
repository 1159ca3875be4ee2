"""Whatever a script gives a public function: a result, or one line of error."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace

import datasets
import numpy as np
import pytest
import torch

from polyprobe.analysis.compare.options import ComparisonOptions
from polyprobe.analysis.compare.runs import compare_runs
from polyprobe.analysis.figures.compute import compute_results, find_results
from polyprobe.analysis.figures.options import MetricOptions
from polyprobe.analysis.groups import GroupOptions
from polyprobe.analysis.groups.groups import group_run
from polyprobe.analysis.options import Bootstrap
from polyprobe.analysis.relate import RelateOptions
from polyprobe.builder.audit import audit_tables
from polyprobe.builder.build import build_balanced, build_dataset, build_own, build_sentences
from polyprobe.builder.objects.find import find_objects
from polyprobe.builder.recipes.requests import BalancedRequest, OwnRequest, SentenceRequest
from polyprobe.builder.sources import read_source
from polyprobe.builder.translators import load_translator
from polyprobe.eval import ConsistencyCallback, evaluate_model, load_scorer
from polyprobe.eval.options import CallbackOptions, EvaluationOptions
from polyprobe.publish.install import install_folder
from polyprobe.report.page import write_report
from polyprobe.report.pictures.draw import save_picture
from polyprobe.report.pictures.order import arrange
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.rows import make_choice
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.options import collect_options
from tests.making.facts import write_facts
from tests.making.runs import SCORES, write_run

ODD = {
    "None": None,
    "number": 5,
    "float": 2.5,
    "NaN": float("nan"),
    "true": True,
    "bytes": b"en",
    "object": object(),
    "empty": "",
    "null byte": "a\0b",
    "surrogate": "a \ud800 [Y]",
    "list": [1, None],
    "dictionary": {"a": 1},
    "set": {1, 2},
    "array": np.arange(3),
    "scalar": np.array(1),
    "tensor": torch.zeros(2),
    "class": int,
}
PROMPT, CANDIDATES = "The capital of France is [Y].", ["Paris", "Rome"]


@pytest.fixture(scope="module")
def here(tmp_path_factory, scorers):
    """A scorer, a dataset, a run and its results."""
    folder = tmp_path_factory.mktemp("odd")
    run = write_run(folder / "run", write_facts(folder / "facts"), SCORES)
    splits = datasets.load_dataset(str(folder / "facts"))
    return SimpleNamespace(folder=folder, run=run, splits=splits, scorer=scorers("gpt2"))


SCORED = {
    "prompts": lambda s, x: s.score(x, [CANDIDATES]),
    "prompt": lambda s, x: s.score([x], [CANDIDATES]),
    "candidates": lambda s, x: s.score([PROMPT], x),
    "row": lambda s, x: s.score([PROMPT], [x]),
    "candidate": lambda s, x: s.score([PROMPT], [["Paris", x]]),
    "counted": lambda s, x: s.score_counted([PROMPT], [x]),
}
CALLS = {
    **{f"score {name}": lambda h, x, call=call: call(h.scorer, x) for name, call in SCORED.items()},
    "load_scorer": lambda h, x: load_scorer(x),
    "load_scorer tokenizer": lambda h, x: load_scorer(h.scorer.model, tokenizer=x),
    "model beside a tokenizer": lambda h, x: load_scorer(x, tokenizer=h.scorer.tokenizer),
    "evaluate_model": lambda h, x: evaluate_model(x, "geofacts"),
    "dataset": lambda h, x: evaluate_model(h.scorer, x),
    "dataset's config": lambda h, x: evaluate_model(h.scorer, h.folder / "facts", x),
    "output": lambda h, x: evaluate_model(h.scorer, h.splits, output=x, limit=1),
    "split": lambda h, x: evaluate_model(h.scorer, {"en": x}),
    "ConsistencyCallback": lambda h, x: ConsistencyCallback(x, h.splits),
    "load_facts": lambda h, x: load_facts(x),
    "languages": lambda h, x: load_facts(h.splits, languages=x),
    "language": lambda h, x: load_facts(h.splits, languages=[x]),
    "config": lambda h, x: load_facts(h.folder / "facts", x),
    "audit_tables": lambda h, x: audit_tables(x, "name"),
    "audited table": lambda h, x: audit_tables({"en": x}, "name"),
    "Run": lambda h, x: find_results(Run(x)),
    "find_results": lambda h, x: find_results(x),
    "bootstrap": lambda h, x: find_results(h.run, x),
    "resamples": lambda h, x: find_results(h.run, Bootstrap(x)),
    "seed": lambda h, x: find_results(h.run, Bootstrap(40, x)),
    "clusters": lambda h, x: find_results(h.run, Bootstrap(40, 0, x)),
    "choice": lambda h, x: compute_results(h.run, Bootstrap(0), x),
    "options": lambda h, x: find_results(h.run, Bootstrap(0), options=x),
    "make_choice": lambda h, x: make_choice(x),
    "exclude": lambda h, x: make_choice(exclude=x),
    "compare_runs": lambda h, x: compare_runs(h.run, x),
    "clusters of a comparison": lambda h, x: compare_runs(h.run, h.run, clusters=x),
    "resamples of a comparison": lambda h, x: compare_runs(h.run, h.run, n_resamples=x),
    "group_run": lambda h, x: group_run(x, "relation"),
    "by": lambda h, x: group_run(h.run, x, GroupOptions(n_resamples=0)),
    "unit": lambda h, x: group_run(h.run, "relation", GroupOptions(unit=x)),
    "write_report": lambda h, x: write_report(x, None),
    "run of a report": lambda h, x: write_report([x], None),
    "file of a report": lambda h, x: write_report([h.run.folder], x),
    "arrange": lambda h, x: arrange(x, "family"),
    "save_picture": lambda h, x: save_picture(x, h.folder / "x.svg"),
    "file of a picture": lambda h, x: save_picture(None, x),
    "build_dataset": lambda h, x: build_dataset(x),
    "configs": lambda h, x: build_dataset("geofacts", x, output=h.folder / "built"),
    "mirror": lambda h, x: build_dataset("bmlama", mirror=x, output=h.folder / "built"),
    "build_balanced": lambda h, x: build_balanced(x),
    "source": lambda h, x: build_balanced(BalancedRequest(x, ("en", "fr"))),
    "build_own": lambda h, x: build_own(x),
    "own facts": lambda h, x: build_own(OwnRequest(x, h.folder), h.folder / "own"),
    "build_sentences": lambda h, x: build_sentences(x),
    "translator": lambda h, x: build_sentences("geofacts", translator=x, output=h.folder / "s"),
    "read_source": lambda h, x: read_source(x),
    "source's languages": lambda h, x: read_source("mlama", Path(), [x]),
    "load_translator": lambda h, x: load_translator(x),
    "translator's option": lambda h, x: load_translator("openai", model="m", timeout=x),
    "sentences": lambda h, x: find_objects(x, ["a"], "en", "none"),
    "sentence": lambda h, x: find_objects([x], ["a"], "en", "none"),
    "label": lambda h, x: find_objects(["a"], [x], "zh", "none"),
    "object's language": lambda h, x: find_objects(["a"], ["a"], x, "none"),
    "threshold": lambda h, x: find_objects(["a b"], ["a"], "en", "none", threshold=x),
    "install_folder": lambda h, x: install_folder(x),
}  # fmt: skip


def find_wrong(call):
    wrong = {}
    for name, value in ODD.items():
        try:
            call(value)
        except PolyprobeError as error:
            if "\n" in str(error):
                wrong[name] = error
        except Exception as error:
            wrong[name] = error
    return wrong


@pytest.mark.parametrize("name", CALLS)
def test_odd_values_are_one_line(name, here, monkeypatch):
    monkeypatch.chdir(here.folder)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert not find_wrong(partial(CALLS[name], here))


GROUPS = (EvaluationOptions, CallbackOptions, MetricOptions, RelateOptions, ComparisonOptions)
REQUESTS = (partial(BalancedRequest, "mlama"), partial(OwnRequest, "facts", "templates"))
REQUESTS += (partial(SentenceRequest, "geofacts"),)


@pytest.mark.parametrize("group", [*GROUPS, *REQUESTS])
def test_odd_options_are_one_line(group):
    for name in collect_options(getattr(group, "func", group)):
        assert not find_wrong(lambda value, name=name: group(**{name: value})), name


def test_lists_of_other_kinds_are_lists(here):
    scores = here.scorer.score([PROMPT], [CANDIDATES])
    for kind in (tuple, np.array, iter):
        assert here.scorer.score(kind([PROMPT]), kind([kind(CANDIDATES)])) == scores
    names = ["en", "ru"]
    assert [*load_facts(here.splits, languages=iter(names))] == names
    assert EvaluationOptions(languages=np.array(names), sample=np.int64(4)) == EvaluationOptions(
        languages=("en", "ru"), sample=4
    )
