"""Uploads over Xet: unmodified huggingface_hub and hf_xet with the stand-in storage."""

import hashlib
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub import CommitOperationAdd, HfApi, errors
from huggingface_hub.utils import http_backoff

from tests.hub.client import run_client
from tests.hub.tokens import Token
from tests.hub.xet_client import XET, use_xet
from tests.hub.xet_format import (
    GROUPED_LZ4,
    LZ4,
    STORED,
    XetError,
    read_hash,
    read_shard,
    read_xorb,
)

SIZE = 3_000_000  # bytes
TOKEN = "hf_write"
COMMIT = """
from huggingface_hub import CommitOperationAdd, HfApi
api = HfApi(token={token!r})
added = [CommitOperationAdd("data/a.parquet", {file!r})]
made = api.create_commit("me/geo", added, commit_message="all", repo_type="dataset")
answer = made.oid
"""


def random_bytes(size, seed=0):
    return np.random.default_rng(seed).bytes(size)


CONTENTS = {
    "random": (random_bytes(SIZE), STORED),
    "repetitive": (b"".join(b"%d is a number.\n" % (n % 997) for n in range(SIZE // 16)), LZ4),
    "floats": (np.random.default_rng(0).normal(size=SIZE // 4).astype("f4").tobytes(), GROUPED_LZ4),
}


def write_parquet(file, rows, seed=0):
    """Write rows of a kilobyte that do not compress, a group a hundred."""
    columns = {"number": range(rows), "noise": [random_bytes(1000, (seed, n)) for n in range(rows)]}
    pq.write_table(pa.table(columns), file, row_group_size=100, compression="none")
    return file


@pytest.fixture
def forget(tmp_path, monkeypatch):
    """Return a function after which hf_xet works as in a new process with an empty cache."""
    caches = iter(range(9))

    def forget():
        use_xet(monkeypatch, tmp_path / f"xet{next(caches)}")

    forget()
    return forget


@pytest.fixture
def api(hub, forget):
    hub.tokens[TOKEN] = Token("me")
    api = HfApi(endpoint=hub.url, token=TOKEN)
    api.create_repo("me/geo", repo_type="dataset")
    return api


def push(api, content, path="data/a.parquet", **options):
    added = [CommitOperationAdd(path, content if isinstance(content, bytes) else str(content))]
    return api.create_commit("me/geo", added, commit_message="one", repo_type="dataset", **options)


def pull(api, tmp_path, path="data/a.parquet"):
    file = api.hf_hub_download(
        "me/geo", path, repo_type="dataset", cache_dir=tmp_path / "cache", force_download=True
    )
    return Path(file).read_bytes()


def sent(hub):
    """Return how many bytes of xorbs and shards came in, and forget them."""
    parts = ("/v1/xorb-uploads/", "/v1/xorbs/", "/v2/shards")
    found = sum(r.bytes_received for part in parts for r in hub.asked(part))
    hub.requests.clear()
    return found


@pytest.mark.parametrize("case", CONTENTS)
def test_content_is_unpacked_whatever_its_compression(hub, api, tmp_path, case):
    content, scheme = CONTENTS[case]
    push(api, content, "data/a.bin")
    [xorb] = hub.xet.grants.values()
    assert xorb[4] == scheme
    assert pull(api, tmp_path, "data/a.bin") == content
    assert not hub.asked("/info/lfs/")
    assert len(xorb) < SIZE if scheme else SIZE < len(xorb) < 1.001 * SIZE


def test_parquet_equals_what_was_pushed(hub, api, tmp_path):
    file = write_parquet(tmp_path / "a.parquet", 3000)
    push(api, file)
    assert pull(api, tmp_path) == file.read_bytes()
    assert 3_000_000 < sent(hub) < 1.01 * file.stat().st_size


def test_same_file_again_sends_nothing_but_its_name(hub, api, forget, tmp_path):
    file = write_parquet(tmp_path / "a.parquet", 3000)
    made = push(api, file)
    sent(hub)
    assert hub.uploaded() == [hashlib.sha256(file.read_bytes()).hexdigest()]
    assert push(api, file).oid == made.oid
    assert 0 < sent(hub) < 1000
    push(api, file, "data/b.parquet")
    assert 0 < sent(hub) < 1000
    forget()
    push(api, file, "data/c.parquet")
    assert 0 < sent(hub) < 1000
    assert pull(api, tmp_path, "data/c.parquet") == file.read_bytes()
    assert len(hub.uploaded()) == 1


def test_grown_file_sends_its_new_part(hub, api, forget, tmp_path):
    push(api, write_parquet(tmp_path / "a.parquet", 3000))
    sent(hub)
    forget()
    grown = write_parquet(tmp_path / "a.parquet", 3200)
    push(api, grown)
    assert pull(api, tmp_path) == grown.read_bytes()
    # two hundred new rows, the last chunk of the old ones (128 KiB at most), the longer footer
    assert 200_000 < sent(hub) < 200_000 + 2**17 + 200_000


def test_push_goes_on_after_its_commit_failed(hub, api, forget, tmp_path):
    file = write_parquet(tmp_path / "a.parquet", 3000)
    before = hub.repositories["dataset", "me/geo"].commit()
    hub.fail("/commit/main", 500)
    with pytest.raises(errors.HfHubHTTPError):
        push(api, file)
    assert sent(hub) > 3_000_000
    assert hub.repositories["dataset", "me/geo"].commit() == before
    forget()
    push(api, file)
    assert sent(hub) < 1000
    assert pull(api, tmp_path) == file.read_bytes()


STAGES = {
    "token": "/xet-write-token/",
    "chunk": "/v1/chunks/",
    "grant": "/v1/xorb-grants/",
    "upload": "/v1/xorb-uploads/",
    "kept": "/v1/xorb-commits/",
    "shard": "/v2/shards",
}


@pytest.mark.parametrize("what", [500, 429, "cut", "cut before"])
@pytest.mark.parametrize("stage", STAGES)
def test_passing_failure_is_tried_again(hub, api, tmp_path, stage, what):
    content = random_bytes(100_000)
    hub.fail(STAGES[stage], what)
    push(api, content)
    assert pull(api, tmp_path) == content


@pytest.mark.parametrize("stage", ["token", "grant", "shard"])
def test_lasting_failure_leaves_the_repository_as_it_was(hub, api, tmp_path, stage):
    content, before = random_bytes(100_000), hub.repositories["dataset", "me/geo"].commit()
    hub.fail(STAGES[stage], 500, times=2)
    with pytest.raises(ConnectionError, match="500 Internal Server Error") as error:
        push(api, content)
    assert TOKEN not in str(error.value)
    assert hub.repositories["dataset", "me/geo"].commit() == before
    hub.requests.clear()
    push(api, content)
    assert bool(hub.asked(STAGES["upload"])) == (stage != "shard")
    assert pull(api, tmp_path) == content


def test_upload_that_broke_off_before_its_shard_goes_on(hub, api, tmp_path, monkeypatch):
    """With this setting only: by default hf_xet records the sent parts every 20 s or 64 xorbs.

    For several files it creates a different xorb each time, and the storage knows the chunks of a
    xorb only by its shard: without a record everything is sent again.
    """
    monkeypatch.setenv("HF_XET_DATA_SESSION_XORB_METADATA_FLUSH_MAX_COUNT", "1")
    contents = [random_bytes(500_000, n) for n in range(6)]
    added = [CommitOperationAdd(f"{n}.bin", content) for n, content in enumerate(contents)]
    told = {"commit_message": "all", "repo_type": "dataset"}
    hub.fail(STAGES["shard"], 500, times=2)
    with pytest.raises(ConnectionError, match="500"):
        api.create_commit("me/geo", added, **told)
    assert sent(hub) > 3_000_000
    use_xet(monkeypatch, tmp_path / "xet0")  # a new process, the same cache
    api.create_commit("me/geo", added, **told)
    assert sent(hub) < 10_000
    held = hub.repositories["dataset", "me/geo"].contents()
    assert [held[f"{n}.bin"] for n in range(6)] == contents


def test_failed_upload_takes_the_other_way(hub, api, tmp_path):
    content = random_bytes(100_000)
    hub.fail(STAGES["upload"], 500, times=2)
    push(api, content)
    assert hub.asked("/v1/xorbs/default/")
    assert pull(api, tmp_path) == content


@pytest.mark.parametrize("lost", [None, b"other"])
def test_file_of_lost_or_wrong_chunks_is_refused(hub, api, lost):
    """A client does not resend chunks that its cache lists as stored."""
    content = random_bytes(100_000)
    push(api, content)
    for name, chunks in hub.xet.xorbs.items():
        hub.xet.xorbs[name] = [lost.ljust(len(chunk)) for chunk in chunks] if lost else []
    with pytest.raises(RuntimeError, match="announced as" if lost else "has no chunks"):
        push(api, content, "data/b.parquet")


def test_token_is_asked_for_everywhere_but_where_a_grant_allows(hub, api):
    name = f"default/{'0' * 64}"
    for method, path in (
        ("GET", f"chunks/{name}"),
        ("POST", f"xorb-grants/{name}"),
        ("POST", f"xorb-commits/{name}/grant/0"),
        ("POST", f"xorbs/{name}"),
    ):
        assert http_backoff(method, f"{hub.url}/v1/{path}").status_code == 401
    assert http_backoff("POST", f"{hub.url}/v2/shards").status_code == 401
    assert http_backoff("PUT", f"{hub.url}/v1/xorb-uploads/0").status_code == 403


def test_stranger_opens_a_pull_request(hub, api, tmp_path):
    hub.tokens["hf_stranger"] = Token("you")
    stranger = HfApi(endpoint=hub.url, token="hf_stranger")
    content, before = random_bytes(100_000), hub.repositories["dataset", "me/geo"].commit()
    with pytest.raises(errors.HfHubHTTPError, match="403"):
        push(stranger, content)
    assert not sent(hub)
    push(stranger, content, create_pr=True)
    geo = hub.repositories["dataset", "me/geo"]
    assert geo.commit() == before
    assert geo.contents("refs/pr/1")["data/a.parquet"] == content


def test_process_pushes_and_keeps_its_token_to_itself(hub, api, tmp_path):
    file, home = write_parquet(tmp_path / "a.parquet", 3000), tmp_path / "home"
    code = COMMIT.format(token=TOKEN, file=str(file))
    commit = run_client(code, home, hub.url, variables=XET)
    assert hub.repositories["dataset", "me/geo"].commit() == commit
    assert pull(api, tmp_path) == file.read_bytes()
    written = [f for f in home.rglob("*") if f.is_file()]
    assert any(re.search("xet/logs", str(f)) for f in written)
    assert not [f for f in written if TOKEN.encode() in f.read_bytes()]


def test_formats_refuse_what_they_cannot_read():
    with pytest.raises(XetError, match="no chunk of 9 bytes ends at 17"):
        read_xorb(bytes([0, 9, 0, 0, 0, 9, 0, 0]) + b"short")
    with pytest.raises(XetError, match="xorb: .*[Ll][Zz]4"):
        read_xorb(bytes([0, 5, 0, 0, LZ4, 9, 0, 0]) + b"short")
    with pytest.raises(XetError, match="unknown compression 3"):
        read_xorb(bytes([0, 5, 0, 0, 3, 5, 0, 0]) + b"short")
    with pytest.raises(XetError, match="not one of version 2"):
        read_shard(bytes(200))
    # api.md of the specification, "Converting hashes to strings"
    assert read_hash(bytes(range(32))).startswith("07060504030201000f0e0d0c0b0a0908")
