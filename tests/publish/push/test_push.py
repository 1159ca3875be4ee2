"""`polyprobe push` with the real client and the stand-in Hub: one commit with the changes."""

import re

import pyarrow.parquet as pq
import pytest

from polyprobe.publish.hub import read_remote
from polyprobe.publish.source import address_card, read_source
from polyprobe.system.messages import PolyprobeError
from tests.publish.push.clients import TOKEN, api, contents, held, hub_token, messages, run
from tests.publish.push.folders import edit, metric, small_dataset

__all__ = ["api"]


@pytest.mark.parametrize("kind", ["dataset", "space"])
def test_a_push_and_the_same_again(kind, api, hub, tmp_path, capsys):
    dataset = kind == "dataset"
    folder = small_dataset(tmp_path / "geofacts") if dataset else metric(tmp_path)
    repo = f"me/{folder.name}"
    run(folder, repo)
    assert held(api, repo, kind) == contents(folder)
    assert len(messages(api, repo, kind)) == 2  # the Hub's own first one, and ours
    assert messages(api, repo, kind)[0].startswith(f"{folder.name} ")
    assert address_card(read_source(folder), repo).fingerprint in messages(api, repo, kind)[0]
    call = f"use: {'load_dataset' if dataset else 'evaluate.load'}('{repo}'"
    assert call in capsys.readouterr().out
    hub.clear()
    run(folder, repo)
    assert hub.uploaded() == []
    assert {request.method for request in hub.requests} == {"GET"}
    assert "nothing to upload, all" in capsys.readouterr().out


def test_only_what_changed(api, hub, tmp_path):
    folder = small_dataset(tmp_path / "geofacts", splits=("en", "fr", "de"))
    run(folder, "me/geofacts")
    (folder / "eval.yaml").write_text("name: other\n")
    small_dataset(tmp_path / "new" / "geofacts", rows=21)
    hub.clear()
    run(tmp_path / "new" / "geofacts", "me/geofacts")
    assert len(hub.uploaded()) == len(["en", "fr", "README.md"])
    assert held(api, "me/geofacts") == contents(tmp_path / "new" / "geofacts")  # de is gone
    assert len(messages(api, "me/geofacts")) == 3


def test_what_others_put_there_stays(api, tmp_path, capsys):
    folder = metric(tmp_path)
    run(folder, "me/rankc")
    api.upload_file(
        path_or_fileobj=b"png", path_in_repo="me.png", repo_id="me/rankc", repo_type="space"
    )
    (folder / "app.py").write_text("import gradio\n")
    run(folder, "me/rankc")
    assert held(api, "me/rankc", "space") == contents(folder) | {"me.png": b"png"}
    run(folder, "me/rankc", dry_run=True)
    assert "kept in the repository, not from a push: me.png" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["dataset", "space"])
def test_the_examples_of_a_pushed_card_name_the_repository(kind, api, tmp_path):
    folder = small_dataset(tmp_path / "geofacts") if kind == "dataset" else metric(tmp_path)
    local = (folder / "README.md").read_text(encoding="utf-8")
    repo = "me/world" if kind == "dataset" else "me/rankc"
    run(folder, repo)
    card = held(api, repo, kind)["README.md"].decode()
    names = re.findall(r"""(?:load_dataset|evaluate\.load)\(['"]([^'"]+)['"]""", card)
    of_space = ["rankc", "me/rankc", "me/rankc"]  # the first after `polyprobe install`
    assert names == ([repo] if kind == "dataset" else of_space)
    assert "from the folder" not in card
    assert len(card.splitlines()) == len(local.splitlines())
    assert (folder / "README.md").read_text(encoding="utf-8") == local


def test_a_dry_run_shows_the_files_and_asks_for_no_right(api, hub, tmp_path, capsys):
    folder = small_dataset(tmp_path / "geofacts")
    run(folder, "me/geofacts", dry_run=True)
    shown = capsys.readouterr().out
    size = (folder / "data/default/en.parquet").stat().st_size
    assert f"A data/default/en.parquet  {size:,} bytes" in shown
    assert len(shown.splitlines()) == 4 + 2  # files, then the counts and the message
    assert "me/geofacts, a new repository: 4 files added" in shown
    assert {request.method for request in hub.requests} == {"GET"}
    run(folder, "me/geofacts")
    edit(folder / "README.md", "pretty_name: geofacts", "pretty_name: Geofacts")
    capsys.readouterr()
    run(folder, "me/geofacts", dry_run=True)
    shown = capsys.readouterr().out
    assert "M README.md" in shown
    assert "= data/default/en.parquet" in shown
    assert "0 files added, 1 changed" in shown


def test_private_and_a_branch(api, hub, tmp_path, capsys):
    folder = small_dataset(tmp_path / "geofacts")
    run(folder, "me/geofacts", private=True)
    assert api.repo_info("me/geofacts", repo_type="dataset").private
    first = contents(folder)
    small = small_dataset(tmp_path / "small" / "geofacts", rows=5)
    hub.clear()
    run(small, "me/geofacts", revision="v2", private=True)
    assert held(api, "me/geofacts") == first
    assert held(api, "me/geofacts", revision="v2") == contents(small)
    run(folder, "me/public")
    capsys.readouterr()
    with pytest.raises(PolyprobeError, match="me/public is public already"):
        run(folder, "me/public", private=True)


def test_a_pull_request_is_opened_once(api, hub, tmp_path, capsys):
    folder = small_dataset(tmp_path / "geofacts")
    run(folder, "me/geofacts")
    small = small_dataset(tmp_path / "small" / "geofacts", rows=5)
    before = held(api, "me/geofacts")
    run(small, "me/geofacts", create_pr=True)
    assert held(api, "me/geofacts") == before
    assert held(api, "me/geofacts", revision="refs/pr/1") == contents(small)
    hub.clear()
    run(small, "me/geofacts", create_pr=True)
    assert hub.uploaded() == []
    assert "an open pull request has these files already" in capsys.readouterr().out
    assert len(api.list_repo_refs("me/geofacts", repo_type="dataset").branches) == 1


def test_a_licence_that_forbids(api, hub, tmp_path, capsys):
    folder = small_dataset(tmp_path / "geofacts")
    edit(folder / "README.md", "license: other", "license: unknown")
    with pytest.raises(PolyprobeError, match=r"licence is 'unknown': .* --despite-license unknown"):
        run(folder, "me/geofacts")
    with pytest.raises(PolyprobeError, match="--despite-license unknown"):
        run(folder, "me/geofacts", despite_license=["other"])
    assert not read_remote(api, "me/geofacts", "dataset").exists
    run(folder, "me/geofacts", dry_run=True)
    assert "--despite-license unknown" in capsys.readouterr().out
    run(folder, "me/geofacts", private=True)
    run(folder, "me/published", despite_license=["unknown"])
    assert held(api, "me/geofacts") == contents(folder)
    assert held(api, "me/published") == contents(folder, "me/published")


@pytest.mark.parametrize(
    ("repo", "message"),
    [
        ("geofacts", "not a repository name OWNER/NAME; write me/geofacts"),
        ("me/geo/facts", "not a repository name"),
        ("me/geo facts", "not a repository name"),
        ("stranger/geofacts", r"answered 403 .*the token may not do this"),
    ],
)
def test_names(repo, message, api, tmp_path):
    with pytest.raises(PolyprobeError, match=message) as raised:
        run(small_dataset(tmp_path / "geofacts"), repo)
    assert "\n" not in str(raised.value)


def test_a_metric_keeps_its_name(api, tmp_path):
    with pytest.raises(PolyprobeError, match=r"looks for consistency.py in it; push to me/rankc"):
        run(metric(tmp_path), "me/consistency")


def test_an_organisation(api, hub, tmp_path):
    hub.tokens[TOKEN] = hub_token("me", organisations=("lab",))
    run(metric(tmp_path), "lab/rankc")
    assert "rankc.py" in held(api, "lab/rankc", "space")


def test_a_folder_that_is_not_fit_asks_nothing_of_the_hub(api, hub, tmp_path):
    folder = small_dataset(tmp_path / "geofacts")
    path = folder / "data/default/fr.parquet"
    pq.write_table(pq.read_table(path).slice(1), path)
    with pytest.raises(PolyprobeError, match="geofacts cannot be pushed: "):
        run(folder, "me/geofacts")
    assert hub.requests == []
