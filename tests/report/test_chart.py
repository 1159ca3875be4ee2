"""Points on a page: their places, their line and the file of the button, in a browser."""

import pytest
from PIL import Image

from polyprobe.metrics.pictures.elements import shorten
from polyprobe.report.page.page import HERE, make_environment
from tests.making.browser import open_page

POINTS = [
    {"x": 1e6, "y": 0.5, "tip": "one", "name": "en", "group": "Latn"},
    {"x": 4e6, "y": 0.75, "tip": "two", "name": "ru", "group": "Cyrl"},
    {"x": 16e6, "y": 0.5, "tip": "three", "name": "el", "group": "Latn"},
]


@pytest.fixture
def page(tmp_path, browser):
    drawing = make_environment().get_template("macros.html").module.drawing("points", "points")
    style, script = ((HERE / x).read_text("utf-8") for x in ("report.css", "chart.js"))
    text = f"<style>{style}</style><main>{drawing}</main><script>{script}</script>"
    (tmp_path / "page.html").write_text(f'<meta charset="utf-8">{text}', encoding="utf-8")
    return open_page(browser, tmp_path / "page.html", viewport={"width": 800, "height": 600})


def draw(page, points=POINTS, **axes):
    axes = {"x": "parameters", "y": "RankC", "line": None, "log2": False} | axes
    page.evaluate(
        "([points, axes]) => drawPoints(document.getElementById('points'), points, axes)",
        [points, axes],
    )


def read(page, selector, *names):
    return page.locator(f"#points {selector}").evaluate_all(
        "(all, names) => all.map((x) => names.map((name) => x.getAttribute(name)))", [*names]
    )


def read_points(page):
    rows = read(page, "circle.point", "cx", "cy", "fill", "data-tip")
    return [(float(x), float(y), *others) for x, y, *others in rows]


@pytest.mark.parametrize(("log2", "share"), [(True, 1 / 2), (False, 3 / 15)])
def test_points_are_in_proportion(page, log2, share):
    draw(page, log2=log2)
    one, two, three = read_points(page)
    assert (two[0] - one[0]) / (three[0] - one[0]) == pytest.approx(share)
    assert one[1] == three[1] > two[1]
    assert [colour for *_, colour, _ in (one, two, three)] == [
        f"var(--bar-{group})" for group in (0, 1, 0)
    ]
    texts = page.locator("#points text").all_text_contents()
    assert {"Latn", "Cyrl", "en", "ru", "el", "parameters", "RankC"} <= set(texts)


NUMBERS = [2**27, 7.1e9, 999_700_000, 2e12, 5_000, 0.25]


def test_short_numbers_are_rounded_before_their_unit_is_chosen():
    assert [*map(shorten, NUMBERS)] == ["134M", "7.1B", "1B", "2T", "5k", "0.25"]


def test_a_page_shortens_numbers_like_files(page):
    shown = page.evaluate("(numbers) => numbers.map((x) => shorten(x))", NUMBERS)
    assert shown == [*map(shorten, NUMBERS)]


def test_the_line_goes_through_its_points_and_stays_inside(page):
    # 0.125 · log2(x) - 2 is 0.5 at 2^20 and 0.75 at 2^22
    points = [POINTS[0] | {"x": 2**20}, POINTS[1] | {"x": 2**22}]
    draw(page, points, line=[0.125, -2], log2=True)
    (ends,) = read(page, "line.fitted", "x1", "y1", "x2", "y2")
    x1, y1, x2, y2 = map(float, ends)
    for x, y, *_ in read_points(page):
        assert y == pytest.approx(y1 + (x - x1) / (x2 - x1) * (y2 - y1))
    draw(page, points, line=[5, -104], log2=True)  # steep
    (ends,) = read(page, "line.fitted", "y1", "y2")
    height = float(read(page, "svg", "height")[0][0])
    assert all(0 < float(y) < height for y in ends)
    draw(page, [])
    assert page.locator("#points text").all_text_contents() == ["no values"]


def test_points_are_saved_as_png(page):
    draw(page)
    with page.expect_download() as waiting:
        page.locator(".save[data-kind=png]").click()
    assert waiting.value.suggested_filename == "points.png"
    size = Image.open(waiting.value.path()).size
    assert size == tuple(2 * float(x) for x in read(page, "svg", "width", "height")[0])
