"""Datasets of a user's own facts: the rows, and every command on the example of the docs."""

import csv
import io
import re
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from polyprobe.builder.build import build_own, build_sentences
from polyprobe.builder.recipes.own import make
from polyprobe.builder.recipes.requests import OwnRequest
from polyprobe.cli import app
from polyprobe.publish.push import Target, push_folder
from polyprobe.schema.load import load_facts
from polyprobe.system.messages import PolyprobeError
from tests.blocks.pages import read_blocks
from tests.builder.own_facts import CAPITALS, HEAD, TEMPLATES
from tests.builder.sentences.phrases import Told

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "own"
LANGUAGES = ("en", "fr", "de")


@pytest.fixture
def own(tmp_path):
    """Write the two files and return the request for them."""

    def write(facts=HEAD + CAPITALS, templates=TEMPLATES, **options) -> OwnRequest:
        for name, text in (("facts.csv", facts), ("templates.toml", templates)):
            content = text if isinstance(text, bytes) else text.encode()
            (tmp_path / name).write_bytes(content)
        return OwnRequest(tmp_path / "facts.csv", tmp_path / "templates.toml", **options)

    return write


@pytest.fixture(scope="module")
def example(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("example") / "nations"
    build_own(OwnRequest(EXAMPLE / "facts.csv", EXAMPLE / "templates.toml"), folder)
    return folder


def test_rows_by_hand(own):
    rows = make(own()).rows
    assert [row.fact_id for row in rows["fr"]] == [
        "capital:chad:n'djamena",
        "capital:greece:athens",
        "capital:peru:lima",
    ]
    row = rows["fr"][1]
    assert (row.prompt, row.subject) == ("Capitale de Grèce : [Y].", "Grèce")
    assert sorted(row.candidates) == ["Athènes", "Lima", "N'Djaména"]
    assert [row.candidates[i] for i in row.answers] == row.answer_forms == ["Athènes"]
    for english, french in zip(rows["en"], rows["fr"], strict=True):
        assert english.candidate_ids == french.candidate_ids
        assert english.answers == french.answers


def read_table() -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((EXAMPLE / "facts.csv").read_text(encoding="utf-8"))))


def test_the_example_by_its_table(example):
    """Each row of the dataset has a row in the CSV, and no distractor of it is true by the CSV."""
    table = read_table()
    assert len(table) == 30
    tables = load_facts(str(example))
    assert set(tables) == set(LANGUAGES)
    for language in LANGUAGES:
        rows = tables[language].to_pylist()
        complete = [r for r in table if all(r.values())]
        true = {
            (r["relation"], r[f"subject_{language}"], r[f"object_{language}"]) for r in complete
        }
        made = set()
        for row in rows:
            [answer] = row["answers"]
            facts = [(row["relation"], row["subject"], label) for label in row["candidates"]]
            assert [n for n, fact in enumerate(facts) if fact in true] == [answer]
            assert row["prompt"].count(row["subject"]) == 1
            made.add(facts[answer])
        assert made == true
    swiss = [row for row in tables["en"].to_pylist() if row["subject"] == "Switzerland"]
    assert [row["answer_forms"] for row in swiss] == [["French"], ["German"]]


def test_a_fact_without_a_label_is_counted_by_language(example):
    notes = make(OwnRequest(EXAMPLE / "facts.csv", EXAMPLE / "templates.toml")).notes
    assert (notes.source_facts, notes.facts) == (30, 29)
    assert notes.left_out.rows() == [("no label", "", 1), ("no label", "de", 1)]
    card = (example / "README.md").read_text(encoding="utf-8")
    assert "| no label | in total | 1 |\n| no label | de | 1 |" in card


def test_a_relation_without_a_template_is_counted(own):
    more = "river,France,Seine,France,Seine\nriver,Peru,Amazon,Pérou,Amazone\n"
    request = own(HEAD + CAPITALS + more, TEMPLATES + '[river]\nen = "In [X] flows [Y]."\n')
    made = make(request)
    assert made.notes.left_out.rows() == [("no template", "", 2), ("no template", "river in fr", 2)]
    assert {row.relation for row in made.rows["en"]} == {"capital"}


def test_the_same_command_writes_the_same_bytes_in_another_folder(example, tmp_path):
    files = [shutil.copy(EXAMPLE / name, tmp_path) for name in ("facts.csv", "templates.toml")]
    again = tmp_path / "nations"
    for _ in range(2):  # the second build replaces the first
        build_own(OwnRequest(*map(Path, files)), again)
    names = sorted(p.relative_to(example) for p in example.rglob("*") if p.is_file())
    assert names == sorted(p.relative_to(again) for p in again.rglob("*") if p.is_file())
    for name in names:
        assert (example / name).read_bytes() == (again / name).read_bytes(), name
    other = build_own(OwnRequest(*map(Path, files), seed=1), tmp_path / "other")[0]
    data = "data/default/en.parquet"
    assert pq.read_table(other / data) != pq.read_table(again / data)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(",", ";"),
        lambda text: text.replace(",", "\t"),
        lambda text: text.replace("\n", "\r\n").encode("utf-8-sig"),
        lambda text: text.replace(",", "\t").encode("utf-16"),
        lambda text: text.replace("Athènes", "Athe\u0300nes"),
        lambda text: text.replace("Athènes", " Athènes\u00a0"),
        lambda text: text.replace("Athènes", '"Athènes"'),
        lambda text: text.replace("\n", ",\n").replace("capital,Peru", "\n,,,,,\ncapital,Peru"),
        lambda text: text.replace("relation,subject_en", "Relation,SUBJECT_EN"),
        lambda text: text + CAPITALS,
        lambda text: text + "capital,Greece,Athens,,\n",
        lambda text: text + "capital,Greece,Athens,Gre\u0300ce,ATHÈNES\n",
    ],
    ids=["semicolons", "tabs", "BOM and CRLF", "UTF-16", "NFD", "blanks", "quotes", "blank lines",
         "capitals", "twice", "twice in part", "twice in NFD"],
)  # fmt: skip
def test_spellings_of_one_table_give_the_same_rows(own, change):
    expected = make(own()).rows
    assert make(own(change(HEAD + CAPITALS))).rows == expected


def test_repeated_rows_and_cleaned_labels_are_counted(own):
    twice = CAPITALS.splitlines(keepends=True)[0]
    made = make(own(HEAD + CAPITALS.replace("Lima", "Li\u00adma") + twice))
    assert made.rows == make(own()).rows
    assert list(made.notes.repairs.values()) == [1, 2]  # a row; Lima in two languages


def test_ids_and_homonyms(own):
    """Georgia is a country and a state, with different ids."""
    head = "relation,subject_id,object_id,subject_en,object_en,subject_fr,object_fr\n"
    rows = (
        "capital,Q230,,Georgia,Tbilisi,Géorgie,Tbilissi\n"
        "capital,Q1428,,Georgia,Atlanta,Géorgie,Atlanta\n"
        "capital,,,Peru,Lima,Pérou,Lima\n"
    )
    made = {row.fact_id: row for row in make(own(head + rows)).rows["en"]}
    assert set(made) == {"capital:Q230:tbilisi", "capital:Q1428:atlanta", "capital:peru:lima"}
    assert sorted(made["capital:Q230:tbilisi"].candidates) == ["Lima", "Tbilisi"]


def test_a_further_correct_answer_is_never_a_distractor(own):
    more = "capital,Peru,Cusco,Pérou,Cuzco\n"
    rows = {row.fact_id: row for row in make(own(HEAD + CAPITALS + more)).rows["en"]}
    assert "Cusco" not in rows["capital:peru:lima"].candidates
    assert "Lima" not in rows["capital:peru:cusco"].candidates


def run(*words):
    result = CliRunner().invoke(app, [*map(str, words)])
    assert result.exception is None, result.output
    return result.output


def test_the_commands_read_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ["--templates", EXAMPLE / "templates.toml", "--licence", "cc0-1.0"]
    shown = run("build", "own", EXAMPLE / "facts.csv", *options)
    assert "29 of 30 facts; excluded:" in shown
    assert "at most continent 5, language 5" in shown
    assert shown.endswith("Wrote 29 rows in 3 languages to datasets/own.\n")
    assert "29 rows, 29 parallel in all 3 languages" in run("audit", "own")
    lines = push_folder(Path("datasets/own"), Target("me/own", False, "main", False), dry_run=True)
    assert any(re.search(r"me/own.*6 files|me/own.*5 files", line) for line in lines)


def test_a_sentence_version_of_it(tmp_path):
    """Each prompt with its answer, as a translator would return it, gives the same rows."""
    request = OwnRequest(EXAMPLE / "facts.csv", EXAMPLE / "templates.toml")
    build_own(request, tmp_path / "nations")
    rows = make(request).rows
    whole = {
        name: [r.prompt.replace("[Y]", r.answer_forms[0]) for r in rows[name]] for name in rows
    }
    told = {
        (name, english): text
        for name in ("fr", "de")
        for english, text in zip(whole["en"], whole[name], strict=True)
    }
    options = {"lemmatizer": "none", "output": tmp_path / "nations"}
    folder, notes = build_sentences("own", "default", Told(told), **options)
    assert notes.rows == 29
    prompts = {
        name: table["prompt"].to_pylist()
        for name, table in load_facts(str(folder), "default-sentence").items()
    }
    assert prompts == {name: [row.prompt for row in rows[name]] for name in sorted(rows)}
    assert "| `default-sentence` | 3 | 29 |" in (folder / "README.md").read_text(encoding="utf-8")


def read_page(language: str) -> str:
    [block] = [b for b in read_blocks("docs/own_data.md") if b.language == language]
    return block.text


def test_the_page_shows_the_example():
    assert (EXAMPLE / "facts.csv").read_text(encoding="utf-8").startswith(read_page("csv"))
    assert (EXAMPLE / "templates.toml").read_text(encoding="utf-8").startswith(read_page("toml"))


def test_the_card_on_the_page_names_the_files(example, tmp_path):
    for name, language in (("english", "en"), ("french", "fr")):
        data = example / "data" / "default" / f"{language}.parquet"
        shutil.copy(data, tmp_path / f"{name}.parquet")
    (tmp_path / "README.md").write_text(read_page("yaml"), encoding="utf-8")
    assert list(load_facts(str(tmp_path))) == ["en", "fr"]


def test_datasets_loads_it(example, tmp_path):
    import datasets

    loaded = datasets.load_dataset(str(example), cache_dir=str(tmp_path))
    assert {name: part.num_rows for name, part in loaded.items()} == dict.fromkeys(LANGUAGES, 29)
    card = (example / "README.md").read_text(encoding="utf-8")
    assert "\npretty_name: nations\n" in card
    assert "\n# nations\n" in card
    assert 'load_dataset("nations")' in card
    assert "| language | official language | 8 |" in card
    assert str(EXAMPLE) not in card


def test_another_build_in_the_folder_is_named(own, tmp_path, capsys):
    folder = tmp_path / "nations"
    build_own(own(), folder)
    build_own(own(), folder)
    assert "replacing" not in capsys.readouterr().err
    build_own(own(seed=1), folder)
    said = capsys.readouterr().err
    assert f"replacing {folder}, made by `polyprobe build own facts.csv" in said
    assert "--seed 0" in said


# Mistakes in a user's own facts and templates: one line with file, place and remedy.

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
    "long cell": (
        BOTH.replace("Peru", "Peru" * 50_000),
        "facts.csv, line 3: field larger than field limit .*; shorten the cell, or close its",
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
        "facts.csv: no fact of own finds a distractor, another object of its relation .* add facts",
    ),
    "one answer for all": (
        HEAD + "capital,Peru,Lima,Pérou,Lima\ncapital,Peru,Cusco,Pérou,Cuzco\n",
        "no fact of own finds a distractor, another object of its relation",
    ),
    "nothing complete": (
        HEAD + "capital,Peru,Lima,Pérou,\ncapital,Chad,N'Djamena,,N'Djaména\n",
        r"facts.csv: no fact .* of en, fr .*; the fewest are complete in fr \(0 of 2\)",
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
    "another code": (
        TEMPLATES.replace("fr =", "fr_CA ="),
        r"no template in 'fr'; did you mean 'fr-ca'\? name both alike; add one",
    ),
    "workbook": (
        b"PK\x03\x04" + bytes(9),
        "templates.toml is an Excel workbook or",
    ),
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


@pytest.mark.parametrize(("missing", "notes"), [("None", 1), ("NULL", 1), ("Nana", 0)])
def test_a_word_for_a_missing_value_is_noted(missing, notes, own, capsys):
    rows = make(own(HEAD + CAPITALS + f"capital,Nauru,{missing},Nauru,{missing}\n")).rows
    assert missing in {label for row in rows["en"] for label in row.candidates}
    text = f"labels, not missing values: {missing} (line 5), {missing} (line 5); otherwise empty"
    assert capsys.readouterr().err.count(text) == notes


@pytest.mark.parametrize(
    ("facts", "options", "n"),
    [(CAPITALS, [], 0), (CAPITALS[: CAPITALS.index("capital,Chad")], [], 2)],
)
def test_rows_without_a_donor_are_counted(facts, options, n, tmp_path):
    (tmp_path / "facts.csv").write_text(HEAD + facts, encoding="utf-8")
    (tmp_path / "templates.toml").write_text(TEMPLATES, encoding="utf-8")
    places = ["--templates", tmp_path / "templates.toml", "--output", tmp_path / "mine", *options]
    words = ["build", "own", tmp_path / "facts.csv", *places]
    printed = CliRunner().invoke(app, [*map(str, words)], env={"COLUMNS": "300"}).output
    assert ("Wrote 3 rows" in printed) == (not n)
    text = (
        f"no centred RankC and gain of {n} of {n} facts: no subject of their relation with another"
    )
    assert (text in printed) == bool(n)
