"""QE under another Python: a bare environment with a stand-in for the package `comet`.

The stand-in has the three functions that the worker calls, and its model's name says how it
behaves. That the worker runs the real package (unbabel-comet 2.2.7, with torch 2.13 and a random
checkpoint) was checked by hand: its dependencies conflict with ours.
"""

import json
import subprocess
import sys
import venv

import pytest
from typer.testing import CliRunner

from polyprobe.analysis.compare.match import find_versions
from polyprobe.analysis.compare.options import WordingOptions
from polyprobe.analysis.compare.sentences.compare import compare_versions, score_translations
from polyprobe.cli import app
from polyprobe.system.messages import PolyprobeError
from tests.making.versions import N, write_versions

STAND_IN = """
import os, sys
__version__ = "0"
print("comet says hello on standard output")
try:
    import twin_comet
except ImportError:
    pass
else:
    raise ImportError("the files beside the worker can be imported")

def download_model(name):
    if name == "missing":
        raise KeyError("Model 'missing' not supported by COMET.\\nmore")
    return name

def load_from_checkpoint(name):
    if name == "silent":
        os._exit(3)
    return Model(name)

class Prediction:
    def __init__(self, scores):
        self.scores = scores

class Model:
    def __init__(self, name):
        self.name = name

    def requires_references(self):
        return self.name == "references"

    def predict(self, samples, batch_size, gpus, progress_bar):
        print("predicting", len(samples))
        if self.name == "killed":
            os.kill(os.getpid(), 9)
        if self.name == "broken":
            raise RuntimeError("out of luck")
        scores = [len(s["mt"]) / 100 + len(s["src"]) for s in samples]
        if self.name == "nan":
            scores[0] = float("nan")
        return Prediction(scores[1:] if self.name == "few" else scores)
"""
PAIRS = [("Olga was born.", "Ольга родилась."), ("Ivan died.", "Иван\u2028умер.")]


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A Python with only its standard library."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, symlinks=True)
    return str(folder / "bin" / "python")


@pytest.fixture
def python(bare, tmp_path, monkeypatch):
    """The same with the stand-in."""
    (tmp_path / "path" / "comet").mkdir(parents=True)
    (tmp_path / "path" / "comet" / "__init__.py").write_text(STAND_IN)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "path"))
    return bare


def test_scores_come_in_order_whatever_is_printed(python):
    expected = [len(mt) / 100 + len(src) for src, mt in PAIRS]
    assert score_translations(PAIRS, python, "fine") == (expected, "0")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "missing",
            "COMET cannot load --comet-model 'missing' (\"Model 'missing' not supported by",
        ),
        (
            "references",
            "--comet-model 'references' needs references, which are not available; give",
        ),
        ("killed", "was killed by signal 9; if memory ran out, give a smaller --comet-model"),
        ("broken", "broken) failed (out of luck); try another --comet-model"),
        ("silent", "ended with status 3 and no scores: comet says hello"),
        ("few", "gave 1 scores for 2 texts"),
        ("nan", "gave 2 scores for 2 texts, or some that are not numbers"),
    ],
)
def test_what_fails_is_one_line_with_a_remedy(python, model, message):
    with pytest.raises(PolyprobeError) as caught:
        score_translations(PAIRS, python, model)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_such_python():
    with pytest.raises(
        PolyprobeError, match="/no/python: No such file or directory; make a Python"
    ):
        score_translations(PAIRS, "/no/python")


def test_a_python_without_comet(bare):
    with pytest.raises(
        PolyprobeError, match="cannot import comet .No module named 'comet'.; /.*-m"
    ):
        score_translations(PAIRS, bare)


@pytest.mark.parametrize("program", ["/bin/cat", "/bin/true", "/bin/false"])
def test_a_program_that_is_not_python(program):
    with pytest.raises(
        PolyprobeError, match="and no scores.*; expected a Python with unbabel-comet"
    ):
        score_translations(PAIRS, program)


def test_the_worker_needs_no_more_than_python_3_8():
    import ast

    from polyprobe.analysis.compare.sentences.compare import WORKER

    tree = ast.parse(WORKER.read_text(encoding="utf-8"), feature_version=(3, 8))
    imports = {
        name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names
    }
    assert imports - {"comet"} <= sys.stdlib_module_names


def test_mean_scores_by_hand(tmp_path, python):
    versions = find_versions(*reversed(write_versions(tmp_path)))
    options = WordingOptions(comet_python=python, comet_model="fine")
    whole = compare_versions(versions, options, n_resamples=99)
    found, by_relation = whole.measures["QE"], whole.by_relation
    russian, mean = found.figures["QE"]["micro"]
    names = [russian.name, *(found.fields[x] for x in ("n_queries", "source"))]
    assert names == ["ru", N, "small-sentence"]
    # rows of women: родился → родилась in four, умер → умерла in two; of all rows, a city each
    # third: Москве (as long), Париже and Риме (a letter more)
    longer = (4 * 1 + 2 * 2 + 8 * 1) / N / 100
    assert russian.difference == pytest.approx(longer)
    assert mean[1:] == (*russian[1:8], russian.p, russian.bounds)
    changes = by_relation["ru"].figures["QE"]  # rows 0-3 and 8-11 are of P19, 4-7 of P20
    assert (8 * changes["P19"] + 4 * changes["P20"]) / N == pytest.approx(longer)
    assert "QE" not in by_relation["en"].figures


def test_a_failure_keeps_all_the_rest(tmp_path, python):
    template, sentence = write_versions(tmp_path)
    file = tmp_path / "c.json"
    arguments = [template.folder, sentence.folder, "--resamples", 99, "--json", file]
    arguments += ["--comet-python", python, "--comet-model", "killed"]
    result = CliRunner().invoke(app, ["compare", *map(str, arguments)])
    assert result.exit_code == 1
    values = json.loads(file.read_text())["versions"]
    assert values["qe"] is None
    assert values["chrf"]["by_language"]["ru"]["corpus"] > 0
    (line,) = values["failures"]
    assert line.startswith("QE: COMET (")
    assert f"omitted: {line}" in result.output


def test_no_english_to_translate_from(tmp_path, python):
    versions = find_versions(*reversed(write_versions(tmp_path, languages=["ru"])))
    options = WordingOptions(comet_python=python, comet_model="killed")
    found = compare_versions(versions, options, n_resamples=99)
    assert found.measures["QE"].figures == {}
    assert found.notes[-1].startswith("QE: 0 rows with a sentence in a split 'en'")


def test_the_worker_alone(python):
    from polyprobe.analysis.compare.sentences.compare import WORKER

    done = subprocess.run([python, WORKER, "fine"], input=b"", capture_output=True, check=True)
    assert json.loads(done.stdout) == {"scores": [], "comet": "0"}
