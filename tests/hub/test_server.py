"""What the stand-in refuses, and what real clients read from it; push and load test the rest."""

from pathlib import Path

import pytest
from huggingface_hub import CommitOperationAdd, HfApi, HfFileSystem, errors, hf_hub_download

from tests.hub.client import run_client
from tests.hub.samples import write_dataset, write_metric, write_model
from tests.hub.tokens import Token

LOAD = """
import evaluate
from datasets import load_dataset
from transformers import AutoModelForCausalLM
same = evaluate.load("me/same").compute(predictions=[1, 2], references=[1, 0])
model = AutoModelForCausalLM.from_pretrained("me/tiny").config.model_type
answer = [load_dataset("me/geo", "small").num_rows, same, model]
"""


@pytest.fixture
def apis(hub, monkeypatch):
    """The clients of an owner, of a reader and of nobody."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    hub.tokens |= {"hf_mine": Token("me"), "hf_read": Token("you", "read")}
    return [HfApi(endpoint=hub.url, token=token) for token in ("hf_mine", "hf_read", False)]


def test_a_private_repository_is_hidden_and_a_public_one_is_not_written_by_others(apis):
    owner, reader, nobody = apis
    owner.create_repo("me/geo", repo_type="dataset", private=True)
    assert owner.dataset_info("me/geo").private
    for api, status in ((reader, 404), (nobody, 401)):
        with pytest.raises(errors.RepositoryNotFoundError) as error:
            api.dataset_info("me/geo")
        assert error.value.response.status_code == status
    owner.create_repo("me/open", repo_type="dataset")
    for api, status in ((reader, "403"), (nobody, "401")):
        with pytest.raises(errors.HfHubHTTPError, match=status):
            api.upload_file(
                path_or_fileobj=b"1", path_in_repo="a", repo_id="me/open", repo_type="dataset"
            )


def test_a_commit_needs_its_parent_and_yaml_and_can_be_a_pull_request(apis):
    owner, *_ = apis
    owner.create_repo("me/model")
    head = owner.model_info("me/model").sha

    def add(content, **options):
        operations = [CommitOperationAdd("a.txt", content)]
        return owner.create_commit("me/model", operations, commit_message="a", **options)

    first = add(b"1", parent_commit=head)
    with pytest.raises(errors.HfHubHTTPError, match="A commit has happened since"):
        add(b"2", parent_commit=head)
    pull = add(b"2", create_pr=True)
    assert pull.pr_revision == "refs/pr/1"
    assert owner.model_info("me/model").sha == first.oid
    card = {"operations": [CommitOperationAdd("README.md", b"---\na: [\n---\n")]}
    with pytest.raises((errors.HfHubHTTPError, ValueError), match="Invalid YAML"):
        owner.create_commit("me/model", **card, commit_message="card")


def test_files_are_read_whole_and_in_part(hub, tmp_path):
    folder = write_dataset(tmp_path / "geo")
    commit = hub.add("dataset", "me/geo", folder).commit()
    names = {"repo_id": "me/geo", "repo_type": "dataset", "endpoint": hub.url}
    file = hf_hub_download(**names, filename="README.md", cache_dir=tmp_path / "cache")
    text = (folder / "README.md").read_bytes()
    assert Path(file).read_bytes() == text
    assert commit in file
    system = HfFileSystem(endpoint=hub.url, token=False)
    assert system.cat_file("datasets/me/geo/README.md", start=4, end=9) == text[4:9]
    for missing in ({"filename": "none"}, {"filename": "README.md", "revision": "v9"}):
        with pytest.raises((errors.EntryNotFoundError, errors.RevisionNotFoundError)):
            hf_hub_download(**names, **missing, cache_dir=tmp_path / "cache")


@pytest.mark.acceptance
def test_the_clients_load_what_is_in_folders(hub, tmp_path):
    hub.add("dataset", "me/geo", write_dataset(tmp_path / "geo"))
    hub.add("space", "me/same", write_metric(tmp_path / "same"))
    hub.add("model", "me/tiny", write_model(tmp_path / "tiny"))
    rows, same, kind = run_client(LOAD, tmp_path / "home", hub.url)
    assert (rows, same, kind) == ({"en": 2, "fr": 2}, {"same": 1, "sign": "#1"}, "llama")
