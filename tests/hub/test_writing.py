"""Writing to the stand-in Hub through huggingface_hub, in this process, large files over LFS."""

import hashlib
import io
from http.client import HTTPConnection
from pathlib import Path

import pytest
from huggingface_hub import (
    CommitOperationAdd,
    CommitOperationCopy,
    CommitOperationDelete,
    HfApi,
    errors,
)

from tests.hub.lfs import PART
from tests.hub.tokens import Token

NAME = "me/geo"
CARD = "---\nlicense: mit\n---\n# geo\n"


@pytest.fixture
def api(hub, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    hub.tokens["hf_mine"] = Token("me", organisations=("lab",))
    return HfApi(endpoint=hub.url, token="hf_mine")


@pytest.fixture
def geo(hub, api):
    api.create_repo(NAME, repo_type="dataset")
    return hub.repositories["dataset", NAME]


def add(api, files, **more):
    operations = [CommitOperationAdd(path, content) for path, content in files.items()]
    more = {"repo_type": "dataset", "commit_message": "more"} | more
    return api.create_commit(NAME, operations, **more)


def digest(content):
    return hashlib.sha256(content).hexdigest()


KINDS = {
    "model": ({}, "", {".gitattributes"}),
    "dataset": ({}, "datasets/", {".gitattributes"}),
    "space": ({"space_sdk": "gradio"}, "spaces/", {".gitattributes", "README.md"}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_repository_holds_what_the_hub_puts_there(hub, api, kind):
    more, prefix, files = KINDS[kind]
    url = api.create_repo(NAME, repo_type=kind, **more)
    assert (str(url), url.repo_id) == (f"{hub.url}/{prefix}{NAME}", NAME)
    assert api.repo_exists(NAME, repo_type=kind)
    assert {*api.list_repo_files(NAME, repo_type=kind)} == files
    [first] = api.list_repo_commits(NAME, repo_type=kind)
    assert (first.title, first.authors) == ("initial commit", ["system"])
    with pytest.raises(errors.HfHubHTTPError, match="You already created this") as caught:
        api.create_repo(NAME, repo_type=kind, **more)
    assert caught.value.response.status_code == 409
    assert api.create_repo(NAME, repo_type=kind, exist_ok=True, **more) == url
    api.delete_repo(NAME, repo_type=kind)
    assert not api.repo_exists(NAME, repo_type=kind)
    with pytest.raises(errors.RepositoryNotFoundError):
        api.delete_repo(NAME, repo_type=kind)


def test_commits_follow_one_another_and_the_old_ones_stay(hub, api, geo, tmp_path):
    first = add(api, {"README.md": CARD.encode(), "data/a.parquet": b"PAR1 one"})
    second = add(api, {"data/a.parquet": b"PAR1 two", "b.txt": b"b"}, parent_commit=first.oid)
    assert first.commit_url == f"{hub.url}/datasets/{NAME}/commit/{first.oid}"
    assert [c.commit_id for c in api.list_repo_commits(NAME, repo_type="dataset")][:2] == [
        second.oid,
        first.oid,
    ]
    for commit, content in ((first, b"PAR1 one"), (second, b"PAR1 two")):
        folder = api.snapshot_download(
            NAME, repo_type="dataset", revision=commit.oid, cache_dir=tmp_path
        )
        assert Path(folder, "data/a.parquet").read_bytes() == content
        assert Path(folder, "b.txt").exists() == (commit is second)
    [entry] = api.get_paths_info(NAME, "data/a.parquet", repo_type="dataset", expand=True)
    assert (entry.lfs.sha256, entry.last_commit.oid) == (digest(b"PAR1 two"), second.oid)
    [entry] = api.get_paths_info(NAME, "README.md", repo_type="dataset", expand=True)
    assert (entry.lfs, entry.last_commit.oid) == (None, first.oid)


def test_what_is_there_already_is_not_sent_again(hub, api, geo):
    files = {"README.md": CARD.encode(), "data/a.parquet": b"PAR1 one", "notes.txt": b"notes"}
    commit = add(api, files)
    assert sorted(hub.uploaded()) == sorted([digest(b"PAR1 one"), "README.md", "notes.txt"])
    assert sum(request.bytes_received for request in hub.asked("/storage/", "PUT")) == 8
    hub.clear()
    assert add(api, files).oid == commit.oid
    assert not hub.uploaded()
    assert not hub.asked("/commit/")
    add(api, {"copy.parquet": b"PAR1 one", "notes.txt": b"other"})
    assert hub.uploaded() == ["notes.txt"]


@pytest.mark.parametrize("size", [PART, PART + 1, 2 * PART, 2 * PART + 5])
def test_large_files_go_in_parts(hub, api, geo, size):
    content = bytes(range(251)) * (size // 251 + 1)
    add(api, {"a.bin": io.BytesIO(content[:size])})
    assert geo.contents()["a.bin"] == content[:size]
    parts = hub.asked("/storage/", "PUT")
    assert [each.bytes_received for each in parts] == [
        min(PART, size - start) for start in range(0, size, PART)
    ]
    assert hub.uploaded() == [digest(content[:size])]


def test_files_are_large_by_their_name_or_their_size(hub, api, geo):
    add(api, {"a.parquet": b"small", "text.txt": b"x" * (10 * 2**20 + 1), "b.txt": b"small"})
    entries = {e.path: e for e in api.list_repo_tree(NAME, repo_type="dataset")}
    assert [path for path, entry in entries.items() if entry.lfs] == ["a.parquet", "text.txt"]


def test_an_upload_goes_on_from_the_objects_that_arrived(hub, api, geo):
    files = {"a.parquet": b"PAR1 a", "b.parquet": b"PAR1 b"}
    hub.fail("/commit/main", 500)
    with pytest.raises(errors.HfHubHTTPError, match="500"):
        add(api, files)
    assert {*hub.uploaded()} == {digest(content) for content in files.values()}
    assert {*geo.contents()} == {".gitattributes"}
    hub.clear()
    add(api, files)
    assert not hub.uploaded()
    assert {*geo.contents()} == {".gitattributes", *files}


def test_contents_that_never_arrived_cannot_be_committed(hub, api, geo):
    operation = CommitOperationAdd("a.bin", b"a")
    operation._upload_mode, operation._is_uploaded = "lfs", True  # the client believes it
    with pytest.raises(errors.BadRequestError, match="LFS pointer pointed to a file"):
        api.create_commit(NAME, [operation], commit_message="no", repo_type="dataset")
    page, told = (
        f"/storage/dataset/{NAME}/{digest(b'a')}",
        f'{{"oid": "{digest(b"a")}", "size": 1}}',
    )
    assert [send(hub, "PUT", page, "b"), send(hub, "POST", f"{page}/verify", told)] == [400, 404]
    assert [send(hub, "PUT", page, "a"), send(hub, "POST", f"{page}/verify", told)] == [200, 200]
    api.create_commit(NAME, [operation], commit_message="yes", repo_type="dataset")
    assert geo.contents()["a.bin"] == b"a"


def send(hub, method, path, body):
    connection = HTTPConnection("127.0.0.1", hub.server_port)
    connection.request(method, path, body, {"Authorization": "Bearer hf_mine"})
    return connection.getresponse().status


def test_files_are_deleted_renamed_and_folders_too(api, geo):
    add(api, {"a/1.txt": b"1", "a/2.txt": b"2", "a.txt": b"a", "b.bin": b"b", "c.txt": b"c"})
    renamed = [
        CommitOperationCopy("b.bin", "d.bin"),
        CommitOperationDelete("b.bin"),
        CommitOperationCopy("c.txt", "e.txt"),
        CommitOperationDelete("a/"),
    ]
    api.create_commit(NAME, renamed, commit_message="rename", repo_type="dataset")
    assert {k: v for k, v in geo.contents().items() if k != ".gitattributes"} == {
        "a.txt": b"a",
        "c.txt": b"c",
        "d.bin": b"b",
        "e.txt": b"c",
    }
    for wrong in ("none.txt", "none/"):
        deleted = [CommitOperationDelete(wrong)]
        with pytest.raises(errors.EntryNotFoundError, match="A file with this name"):
            api.create_commit(NAME, deleted, commit_message="no", repo_type="dataset")


def test_upload_folder_leaves_out_what_gitignore_names(api, geo, tmp_path):
    for path in ("keep.txt", "drop.tmp", "build/x.txt"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(path, encoding="utf-8")
    (tmp_path / ".gitignore").write_text("# no\n*.tmp\nbuild/\n", encoding="utf-8")
    api.upload_folder(repo_id=NAME, repo_type="dataset", folder_path=tmp_path)
    assert {*geo.contents()} == {".gitattributes", ".gitignore", "keep.txt"}


def test_a_commit_on_another_head_is_refused(api, geo):
    first = add(api, {"a.txt": b"1"})
    add(api, {"a.txt": b"2"})
    with pytest.raises(errors.HfHubHTTPError, match="A commit has happened since") as caught:
        add(api, {"a.txt": b"3"}, parent_commit=first.oid)
    assert caught.value.response.status_code == 412
    assert geo.contents()["a.txt"] == b"2"


def test_branches_and_tags_stay_where_they_were_made(api, geo):
    first = add(api, {"a.txt": b"1"})
    api.create_tag(NAME, tag="v1", repo_type="dataset")
    api.create_branch(NAME, branch="dev/x", repo_type="dataset")
    second = add(api, {"a.txt": b"2"}, revision="dev/x")
    api.create_branch(NAME, branch="old", revision=geo.log()[-1].oid, repo_type="dataset")
    api.create_tag(NAME, tag="v2", revision="dev/x", repo_type="dataset")
    refs = api.list_repo_refs(NAME, repo_type="dataset")
    assert {ref.name: ref.target_commit for ref in refs.branches} == {
        "main": first.oid,
        "dev/x": second.oid,
        "old": geo.log()[-1].oid,
    }
    assert {ref.ref: ref.target_commit for ref in refs.tags} == {
        "refs/tags/v1": first.oid,
        "refs/tags/v2": second.oid,
    }
    third = add(api, {"a.txt": b"3"})
    heads = {"v1": first.oid, "dev/x": second.oid, "main": third.oid, third.oid[:7]: third.oid}
    for revision, oid in heads.items():
        assert api.dataset_info(NAME, revision=revision).sha == oid
    for make in (
        lambda: api.create_branch(NAME, branch="dev/x", repo_type="dataset"),
        lambda: api.create_tag(NAME, tag="v1", repo_type="dataset"),
    ):
        with pytest.raises(errors.HfHubHTTPError, match="exists") as caught:
            make()
        assert caught.value.response.status_code == 409
    api.delete_branch(NAME, branch="dev/x", repo_type="dataset")
    api.delete_tag(NAME, tag="v1", repo_type="dataset")
    with pytest.raises(errors.RevisionNotFoundError):
        add(api, {"a.txt": b"3"}, revision="dev/x")


def test_a_pull_request_leaves_main_until_it_is_merged(hub, api, geo):
    before = geo.commit()
    made = add(api, {"a.txt": b"1"}, create_pr=True)
    assert (made.pr_num, made.pr_revision) == (1, "refs/pr/1")
    assert geo.commit() == before
    assert geo.contents("refs/pr/1")["a.txt"] == b"1"
    add(api, {"b.txt": b"2"}, revision="refs/pr/1")
    [told] = api.get_repo_discussions(NAME, repo_type="dataset")
    assert (told.num, told.title, told.status, told.is_pull_request) == (1, "more", "open", True)
    refs = api.list_repo_refs(NAME, repo_type="dataset", include_pull_requests=True)
    assert [ref.ref for ref in refs.pull_requests] == ["refs/pr/1"]
    assert [ref.name for ref in refs.branches] == ["main"]
    api.merge_pull_request(NAME, 1, repo_type="dataset")
    assert {*geo.contents()} == {".gitattributes", "a.txt", "b.txt"}
    details = api.get_discussion_details(NAME, 1, repo_type="dataset")
    assert (details.status, details.merge_commit_oid) == ("merged", geo.commit())
    draft = api.create_pull_request(NAME, "empty", repo_type="dataset")
    assert draft.git_reference == "refs/pr/2"


def test_a_repository_moves(api, geo):
    add(api, {"a.txt": b"1"})
    api.move_repo(NAME, "lab/geo", repo_type="dataset")
    assert not api.repo_exists(NAME, repo_type="dataset")
    assert "a.txt" in api.list_repo_files("lab/geo", repo_type="dataset")
