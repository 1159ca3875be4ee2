"""Mistakes in options are found before anything slow is imported, and name the nearest value."""

import re

import pytest

from polyprobe.cli import main
from tests.hub.client import run_client
from tests.making.mistakes import MISTAKES as DECLARED
from tests.making.mistakes import write_flags

# No part of polyprobe may import these before it has checked the options.
# (The word is split because `run_client` imports that package for code which names it.)
HEAVY = """
import contextlib, io, sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.split(".")[0] in {"datasets", "eval" "uate", "polars", "torch", "transformers"}:
            raise SystemExit(f"imports {name}")
        return super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Without
from polyprobe.cli import main

def run(line):
    sys.argv = ["polyprobe", *line.split()]
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            main()
        except SystemExit as end:
            return [str(end), out.getvalue()]
    return ["0", out.getvalue()]
"""
EVAL = "eval geolm --dataset geofacts --output r "
MISTAKES = {
    "board r --table t.xls": "--table t.xls: expected a name that ends in .csv, .tex or .md",
    "board r --output b.html": "--output b.html: expected a folder for index.html",
    "board r --figure f.gif": "--figure f.gif: expected a name that ends in .svg, .pdf or .png",
    **{EVAL + " ".join(write_flags(x)): message for message, x in DECLARED.items()},
    EVAL + "--device cudda:1": "unknown --device 'cudda'; did you mean 'cuda'? known: auto, ",
    EVAL + "--chat-option a=1": "--chat-option is for --chat; add that, or leave --chat-option",
    EVAL + "--chat --chat-option thinking": "--chat-option 'thinking'; expected KEY=VALUE",
    EVAL + "--batch-tokens 99999999999999999999": "--batch-tokens must be 1 to 65536, got 9",
    "groups r --by contient": "unknown --by 'contient'; did you mean 'continent'? known: script, ",
    "groups r --by script --unit row": "unknown --unit 'row'; known: auto, fact, subject, language",
    "report r": "give --output FILE.html for the report, or --figure",
    "report r --output r.html --draw rankc": "--draw is for --figure FILE",
    "compare a b --names names": "--names is for --figure FILE",
    "groups r --by script --draw all": "--draw is for --figure FILE",
    "relate r --with script --order family": "--order is for --figure FILE",
    "board r --draw accuracy": "--draw is for --figure FILE",
    **{
        f"{line} --output r.pdf": "--output r.pdf: expected a name that ends in .html"
        for line in ("report r", "compare a b", "groups r --by script", "relate r --with script")
    },
    "report r --figure r.gif": "--figure r.gif: expected a name that ends in .svg, .pdf or .png",
    "report r --figure r.svg --order scripts": "unknown --order 'scripts'; did you mean 'script'?",
    "report r --figure r.svg --names iso": "unknown --names 'iso'; known: codes, names",
    "tokens geolm --dataset geofacts --texts answer": "unknown --texts 'answer'; did you mean",
    "tokens geoml --dataset geofacts": "unknown model 'geoml'; did you mean 'geolm'?",
    "tokens geolm --dataset geofacts --languages ,": "--languages is empty; give codes such as",
    EVAL + "--refinement x": "unknown --refinement 'x'; known: none, order, confidence",
    EVAL + "--refresh release": "unknown --refresh 'release'; did you mean 'released'?",
    "eval geolm --datset geofacts": "No such option: --datset .*--dataset",
    "metrics r --cluster relations": "unknown --cluster 'relations'; did you mean 'relation'?",
    "metrics r --resamples -1": "--resamples must be 0 to 10000000, got -1",
    "metrics r --resamples 10000001": "--resamples must be 0 to 10000000, got 10000001",
    "compare a b --resamples 10000001": " to 10000000, got 10000001",
    "metrics r --weights norm3": "unknown --weights 'norm3'; did you mean 'norm",
    "metrics r --average mean": "unknown --average 'mean'; known: macro, micro",
    "metrics r --ties stable": "unknown --ties 'stable'; known: expected, released",
    "metrics r --pairs rankc": "--pairs rankc: expected two figures, such as rankc,coverlap",
    "compare a b --cluster subjects": "unknown --cluster 'subjects'; did you mean 'subject'?",
    "compare a b --test bootstap": "unknown --test 'bootstap'; did you mean 'bootstrap'?",
    "compare a b --correction hol": "unknown --correction 'hol'; did you mean 'holm'?",
    "compare a b --verb-forms s": "--verb-forms is for --gender FILE",
    "export r --format cvs": "unknown --format 'cvs'; did you mean 'csv'?",
    "export d --format lm-eval --scoring pll": "unknown --scoring 'pll'; known: bmlama, object",
    "export d --format lighteval --card c": "--card is not an option of --format lighteval",
    "build bmlama --config 17_repaired": "unknown --config '17_repaired'; did you mean '17-rep",
    "build balanced --source mparal": "unknown --source 'mparal'; did you mean 'mpararel'?",
    "build balanced --source mlama": "--languages is needed to build; --plan alone shows what ",
    "build balanced --source mlama --draw freq": "unknown --draw 'freq'; did you mean 'frequency'?",
    "build balanced --source mlama --wording sentences": "did you mean 'sentence'?",
    "build balanced --source mlama --labels xfact": "did you mean 'xfactr'?",
    "build balanced --source mlama --labels mlama": "--labels mlama: its labels are those of",
    "build balanced --source mlama --candidates 1": "--candidates must be at least 2, got 1",
    "build balanced --source mlama --agree relation --languages en": "add --template-translator",
    "build balanced --source mlama --templates 0": "--templates must be at least 1, got 0",
    "build own f.csv --templates t.toml --candidates 1": "--candidates must be at least 2, got 1",
    "build sentences geofacts --translator gogle": "did you mean 'googletrans'?",
    "build sentences geofacts --lemmatizer stansa": "did you mean 'stanza'?",
    "build sentences geofacts --threshold 101": "--threshold must be 0 to 100, got 101",
    "install --all": "No such option: --all; see polyprobe install --help",
    "evla": "No such command 'evla'",
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    code = f"{HEAVY}answer = {{line: run(line) for line in {list(MISTAKES)!r}}}"
    return run_client(code, home=tmp_path_factory.mktemp("home"))


@pytest.mark.parametrize("line", MISTAKES)
def test_mistakes_are_found_before_slow_imports(line, answers):
    status, output = answers[line]
    assert status in ("1", "2"), output or status
    assert output.startswith("error: ")
    assert all(part in output for part in MISTAKES[line].split(".*"))
    assert output.count("\n") == 1


def test_h_is_help(monkeypatch, capsys):
    shown = []
    for option in ("-h", "--help"):
        monkeypatch.setattr("sys.argv", ["polyprobe", "cache", "clear", option])
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert "--dry-run" in shown[0]


BUILDS = (
    "build geofacts --output x",
    "build balanced --source mlama --languages en,fr --output x",
    "build own docs/examples/own/facts.csv --templates docs/examples/own/templates.toml --output x",
    "build sentences geofacts --languages es",
    "audit geofacts",
)


def test_building_without_its_packages_is_one_line(tmp_path):
    code = HEAVY.replace('raise SystemExit(f"imports {name}")', "return None")
    code = re.sub(r"in \{.*\}:", 'in {"polars"}:', code)
    found = run_client(f"{code}\nanswer = [run(line) for line in {BUILDS}]", tmp_path)
    for line, (status, output) in zip(BUILDS, found, strict=True):
        assert status == "1", (line, output)
        assert "needs the package polars: pip install 'polyprobe[builder]'" in output
        assert output.count("\n") == 1, (line, output)
