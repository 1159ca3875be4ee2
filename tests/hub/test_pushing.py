"""datasets and evaluate push to the stand-in Hub and load again, in processes with empty caches."""

import pytest
from huggingface_hub import HfApi

from tests.hub.client import run_client
from tests.hub.samples import write_dataset, write_metric
from tests.hub.tokens import Token

PUSH = """
from datasets import Dataset
from huggingface_hub import HfApi
answer = []
for config, split, rows, more in {pushes}:
    Dataset.from_dict({{"text": rows}}).push_to_hub("me/texts", config, split=split, **more)
    answer.append(HfApi().dataset_info("me/texts").sha)
"""
LOAD = """
from datasets import get_dataset_config_names, load_dataset
answer = []
for revision in {revisions}:
    answer.append({{}})
    for config in get_dataset_config_names("me/texts", revision=revision):
        loads = [
            load_dataset("me/texts", config, revision=revision, streaming=streaming)
            for streaming in (False, True)
        ]
        whole, stream = ({{k: [r["text"] for r in v] for k, v in d.items()}} for d in loads)
        assert whole == stream
        answer[-1][config] = whole
"""
PUSHES = [
    ("a", "train", ["x", "y"], {}),
    ("a", "test", ["z"], {}),
    ("b", "train", ["w"], {}),
    ("b", "train", ["v"], {}),
    ("b", "train", ["u"], {"create_pr": True}),
]


@pytest.fixture
def api(hub, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    hub.tokens["hf_mine"] = Token("me")
    return HfApi(endpoint=hub.url, token="hf_mine")


@pytest.mark.acceptance
def test_a_dataset_is_pushed_and_loads_at_each_of_its_revisions(hub, api, tmp_path):
    code = PUSH.format(pushes=PUSHES)
    commits = run_client(code, tmp_path / "home", hub.url, variables={"HF_TOKEN": "hf_mine"})
    assert commits[3] == commits[4] == hub.repositories["dataset", "me/texts"].commit()
    code = LOAD.format(revisions=[commits[0], commits[2], "main", "refs/pr/1"])
    a = {"train": ["x", "y"], "test": ["z"]}
    assert run_client(code, tmp_path / "empty", hub.url) == [
        {"a": {"train": ["x", "y"]}},
        {"a": a, "b": {"train": ["w"]}},
        {"a": a, "b": {"train": ["v"]}},
        {"a": a, "b": {"train": ["u"]}},
    ]


PRIVATE = """
from datasets import load_dataset
answer = []
for token in (False, "hf_read", "hf_mine"):
    try:
        answer.append(load_dataset("me/geo", "small", token=token).num_rows)
    except Exception as error:
        answer.append(str(error))
"""


def test_a_private_dataset_loads_for_its_owner_alone(hub, api, tmp_path):
    api.create_repo("me/geo", repo_type="dataset", private=True)
    folder = write_dataset(tmp_path / "geo")
    api.upload_folder(repo_id="me/geo", repo_type="dataset", folder_path=folder)
    hub.tokens["hf_read"] = Token("you", "read")
    *others, mine = run_client(PRIVATE, tmp_path / "home", hub.url)
    message = "Dataset 'me/geo' doesn't exist on the Hub or cannot be accessed."
    assert others == [message, message]
    assert mine == {"en": 2, "fr": 2}


MEASURE = """
import evaluate
answer = []
for revision in {revisions}:
    same = evaluate.load("me/same", revision=revision)
    answer.append(same.compute(predictions=[1, 2], references=[1, 0]))
"""


def test_a_metric_is_pushed_as_a_space_and_measures(hub, api, tmp_path):
    api.create_repo("me/same", repo_type="space", space_sdk="gradio")
    commits = []
    for sign in ("A", "B"):
        folder = write_metric(tmp_path / "same", sign)
        made = api.upload_folder(repo_id="me/same", repo_type="space", folder_path=folder)
        commits.append(made.oid)
    code = MEASURE.format(revisions=[*commits, None])
    measured = run_client(code, tmp_path / "home", hub.url)
    assert measured == [{"same": 1, "sign": sign} for sign in ("A", "B", "B")]
