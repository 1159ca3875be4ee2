"""Every metric folder as evaluate and the Hub see it: loading, card, files, requirements."""

import ast
import doctest
import sys
from importlib import import_module
from pathlib import Path

import evaluate
import numpy as np
import pytest
import yaml
from evaluate.loading import get_imports

METRICS = Path(__file__).resolve().parents[2] / "metrics"
NAMES = sorted(path.parent.name for path in METRICS.glob("*/app.py"))
CASES = {
    "rankc": {"predictions": [[3, 2, 1], [1]], "references": [[3, 1, 2], [1]], "weights": "norm1"},
    "coverlap": {"predictions": [1, 0], "references": [1, 1], "answers": [[1], [0, 2]]},
    "accuracy_at_1": {"predictions": [[1, 1], [1, 2, 3]], "answers": [[0], [1]]},
    "recall_at_k": {"predictions": [[1, 1], [1, 2, 3]], "references": [[0], [1]], "k": [1, 2]},
    "inflection_delta": {"predictions": [7, 1], "references": [2, 3]},
    "paraphrase_consistency": {"predictions": [["a", "a"], ["a", "b"]], "references": ["b", "b"]},
    "contrastive_knowledge": {"predictions": [[0.2, 0.1], [0.3, 0.3, 0.4]], "groups": ["en", "fr"]},
    "factual_accuracy": {"predictions": [None, "UlM "], "references": [["Bern"], ["Bern", "Ulm"]]},
    "answer_agreement": {"predictions": [[0, 0, 1], [2, 2, 2]], "answers": [[0], [1]]},
    "rank_overlap": {"predictions": [[3, 2, 1], [1]], "references": [[3, 1, 2], [1]], "p": 0.5},
}
RESULTS = {
    "rankc": ("rankc", ((2 * 1 + 1 * 1 / 2 + 0) / 3 + 1) / 2),
    "coverlap": ("coverlap", 1 / 2),
    "accuracy_at_1": ("accuracy_at_1", (1 / 2 + 0) / 2),
    "recall_at_k": ("mean_rank", (3 / 2 + 2) / 2),
    "inflection_delta": ("inflection_delta", ((7 - 2) + (1 - 3)) / 2),
    "paraphrase_consistency": ("consistency", (1 + 0) / 2),
    "contrastive_knowledge": ("accuracy", (1 + 0) / 2),
    "factual_accuracy": ("all", (0 + 1) / 2),
    "answer_agreement": ("agreement", (1 / 3 + 3 / 3) / 2),
    "rank_overlap": ("rbo", ((1 / 2 * 1 + 1 / 4 * 1 / 2 + 1 / 4 * 1) + 1) / 2),
}


@pytest.fixture(autouse=True)
def stay_offline(monkeypatch):
    monkeypatch.setattr(evaluate.config, "HF_UPDATE_DOWNLOAD_COUNTS", False)


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture
def load(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda path: evaluate.load(str(path), cache_dir=str(tmp_path))


def test_every_folder_has_a_case():
    assert NAMES == sorted(CASES) == sorted(RESULTS)


def test_folder_holds_what_a_space_needs(name):
    files = {path.name for path in (METRICS / name).iterdir() if path.is_file()}
    shared = {f"{part}.py" for part in siblings(name) | of_app(name)}
    assert files == {f"{name}.py", "README.md", "app.py", "requirements.txt", *shared}


def siblings(name):
    """What evaluate copies beside the module: `from .NAME import`."""
    entries = get_imports(str(METRICS / name / f"{name}.py"))
    return {entry[1] for entry in entries if entry[0] == "internal"}


def of_app(name):
    """What app.py imports of its own folder, and what that imports."""
    found, left = set(), {"app"}
    while left:
        file = METRICS / name / f"{left.pop()}.py"
        imported = {entry[1] for entry in get_imports(str(file))}
        left |= {part for part in imported - found if (METRICS / f"{part}.py").exists()}
        found |= left
    return found


def test_shared_files_are_links_and_those_of_the_module_import_no_sibling(name):
    for part in siblings(name) | of_app(name):
        file = METRICS / name / f"{part}.py"
        assert file.readlink() == Path("..") / file.name
    for part in siblings(name):
        entries = get_imports(str(METRICS / f"{part}.py"))
        assert {entry[0] for entry in entries} == {"library"}
        assert not {entry[1] for entry in entries} & {p.stem for p in METRICS.glob("*.py")}


@pytest.mark.parametrize("by", ["folder", "file"])
def test_load_by_path(load, name, by):
    metric = load(METRICS / name / (f"{name}.py" if by == "file" else ""))
    key, expected = RESULTS[name]
    assert metric.compute(**CASES[name])[key] == pytest.approx(expected)


def test_batches_equal_one_call(load, name):
    metric = load(METRICS / name)
    whole = metric.compute(**CASES[name])
    features = {key: CASES[name][key] for key in metric.features}
    keywords = {key: value for key, value in CASES[name].items() if key not in features}
    for i in range(2):
        metric.add_batch(**{key: rows[i : i + 1] for key, rows in features.items()})
    assert metric.compute(**keywords) == whole
    metric.add(**{key.removesuffix("s"): rows[0] for key, rows in features.items()})
    metric.add(**{key.removesuffix("s"): rows[1] for key, rows in features.items()})
    assert metric.compute(**keywords) == whole


def test_an_error_leaves_the_metric_usable(load, name):
    metric = load(METRICS / name)
    empty = {key: [] for key in metric.features}
    with pytest.raises(ValueError, match=r"no queries|no answers"):
        metric.compute(**empty)
    unequal = r"2 queries in 'predictions', 1 in|1 in 'groups', 2 queries|Mismatch in the num"
    with pytest.raises(ValueError, match=unequal):
        metric.compute(**{**CASES[name], [*CASES[name]][1]: [*CASES[name].values()][1][:1]})
    key, expected = RESULTS[name]
    assert metric.compute(**CASES[name])[key] == pytest.approx(expected)


def test_arrays_are_taken_as_predictions(load):
    scores = np.array([[3, 2, 1], [1, 2, 3]], dtype=np.float32)
    result = load(METRICS / "rankc").compute(predictions=scores, references=scores)
    assert result["rankc"] == pytest.approx(1)


def test_module_is_self_contained(name):
    files = [METRICS / name / f"{part}.py" for part in (name, *siblings(name))]
    imported = {entry[1] for file in files for entry in get_imports(str(file))}
    foreign = imported - sys.stdlib_module_names - siblings(name)
    assert foreign <= {"datasets", "evaluate", "numpy", "scipy"}


def test_requirements_are_what_the_folder_imports(name):
    """But gradio, of which a Space has the version that the card names."""
    files = (METRICS / name).glob("*.py")
    imported = {name.partition(".")[0] for file in files for name in imports(file)}
    foreign = imported - sys.stdlib_module_names - {p.stem for p in METRICS.glob("*.py")}
    lines = (METRICS / name / "requirements.txt").read_text().splitlines()
    assert {line.split(">=")[0] for line in lines} == foreign - {"gradio"}
    assert "gradio" in foreign


def imports(file):
    """Every name that a file imports from outside its folder, within functions too."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module


def test_a_card_links_to_nothing_beside_its_repository(name):
    assert "](.." not in (METRICS / name / "README.md").read_text(encoding="utf-8")


def test_information_is_complete(load, name):
    metric = load(METRICS / name)
    for text in (metric.description, metric.inputs_description, metric.citation):
        assert text.strip()
    assert metric.citation.startswith(("@inproceedings{", "@article{"))
    assert ">>> " in metric.inputs_description


def test_examples_of_the_module(name, load, monkeypatch):
    monkeypatch.chdir(METRICS)
    module = import_module(f"polyprobe.metrics.{name}.{name}")
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    usage = parser.get_doctest(
        module._KWARGS_DESCRIPTION, {"evaluate": evaluate}, f"{name} usage", None, None
    )
    assert usage.examples
    assert runner.run(usage).failed == 0


def test_examples_of_the_card(name, monkeypatch):
    monkeypatch.chdir(METRICS)
    outcome = doctest.testfile(str(METRICS / name / "README.md"), module_relative=False)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_card_makes_a_space(name):
    _, head, text = (METRICS / name / "README.md").read_text().split("---\n", 2)
    card = yaml.safe_load(head)
    assert card["sdk"] == "gradio"
    assert card["tags"] == ["evaluate", "metric"]
    assert (METRICS / name / card["app_file"]).is_file()
    assert {"title", "sdk_version", "license", "description"} <= card.keys()
    assert "## Citation" in text
