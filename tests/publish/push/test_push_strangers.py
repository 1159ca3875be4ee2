"""`polyprobe push` refuses files of others, invalid branches, and files not for the Hub."""

import os
import signal
import socket
import subprocess
from types import SimpleNamespace

import pytest

from polyprobe.publish.hub import Remote, check_ours
from polyprobe.publish.source import Source, read_source
from polyprobe.system.messages import PolyprobeError
from tests.hub.client import POLYPROBE, environment
from tests.making.waiting import PATIENCE
from tests.publish.push.clients import TOKEN, api, held, hub_token, run
from tests.publish.push.folders import edit, metric, small_dataset

__all__ = ["api"]


@pytest.fixture
def folder(tmp_path):
    return small_dataset(tmp_path / "geofacts", rows=4)


def add(api, repo, path, kind="dataset", **options):
    api.upload_file(
        path_or_fileobj=b"theirs", path_in_repo=path, repo_id=repo, repo_type=kind, **options
    )


def test_a_repository_of_others_is_not_written(api, hub, folder):
    api.create_repo("me/thesis", repo_type="dataset")
    add(api, "me/thesis", "data/train/a.parquet")
    with pytest.raises(PolyprobeError, match=r"not from a push \(data/train/a.parquet\)"):
        run(folder, "me/thesis")
    with pytest.raises(PolyprobeError, match="files that are not from a push"):
        run(folder, "me/thesis", dry_run=True)
    assert held(api, "me/thesis") == {"data/train/a.parquet": b"theirs"}
    run(folder, "me/thesis", create_pr=True)
    assert held(api, "me/thesis") == {"data/train/a.parquet": b"theirs"}


@pytest.mark.parametrize(("kind", "made"), [("dataset", False), ("space", False), ("board", True)])
def test_a_first_commit_with_a_page_is_the_hub_s_for_a_static_space_alone(tmp_path, kind, made):
    class Hub:
        def list_repo_commits(self, repo_id, **of):
            return [SimpleNamespace(title="initial commit")]

    remote = Remote(False, "0" * 40, True, dict.fromkeys(["README.md", "index.html"], ""))
    source = Source(tmp_path, kind, {}, [])
    if made:
        check_ours(Hub(), "me/x", source, remote)
    else:
        with pytest.raises(PolyprobeError, match=r"not from a push \(index.html\)"):
            check_ours(Hub(), "me/x", source, remote)


@pytest.mark.parametrize(
    ("revision", "message"),
    [
        ("v1.0", "'v1.0' is not a branch of me/geofacts"),
        ("refs/pr/1", "is not a branch name"),
        ("a b", "is not a branch name"),
    ],
)
def test_what_is_not_a_branch(revision, message, api, hub, folder):
    run(folder, "me/geofacts")
    api.create_tag("me/geofacts", tag="v1.0", repo_type="dataset")
    for dry_run in (True, False):
        with pytest.raises(PolyprobeError, match=message):
            run(folder, "me/geofacts", revision=revision, dry_run=dry_run)


def test_a_pull_request_needs_a_repository(api, folder):
    with pytest.raises(PolyprobeError, match="there is no me/geofacts to open a pull request in"):
        run(folder, "me/geofacts", create_pr=True)
    run(folder, "me/geofacts")
    with pytest.raises(PolyprobeError, match="there is no branch v2 of me/geofacts"):
        run(folder, "me/geofacts", create_pr=True, revision="v2")


def test_the_line_that_loads_names_the_revision(api, folder, capsys):
    run(folder, "me/geofacts", revision="v2")
    assert "load_dataset('me/geofacts', 'default', revision='v2')" in capsys.readouterr().out
    (folder / "eval.yaml").write_text("name: other\n")
    run(folder, "me/geofacts", revision="v2", create_pr=True)
    assert "revision='refs/pr/1')" in capsys.readouterr().out


def test_what_was_made_before_a_failure_is_reported(api, hub, folder):
    hub.fail("/branch/", 500, times=99)
    with pytest.raises(PolyprobeError, match="the repository is there, and empty"):
        run(folder, "me/geofacts", revision="v2")
    hub.clear()
    hub.fail("/commit/", 403)
    with pytest.raises(PolyprobeError, match="branch v2 is there, and is like main"):
        run(folder, "me/geofacts", revision="v2")
    hub.fail("/api/repos/create", "cut")
    with pytest.raises(PolyprobeError, match="the repository may be there, and empty"):
        run(folder, "me/other")
    run(folder, "me/other")


def test_a_licence_that_the_hub_does_not_know_makes_no_repository(api, hub, folder):
    edit(folder / "README.md", "license: other", "license: gpl-9")
    with pytest.raises(PolyprobeError, match=r"answered 400 .*license.*nothing was changed there"):
        run(folder, "me/geofacts")
    assert ("dataset", "me/geofacts") not in hub.repositories


def test_links_that_lead_out_of_the_folder(folder, tmp_path):
    (tmp_path / "id_rsa").write_text("PRIVATE KEY")
    (folder / "LICENSE-key").symlink_to(tmp_path / "id_rsa")
    with pytest.raises(PolyprobeError, match=r"LICENSE-key links to .*id_rsa, outside .*geofacts"):
        read_source(folder)
    (folder / "LICENSE-key").unlink()
    (folder / "LICENSE").symlink_to("nowhere")
    with pytest.raises(PolyprobeError, match="LICENSE is a broken link"):
        read_source(folder)


def test_what_is_not_needed_stays(folder, tmp_path):
    (folder / "LICENSES").mkdir()
    (folder / "LICENSES" / "passwords.txt").touch()
    assert read_source(folder).left_out == ["LICENSES/passwords.txt"]
    rankc = metric(tmp_path)
    (rankc / "my_secrets.py").touch()
    (rankc / "venv").mkdir()
    (rankc / "venv" / "x.py").touch()
    assert read_source(rankc).left_out == ["my_secrets.py", "venv/x.py"]


def test_a_server_that_never_answers(api, hub, folder, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr("polyprobe.publish.hub.WAIT", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setattr(constants, "ENDPOINT", address)
        with pytest.raises(PolyprobeError, match=f"no connection to {address} .*timed out"):
            run(folder, "me/geofacts")
        run(folder, "me/geofacts", dry_run=True)


@pytest.mark.slow
@pytest.mark.acceptance
def test_ctrl_c_is_reported_and_the_same_line_goes_on(hub, folder, tmp_path):
    hub.tokens[TOKEN] = hub_token("me")
    hub.fail("/preupload/", 429, times=99, wait=30)  # the client is interrupted while it waits
    command = [*POLYPROBE, "push", str(folder), "me/geofacts"]
    variables = environment(tmp_path / "home", hub.url, variables={"HF_TOKEN": TOKEN})
    process = subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True)
    lines = iter(process.stderr.readline, "")
    assert any("Rate limited" in line or "429" in line for line in lines)
    os.kill(process.pid, signal.SIGINT)
    said = process.stderr.read()
    assert process.wait(timeout=PATIENCE) == 130
    assert "interrupted; run the same command again to resume" in said
    assert "Traceback" not in said
    hub.clear()
    assert subprocess.run(command, env=variables, check=False).returncode == 0
