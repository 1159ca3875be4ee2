"""Findings in the terminal, CSV, Markdown and LaTeX."""

import csv
from io import StringIO

import pytest
from rich.console import Console

from polyprobe.report.finding import Cell, Column, Estimate, Finding, Part, Role, Table
from polyprobe.report.show import FORMATS, render, to_csv, to_latex, to_markdown

ROLES = {
    Role.NAME: ("zh_hans", "zh_hans"),
    Role.LABEL: ("two words", "two words"),
    Role.TEXT: ("sentence", "sentence"),
    Role.COUNT: (1234, "1,234"),
    Role.AMOUNT: (1234.56, "1,234.6"),
    Role.SIZE: (559_214_592, "559M"),
    Role.VALUE: (0.12345, "0.123"),
    Role.NUMBER: (0.12345, "0.123"),
    Role.RATIO: (1.234, "1.23"),
    Role.SHARE: (Estimate(0.125, [0.1, 0.2]), "12.5\n10–20"),
    Role.PERCENT: (Estimate(0.354, [0.1, 0.6]), "35% (10 to 60)"),
    Role.CHANGE: (12.34, "+12.3%"),
    Role.SLOPE: (-0.001, "-0.0010"),
    Role.P: (0.01234, "0.012"),
    Role.INTERVAL: ([0.5, 0.5], "0.500 to 0.500*"),
    Role.SLOPES: ([-0.5, 0.25], "-0.5000 to +0.2500"),
    Role.ESTIMATE: (Estimate(0.5, [0.25, 0.75], 0.0625), "0.500 ± 0.062\n0.250 to 0.750"),
}
TABLE = Table(
    [
        Column("model", Role.NAME),
        Column("accuracy", key="acc", percent=True),
        Column("95%", Role.INTERVAL, "ci"),
    ],
    [
        ["a_b", 0.5, [0.25, 0.75]],
        ["c|<d>", None, None],
        ["p", Cell(0.5, Role.P, bold=True, low=True), ""],
    ],
    sections=[2],
)


def printed(finding, width=120):
    console = Console(file=StringIO(), width=width)
    for part in render(finding, width):
        console.print(part, markup=False, highlight=False, soft_wrap=isinstance(part, str))
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_every_role_has_a_format_and_none_is_a_dash():
    assert {*ROLES} == {*FORMATS} == {*Role}
    columns = [Column(role.name, role) for role in Role]
    finding = Finding("all", [Part("", [Table(columns, [[None] * len(columns)])])])
    assert printed(finding, 400)[1].split() == ["–"] * len(columns)


@pytest.mark.parametrize("role", ROLES)
def test_the_role_decides_the_format(role):
    value, text = ROLES[role]
    finding = Finding("one", [Part("", [Table([Column("x", role)], [[value]])])])
    assert [line.strip() for line in printed(finding)] == ["x", *text.split("\n")]


def test_a_finding_is_its_parts_notes_and_cautions():
    part = Part("", [TABLE._replace(limit=1, noun="models"), "a line"], heading="of en")
    lines = printed(Finding("t", [part], notes=["[a] note"], cautions=["a caution"]))
    assert lines == [
        "",
        "of en",
        "model  accuracy             95%",
        "a_b       0.500  0.250 to 0.750",
        "2 further models are in --json and --output",
        "a line",
        "[a] note",
        "a caution",
    ]


def test_a_narrow_terminal_has_fewer_columns_and_no_intervals_of_estimates():
    columns = [Column("m", Role.NAME), Column("x", Role.ESTIMATE), Column("y", width=100)]
    rows = [["a", Estimate(0.5, [0.25, 0.75], 0.125), 1.0]]
    finding = Finding(
        "t", [Part("", [Table([*columns, Column("z", width=None)], [[*rows[0], 2]])])]
    )
    assert printed(finding, 80) == ["m       x", "a   0.500", "   ±0.125"]
    assert printed(finding, 120)[1:] == ["a   0.500 ± 0.125  1.000", "   0.250 to 0.750"]


def test_csv_has_raw_values_and_two_columns_of_an_interval():
    assert [*csv.reader(StringIO(to_csv(TABLE)))] == [
        ["model", "acc", "ci_low", "ci_high"],
        ["a_b", "0.5", "0.25", "0.75"],
        ["c|<d>", "", "", ""],
        ["p", "0.5", "", ""],
    ]


def test_markdown_shows_html_as_text():
    assert to_markdown(TABLE).splitlines() == [
        "| model | accuracy | 95% |",
        "| --- | ---: | ---: |",
        "| a_b | 0.500 | 0.250 to 0.750 |",
        r"| c\|&lt;d&gt; | – | – |",
        "| p | 0.5 † |  |",
    ]


def test_latex_has_percent_where_asked_and_escapes_the_rest():
    lines = to_latex([TABLE], "50% of χ²").splitlines()
    assert r"a\_b & 50.0 & 0.25 to 0.75 \\" in lines
    assert r"c\textbar{}\textless{}d\textgreater{} & -- & -- \\" in lines
    assert lines[lines.index(r"p & \textbf{0.5}\rlap{$^\dagger$} &  \\") - 1] == r"\midrule"
    assert r"\caption{50\% of $\chi^2$}" in lines


def test_latex_has_intervals_of_estimates_below():
    columns = [Column("m", Role.NAME), Column("x", Role.ESTIMATE, percent=True)]
    best = Cell(Estimate(0.5, [0.25, 0.75], 0.125), bold=True, low=True)
    text = to_latex([Table(columns, [["a", best], ["b", Estimate(0.5, None, 0.125)]])])
    value = r"\textbf{50.0}\rlap{$^\dagger$}"
    assert f"a & {value} \\\\\n & \\scriptsize 25.0 to 75.0 \\\\\n" in text
    assert "b & 50.0 $\\pm$ 12.5 \\\\\n" in text  # without an interval of the mean


def test_marks_leave_numbers_below_each_other():
    rows = [[Cell(0.5, low=True)], [Cell(0.25)], [-0.125]]
    lines = printed(Finding("", [Part("", [Table([Column("x")], rows)])]))
    assert [line.rstrip() for line in lines] == ["     x", "†0.500", " 0.250", "-0.125"]
