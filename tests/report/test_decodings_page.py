"""The report of runs of free decoding."""

import json
import re

import pytest
from typer.testing import CliRunner

from polyprobe.cli import app
from polyprobe.eval import evaluate_model
from polyprobe.report.page import write_report
from polyprobe.system.messages import PolyprobeError
from tests.making import tiny
from tests.making.browser import open_page
from tests.making.facts import CITIES, write_facts
from tests.making.predictions import FIRST, SECOND, write_predictions
from tests.making.reader import Reader
from tests.making.runs import SCORES, write_run
from tests.making.stable import save_fixed


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    save_fixed("bert", folder / "bert", [*tiny.TEXT, *CITIES["en"], *CITIES["ru"]])
    write_facts(folder / "facts")
    for initial in ("order", "confidence"):
        evaluate_model(
            str(folder / "bert"), str(folder / "facts"), output=folder / initial,
            languages=["en", "ru"], scoring="xfactr", initial=initial, max_masks=3, gold=True,
        )  # fmt: skip
    return folder


def read_page(file):
    reader = Reader(file.read_text(encoding="utf-8"))
    assert reader.loaded == []
    return reader, json.loads(reader.scripts[0])


def test_a_page_has_the_results_of_the_run(place, tmp_path):
    write_report([place / "order"], tmp_path / "page.html")
    reader, data = read_page(tmp_path / "page.html")
    results = json.loads((place / "order" / "results.json").read_text(encoding="utf-8"))
    [view] = data["heats"]["coverlap"]["views"]
    assert view["values"] == [results["coverlap"]["en-ru"]]
    ids = re.findall(r'class="figure" id="([\w-]+)"', (tmp_path / "page.html").read_text("utf-8"))
    assert {"accuracy", "masks-en", "masks-ru", "reliability-en", "coverlap"} <= {*ids}
    texts = [text for _, _, text in reader.texts]
    for head in ("known length", "one mask", "calibration\nerror", "at least\nright answer"):
        assert head in texts
    error = results["calibration"]["ru"]["ece"]
    assert f"{error:.3f}" in texts


def test_two_runs_are_compared_fact_by_fact(tmp_path):
    runs = [write_predictions(tmp_path / x, said) for x, said in (("a", FIRST), ("b", SECOND))]
    write_report([run.folder for run in runs], tmp_path / "page.html")
    reader, _ = read_page(tmp_path / "page.html")
    assert all(f"synthetic ({x}) on" in " ".join(reader.under("answer")) for x in "ab")
    cells = [text for _, tag, text in reader.texts if tag == "td"]
    place = cells.index("en all")
    assert "accuracy mean (micro)" in cells
    assert cells[place : place + 6] == ["en all", "1", "3", "1", "1", "1"]
    assert any(
        "only synthetic (b), el: el 2 is [Y]. 'gold', not 'x'" in t for *_, t in reader.texts
    )
    said = CliRunner().invoke(
        app, ["compare", *(str(r.folder) for r in runs), "--output", str(tmp_path / "two.html")]
    )
    assert said.exit_code == 0, said.output
    assert "en multi" in (tmp_path / "two.html").read_text(encoding="utf-8")


def test_a_run_without_a_prediction_has_a_page(tmp_path):
    run = write_predictions(tmp_path / "run", {"en": [None] * 6, "el": [None] * 6})
    write_report([run.folder], tmp_path / "page.html")
    reader, _ = read_page(tmp_path / "page.html")
    assert "predicts – of " in " ".join(reader.under("answer"))


def test_runs_of_two_kinds_are_reported_apart(place, tmp_path):
    scored = write_run(tmp_path / "scored", place / "facts", SCORES)
    with pytest.raises(PolyprobeError, match="holds free predictions, other runs scores of"):
        write_report([place / "order", scored.folder], tmp_path / "page.html")


@pytest.mark.parametrize("kind", ["free", "candidates"])
def test_a_browser_draws_the_pictures(place, tmp_path, browser, kind):
    folders = [place / "order", place / "confidence"]
    if kind == "candidates":
        scored = write_run(tmp_path / "scored", place / "facts", SCORES, scoring="object")
        folders = [scored.folder]
    write_report(folders, tmp_path / "page.html")
    page = open_page(browser, tmp_path / "page.html")
    results = json.loads((folders[0] / "results.json").read_text(encoding="utf-8"))
    found = results["calibration"]["en"]
    bins = sum(n > 0 for name, part in found.items() if "bins" in name and part for n in part["n"])
    assert page.locator(".figure[id^=reliability]:visible .points circle").count() == bins
    if kind == "free":
        curves = [c for c in results["by_masks"]["en"].values() if None not in c]
        shown = page.locator(".figure[id^=masks]:visible path[stroke-width='2']")
        assert shown.count() == len(curves)
        page.select_option("section:has-text('number of masks') select[data-label=language]", "ru")
        assert page.locator(".figure[id^=masks]:visible").get_attribute("id") == "masks-ru-1"
