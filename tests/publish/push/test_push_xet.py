"""`polyprobe push` over Xet, the protocol for large files: failures, and resuming after them."""

import pytest

from polyprobe.system.errors import PolyprobeError
from tests.hub.xet_client import use_xet
from tests.publish.push.clients import TOKEN, api, contents, held, run
from tests.publish.push.folders import small_dataset

__all__ = ["api"]
pytestmark = pytest.mark.acceptance

SENT = "/v1/xorb-grants/"
REGISTERED = "/v2/shards"


def sent(hub):
    return sum(request.bytes_received for request in hub.asked("xorb", "PUT"))


def test_a_push_and_the_same_again(api, hub, tmp_path, monkeypatch):
    use_xet(monkeypatch, tmp_path / "xet")
    folder = small_dataset(tmp_path / "geofacts")
    run(folder, "me/geofacts")
    assert hub.asked(REGISTERED)
    assert held(api, "me/geofacts") == contents(folder)
    hub.clear()
    run(folder, "me/geofacts")
    assert {request.method for request in hub.requests} == {"GET"}


@pytest.mark.parametrize("what", [401, 403, 429, 500, "cut before"])
@pytest.mark.parametrize("where", ["/xet-write-token/", SENT, REGISTERED])
def test_failures(where, what, api, hub, tmp_path, monkeypatch):
    use_xet(monkeypatch, tmp_path / "xet")
    folder = small_dataset(tmp_path / "geofacts", rows=5)
    hub.fail(where, what, times=99)
    meant = r"no connection to http" if what == "cut before" else rf"the Hub answered {what} \("
    with pytest.raises(PolyprobeError, match=meant) as raised:
        run(folder, "me/geofacts")
    assert "\n" not in str(raised.value)
    assert TOKEN not in str(raised.value)
    assert held(api, "me/geofacts") == {}
    hub.clear()
    run(folder, "me/geofacts")
    assert held(api, "me/geofacts") == contents(folder)


def test_an_upload_goes_on_where_it_broke_off(api, hub, tmp_path, monkeypatch):
    use_xet(monkeypatch, tmp_path / "xet")
    folder = small_dataset(tmp_path / "geofacts", splits=("de", "en", "es", "fr", "ru"), rows=450)
    hub.fail(REGISTERED, 500, times=99)
    with pytest.raises(PolyprobeError, match="answered 500"):
        run(folder, "me/geofacts")
    first = sent(hub)
    assert first > 50_000
    hub.clear()
    use_xet(monkeypatch, tmp_path / "xet")  # another process, with the records of the first
    run(folder, "me/geofacts")
    assert sent(hub) < first / 10
    assert held(api, "me/geofacts") == contents(folder)
