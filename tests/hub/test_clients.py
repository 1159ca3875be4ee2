"""The clients with the stand-in Hub, each in a separate process with an empty cache."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import polyprobe
from tests.hub.client import NOWHERE, run_client
from tests.hub.samples import LANGUAGES, write_dataset, write_metric, write_model

LOAD = """
from datasets import load_dataset
data = load_dataset(*{arguments}, streaming={streaming})
answer = {{language: list(split) for language, split in data.items()}}
"""
SCORE = """
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
answer = []
for path in {paths}:
    tokenizer = AutoTokenizer.from_pretrained(path)
    model = AutoModelForCausalLM.from_pretrained(path)
    batch = tokenizer("Paris is the capital", return_tensors="pt")
    with torch.inference_mode():
        logits = model(**batch).logits[0, -1].tolist()
    answer.append([batch["input_ids"].tolist(), logits, model.config.model_type])
"""
MEASURE = """
import evaluate
same = evaluate.load("me/same").compute(predictions=[1, 2, 3], references=[1, 0, 3])
scores = {"predictions": [[3.0, 2.0, 1.0]], "references": [[0.9, 0.1, 0.4]]}
answer = [same, evaluate.load("me/rankc").compute(**scores)["rankc"]]
"""


def read(folder, config):
    return {
        language: pq.read_table(folder / "data" / config / f"{language}.parquet").to_pylist()
        for language in LANGUAGES
    }


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    ("arguments", "config"), [(("me/geo", "small"), "small"), (("me/geo",), "large")]
)
def test_dataset_equals_what_lies_on_disk(hub, tmp_path, arguments, config, streaming):
    folder = write_dataset(tmp_path / "geo")
    hub.add("dataset", "me/geo", folder)
    code = LOAD.format(arguments=arguments, streaming=streaming)
    assert run_client(code, tmp_path / "home", hub.url) == read(folder, config)
    assert hub.asked(".parquet", "GET")


def test_dataset_loads_again_from_the_cache_without_the_hub(hub, tmp_path):
    folder = write_dataset(tmp_path / "geo")
    hub.add("dataset", "me/geo", folder)
    code = LOAD.format(arguments=("me/geo", "small"), streaming=False)
    run_client(code, tmp_path / "home", hub.url)
    asked = len(hub.requests)
    assert run_client(code, tmp_path / "home", hub.url, offline=True) == read(folder, "small")
    assert len(hub.requests) == asked


def test_dataset_is_loaded_anew_after_its_files_changed(hub, tmp_path):
    folder = write_dataset(tmp_path / "geo")
    commit = hub.add("dataset", "me/geo", folder).commit()
    code = LOAD.format(arguments=("me/geo", "small"), streaming=False)
    run_client(code, tmp_path / "home", hub.url)
    write_dataset(folder, answer="Lutetia")
    assert hub.repositories["dataset", "me/geo"].commit() != commit
    assert run_client(code, tmp_path / "home", hub.url) == read(folder, "small")


@pytest.mark.acceptance
def test_model_and_tokenizer_equal_what_lies_on_disk(hub, tmp_path):
    folder = write_model(tmp_path / "tiny")
    hub.add("model", "me/tiny", folder)
    home, paths = tmp_path / "home", ["me/tiny", str(folder)]
    [there] = run_client(SCORE.format(paths=paths[:1]), home, hub.url)
    asked = len(hub.requests)
    again, here = run_client(SCORE.format(paths=paths), home, hub.url, offline=True)
    assert len(hub.requests) == asked
    assert there == again == here
    assert here[2] == "llama"
    assert len(hub.asked("model.safetensors", "GET")) == 1


def test_metrics_run_as_on_disk_and_again_without_the_hub(hub, tmp_path):
    hub.add("space", "me/same", write_metric(tmp_path / "same"))
    hub.add("space", "me/rankc", Path(polyprobe.__path__[0], "metrics", "rankc"))
    for endpoint in (hub.url, NOWHERE):
        answer = run_client(MEASURE, tmp_path / "home", endpoint, offline=endpoint == NOWHERE)
        # RankC of Italian > English > Russian and Italian > Russian > English, paper's appendix D
        assert answer == [{"same": 2, "sign": "#1"}, pytest.approx(0.877636, abs=1e-6)]
    assert len(hub.asked("same.py", "GET")) == len(hub.asked("rankc.py", "GET")) == 1


ERRORS = {
    "repository": ("me/none", "small", None, "DatasetNotFoundError", "doesn't exist on the Hub"),
    "revision": ("me/geo", "small", "v9", "DatasetNotFoundError", "Revision 'v9' doesn't exist"),
    "configuration": ("me/geo", "huge", None, "ValueError", "'huge' not found"),
}
FAIL = """
from datasets import load_dataset
answer = []
for name, config, revision in {cases}:
    try:
        answer.append(load_dataset(name, config, revision=revision).num_rows)
    except Exception as error:
        answer.append([type(error).__name__, str(error)])
"""


def test_what_is_not_there_is_reported_by_the_clients_own_errors(hub, tmp_path):
    hub.add("dataset", "me/geo", write_dataset(tmp_path / "geo"))
    cases = [case[:3] for case in ERRORS.values()]
    answers = run_client(FAIL.format(cases=cases), tmp_path / "home", hub.url)
    for (*_, kind, part), (name, message) in zip(ERRORS.values(), answers, strict=True):
        assert name == kind
        assert part in message
