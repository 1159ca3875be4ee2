"""The recipe `xfakt`: questions about 13 countries in their 13 languages."""

import io
import re
import zipfile

import polars as pl
import pytest

from polyprobe.builder.audit import audit_tables
from polyprobe.builder.build import build_sourced
from polyprobe.builder.recipes.xfakt import FILES
from polyprobe.schema.load import load_facts
from polyprobe.system.messages import PolyprobeError
from tests.builder.tiny_xfakt import write_xfakt
from tests.metrics.judged import ANSWERS, FOLDER


def build(source, output, languages=()):
    return load_facts(str(build_sourced("xfakt", str(source), languages, output=output)))


def test_rows_are_parallel_and_have_the_names_of_the_country(tmp_path):
    tables = build(write_xfakt(tmp_path / "source"), tmp_path / "xfakt")
    assert {*tables} == {*FILES}
    english, french = tables["en"].to_pylist(), tables["fr"].to_pylist()
    assert len(english) == 26
    assert [row["object_id"] for row in english] == [row["object_id"] for row in french]
    [greek] = [row for row in french if row["prompt"].startswith("lakes GR")]
    assert greek["prompt"] == "lakes GR (fr)? [Y]"
    assert (greek["fact_id"], greek["relation"], greek["object_id"]) == (
        "lakes-025",
        "lakes",
        "Q41",
    )
    assert [greek["candidates"][k] for k in greek["answers"]] == ["Grèce"]
    assert {"Grèce", "grec", "grecque"} <= {*greek["answer_forms"]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: path.unlink(), "French.csv is no table of X-FaKT: "),
        (lambda path: path.write_text("Question,label\na,b\n"), "French.csv is no table of X-FaKT"),
        (lambda path: path.write_bytes(b"\xff\xfe\x00"), "French.csv is no table of X-FaKT"),
        (
            lambda path: path.write_text(path.read_text().replace("lakes", "towns")),
            "French.csv has other rows than English",
        ),
        (
            lambda path: path.write_text(path.read_text().rpartition("\n")[0].rpartition("\n")[0]),
            "French.csv has other rows than English",
        ),
        (
            lambda path: path.write_text(path.read_text().partition("\n")[0]),
            "French.csv is no table of X-FaKT: it has no rows",
        ),
        (
            lambda path: path.write_text(re.sub(r"\n[^,]*,", "\n,", path.read_text(), count=1)),
            "French.csv is no table of X-FaKT: row 1 has an empty cell",
        ),
    ],
)
def test_a_bad_source_is_one_line(tmp_path, change, message):
    source = write_xfakt(tmp_path / "source")
    change(source / "results" / "French.csv")
    with pytest.raises(PolyprobeError) as caught:
        build(source, tmp_path / "xfakt")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "xfakt").exists()


def test_a_source_without_tables_and_a_language_of_another_set_are_refused(tmp_path):
    with pytest.raises(PolyprobeError, match=r"English\.csv is no table of X-FaKT"):
        build(tmp_path, tmp_path / "xfakt")
    with pytest.raises(PolyprobeError, match="'de'"):
        build(write_xfakt(tmp_path / "source"), tmp_path / "xfakt", ["de"])


def test_a_country_that_is_none_of_the_13_is_named(tmp_path):
    source = write_xfakt(tmp_path / "source")
    path = source / "results" / "English.csv"
    path.write_text(path.read_text().replace("Greece", "Atlantis"))
    with pytest.raises(PolyprobeError, match=r"English\.csv.*'Atlantis'"):
        build(source, tmp_path / "xfakt")


@pytest.mark.upstream
def test_the_released_questions(tmp_path):
    if not ANSWERS.is_file():
        pytest.skip(f"needs the judged answers, {ANSWERS}")
    source = tmp_path / "source"
    with zipfile.ZipFile(ANSWERS) as archive:
        for name in FILES.values():
            content = archive.read(FOLDER.format("gemma-2-9b-it", name))
            (source / f"{name}.csv").parent.mkdir(exist_ok=True)
            (source / f"{name}.csv").write_bytes(content)
    tables = build(source, tmp_path / "xfakt")
    questions = pl.read_csv(io.BytesIO((source / "Greek.csv").read_bytes()))["Question"]
    assert {len(table) for table in tables.values()} == {802}
    assert [x.removesuffix(" [Y]") for x in tables["el"]["prompt"].to_pylist()] == [*questions]
    audit = audit_tables(tables, "xfakt")
    assert all(x["rows_not_parallel_to_en"] == 0 for x in audit.languages.values())
