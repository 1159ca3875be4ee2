"""Scores from elsewhere become a run: `polyprobe import` and `import_scores`."""

import csv
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from polyprobe.analysis.figures.results import read_results
from polyprobe.eval import import_scores
from polyprobe.report.findings.run import make_run_finding
from polyprobe.report.page import write_report
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import Run
from polyprobe.system.messages import PolyprobeError
from tests.hub.client import run_polyprobe
from tests.making.facts import number_subjects, write_facts
from tests.making.runs import write_run
from tests.making.subjects import write_subjects

NAMES = {"en": "English", "ru": "Russian", "zh_hans": "zh-Hans"}


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    return str(write_facts(tmp_path_factory.mktemp("facts"), number_subjects))


@pytest.fixture(scope="module")
def rows(facts):
    """The rows of the dataset with scores, as a list for each language."""
    rng = np.random.default_rng(0)
    tables = {x: table.to_pylist() for x, table in load_facts(facts).items()}
    for table in tables.values():
        for number, row in enumerate(table):
            row["row"] = number
            row["scores"] = rng.normal(size=len(row["candidates"])).tolist()
    return tables


def lines(rows, key, candidate="candidates"):
    """Return a table with a row for each candidate, which are shuffled."""
    return [
        {key: row[key], "language": NAMES[x], "candidate": row[candidate][k], "score": score}
        for x, table in rows.items()
        for row in table
        for k, score in reversed([*enumerate(row["scores"])])
    ]


def wide(rows):
    """Return a table with a column for each language, facts and candidates in English."""
    return [
        {"query": row["prompt"].replace("[Y]", "__"), "candidate": row["candidates"][k]}
        | {NAMES[x]: table[row["row"]]["scores"][k] for x, table in rows.items()}
        for row in rows["en"]
        for k in range(len(row["candidates"]))
    ]


def write(table, file):
    """Write a table to a file of the format of its name."""
    if file.suffix == ".parquet":
        pa.parquet.write_table(pa.Table.from_pylist(table), file)
    elif file.suffix == ".json":
        file.write_text(json.dumps(table))
    elif file.suffix == ".jsonl":
        file.write_text("".join(f"{json.dumps(row)}\n" for row in table))
    else:
        with file.open("w", encoding="utf-8-sig", newline="") as handle:
            delimiter = "\t" if file.suffix == ".tsv" else ","
            writer = csv.DictWriter(handle, [*table[0]], delimiter=delimiter)
            writer.writeheader()
            writer.writerows(table)
    return file


def by_fact(rows, make):
    return {x: {row["fact_id"]: make(row) for row in table} for x, table in rows.items()}


# All of the same scores; `file` is the folder of files.
SOURCES = {
    "long CSV, ids": lambda rows, file: write(lines(rows, "fact_id"), file / "a.csv"),
    "long TSV, row numbers": lambda rows, file: write(lines(rows, "row"), file / "a.tsv"),
    "long JSON lines, texts": lambda rows, file: write(lines(rows, "prompt"), file / "a.jsonl"),
    "long Parquet, ids of candidates": lambda rows, file: write(
        lines(rows, "fact_id", "candidate_ids"), file / "a.parquet"
    ),
    "wide CSV": lambda rows, file: write(wide(rows), file / "a.csv"),
    "wide JSON": lambda rows, file: write(wide(rows), file / "a.json"),
    "a file for each language": lambda rows, file: [
        write([{"fact_id": row["fact_id"], "scores": row["scores"]} for row in table], file / name)
        for table, name in zip(
            rows.values(), ("m_en.jsonl", "ru.json", "a.zh_hans.parquet"), strict=True
        )
    ],
    "pairs": lambda rows, _: by_fact(rows, lambda x: [[str(y), "False"] for y in x["scores"]]),
    "dictionaries": lambda rows, _: by_fact(
        rows, lambda x: dict(zip(x["candidates"], map(str, x["scores"]), strict=True))
    ),
    "lists in order": lambda rows, _: {x: [row["scores"] for row in y] for x, y in rows.items()},
    "facts of one language in JSON": lambda rows, file: [
        write(y, file / f"{x}.json")
        for x, y in by_fact(
            rows, lambda x: dict(zip(x["candidates"], x["scores"], strict=True))
        ).items()
    ],
    "languages in turn, no ids": lambda rows, _: [
        {"language": x, "scores": row["scores"]}
        for table in zip(*rows.values(), strict=True)
        for x, row in zip(rows, table, strict=True)
    ],
    "lists in cells": lambda rows, file: write(
        [
            {"row": row["row"]} | {x: str(rows[x][row["row"]]["scores"]) for x in rows}
            for row in rows["en"]
        ],
        file / "a.csv",
    ),
    "an index of facts": lambda rows, _: pd.DataFrame(lines(rows, "fact_id")).set_index("fact_id"),
    "a name with a blank": lambda rows, _: pd.DataFrame(lines(rows, "fact_id")).rename(
        columns={"fact_id": "Fact ID"}
    ),
    "arrays": lambda rows, _: by_fact(rows, lambda x: np.array(x["scores"])),
    "pandas": lambda rows, _: pd.DataFrame(lines(rows, "row")),
    "polars": lambda rows, _: pl.DataFrame(lines(rows, "fact_id")),
    "pyarrow": lambda rows, _: pa.Table.from_pylist(lines(rows, "fact_id")),
}


@pytest.mark.parametrize("source", SOURCES)
def test_sources(source, facts, rows, tmp_path):
    results = import_scores(SOURCES[source](rows, tmp_path), facts, output=tmp_path / "run")
    run = Run(tmp_path / "run")
    for language, table in rows.items():
        scores = run.read(language)["scores"].to_pylist()
        assert [pytest.approx(row["scores"], rel=1e-6) for row in table] == scores
    assert results["n_queries"] == 8
    assert run.settings().scoring == "scores"


def choose(rows, name):
    return by_fact(rows, lambda row: name(row, row["row"] % len(row["candidates"])))


CHOICES = {
    "text": lambda row, k: row["candidates"][k],
    "id": lambda row, k: row["candidate_ids"][k],
    "number": lambda row, k: k,
    "letter": lambda row, k: "ABCD"[k],
}


@pytest.mark.parametrize("name", CHOICES)
def test_choices(name, facts, rows):
    results = import_scores(choose(rows, CHOICES[name]), facts)
    right = [row["row"] % len(row["candidates"]) in row["answers"] for row in rows["en"]]
    assert results["accuracy"]["en"] == sum(right) / len(right)
    assert results["agreement"]["en-ru"] == results["kappa"] == 1
    assert not {"rankc", "rankc_adjusted", "recall_at_k", "rbo"} & {*results}
    assert all("rankc" not in floor for floor in results["floors"].values())


def test_a_letter_beyond_the_candidates_is_never_right_and_equals_no_other(facts, rows):
    letters = {x: {row["fact_id"]: "D" for row in table} for x, table in rows.items()}
    results = import_scores(letters, facts)
    right = sum(row["answers"] == [3] for row in rows["en"])
    four = sum(len(row["candidates"]) == 4 for row in rows["en"])
    assert four == 4
    assert results["accuracy"]["en"] == right / 8
    assert results["agreement"]["en-ru"] == four / 8


@pytest.mark.parametrize("name", ["letter", "number", "text"])
def test_none_is_the_choice_of_no_candidate(name, facts, rows):
    choices = choose(rows, CHOICES[name])
    choices["en"][FACT] = "none"
    accuracy = import_scores(choices, facts)["accuracy"]
    assert accuracy["ru"] - accuracy["en"] == (0 in rows["en"][0]["answers"]) / 8


FACT = "P36:C0:0"  # in English, with the candidates Paris, Berlin, Rome and Moscow


def spoil(rows, change):
    """Return dictionaries of scores whose first fact in English is changed."""
    scores = by_fact(rows, lambda x: dict(zip(x["candidates"], x["scores"], strict=True)))
    scores["en"][FACT] = change(scores["en"][FACT])
    return scores


def edit(**changes):
    return lambda rows: spoil(rows, lambda scores: scores | changes)


def repeat(table):
    return lambda rows: [{"fact_id": FACT, "language": "en", **row} for row in table]


PLACE = f"scores, row 1, en, fact {FACT}"
MISTAKES = {
    "text": (edit(Paris="abc"), f"{PLACE}, score 1: the score 'abc' is not a finite number"),
    "NaN": (edit(Rome=float("nan")), f"{PLACE}, score 3: the score nan is not a finite number"),
    "infinite": (edit(Paris="1e400"), f"{PLACE}, score 1: the score '1e400' is not a finite"),
    "too large": (edit(Paris=10**400), f"{PLACE}, score 1: the score 1000000"),
    "mark": (edit(Paris=True), f"{PLACE}, score 1: the score True is not a finite number"),
    "a candidate too many": (
        edit(Pariss=1),
        f"{PLACE}: 'Pariss' is no candidate; did you mean 'Paris'?",
    ),
    "a candidate too few": (
        lambda rows: spoil(rows, lambda scores: {"Paris": 1, "Rome": 1, "Moscow": 1}),
        f"{PLACE}: 3 scores of 3 candidates, expected one of each of 4; none of 'Berlin'",
    ),
    "a score too many": (
        lambda rows: spoil(rows, lambda scores: [1, 2, 3, 4, 5]),
        f"{PLACE}: 5 scores of 4 candidates, expected one of each of 4",
    ),
    "no candidate": (
        repeat([{"score": -1.5}]),
        f"{PLACE}: 1 scores of 4 candidates, expected one of each of 4",
    ),
    "a candidate twice": (
        repeat([{"candidate": x, "score": 1} for x in ("Paris", "Rome", "Rome", "Moscow")]),
        f"{PLACE}: 4 scores of 3 candidates, expected one of each of 4; none of 'Berlin'",
    ),
    "a fact twice": (
        repeat(2 * [{"scores": [1, 2, 3, 4]}]),
        f"scores, row 2, en, fact {FACT} came before, in {PLACE}",
    ),
    "another dataset": (
        repeat([{"fact_id": "P19:Q1:Q2", "scores": [1]}]),
        "scores, row 1, en: no rows of the dataset have fact_id 'P19:Q1:Q2'; its rows are 0 to 7",
    ),
    "two keys": (
        repeat([{"row": 3, "scores": [1]}]),
        f"scores, row 1, en: no rows of the dataset have fact_id '{FACT}' and row 3",
    ),
    "another language": (
        repeat([{"language": "fr", "scores": [1]}]),
        "unknown language 'fr' in the dataset (scores, row 1); available: en, ru, zh_hans",
    ),
    "no language": (lambda rows: [{"fact_id": FACT, "scores": [1]}], "scores, row 1: no language"),
    "no scores": (
        lambda rows: [{"a": 1, "b": 2}],
        "scores is no table of scores: no column of scores or choices; columns: ['a', 'b']",
    ),
    "two columns": (
        lambda rows: [{"prediction": "A", "chosen": "B"}],
        "scores is no table of scores: two columns mean choice",
    ),
    "scores and choices": (
        lambda rows: {"en": by_fact(rows, lambda x: x["scores"])["en"] | {FACT: "none"}},
        "choice in scores, row 1",
    ),
    "no row": (
        lambda rows: {"ru": {FACT: rows["ru"][0]["scores"]}},
        "ru: 7 of 8 rows have no scores (1, 2, 3, …); add --allow-missing",
    ),
    "no choice": (
        repeat([{"prediction": "A"}, {"prediction": None, "fact_id": "P36:C1:1"}]),
        "en: 7 of 8 rows have no scores (1, 2, 3, …); add --allow-missing",
    ),
    "a choice alone as a score": (repeat([{"score": 0}]), f"{PLACE}: 1 scores of 4"),
    "no known column of rows": (
        lambda rows: [{"qid": row["fact_id"], "prediction": "A"} for row in rows["en"]],
        "scores is no table of scores: no column of fact_id, template_id, row, fact, query, ",
    ),
    "no known column of scores": (
        repeat([{"candidate": "Paris", "logit": 1}]),
        "scores is no table of scores: no column of scores or choices; columns: ['fact_id', ",
    ),
    "another donor": (
        repeat([{"donor": FACT, "scores": [1, 2, 3, 4]}]),
        f"{PLACE}: its donor is P",
    ),
    "a table of another form": (lambda rows: 5, "scores is no table of scores: "),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_one_line(name, facts, rows, tmp_path):
    make, text = MISTAKES[name]
    with pytest.raises(PolyprobeError) as error:
        import_scores(make(rows), facts, output=tmp_path / "run")
    assert str(error.value).startswith(text)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


def test_the_scores_of_a_run_give_its_figures(tmp_path):
    """Also those in the donors' sentences."""
    dataset = write_subjects(tmp_path / "facts")
    tables = {x: table["candidates"].to_pylist() for x, table in load_facts(str(dataset)).items()}
    rng = np.random.default_rng(1)
    own, others = (
        {x: [rng.normal(size=len(row)).tolist() for row in table] for x, table in tables.items()}
        for _ in range(2)
    )
    run = write_run(tmp_path / "run", dataset, own, donor_scores=others)
    files = sorted((run.folder / "scores").iterdir())
    results = import_scores(files, str(dataset), model="synthetic")
    expected = read_results(run)
    for name in ("accuracy", "accuracy_gain", "rankc_subject", "rankc", "p_values", "donors"):
        assert results[name] == expected[name]
    rows = [{**row, "language": x} for x in own for row in run.read(x).to_pylist()]
    keys = ("fact_id", "language", "donor")
    tables = [
        [{x: row[x] for x in keys[:2]} | {"scores": row["scores"]} for row in rows],
        [{x: row[x] for x in keys} | {"scores": row["donor_scores"]} for row in rows],
    ]
    files = [write(table, tmp_path / f"{k}.json") for k, table in enumerate(tables)]
    again = import_scores(files, str(dataset))
    assert again["rankc_subject"] == pytest.approx(expected["rankc_subject"])
    assert results["signature"].count("imported:en.parquet+ru.parquet+1 more@sha256-") == 1


def test_missing_rows_are_left_out_in_all_languages_and_counted(facts, rows, tmp_path, capsys):
    scores = by_fact(rows, lambda row: row["scores"])
    del scores["ru"][FACT]
    with pytest.raises(PolyprobeError, match="ru: 1 of 8 rows have no scores .0.; add --allow-"):
        import_scores(scores, facts)
    results = import_scores(scores, facts, allow_missing=True, output=tmp_path / "run")
    assert "ru: 1 of 8 rows have no scores (0)" in capsys.readouterr().err
    assert results["n_queries"] == 7
    assert results["left_out"]["rows"] == {"not imported": 1}
    assert "|missing:1|" in results["signature"]
    write_report([tmp_path / "run"], tmp_path / "report.html")
    assert "(n = 7)" in (tmp_path / "report.html").read_text()
    finding = make_run_finding(results)
    heads = [column.head for column in finding.parts[0].blocks[0].columns]
    assert heads[:2] == ["language", "accuracy\nn = 7"]
    assert any("scores from elsewhere: python@sha256-" in note for note in finding.notes)


@pytest.mark.parametrize("empty", [None, ""])
def test_a_row_without_an_answer_is_missing(empty, facts, rows):
    table = [
        {"fact_id": row["fact_id"], "language": x, "prediction": row["row"] % 2 if k else empty}
        for x, of in rows.items()
        for k, row in enumerate(of)
    ]
    results = import_scores(pd.DataFrame(table), facts, allow_missing=True)
    assert results["n_queries"] == 7
    right = sum(row["row"] % 2 in row["answers"] for row in rows["ru"][1:])
    assert results["accuracy"]["ru"] == right / 7


def test_a_language_without_scores_is_named(facts, rows):
    scores = by_fact({"en": rows["en"]}, lambda row: row["scores"])
    with pytest.raises(PolyprobeError, match="no scores in ru; correct the files or --languages"):
        import_scores(scores, facts, languages="en,ru")


def test_an_import_is_repeated_to_complete_it(facts, rows, tmp_path, monkeypatch):
    scores, folder = by_fact(rows, lambda row: row["scores"]), tmp_path / "run"
    write, n_calls = Run.write, []

    def interrupt(run, *arguments):
        n_calls.append(arguments)
        if len(n_calls) == 2:
            raise KeyboardInterrupt
        write(run, *arguments)

    monkeypatch.setattr(Run, "write", interrupt)
    with pytest.raises(KeyboardInterrupt):
        import_scores(scores, facts, output=folder)
    assert Run(folder).remedy == "scores of 'ru' are missing: repeat the command of the run"
    results = import_scores(scores, facts, output=folder)
    assert len(n_calls) == 4  # the first language is kept
    assert results == import_scores(scores, facts, output=folder, model="run")
    scores["en"][FACT][0] += 1
    with pytest.raises(PolyprobeError, match="holds another run .imported: 'python@sha256-"):
        import_scores(scores, facts, output=folder)


def test_the_command(facts, rows, tmp_path):
    write(lines(rows, "fact_id"), tmp_path / "scores.csv")
    command = ["import", tmp_path / "scores.csv", "--dataset", facts, "--output", tmp_path / "run"]
    result = run_polyprobe(
        *map(str, command), home=tmp_path / "home", folder=tmp_path, offline=True
    )
    assert result.returncode == 0, result.stderr
    assert "scores from elsewhere: scores.csv@sha256-" in result.stdout
    assert (tmp_path / "run" / "report.html").exists()
    result = run_polyprobe(
        *map(str, command[:-1]), str(tmp_path), home=tmp_path / "home", folder=tmp_path
    )
    assert result.stderr == f"error: {tmp_path} is not empty and holds no run.json; " + (
        "choose another --output\n"
    )


FILES = {
    "n.json": (b'{"en": {"a": 1}, "en": {"b": 2}}', " is no table of scores: 'en' is there twice"),
    "folder": (None, " is no table of scores: "),
    "a.xlsx": (b"PK", " is no table of scores: a.xlsx: expected a file that ends in .csv"),
    "b.csv": (b"PK\x03\x04", " is an Excel workbook or an archive; save it as CSV UTF-8"),
    "c.csv": ("é".encode("latin-1"), ", line 1: not UTF-8 text; save the file in UTF-8"),
    "d.csv": (b"", " is no table of scores: the table is empty"),
    "e.csv": (b"fact_id,candidate,score\n", ": no rows with scores or predictions; columns:"),
    "f.json": (b'{"a": ', " is no table of scores: Expecting value: line 1"),
    "g.jsonl": (b'{"a": 1}\n{"a": ', " is no table of scores: Expecting value: line 2"),
    "h.parquet": (b"PAR1", " is no table of scores: h.parquet cannot be read: "),
    "my.csv": (b"row,prediction\n0,A\n", ", row 1: no language in a column, its name or"),
    "s_fr.csv": (b"row,prediction\n0,A\n", ", row 1); available: en, ru, zh_hans"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_are_no_tables(name, facts, tmp_path):
    content, text = FILES[name]
    file = tmp_path / name
    file.write_bytes(content) if content is not None else file.mkdir()
    with pytest.raises(PolyprobeError) as error:
        import_scores(file, facts)
    assert f"{file}{text}" in str(error.value)
    assert "\n" not in str(error.value)
