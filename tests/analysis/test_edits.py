"""The effect of edits: the paper's own raw values, arithmetic by hand, scipy, a plain bootstrap."""

from math import exp, log

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import pearsonr, spearmanr

from polyprobe.analysis.edits import OTHERS, summarize_edits
from polyprobe.system.messages import PolyprobeError
from tests.making.edits import make_edits
from tests.making.papers import read_bmlama, read_edits

RANKC = {"es": 0.52, "vi": 0.49, "hu": 0.26, "el": 0.24}


@pytest.fixture(scope="module")
def paper(upstream):
    return read_bmlama(upstream)


@pytest.fixture(scope="module")
def summary(paper):
    """The 120 raw values of table 9, of six facts in five languages, as an `edits.json`."""
    rows = read_edits(paper, 9)
    facts = []
    for start in range(0, len(rows), 5):
        sides = {x: [log(float(text)) for text in values] for x, values in rows[start : start + 5]}
        facts.append({
            "subject": str(start),
            "languages": {
                x: {"before": {"right": logs[0], "target": logs[1], "rank": 2},
                    "after": {"right": logs[2], "target": logs[3], "rank": 1}}
                for x, logs in sides.items()
            },
        })  # fmt: skip
    languages = ["en", *RANKC]
    edits = {"source": "en", "languages": languages, "consistency": RANKC, "facts": facts}
    return summarize_edits(edits)


def test_the_shares_of_tables_3_and_8_follow_from_table_9(paper, summary):
    """108 of 120 are those of its printed values, with .99 as the largest share.

    The other 12 are those of values that are printed as the same digits.
    """
    printed, raw = read_edits(paper, 3) + read_edits(paper, 8), read_edits(paper, 9)
    n_equal = 0
    for place, ((language, cells), (_, values)) in enumerate(zip(printed, raw, strict=True)):
        for side, share in enumerate(summary["shares"][language][place // 5]):
            right, wrong = map(bound, values[2 * side : 2 * side + 2])
            low, high = (x / (x + y) for x, y in zip(right, wrong[::-1], strict=True))
            assert low <= share <= high
            pair = map(float, cells[2 * side : 2 * side + 2])
            shares = (share, low, high), (1 - share, 1 - high, 1 - low)
            for cell, figures in zip(pair, shares, strict=True):
                value, least, most = np.clip(figures, 0.01, 0.99)
                n_equal += abs(value - cell) <= 0.005 + 1e-12
                assert least - 0.005 - 1e-9 <= cell <= most + 0.005 + 1e-9
    assert (4 * len(printed), n_equal) == (120, 108)


def bound(text):
    """Return the smallest and the largest number that are printed as this."""
    digits, _, power = text.partition("e")
    half = 0.5 * 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
    return float(text) - half, float(text) + half


def test_falls_and_flips_of_table_9(summary):
    """The fall is the share of the right answer before less that after, a mean over six facts."""
    figures = summary["figures"]
    falls = {x: figures[x]["fall"] for x in ("en", *RANKC)}
    expected = {"en": 0.615, "es": 0.729, "vi": 0.711, "hu": 0.252, "el": 0.138}
    assert falls == pytest.approx(expected, abs=5e-4)
    flips = {x: round(6 * figures[x]["flipped"]) for x in falls}
    assert flips == {"en": 6, "es": 6, "vi": 6, "hu": 0, "el": 0}
    assert figures[OTHERS]["fall"] == pytest.approx(np.mean([falls[x] for x in RANKC]))
    for x in falls:
        low, high = figures[x]["fall_ci"]
        assert low < falls[x] < high


def test_falls_of_table_9_follow_rankc(summary):
    correlation = summary["correlation"]
    assert correlation["n"] == 24
    assert correlation["pearson"] == pytest.approx(0.889, abs=5e-4)
    assert correlation["spearman"] == pytest.approx(0.829, abs=5e-4)
    assert 0.5 < correlation["pearson_ci"][0] < 0.889 < correlation["pearson_ci"][1] < 1


def test_every_figure_by_hand():
    """p(right), p(target) of 3 : 1 before and 1 : 3 after; neighbours and paraphrases likewise."""
    sides = {
        "before": {"right": log(0.3), "target": log(0.1), "rank": 4},
        "after": {"right": log(0.1), "target": log(0.3), "rank": 1},
        "neighbours": {"before": [[log(0.8), log(0.2)], [log(0.3), log(0.2)]],
                       "after": [[log(0.1), log(0.1)], [log(0.3), log(0.2)]]},
        "paraphrases": {"before": [[log(0.9), log(0.1)]], "after": [[log(0.4), log(0.6)]]},
    }  # fmt: skip
    half = {x: {"right": log(0.2), "target": log(0.2), "rank": 2} for x in ("before", "after")}
    facts = [{"subject": "a", "languages": {"en": sides}}, {"subject": "b", "languages": {}},
             {"subject": "c", "languages": {"en": half}}]  # fmt: skip
    figures = summarize_edits({"source": "en", "languages": ["en", "el"], "facts": facts})[
        "figures"
    ]
    values = {name: value for name, value in figures["en"].items() if not name.endswith("_ci")}
    assert values == pytest.approx({
        "right_before": (3 / 4 + 1 / 2) / 2, "target_before": (1 / 4 + 1 / 2) / 2,
        "right_after": (1 / 4 + 1 / 2) / 2, "target_after": (3 / 4 + 1 / 2) / 2,
        "fall": (3 / 4 - 1 / 4) / 2, "flipped": 1 / 2,
        "rank_before": (4 + 2) / 2, "rank_after": (1 + 2) / 2,
        "neighbours_before": (0.8 + 0.6) / 2, "neighbours_after": (0.5 + 0.6) / 2,
        "paraphrases_before": 0.9, "paraphrases_after": 0.4,
    })  # fmt: skip
    assert {*figures["el"].values()} == {None}  # no fact has the language
    assert OTHERS not in figures  # the mean of one language is the language


def test_correlations_are_those_of_scipy_and_intervals_those_of_a_plain_bootstrap():
    edits = make_edits(n_facts=40)
    for place, fact in enumerate(edits["facts"]):  # falls that follow consistency in part
        fact["subject"] = str(place)
        fact["languages"]["el"]["after"]["target"] += 1
    del edits["facts"][3]["languages"]["ru"]
    correlation = summarize_edits(edits)["correlation"]
    points = [
        [(edits["consistency"][x], find_fall(fact["languages"][x])) for x in ("el", "ru")
         if x in fact["languages"]]
        for fact in edits["facts"]
    ]  # fmt: skip
    assert correlation["n"] == 79
    random = np.random.default_rng(1)
    for name, test in (("pearson", pearsonr), ("spearman", spearmanr)):
        x, y = np.concatenate(points).T
        assert correlation[name] == pytest.approx(test(x, y).statistic, abs=1e-12)
        draws = (random.integers(40, size=40) for _ in range(1000))
        samples = (np.concatenate([points[i] for i in draw]).T for draw in draws)
        ends = np.quantile([test(*sample).statistic for sample in samples], [0.025, 0.975])
        assert correlation[f"{name}_ci"] == pytest.approx(ends, abs=0.04)


def find_fall(sides):
    before, after = (
        exp(x["right"]) / (exp(x["right"]) + exp(x["target"]))
        for x in (sides["before"], sides["after"])
    )
    return before - after


def test_the_interval_of_the_fall_keeps_the_facts_of_a_subject_together():
    edits = make_edits(n_facts=16)
    for first, second in zip(edits["facts"][::2], edits["facts"][1::2], strict=True):
        second["languages"] = first["languages"]  # a copy adds nothing
    halved = {**edits, "facts": edits["facts"][::2]}
    double, single = (summarize_edits(x)["figures"]["el"]["fall_ci"] for x in (edits, halved))
    assert double == pytest.approx(single, abs=0.02)


@pytest.mark.parametrize("consistency", [None, {}, {"el": 0.5}, {"el": 0.5, "ru": 0.5}])
def test_no_correlation_without_languages_that_differ(consistency):
    edits = {**make_edits(), "consistency": consistency}
    assert {*summarize_edits(edits)["correlation"]} == {"n"}


def test_edits_without_facts_are_refused():
    with pytest.raises(PolyprobeError, match="no fact is edited yet; repeat the command"):
        summarize_edits({**make_edits(), "facts": []})


def test_shares_do_not_overflow():
    edits = make_edits(n_facts=2)
    edits["facts"][0]["languages"]["el"]["before"] |= {"right": -2000.0, "target": -1.0}
    assert summarize_edits(edits)["shares"]["el"][0][0] == expit(-1999) == 0
