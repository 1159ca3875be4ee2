"""Every metric folder as evaluate and the Hub see it: loading, card, files, requirements."""

import ast
import doctest
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import evaluate
import numpy as np
import pytest
import yaml
from evaluate.loading import get_imports

from polyprobe.publish.source import bundle, list_requirements
from tests.hub.client import environment
from tests.metrics.cases import CASES, METRICS, RESULTS
from tests.metrics.spaces import FIRST

NAMES = sorted(path.parent.name for path in METRICS.glob("*/app.py"))
MATCHING = {"anyascii", "babel", "num2words", "rapidfuzz"}  # of names in answers


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


@pytest.fixture(scope="session")
def bundles(tmp_path_factory):
    """Bundle every metric, as `polyprobe push` and `polyprobe install` do."""
    root = tmp_path_factory.mktemp("bundles")
    return {name: bundle(METRICS / name, root) for name in NAMES}


def test_folder_holds_what_a_space_needs(name):
    files = {path.name for path in (METRICS / name).iterdir() if path.is_file()}
    assert files == {f"{name}.py", "README.md", "app.py", "formulas.py", "space.md"}


def test_a_bundle_holds_every_file_that_is_imported_and_no_other(name, bundles):
    files = {path.name for path in bundles[name].iterdir()}
    shared = {f"{part}.py" for part in siblings(bundles[name]) | of_app(bundles[name])}
    assert files == {f"{name}.py", "README.md", "app.py", "space.md", *shared}
    assert len(shared) >= 5


def test_nothing_is_a_link():
    assert not [path for path in METRICS.rglob("*") if path.is_symlink()]


def siblings(folder):
    """Modules copied by evaluate: `from .NAME import`."""
    entries = get_imports(str(folder / f"{folder.name}.py"))
    return {entry[1] for entry in entries if entry[0] == "internal"}


def of_app(folder):
    """Imports of app.py from its folder, transitively."""
    found, left = set(), {"app"}
    while left:
        file = folder / f"{left.pop()}.py"
        imported = {entry[1] for entry in get_imports(str(file))}
        left |= {part for part in imported - found if (folder / f"{part}.py").exists()}
        found |= left
    return found


def test_a_module_imports_all_that_formulas_imports(name, bundles):
    """Evaluate copies direct imports of the module only."""
    beside = siblings(bundles[name])
    assert "formulas" in beside
    for part in beside:
        entries = get_imports(str(bundles[name] / f"{part}.py"))
        assert {entry[0] for entry in entries} <= {"internal", "library"}
        assert {entry[1] for entry in entries if entry[0] == "internal"} <= beside
        plain = {entry[1] for entry in entries if entry[0] == "library"}
        assert not plain & {p.stem for p in bundles[name].glob("*.py")}


@pytest.fixture(scope="session")
def without_polyprobe(bundles, tmp_path_factory):
    """What the bundle of each metric computes in a process that has no polyprobe."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("run_bundles.py"))],
        cwd=tmp_path_factory.mktemp("elsewhere"),
        env=environment(tmp_path_factory.mktemp("home")),
        input=json.dumps({str(bundles[name]): CASES[name] for name in NAMES}),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    return {name: found[str(bundles[name])] for name in NAMES}


def test_a_bundle_needs_no_polyprobe(name, without_polyprobe):
    result, [first, *others] = without_polyprobe[name]
    key, expected = RESULTS[name]
    assert result[key] == pytest.approx(expected)
    found = {(of, figure): value for of, figure, value in first}
    by_hand = {key: np.nan if v is None else v for key, v in FIRST[name].items()}
    assert {key: found[key] for key in by_hand} == pytest.approx(by_hand, nan_ok=True)
    assert all(others)


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
    one = {"predictions": "prediction", "references": "reference"}  # evaluate renames these alone
    for i in range(2):
        metric.add(**{one.get(key, key): rows[i] for key, rows in features.items()})
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


def test_module_is_self_contained(name, bundles):
    beside = siblings(bundles[name])
    files = [bundles[name] / f"{part}.py" for part in (name, *beside)]
    imported = {entry[1] for file in files for entry in get_imports(str(file))}
    foreign = imported - sys.stdlib_module_names - beside
    assert foreign <= {"evaluate", "numpy", "scipy", "datasets", *MATCHING}


def test_requirements_are_what_the_folder_imports(name, bundles):
    """Except gradio, whose version in a Space is given in the card."""
    files = [*bundles[name].glob("*.py")]
    imported = {name.partition(".")[0] for file in files for name in imports(file)}
    foreign = imported - sys.stdlib_module_names - {file.stem for file in files}
    lines = list_requirements(files)
    assert {line.split(">=")[0] for line in lines} == foreign - {"gradio"}
    assert {"numpy>=2.0", "evaluate>=0.4.6"} <= {*lines}
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
    metric = load(METRICS / name)
    monkeypatch.chdir(METRICS)
    module = import_module(f"polyprobe.metrics.{name}.formulas")
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    usage = parser.get_doctest(
        metric.inputs_description, {"evaluate": evaluate}, f"{name} usage", None, None
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
