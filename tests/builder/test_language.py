"""A language by a contributor's files: spellings, mistakes, rows of the others, sheets, cards."""

import hashlib

import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from polyprobe.builder.audit import audit_tables
from polyprobe.builder.audit.checks import CHECKS
from polyprobe.builder.facts.files import read_addition
from polyprobe.builder.language import add_language, build_sheet
from polyprobe.builder.recipes import geofacts
from polyprobe.cli import app
from polyprobe.schema.columns import ANSWER_IN_SUBJECT, FLAGGED, SCHEMA, Row
from polyprobe.schema.load import load_facts
from polyprobe.system.messages import PolyprobeError
from tests.blocks.pages import read_blocks
from tests.builder.basque import TEMPLATE, fill_sheet

NAMES = {
    "en": {"Q183": "Germany", "Q17": "Japan", "Q230": "Georgia", "Q1428": "Georgia (state)",
           "Q46": "Europe", "Q48": "Asia", "Q49": "North America", "Q64": "Berlin",
           "Q1490": "Tokyo"},
    "fr": {"Q183": "Allemagne", "Q17": "Japon", "Q230": "Géorgie", "Q1428": "Géorgie (État)",
           "Q46": "Europe", "Q48": "Asie", "Q49": "Amérique du Nord", "Q64": "Berlin",
           "Q1490": "Tokyo"},
    "eu": {"Q183": "Alemania", "Q17": "Japonia", "Q230": "Georgia", "Q1428": "Georgiako estatua",
           "Q46": "Europa", "Q48": "Asia", "Q49": "Ipar Amerika", "Q64": "Berlin",
           "Q1490": "Tokio"},
}  # fmt: skip
FACTS = [
    ("P30", "Q183", ["Q48", "Q46", "Q49"], 1),
    ("P30", "Q17", ["Q46", "Q48", "Q49"], 1),
    ("P30", "Q230", ["Q49", "Q48"], 1),
    ("P30", "Q1428", ["Q46", "Q49"], 1),
    ("P36", "Q183", ["Q1490", "Q64"], 1),
    ("P36", "Q17", ["Q1490", "Q64"], 0),
]
WORDS = {
    "en": {"P30": ["[X] is in [Y].", "Where is [X]? In [Y]."], "P36": ["[X]: [Y]."]},
    "fr": {"P30": ["[X] est en [Y].", "Où est [X] ? En [Y]."], "P36": ["[X] : [Y]."]},
    "eu": {"P30": [TEMPLATE, "[X] [Y] kontinentean dago."], "P36": ["[X] - [Y]."]},
}
TOML = (
    'licence = "cc0-1.0"\ncontributor = "Ane"\n'
    f'[P30]\nname = "continent"\neu = ["{TEMPLATE}", "[X] [Y] kontinentean dago."]\n'
    '[P36]\neu = "[X] - [Y]."\n'
)


def write_rows(language: str, schema: pa.Schema = FLAGGED) -> pa.Table:
    names, rows = NAMES[language], []
    for relation, subject, ids, answer in FACTS:
        for number, text in enumerate(WORDS[language][relation]):
            rows.append(
                Row(
                    f"{relation}:{subject}:{ids[answer]}", relation, subject, ids[answer],
                    names[subject], text.replace("[X]", names[subject]), [names[x] for x in ids],
                    ids, [answer], [names[ids[answer]]], f"{language}:{relation}:{number}",
                    flags=[],
                )._asdict()
            )  # fmt: skip
    return pa.Table.from_pylist(rows, schema)


def spell(names: dict[str, str], head: str = "id,en,label_eu\n") -> str:
    return head + "".join(f"{x},{NAMES['en'].get(x, x)},{label}\n" for x, label in names.items())


CSV = spell(NAMES["eu"])
TABLES = {language: write_rows(language) for language in ("en", "fr")}


@pytest.fixture
def read(tmp_path):
    """Write the two files and read them."""

    def write(table=CSV, templates=TOML):
        files = tmp_path / "eu.csv", tmp_path / "eu.toml"
        for file, text in zip(files, (table, templates), strict=True):
            file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_addition(*files)

    return write


def test_the_language_is_as_if_the_dataset_had_it(read):
    result, notes = add_language("tiny/default", TABLES, read())
    assert result == TABLES | {"eu": write_rows("eu")}
    assert notes["language"] == ("eu", "9", "10 of 10", "cc0-1.0", "Ane")


SPELLINGS = {
    "semicolons": lambda text: text.replace(",", ";"),
    "tabs": lambda text: text.replace(",", "\t"),
    "Excel": lambda text: text.replace(",", ";").replace("\n", "\r\n").encode("utf-8-sig"),
    "UTF-16": lambda text: text.replace(",", "\t").encode("utf-16"),
    "quotes": lambda text: text.replace("Georgiako estatua", '"Georgiako estatua"'),
    "column at the end": lambda text: text.replace("\n", ",\n"),
    "blank lines": lambda text: text.replace("Q17,", ",,\n\nQ17,"),
    "columns of one's own": lambda text: text.replace("id,en,", "ID,Notes,"),
    "direction and no-break": lambda text: text.replace("Asia\n", "\u200f\u200bAsia\u00a0\n"),
    "decomposed": lambda text: text.replace("Georgiako", "Georgiako"),
    "a line twice": lambda text: text + "Q17,Japan,japonia\n",
    "an empty line twice": lambda text: text + "Q17,Japan,\n",
    "empty forms": lambda text: text.replace("\n", ",\n").replace("label_eu,", "label_eu,forms_eu"),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_spellings_of_one_table_give_the_same_rows(name, read):
    result, _ = add_language("tiny", TABLES, read(SPELLINGS[name](CSV)))
    assert result["eu"]["candidates"] == write_rows("eu")["candidates"]
    assert result["eu"]["prompt"] == write_rows("eu")["prompt"]


def test_zeros_that_excel_cuts_are_there_again(read):
    tables = {x: _rename(table, "Q49", "003") for x, table in TABLES.items()}
    result, _ = add_language("tiny", tables, read(CSV.replace("Q49", "3")))
    assert result["eu"] == _rename(write_rows("eu"), "Q49", "003")


def _rename(table: pa.Table, old: str, new: str) -> pa.Table:
    rows = str(table.to_pylist()).replace(f"'{old}'", f"'{new}'").replace(f":{old}'", f":{new}'")
    return pa.Table.from_pylist(eval(rows), table.schema)


def test_further_forms_count_as_right(read):
    forms = {"Q46": "Europan; Europako;; Europa"}
    lines = [f"{x},{label},{forms.get(x, '')}\n" for x, label in NAMES["eu"].items()]
    result, _ = add_language("tiny", TABLES, read("id,label_eu,forms_eu\n" + "".join(lines)))
    first, *_, last = result["eu"].to_pylist()
    assert first["answer_forms"] == ["Europa", "Europan", "Europako"]
    assert first["candidates"] == ["Asia", "Europa", "Ipar Amerika"]
    assert last["answer_forms"] == ["Tokio"]


# What is left out: {name: (labels, templates, rows that stay, the line)}
HOMONYM = {**NAMES["eu"], "Q1428": "Georgia"}
LEFT_OUT = {
    "no label": (
        {x: y for x, y in NAMES["eu"].items() if x != "Q183"}, TOML, [2, 3, 4, 5, 6, 7, 9],
        "3 rows left out, no label: Q183 Germany",
    ),
    "no template": (NAMES["eu"], TOML.replace("[P36]", "[P37]"), [*range(8)],
                    "2 rows left out, no template: P36"),
    "fewer templates": (NAMES["eu"], TOML.replace(', "[X] [Y] kontinentean dago."', ""),
                        [0, 2, 4, 6, 8, 9], "4 rows left out, no template: P30"),
    "label twice": ({**NAMES["eu"], "Q46": "ASIA"}, TOML, [4, 5, 6, 7, 8, 9],
                    "4 rows left out, label twice: P30:Q183:Q46, P30:Q17:Q48"),
    "homonyms": (HOMONYM, TOML, [0, 1, 2, 3, 8, 9],
                 "4 rows left out, prompt shared: P30:Q230:Q48, P30:Q1428:Q49"),
    "slot in a label": ({**NAMES["eu"], "Q64": "[Y]", "Q230": "[Y]"}, TOML,
                        [0, 1, 2, 3, 6, 7, 8, 9], "2 rows left out, several slots: P30:Q230:Q48"),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_row_that_is_not_complete_is_left_out_in_all_languages(name, read, capsys):
    labels, templates, places, line = LEFT_OUT[name]
    result, _ = add_language("tiny", TABLES, read(spell(labels), templates))
    assert f"tiny: {line}\n" in capsys.readouterr().err
    for language, table in TABLES.items():
        assert result[language] == table.take(places)
    shared = ["fact_id", "candidate_ids", "answers", "object_id"]
    assert result["eu"].select(shared) == TABLES["en"].take(places).select(shared)
    counts = audit_tables(result, "tiny").languages
    assert counts["eu"]["rows_not_parallel_to_en"] == 0
    found = [{x: counts[code][x] for x in CHECKS} for code in ("eu", "en")]
    assert found[0] == found[1]


def test_an_answer_in_the_subject_has_a_flag_in_all_languages(read, capsys):
    names = {**NAMES["eu"], "Q17": "Asia Japonia"}
    result, _ = add_language("tiny", TABLES, read(spell(names)))
    for table in result.values():
        flags = table["flags"].to_pylist()
        assert [n for n, x in enumerate(flags) if x == [ANSWER_IN_SUBJECT]] == [2, 3]
    plain = {x: write_rows(x, SCHEMA) for x in TABLES}
    result, _ = add_language("tiny", plain, read(spell(names)))
    assert result["fr"] == plain["fr"].take([0, 1, *range(4, 10)])
    assert "2 rows left out, answer in the subject: P30:Q17:Q48" in capsys.readouterr().err


NOTED = {
    "script": ({**NAMES["eu"], "Q64": "Берлин"}, TOML, "eu.csv: not in LATIN, as most labels are: "
               "Берлин (line 9); check them"),
    "script of a template": (NAMES["eu"], TOML.replace("[X] - [Y].", "Столица [X] - [Y]."),
                             "as most labels are: [P36] in"),
    "missing": ({**NAMES["eu"], "Q64": "#N/A", "Q17": "???"}, TOML,
                "labels, not missing values: ??? (line 3), #N/A (line 9); otherwise empty these"),
    "unknown": ({**NAMES["eu"], "Q9": "x"}, TOML.replace("[P36]", "[P37]"),
                "2 ids are not in tiny: Q9, P37"),
}  # fmt: skip


@pytest.mark.parametrize("name", NOTED)
def test_what_looks_wrong_is_noted(name, read, capsys):
    labels, templates, line = NOTED[name]
    add_language("tiny", TABLES, read(spell(labels), templates))
    assert line in capsys.readouterr().err
    add_language("tiny", TABLES, read())
    assert capsys.readouterr().err == "tiny-eu: 10 of 10 rows\n"


MISTAKES = {
    "no column": (CSV.replace("label_eu", "eu"), TOML, "eu.csv has no column 'label_en'; expected "
                  "id, label_LANG, …, as polyprobe build sheet writes; found: id, en, eu"),
    "no ids": (CSV.replace("id,", "code,"), TOML, "eu.csv has no column 'id'; expected"),
    "two labels": (CSV + "Q17,Japan,Nipon\n", TOML, "eu.csv, line 11: 'Q17' is 'Nipon' in 'eu', "
                   "but 'Japonia' in line 3; correct one of them"),
    "two languages": (CSV.replace("id,en", "id,label_gn"), TOML, "eu.csv and .*eu.toml are in gn "
                      "and eu; give two files of one language"),
    "another language": (CSV, TOML.replace("eu =", "es ="), "are in eu and es; give two files"),
    "no code": (CSV.replace("label_eu", "label_basque"), TOML, "column 'label_basque': 'basque' is "
                "not a language code"),
    "no UTF-8": (CSV.replace("Asia", "Ásia").encode("cp1252"), TOML, "eu.csv, line 7: not UTF-8 "),
    "workbook": (b"PK\x03\x04" + bytes(9), TOML, "eu.csv is an Excel workbook or an archive; save"),
    "cells": (CSV + "Q1,a,b,c\n", TOML, "eu.csv, line 11: 4 cells, but 3 columns; put cells"),
    "nothing": (spell({}), TOML, "eu.csv and eu.toml complete no row of tiny; fill in more"),
    "no slot": (CSV, TOML.replace("- [Y]", "- ?"), r"\[P36\] eu: expected \[X\] and \[Y\] once"),
    "two slots": (CSV, TOML.replace("- [Y]", "[Y] [Y]"), r"\[P36\] eu: expected \[X\] and \[Y\]"),
    "equal": (CSV, TOML.replace("[X] [Y] kontinentean dago.", TEMPLATE), r"\[P30\] eu: two templa"),
    "table twice": (CSV, TOML + "[P30]\n", "eu.toml is not valid TOML: .*line 8"),
    "open quote": (CSV, TOML.replace('[Y]."\n', "[Y].\n"), "eu.toml is not valid TOML: .*line 7"),
    "no text": (CSV, TOML.replace('"[X] - [Y]."', "1"), r"\[P36\] eu: expected text in quotation "
                "marks, or a list of such texts"),
    "licence": (CSV, TOML.replace("cc0-1.0", "CC0"), "eu.toml: licence 'CC0': expected an id of"),
    "head": (CSV, TOML.replace("licence", "author"), "eu.toml: author is not a table; write"),
    "no template": (CSV, 'licence = "mit"\n', "eu.toml has no templates; add a table for each"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line(name, read):
    table, templates, line = MISTAKES[name]
    with pytest.raises(PolyprobeError, match=line) as error:
        add_language("tiny", TABLES, read(table, templates))
    assert "\n" not in str(error.value)


REFUSED = {
    "has 'eu' already; choose a configuration without it": TABLES | {"eu": write_rows("eu")},
    "has rows without ids, or with texts that files": {
        "en": TABLES["en"].set_column(2, "subject_id", pa.array([""] * 10))
    },
    "or with texts that files do not give": {
        "en": TABLES["en"].append_column("prompts", pa.array([["a [Y]"]] * 10))
    },
}


@pytest.mark.parametrize("line", REFUSED)
def test_datasets_that_cannot_have_another_language(line, read):
    with pytest.raises(PolyprobeError, match=f"tiny {line}|{line}"):
        add_language("tiny", REFUSED[line], read())


def run(*words) -> str:
    result = CliRunner().invoke(app, [*map(str, words)])
    assert result.exception is None, result.output
    return result.output


SWAHILI = {
    "P30": "Nchi: [X]. Bara: [Y].", "P36": "Nchi: [X]. Mji mkuu: [Y].",
    "P37": "Nchi: [X]. Lugha rasmi: [Y].", "P38": "Nchi: [X]. Sarafu: [Y].",
}  # fmt: skip


def test_swahili_in_geofacts_by_the_names_of_cldr(tmp_path, monkeypatch):
    """From the empty sheet to the card, with what is filled in at each step."""
    monkeypatch.chdir(tmp_path)
    words = ["build", "sheet", "geofacts", "--language", "sw", "--output", "sw.csv"]
    started = "sw.csv: 0 of 362 labels; sw.toml: 0 of 4 relations; 0 of 450 rows complete\n"
    assert run(*words) == started
    sheet = pl.read_csv("sw.csv", infer_schema=False)
    assert sheet.columns == ["id", "en", "es", "fr", "label_sw", "forms_sw"]
    first = dict(zip(sheet["id"][:8], sheet["en"][:8], strict=True))
    # the continents of the first row, its country, those of the next rows
    assert [*first.values()][:6] == [
        "Europe", "South America", "North America", "Africa", "Oceania", "Asia"
    ]  # fmt: skip
    assert [*first][6:] == ["AD", "AE"]
    ids = {}
    for row in load_facts("geofacts", languages="en")["en"].to_pylist():
        names = geofacts.load_labels("sw")[geofacts.TERRITORIES]
        ids[row["subject_id"]] = names[row["subject_id"]]
        for entity in row["candidate_ids"]:
            ids[entity] = geofacts.label("sw", row["relation"], entity)
    assert sorted(ids) == sorted(sheet["id"])
    fill_sheet(tmp_path / "sw.csv", ids, SWAHILI)
    before = (tmp_path / "sw.csv").read_bytes(), (tmp_path / "sw.toml").read_bytes()
    assert run(*words).endswith("362 of 362 labels; sw.toml: 4 of 4 relations; 450 of 450 rows "
                                "complete\n")  # fmt: skip
    assert before == ((tmp_path / "sw.csv").read_bytes(), (tmp_path / "sw.toml").read_bytes())
    files = ["--labels", "sw.csv", "--templates", "sw.toml"]
    shown = run("build", "geofacts", *files, "--output", "geofacts")
    assert "geofacts/default-sw: 449 of 450 rows" in shown
    tables = load_facts("geofacts", "default-sw")
    assert len(tables) == 52
    base = load_facts("geofacts", "default")
    kept = [n for n, x in enumerate(base["en"]["fact_id"].to_pylist())
            if x in {*tables["sw"]["fact_id"].to_pylist()}]  # fmt: skip
    assert len(kept) == 449
    for language, table in base.items():
        assert tables[language] == table.take(kept)
    card = (tmp_path / "geofacts" / "README.md").read_text(encoding="utf-8")
    for file, content in zip(("sw.csv", "sw.toml"), before, strict=True):
        assert f"| {file} | {hashlib.sha256(content).hexdigest()} |" in card
    assert "| sw | 362 | 449 of 450 | cc0-1.0 | Ane |" in card
    assert "license:\n- other\n- cc0-1.0\n" in card
    run("build", "geofacts", "--config", "default", "--output", "geofacts")  # keeps the version
    assert (tmp_path / "geofacts" / "README.md").read_text(encoding="utf-8") == card
    assert "polyprobe build geofacts --config default --labels sw.csv --templates sw.toml" in card


def test_the_page_shows_the_sheet(tmp_path):
    build_sheet("geofacts", "sw", tmp_path / "sw.csv")
    for name, language in (("sw.csv", "csv"), ("sw.toml", "toml")):
        [block] = [x for x in read_blocks("docs/language.md") if x.language == language]
        lines = (tmp_path / name).read_text(encoding="utf-8-sig").splitlines()
        assert {*block.text.splitlines()} <= {*lines}


def test_what_a_sheet_refuses(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cases = [
        (("geofacts", "eu", tmp_path / "eu.csv"), "geofacts/default has 'eu' already"),
        (
            ("geofacts", "sw", tmp_path / "sw.xlsx"),
            "--output .*: expected a name that ends in",
        ),
        (("geofacts", "swahili", tmp_path / "sw.csv"), "--language: 'swahili' is not a language"),
        (("geofacts", "sw", tmp_path / "sw.csv", "17"), "unknown configuration '17' in geofacts"),
    ]
    for arguments, line in cases:
        with pytest.raises(PolyprobeError, match=line):
            build_sheet(*arguments)
    assert not [*tmp_path.iterdir()]
    build_sheet("geofacts", "sw", tmp_path / "sw.csv")
    with pytest.raises(PolyprobeError, match="sw.csv is not for 'gn'; choose another --output"):
        build_sheet("geofacts", "gn", tmp_path / "sw.csv")
    for files in (tmp_path / "sw.csv", None), (None, tmp_path / "sw.toml"):
        with pytest.raises(PolyprobeError, match="alone: a language needs both --labels and --te"):
            read_addition(*files)
