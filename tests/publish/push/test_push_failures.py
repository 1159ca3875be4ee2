"""A failure of the Hub gives one line and no partial commit; the same command resumes."""

import pytest
from huggingface_hub import constants

from polyprobe.publish import push as publish
from polyprobe.system.messages import PolyprobeError
from tests.publish.push.clients import TOKEN, api, contents, held, hub_token, messages, run
from tests.publish.push.folders import small_dataset

__all__ = ["api"]
pytestmark = pytest.mark.acceptance

# Every kind of request of a push.
REQUESTS = {
    "whoami": "/api/whoami-v2",
    "info": "/api/datasets/me/geofacts/revision/",
    "tree": "/tree/",
    "create": "/api/repos/create",
    "validate": "/api/validate-yaml",
    "preupload": "/preupload/",
    "batch": "/info/lfs/objects/batch",
    "upload": "/storage/",
    "commit": "/commit/main",
}
NOT_NEEDED = {"validate"}  # the client continues if the Hub does not check the card
OFTEN = 99  # a client tries six times, with each of several files


def push_failing(api, hub, folder, where, what):
    """Push while requests fail; return the error, or None."""
    hub.clear()
    hub.fail(where, what, times=OFTEN)
    error = None
    try:
        run(folder, "me/geofacts")
    except PolyprobeError as raised:
        error = str(raised)
    hub.failures.clear()
    return error


KINDS = [403, 500, "cut"]
FAILURES = {(name, KINDS[n % 3]) for n, name in enumerate(REQUESTS)}
FAILURES |= {("commit", kind) for kind in KINDS}


@pytest.mark.parametrize(("request_", "what"), sorted(FAILURES, key=str))
def test_a_new_repository(request_, what, api, hub, tmp_path, capsys, caplog):
    folder = small_dataset(tmp_path / "geofacts", rows=3)
    error = push_failing(api, hub, folder, REQUESTS[request_], what)
    if (request_, what) == ("commit", "cut"):
        assert error is None  # the commit is found, though its answer was lost
    elif error is not None or request_ not in NOT_NEEDED:
        assert error.startswith("me/geofacts: ")
        assert "\n" not in error
        made = ("dataset", "me/geofacts") in hub.repositories
        assert not made or held(api, "me/geofacts") == {}
    run(folder, "me/geofacts")
    assert held(api, "me/geofacts") == contents(folder)
    assert len(messages(api, "me/geofacts")) == 2
    shown = capsys.readouterr()
    assert TOKEN not in f"{error}{shown.out}{shown.err}{caplog.text}"


@pytest.mark.parametrize(
    ("request_", "what"),
    [("info", 429), ("tree", "cut before"), ("batch", "cut before"), ("commit", 429)],
)
def test_a_repository_that_is_there(request_, what, api, hub, tmp_path):
    old = small_dataset(tmp_path / "old" / "geofacts", rows=4)
    new = small_dataset(tmp_path / "new" / "geofacts", rows=3, splits=("en", "de"))
    run(old, "me/geofacts")
    error = push_failing(api, hub, new, REQUESTS[request_], what)
    assert error
    assert held(api, "me/geofacts") == contents(old)
    run(new, "me/geofacts")
    assert held(api, "me/geofacts") == contents(new)
    assert len(messages(api, "me/geofacts")) == 3


MEANT = {
    401: r"answered 401 .*the token is not valid; make a token with write permission at http",
    403: r"answered 403 .*the token may not do this; make a token with write permission",
    409: r"answered 409 .*somebody changed the repository meanwhile; run the same command again",
    412: r"answered 412 .*somebody changed the repository meanwhile; run the same command again",
    413: r"answered 413 \(Payload Too Large\)",
    429: r"answered 429 .*too many requests; wait 7 s and run the same command again",
    500: r"answered 500 .*the Hub has a fault; run the same command again",
    507: r"answered 507 \(Private repository storage limit reached",
    "cut before": r"no connection to http.*its files are as before; run the same command again",
}


@pytest.mark.parametrize("what", MEANT)
def test_what_is_said_of_a_commit_that_fails(what, api, hub, tmp_path):
    folder = small_dataset(tmp_path / "geofacts", rows=3)
    run(folder, "me/geofacts")
    (folder / "eval.yaml").write_text("name: other\n")
    hub.fail("/commit/main", what, wait=7)
    with pytest.raises(PolyprobeError, match=MEANT[what]) as raised:
        run(folder, "me/geofacts")
    assert "its files are as before" in str(raised.value)


def test_a_push_between_ours_is_not_overwritten(api, hub, tmp_path, monkeypatch):
    folder = small_dataset(tmp_path / "geofacts", rows=3)
    run(folder, "me/geofacts")
    (folder / "eval.yaml").write_text("name: other\n")
    prepare = publish.prepare

    def and_meanwhile(*arguments):
        head = prepare(*arguments)
        theirs = {"path_or_fileobj": b"theirs", "path_in_repo": "eval.yaml"}
        api.upload_file(**theirs, repo_id="me/geofacts", repo_type="dataset")
        return head

    monkeypatch.setattr(publish, "prepare", and_meanwhile)
    with pytest.raises(PolyprobeError, match=r"answered 412 .*run the same command again"):
        run(folder, "me/geofacts")
    assert held(api, "me/geofacts")["eval.yaml"] == b"theirs"


def test_no_token(api, hub, tmp_path, monkeypatch):
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "none"))
    with pytest.raises(PolyprobeError, match=r"no token to push me/geofacts with; make .*HF_TOKEN"):
        run(small_dataset(tmp_path / "geofacts", rows=3), "me/geofacts")
    assert hub.requests == []


def test_a_token_that_may_only_read(api, hub, tmp_path):
    hub.tokens[TOKEN] = hub_token("me", role="read")
    with pytest.raises(PolyprobeError, match=r"token 'test' of me may only read; make a token"):
        run(small_dataset(tmp_path / "geofacts", rows=3), "me/geofacts")
    assert hub.asked("/api/repos/create") == []


def test_an_upload_goes_on_where_it_broke_off(api, hub, tmp_path):
    folder = small_dataset(tmp_path / "geofacts", splits=("de", "en", "es", "fr"))
    hub.fail("/commit/main", 500)
    with pytest.raises(PolyprobeError, match="answered 500"):
        run(folder, "me/geofacts")
    assert len([name for name in hub.uploaded() if len(name) == 64]) == 4
    hub.clear()
    run(folder, "me/geofacts")
    assert [name for name in hub.uploaded() if len(name) == 64] == []
    assert held(api, "me/geofacts") == contents(folder)
