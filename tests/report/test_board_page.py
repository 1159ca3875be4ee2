"""The page of a board and its folder; what a browser does with it."""

import re

import numpy as np
import pytest

from polyprobe.analysis.board import FILES
from polyprobe.analysis.board.board import make_board
from polyprobe.report.findings.board import write_models
from polyprobe.report.page.runs import write_board
from polyprobe.schema.locate import read_card
from polyprobe.system.messages import PolyprobeError
from tests.making.boards import BLOOM, TABLE_5, write_table_5, write_typed
from tests.making.browser import open_page
from tests.making.facts import write_facts
from tests.making.reader import Reader
from tests.making.runs import SCORES, write_run

BY_ACCURACY = sorted(TABLE_5, key=lambda model: -TABLE_5[model][1])


@pytest.fixture
def folder(tmp_path):
    write_board(make_board(write_table_5(tmp_path / "runs")), tmp_path / "board")
    return tmp_path / "board"


def read(folder):
    return Reader((folder / "index.html").read_text(encoding="utf-8"))


def read_names(reader):
    cells = [text for _, tag, text in reader.texts if tag == "td"]
    return list(dict.fromkeys(name for name in cells if name in TABLE_5))


def test_the_page_loads_nothing_and_has_all_models(folder):
    reader = read(folder)
    assert reader.loaded == []
    hub = "https://huggingface.co/datasets/someone/facts"
    assert reader.addresses == ["board.csv", "board.tex", hub]
    assert read_names(reader) == BY_ACCURACY
    assert "9 models on someone/facts/17" in " ".join(reader.under("answer"))
    assert reader.under("note") == ["Choices and examples need JavaScript."]


def test_the_folder_is_a_static_space(folder, tmp_path):
    assert {path.name for path in folder.iterdir()} == {*FILES}
    card = read_card(folder / "README.md")
    assert (card["sdk"], card["app_file"], card["license"]) == (
        "static",
        "index.html",
        "apache-2.0",
    )
    assert card["title"] == "9 models on someone/facts/17"
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert "| BLOOM-7.1b | 0.278 | 0.263 | 7.1B |" in text
    assert "| RankC | +0.0087 | +0.0068 to +0.0106 | 0.993 | 5 |" in text
    board = make_board([*(tmp_path / "runs").iterdir()])
    for name in ("board.csv", "board.tex"):
        assert (folder / name).read_text(encoding="utf-8") == write_models(board, name[-4:])


def test_a_board_replaces_a_board_and_nothing_else(folder, tmp_path):
    runs = [*(tmp_path / "runs").iterdir()][:4]
    write_board(make_board(runs), folder)
    assert "4 models on" in " ".join(read(folder).under("answer"))
    (folder / "board.json").unlink()
    with pytest.raises(PolyprobeError, match=r"is not empty and holds no board.json"):
        write_board(make_board(runs), folder)


def test_equal_boards_have_equal_bytes_and_the_date_of_a_reproducible_build(folder, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86399")
    board = make_board([*(folder.parent / "runs").iterdir()])
    for name in ("first", "second"):
        write_board(board, folder.parent / name)
    for name in FILES:
        first, second = ((folder.parent / x / name).read_bytes() for x in ("first", "second"))
        assert first == second
    assert "Written on 1970-01-01." in " ".join(read(folder.parent / "first").under("answer"))


def test_differences_are_on_the_page_and_in_the_tables(tmp_path):
    figures = {"accuracy": {"en": 0.5}}
    runs = [
        write_typed(tmp_path / "a", "a", figures),
        write_typed(tmp_path / "b", "b", figures, scoring="object", dtype="float16"),
    ]
    write_board(make_board(runs, despite=True), tmp_path / "board")
    reader = read(tmp_path / "board")
    assert "object" in [text for _, tag, text in reader.texts if tag == "td"]
    assert "not comparable: the runs differ in scoring" in reader.under("note")
    assert any("the runs also differ in dtype: float32, float16" in x for x in reader.under("hint"))
    for name in ("README.md", "board.csv", "board.tex"):
        assert "object" in (tmp_path / "board" / name).read_text(encoding="utf-8")


def names(page):
    return page.locator(".table").first.locator("tbody tr:visible td:first-child").all_inner_texts()


def heading(page, name):
    return page.locator(".sort").filter(has_text=re.compile(f"^{name}$")).first


def test_a_browser_sorts_by_any_column(folder, browser):
    page = open_page(browser, folder / "index.html")
    assert names(page) == BY_ACCURACY
    heading(page, "RankC").click()
    by_rankc = sorted(TABLE_5, key=lambda model: -TABLE_5[model][0])
    assert names(page) == by_rankc
    heading(page, "RankC").click()
    assert names(page) == by_rankc[::-1]
    heading(page, "size").click()
    heading(page, "size").click()
    assert names(page)[:5] == [f"BLOOM-{size}" for size in BLOOM]  # unknown sizes are last
    heading(page, "model").click()
    assert names(page) == sorted(TABLE_5, key=str.lower)
    assert page.locator("[aria-sort=ascending]").inner_text().startswith("model")


def test_a_browser_shows_figures_over_the_size(folder, browser):
    page = open_page(browser, folder / "index.html")
    titles = page.locator(".figure:visible svg > text").all_text_contents()
    assert any("+0.0186 per doubling" in title for title in titles)
    size = page.locator(".figure[id$=-size]:visible")
    assert size.locator(".points circle").count() == 5
    assert size.locator(".fitted").count() == 1
    assert page.locator("#accuracy .bars rect").count() == 9
    assert page.locator("#rankc-accuracy .points circle").count() == 9


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
    first = page.locator(".table").first.locator("tbody tr").first.locator("td:visible")
    bounds = results[0]["intervals"]["mean"]["accuracy"]
    text = first.nth(1).inner_text()
    assert text.startswith(f"{results[0]['mean']['accuracy']:.3f} ± ")
    assert text.endswith(f"\n{bounds[0]:.3f} to {bounds[1]:.3f}")
    page.locator("summary", has_text="Columns").first.click()
    page.locator(".switch label", has_text=re.compile("^ ?mean rank$")).first.locator(
        "input"
    ).check()
    heading(page, "mean rank").click()
    heading(page, "mean rank").click()  # the lowest first
    ranks = [np.mean([x["mean_rank"] for x in one["recall_at_k"].values()]) for one in results]
    assert names(page) == [*(["one", "two"][i] for i in np.argsort(ranks)), "floor"]
    part = page.locator("details", has=page.locator("summary", has_text=re.compile("^RankC$")))
    part.locator("summary").first.click()
    heads = part.locator("th").all_inner_texts()
    assert [re.sub(r"\W", "", head) for head in heads] == ["model", "mean", "en", "ru", "zh_hans"]
    rankc = results[0]["rankc"]
    row = part.locator("tbody tr", has_text="one").locator("td").all_inner_texts()
    assert row[2] == f"{(rankc['en-ru'] + rankc['en-zh_hans']) / 2:.3f}"


def test_a_browser_shows_a_language_in_place_of_the_means(tmp_path, browser):
    runs = []
    for name, values in {"one": (0.2, 0.6), "two": (0.5, 0.1)}.items():
        figures = {"accuracy": dict(zip(("en", "fr"), values, strict=True))}
        runs.append(write_typed(tmp_path / name, name, figures))
    write_board(make_board(runs), tmp_path / "board")
    page = open_page(browser, tmp_path / "board" / "index.html")

    def read():
        cells = page.locator(".table").first.locator("tbody td:nth-child(3)")
        bars = "all => all.map((x) => Number(x.style.getPropertyValue('--bar')))"
        return cells.all_inner_texts(), cells.evaluate_all(bars)

    language = page.locator("label", has_text="language").locator("select")
    assert read() == (["0.400", "0.300"], [1, pytest.approx(0.75)])
    language.select_option("en")
    assert read() == (["0.200", "0.500"], [pytest.approx(0.4), 1])
    language.select_option("all")
    assert read()[0] == ["0.400", "0.300"]


@pytest.mark.parametrize(
    ("model", "revision", "is_link"),
    [
        ("owner/a-model.1", "0f" * 20, True),
        ("owner/a-model.1", "sha256-" + "0f" * 20, False),  # a folder
        ("owner/a/b", "0f" * 20, False),
        ("../name", "0f" * 20, False),
        ('owner/"><b>', "0f" * 20, False),
        ("javascript:alert/1", "0f" * 20, False),
    ],
)
def test_models_of_the_hub_are_links(tmp_path, model, revision, is_link):
    run = write_typed(tmp_path / "run", model, {"accuracy": {"en": 0.5}}, revision=revision)
    write_board(make_board([run]), tmp_path / "board")
    links = [x for x in read(tmp_path / "board").addresses if "datasets" not in x]
    hub = [f"https://huggingface.co/{model}"] if is_link else []
    assert links == ["board.csv", "board.tex", *hub]
