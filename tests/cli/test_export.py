"""`polyprobe export DATASET`: datasets found by name, and error messages."""

import re

import pytest

from polyprobe.cli.publish import export, find_dataset
from polyprobe.schema.locate import locate
from polyprobe.system.messages import PolyprobeError
from tests.making.facts import write_facts


@pytest.fixture
def place(tmp_path, monkeypatch):
    write_facts(tmp_path / "datasets" / "facts")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_dataset_is_found_as_eval_and_push_find_it(place, tmp_path):
    path = type(tmp_path)
    own = place / "datasets" / "facts"
    for given in ("facts", "datasets/facts", str(own)):
        assert find_dataset(path(given), "lm-eval") == own, given
    for given in ("geofacts", "datasets/geofacts"):
        assert find_dataset(path(given), "lm-eval") == path(locate("geofacts")), given
    write_facts(place / "datasets" / "geofacts")
    for given in ("geofacts", "datasets/geofacts"):
        assert find_dataset(path(given), "lm-eval") == place / "datasets" / "geofacts", given


def test_the_output_is_named_after_the_dataset(place, tmp_path, capsys):
    folder = tmp_path / "datasets" / "facts"
    export(sources=[folder], format="lighteval", languages="en,ru")
    stem = "polyprobe_facts_small"
    files = (f"{stem}.py", f"{stem}.data/README.md", f"{stem}_donor.data/README.md")
    names = [f"facts-lighteval/{file}" for file in files]
    assert capsys.readouterr().out.split() == names
    assert all((place / name).is_file() for name in names)


def test_a_run_is_not_a_dataset(place, tmp_path):
    run = place / "runs" / "a"
    run.mkdir(parents=True)
    (run / "run.json").write_text("{}")
    for harness in ("lm-eval", "lighteval"):
        said = f"runs/a is a run; {harness} takes a dataset's folder"
        with pytest.raises(PolyprobeError, match=f"^{re.escape(said)}$"):
            export(sources=[type(tmp_path)("runs/a")], format=harness)
