"""Types of errors of free predictions: each rule, shares in results, the authors' files."""

import csv
import re
import zipfile
from collections import Counter
from io import StringIO
from statistics import fmean

import pytest
from rich.console import Console

from polyprobe.analysis.errors import (
    RULES,
    classify,
    fold_accents,
    measure_errors,
    read_function_words,
)
from polyprobe.docs.reproduce.released import (
    check_flags,
    classify_released,
    read_released,
    score_released,
)
from polyprobe.report.findings.run import make_errors_table
from polyprobe.report.show import render_table
from polyprobe.system.messages import PolyprobeError
from tests.conftest import UPSTREAM
from tests.making.tables import make_predictions, measure_predictions

RESULTS = UPSTREAM.parent / "oracles" / "x-factr-results.zip"
PROMPT = "Malin Reuterwall plays in the city of [Y] ."
GOLD = ["New York City", "Norway"]

# type: (prediction, language); the first of each is the plainest
CASES = {
    "unknown": [(None, "en"), (" ", "en"), ("the [UNK]", "en"), ("<unk>", "en")],
    "no_word": [("1902", "en"), (", .", "en"), ("The", "en"), ("of the", "en"), ("στη", "el")],
    "subject": [("reuterwall", "en"), ("Malin Reuterwall", "en"), ("the city", "en")],
    "other_form": [("Norways", "en"), ("New York Cities", "en"), ("norwe", "en")],
    "part_of_gold": [("york", "en"), ("New York", "en")],
    "same_type": [("Oslo", "en"), ("north  OSLO", "en")],
    "other": [("Norwegian", "en"), ("Malin plays", "en"), ("York New", "en"), ("the", "xx")],
}


@pytest.mark.parametrize(
    ("text", "language", "kind"),
    [(text, language, kind) for kind, texts in CASES.items() for text, language in texts],
)
def test_type_of_a_prediction(text, language, kind):
    prompt = PROMPT.replace(" the", "") if language == "xx" else PROMPT
    prompts, gold = [prompt, "In [Y] ."], [GOLD, ["Oslo", "North Oslo"]]
    found = classify([text, "x"], prompts, gold, language)
    assert found == [kind, "other"]


def test_every_rule_has_a_case():
    assert list(CASES) == list(RULES)


def test_words_on_both_sides_of_the_slot_are_no_run():
    assert classify(["lies in"], ["Lima lies [Y] in Peru"], [["x"]], "xx") == ["other"]


def test_characters_are_words_without_blanks():
    assert classify(["巴西"], ["巴西与[Y]是邦交国。"], [["法国"]], "zh") == ["subject"]
    assert classify(["巴国"], ["巴西与[Y]是邦交国。"], [["法国"]], "zh") == ["other"]


def test_same_type_is_within_a_relation_and_counts_right_facts():
    texts, prompts, gold = ["b", "x", "c"], ["[Y]"] * 3, [["a"], ["b"], ["d"]]
    assert classify(texts, prompts, gold, "xx")[0] == "same_type"
    assert classify(texts, prompts, gold, "xx", groups=["P1", "P2", "P1"])[0] == "other"
    right = [False, True, False]
    assert classify(texts, prompts, gold, "xx", right=right) == ["same_type", "other"]
    # its own form is not that of another fact
    assert classify(["a", "x"], ["[Y]"] * 2, [["a a"], ["b"]], "xx")[0] == "part_of_gold"


def test_function_words_are_folded():
    for language, words in read_function_words().items():
        assert {fold_accents(word) for word in words} == words, language
        assert len(words) > 15


def test_shares_and_their_number():
    found = measure_errors(["subject", "other", "subject", "unknown"], n_resamples=200)
    assert {name: found[name] for name in RULES} == {
        **dict.fromkeys(RULES, 0.0), "subject": 2 / 4, "other": 1 / 4, "unknown": 1 / 4,
    }  # fmt: skip
    assert sum(found[name] for name in RULES) == 1
    low, high = found["subject_ci"]
    assert 0 <= low < 0.5 < high <= 1
    assert measure_errors([]) == {**dict.fromkeys(RULES), "n_queries": 0}


def test_results_have_the_types_of_the_wrong_facts():
    predictions = make_predictions(["gold", "It", "1902", None], single=(True, True, True, None))
    found = measure_predictions({"en": predictions})["error_types"]["en"]
    assert (found["n_queries"], found["no_word"], found["subject"]) == (2, 1.0, 0.0)  # `It` too
    everything = measure_predictions({"en": make_predictions(["gold"] * 4)})["error_types"]["en"]
    assert everything == {**dict.fromkeys(RULES), "n_queries": 0}


def write(path, *lines):
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(lines)
    return path


def test_the_terminal_shows_shares_with_intervals():
    kinds = ["subject"] * 30 + ["no_word"] * 10
    found = {"en": measure_errors(kinds, n_resamples=200), "fr": measure_errors([])}
    found["zh-Hans"] = measure_errors(["other"] * 12_000, n_resamples=200)
    console = Console(file=StringIO(), width=80)
    console.print(render_table(make_errors_table(found)))
    lines = console.file.getvalue().splitlines()
    assert lines[0].split() == ["no", "other", "part", "same"]
    assert lines[1].split() == [
        "language", "errors", "unknown", "word", "subject", "form", "of_gold", "type", "other",
    ]  # fmt: skip
    assert lines[2].split() == ["en", "40", "0.0", "25.0", "75.0", "0.0", "0.0", "0.0", "0.0"]
    low, high = found["en"]["subject_ci"]
    assert f"{100 * low:.0f}–{100 * high:.0f}" in lines[3]
    assert lines[4].split() == ["fr", "0", *["–"] * 7]
    assert lines[5].split() == ["zh-Hans", "12,000", *["0.0"] * 6, "100.0"]
    assert lines[6].split() == [*["0–0"] * 6, "100–100"]
    assert "…" not in console.file.getvalue()


HEAD = ("sentence", "prediction", "gold", "is_same")
LINE = ("[CLS] Lima is in [MASK] [MASK] . [SEP] [PAD]", "peru", "Peru | Republic of Peru", "True")


def test_a_released_file(tmp_path):
    file = write(tmp_path / "P17.csv", HEAD, LINE, (LINE[0], "Lima", "Peru", "False"))
    assert read_released(file)[0] == (
        "Lima is in [Y] .", "peru", ["Peru", "Republic of Peru"], True, None, None,
    )  # fmt: skip
    assert check_flags(file, "en") == (2, 2, ())
    assert classify_released(file, "en") == ["subject"]


def test_accuracy_of_files_is_macro(tmp_path):
    head = (*HEAD, "is_single_word")
    one = write(
        tmp_path / "P17.csv", head, (*LINE, "True"), (*LINE[:1], "x", "Peru", "False", "True")
    )
    other = write(tmp_path / "P36.csv", head, (*LINE, "False"))
    found = score_released([one, other], "en", n_resamples=0)
    assert (found["all"], found["single"], found["multi"]) == ((1 / 2 + 1) / 2, 1 / 2, 1.0)
    assert list(found["by_group"]) == ["P17", "P36"]
    plain = write(tmp_path / "P19.csv", HEAD, LINE)
    assert "single" not in score_released([one, plain], "en", n_resamples=0)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([HEAD[:3]], "has no column 'is_same'; it has sentence, prediction, gold"),
        ([HEAD, (*LINE[:3], "yes")], "row 1: is_same is 'yes'; expected True or False"),
        ([HEAD, LINE, LINE[:2]], "row 2: is_same is None; expected True or False"),
    ],
)
def test_a_bad_file_is_named_with_its_row(tmp_path, lines, message):
    with pytest.raises(PolyprobeError, match=re.escape(message)):
        read_released(write(tmp_path / "P17.csv", *lines))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(PolyprobeError, match=r"cannot read .*none\.csv"):
        check_flags(tmp_path / "none.csv", "en")


@pytest.fixture(scope="module")
def released(upstream, tmp_path_factory):
    if not RESULTS.is_file():
        pytest.skip(f"needs the authors' results in {RESULTS}")
    folder = tmp_path_factory.mktemp("x-factr")
    with zipfile.ZipFile(RESULTS) as archive:
        archive.extractall(folder)
    return folder


def add_flags(files, language):
    found = [check_flags(file, language) for file in files]
    return sum(flags.agree for flags in found), sum(flags.total for flags in found)


def test_matching_agrees_with_every_released_flag(released):
    best = (released / "results/multi_word/best_decode").glob("*.csv")
    assert add_flags(best, "en") == (44_684, 44_684)
    switched = (released / "results/cs_ana").glob("el_en*/*.csv")
    assert add_flags(switched, "el") == (2_046, 2_046)


def test_matching_agrees_with_the_samples_of_errors(released):
    """One Greek error equals an accepted form but for its stress, which counts nowhere else."""
    found = {x: check_flags(released / f"report/{x}.csv", x) for x in ("en", "es", "zh")}
    assert set(found.values()) == {(460, 460, ())}
    greek = released / "report/el.csv"
    assert check_flags(greek, "el") == (459, 460, (28,))
    odd = read_released(greek)[28]
    assert odd.prediction != odd.gold[0]
    assert fold_accents(odd.prediction) == fold_accents(odd.gold[0])


def test_facts_and_accuracy_of_the_released_decoding(released):
    """Table 5 has 45,684 English facts, 18,903 single; the file of P530 is missing."""
    files = sorted((released / "results/multi_word/best_decode").glob("*.csv"))
    found = score_released(files, "en", n_resamples=0)
    assert len(files) == 46 - 1
    assert found["n_queries"] == 45_684 - 1_000 == found["n_single"] + found["n_multi"]
    assert 18_903 - found["n_single"] + 26_781 - found["n_multi"] == 1_000
    # the mean of the released flags, by the standard library
    shares = [fmean(row.right for row in read_released(file)) for file in files]
    assert found["all"] == pytest.approx(fmean(shares))
    assert (
        f"{found['all']:.4f} {found['single']:.4f} {found['multi']:.4f}" == "0.0969 0.0938 0.0951"
    )


# of 460 errors a language; people (table 2) found, of the errors in their samples:
# 22.21 / (100 - 19.89) = 27.7%, 24.62 / (100 - 16.68) = 29.5%, 25.06 / (100 - 12.02) = 28.5%
COUNTS = {
    "en": {"no_word": 24, "subject": 131, "other_form": 1, "part_of_gold": 8, "same_type": 83},
    "es": {"no_word": 14, "subject": 129, "other_form": 1, "part_of_gold": 11, "same_type": 40},
    "el": {"no_word": 47, "subject": 128, "other_form": 5, "part_of_gold": 8, "same_type": 104},
}
REPEATED = {
    "en": 22.21 / (100 - 19.89), "es": 24.62 / (100 - 16.68), "el": 25.06 / (100 - 12.02),
}  # fmt: skip


@pytest.mark.parametrize("language", COUNTS)
def test_types_of_the_released_errors(released, language):
    """`subject` is found by another search too: padded texts instead of tuples of words."""
    file = released / "report" / f"{language}.csv"
    kinds = classify_released(file, language)
    counts = Counter(kinds)
    rest = 460 - sum(COUNTS[language].values())
    assert counts == Counter({**COUNTS[language], "unknown": 0, "other": rest})
    assert abs(counts["subject"] / 460 - REPEATED[language]) < 0.02
    rows = read_released(file)
    plain = [
        (
            " ".join(re.findall(r"\w+", fold_accents(row.prediction))),
            fold_accents(row.prompt.replace("[Y]", "|")),
        )
        for row in rows
    ]
    repeated = [
        bool(text) and f" {text} " in " {} ".format(" ".join(re.findall(r"\w+|\|", sentence)))
        for text, sentence in plain
    ]
    silent = {place for place, kind in enumerate(kinds) if kind == "no_word"}
    assert {place for place, kind in enumerate(kinds) if kind == "subject"} == {
        place for place, found in enumerate(repeated) if found
    } - silent
