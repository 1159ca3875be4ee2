import doctest
import os
import shutil
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml
from huggingface_hub import DatasetCard

from polyprobe.builder.build import build_dataset
from polyprobe.builder.output import folder as benchmark
from polyprobe.builder.output.folder import (
    DESCRIPTIONS,
    SplitSize,
    is_built,
    list_versions,
    read_config,
    render_card,
    size_category,
)
from polyprobe.builder.output.folder import Config as CardConfig
from polyprobe.builder.recipes import RECIPES, list_recipe_configs, load_recipe
from polyprobe.metrics.joint import HEADLINES
from polyprobe.schema.columns import RELEASED, REPAIRED, SCHEMA, SENTENCES

DATASETS = Path(__file__).parents[2] / "datasets"


def render(name: str, folder: Path) -> str:
    source = load_recipe(name)
    configs = list_recipe_configs(name)
    present = [read_config(folder, x) for x in configs if is_built(folder, x)]
    describe = getattr(source, "describe", lambda configs: {})
    return render_card(folder, name, present, source.DEFAULT_CONFIG, describe)


@pytest.fixture
def load(monkeypatch, tmp_path):
    """`load_dataset` with a separate cache and without the Hub."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    return lambda *names: datasets.load_dataset(*map(str, names), cache_dir=str(tmp_path / "hf"))


def test_committed_geofacts_card_is_the_generated_one():
    folder = DATASETS / "geofacts"
    assert (folder / "README.md").read_text(encoding="utf-8") == render("geofacts", folder)


def test_committed_bmlama_card_is_the_generated_one(bmlama):
    generated = (bmlama / "README.md").read_text(encoding="utf-8")
    assert (DATASETS / "bmlama" / "README.md").read_text(encoding="utf-8") == generated


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_committed_cards_load_on_the_hub(name):
    card = DatasetCard.load(DATASETS / name / "README.md")
    data = card.data.to_dict()
    source = load_recipe(name)
    assert [config["config_name"] for config in data["configs"]] == list(RECIPES[name].configs)
    defaults = [config["config_name"] for config in data["configs"] if config.get("default")]
    assert defaults == [source.DEFAULT_CONFIG]
    assert data["pretty_name"].lower() == name
    assert "relations" not in data
    assert "<!-- statistics" not in card.text


def test_every_column_is_described():
    assert list(DESCRIPTIONS) == list(
        dict.fromkeys([*REPAIRED.names, *SENTENCES.names, *RELEASED.names])
    )


@pytest.mark.parametrize(
    ("rows", "category"),
    [(999, "n<1K"), (1000, "1K<n<10K"), (278_174, "100K<n<1M"), (10**6, "1M<n<10M")],
)
def test_size_category(rows, category):
    split = SplitSize("en", "data/c/en.parquet", rows, 0, 0)
    assert size_category([CardConfig("c", [split], SCHEMA, *[{}] * 7)]) == category


def test_the_card_lists_what_is_present(bmlama, tmp_path):
    shutil.copytree(bmlama / "data" / "53", tmp_path / "data" / "53")
    card = DatasetCard(render("bmlama", tmp_path))
    assert [config["config_name"] for config in card.data.configs] == ["53"]
    assert card.data.configs[0]["default"] is True  # a single configuration is the default
    assert len(card.data.language) == 53
    assert "| `53` | 53 | 3,070 | 30 | 9.56 | 1 | 10 |" in card.text
    assert "| `17` | 17 |" not in card.text


@pytest.mark.parametrize(
    ("names", "languages", "rows", "schema"),
    [
        ((), 17, 6787, REPAIRED),
        (("17",), 17, 6792, SCHEMA),
        (("53",), 53, 3070, SCHEMA),
        (("17-repaired",), 17, 6787, REPAIRED),
        (("53-repaired",), 53, 3042, REPAIRED),
    ],
)
def test_load_dataset_reads_the_folder(bmlama, load, names, languages, rows, schema):
    loaded = load(bmlama, *names)
    assert len(loaded) == languages
    assert {split.num_rows for split in loaded.values()} == {rows}
    english = loaded["en"]
    assert english.features.arrow_schema.remove_metadata() == schema
    path = bmlama / "data" / (names[0] if names else "17-repaired") / "en.parquet"
    assert english[-1] == pq.read_table(path).to_pylist()[-1]


def test_declared_bytes_are_those_that_datasets_counts(bmlama, tmp_path):
    """Load one file without a card, and compare its counts with those declared by our card."""
    import datasets

    path = str(bmlama / "data" / "17" / "he.parquet")
    counted = datasets.load_dataset("parquet", data_files={"he": path}, cache_dir=str(tmp_path))
    info = DatasetCard.load(bmlama / "README.md").data.dataset_info[0]
    declared = {split["name"]: split["num_bytes"] for split in info["splits"]}
    assert counted["he"].info.splits["he"].num_bytes == declared["he"]
    assert info["dataset_size"] == sum(declared.values())


def test_geofacts_loads_as_committed(load, monkeypatch):
    monkeypatch.chdir(DATASETS)
    loaded = load(os.curdir + "/geofacts")
    assert len(loaded) == 51
    assert len({split.num_rows for split in loaded.values()}) == 1
    assert loaded["en"].features.arrow_schema.remove_metadata() == SCHEMA


# eval.yaml of the datasets, compared with the fields documented by the Hub.

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
    several = {config: len(HEADLINES) if n > 1 else 1 for config, n in configs.items()}
    assert sizes == several | own
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
    figures = ("accuracy", "accuracy_gain", "rankc_subject", "rankc", "rankc_adjusted", "coverlap")
    assert [task["id"] for task in made["tasks"]] == [f"53_{figure}" for figure in figures]
    build_dataset("bmlama", ["17"], tiny, out)
    made = yaml.safe_load((out / "eval.yaml").read_text(encoding="utf-8"))
    assert [task["config"] for task in made["tasks"]] == ["17"] * 6 + ["53"] * 6


def test_examples():
    assert doctest.testmod(benchmark).failed == 0
