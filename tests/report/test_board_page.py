"""The page of a board and its folder; what a browser does with it."""

import csv
import io
import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from scipy.stats import linregress

from polyprobe.analysis.board import FILES
from polyprobe.analysis.board.board import make_board
from polyprobe.report.findings.board import write_csv, write_latex
from polyprobe.report.page.board import write_board
from polyprobe.schema.card import read_card
from polyprobe.system.errors import PolyprobeError
from tests.making.boards import BLOOM, TABLE_5, write_many, write_table_5, write_typed
from tests.making.browser import open_page
from tests.making.facts import write_facts
from tests.making.reader import Reader
from tests.making.runs import SCORES, write_run

BY_ACCURACY = sorted(TABLE_5, key=lambda model: -TABLE_5[model][1])


@pytest.fixture
def folder(tmp_path):
    write_board(make_board(write_table_5(tmp_path / "runs")), tmp_path / "board")
    return tmp_path / "board"


def read_data(folder):
    reader = Reader((folder / "index.html").read_text(encoding="utf-8"))
    return reader, json.loads(reader.scripts[0])


def test_the_page_loads_nothing_and_has_all_figures(folder):
    reader, data = read_data(folder)
    assert reader.loaded == []
    assert reader.addresses == []
    assert [model["name"] for model in data["models"]] == BY_ACCURACY
    found = {model["name"]: model["values"] for model in data["models"]}
    for model, (clc, accuracy) in TABLE_5.items():
        assert found[model]["rankc"] == [pytest.approx(clc / 100), None, None, None]
        assert f"{accuracy / 100:.3f}" in reader.text
    assert "9 models on someone/facts/17" in " ".join(reader.under("answer"))
    assert reader.under("note") == ["Figures and examples need JavaScript."]


def test_the_folder_is_a_static_space(folder):
    assert {path.name for path in folder.iterdir()} == {*FILES}
    card = read_card(folder / "README.md")
    assert (card["sdk"], card["app_file"], card["license"]) == (
        "static",
        "index.html",
        "apache-2.0",
    )
    assert card["title"] == "9 models on someone/facts/17"
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert "| BLOOM-7.1b | 7.1B | 2 | 0.278 | 0.263 |" in text
    assert "| RankC | +0.87 | +0.68 to +1.06 | 0.993 | 5 | 0.978 |" in text
    rows = csv.DictReader(io.StringIO((folder / "board.csv").read_text(encoding="utf-8")))
    assert [row["model"] for row in rows] == BY_ACCURACY


def test_a_board_replaces_a_board_and_nothing_else(folder, tmp_path):
    runs = [*(tmp_path / "runs").iterdir()][:4]
    write_board(make_board(runs), folder)
    assert len(read_data(folder)[1]["models"]) == 4
    (folder / "board.json").unlink()
    with pytest.raises(PolyprobeError, match=r"is not empty and holds no board.json"):
        write_board(make_board(runs), folder)


def test_names_of_models_are_escaped(tmp_path):
    evil = "</script><script>alert(1)</script>&_"
    figures = {"accuracy": {"en": 0.5}}
    runs = [write_typed(tmp_path / name[:1], name, figures) for name in (evil, "plain")]
    write_board(make_board(runs), tmp_path / "board")
    page = (tmp_path / "board" / "index.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert read_data(tmp_path / "board")[1]["models"][0]["name"] == evil


def test_differences_are_on_the_page_and_in_the_tables(tmp_path):
    figures = {"accuracy": {"en": 0.5}}
    runs = [
        write_typed(tmp_path / "a", "a", figures),
        write_typed(tmp_path / "b", "b", figures, scoring="object", dtype="float16"),
    ]
    write_board(make_board(runs, despite=True), tmp_path / "board")
    reader, data = read_data(tmp_path / "board")
    assert (data["differing"], data["models"][1]["differing"]) == (["scoring"], ["object"])
    assert "These runs differ in scoring: their means are not comparable." in reader.under("note")
    assert "The runs also differ in dtype: float32, float16." in reader.under("hint")
    for name in ("README.md", "board.csv", "board.tex"):
        assert "object" in (tmp_path / "board" / name).read_text(encoding="utf-8")


@pytest.mark.acceptance
def test_thirty_runs_of_53_languages_take_less_than_two_megabytes(tmp_path):
    """Their time is in bench/commands."""
    write_board(make_board(write_many(tmp_path)), tmp_path / "board")
    assert (tmp_path / "board" / "index.html").stat().st_size < 2_000_000


def names(page, place="board"):
    return page.locator(f"#{place} tbody tr td:first-child").all_inner_texts()


def heading(page, name, place="board"):
    return page.locator(f"#{place} .sort").filter(has_text=re.compile(f"^{name}$"))


def test_a_browser_sorts_by_any_column(folder, browser):
    page = open_page(browser, folder / "index.html")
    assert names(page) == BY_ACCURACY
    heading(page, "RankC").click()
    by_rankc = sorted(TABLE_5, key=lambda model: -TABLE_5[model][0])
    assert names(page) == by_rankc
    heading(page, "RankC").click()
    assert names(page) == by_rankc[::-1]
    heading(page, "size").click()
    assert names(page)[:5] == [f"BLOOM-{size}" for size in BLOOM]  # unknown sizes are last
    heading(page, "model").click()
    assert names(page) == sorted(TABLE_5, key=str.lower)
    assert page.locator("#board [aria-sort=ascending]").inner_text().startswith("model")
    heading(page, "accuracy").click()
    page.locator("summary", has_text="Choose figures").click()
    page.locator("#figures input[value=accuracy]").uncheck()  # the order: then by name
    assert names(page) == sorted(TABLE_5, key=str.lower)


def test_a_browser_shows_a_single_run(tmp_path, browser):
    run = write_run(tmp_path / "run", write_facts(tmp_path / "facts"), {"en": SCORES["en"]})
    write_board(make_board([run.folder]), tmp_path / "board")
    page = open_page(browser, tmp_path / "board" / "index.html")
    assert names(page) == names(page, "languages") == ["synthetic"]
    assert page.locator("#slope").inner_text() == "A slope needs three models of different size."


def test_a_browser_filters_models_and_fits_the_slope_to_those_shown(folder, browser):
    page = open_page(browser, folder / "index.html")
    assert page.locator("#slope").inner_text().startswith("+1.86 points per doubling")
    page.locator("#filter").fill("bloom b")
    sizes = ["7.1b", "1.7b", "1.1b"]
    shown = ["BLOOM-7.1b", "BLOOM-3b", "BLOOM-1.7b", "BLOOMZ-3b", "BLOOM-1.1b", "BLOOM-560m"]
    assert names(page) == shown
    page.locator("#filter").fill("Bloom- .")
    assert names(page) == [f"BLOOM-{size}" for size in sizes]
    x = np.log2([BLOOM[size] for size in sizes])
    y = [TABLE_5[f"BLOOM-{size}"][1] for size in sizes]
    found = linregress(x, y)
    half = 12.7062047 * found.stderr  # t of one degree of freedom
    ends = f"{found.slope - half:+.2f} to {found.slope + half:+.2f}"
    assert page.locator("#slope").inner_text() == (
        f"{found.slope:+.2f} points per doubling of the parameters (95%: {ends}), "
        f"r = {found.rvalue:.3f}, 3 models."
    )
    assert page.locator("#size .point").count() == 3
    assert page.locator("#size .fitted").count() == 1
    assert page.locator("#bars .bar").count() == 3
    page.locator("#filter").fill("")
    assert page.locator("#pair .point").count() == 9
    assert page.locator("#correlation").inner_text() == "r = 0.978, 9 models."


def test_a_browser_shows_chosen_figures_and_languages(tmp_path, browser):
    facts = write_facts(tmp_path / "facts")
    orders = {"one": ("en", "ru", "zh_hans"), "two": ("ru", "zh_hans", "en")}
    runs = [
        write_run(tmp_path / x, facts, dict(zip(SCORES, map(SCORES.get, order), strict=True)), x)
        for x, order in orders.items()
    ]
    write_board(make_board([run.folder for run in runs]), tmp_path / "board")
    page = open_page(browser, tmp_path / "board" / "index.html")
    results = [run.read_results() for run in runs]
    first = page.locator("#board tbody tr").first.locator("td")
    bounds = results[0]["intervals"]["mean"]["accuracy"]
    text = first.nth(3).inner_text()
    assert text.startswith(f"{results[0]['mean']['accuracy']:.3f} ± ")
    assert text.endswith(f"\n{bounds[0]:.3f} to {bounds[1]:.3f}")
    page.locator("#intervals").uncheck()
    assert first.nth(3).inner_text() == f"{results[0]['mean']['accuracy']:.3f}"
    page.locator("summary", has_text="Choose figures").click()
    page.locator("#figures input[value='recall_at_k.mean_rank']").check()
    heading(page, "mean rank").click()  # the lowest first
    ranks = [np.mean([x["mean_rank"] for x in one["recall_at_k"].values()]) for one in results]
    assert names(page) == [["one", "two"][i] for i in np.argsort(ranks)]
    page.locator("#language-figure").select_option("rankc")
    heads = page.locator("#languages th").all_inner_texts()
    assert [re.sub(r"\W", "", head) for head in heads] == ["model", "mean", "en", "ru", "zh_hans"]
    rankc = results[0]["rankc"]
    row = page.locator("#languages tbody tr", has_text="one").locator("td").all_inner_texts()
    assert row[2] == f"{(rankc['en-ru'] + rankc['en-zh_hans']) / 2:.3f}"
    page.locator("#codes").fill("ru, en")
    row = page.locator("#languages tbody tr", has_text="one").locator("td").all_inner_texts()
    assert len(row) == 4
    assert float(row[1]) == pytest.approx((float(row[2]) + float(row[3])) / 2, abs=0.001)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_tables_and_pictures_are_saved_in_both_schemes(folder, tmp_path, browser, scheme):
    page = open_page(browser, folder / "index.html", color_scheme=scheme)
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert back == ("rgb(20, 23, 27)" if scheme == "dark" else "rgb(255, 255, 255)")
    runs = make_board([*(tmp_path / "runs").iterdir()])
    for name, write in (("board.csv", write_csv), ("board.tex", write_latex)):
        with page.expect_download() as waiting:
            page.locator(f"[data-file='{name}']").click()
        assert waiting.value.suggested_filename == name
        assert waiting.value.path().read_text(encoding="utf-8") == write(runs)
    for name, shape, count in (("size", "point", 5), ("pair", "point", 9), ("bars", "bar", 9)):
        with page.expect_download() as waiting:
            page.locator(f".drawing:has(#{name}) .save[data-kind=svg]").click()
        text = waiting.value.path().read_text(encoding="utf-8")
        root = ElementTree.fromstring(text)
        assert len([x for x in root.iter() if x.get("class") == shape]) == count
        assert "var(" not in text
        with page.expect_download() as waiting:
            page.locator(f".drawing:has(#{name}) .save[data-kind=png]").click()
        assert len(Image.open(waiting.value.path()).convert("RGB").getcolors(1 << 20)) > 10


def test_a_telephone_shows_the_board_without_scrolling_sideways(folder, browser):
    page = open_page(browser, folder / "index.html", viewport={"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
