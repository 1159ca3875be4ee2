"""The pictures of a report: the numbers of results.json, and the same picture as on the page."""

import re
from itertools import permutations
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

from polyprobe.analysis.compare.runs import compare_runs
from polyprobe.analysis.figures.compute import compute_results
from polyprobe.analysis.figures.figures import BY_NAME, HEADLINE_PAIRS, SECOND_RANKINGS
from polyprobe.analysis.figures.options import MetricOptions
from polyprobe.analysis.figures.results import find_high_pairs
from polyprobe.cli import app
from polyprobe.metrics.pictures.picture import Heat
from polyprobe.metrics.pictures.svg import draw_svg
from polyprobe.report.page import write_report
from polyprobe.report.page.parts import RunPart
from polyprobe.report.page.pictures import find_scale
from polyprobe.report.pictures import ORDERS
from polyprobe.report.pictures.draw import save_picture
from polyprobe.report.pictures.order import arrange, name_labels
from tests.making.browser import open_page
from tests.making.facts import write_facts
from tests.making.predictions import FIRST, SECOND, write_predictions
from tests.making.runs import SCORES, write_run

SVG = "{http://www.w3.org/2000/svg}"
UNDIRECTED = [figure.name for figure in HEADLINE_PAIRS if figure.input is not SECOND_RANKINGS]
DIRECTED = ("right_given_right", "right_alone")


def list_cells(picture):
    """Return the cells of a heat map as drawn: [rows, columns] of colours, None where empty."""
    svg = ElementTree.fromstring(draw_svg(picture))
    [cells] = [x for x in svg.iter(f"{SVG}g") if x.get("class") == "cells"]
    fills = [None if x.get("fill") == "var(--card)" else x.get("fill") for x in cells]
    return np.array(fills, object).reshape(len(picture.rows), -1)


def test_heat_maps_have_the_values_of_the_results(run):
    compute_results(run, options=MetricOptions(figures=("default", *DIRECTED)))
    results, found = run.read_results(), write_report([run.folder], None)
    for name in (*UNDIRECTED, *DIRECTED):
        heat = found[name]
        assert (heat.measure, heat.rows) == (BY_NAME[name].title, results["languages"])
        drawn = list_cells(heat)
        for (i, one), (j, two) in permutations(enumerate(results["languages"]), 2):
            pair = f"{one}-{two}" if f"{one}-{two}" in results[name] else f"{two}-{one}"
            value = results[name][pair]
            assert heat.values[i, j] == pytest.approx(
                np.nan if value is None else value, nan_ok=True
            )
            assert (drawn[i, j] is None) == (value is None), (name, pair)
        assert [*np.diagonal(drawn)] == [None] * len(heat.rows)
    given = found["right_given_right"].values
    assert (given != given.T).any()
    assert found["rankc"].mark == ("chance", results["chance"]["rankc"])


def test_a_scale_ends_at_the_highest_value_of_its_figure():
    values = {"rankc_disattenuated": {"en-ru": 1.4, "en-el": 1.1}, "rankc": {"en-ru": 1.0}}
    parts = [RunPart("run", None, {**values, "chance": chance}) for chance in ({"rankc": 0.3}, {})]
    assert find_scale(BY_NAME["rankc_disattenuated"], parts) == (0, 1.4, 0)
    assert find_scale(BY_NAME["rankc"], parts) == (0.3, 1, 0.3)
    assert find_scale(BY_NAME["rankc"], parts[1:]) == (0, 1, None)


def test_squares_are_the_pairs_at_or_above_the_mean(run):
    results, found = run.read_results(), write_report([run.folder], None)
    heat = found["rankc+coverlap"]
    both, one = (
        {"-".join((heat.rows[i], heat.columns[j])) for i, j in cells}
        for cells in heat.squares.values()
    )
    high, first, second = find_high_pairs(results, "rankc", "coverlap")
    assert sorted(pair for pair in both if pair in results["rankc"]) == sorted(high)
    assert sorted(pair for pair in one if pair in results["rankc"]) == sorted([*first, *second])
    assert (len(both), len(one)) == (2 * len(high), 2 * len([*first, *second]))


def test_bars_have_the_accuracies_their_intervals_and_levels(run):
    results, found = run.read_results(), write_report([run.folder], None)
    bars = found["accuracy"]
    assert bars.labels == sorted(results["languages"], key=lambda x: -results["accuracy"][x])
    [series] = bars.series
    assert series.values == [results["accuracy"][x] for x in bars.labels]
    assert series.bounds == [results["intervals"]["accuracy"][x] for x in bars.labels]
    chance = results["chance"]["accuracy"]
    assert bars.levels == [(f"chance {chance:.3f}", chance)]
    assert found["shares"].series[0].values == results["k_share"]


def test_reliability_has_the_bins_with_facts(run):
    results, found = run.read_results(), write_report([run.folder], None)
    bins = results["calibration"]["ru"]["bins"]
    rows = zip(bins["n"], bins["confidence"], bins["accuracy"], strict=True)
    points = [(str(n), x, y) for n, x, y in rows if n]
    assert [(p.label, p.x, p.y) for p in found["reliability-ru"].points] == points
    assert found["reliability-ru"].ends == (0, 1)


def test_every_picture_is_saved_also_of_one_language(tmp_path, facts, run):
    one = write_run(tmp_path / "one", facts, {"en": SCORES["en"]}, scoring="object")
    found = write_report([one.folder], None)
    assert [*found] == ["accuracy", "shares", "reliability-en"]
    for name, picture in (found | write_report([run.folder], None)).items():
        save_picture(picture, tmp_path / "pictures" / f"{name}.svg", names=True)
    assert len(list((tmp_path / "pictures").iterdir())) == 3 * 3 + 2 + 3  # as documented


def test_two_runs_have_their_numbers_one_scale_and_differences(tmp_path, run, other):
    found = write_report([run.folder, other.folder], None)
    assert {"rankc-1", "rankc-2", "rankc-1-2", "rankc+coverlap-2", "accuracy"} <= set(found)
    assert {"reliability-zh_hans-1", "reliability-en-2"} <= set(found)
    assert (found["rankc-1"].low, found["rankc-1"].high) == (
        found["rankc-2"].low, found["rankc-2"].high
    )  # fmt: skip
    compared = compare_runs(run, other, test="randomisation", n_resamples=10_000)
    (row,) = compared.differences["rankc"][:-1]
    values = found["rankc-1-2"].values
    assert values[0, 1] == values[1, 0] == row.difference
    assert found["rankc-1-2"].rows == ["en", "ru"]
    assert [series.name for series in found["accuracy"].series] == [
        "synthetic (run)",
        "synthetic (other)",
    ]
    assert found["accuracy"].series[1].values[found["accuracy"].labels.index("zh_hans")] is None


def test_significant_differences_have_a_frame(tmp_path):
    facts = write_facts(tmp_path / "facts")
    first = write_run(tmp_path / "a", facts, SCORES)
    wrong = {x: [[*row[::-1]] for row in rows] for x, rows in SCORES.items()}
    second = write_run(tmp_path / "b", facts, wrong)
    found = write_report([first.folder, second.folder], None)
    compared = compare_runs(first, second, test="randomisation", n_resamples=10_000)
    for name in UNDIRECTED:
        low = [row.name for row in compared.differences[name][:-1] if (row.p_adjusted or 1) < 0.05]
        heat = found[f"{name}-1-2"]
        assert [*heat.squares] == ["p < 0.05"]
        assert len(heat.squares["p < 0.05"]) == 2 * len(low)


def test_free_predictions_have_pictures_too(tmp_path):
    runs = [write_predictions(tmp_path / x, said) for x, said in (("a", FIRST), ("b", SECOND))]
    found = write_report([run.folder for run in runs], None)
    results = runs[1].read_results()
    heat = found["coverlap-2"]
    for pair, value in results["coverlap"].items():
        i, j = map(heat.rows.index, pair.split("-"))
        assert heat.values[i, j] == pytest.approx(value, nan_ok=True)
    bars = found["accuracy"]
    assert bars.series[1].values == [results["accuracy"][x] for x in bars.labels]


def report(*arguments):
    result = CliRunner().invoke(app, ["report", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.output.replace("\n", "")


def test_the_command_saves_a_picture_or_a_page_or_both(tmp_path, run):
    picture, page = tmp_path / "new" / "p.svg", tmp_path / "p.html"
    options = ("--draw", "accuracy", "--names", "names", "--order", "script")
    assert report(run.folder, "--figure", picture, *options) == f"figure: {picture} (accuracy)"
    texts = [x.text for x in ElementTree.parse(picture).iter() if x.tag.endswith("}text")]
    names = [x for x in texts if x in ("English", "Russian", "Chinese (simplified)")]
    assert names == ["Russian", "Chinese (simplified)", "English"]  # Cyrl, Hans, Latn
    output = report(run.folder, "--figure", picture, "--output", page)
    assert output == f"report: {page}figure: {picture} (rankc_adjusted)"  # as the page's first


def test_compare_saves_the_same_differences(tmp_path, run, other):
    runs, files = [str(run.folder), str(other.folder)], [tmp_path / "a.svg", tmp_path / "b.svg"]
    for command, file in zip(("report", "compare"), files, strict=True):
        options = [*runs, "--figure", str(file), "--draw", "rankc-1-2"]
        result = CliRunner().invoke(app, [command, *options])
        assert result.exit_code == 0, result.output
    assert files[0].read_bytes() == files[1].read_bytes()


def test_files_and_page_agree(tmp_path, run, other, browser):
    """Order, names and colours of each heat map, and the ends of its scale."""
    runs = [run.folder, other.folder]
    found = write_report(runs, tmp_path / "page.html")
    page = open_page(browser, tmp_path / "page.html")
    views = {"synthetic (run)": "-1", "synthetic (other)": "-2"}
    views["synthetic (run) − synthetic (other)"] = "-1-2"
    for (view, end), name, order in (
        (view, name, order) for view in views.items() for name in UNDIRECTED for order in ORDERS
    ):
        page.select_option("select[data-label=show]", view)
        page.select_option("select[data-label=measure]", BY_NAME[name].title)
        page.select_option("select[data-label=order]", order)
        heat = arrange(found[f"{name}{end}"], order)
        assert isinstance(heat, Heat)
        figure = page.locator(".figure:has(.cells):visible")
        labels = figure.locator("g.rows text").all_text_contents()
        assert labels == name_labels(heat.rows)
        cells = figure.locator(".cells path").evaluate_all(
            "all => all.map(x => x.getAttribute('fill'))"
        )
        for colour, cell in zip(list_cells(heat).ravel(), cells, strict=True):
            if colour is None:
                assert cell == "var(--card)"
            else:
                shown = [*map(int, re.findall(r"\d+", cell))]
                expected = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
                assert np.abs(np.subtract(expected, shown)).max() <= 2, (view, name, order)
        assert f"{heat.low:.2f}" in figure.locator(".scale text").all_text_contents()
