"""Mistakes in a user's own facts and templates: one line with file, place and remedy."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from polyprobe.cli import app
from polyprobe.schema.load import load_facts
from polyprobe.system.errors import PolyprobeError
from tests.builder.own_facts import CAPITALS, HEAD, TEMPLATES

BOTH = HEAD + CAPITALS
FRENCH = 'fr = "Capitale de [X] : [Y]."'

FACTS = {
    "empty": ("", "has no column 'relation'; expected relation, subject_en, object_en, .* none"),
    "blank": ("\n\n", "has no column 'relation'"),
    "header only": (HEAD, "has no facts below its header; add a row for each fact"),
    "no header": (CAPITALS, "has no column 'relation'; .* found: capital, greece, athens"),
    "no relation column": (BOTH.replace("relation,", "kind,"), "has no column 'relation'"),
    "no object column": (
        BOTH.replace("object_fr", "objet_fr"),
        "has no column 'object_fr'; expected relation, subject_en, object_en, .* found: relation",
    ),
    "no labels": ("relation,subject,object\na,b,c\n", "has no column 'subject_en'"),
    "double column": (BOTH.replace("subject_fr", "subject_en"), "has 2 columns 'subject_en'"),
    "language name": (
        BOTH.replace("_fr", "_french!"),
        "column 'subject_french!': 'french!' is not a language code such as en",
    ),
    "Windows-1252": (
        BOTH.encode("cp1252"),
        r"facts.csv, line 2: not UTF-8 text; save the file in UTF-8 \(in Excel: CSV UTF-8\)",
    ),
    "half UTF-16": ("\ufeffab".encode("utf-16-le") + b"x", "facts.csv, line 1: not UTF-8"),
    "open quote": (
        BOTH.replace("Peru", '"Peru'),
        "facts.csv, line 3: unexpected end of data; close quotation marks",
    ),
    "quote inside": (
        BOTH.replace("Peru", '"Pe"ru"'),
        "facts.csv, line 3: .* close quotation marks",
    ),
    "line break inside": (
        BOTH.replace("Peru", '"Pe\nru"'),
        "facts.csv, line 3: subject_en contains .* line break: 'Pe.nru'; correct the cell",
    ),
    "too few cells": (
        BOTH + "capital,Italy,Rome\n",
        "facts.csv, line 5: 3 cells, but 5 columns; put cells that contain the delimiter in",
    ),
    "too many cells": (BOTH + "capital,Korea, South,Seoul,a,b\n", "line 5: 6 cells, but 5 columns"),
    "no relation": (BOTH + ",Italy,Rome,Italie,Rome\n", "line 5: no relation; fill in the column"),
    "unknown relation": (
        BOTH + "captial,Italy,Rome,Italie,Rome\n",
        r"unknown relation 'captial' in .*templates.toml \(.*facts.csv, line 5\); did you mean "
        "'capital'",
    ),
    "no subject": (
        BOTH + "capital,,Rome,,Rome\n",
        "facts.csv, line 5: no subject; fill in subject_en, or delete the row",
    ),
    "no object": (
        BOTH + "capital,Italy, ,Italie,\u00a0\n",
        "facts.csv, line 5: no object; fill in",
    ),
    "slot": (BOTH + "capital,[X],Rome,Italie,Rome\n", r"line 5: subject_en contains \[X\]"),
    "two labels": (
        BOTH + "capital,Greece,Athens,Grèce,Athenes\n",
        "facts.csv, line 5: 'athens' is 'Athenes' in 'fr', but 'Athènes' in line 2; correct one",
    ),
    "colon in an id": (
        BOTH.replace("relation,", "relation,subject_id,").replace("capital,", "capital,Q:1,"),
        "facts.csv, line 2: subject_id 'Q:1' contains ':'; use other characters",
    ),
    "one language": (
        "relation,subject_en,object_en\ncapital,Peru,Lima\ncapital,Chad,N'Djamena\n",
        "facts.csv: one language, en; consistency needs two or more: add the columns",
    ),
    "one object": (
        HEAD + "capital,Peru,Lima,Pérou,Lima\n",
        "facts.csv: no relation has two objects, and a query needs a wrong candidate; add facts",
    ),
    "one answer for all": (
        HEAD + "capital,Peru,Lima,Pérou,Lima\ncapital,Peru,Cusco,Pérou,Cuzco\n",
        "no fact of own finds a distractor in its relation",
    ),
    "nothing complete": (
        HEAD + "capital,Peru,Lima,Pérou,\ncapital,Chad,N'Djamena,,N'Djaména\n",
        r"facts.csv: no fact has labels .* of en, fr; the fewest are complete in 'fr' \(0 of 2\)",
    ),
}
WORDS = {
    "empty": ("", "templates.toml has no templates; add a table for each relation"),
    "no TOML": ('[capital]\nen = "a\n', "templates.toml is not valid TOML: .*line 2.*correct it"),
    "Windows-1252": ('[capital]\nfr = "é"'.encode("cp1252"), "templates.toml, line 2: not UTF-8"),
    "no table": ('capital = "The capital of [X] is [Y]."', r"capital is not a table; write \[cap"),
    "no text": ("[capital]\nen = 1\n", r"\[capital\] en: expected text in quotation marks"),
    "no subject": (TEMPLATES.replace("[X] :", "ce pays :"), r"\[capital\] fr: expected \[X\] and"),
    "no object": (TEMPLATES.replace(": [Y]", ": ?"), r"\[capital\] fr: expected \[X\] and \[Y\]"),
    "two objects": (TEMPLATES.replace(": [Y]", ": [Y] [Y]"), r"\[capital\] fr: expected"),
    "mask": (TEMPLATES.replace(": [Y]", ": [MASK]"), r"\[capital\] fr: expected .*\[MASK\]"),
    "language name": (TEMPLATES.replace("fr =", "france =  "), "'france' is not a language code"),
    "no French": (TEMPLATES.replace(FRENCH, ""), "templates.toml has no template in 'fr'; add one"),
    "bad name": (TEMPLATES.replace("[capital]", '["a:b"]'), "relation 'a:b' contains ':'; rename"),
}
OPTIONS = {
    "--languages en,es": "unknown language 'es' in .*facts.csv; .*available: en, fr",
    "--languages en": "one language, en; .*or name more --languages",
    "--licence other": "--licence 'other': expected an id of the Hub, such as cc-by-4.0",
    "--licence CC-BY": "--licence 'CC-BY': expected an id of the Hub",
    "--output facts.csv": "facts.csv is a file; give --output a folder",
    "--output full": "full holds something other than a build of own; give another --output",
}


def build(folder: Path, facts, templates, *options: str):
    for name, text in (("facts.csv", facts), ("templates.toml", templates)):
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    words = ["build", "own", "facts.csv", "--templates", "templates.toml", *options]
    return CliRunner().invoke(app, words).exception


def check_line(error, message: str) -> None:
    assert isinstance(error, PolyprobeError), error
    assert re.search(message, str(error)), error
    assert "\n" not in str(error)
    assert not Path("datasets").exists()


@pytest.mark.parametrize("name", FACTS)
def test_facts(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text, message = FACTS[name]
    check_line(build(tmp_path, text, TEMPLATES), message)


@pytest.mark.parametrize("name", WORDS)
def test_templates(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text, message = WORDS[name]
    facts = BOTH.replace("capital", "a:b") if name == "bad name" else BOTH
    check_line(build(tmp_path, facts, text), message)


@pytest.mark.parametrize("options", OPTIONS)
def test_options(options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    check_line(build(tmp_path, BOTH, TEMPLATES, *options.split()), OPTIONS[options])


@pytest.mark.parametrize("missing", ["facts.csv", "templates.toml"])
@pytest.mark.parametrize("folder", [False, True])
def test_files_that_cannot_be_read(missing, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    other = {"facts.csv": TEMPLATES, "templates.toml": BOTH}[missing]
    name = "templates.toml" if missing == "facts.csv" else "facts.csv"
    Path(name).write_text(other, encoding="utf-8")
    if folder:
        Path(missing).mkdir()
    words = ["build", "own", "facts.csv", "--templates", "templates.toml"]
    reason = "Is a directory" if folder else "No such file or directory"
    check_line(CliRunner().invoke(app, words).exception, f"cannot read {missing}: {reason}")


def test_a_table_of_facts_is_no_dataset_yet(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "facts.csv").write_text(BOTH, encoding="utf-8")
    with pytest.raises(PolyprobeError, match="facts.csv is a file; .* polyprobe build own facts"):
        load_facts("facts.csv")
