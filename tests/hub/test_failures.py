"""The real clients with a failing Hub, and the state of the stand-in afterwards."""

from types import SimpleNamespace

import httpx2
import pytest
from huggingface_hub import CommitOperationAdd, HfApi, errors

from tests.hub.failures import MESSAGES
from tests.hub.tokens import Token

NAME, DATA = "me/geo", {"repo_type": "dataset"}
FILES = {"a.parquet": b"PAR1 a", "b.txt": b"b"}


@pytest.fixture
def waits(monkeypatch):
    """Return the seconds that the client would have waited."""
    waited = []
    clock = SimpleNamespace(sleep=waited.append)
    monkeypatch.setattr("huggingface_hub.utils._http.time", clock)
    return waited


@pytest.fixture
def api(hub, monkeypatch, waits):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    hub.tokens["hf_mine"] = Token("me")
    return HfApi(endpoint=hub.url, token="hf_mine")


@pytest.fixture
def geo(hub, api):
    api.create_repo(NAME, **DATA)
    hub.clear()
    return hub.repositories["dataset", NAME]


def write(api):
    operations = [CommitOperationAdd(path, content) for path, content in FILES.items()]
    return api.create_commit(NAME, operations, commit_message="data", **DATA)


def written(geo):
    return {path: content for path, content in geo.contents().items() if path in FILES} == FILES


@pytest.mark.parametrize("status", sorted(MESSAGES))
def test_a_commit_that_fails_changes_nothing_and_can_be_repeated(hub, api, geo, status):
    before = geo.commit()
    hub.fail("/commit/", status)
    with pytest.raises(errors.HfHubHTTPError) as caught:
        write(api)
    assert caught.value.response.status_code == status
    assert "hf_mine" not in str(caught.value)
    assert geo.commit() == before
    write(api)
    assert written(geo)


RETRIED = ("/preupload/", "/objects/batch", "/storage/", "/verify")


@pytest.mark.parametrize("where", RETRIED)
@pytest.mark.parametrize("what", [429, 500, 503, "cut", "cut before"])
def test_clients_ask_again_by_themselves(hub, api, geo, waits, where, what):
    hub.fail(where, what, times=2, wait=7)
    write(api)
    assert written(geo)
    assert waits == ([8.0, 8.0] if what == 429 else [1, 2])
    answered = [request.status for request in hub.asked(where)][:3]
    assert answered == ([what] * 2 if isinstance(what, int) else answered[:2]) + [200]


def test_after_six_failures_the_client_gives_up_and_the_rest_is_sent_later(hub, api, geo):
    hub.fail("/storage/", 503, times=6, method="PUT")
    with pytest.raises(RuntimeError, match=r"uploading 'a\.parquet'"):
        write(api)
    assert (written(geo), hub.uploaded()) == (False, [])
    write(api)
    assert written(geo)


def test_a_cut_commit_was_made_but_its_answer_is_lost(hub, api, geo):
    before = geo.commit()
    hub.fail("/commit/", "cut")
    with pytest.raises(httpx2.RemoteProtocolError):
        write(api)
    assert written(geo)
    assert [commit.oid for commit in geo.log()][1:] == [before]
    hub.clear()
    assert write(api).oid == geo.commit()
    assert (hub.uploaded(), hub.asked("/commit/")) == ([], [])


def test_a_commit_cut_before_was_not_made(hub, api, geo):
    before = geo.commit()
    hub.fail("/commit/", "cut before")
    with pytest.raises(httpx2.RemoteProtocolError):
        write(api)
    assert geo.commit() == before
    assert [request.status for request in hub.asked("/commit/")] == [0]


def test_a_download_that_is_cut_is_repeated(hub, api, geo, tmp_path, monkeypatch, waits):
    monkeypatch.setattr("huggingface_hub.file_download.time", SimpleNamespace(sleep=waits.append))
    write(api)
    hub.clear()
    hub.fail("/resolve/", "cut", method="GET")
    path = api.hf_hub_download(NAME, "a.parquet", **DATA, cache_dir=tmp_path)
    with open(path, "rb") as file:
        assert file.read() == FILES["a.parquet"]
    assert [request.status for request in hub.asked("/resolve/", "GET")] == [200, 200]


def test_failures_are_counted_by_path_and_method(hub, api, geo):
    write(api)
    hub.clear()
    hub.fail("/tree/", 404, times=1, after=1)
    hub.fail("/api/datasets/", 403, method="DELETE")
    assert len(list(api.list_repo_tree(NAME, **DATA))) == 3
    with pytest.raises(errors.HfHubHTTPError):
        list(api.list_repo_tree(NAME, **DATA))
    assert len(list(api.list_repo_tree(NAME, **DATA))) == 3
    assert [request.status for request in hub.requests] == [200, 404, 200]


def test_a_creation_that_must_wait_is_repeated_by_the_client(hub, api):
    hub.fail("/repos/create", 409, times=2)
    api.create_repo("me/new", **DATA)
    assert [request.status for request in hub.asked("/repos/create")] == [409, 409, 200]


def test_unknown_failures_are_refused(hub):
    with pytest.raises(ValueError, match="unknown failure 418"):
        hub.fail("/commit/", 418)
