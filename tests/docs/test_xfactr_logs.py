"""The script that checks X-FACTR's released logs, on the logs and on a small one."""

import runpy
import sys
import zipfile
from pathlib import Path

import pytest
from scipy.stats import binomtest

from docs.reproduce.released import check_flags, read_released
from polyprobe.system.messages import PolyprobeError
from tests.conftest import UPSTREAM

SCRIPT = Path(__file__).parents[2] / "docs" / "reproduce" / "xfactr_logs.py"
LOGS = UPSTREAM.parent / "oracles" / "x-factr-results.zip"


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    if not LOGS.exists():
        pytest.skip(f"needs the released logs in {LOGS}")
    folder = tmp_path_factory.mktemp("xfactr")
    with zipfile.ZipFile(LOGS) as archive:
        archive.extractall(folder)
    return folder / "results"


@pytest.fixture
def check(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *map(str, arguments)])
        runpy.run_path(str(SCRIPT), run_name="__main__")
        return capsys.readouterr().out.splitlines()

    return run


# Published in table 3 (English): all, single, multi, averaged over 46 relations; in percent.
TABLE_3 = {
    "+Len. norm": (8.60, 9.43, 6.18),
    "+Re-comp.": (12.00, 12.91, 10.08),
    "+Beam": (10.84, 9.29, 11.06),
    "Indep.": (13.57, 22.40, 5.57),
    "Conf. Order": (13.73, 19.48, 7.57),
}


@pytest.mark.upstream
def test_the_best_decoding_of_english_is_the_last_row_of_table_3(logs, check):
    """The log lacks P530: with a value of 0 to 1 for it, the mean of 46 relations is published."""
    counts, figures = check("en", logs / "multi_word" / "best_decode")
    assert counts == ("44,684 facts of 45 relations; flags that agree with our matching: 44,684")
    assert figures == "  accuracy: all 0.0969, single 0.0918, multi 0.0951"
    missing = {
        row: [46 * x / 100 - 45 * y for x, y in zip(means, (0.0969, 0.0918, 0.0951), strict=True)]
        for row, means in TABLE_3.items()
    }
    fits = [row for row, values in missing.items() if all(0 <= value <= 1 for value in values)]
    assert fits == ["+Beam"]
    assert missing["+Beam"] == pytest.approx([0.625, 0.144, 0.808], abs=0.003)


PAIRS = {
    "el_en": (117, [(48, 69)]),
    "el_en_raw05": (503, [(393, 110), (41, 34), (352, 76)]),
    "el_en_raw07": (403, [(252, 151), (16, 26), (236, 125)]),
}


@pytest.mark.upstream
@pytest.mark.parametrize("name", PAIRS)
def test_pairs_of_decodings_agree_with_the_released_flags(logs, check, name):
    """All 2,046 flags; the facts are those that only one of the two decodings knows."""
    n, expected = PAIRS[name]
    said = check("el", logs / "cs_ana" / name)
    flags = [line for line in said if "flags" in line]
    assert all(line.endswith(f"flags that agree with our matching: {n}") for line in flags)
    assert len(flags) == 2
    parts = zip(("all", "single", "multi"), expected, strict=False)
    assert said[4:] == [
        f"{part}: {one} only in the first, {other} only in the second, "
        f"p = {binomtest(one, one + other).pvalue:.2g}"
        for part, (one, other) in parts
    ]
    assert sum(expected[0]) == n


MORE = LOGS.with_name("x-factr-more.zip")


@pytest.mark.upstream
@pytest.mark.parametrize(
    ("name", "agree", "share"),
    [("en_pred_default", "28,322", "18,152 of 28,352 (0.6402)"),
     ("en_pred_left", "28,329", "25,366 of 28,352 (0.8947)")],
)  # fmt: skip
def test_logs_with_log_probabilities(check, tmp_path, name, agree, share):
    """The released flags see case, ours do not: no other row differs."""
    if not MORE.exists():
        pytest.skip(f"needs the released logs in {MORE}")
    with zipfile.ZipFile(MORE) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / "results" / "multi_word" / "model_vs_search"
    counts, _, search = check("en", folder / name, "--gold", folder / "en_gold")
    assert counts.endswith(
        f"28,352 facts of 46 relations; flags that agree with our matching: {agree}"
    )
    assert search == f"at least as probable as the right answer: {share}"
    for file in (folder / name).glob("*.csv"):
        rows = read_released(file)
        for place in check_flags(file, "en").differ:
            assert rows[place].prediction.lower() in [text.lower() for text in rows[place].gold]


TWO_GOLD = "sentence,prediction,gold_inflection,is_same,gold_original,is_same,log_prob"
SEARCH = ["Peru [MASK],lima:2,Lima:2,1,Limas,0,-1.5", "Chile 12:30 [MASK],x,Santiago,0,S,0,-2"]


def test_two_gold_columns_by_hand(check, tmp_path):
    for name, values in (("pred", (-1.5, -2)), ("gold", (-1.5, -1.9))):
        (tmp_path / name).mkdir()
        rows = [row.rpartition(",")[0] for row in SEARCH]
        lines = [f"{row},{value}" for row, value in zip(rows, values, strict=True)]
        write(tmp_path / name / "P36.csv", lines, TWO_GOLD)
    first, _ = read_released(tmp_path / "pred" / "P36.csv")
    assert first == ("Peru [Y]", "lima", ["Lima", "Limas"], True, None, -1.5)
    said = check("en", tmp_path / "pred", "--gold", tmp_path / "gold")
    assert said[0] == "2 facts of 1 relations; flags that agree with our matching: 2"
    assert said[2] == "at least as probable as the right answer: 1 of 2 (0.5000)"
    write(tmp_path / "gold" / "P36.csv", SEARCH[:1], TWO_GOLD)
    with pytest.raises(SystemExit, match="expected the facts of the predictions, in their order"):
        check("en", tmp_path / "pred", "--gold", tmp_path / "gold")
    write(tmp_path / "gold" / "P36.csv", FACTS)
    write(tmp_path / "pred" / "P36.csv", FACTS)
    with pytest.raises(SystemExit, match="or the predictions have no column log_prob"):
        check("en", tmp_path / "pred", "--gold", tmp_path / "gold")


@pytest.mark.parametrize(
    ("line", "message"),
    [("a,b,c,1,d", r"row 1: is_same again is None; expected True or False"),
     ("a,b,c,1,d,0,low", r"row 1: log_prob is no number: .*'low'")],
)  # fmt: skip
def test_a_damaged_row_of_two_gold_columns_is_named(tmp_path, line, message):
    write(tmp_path / "P36.csv", [line], TWO_GOLD)
    with pytest.raises(PolyprobeError, match=message):
        read_released(tmp_path / "P36.csv")


def test_facts_by_the_number_of_languages(check, tmp_path):
    """The released file has the facts that some language knows, those of most languages first."""
    head = "fact,label,sentence,langs,number of langs"
    rows = ["f,l,,\"['mbert_base__el', 'mbert_base__fr']\",2", "g,l,s,['mbert_base__el'],1"]
    write(tmp_path / "count.csv", [*rows, rows[1]], head)
    assert check("en", tmp_path / "count.csv") == [
        "3 facts that some language knows",
        "  in 1 languages: 2 (0.6667)",
        "  in 2 languages: 1 (0.3333)",
    ]
    for damaged in ("f,l,,\"['el', 'fr']\",two", "f"):
        write(tmp_path / "count.csv", [rows[0], damaged], head)
        with pytest.raises(SystemExit, match=r"no `number of langs` in .*count\.csv: "):
            check("en", tmp_path / "count.csv")


def test_a_small_log_by_hand(check, tmp_path):
    head = "sentence,prediction,gold,is_same,is_single_word\n"
    rows = [
        "[CLS] It is [MASK] . [SEP] [PAD],apple inc,Apple Inc. | Apple,True,False",  # the stop
        "[CLS] It is [MASK] [SEP],apple inc,Apple Inc.,True,True",  # flag of a log that differs
    ]
    (tmp_path / "P1.csv").write_text(head + "\n".join(rows) + "\n")
    (tmp_path / "P2.csv").write_text(head + "[CLS] [MASK] . [SEP],b,c | B,True,True\n")
    assert check("en", tmp_path) == [
        "3 facts of 2 relations; flags that agree with our matching: 2",
        "  accuracy: all 0.7500, single 0.5000, multi 0.5000",
    ]


HEAD = "sentence,prediction,gold,is_same"
FACTS = [
    "Peru [MASK],lima,Lima,True",
    "Chile [MASK],x,Santiago,False",
    "Iran [MASK],x,Tehran,False",
]


def write(path, lines, head=HEAD):
    path.write_text("\n".join([head, *lines, ""]), encoding="utf-8")


def test_two_decodings_by_hand(check, tmp_path):
    """Files of the same facts with other numbers of masks and other predictions."""
    write(tmp_path / "P36.1.csv", FACTS)
    write(
        tmp_path / "P36.2.csv",
        [
            "[CLS] Peru [MASK] [MASK] [SEP],x,Lima,False",
            "Chile [MASK],Santiago,Santiago,True",
            "Iran [MASK],tehran,Tehran,True",
        ],
    )
    assert check("en", tmp_path) == [
        "decoding 1: 3 facts of 1 relations; flags that agree with our matching: 3",
        "  accuracy: all 0.3333",
        "decoding 2: 3 facts of 1 relations; flags that agree with our matching: 3",
        "  accuracy: all 0.6667",
        "all: 1 only in the first, 2 only in the second, p = 1",
    ]


PLACE = "{folder}/P36.2.csv"
DIFFERS = " differs from that of {folder}/P36.1.csv; expected the same facts in the same order"
OTHER_FACTS = {
    "shuffled": ([FACTS[0], FACTS[2], FACTS[1]], f"{PLACE}, row 2: sentence or gold{DIFFERS}"),
    "shortened at the end": (
        FACTS[:2],
        f"{PLACE} has 2 rows and {{folder}}/P36.1.csv has 3; expected the same facts",
    ),
    "other gold": (
        [FACTS[0].replace("Lima", "Lima | Ciudad")],
        f"{PLACE}, row 1: sentence or gold{DIFFERS}",
    ),
}


@pytest.mark.parametrize("change", OTHER_FACTS)
def test_a_second_decoding_of_other_facts_is_refused(check, tmp_path, change):
    lines, expected = OTHER_FACTS[change]
    write(tmp_path / "P36.1.csv", FACTS)
    write(tmp_path / "P36.2.csv", lines)
    assert refuse(check, "en", tmp_path) == f"error: {expected.format(folder=tmp_path)}"


def refuse(check, *arguments):
    """Return the text with which the script ends: one line, for standard error."""
    with pytest.raises(SystemExit) as ended:
        check(*arguments)
    assert len(ended.value.code.splitlines()) == 1
    return ended.value.code


def test_relations_need_as_many_decodings_as_the_others(check, tmp_path):
    for name in ("P17.csv", "P36.1.csv", "P36.2.csv"):
        write(tmp_path / name, FACTS)
    assert refuse(check, "en", tmp_path) == (
        f"error: {tmp_path}: P36 has 2 decodings, P17 has 1; expected one for each relation, or two"
    )
    write(tmp_path / "P17.1.csv", FACTS)  # and P17.csv; then three
    write(tmp_path / "P17.2.csv", FACTS)
    assert "P17 has 3 decodings; expected one" in refuse(check, "en", tmp_path)


def test_mistakes_are_one_line(check, tmp_path):
    said = refuse(check, "gr", tmp_path)
    assert said.startswith(
        "error: unknown language 'gr' in X-FACTR; did you mean 'tr'? available: "
    )
    assert refuse(check, "en", tmp_path) == (
        f"error: {tmp_path} has no CSV files; expected one for each relation"
    )
    assert refuse(check, "en", tmp_path / "none") == (
        f"error: no folder {tmp_path / 'none'}; give one with a CSV file for each relation"
    )
    write(tmp_path / "P17.csv", [])
    assert refuse(check, "en", tmp_path) == f"error: {tmp_path} has no rows in its 1 CSV files"
    write(tmp_path / "P17.csv", ["a [MASK],x,y"], "sentence,prediction,is_same")
    assert refuse(check, "en", tmp_path) == (
        f"error: {tmp_path}/P17.csv has no column 'gold'; it has sentence, prediction, is_same"
    )
    write(tmp_path / "P17.csv", ["a [MASK],x,y,maybe"])
    assert refuse(check, "en", tmp_path) == (
        f"error: {tmp_path}/P17.csv, row 1: is_same is 'maybe'; expected True or False"
    )
