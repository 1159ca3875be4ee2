"""Every metric folder as evaluate and a Space see it: loading, card, requirements, app."""

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


def import_app(name):
    """Import app.py as a Space runs it: a script, its folder the first place to look."""
    sys.path.insert(0, str(METRICS / name))
    for module in ("app", "space"):
        sys.modules.pop(module, None)
    try:
        return import_module("app")
    finally:
        sys.path.pop(0)


def test_every_folder_has_a_case():
    assert NAMES == sorted(CASES) == sorted(RESULTS)


def test_folder_holds_what_a_space_needs(name):
    files = {path.name for path in (METRICS / name).iterdir() if path.is_file()}
    imported = {f"{part}.py" for part in siblings(name)}
    own = {f"{name}.py", "README.md", "app.py", "requirements.txt", "space.py"}
    assert files == {*own, *imported}


def siblings(name):
    """What evaluate copies beside the module: `from .NAME import`."""
    entries = get_imports(str(METRICS / name / f"{name}.py"))
    return {entry[1] for entry in entries if entry[0] == "internal"}


def test_shared_files_are_links_that_import_no_sibling(name):
    for part in {*siblings(name), "space"}:
        file = METRICS / name / f"{part}.py"
        assert file.readlink() == Path("..") / file.name
        assert {entry[0] for entry in get_imports(str(file))} == {"library"}


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
    lines = (METRICS / name / "requirements.txt").read_text().splitlines()
    assert {line.split(">=")[0] for line in lines} == foreign


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


APPS = {
    "rankc": (
        "compare",
        ["English – Spanish", 0.9388, "0.8776 – 1.0000", 0.5547, 0.8835, "0.7670 – 1.0000", 2],
    ),
    "coverlap": ("compare", ["English – Spanish", 0.6667, "0.0000 – 1.0000", 2, 3, 3]),
    "accuracy_at_1": ("measure", ["English", 1.0, "1.0000 – 1.0000", 0.4167, 2, 0]),
    "recall_at_k": ("measure", ["Russian", "recall@1", 0.5, "0.0000 – 1.0000", 0.3095, 2, 0]),
    "inflection_delta": (
        "measure",
        ["all (macro)", 3.0833, "-1.0000 – 7.0000", 0.7083, "0.2500 – 1.0000", 5],
    ),
    "paraphrase_consistency": (
        "measure",
        ["all (macro)", "consistency", 0.5833, "0.1667 – 1.0000", 4, 0, 0],
    ),
    "contrastive_knowledge": ("measure", ["all (macro)", 0.5, "0.0000 – 1.0000", 0.5, 0.5, 4]),
    "factual_accuracy": ("measure", ["all (macro)", "all", 0.5, "0.0000 – 1.0000", 4, 1]),
    "answer_agreement": (
        "compare",
        ["all", 0.2222, "0.0000 – 0.3333", 0.1111, 0.1111, 0.6667, 0.0, 0.1111, 0.0, 1.0, 3],
    ),
    "rank_overlap": (
        "compare",
        [
            *("English – Spanish", 0.9775, "0.9550 – 1.0000", 0.9049, 0.8333, "0.6667 – 1.0000"),
            *(1.0, 0.375, 1.0, 0.875, 2),
        ],
    ),
}


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_app_computes_its_example(name, delimiter):
    app = import_app(name)
    function, first = APPS[name]
    rows = getattr(app, function)(app.EXAMPLE.replace(",", delimiter))
    assert rows[0] == first
    assert all(len(row) == len(app.HEADERS) for row in rows)


def test_app_takes_json():
    app = import_app("rankc")
    rows = app.compare('{"English": [[3, 2, 1], [4, 4]], "Spanish": [[3, 1, 2], [5, 5]]}')
    assert rows[0][1] == round((0.877636 + 0.634471) / 2, 4)
    assert rows[0][3:] == [0.5547, 0.3835, "0.0000 – 0.7670", 2]


@pytest.mark.parametrize(
    ("folder", "text", "message"),
    [
        ("rankc", "", "the first line is ''; expected query, candidate, languages"),
        ("rankc", "q,c,en\nx,y,1", "1 columns of scores; expected two languages or more"),
        ("rankc", "q,c,en,fr\nx,y,1", "line 1 has 3 cells; expected 4"),
        ("rankc", "q,c,en,fr\nx,y,1,b", "line 1: could not convert string to float: 'b'"),
        ("coverlap", "q,right,en\nx,y,z", "1 columns of predictions; expected two or more"),
        ("coverlap", "q,right,en,fr\nx,,z,z", "query 0 has no right answer"),
        ("accuracy_at_1", "q,c,right\nx,y,1", "expected query, candidate, right, languages"),
        ("accuracy_at_1", "q,c,right,en\nx,y,0,1", "query 0 has no right answer"),
        ("recall_at_k", "q,c,right,en\nx,y,0,1", "query 0 has no right answer"),
        ("inflection_delta", "r,label,inflected,x\nP19,1,2,3", "4 columns; expected relation"),
        ("paraphrase_consistency", "r,s,right\nP19,x,y", "expected relation, subject, right, pred"),
        ("contrastive_knowledge", "l,stem,p,q\nen,x,0.5,", "query 0 of 'predictions' has no count"),
        ("contrastive_knowledge", "l,stem,p,q\nen,x,0.5,y", "line 1: could not convert string"),
        ("factual_accuracy", "r,p,right,single,x\nP19,y,z,2,z", "expected 5 cells, 1 or 0 for"),
        ("answer_agreement", "q,right,en\nx,y,z", "1 columns of predictions; expected two or more"),
        ("rank_overlap", "q,c,en\nx,y,1", "1 columns of scores; expected two languages or more"),
    ],
)
def test_app_errors(folder, text, message):
    app = import_app(folder)
    with pytest.raises(ValueError, match=message):
        getattr(app, APPS[folder][0])(text)


def test_app_builds_its_page(name):
    pytest.importorskip("gradio", reason="gradio is not installed: the page itself is not built")
    app = import_app(name)
    page = app.build("Title", app.HELP, app.EXAMPLE, app.HEADERS, getattr(app, APPS[name][0]))
    assert page.title
