"""The stand-in Hub through huggingface_hub, in this process, with the endpoint as an argument."""

import hashlib
import subprocess
from http.client import HTTPConnection
from pathlib import Path

import pytest
from huggingface_hub import HfApi, HfFileSystem, errors

from tests.hub.samples import write_dataset, write_metric
from tests.hub.tokens import Token

PARQUET = "data/small/en.parquet"


@pytest.fixture
def geo(hub, tmp_path):
    return hub.add("dataset", "me/geo", write_dataset(tmp_path / "geo"))


@pytest.fixture
def api(hub, geo):
    return HfApi(endpoint=hub.url, token=False)


def test_info_names_the_commit_and_the_files(api, geo):
    info = api.dataset_info("me/geo")
    assert (info.id, info.author, info.private) == ("me/geo", "me", False)
    assert info.sha == geo.commit()
    files = sorted(str(p.relative_to(geo.folder)) for p in geo.folder.rglob("*") if p.is_file())
    assert sorted(file.rfilename for file in info.siblings) == files
    assert api.dataset_info("me/geo", revision=info.sha).sha == info.sha
    assert api.list_repo_refs("me/geo", repo_type="dataset").branches[0].target_commit == info.sha


def test_space_and_model_are_distinguished_from_a_dataset_of_the_same_name(hub, api, tmp_path):
    folder = write_metric(tmp_path / "geo_metric")
    hub.add("space", "me/geo", folder)
    hub.add("model", "geo", folder)
    assert api.space_info("me/geo").sdk == "gradio"
    assert api.list_repo_files("me/geo", repo_type="space") == ["geo_metric.py"]
    assert api.model_info("geo", revision="main").id == "geo"
    assert PARQUET in api.list_repo_files("me/geo", repo_type="dataset")


def test_ids_of_files_are_those_of_git_and_sha256(api, geo, tmp_path):
    entries = {e.path: e for e in api.list_repo_tree("me/geo", recursive=True, repo_type="dataset")}
    content = (geo.folder / PARQUET).read_bytes()
    sha256 = hashlib.sha256(content).hexdigest()
    version = "version https://git-lfs.github.com/spec/v1"
    text = f"{version}\noid sha256:{sha256}\nsize {len(content)}\n"
    (tmp_path / "pointer").write_text(text, encoding="utf-8")
    command = ["git", "hash-object", "README.md", tmp_path / "pointer"]
    readme, pointer = subprocess.check_output(command, cwd=geo.folder, text=True).split()
    assert (entries["README.md"].blob_id, entries["README.md"].lfs) == (readme, None)
    assert (entries[PARQUET].blob_id, entries[PARQUET].lfs.pointer_size) == (pointer, len(text))
    assert (entries[PARQUET].lfs.sha256, entries[PARQUET].size) == (sha256, len(content))


def test_tree_of_a_folder_and_info_of_paths(api):
    tree = api.list_repo_tree("me/geo", "data", repo_type="dataset")
    assert [entry.path for entry in tree] == ["data/large", "data/small"]
    paths = ["README.md", "data/small", "none.txt"]
    found = api.get_paths_info("me/geo", paths, repo_type="dataset", expand=True)
    assert [(type(e).__name__, e.path) for e in found] == [
        ("RepoFile", "README.md"),
        ("RepoFolder", "data/small"),
    ]
    assert found[0].last_commit.title == "as on disk"


def test_download_and_snapshot_hold_the_bytes(api, geo, tmp_path):
    folder = api.snapshot_download("me/geo", repo_type="dataset", cache_dir=tmp_path / "cache")
    for path in geo.blobs():
        assert Path(folder, path).read_bytes() == (geo.folder / path).read_bytes()


RANGES = {
    "first": ("bytes=0-2", 206, slice(0, 3)),
    "middle": ("bytes=2-5", 206, slice(2, 6)),
    "from": ("bytes=4-", 206, slice(4, None)),
    "last": ("bytes=-3", 206, slice(-3, None)),
    "beyond_the_end": ("bytes=4-9999999", 206, slice(4, None)),
    "outside": ("bytes=9999999-", 416, slice(0, 0)),
    "none": ("", 200, slice(None)),
}


@pytest.mark.parametrize("case", RANGES)
def test_ranges(hub, geo, case):
    wanted, status, part = RANGES[case]
    connection = HTTPConnection("127.0.0.1", hub.server_port)
    path = "/datasets/me/geo/resolve/main/README.md"
    connection.request("GET", path, headers={"Range": wanted} if wanted else {})
    response = connection.getresponse()
    assert response.status == status
    body = response.read()
    if status != 416:
        assert body == (geo.folder / "README.md").read_bytes()[part]
        assert response.headers["X-Repo-Commit"] == geo.commit()
    connection.request("HEAD", path)
    response = connection.getresponse()
    assert (response.status, response.read()) == (200, b"")
    assert int(response.headers["Content-Length"]) == (geo.folder / "README.md").stat().st_size
    connection.close()


@pytest.mark.parametrize("path", ["..%2Fsecret", "../secret", "data/../../secret", "/etc/passwd"])
def test_nothing_outside_the_folder_is_served(hub, geo, tmp_path, path):
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    connection = HTTPConnection("127.0.0.1", hub.server_port)
    connection.request("GET", f"/datasets/me/geo/resolve/main/{path}")
    response = connection.getresponse()
    assert (response.status, response.headers["X-Error-Code"]) == (404, "EntryNotFound")
    connection.close()


def test_file_system_reads_a_part(hub, geo):
    files = HfFileSystem(endpoint=hub.url, token=False)
    content = (geo.folder / PARQUET).read_bytes()
    with files.open(f"datasets/me/geo/{PARQUET}") as file:
        file.seek(-4, 2)
        assert file.read() == content[-4:] == b"PAR1"
    assert files.glob("datasets/me/geo/data/*/en.parquet") == [
        "datasets/me/geo/data/large/en.parquet",
        "datasets/me/geo/data/small/en.parquet",
    ]


ERRORS = {
    "repository": ({"repo_id": "me/none"}, errors.RepositoryNotFoundError),
    "kind": ({"repo_id": "me/geo", "repo_type": "model"}, errors.RepositoryNotFoundError),
    "revision": ({"revision": "v9"}, errors.RevisionNotFoundError),
    "short_commit": ({"revision": "0"}, errors.RevisionNotFoundError),
    "file": ({"filename": "none.txt"}, errors.EntryNotFoundError),
    "folder": ({"filename": "data"}, errors.EntryNotFoundError),
}


@pytest.mark.parametrize("case", ERRORS)
@pytest.mark.parametrize("token", [False, "hf_token"])
def test_errors_are_the_hubs_own(hub, geo, tmp_path, case, token):
    hub.tokens["hf_token"] = Token("me")
    changed, kind = ERRORS[case]
    asked = {"repo_id": "me/geo", "repo_type": "dataset", "filename": "README.md"} | changed
    api = HfApi(endpoint=hub.url, token=token)
    with pytest.raises(kind):
        api.hf_hub_download(**asked, cache_dir=tmp_path / "cache")
    status = 401 if kind is errors.RepositoryNotFoundError and not token else 404
    assert hub.requests[-1].status == status


def test_commit_follows_the_content_alone(geo, tmp_path):
    copy = type(geo)("dataset", "you/geo", write_dataset(tmp_path / "copy"))
    assert copy.commit() == geo.commit()
    (copy.folder / "more.txt").write_text("more", encoding="utf-8")
    assert copy.commit() != geo.commit()
    assert copy.has_revision("main")
    assert copy.has_revision(copy.commit())
    assert not copy.has_revision(geo.commit())
