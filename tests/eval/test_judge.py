"""Free answers on disk become a run: `polyprobe judge` and `judge_answers`."""

import csv
import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import Dataset

from polyprobe.eval import judge_answers
from polyprobe.schema.columns import Row, to_table
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import ANSWERS, Run
from polyprobe.system.messages import PolyprobeError
from tests.hub.client import run_polyprobe
from tests.making.facts import number_subjects, write_facts
from tests.making.subjects import write_subjects

NAMES = {"en": "English", "ru": "Russian", "zh_hans": "zh-Hans"}
# For each capital of facts.py by number: answers that name it, and their verdicts.
RIGHT = {
    "en": ["Paris.", "It's Berlin, of course", "ROME", "**Moscow**"],
    "ru": ["В Париже", "berlin", "罗马", "<b>Москвой</b>"],
    "zh_hans": ["是巴黎。", "Berlin", "Рим", "莫斯科！"],
}
VERDICTS = {
    "en": ["right"] * 4,
    "ru": ["right", "right_english", "right_other", "right"],
    "zh_hans": ["right", "right_english", "right_other", "right"],
}


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    return str(write_facts(tmp_path_factory.mktemp("facts"), number_subjects))


@pytest.fixture(scope="module")
def rows(facts):
    """The rows of the dataset with an answer and its verdict."""
    tables = {x: table.to_pylist() for x, table in load_facts(facts).items()}
    for language, table in tables.items():
        for number, row in enumerate(table):
            row |= {"row": number, "answer": RIGHT[language][number % 4]}
            row["expected"] = VERDICTS[language][number % 4]
    return tables


def lines(rows, key, column="answer"):
    return [
        {key: row[key].replace(" [Y].", "") if key == "prompt" else row[key],
         "language": NAMES[x], column: row["answer"]}
        for x, table in rows.items()
        for row in table[::-1]
    ]  # fmt: skip


def write(table, file):
    if file.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(table), file)
    elif file.suffix == ".jsonl":
        file.write_text("".join(f"{json.dumps(row)}\n" for row in table))
    else:
        with file.open("w", encoding="utf-8", newline="") as handle:
            writer = csv.DictWriter(handle, [*table[0]])
            writer.writeheader()
            writer.writerows(table)
    return file


def read_verdicts(folder):
    run = Run(folder)
    return {x: run.read(x)["verdict"].to_pylist() for x in run.settings().languages}


SOURCES = {
    "CSV, ids": lambda rows, file: write(lines(rows, "fact_id"), file / "a.csv"),
    "JSON lines, row numbers": lambda rows, file: write(
        lines(rows, "row", "response"), file / "a.jsonl"
    ),
    "Parquet, ids": lambda rows, file: write(
        lines(rows, "fact_id", "prediction"), file / "a.parquet"
    ),
    "a column for each language": lambda rows, file: write(
        [{"row": n} | {NAMES[x]: rows[x][n]["answer"] for x in rows} for n in range(8)],
        file / "a.csv",
    ),
    "a file for each language": lambda rows, file: [
        write(
            [
                {"question": row["prompt"].rstrip("[Y].。 "), "output": row["answer"]}
                for row in table
            ],
            file / name,
        )
        for table, name in zip(
            rows.values(), ("m_en.jsonl", "ru.csv", "a.zh_hans.parquet"), strict=True
        )
    ],
    "a data frame": lambda rows, _: pd.DataFrame(lines(rows, "fact_id", "generation")),
    "texts in order": lambda rows, _: [
        {"language": x, "completion": row["answer"]} for x, y in rows.items() for row in y
    ],
}


@pytest.mark.parametrize("source", SOURCES)
def test_answers_of_any_table_have_their_verdicts(source, rows, facts, tmp_path):
    answers = SOURCES[source](rows, tmp_path)
    results = judge_answers(answers, facts, output=tmp_path / "run")
    run = Run(tmp_path / "run")
    for language, table in rows.items():
        judged = run.read(language)
        assert judged.schema == ANSWERS
        for row, expected in zip(judged.to_pylist(), table, strict=True):
            assert row["answer"] == expected["answer"]
            assert row["verdict"] == expected["expected"]
            assert row["entity"] == expected["object_id"]
            assert row["asked"] in expected["prompt"].replace("[Y]", "___")
            donor = next((x for x in table if x["fact_id"] == row["donor"]), None)
            assert row["donor_answer"] == (donor and donor["answer"])
    assert "|scoring:answer|" in results["signature"]
    assert results["accuracy"] == dict.fromkeys(rows, 1.0)


def test_a_judged_run_is_judged_again_to_the_same(rows, facts, tmp_path):
    judge_answers(lines(rows, "fact_id"), facts, output=tmp_path / "run")
    files = sorted((tmp_path / "run").glob("scores/*.parquet"))
    judge_answers(files, facts, output=tmp_path / "again")
    for file in files:
        assert pq.read_table(file) == pq.read_table(tmp_path / "again" / "scores" / file.name)


def test_containment_finds_the_right_label_as_a_word_alone(rows, facts, tmp_path):
    judge_answers(lines(rows, "fact_id"), facts, output=tmp_path / "run", match="contains")
    verdicts = read_verdicts(tmp_path / "run")
    assert verdicts["en"][:4] == ["right"] * 3 + ["right"]
    assert verdicts["ru"][:4] == ["outside"] * 4
    assert "|match:contains|" in Run(tmp_path / "run").settings().signature


# Odd answers to the capital of France, in Russian, and their verdicts
ODD = {
    "": "empty",
    " \n\t": "empty",
    "...": "empty",
    "Pаris": "right_english",  # with a Cyrillic a
    "x" * 100_000: "outside",
    "да " * 4000 + "Париж": "right",
    "<script>alert('Берлин')</script><p>Париж</p>": "right",
    "<div class='Берлин'>Париж</div>": "right",
    "Па\x00риж": "outside",
    "\x00\x1bПариж\x07": "right",
    "<think>Берлин</think>Париж": "right",
    "<think>Париж": "empty",
    "None": "outside",
    "nan": "outside",
    "Не знаю": "refusal",
    "=cmd|' /C calc'!A0": "outside",
}


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "object"])
def test_no_answer_is_lost(suffix, rows, facts, tmp_path):
    """CSV has no NUL."""
    dataset = write_facts(tmp_path / "facts", number_subjects, copies=5)
    texts = [x for x in ODD if suffix != "csv" or "\0" not in x]
    places = [4 * k for k in range(5)]  # the rows about France
    for start in range(0, len(texts), 5):
        chosen = dict(zip(places, texts[start : start + 5], strict=False))
        table = [{"language": "ru", "row": k, "answer": chosen.get(k, "x")} for k in range(20)]
        file = tmp_path / f"a.{suffix}"
        run = tmp_path / f"run{start}"
        judge_answers(table if suffix == "object" else write(table, file), dataset, output=run)
        judged = Run(run).read("ru").to_pylist()
        for row, text in chosen.items():
            assert judged[row]["answer"] == text
            assert judged[row]["verdict"] == ODD[text], text[:80]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((1990, "1990"), (2.5, "2.5"), (None, ""), (True, "True"), (["Rome"], "Rome")),
        ("R\ud800me", "R\ufffdme"),
    ],
)
def test_other_values_are_read_as_texts(value, text, rows, facts, tmp_path):
    table = [{"row": k, "answer": value if k == 2 else f"Rome {k}"} for k in range(8)]
    judge_answers(write(table, tmp_path / "en.jsonl"), facts, output=tmp_path / "run")
    judged = Run(tmp_path / "run").read("en")["answer"].to_pylist()
    assert judged[2] == (str(value) if text is None else text)
    table = [{"row": k, "answer": 1990 if k else None} for k in range(8)]
    judge_answers(write(table, tmp_path / "en.jsonl"), facts, output=tmp_path / "numbers")
    judged = Run(tmp_path / "numbers").read("en")["answer"].to_pylist()
    assert judged == ["", *["1990"] * 7]


MISTAKES = {
    "of other facts": (
        lambda table: [row | {"fact_id": f"P1:{k}"} for k, row in enumerate(table)],
        "a.csv, row 1, en: no rows of the dataset have fact_id 'P1:0'; .* another dataset?",
    ),
    "half": (lambda table: table[3:], "en: 3 of 8 rows have no answers"),
    "twice": (
        lambda table: [*table, table[0]],
        r"a.csv, row 25, en, fact \S+ came before, in \S+a.csv, row 1, en",
    ),
    "language": (
        lambda table: [row | {"language": "xx"} for row in table],
        "'xx'.*a.csv, row 1",
    ),
    "no answers": (
        lambda table: [{"fact_id": row["fact_id"], "language": "en"} for row in table],
        "a.csv is no table of answers: no column of answers; columns: ",
    ),
    "two columns": (
        lambda table: [row | {"response": "x"} for row in table],
        "answer and response may each be the answers; leave one column",
    ),
    "row": (
        lambda table: [{"row": k + 1, "language": "en", "answer": "x"} for k in range(len(table))],
        "a.csv, row 8, en: no rows of the dataset have row '8'; its rows are 0 to 7",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_one_line_with_file_row_and_language(mistake, rows, facts, tmp_path):
    change, message = MISTAKES[mistake]
    file = write(change(lines(rows, "fact_id")), tmp_path / "a.csv")
    with pytest.raises(PolyprobeError, match=message) as caught:
        judge_answers(file, facts, output=tmp_path / "run")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_half_a_file_is_judged_if_it_is_allowed(rows, facts, tmp_path):
    table = [row for k, row in enumerate(lines(rows, "fact_id")) if k % 8 < 5 or k < 8]
    file = write(table, tmp_path / "a.csv")
    words = ["judge", str(file), "--dataset", facts, "--output", "run"]
    result = run_polyprobe(*words, home=tmp_path, folder=tmp_path)
    assert result.returncode == 1
    assert "ru: 3 of 8 rows have no answers (0, 1, 2); add --allow-missing" in result.stderr
    result = run_polyprobe(*words, "--allow-missing", home=tmp_path, folder=tmp_path)
    assert result.returncode == 0, result.stderr
    assert {x: len(y) for x, y in read_verdicts(tmp_path / "run").items()} == dict.fromkeys(rows, 5)
    judged = Run(tmp_path / "run").read("ru").to_pylist()
    facts_left = {row["fact_id"] for row in judged}
    assert all(row["donor_answer"] is None or row["donor"] in facts_left for row in judged)


def test_relations_with_the_same_objects_may_name_them_differently(tmp_path):
    labels = {"P1": ["Аня", "Боря", "Вера"], "P2": ["Ёж", "Лось", "Выдра"]}
    facts = [
        Row(
            f"{x}:{k}",
            x,
            f"S{k}",
            "ABC"[k],
            f"s{k}",
            f"{x} s{k}: [Y].",
            names,
            [*"ABC"],
            [k],
            [],
            "",
        )
        for x, names in labels.items()
        for k in range(3)
    ]
    dataset = {"ru": Dataset(to_table(facts))}
    right = [row.candidates[row.answers[0]] for row in facts]
    answers = [{"row": k, "language": "ru", "answer": x} for k, x in enumerate(right)]
    assert judge_answers(answers, dataset)["accuracy"] == {"ru": 1.0}


def test_a_report_shows_a_model_that_names_nothing(tmp_path):
    """No pair has centred RankC or COverlap; pools of the dataset are not all objects."""
    dataset = write_subjects(tmp_path / "facts")
    table = [{"row": k, "en": "none", "ru": ""} for k in range(24)]
    file = write(table, tmp_path / "a.csv")
    words = ["judge", str(file), "--dataset", str(dataset), "--output", "run"]
    result = run_polyprobe(*words, home=tmp_path, folder=tmp_path)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "run" / "report.html").is_file()
