"""Lists of wrong rows of Polyglot or Not by hand.

The released lists are in tests/builder/test_polyglot_build.py, beside the dataset that they need.
"""

import runpy
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import chi2_contingency

from docs.reproduce import polyglot_errors
from docs.reproduce.polyglot_errors import main, read_errors
from polyprobe.system.messages import PolyprobeError
from tests.docs.polyglot import HEAD, IDS, write_errors

SCRIPT = Path(polyglot_errors.__file__)


@pytest.fixture
def report(tmp_path, capsys):
    """Return the lines of the script on these errors and the rows of `IDS`."""
    for language, ids in IDS.items():
        for config in (language, "parallel"):
            file = tmp_path / "data" / config / f"{language}.parquet"
            file.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table({"dataset_id": ids if config == language else ids[:1]}), file)

    def run(*lines, options=("--rows",)):
        errors = write_errors(tmp_path / "errors.tsv", *lines)
        main([str(errors), "--dataset", str(tmp_path), *options])
        return [line.split("\t") for line in capsys.readouterr().out.splitlines()]

    return run


WRONG = [("m", "english", "a"), ("m", "english", "c"), ("m", "German", "b")]


def test_all_languages_by_hand(report):
    *ones, mean = report(*WRONG, ("m", "french", "a"), ("m", "fr", "x"))
    assert [line[:4] for line in ones] == [
        ["m", "de", "5", "80.000"],
        ["m", "en", "4", "50.000"],
        ["m", "fr", "3", "33.333"],
    ]
    assert mean[:4] == ["m", "mean", "3 of 3 languages", "54.444"]
    widths = [float(line[-1].removeprefix("± ")) for line in (*ones, mean)]
    assert sum(widths[:3]) / 3 == pytest.approx(widths[3], abs=0.001)


GROUPED = {"en": "abcdef", "ru": "abcd", "sr": "cdef"}
SUBJECTS = dict(zip("abcdef", ["Rome", "Rome", "Oslo", "Lima", "Cusco", "Bonn"], strict=True))


@pytest.fixture
def grouped(tmp_path, capsys):
    """Return the lines of the script on rows in three languages; `b` asks for its subject."""
    for language, ids in GROUPED.items():
        columns = {
            "dataset_id": [*ids],
            "relation": ["P1" if row < "d" else "P2" for row in ids],
            "subject": ["o" if row == "b" else SUBJECTS[row] for row in ids],
            "candidates": [[SUBJECTS[row] if row == "b" else "o", "x"] for row in ids],
            "flags": [["inverted"] if row == "b" else [] for row in ids],
        }
        file = tmp_path / "data" / language / f"{language}.parquet"
        file.parent.mkdir(parents=True)
        pq.write_table(pa.table(columns), file)

    def run(*options):
        wrong = [("m", "en", "a"), ("m", "ru", "a"), ("m", "ru", "c"), ("m", "sr", "c")]
        errors = write_errors(tmp_path / "errors.tsv", *wrong)
        main([str(errors), "--dataset", str(tmp_path), *options])
        return [line.split("\t")[1:] for line in capsys.readouterr().out.splitlines()]

    return run


def test_groups_by_hand(grouped, tmp_path):
    """14 rows, 4 wrong: Cyrillic 3 of 8 (change 100 (3 / 8) / (4 / 14) - 100), Latin 1 of 6."""
    cyrillic, latin, test = grouped("--by", "script", "--rows")
    assert cyrillic == ["script", "Cyrl", "2", "5", "3", "62.500", "+31.250%"]
    assert latin == ["script", "Latn", "1", "5", "1", "83.333", "-41.667%"]
    want = chi2_contingency([[5, 3], [5, 1]])
    assert test[2].startswith(f"χ²(1, Yates) = {want.statistic:.3f}, p = {want.pvalue:.2g}, ")
    assert test[2].endswith("permuted over 3 languages: p = 0.67 (all 3 assignments)")
    assert grouped("--by", "script", "--rows", "en=4")[1][2:5] == ["1", "3", "1"]
    oslo, rome, *_ = grouped("--by", "subject", "--rows")
    assert oslo[1:5] == ["Oslo", "1", "1", "2"]
    assert rome[1:5] == ["Rome", "2", "2", "2"]  # of a and b in en and ru
    tags = write_errors(
        tmp_path / "tags", ("Rome", "EU"), ("Oslo", "EU"), ("Lima", "SA"), ("Bonn", "unsure"),
        head=("entity", "location"),
    )  # fmt: skip
    found = grouped("--by", "location", "--tags", str(tags))
    assert [line[1:5] for line in found[:2]] == [["EU", "3", "3", "4"], ["SA", "1", "3", "0"]]
    assert "permuted over 3 subjects: p = 0.33 (all 3 assignments)" in found[2][2]
    with pytest.raises(
        PolyprobeError, match="has the columns entity, location; expected entity, g"
    ):
        grouped("--by", "gender", "--tags", str(tags))


def test_shares_of_relations_are_means_over_languages(grouped):
    """P1 has 2 of 3 right in en, 1 of 3 in ru, 0 of 1 in sr, which have 1/6, 2/4, 1/4 wrong."""
    first, second, test, *pairs = grouped("--by", "relation", "--rows")
    assert first == [
        "relation",
        "P1",
        "3",
        "3",
        "4",
        "33.333",
        f"+{(100 + 100 / 3 + 300) / 3:.3f}%",
    ]
    assert second == ["relation", "P2", "3", "7", "0", "100.000", "-100.000%"]
    assert test[2].startswith("χ²(1, Yates)")
    assert pairs == []  # of two groups the test is that of the pair


def test_up_to_ten_groups_are_tested_in_pairs(grouped):
    (
        *_,
        test,
    ) = [x for x in grouped("--by", "subject", "--rows") if x[1] == "Rome - Oslo"]
    want = chi2_contingency([[2, 2], [1, 2]])
    assert test[2:4] == [f"χ²(1, Yates) = {want.statistic:.4f}", f"p = {want.pvalue:.2g}"]


def test_languages_that_are_not_built_are_named(report):
    found = report(("m", "fr", "a"), ("m", "uk", "a"), ("m", "bg", "a"))
    assert found[1:3] == [["m", "not listed", "de, en"], ["m", "not built", "bg, uk"]]
    with pytest.raises(PolyprobeError) as error:
        report(("m", "uk", "a"), ("m", "bg", "a"))
    assert str(error.value) == "m has errors in uk, bg, the dataset only rows in de, en, fr"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["en"], "--rows 'en': expected LANG=N with N from 1, as en=26254"),
        (["ex=3"], "unknown language 'ex' in --rows; did you mean 'en'? available: de, en, fr"),
        (["en=1"], "m, en: 1 rows are impossible with 2 errors in 4 rows; change --rows"),
    ],
)
def test_impossible_numbers_of_rows_are_refused(report, options, expected):
    with pytest.raises(PolyprobeError) as error:
        report(*WRONG, options=("--rows", *options))
    assert str(error.value) == expected


@pytest.mark.parametrize(
    ("lines", "head", "expected"),
    [
        ([], HEAD, "has no rows; expected one for each wrong row of a model"),
        ([("m", "x")], ("model", "dataset_id"), "lacks language; it has model, dataset_id"),
        ([*WRONG, ("m", "", "a")], HEAD, ", line 5: expected model, language, dataset_id"),
        ([*WRONG, WRONG[1]], HEAD, ", line 5: c occurs twice"),
    ],
)
def test_damaged_lists_are_refused(tmp_path, lines, head, expected):
    file = write_errors(tmp_path / "errors.tsv", *lines, head=head)
    with pytest.raises(PolyprobeError) as error:
        read_errors(file)
    assert str(error.value).startswith(f"{file}{expected}" if expected[0] == "," else f"{file} ")
    assert str(error.value).endswith(expected)


def test_unknown_languages_and_rows_are_refused(report, tmp_path):
    with pytest.raises(PolyprobeError, match=r"tsv, line 5: unknown language 'Germna'; expected"):
        report(*WRONG, ("m", "Germna", "a"))
    with pytest.raises(PolyprobeError) as error:
        report(*WRONG, ("m", "fr", "y"), ("m", "fr", "a"))
    assert str(error.value) == "m, fr: 1 of 2 errors are no rows, such as y"


def test_a_mistake_is_one_line(report, tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("other.tsv", "")
    file = tmp_path / "other.zip"
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), str(file), "--dataset", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(SCRIPT), run_name="__main__")
    line = f"error: cannot read {file} as TSV: \"There is no item named 'errors.tsv' in the "
    assert ended.value.code.startswith(line)
    assert len(ended.value.code.splitlines()) == 1
