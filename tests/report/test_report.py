"""The HTML report: content, counts, and the view of a pair of languages."""

import json
import re
import shutil
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from polyprobe.analysis.compare.runs import compare_runs
from polyprobe.analysis.figures.figures import HEADLINE, HEADLINE_PAIRS, SECOND_RANKINGS
from polyprobe.metrics.pictures.picture import Heat
from polyprobe.report.finding import Cell, Drawing, Finding, Part
from polyprobe.report.findings.run import make_languages_table, rank_floors
from polyprobe.report.page import write_report
from polyprobe.report.page.page import write_finding
from polyprobe.report.page.parts import make_pairs_table
from polyprobe.schema.load import load_facts
from polyprobe.system.messages import PolyprobeError
from tests.making.browser import open_page
from tests.making.facts import write_facts
from tests.making.reader import Reader
from tests.making.runs import COUNTS, SCORES, write_run
from tests.making.waiting import PATIENCE

MEASURES = {
    figure.name: figure.title for figure in HEADLINE_PAIRS if figure.input is not SECOND_RANKINGS
}


def read_page(file):
    reader = Reader(file.read_text(encoding="utf-8"))
    return reader, json.loads(reader.scripts[0])["runs"]


def report(tmp_path, *folders):
    write_report(list(folders), tmp_path / "report.html")
    return read_page(tmp_path / "report.html")


def read_maps(reader):
    """Return measure → (values, intervals) of the heat maps of each run, and of each difference."""
    maps = []
    for figure in json.loads(reader.scripts[0])["heats"].values():
        views = figure["views"]
        for view in views:
            whole = views[view.get("source", views.index(view))]
            maps.append((view["measure"], whole["values"], whole["details"]))
    return maps


def check_maps(reader, run):
    results, maps = run.read_results(), read_maps(reader)
    for name, title in MEASURES.items():
        bounds = [results["intervals"][name][pair] for pair in results[name]]
        details = [f" ({low:z.3f} to {high:z.3f})" for low, high in bounds]
        values = [pytest.approx(value, rel=1e-4) for value in results[name].values()]
        assert (title, values, details) in maps


def test_the_real_page_loads_nothing_and_holds_the_results(tmp_path, run):
    reader, runs = report(tmp_path, run.folder)
    assert reader.loaded == []
    assert reader.addresses == []
    assert "default-src 'none'" in (tmp_path / "report.html").read_text(encoding="utf-8")[:400]
    check_maps(reader, run)
    assert [part["counts"] for part in runs] == [[list(COUNTS[p]) for p in COUNTS]]
    assert (tmp_path / "report.html").stat().st_size < 100_000


def test_a_run_of_the_first_rows_shows_those(tmp_path, facts):
    picked = {language: values[:3] for language, values in SCORES.items()}
    run = write_run(tmp_path / "run", facts, picked, rows=3)
    reader, (part,) = report(tmp_path, run.folder)
    assert part["total"] == 3
    assert {fact["id"] for fact in part["facts"]} == {"P36:C0:0", "P36:C1:1", "P36:C2:2"}
    assert "limit 3" in " ".join(reader.under("answer"))


def test_the_answer_is_at_the_top(tmp_path, run):
    reader, _ = report(tmp_path, run.folder)
    mean = run.read_results()["mean"]
    # ties in expectation: ru 5 + 1/2 correct of 8; zh_hans 2, its tie in fact 2 lacks the answer
    accuracy = (8 / 8 + 5.5 / 8 + 2 / 8) / 3
    chance = (1 / 4 + 1 / 2) / 2
    answer = " ".join(reader.under("answer"))
    assert f"{accuracy:.3f} of 8 facts right, averaged over 3 languages" in answer
    assert f"(chance: {chance:.3f})" in answer
    assert f"{mean['rankc_adjusted']:.3f}" in answer
    assert answer.startswith("synthetic on facts/default gets")
    assert reader.under("signature") == [run.settings().signature]


def made_results(languages, values):
    pairs = ["-".join(pair) for pair in combinations(languages, 2)]
    return {
        "signature": "s",
        "languages": list(languages),
        "n_queries": 3,
        "accuracy": dict.fromkeys(languages, 0.5),
        **{key: dict(zip(pairs, values, strict=True)) for key in MEASURES},
        "chance": {"accuracy": 0.25, "rankc": 0.3},
        "mean": dict.fromkeys(("accuracy", *MEASURES), 0.5),
        "left_out": {"rankc_adjusted": 0, "coverlap": 0},
        "intervals": {},
    }


@pytest.mark.parametrize(
    ("languages", "most", "least"),
    [("ab", 1, 0), ("abc", 2, 1), ("abcdef", 8, 7), ("abcdefg", 10, 10)],
)
def test_the_ten_pairs_are_the_sorted_values(languages, most, least):
    count = len(languages) * (len(languages) - 1) // 2
    values = [float(v) for v in np.random.default_rng(5).permutation(count) / 100]
    table = make_pairs_table(made_results(languages, values))
    names = dict(zip(combinations(languages, 2), values, strict=True))
    ranked = sorted(values, reverse=True)
    assert [row[1] for row in table.rows] == [*ranked[:most], *(ranked[-least:] if least else [])]
    assert table.rows[0][0] == " – ".join(max(names, key=names.get))
    assert table.rows[-1][0] == " – ".join(min(names, key=names.get))


def test_accuracies_that_frequent_answers_reach_are_marked():
    results = made_results("ab", [0.5])
    results["floors_by_place"] = {"frequency": {"accuracy": {"a": 0.4, "b": 0.4}}}
    results["intervals"] = {"accuracy": {"a": [0.3, 0.6], "b": [0.5, 0.7]}}
    table = make_languages_table(results)
    shown = [(row[0], row[1], row[-1]) for row in table.rows[:2]]
    assert shown == [("a", Cell(0.5, low=True), [0.3, 0.6]), ("b", Cell(0.5), [0.5, 0.7])]
    assert (table.columns[1].head, table.columns[-1].head) == ("accuracy", "95% of accuracy")


@pytest.mark.parametrize("how", ["gone", "changed"])
def test_without_the_dataset_there_are_numbers_for_texts(tmp_path, facts, run, how):
    shutil.rmtree(facts)
    if how == "changed":
        write_facts(facts, lambda _, made: [r._replace(prompt=f"! {r.prompt}") for r in made])
    reader, (part,) = report(tmp_path, run.folder)
    check_maps(reader, run)
    ranking = [[1, 0, None, 2.0], [2, 1, None, -1.0], [3, 2, None, -2.0], [4, 3, None, -3.0]]
    fact = {fact["id"]: fact for fact in part["facts"]}["P36:C3:3"]
    assert fact["rows"][1] == [None, ranking, 1, 0]
    assert fact["right"] == [3]
    reason = "no dataset" if how == "gone" else "has changed since the run"
    assert "not at hand" in part["note"]
    assert reason in part["note"]


def test_two_runs_are_side_by_side(tmp_path, run, other):
    reader, parts = report(tmp_path, run.folder, other.folder)
    for each in (run, other):
        check_maps(reader, each)
    assert [p["name"] for p in parts] == ["synthetic (run)", "synthetic (other)"]
    means = [r.read_results()["mean"] for r in (run, other)]
    head, rows = read_table(tmp_path / "report.html", "figure")
    names = ["synthetic (run)", "synthetic (other)"]
    assert head == ["figure", *names]
    for figure in HEADLINE[0], *HEADLINE_PAIRS:
        if figure.input is not SECOND_RANKINGS:
            shown = [re.match(r"[\d.]+", cell)[0] for cell in rows[figure.title][:2]]
            assert shown == [f"{mean[figure.name]:.3f}" for mean in means]
    assert means[0] != means[1]
    assert any("differ in languages" in note for note in reader.under("note"))


def read_table(file, first, column=""):
    """Return head and rows, by their first cell, of the table whose head begins so."""
    text = re.sub("</?small>", "", file.read_text(encoding="utf-8"))
    tables = re.findall(r"<table[^>]*>(.*?)</table>", text, re.DOTALL)
    lines = [re.findall(r"<tr[^>]*>(.*?)</tr>", table, re.DOTALL) for table in tables]
    cells = [
        [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line, re.DOTALL) for line in table]
        for table in lines
    ]
    head, *rows = next(x for x in cells if x[0][0] == first and {column} - {""} <= {*x[0]})
    return head, {row[0]: row[1:] for row in rows}


def test_one_language_has_no_pairs(tmp_path, facts):
    run = write_run(tmp_path / "run", facts, {"en": SCORES["en"]})
    reader, (part,) = report(tmp_path, run.folder)
    assert "1.000 of 8 facts right, in one language" in " ".join(reader.under("answer"))
    assert part["counts"] == []
    assert "Examples for two languages" not in reader.text


def test_a_report_has_the_ending_of_its_format(tmp_path):
    with pytest.raises(PolyprobeError, match=r"r\.pdf: expected a name that ends in \.html"):
        write_report([tmp_path / "run"], tmp_path / "r.pdf")  # before any run is read


def test_two_runs_have_the_tests_of_their_differences(tmp_path, run, other):
    reader, _ = report(tmp_path, run.folder, other.folder)
    found = compare_runs(run, other, test="randomisation", n_resamples=10_000, clusters="subject")
    _, rows = read_table(tmp_path / "report.html", "figure", "Δ")
    for name, title in (("accuracy", "accuracy"), ("rankc", "RankC")):
        mean = found.differences[name][-1]
        low, high = mean.ci
        values = [f"{x:z.3f}" for x in (mean.first, mean.second, mean.difference)]
        expected = [*values, f"{low:z.3f} to {high:z.3f}", f"{mean.p_adjusted:.2g}"]
        assert rows[f"{title} mean"] == expected
    (pair,) = found.differences["rankc"][:-1]
    details = f" ({pair.ci[0]:z.3f} to {pair.ci[1]:z.3f}), p = {pair.p_adjusted:.2g}"
    value = pytest.approx(pair.difference, rel=1e-4)
    assert ("RankC, difference", [value], [details]) in read_maps(reader)
    assert "excluded (only in one run): languages zh_hans" in reader.text


def test_runs_without_a_common_fact_have_a_note_instead(tmp_path, run):
    facts = write_facts(
        tmp_path / "others", lambda _, made: [r._replace(fact_id=f"x{r.fact_id}") for r in made]
    )
    other = write_run(tmp_path / "other", facts, SCORES)
    reader, _ = report(tmp_path, run.folder, other.folder)
    assert "not compared: " in reader.text
    assert not any("difference" in measure for measure, *_ in read_maps(reader))


@pytest.mark.acceptance
def test_twelve_languages_fit_into_two_megabytes(tmp_path):
    random = np.random.default_rng(0)
    languages = ["en", "es", "ru", "ar", "zh", "hi", "el", "hy", "ka", "ko", "ta", "th"]
    tables = load_facts("geofacts", None, languages)
    made = {
        x: [random.normal(size=len(row)).tolist() for row in table["candidates"].to_pylist()]
        for x, table in tables.items()
    }
    run = write_run(tmp_path / "run", "geofacts", made)
    write_report([run.folder, run.folder], tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 2_000_000
    assert "continent" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_browser_shows_the_pair_of_the_address(tmp_path, run, browser):
    write_report([run.folder], tmp_path / "report.html")
    page = open_page(browser, tmp_path / "report.html", "0/zh_hans/ru")
    reader = Reader(page.locator("#examples").evaluate("element => element.outerHTML"))
    rankc = run.read_results()["rankc"]["ru-zh_hans"]
    assert f"RankC {rankc:.3f}" in reader.under("values")[0]
    assert reader.under("values")[0].startswith("Chinese (simplified) (zh_hans) – Russian (ru): ")
    assert [text for _, tag, text in reader.texts if tag == "h4"] == [
        "Same answer: 4 of 8 facts (2 right, 2 wrong)",
        "Different answers: 2 of 8 facts",
        "Tie for the best score: 2 of 8 facts",
    ]
    assert page.locator("#examples-of").inner_text().startswith("Examples from 8 of 8 facts")
    first = page.locator(".agree .ranking li:first-child bdi").all_inner_texts()
    # facts 1 and 6, both correct; 3 and 4, both wrong
    best = ["柏林", "Берлин", "罗马", "Рим", "巴黎", "Париж", "柏林", "Берлин"]
    assert sorted(first) == sorted(best)
    right = page.locator(".agree .ranking .is-right").all_inner_texts()
    assert len(right) == len(first)
    assert all("✓" in text for text in right)
    assert page.locator(".tied .tie").all_inner_texts()[0] == "model: tie between 2 candidates"


def test_a_browser_finds_a_fact_by_words_and_by_its_address(tmp_path, run, browser):
    write_report([run.folder], tmp_path / "report.html")
    page = open_page(browser, tmp_path / "report.html", "0/zh_hans/ru")
    facts = page.locator("#examples .fact > .soft")
    assert len(facts.all()) > 2
    page.fill("#words", "P36:C3:3")
    assert facts.all_inner_texts() == ["P37 · P36:C3:3"]
    address = facts.locator("a").get_attribute("href")
    assert address == "#0/zh_hans/ru/P36%3AC3%3A3"
    page.fill("#words", "no such word")
    assert facts.all_inner_texts() == []
    again = open_page(browser, tmp_path / "report.html", address[1:])
    assert again.locator("#examples .fact > .soft").all_inner_texts() == ["P37 · P36:C3:3"]


def test_floors_that_reach_the_figure_are_marked():
    results = made_results("ab", [0.5])
    floors = {"frequency": 0.45, "majority": 0.3, "length": 0.6}
    results["floors"] = {name: {"accuracy": level} for name, level in floors.items()}
    results["intervals"] = {"mean": {"accuracy": [0.4, 0.6]}}
    found = {name: (cell.value, cell.low) for name, cell in rank_floors(results, HEADLINE[0])}
    expected = {"length": 0.6, "frequency": 0.45, "majority": 0.3, "chance": 0.25}
    assert [*found.items()] == [(x, (y, y >= 0.4)) for x, y in expected.items()]
    results["intervals"]["mean"]["accuracy"] = [0.61, 0.7]
    assert not any(cell.low for _, cell in rank_floors(results, HEADLINE[0]))


def read_tip(page, selector):
    return page.locator(selector).evaluate("cell => cell.querySelector('title').textContent")


def test_a_browser_draws_bars_and_cells(tmp_path, run, browser):
    expect = pytest.importorskip("playwright.sync_api").expect
    write_report([run.folder], tmp_path / "report.html")
    page = open_page(browser, tmp_path / "report.html")
    assert page.locator("#accuracy .bars rect").count() == 3
    assert "chance 0.375" in page.locator("#accuracy text").all_text_contents()
    assert page.locator("#rankc_adjusted .cells path").count() == 9
    page.select_option("select[data-label=order]", "given")
    page.select_option("#labels", "codes")
    for axis in ("rows", "columns"):
        codes = page.locator(f"#rankc_adjusted g.{axis} text").all_text_contents()
        assert codes == ["en", "ru", "zh_hans"]
    assert page.locator("#rankc_adjusted .mark").get_attribute("visibility") == "visible"
    cell = "#rankc_adjusted [data-pair='en/ru']"
    value = run.read_results()["rankc_adjusted"]["en-ru"]  # before raw RankC
    assert f"adjusted RankC {value:.3f}" in read_tip(page, cell)
    page.locator(cell).click()
    assert page.url.endswith("#0/en/ru")
    page.locator("summary", has_text="most and least consistent").click()
    page.locator("a[href='#0/ru/zh_hans'], a[href='#0/en/zh_hans']").first.click()
    # not `wait_for_function`, whose polling the page's policy of contents refuses
    expect(page.locator("#second")).to_have_value("zh_hans", timeout=1000 * PATIENCE)


def test_a_difference_is_shown_and_significant_cells_are_framed(tmp_path, facts, browser):
    wrong = {x: [[*row[::-1]] for row in rows] for x, rows in SCORES.items()}
    runs = [
        write_run(tmp_path / name, facts, values) for name, values in (("a", SCORES), ("b", wrong))
    ]
    pictures = write_report([run.folder for run in runs], tmp_path / "report.html")
    page = open_page(browser, tmp_path / "report.html")
    page.select_option("select[data-label=show]", "synthetic (a) − synthetic (b)")
    for name, title in MEASURES.items():
        page.select_option("select[data-label=measure]", title)
        framed = pictures[f"{name}-1-2"].squares["p < 0.05"]
        chosen = 2  # the cells of the chosen pair
        frames = page.locator("#rankc_adjusted-1 .frames path").count()
        assert frames == len(framed) + chosen
    assert "p = " in read_tip(page, "#rankc_adjusted-1 [data-pair='en/ru']")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_picture_is_saved_as_svg_and_png(tmp_path, run, browser, scheme):
    write_report([run.folder], tmp_path / "report.html")
    page = open_page(browser, tmp_path / "report.html", color_scheme=scheme)
    for name in ("accuracy", "rankc_adjusted", "reliability-en"):
        with page.expect_download() as waiting:
            page.locator(f".drawing:has(#{name}) .save[data-kind=svg]").click()
        assert waiting.value.suggested_filename == f"{name}.svg"
        text = waiting.value.path().read_text(encoding="utf-8")
        root = ElementTree.fromstring(text)
        assert "var(" not in text
        assert ("#14171b" in text) == (scheme == "dark")  # the background
        with page.expect_download() as waiting:
            page.locator(f".drawing:has(#{name}) .save[data-kind=png]").click()
        assert waiting.value.suggested_filename == f"{name}.png"
        image = Image.open(waiting.value.path())
        assert image.size == tuple(2 * int(float(root.get(x))) for x in ("width", "height"))
        back = (20, 23, 27) if scheme == "dark" else (255, 255, 255)
        assert image.convert("RGB").getpixel((1, 1)) == back
        assert len(image.convert("RGB").getcolors(1 << 20)) > 10  # not blank


def test_a_telephone_and_a_screen_show_the_page_without_scrolling(tmp_path, facts, run, browser):
    long = write_run(tmp_path / "other", facts, SCORES, model="a-model-with-a-rather-long-name")
    write_report([run.folder, long.folder], tmp_path / "report.html")
    page = open_page(browser, tmp_path / "report.html", viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page = open_page(browser, tmp_path / "report.html", viewport={"width": 1280, "height": 900})
    widths = page.evaluate(
        "[...document.querySelectorAll('.scroll')].filter((x) => !x.closest('details'))"
        ".map((x) => [x.scrollWidth, x.clientWidth])"
    )
    assert len(widths) > 3
    assert all(scrolled <= shown for scrolled, shown in widths)


def test_sorted_floors_stay_below_their_figure(tmp_path, run, browser):
    write_report([run.folder], tmp_path / "report.html")
    page = open_page(browser, tmp_path / "report.html")
    table = page.locator("table").first

    def list_blocks():
        names = table.locator("tbody td:first-child").all_inner_texts()
        return [x.split("\n") for x in "\n".join(names).replace("\n—\u00a0", "\t").split("\n")]

    blocks = list_blocks()
    assert any("\t" in name for [name] in blocks)
    table.locator("th button").first.click()
    assert list_blocks() == sorted(blocks, key=lambda block: block[0].split("\t")[0].lower())


@pytest.mark.parametrize("shift", [-300, 0])
def test_the_scale_of_a_page_is_that_of_the_picture(tmp_path, browser, shift):
    values = np.array([[np.nan, 0.25], [0.75, np.nan]]) + shift
    heat = Heat("distances", ["en", "ru"], ["en", "ru"], values, "km")
    finding = Finding("maps", [Part("Maps", [], [Drawing("km-map", heat)])])
    write_finding(finding, tmp_path / "page.html")
    page = open_page(browser, tmp_path / "page.html")
    ends = [page.locator(f".scale .{name}").text_content() for name in ("low", "high")]
    assert ends == [f"{shift + 0.25:.2f}", f"{shift + 0.75:.2f}"]
