"""The files of a folder for the Hub, and their comparison with a repository."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

import polyprobe
from polyprobe.publish.hub import NO_REPOSITORY, Remote, find_changes
from polyprobe.publish.source import read_source
from polyprobe.system.messages import PolyprobeError
from tests.publish.push.folders import ROOT, metric, small_dataset


def test_what_is_published_and_what_stays(tmp_path):
    folder = small_dataset(tmp_path / "geofacts")
    for stray in (".env", "data/.default.new/en.parquet", "notes.txt", "data/default/x.csv"):
        (folder / stray).parent.mkdir(parents=True, exist_ok=True)
        (folder / stray).write_text("hf_secret")
    (folder / "LICENSE-UNICODE.txt").write_text("…")
    source = read_source(folder)
    assert source.kind == "dataset"
    assert list(source.files) == [
        "LICENSE-UNICODE.txt",
        "README.md",
        "data/default/en.parquet",
        "data/default/fr.parquet",
        "eval.yaml",
    ]
    assert source.left_out == ["data/default/x.csv", "notes.txt"]


def test_both_ids_are_those_of_git_and_of_sha256(tmp_path):
    source = read_source(metric(tmp_path))
    for name, file in source.files.items():
        assert file.path.name == name
        content = file.path.read_bytes()
        asked = ["git", "hash-object", "--no-filters", str(file.path)]
        assert file.git_oid == subprocess.check_output(asked, text=True).strip()
        assert file.sha256 == hashlib.sha256(content).hexdigest()


def test_the_fingerprint_is_that_of_names_and_contents(tmp_path):
    linked = read_source(ROOT / "metrics" / "rankc")
    copied = read_source(metric(tmp_path))
    assert linked.fingerprint == copied.fingerprint
    (tmp_path / "rankc" / "app.py").write_text("")
    assert read_source(tmp_path / "rankc").fingerprint != linked.fingerprint


def test_a_name_without_a_folder_is_that_of_what_was_installed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for given in ("metrics/rankc", "datasets/geofacts"):
        assert read_source(type(tmp_path)(given)).folder == ROOT / given
    small_dataset(tmp_path / "datasets" / "geofacts")
    assert read_source(type(tmp_path)("datasets/geofacts")).folder.is_relative_to(tmp_path)


@pytest.mark.parametrize("given", ["metrics/no_such", "rankc", "metrics/../metrics/rankc", "empty"])
def test_no_folder_to_push(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(PolyprobeError, match=r"no such folder|neither a dataset .* nor a metric"):
        read_source(type(tmp_path)(given))


def test_the_plan(tmp_path):
    source = read_source(metric(tmp_path))
    new = find_changes(source, NO_REPOSITORY)
    assert (new.added, new.same) == (list(source.files), [])
    there = {path: file.git_oid for path, file in source.files.items()}
    there["intervals.py"] = source.files["intervals.py"].sha256  # stored as a large file
    del there["README.md"]
    there |= {"app.py": "0" * 40, "old.py": "1" * 40, ".gitattributes": "2" * 40, "me.png": "3"}
    plan = find_changes(source, Remote(False, "head", True, there))
    assert (plan.added, plan.changed, plan.deleted) == (["README.md"], ["app.py"], ["old.py"])
    assert plan.foreign == [".gitattributes", "me.png"]
    assert set(plan.same) == set(source.files) - {"README.md", "app.py"}
    assert not plan.is_empty
    same = {path: file.sha256 for path, file in source.files.items()}
    assert find_changes(source, Remote(True, "head", True, same)).is_empty


def test_a_metric_of_another_checkout_is_refused(tmp_path):
    folder = tmp_path / "metrics" / "rankc"
    shutil.copytree(ROOT / "metrics" / "rankc", folder)
    with pytest.raises(PolyprobeError) as error:
        read_source(folder)
    ours = Path(polyprobe.__path__[0]) / "metrics" / "rankc"
    assert str(error.value) == (
        f"{folder} is not the metric of the installed package, which is {ours.resolve()}: give "
        "that folder, or install the checkout of this one (pip install -e)"
    )
