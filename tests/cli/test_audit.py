"""`polyprobe audit` from the command line: output and error messages."""

import json
import os
import threading

import pytest
import typer
from typer.testing import CliRunner

from polyprobe.cli.analyses import audit
from polyprobe.system.messages import PolyprobeError
from tests.making.facts import write_facts

app = typer.Typer()
app.command()(audit)

HEAD = "Prompt\tAns\tCandidate Ans\tSubject\n"
RAW = {
    "en": "Oslo lies in <mask>.\tNorway\tPeru, Norway\tOslo\n"
    "Lima lies in <mask>.\tPeru\tNorway, Peru\tLima\n"
    "In <mask> they pay in krone.\tNorway\tPeru, Norway\tkrone\n",
    "fr": "Oslo est en <mask>.\tNorvège\tPérou, Norvège\tOslo\n"
    "Lima est en <mask>.\tPérou\tNorvège, Pérou\tLima\n"
    "On paie en krone en <mask>.\tNorvège\tPérou, Norvège\tkrone\n",
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Stand in a folder with a dataset `facts`, raw files in `raw`, and an empty folder."""
    for module in ("huggingface_hub.constants", "datasets.config"):  # no process to wait for
        monkeypatch.setattr(f"{module}.HF_HUB_OFFLINE", True)
    monkeypatch.chdir(tmp_path)
    write_facts(tmp_path / "facts")
    (tmp_path / "raw").mkdir()
    (tmp_path / "empty").mkdir()
    for language, lines in RAW.items():
        (tmp_path / "raw" / f"{language}.tsv").write_text(HEAD + lines, encoding="utf-8")
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "220"})


def test_a_dataset_of_our_schema_as_table_json_and_page(here):
    done = run("facts", "--config", "small", "--json", "a.json", "--output", "a.html")
    assert done.exit_code == 0, done.output
    found = json.loads((here / "a.json").read_text())
    assert found["rows"] == found["rows_parallel_in_all"] == found["rows_with_ids"] == 8
    assert list(found["languages"]) == ["en", "ru", "zh_hans"]
    assert list(found["ceiling"]["random"]) == ["en-ru", "en-zh_hans", "ru-zh_hans"]
    assert set(found["ceiling"]["answer_first"].values()) == {1.0}
    assert found["signature"].startswith("data:facts/small@")
    assert found["signature"] in done.stdout.replace("\n", "")
    assert found["signature"] in (here / "a.html").read_text()


def test_rows_that_no_model_could_be_asked_are_counted_not_refused(here):
    def spoil(language, rows):
        bad = rows[0]._replace(prompt="no slot", answers=[])
        return [bad, *rows[1:]] if language == "ru" else rows

    write_facts(here / "spoiled", spoil)
    assert run("spoiled", "--json", "a.json").exit_code == 0
    own = json.loads((here / "a.json").read_text())["languages"]["ru"]
    assert own["rows_with_missing_slot"] == own["rows_without_answer"] == 1


def test_released_files_with_relations_by_block(here):
    assert run("raw", "--json", "a.json").exit_code == 0
    found = json.loads((here / "a.json").read_text())
    assert found["rows"] == found["rows_parallel_in_all"] == 3
    assert found["languages"]["fr"]["answers_last"] == 3


def write(folder, name, content):
    (folder / name).write_bytes(content)


MISTAKES = {
    "unknown dataset": (
        lambda here: ["nowhere"],
        "no dataset 'nowhere' here, under ./datasets or installed",
    ),
    "unknown language": (
        lambda here: ["facts", "--languages", "en,ro"],
        "unknown language 'ro' in facts; available: en, ru, zh_hans",
    ),
    "unknown language of raw files": (
        lambda here: ["raw", "--languages", "en,fra"],
        "unknown language 'fra' in raw; did you mean 'fr'? available: en, fr",
    ),
    "configuration of raw files": (
        lambda here: ["raw", "--config", "17"],
        "raw holds TSV files, which have no configurations",
    ),
    "neither Parquet nor TSV": (
        lambda here: ["empty"],
        "empty holds neither Parquet nor TSV files; give another folder",
    ),
    "damaged Parquet": (
        lambda here: write(here, "facts/data/small/ru.parquet", b"PAR1 and no more") or ["facts"],
        "{here}/facts/data/small/ru.parquet is not readable Parquet",
    ),
    "a row with a column less": (
        lambda here: write(here, "raw/fr.tsv", (HEAD + "a <mask>\tb\tb, c\n").encode()) or ["raw"],
        "cannot read raw/fr.tsv: row 1 has 3 columns; expected prompt, answer, candidates, subject",
    ),
    "an open quotation mark": (
        lambda here: (
            write(here, "raw/fr.tsv", (HEAD + 'a <mask>\tb\tb, c\t"s').encode()) or ["raw"]
        ),
        "raw/fr.tsv has an unclosed quotation mark",
    ),
    "an empty file": (
        lambda here: write(here, "raw/fr.tsv", b"") or ["raw"],
        "raw/fr.tsv has no rows; unpack it again",
    ),
    "a head alone": (
        lambda here: write(here, "raw/fr.tsv", HEAD.encode()) or ["raw"],
        "raw/fr.tsv has no rows",
    ),
    "another encoding": (
        lambda here: write(here, "raw/fr.tsv", HEAD.encode() + b"\xe9\t\t\t\n") or ["raw"],
        f"cannot read raw/fr.tsv: 'utf-8' codec can't decode byte 0xe9 in position {len(HEAD)}",
    ),
    "a file cut short": (
        lambda here: (
            write(here, "raw/fr.tsv", (HEAD + RAW["fr"].splitlines()[0]).encode()) or ["raw"]
        ),
        "raw/default: 'en' has 3 rows, 'fr' has 1; rows are compared by number",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line(here, mistake):
    spoil, message = MISTAKES[mistake]
    done = run(*spoil(here))
    assert isinstance(done.exception, PolyprobeError), done.output
    said = str(done.exception)
    assert said.startswith(message.format(here=here))
    assert "\n" not in said


def test_a_folder_given_by_its_absolute_path(here):
    assert CliRunner().invoke(app, [str(here / "facts")]).exit_code == 0


def test_a_device_is_written_into_and_not_replaced(here, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    read: list[str] = []
    reader.start()
    assert CliRunner().invoke(app, ["facts", "--json", str(tmp_path / "pipe")]).exit_code == 0
    reader.join(10)
    assert json.loads(read[0])["rows"]
    assert (tmp_path / "pipe").is_fifo()


def test_splits_that_are_no_languages_are_refused(here):
    (here / "facts" / "README.md").unlink()
    result = CliRunner().invoke(app, ["facts"])
    assert "has the splits train instead of one for each language" in str(result.exception)
