"""eval.yaml of the datasets, compared with the fields documented by the Hub."""

import doctest
from collections import Counter
from pathlib import Path

import pytest
import yaml
from huggingface_hub import DatasetCard

from polyprobe.builder.build import build_dataset
from polyprobe.builder.output import card as benchmark
from polyprobe.builder.output.folder import list_versions
from polyprobe.builder.recipes import RECIPES
from polyprobe.metrics.joint import HEADLINES

DATASETS = Path(__file__).parents[2] / "datasets"
# https://huggingface.co/docs/hub/eval-results: name -> whether it is required
FIELDS = {"name": True, "description": True, "evaluation_framework": True, "tasks": True}
OF_TASKS = {"id": True, "config": False, "split": False}


def check_fields(found: dict, known: dict) -> None:
    assert set(found) <= set(known)
    assert {name for name, required in known.items() if required} <= set(found)


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_committed_files_keep_the_documented_rules(name):
    made = yaml.safe_load((DATASETS / name / "eval.yaml").read_text(encoding="utf-8"))
    check_fields(made, FIELDS)
    assert all(isinstance(made[field], str) and made[field] for field in FIELDS if field != "tasks")
    card = DatasetCard.load(DATASETS / name / "README.md").data.to_dict()
    configs = {config["config_name"]: len(config["data_files"]) for config in card["configs"]}
    for task in made["tasks"]:
        check_fields(task, OF_TASKS)
        assert all(isinstance(value, str) for value in task.values())
        assert "split" not in task  # a value for all of them
    sizes = Counter(task["config"] for task in made["tasks"])
    own = {"parallel": 2} if name == "polyglot" else {}
    assert sizes == {config: own.get(config, 5 if n > 1 else 1) for config, n in configs.items()}
    assert len({task["id"] for task in made["tasks"]}) == len(made["tasks"])


def test_committed_geofacts_has_what_the_builder_writes():
    folder = DATASETS / "geofacts"
    known = list_versions(folder, RECIPES["geofacts"].configs)
    made = benchmark.render_benchmark("geofacts", dict.fromkeys(known, HEADLINES))
    assert (folder / "eval.yaml").read_text(encoding="utf-8") == made


def test_committed_bmlama_has_what_the_builder_writes(bmlama):
    assert (DATASETS / "bmlama" / "eval.yaml").read_bytes() == (bmlama / "eval.yaml").read_bytes()


def test_a_build_lists_the_configurations_that_are_there(tiny, tmp_path):
    out = tmp_path / "out"
    build_dataset("bmlama", ["53"], tiny, out)
    made = yaml.safe_load((out / "eval.yaml").read_text(encoding="utf-8"))
    figures = ("accuracy", "rankc_subject", "rankc", "rankc_adjusted", "coverlap")
    assert [task["id"] for task in made["tasks"]] == [f"53_{figure}" for figure in figures]
    build_dataset("bmlama", ["17"], tiny, out)
    made = yaml.safe_load((out / "eval.yaml").read_text(encoding="utf-8"))
    assert [task["config"] for task in made["tasks"]] == ["17"] * 5 + ["53"] * 5


def test_examples():
    assert doctest.testmod(benchmark).failed == 0
