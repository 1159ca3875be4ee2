"""The files and entries of docs/adding.md work in a copy of the checkout."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bench.house import ROOMS
from tests.blocks.pages import read_blocks
from tests.hub.client import run_client, run_polyprobe
from tests.making.facts import write_facts
from tests.making.runs import SCORES, write_run
from tests.making.tiny import save_model

pytestmark = pytest.mark.acceptance
ROOT = Path(__file__).parents[1]
HEAD = re.compile(r"# (?P<path>\S+\.\w+)(?:, (?P<where>in|above) (?P<name>\w+))?\n")
FOLDERS = (*ROOMS, "datasets")


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    tree = tmp_path_factory.mktemp("newcomer") / "polyprobe"
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip("not a git checkout: the files to copy are unknown")
    for name in done.stdout.split("\0"):
        if (name.split("/")[0] in FOLDERS or "/" not in name) and (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
    for block in read_blocks("docs/adding.md"):
        head = HEAD.match(block.text)
        if head:
            place(tree / head["path"], head["where"], head["name"], block.text[head.end() :])
    table = tree / "scoring" / "scorers" / "__init__.py"
    table.write_text(re.sub(r"\bCAUSAL\)", "SUMMED, CAUSAL)", table.read_text()))
    return tree


def place(path: Path, where: str | None, name: str | None, text: str) -> None:
    if where is None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    start = rf"^( *{name}\b.*[\[{{(]\n)" if where == "in" else rf"^([ \[]*{name}\b)"
    before, line, after = re.split(start, path.read_text(), maxsplit=1, flags=re.MULTILINE)
    path.write_text(before + (line + text if where == "in" else text + line) + after)


@pytest.fixture
def run(tree, tmp_path):

    def run(*arguments: str) -> str:
        done = run_polyprobe(
            *map(str, arguments),
            home=tmp_path / "home",
            folder=tmp_path,
            offline=True,
            variables={"PYTHONPATH": str(tree.parent)},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_a_metric(tree, tmp_path):
    code = f"""
import evaluate
metric = evaluate.load({str(tree / "metrics" / "share_correct")!r})
answer = metric.compute(predictions=["Bern", "Ulm"], references=["Bern", "Bonn"])
"""
    found = run_client(
        code, home=tmp_path, offline=True, variables={"PYTHONPATH": str(tree.parent)}
    )
    assert found == {"share_correct": 1 / 2, "n_queries": 2}
    assert '"polyprobe.metrics.share_correct"' in (tree / "pyproject.toml").read_text()


def test_a_dataset(tree, run, tmp_path):
    run("build", "capitals")
    table = pq.read_table(tmp_path / "datasets" / "capitals" / "data" / "default" / "es.parquet")
    assert table["prompt"].to_pylist() == ["La capital de Francia es [Y].",
                                           "La capital de Italia es [Y]."]  # fmt: skip
    assert "# Capitals" in (tmp_path / "datasets" / "capitals" / "README.md").read_text()
    run("eval", "geolm", "--dataset", "datasets/capitals", "--output", "run")
    assert (tmp_path / "run" / "results.json").exists()


def test_a_figure(run, tmp_path):
    write_run(tmp_path / "run", write_facts(tmp_path / "facts"), SCORES)
    assert "RankC of large pools: mean " in run("metrics", "run", "--resamples", "0")
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert 0 < results["rankc_large"]["en-ru"] < 1
    run("export", "run", "--format", "csv")
    assert "rankc_large,en,ru," in (tmp_path / "run" / "results.csv").read_text()


def test_an_analysis(tree, run, tmp_path):
    write_run(tmp_path / "run", write_facts(tmp_path / "facts"), SCORES)
    run("metrics", "run", "--resamples", "0")
    outputs = ["--json", "spread.json", "--output", "spread.html", "--figure", "spread.svg"]
    shown = run("spread", "run", *outputs)
    assert "distance of the best from the worst" in shown
    figures = json.loads((tmp_path / "spread.json").read_text())
    values = figures["accuracy"].values()
    assert figures["distance"] == max(values) - min(values) > 0
    page = (tmp_path / "spread.html").read_text()
    assert "how far apart the languages are" in page
    assert "Accuracy by language" in page
    assert (tmp_path / "spread.svg").read_text().endswith("</svg>\n")
    assert "spread" in run("--help")


def test_an_option_of_the_runner(tree, run, tmp_path):
    write_facts(tmp_path / "facts")
    run("eval", "geolm", "--dataset", "facts", "--remark", "mine", "--output", "run")
    assert "remark:mine" in (tmp_path / "run" / "run.json").read_text()
    assert "A remark of yours" in run("eval", "--help")


@pytest.mark.upstream
def test_a_source_of_facts(upstream, tree, run, tmp_path):
    source = ["--source", "peaks", "--languages", "en,es", "--candidates", "3"]
    run("build", "balanced", *source, "--mirror", str(upstream), "--output", "peaks")
    [file] = (tmp_path / "peaks").glob("data/*/es.parquet")
    table = pq.read_table(file)
    assert "Cervino es una montaña de [Y]." in table["prompt"].to_pylist()
    assert {*table["candidates"].to_pylist()[0]} == {"Suiza", "Argentina", "Indonesia"}


def test_a_model_family(tree, run, tmp_path):
    save_model("gpt2", tmp_path / "model")
    write_facts(tmp_path / "facts")
    run("eval", "model", "--dataset", "facts", "--output", "run")
    assert "bmlama-sum" in (tmp_path / "run" / "results.json").read_text()


def test_a_translator(tree, tmp_path):
    code = """
from polyprobe.builder.translators import load_translator
answer = load_translator("reverse").translate(["Paris is in France."], "en", "xx")
"""
    found = run_client(
        code, home=tmp_path, offline=True, variables={"PYTHONPATH": str(tree.parent)}
    )
    assert found == [".ecnarF ni si siraP"]


def test_an_export_format(run, tmp_path):
    write_run(tmp_path / "run", write_facts(tmp_path / "facts"), SCORES)
    assert "results.lines.csv" in run("export", "run", "--format", "lines")
    lines = (tmp_path / "run" / "results.lines.csv").read_text().splitlines()
    assert lines[0] == "figure,language,other_language,value"
    assert any(line.startswith("accuracy,en,,") for line in lines)
