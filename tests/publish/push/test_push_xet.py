"""Over Xet, the protocol for large files, a failure is one sentence that hf_xet does not write."""

import pytest
from huggingface_hub import constants
from huggingface_hub.utils import _xet

from polyprobe.system.messages import PolyprobeError
from tests.publish.push.clients import TOKEN, api, held, run
from tests.publish.push.folders import small_dataset

__all__ = ["api"]
pytestmark = pytest.mark.acceptance


@pytest.mark.parametrize("what", [401, 403, 429, 500, "cut before"])
@pytest.mark.parametrize("where", ["/xet-write-token/", "/v1/"])
def test_failures(where, what, api, hub, tmp_path, monkeypatch):
    # one immediate retry; by default five within six minutes
    monkeypatch.setenv("HF_XET_CLIENT_RETRY_MAX_ATTEMPTS", "1")
    monkeypatch.setenv("HF_XET_CLIENT_RETRY_BASE_DELAY", "1ms")
    monkeypatch.setenv("HF_XET_CACHE", str(tmp_path / "xet"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", False)
    monkeypatch.setattr(_xet, "_GLOBAL_XET_HOLDER", _xet.XetSessionHolder())
    hub.fail(where, what, times=99)
    message = r"no connection to http" if what == "cut before" else rf"the Hub answered {what} \("
    with pytest.raises(PolyprobeError, match=message) as error:
        run(small_dataset(tmp_path / "geofacts", rows=5), "me/geofacts")
    assert "\n" not in str(error.value)
    assert TOKEN not in str(error.value)
    assert held(api, "me/geofacts") == {}
