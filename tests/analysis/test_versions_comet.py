"""QE by the command `comet-score`: a stand-in for it, and the real one where it is installed.

The stand-in reads, prints and ends as comet-score of unbabel-comet 2.2.7 does; its model's name
says how it behaves. Measured with the real one (torch 2.13, CPU, a random reference-free checkpoint
and 200 texts, whose scores have a standard deviation of 0.013): as the command computes in half
precision, its scores differ by at most 0.00017 from those of COMET's library in single precision.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from polyprobe.analysis.compare.match import find_versions
from polyprobe.analysis.compare.options import WordingOptions
from polyprobe.analysis.compare.sentences.compare import compare_versions, score_translations
from polyprobe.cli import app
from polyprobe.system.messages import PolyprobeError
from tests.making.versions import N, write_versions

STAND_IN = """
import argparse, json, os, sys
parser = argparse.ArgumentParser("comet-score")
parser.add_argument("-s", "--sources", required=True)
parser.add_argument("-t", "--translations", nargs="+")
parser.add_argument("-r", "--references")
parser.add_argument("--quiet", action="store_true")
parser.add_argument("--to_json", default="")
parser.add_argument("--model")
cfg = parser.parse_args()
print("Some library's warning", file=sys.stderr)
if cfg.model == "missing":
    raise KeyError(f"Model '{cfg.model}' not supported by COMET.")
if cfg.model == "references":
    parser.error(f"{cfg.model} requires -r/--references or -d/--sacrebleu_dataset.")
if cfg.model == "killed":
    os.kill(os.getpid(), 9)
texts = [open(x, encoding="utf-8").readlines() for x in (cfg.sources, *cfg.translations)]
rows = [{"src": src.strip(), "mt": mt.strip()} for src, mt in zip(*texts)]
for row in rows:
    row["COMET"] = len(row["mt"]) / 100 + len(row["src"])
if cfg.model == "nan":
    rows[0]["COMET"] = float("nan")
print("Segment 0", *rows)
with open(cfg.to_json, "w", encoding="utf-8") as file:
    json.dump({cfg.translations[0]: rows[cfg.model == "few":]}, file, ensure_ascii=False)
"""
# Writes a random reference-free checkpoint below argv[1], and scores of COMET's own functions.
RANDOM = """
import json, sys, torch
from pathlib import Path
from comet.models import ReferencelessRegression, load_from_checkpoint
from transformers import BertConfig, BertTokenizerFast
root = Path(sys.argv[1])
letters = [chr(x) for x in (*range(33, 127), *range(0x410, 0x450))]
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *("##" + x for x in letters)]
(root / "vocab.txt").write_text("\\n".join(words))
BertTokenizerFast(str(root / "vocab.txt"), do_lower_case=False).save_pretrained(root)
sizes = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
BertConfig(vocab_size=len(words), **sizes).save_pretrained(root)
torch.manual_seed(0)
model = ReferencelessRegression(encoder_model="BERT", pretrained_model=str(root),
    load_pretrained_weights=False, hidden_sizes=[64, 32], local_files_only=True)
(root / "checkpoints").mkdir()
file = root / "checkpoints" / "model.ckpt"
torch.save({"state_dict": model.state_dict(), "hyper_parameters": dict(model.hparams),
    "pytorch-lightning_version": "2.0.0"}, file)
(root / "hparams.yaml").write_text("class_identifier: referenceless_regression_metric")
samples = [{"src": src, "mt": mt} for src, mt in json.load(sys.stdin)]
scores = load_from_checkpoint(file).predict(samples, gpus=0, progress_bar=False).scores
(root / "scores.json").write_text(json.dumps(scores))
"""
PAIRS = [("Olga was born.", "Ольга родилась."), ("Ivan died.", "Иван\r\nумер.\n"), ("No.", "")]


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    """The stand-in as a command."""
    file = tmp_path_factory.mktemp("bin") / "comet-score"
    file.write_text(f"#!{sys.executable}\n{STAND_IN}")
    file.chmod(0o755)
    return str(file)


def test_scores_come_in_order_and_a_text_is_one_line(command):
    assert score_translations(PAIRS, command, "fine") == [14 + 0.15, 10 + 0.10, 3]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("missing", "status 1, KeyError: \"Model 'missing' not supported by COMET.\"; install it"),
        ("references", "status 2, comet-score: error: references requires -r/--references or"),
        ("killed", "status -9, Some library's warning; install"),
        ("few", "2 scores for 3 texts"),
        ("nan", "3 scores for 3 texts, or not all are numbers"),
    ],
)
def test_what_fails_is_one_line_with_a_remedy(command, model, message):
    with pytest.raises(PolyprobeError) as caught:
        score_translations(PAIRS, command, model)
    line = str(caught.value)
    assert line.startswith(f"COMET ({command}, {model}): {message}")
    assert "DIR/bin/pip install unbabel-comet 'setuptools<81'`, give `--comet DIR" in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("/no/comet-score", "No such file or directory"),
        ("/", "Permission denied"),
        ("/bin/true", "status 0, no message"),
        ("/bin/false", "status 1, no message"),
    ],
)
def test_a_program_that_is_not_comet_score(program, problem):
    with pytest.raises(PolyprobeError, match=rf"^COMET .{program}, m.: {problem}; install it"):
        score_translations(PAIRS, program, "m")


@pytest.mark.acceptance
def test_comet_score_gives_the_scores_of_its_library(tmp_path, monkeypatch):
    command = os.environ.get("COMET_SCORE") or shutil.which("comet-score")
    if not command:
        pytest.skip("needs comet-score of unbabel-comet: set COMET_SCORE to its path")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    python, model = Path(command).with_name("python"), tmp_path / "checkpoints" / "model.ckpt"
    texts = [("a" * (1 + i % 7) + f" b{i}", "ж" * (1 + i % 5) + f" {i * i}.") for i in range(60)]
    texts += PAIRS
    arguments = [python, "-c", RANDOM, tmp_path]
    flat = json.dumps([(src, " ".join(mt.split())) for src, mt in texts])
    subprocess.run(arguments, input=flat.encode(), check=True, capture_output=True)
    expected = json.loads((tmp_path / "scores.json").read_text())
    assert max(expected) - min(expected) > 0.02
    # half precision
    assert score_translations(texts, command, str(model)) == pytest.approx(expected, abs=1e-3)
    with pytest.raises(
        PolyprobeError, match=r"status 1, KeyError: .Model '/no.ckpt' not supported"
    ):
        score_translations(texts, command, "/no.ckpt")


def test_mean_scores_by_hand(tmp_path, command):
    versions = find_versions(*reversed(write_versions(tmp_path)))
    options = WordingOptions(comet=command, comet_model="fine")
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


def test_a_failure_keeps_all_the_rest(tmp_path, command):
    template, sentence = write_versions(tmp_path)
    file = tmp_path / "c.json"
    arguments = [template.folder, sentence.folder, "--resamples", 99, "--json", file]
    arguments += ["--comet", command, "--comet-model", "killed"]
    result = CliRunner().invoke(app, ["compare", *map(str, arguments)])
    assert result.exit_code == 1
    values = json.loads(file.read_text())["versions"]
    assert values["qe"] is None
    assert values["chrf"]["by_language"]["ru"]["corpus"] > 0
    (line,) = values["failures"]
    assert line.startswith("QE: COMET (")
    assert f"omitted: {line}" in result.output


def test_no_english_to_translate_from(tmp_path, command):
    versions = find_versions(*reversed(write_versions(tmp_path, languages=["ru"])))
    options = WordingOptions(comet=command, comet_model="killed")
    found = compare_versions(versions, options, n_resamples=99)
    assert found.measures["QE"].figures == {}
    assert found.notes[-1].startswith("QE: 0 rows with a sentence in a split 'en'")
