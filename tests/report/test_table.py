"""The terminal table: figures, means, chance, and 80 columns."""

import hashlib
from io import StringIO

from rich.console import Console

from polyprobe.report.finding import Cell
from polyprobe.report.findings.run import make_run_finding
from polyprobe.report.show import render

RESULTS = {
    "signature": "model:m@1|data:d/17|languages:" + "+".join(f"l{i}@abcdef" for i in range(53)),
    "languages": ["en", "fr", "zh_hans"],
    "n_queries": 6792,
    "accuracy": {"en": 0.5, "fr": 0.25, "zh_hans": 0.125},
    "rankc": {"en-fr": 0.9, "en-zh_hans": 0.5, "fr-zh_hans": 0.4},
    "rankc_adjusted": {"en-fr": 0.8, "en-zh_hans": -0.2, "fr-zh_hans": 0.2},
    "coverlap": {"en-fr": 0.5, "en-zh_hans": 0.0, "fr-zh_hans": None},
    "chance": {"accuracy": 0.1, "rankc": 0.158},
    "mean": {"accuracy": 0.7 / 2.4, "rankc": 0.6, "rankc_adjusted": 0.8 / 3, "coverlap": 0.25},
    "left_out": {"rankc_adjusted": 34, "coverlap": 1},
    "intervals": {},
    "resampling": {"n_resamples": 0, "seed": 0, "clusters": "none"},
    "subset": None,
}


def printed(results, width=80):
    console = Console(file=StringIO(), width=width)
    for block in render(make_run_finding(results), width):
        console.print(block, highlight=False)
    return console.file.getvalue().splitlines()


def cells(lines):
    rows = [[c.strip() for c in line.strip("│").split("│")] for line in lines if "│" in line]
    return {row[0]: row[1:] for row in rows}


def test_a_row_is_a_language_with_its_means_over_the_others():
    assert cells(printed(RESULTS)) == {
        "en": ["0.500", f"{(0.9 + 0.5) / 2:.3f}", f"{(0.8 - 0.2) / 2:.3f}", f"{(0.5 + 0) / 2:.3f}"],
        "fr": ["0.250", f"{(0.9 + 0.4) / 2:.3f}", f"{(0.8 + 0.2) / 2:.3f}", "0.500"],
        "zh_hans": ["0.125", f"{(0.5 + 0.4) / 2:.3f}", "0.000", "0.000"],
        "mean": ["0.292", "0.600", "0.267", "0.250"],
        "chance": ["0.100", "0.158", "0.000", "–"],
    }


def test_what_was_left_out_is_counted_and_the_signature_is_short():
    lines = printed(RESULTS)
    text = "\n".join(lines)
    assert "6,792 facts" in text
    assert "34 facts with one candidate: no adjusted RankC, no kappa" in text
    assert "1 pairs without COverlap" in text
    digest = hashlib.sha256(RESULTS["signature"].encode()).hexdigest()[:8]
    whole = "\n".join(printed({**RESULTS, "left_out": {"rankc_adjusted": 0, "coverlap": 0}}))
    assert not any(words in whole for words in ("one candidate", "without COverlap"))
    assert lines[-1] == f"signature {digest}: model m@1, data d/17, languages 53"


def test_intervals_are_below_the_means_and_marked_without_width():
    means = {"accuracy": [0.25, 0.75], "rankc": [0.6, 0.6], "rankc_adjusted": [-0.1, 0.4]}
    lines = printed({**RESULTS, "intervals": {"mean": {**means, "coverlap": None}}})
    rows = cells(lines)
    assert rows["95% from"] == ["0.250", "0.600*", "-0.100", "–"]
    assert rows["95% to"] == ["0.750", "0.600*", "0.400", "–"]
    assert any(line.startswith("*: all resamples have this value") for line in lines)
    assert not any(line.startswith("*:") for line in printed(RESULTS))


SECOND = {
    "accuracy_gain": {"en": 0.4, "fr": 0.2, "zh_hans": 0.0},
    "rankc_subject": {"en-fr": 0.3, "en-zh_hans": 0.1, "fr-zh_hans": None},
    "rankc_interaction": {"en-fr": 0.25, "en-zh_hans": 0.09, "fr-zh_hans": 0.011},
    "mean": {
        **RESULTS["mean"], "accuracy_gain": 0.2, "rankc_subject": 0.2, "rankc_right": 0.15,
        "rankc_rest": 0.05, "rankc_interaction": 0.117, "rankc_beyond": 0.02,
    },
    "intervals": {
        "accuracy_gain": {"en": [0.3, 0.5], "fr": [0.05, 0.3], "zh_hans": [-0.1, 0.1]},
        "mean": {
            "accuracy": [0.25, 0.35], "accuracy_gain": [0.1, 0.3], "rankc_subject": [0.1, 0.3],
            "rankc_right": [0.11, 0.19], "rankc_rest": [0.01, 0.09],
            "rankc_interaction": [0.1, 0.2], "rankc_beyond": [-0.01, 0.05],
        },
    },
    "floors": {
        "frequency": {"accuracy": 0.3}, "nonsense": {"rankc_right": 0.06},
        "bigrams": {"accuracy_gain": 0.06, "rankc_subject": 0.099},
    },
    "floors_by_place": {"bigrams": {"accuracy_gain": dict.fromkeys(("en", "fr", "zh_hans"), 0.06)}},
    "p_values": {"rankc_interaction": {"mean": 0.0001}, "rankc_beyond": {"mean": 0.25}},
    "donors": {"n_donors": 90, "effective_donors": 81.4, "n_units": 40, "effective_units": 30.6},
}  # fmt: skip


def test_the_headline_has_accuracy_and_gain_beside_it_and_its_parts_below():
    lines = printed({**RESULTS, **SECOND}, 200)
    (head,) = (line for line in lines if ("accuracy" in line and "│" in line) or "┃" in line)
    names = [x.strip() for x in head.strip("┃").split("┃")]
    assert names[:4] == ["language", "accuracy", "gain", "centred"]
    rows = cells(lines)
    assert rows["en"][:3] == ["0.500", "0.400", "0.200"]
    assert rows["zh_hans"][2] == "0.100"  # of the defined pair
    assert "nonsense" not in rows  # it has none of the columns
    text = "\n".join(lines)
    for line in (
        "RankC, R - 2P + Q: 0.117 (0.100 to 0.200), p = 0.0001 (sign-flip test)",
        "centred RankC, beyond independence: 0.020 (-0.010 to 0.050), p = 0.25 (sign-flip test)",
        "centred RankC = 0.150 (0.110 to 0.190) of the right answers (of a nonsense order for each "
        "subject: 0.060) + 0.050 (0.010 to 0.090) of the other candidates",
        "centred RankC and accuracy gain: 90 donors (81 effective); 40 units (31 effective)",
        "centred RankC is not defined for 1 pairs, whose 1 - 2P + Q is not above 0.005 with its "
        "interval (few facts, or rankings that hardly change with the subject); their R - 2P + Q: "
        "fr-zh_hans 0.011",
        "†: not above the highest floor with its 95% interval",
    ):
        assert line in text


def test_values_whose_interval_is_not_above_the_highest_floor_are_marked():
    (table,) = make_run_finding({**RESULTS, **SECOND}).tables
    low = {
        (row[0], column.head)
        for row in table.rows
        for cell, column in zip(row, table.columns, strict=True)
        if isinstance(cell, Cell) and cell.low
    }
    # accuracy .25 < .3; gains .05 and -.1 < .06; the headline's .1 > .099, but not its accuracy
    means = {("mean", "accuracy"), ("mean", "centred")}
    # the floor .3 of accuracy
    languages = {("fr", "gain"), ("zh_hans", "gain")}
    assert low == means | languages | {("frequency", "accuracy")}
    assert not any("†" in line for line in printed(RESULTS))
