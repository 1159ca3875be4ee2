"""Read and write permissions on the stand-in Hub, with the messages of the real one."""

import json
from http.client import HTTPConnection

import pytest
from huggingface_hub import CommitOperationAdd, HfApi, errors

from tests.hub.access import NO_TOKEN, NOT_YOURS, READ_ONLY, UNKNOWN_TOKEN
from tests.hub.tokens import Token

NAME, DATA = "me/geo", {"repo_type": "dataset"}
TOKENS = {
    "hf_mine": Token("me", organisations=("lab",)),
    "hf_read": Token("me", "read"),
    "hf_fine": Token("me", "fineGrained", writes=("me/geo",)),
    "hf_other": Token("you"),
}


@pytest.fixture
def ask(hub, monkeypatch):
    """Return a function that returns the API of a token's user; `me/geo` exists."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    hub.tokens.update(TOKENS)
    mine = HfApi(endpoint=hub.url, token="hf_mine")
    mine.create_repo(NAME, **DATA)
    mine.upload_file(path_or_fileobj=b"a", path_in_repo="a.txt", repo_id=NAME, **DATA)
    hub.clear()
    return lambda token: HfApi(endpoint=hub.url, token=token)


def write(api, name=NAME, path="b.parquet", **more):
    operations = [CommitOperationAdd(path, b"b")]
    return api.create_commit(name, operations, commit_message="b", **DATA, **more)


def refused(kind, status, message, call, *arguments, **more):
    with pytest.raises(kind) as caught:
        call(*arguments, **more)
    assert (caught.value.response.status_code, message in str(caught.value)) == (status, True)
    assert "hf_" not in str(caught.value)


def test_whoami_tells_user_role_and_organisations_never_the_token(ask):
    told = ask("hf_mine").whoami()
    assert (told["name"], [org["name"] for org in told["orgs"]]) == ("me", ["lab"])
    assert told["auth"]["accessToken"]["role"] == "write"
    assert ask("hf_read").whoami()["auth"]["accessToken"]["role"] == "read"
    token = ask("hf_fine").whoami()["auth"]["accessToken"]
    assert [scope["entity"]["name"] for scope in token["fineGrained"]["scoped"]] == ["me/geo"]
    assert "hf_" not in str(told)


def test_an_unknown_token_is_refused_everywhere(ask, hub):
    api = ask("hf_wrong")
    refused(errors.HfHubHTTPError, 401, "Invalid user token", api.whoami)
    for call in (api.dataset_info, api.list_repo_refs):
        refused(errors.HfHubHTTPError, 401, UNKNOWN_TOKEN, call, NAME)
    refused(errors.HfHubHTTPError, 401, UNKNOWN_TOKEN, api.create_repo, "me/new")
    assert "hf_wrong" not in str(hub.requests)


WRITERS = {  # token: status and message of a commit, of a pull request, of a new repository
    False: (401, NO_TOKEN, 401, 401),
    "hf_read": (403, READ_ONLY, 403, 403),
    "hf_other": (403, NOT_YOURS, 200, 403),
    "hf_fine": (200, "", 200, 403),
    "hf_mine": (200, "", 200, 200),
}


@pytest.mark.parametrize("token", WRITERS)
def test_who_may_write(ask, hub, token):
    status, message, pull, new = WRITERS[token]
    api, geo = ask(token), hub.repositories["dataset", NAME]
    before = geo.commit()
    wrong = errors.HfHubHTTPError
    if status != 200:
        refused(wrong, status, message, write, api)
        assert (geo.commit(), hub.uploaded()) == (before, [])
    else:
        write(api)
        assert geo.commit() != before
    if pull != 200:
        refused(wrong, pull, message, write, api, create_pr=True)
    else:
        assert write(api, path="c.parquet", create_pr=True).pr_num == 1
    if new != 200:
        message = NO_TOKEN if new == 401 else 'rights to create a dataset under the namespace "lab"'
        refused(wrong, new, message, api.create_repo, "lab/new", **DATA)
    else:
        assert api.create_repo("lab/new", **DATA).repo_id == "lab/new"


def test_a_fine_grained_token_writes_what_it_names(ask):
    ask("hf_mine").create_repo("me/other", **DATA)
    refused(errors.HfHubHTTPError, 403, NOT_YOURS, write, ask("hf_fine"), "me/other")


def test_who_opened_a_pull_request_may_go_on_with_it(ask, hub):
    opened = ask("hf_other").create_pull_request(NAME, "mine", **DATA)
    for path in ("b.parquet", "c.parquet"):
        write(ask("hf_other"), path=path, revision=opened.git_reference)
    geo = hub.repositories["dataset", NAME]
    assert {*geo.contents("refs/pr/1")} - {*geo.contents()} == {"b.parquet", "c.parquet"}
    hub.tokens["hf_third"] = Token("third")
    more = {"revision": opened.git_reference}
    refused(errors.HfHubHTTPError, 403, NOT_YOURS, write, ask("hf_third"), **more)


def test_auth_check_tells_before_anything_is_sent(ask):
    ask("hf_mine").auth_check(NAME, **DATA, write=True)
    ask("hf_read").auth_check(NAME, **DATA)
    refused(
        errors.HfHubHTTPError, 403, READ_ONLY, ask("hf_read").auth_check, NAME, **DATA, write=True
    )


@pytest.mark.parametrize("when", ["created", "changed"])
def test_a_private_repository_is_hidden_from_others(ask, when):
    mine, name = ask("hf_mine"), "lab/secret"
    mine.create_repo(name, **DATA, private=when == "created")
    mine.update_repo_settings(name, **DATA, private=True)
    write(mine, name)
    assert mine.dataset_info(name).private
    assert ask("hf_mine").hf_hub_download(name, "b.parquet", **DATA)
    for token, status in ((False, 401), ("hf_other", 404), ("hf_read", 404)):
        api = ask(token)
        assert not api.repo_exists(name, **DATA)
        refused(errors.RepositoryNotFoundError, status, "", api.dataset_info, name)
        refused(errors.RepositoryNotFoundError, status, "", api.list_repo_files, name, **DATA)
    mine.update_repo_settings(name, **DATA, private=False)
    assert not ask(False).dataset_info(name).private


def test_a_gated_repository_shows_its_list_and_keeps_its_files(ask, hub, tmp_path):
    ask("hf_mine").update_repo_settings(NAME, **DATA, gated="manual")
    cases = {False: (401, "Please log in"), "hf_other": (403, "not in the authorized list")}
    for token, (status, message) in cases.items():
        api, more = ask(token), {**DATA, "cache_dir": tmp_path / str(token)}
        assert api.dataset_info(NAME).gated == "manual"
        assert "a.txt" in api.list_repo_files(NAME, **DATA)
        refused(errors.GatedRepoError, status, message, api.hf_hub_download, NAME, "a.txt", **more)
    hub.repositories["dataset", NAME].granted.add("you")
    for token in ("hf_other", "hf_read"):
        assert ask(token).hf_hub_download(NAME, "a.txt", **DATA, cache_dir=tmp_path / token)


@pytest.mark.parametrize("name", ["a--b", "a..b", "x" * 97, "-a", "a.git"])
def test_names_that_no_repository_can_have_are_refused(ask, hub, name):
    api = ask("hf_mine")
    with pytest.raises((errors.HFValidationError, errors.BadRequestError)):
        api.create_repo(f"me/{name}", **DATA)
    response = post(hub, {"name": name, "organization": "me", "type": "dataset"})
    assert response.status == 400


def post(hub, fields):
    connection = HTTPConnection("127.0.0.1", hub.server_port)
    head = {"Authorization": "Bearer hf_mine", "Content-Type": "application/json"}
    connection.request("POST", "/api/repos/create", json.dumps(fields), head)
    return connection.getresponse()


def test_a_served_folder_cannot_be_written(ask, hub, tmp_path):
    (tmp_path / "a.txt").write_text("a", encoding="utf-8")
    hub.add("dataset", "me/served", tmp_path)
    refused(errors.HfHubHTTPError, 403, "served read-only", write, ask("hf_mine"), "me/served")
