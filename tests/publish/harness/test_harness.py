"""What `polyprobe export DATASET` writes, without the harnesses that read it."""

import re
import shutil
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import datasets
import pyarrow.parquet as pq
import pytest
import yaml

from polyprobe.publish.harness import HARNESSES, export_dataset
from polyprobe.schema.load import load_facts
from polyprobe.system.files import part_of
from polyprobe.system.messages import PolyprobeError
from tests.publish.harness.harness_rows import ROWS, load_module, write_dataset

ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path) -> Path:
    return write_dataset(tmp_path / "tiny")


def read(file: Path) -> dict:
    return yaml.safe_load(file.read_text("utf-8"))


@pytest.mark.parametrize("scoring", ["bmlama", "object"])
def test_lm_eval_has_a_group_what_is_shared_and_a_task_a_language(folder, tmp_path, scoring):
    stem = "polyprobe_tiny_default" + ("_object" if scoring == "object" else "")
    written = export_dataset(folder, "lm-eval", tmp_path / "out", scoring=scoring)
    names = [f"{stem}.yaml", f"_{stem}_yaml", f"{stem}_en.yaml", f"{stem}_ja.yaml"]
    assert [path.name for path in written] == names
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(names)
    group, _, english, _ = map(read, written)
    assert group["group"] == stem
    assert group["task"] == [f"{stem}_en", f"{stem}_ja"]
    assert {entry["weight_by_size"] for entry in group["aggregate_metric_list"]} == {False}
    assert english["task"] == group["task"][0]
    assert english["test_split"] == "en"
    assert (tmp_path / "out" / english["include"]).is_file()
    assert english["dataset_kwargs"]["data_files"] == {
        "en": [str(folder / "data/default/en.parquet")]
    }


def test_a_dataset_on_the_hub_is_named_not_its_files(folder, tmp_path):
    written = export_dataset(folder, "lm-eval", tmp_path / "out", dataset_id="me/tiny-facts")
    shared, english = read(written[1]), read(written[2])
    assert (shared["dataset_path"], shared["dataset_name"]) == ("me/tiny-facts", "default")
    assert "dataset_kwargs" not in english
    assert english["task"] == "polyprobe_tiny-facts_default_en"
    (file,) = export_dataset(folder, "lighteval", tmp_path / "out2", dataset_id="me/tiny-facts")
    assert 'REPOSITORY = "me/tiny-facts"\nCONFIG = "default"\n' in file.read_text("utf-8")


@pytest.mark.parametrize(("written", "language"), [("'no'", "no"), ("zh_hans", "zh_hans")])
def test_a_language_that_yaml_takes_for_something_else(tmp_path, written, language):
    folder = write_dataset(tmp_path / "tiny", {written: ROWS["ja"]})
    task = read(export_dataset(folder, "lm-eval", tmp_path / "out")[2])
    assert task["test_split"] == language
    assert list(task["dataset_kwargs"]["data_files"]) == [language]


def test_names_hold_nothing_that_a_harness_reads_as_its_own(tmp_path):
    folder = write_dataset(tmp_path / "a.b,c|d*", ROWS, "53-repaired")
    for harness in HARNESSES:
        for path in export_dataset(folder, harness, tmp_path / harness):
            name = path.relative_to(tmp_path / harness).parts[0]
            assert re.fullmatch(r"_?polyprobe_a-b-c-d-_53-repaired\w*(\.yaml|\.py|\.data)?", name)


def test_what_an_earlier_export_left_of_the_same_tasks_goes(folder, tmp_path):
    out = tmp_path / "out"
    other = export_dataset(write_dataset(tmp_path / "tiny_object"), "lm-eval", out)
    export_dataset(folder, "lm-eval", out)
    kept = export_dataset(folder, "lm-eval", out, languages=["ja"])
    assert sorted(out.glob("*yaml")) == sorted([*kept, *other])
    assert f"_{kept[0].stem}_donor_yaml" in {path.name for path in kept}
    export_dataset(folder, "lm-eval", out, languages=["en"])  # whose rows have no donors
    assert not [*out.glob("*polyprobe_tiny_default_donor*yaml")]


@pytest.mark.parametrize("harness", HARNESSES)
def test_the_rows_about_other_subjects_are_a_second_task(harness, tmp_path):
    place = str(ROOT / "datasets/geofacts")
    named = {"scoring": "object", "dataset_id": "me/geofacts"}
    texts = {
        path.name: path.read_text("utf-8")
        for path in export_dataset(Path(place), harness, tmp_path, languages=["ka", "en"], **named)
    }
    stem = "polyprobe_geofacts_default_object"
    data = tmp_path / f"{stem}_donor.data"
    assert f"{stem},{stem}_donor" in next(iter(texts.values()))
    if harness == "lm-eval":
        task = yaml.safe_load(texts[f"{stem}_donor_ka.yaml"])
        assert task["dataset_kwargs"]["data_files"] == {"ka": [str(data / "ka.parquet")]}
    else:
        loaded = datasets.load_dataset(str(data), "default")
        assert list(loaded) == ["ka", "en"]
        assert loaded["ka"]["prompt"][:] == pq.read_table(data / "ka.parquet")["prompt"].to_pylist()
    for language, table in load_facts(place, None, ["ka", "en"]).items():
        known = {row["fact_id"]: row for row in table.to_pylist()}
        asked = pq.read_table(data / f"{language}.parquet").to_pylist()
        assert [row["fact_id"] for row in asked] == [*known]
        for row in asked:
            own, donor = known[row["fact_id"]], known[row["donor"]]
            assert row["prompt"] == donor["prompt"] != own["prompt"]
            assert (row["candidates"], row["answers"]) == (own["candidates"], own["answers"])
            right = [row["candidates"][k] for k in row["donor_answers"]]
            assert {*right} == {*right} & {donor["candidates"][k] for k in donor["answers"]}


def test_the_card_has_datasets_read_what_lies_in_the_folder_now(folder, tmp_path):
    place = str(tmp_path / "out" / "polyprobe_tiny_default.data")
    export_dataset(folder, "lighteval", tmp_path / "out")
    first = datasets.load_dataset(place, "default")
    assert list(first) == list(ROWS)
    assert first["ja"]["prompt"][:] == [prompt for prompt, _, _ in ROWS["ja"]]
    changed = {x: [*rows[:3], ("New: [Y]", ["a", "b"], [1])] for x, rows in ROWS.items()}
    export_dataset(write_dataset(folder, changed), "lighteval", tmp_path / "out")
    assert datasets.load_dataset(place, "default")["en"]["prompt"][3] == "New: [Y]"


def test_the_version_changes_with_the_files(folder, tmp_path):
    texts = []
    for rows in (ROWS, {x: own[::-1] for x, own in ROWS.items()}, ROWS):
        write_dataset(folder, rows)
        texts.append(export_dataset(folder, "lighteval", tmp_path / "out")[0].read_text("utf-8"))
    versions = [re.search(r"^VERSION = (\d+)$", text, re.MULTILINE)[1] for text in texts]
    assert versions[0] == versions[2] != versions[1]


WRONG = {
    "unknown language 'fr'": {"languages": ["fr"]},
    "no languages were named": {"languages": []},
    "unknown configuration '17' in .*; available: .*default": {"config": "17"},
    "'tiny' is not a repository name OWNER/NAME; correct --dataset-id": {"dataset_id": "tiny"},
}


@pytest.mark.parametrize("message", WRONG)
def test_what_is_asked_wrongly_is_reported_in_one_line(folder, tmp_path, message):
    asked = {"harness": "lm-eval", "output": tmp_path / "out"} | WRONG[message]
    with pytest.raises(PolyprobeError, match=message) as told:
        export_dataset(folder, **asked)
    assert "\n" not in str(told.value)
    assert not (tmp_path / "out").exists()


BAD = {
    "language 'en', row 1 (P1:Q1:Q0): the prompt must hold the slot": {
        "prompt": ["[Y]", "[Y] [Y]", "[Y]", "[Y]"]
    },
    "language 'en' has no column 'answers'": {"answers": None},
}


@pytest.mark.parametrize("harness", HARNESSES)
@pytest.mark.parametrize("message", BAD)
def test_rows_that_polyprobe_cannot_ask_are_refused(tmp_path, harness, message):
    folder = write_dataset(tmp_path / "bad", {"en": ROWS["en"]}, **BAD[message])
    with pytest.raises(PolyprobeError, match=re.escape(message)):
        export_dataset(folder, harness, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_splits_that_are_not_parallel_are_refused(tmp_path):
    folder = write_dataset(tmp_path / "bad", {"en": ROWS["en"], "ja": ROWS["ja"][:3]})
    with pytest.raises(PolyprobeError, match="'en' has 4 rows, 'ja' has 3"):
        export_dataset(folder, "lm-eval", tmp_path / "out")
    assert export_dataset(folder, "lm-eval", tmp_path / "out", languages=["ja"])


def test_digits_alone_before_the_slot_are_refused_where_lm_eval_would_read_a_number(tmp_path):
    folder = write_dataset(tmp_path / "tiny", {"en": [("12[Y]", ["a", "b"], [0])]})
    with pytest.raises(
        PolyprobeError, match="language 'en', row 0: lm-eval reads '12' alone before the slot"
    ):
        export_dataset(folder, "lm-eval", tmp_path / "out", scoring="object")
    assert export_dataset(folder, "lm-eval", tmp_path / "out")
    assert export_dataset(folder, "lighteval", tmp_path / "out", scoring="object")


def test_folders_that_are_no_dataset(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    whole = tmp_path / "whole"
    whole.mkdir()
    named = tmp_path / "named"
    shutil.copytree(folder / "data/default", named)
    (folder / "data/default/en.parquet").rename(whole / "train.parquet")
    cases = {
        "no such folder": tmp_path / "none",
        "empty doesn't contain any data files": tmp_path / "empty",
        "has the splits train instead of one for each language": whole,
        "has the splits train, not one split for each language": named,
    }
    for message, place in cases.items():
        with pytest.raises(PolyprobeError, match=message) as told:
            export_dataset(place, "lighteval", tmp_path / "out")
        assert "\n" not in str(told.value)


def test_no_task_of_lighteval_is_a_path_beside_its_file(folder, tmp_path):
    """lighteval would open it as a file with a list of tasks."""
    for scoring in ("bmlama", "object"):
        file = export_dataset(folder, "lighteval", tmp_path / "out", scoring=scoring)[0]
        line = re.search(r'chat_template=False" \\\n +(\S+) --custom', file.read_text("utf-8"))
        names = {line[1], *re.findall(r'task\("([^"]+)"', file.read_text("utf-8"))}
        assert file.stem in names
        assert not [name for name in names if (tmp_path / "out" / name).exists()]


@pytest.mark.parametrize("task", ["polyprobe_facts_en.yaml", "_polyprobe_facts.yaml"])
def test_a_killed_export_is_repeated(folder, tmp_path, task):
    (tmp_path / "out").mkdir()
    part_of(tmp_path / "out" / task).write_text("half")
    assert export_dataset(folder, "lm-eval", tmp_path / "out")


def test_an_output_folder_of_others_is_left_alone(folder, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(PolyprobeError, match=r"holds notes\.txt, which is not an exported task"):
        export_dataset(folder, "lm-eval", tmp_path)
    with pytest.raises(PolyprobeError, match=r"notes\.txt is a file"):
        export_dataset(folder, "lm-eval", tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.fixture
def lighteval(monkeypatch) -> None:
    """Stand-ins for the names that the tasks import: records of their arguments."""
    names = {
        "metrics.metrics_sample": {"SampleLevelComputation": object},
        "metrics.utils.metric_utils": {"SampleLevelMetric": SimpleNamespace},
        "tasks.lighteval_task": {"LightevalTaskConfig": SimpleNamespace},
        "tasks.requests": {"Doc": SimpleNamespace, "SamplingMethod": SimpleNamespace(LOGPROBS=0)},
    }
    for path, content in names.items():
        module = ModuleType(f"lighteval.{path}")
        module.__dict__.update(content)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    for path in ("", ".metrics", ".metrics.utils", ".tasks"):
        monkeypatch.setitem(sys.modules, f"lighteval{path}", ModuleType(f"lighteval{path}"))


@pytest.mark.usefixtures("lighteval")
def test_without_bos_the_first_word_or_letter_is_the_context(folder, tmp_path):
    module = load_module(export_dataset(folder, "lighteval", tmp_path / "out")[0])
    queries = {
        "Oslo lies in [Y].": "Oslo",
        " Oslo lies in [Y].": " Oslo",
        "12 [Y]": "12",
        "オスロは[Y]にある。": "オ",
        "a[Y]": "a",
        " a[Y]": " a",
    }
    for prompt, query in queries.items():
        row = {"prompt": prompt, "candidates": ["x", "y z"], "answers": [1]}
        doc = module.ask_behind_first_word(row, "task")
        assert doc.query == query
        sentences = [prompt.replace("[Y]", candidate) for candidate in row["candidates"]]
        assert [query + choice for choice in doc.choices[: doc.specific["n_choices"]]] == sentences


@pytest.mark.usefixtures("lighteval")
def test_a_task_a_language_and_none_without_bos_where_a_prompt_begins_with_the_slot(
    folder, tmp_path
):
    module = load_module(export_dataset(folder, "lighteval", tmp_path / "out")[0])
    names = [task.name for task in module.TASKS_TABLE]
    stem = "polyprobe_tiny_default"
    assert names == [f"{stem}:en", f"{stem}:ja", f"{stem}_no_bos:en"]
    assert "prompts that begin with the slot: ja (2)." in module.__doc__
    assert {task.hf_repo for task in module.TASKS_TABLE} == {str(tmp_path / "out" / f"{stem}.data")}
    assert [task.evaluation_splits for task in module.TASKS_TABLE] == [["en"], ["ja"], ["en"]]
