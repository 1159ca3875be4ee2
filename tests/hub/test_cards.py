"""Checks of cards by the stand-in Hub: before a commit, with it, and by the card class."""

import pytest
from huggingface_hub import CommitOperationAdd, DatasetCard, HfApi, errors

from tests.hub.tokens import Token

NAME = "me/geo"
CARD = "---\nlicense: mit\n---\n# geo\n"


@pytest.fixture
def api(hub):
    hub.tokens["hf_mine"] = Token("me")
    return HfApi(endpoint=hub.url, token="hf_mine")


@pytest.fixture
def geo(hub, api):
    api.create_repo(NAME, repo_type="dataset")
    return hub.repositories["dataset", NAME]


def add(api, card):
    operations = [CommitOperationAdd("README.md", card)]
    return api.create_commit(NAME, operations, commit_message="card", repo_type="dataset")


CARDS = {
    "licence": ("license: gnu", 'license" must be one of'),
    "configs": ("configs: small", '"configs" must be an array'),
    "config_name": ("configs:\n- data_files: x", "config_name"),
    "yaml": ("license: [", "Invalid YAML"),
}


@pytest.mark.parametrize("case", CARDS)
def test_a_wrong_card_stops_the_commit(hub, api, geo, case):
    text, message = CARDS[case]
    card = f"---\n{text}\n---\n# geo\n".encode()
    with pytest.raises(ValueError, match=message):
        add(api, card)
    assert not hub.asked("/commit/")
    with pytest.raises(errors.BadRequestError, match=message):
        add_unchecked(api, card)
    assert {*geo.contents()} == {".gitattributes"}


def add_unchecked(api, card):
    api._validate_yaml = lambda *arguments, **more: None
    add(api, card)


def test_a_card_without_metadata_is_warned_of(api, geo):
    with pytest.warns(UserWarning, match="empty or missing yaml metadata"):
        add(api, b"# geo\n")
    assert geo.contents()["README.md"] == b"# geo\n"


def test_a_served_folder_may_have_a_broken_card(hub, api, tmp_path):
    (tmp_path / "README.md").write_text("---\nlicense: [\n---\n", encoding="utf-8")
    hub.add("dataset", "me/broken", tmp_path)
    assert api.dataset_info("me/broken").siblings[0].rfilename == "README.md"


def test_a_space_has_to_say_how_it_runs(api):
    api.create_repo("me/show", repo_type="space", space_sdk="gradio")
    operations = [CommitOperationAdd("README.md", b"---\ntitle: x\n---\n")]
    with pytest.raises(ValueError, match='"sdk" must be one of'):
        api.create_commit("me/show", operations, commit_message="no", repo_type="space")


def test_a_card_is_pushed_by_its_own_class(hub, api, geo, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.url)
    monkeypatch.setattr("huggingface_hub.hf_api.api", api)
    monkeypatch.setattr("huggingface_hub.repocard.upload_file", api.upload_file)
    DatasetCard(CARD).push_to_hub(NAME, token="hf_mine")
    assert geo.contents()["README.md"].decode() == CARD
    assert api.dataset_info(NAME).card_data.license == "mit"
    with pytest.raises(ValueError, match='- Error: "license" must be one of'):
        DatasetCard(CARD.replace("mit", "gnu")).push_to_hub(NAME, token="hf_mine")
