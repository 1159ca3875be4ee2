"""What a reader sees of reports and boards, measured in Chromium on a desktop and on a phone."""

import pytest

from polyprobe.analysis.board.board import make_board
from polyprobe.analysis.options import Bootstrap
from polyprobe.report.page import write_report
from polyprobe.report.page.runs import write_board
from polyprobe.schema.load import load_facts
from tests.making.boards import write_many, write_table_5
from tests.making.browser import open_page
from tests.making.runs import make_random_run, write_run

TWELVE = ["en", "es", "ru", "ar", "zh", "hi", "el", "hy", "ka", "ko", "ta", "th"]
WIDTHS = {"desktop": 1280, "phone": 390}
# The boxes of a picture's texts on the screen, and of pieces of its lines and points.
MEASURE = """svg => {
  const box = (x) => { const b = x.getBoundingClientRect();
    return [b.left, b.top, b.right, b.bottom, x.textContent]; };
  const pick = (selector) => [...svg.querySelectorAll(selector)].filter((x) =>
    x.getBoundingClientRect().width + x.getBoundingClientRect().height > 0 &&
    getComputedStyle(x).visibility !== "hidden");
  const few = pick(".points circle").length <= 15; // as LINED
  const pieces = pick(`path[stroke-dasharray], path.mark${few ? ", path.whiskers" : ""}`)
    .flatMap((path) => [...Array(200).keys()].map((i) => {
      const at = path.getPointAtLength((i / 199) * path.getTotalLength());
      const { x, y } = at.matrixTransform(path.getScreenCTM());
      return [x - 1, y - 1, x + 1, y + 1, "line"];
    }));
  return { whole: box(svg), texts: pick("text").map(box),
    others: [...pick(".points circle").map(box), ...pieces] };
}"""
# Heights of the two columns of each group of parts that stand side by side.
COLUMNS = """main => {
  const groups = [{}];
  for (const part of main.children) {
    if (!part.matches("section:not(.wide)")) { groups.push({}); continue; }
    const { left, height } = part.getBoundingClientRect();
    groups.at(-1)[left] = (groups.at(-1)[left] ?? 0) + height;
  }
  return groups.map(Object.values).filter((heights) => heights.length > 1);
}"""


def make_runs(folder, count, languages=TWELVE[:3]):
    """Write runs of random scores of geofacts, with other rankings of other subjects."""
    for seed in range(count):
        make_random_run(folder / f"run{seed}", languages, seed, 60)
    return sorted(folder.iterdir())


def make_large_run(folder):
    """Write a run of all languages of geofacts, with rankings of other subjects."""
    import numpy as np

    tables, draw = load_facts("geofacts"), np.random.default_rng(0)
    sizes = [len(row) for row in next(iter(tables.values()))["candidates"].to_pylist()]
    scores, others = (
        {x: [draw.normal(size=size).tolist() for size in sizes] for x in tables} for _ in range(2)
    )
    run = write_run(folder, "geofacts", scores, bootstrap=Bootstrap(0), donor_scores=others)
    return [run.folder]


REPORTS = {
    "one run": lambda folder: make_runs(folder, 1),
    "comparison": lambda folder: make_runs(folder, 2),
    "three runs": lambda folder: make_runs(folder, 3),
    "twelve languages": lambda folder: make_runs(folder, 1, TWELVE),
    "51 languages": lambda folder: make_large_run(folder / "run"),
}
BOARDS = {
    "one model": lambda folder: make_runs(folder, 1),
    "three models": lambda folder: make_runs(folder, 3),
    "nine models": write_table_5,
    "30 models": write_many,
}


@pytest.fixture(scope="module", params=[*REPORTS, *BOARDS])
def file(request, tmp_path_factory):
    """A report or a board."""
    folder = tmp_path_factory.mktemp("page")
    name = request.param
    if name in REPORTS:
        write_report(REPORTS[name](folder / "runs"), folder / "index.html")
    else:
        write_board(make_board(BOARDS[name](folder / "runs")), folder / "board")
    return folder / ("index.html" if name in REPORTS else "board/index.html")


@pytest.fixture(params=WIDTHS)
def page(request, file, browser):
    page = open_page(
        browser,
        file,
        viewport={"width": WIDTHS[request.param], "height": 900},
        color_scheme="dark" if file.parent.name == "board" else "light",
    )
    yield page
    page.close()


def overlap(first, second, room=0.5):
    return (
        min(first[2], second[2]) - max(first[0], second[0]) > room
        and min(first[3], second[3]) - max(first[1], second[1]) > room
    )


@pytest.mark.acceptance
def test_labels_are_whole_and_cover_nothing(page):
    for svg in page.locator(".figure svg:visible").all():
        seen = svg.evaluate(MEASURE)
        left, top, right, bottom, _ = seen["whole"]
        for i, x in enumerate(seen["texts"]):
            assert min(x[0] - left, x[1] - top, right - x[2], bottom - x[3]) > -1, x
            # the box of a text is higher than its letters
            assert [y for y in seen["texts"][:i] if overlap(x, y, 2.5)] == [], x
            assert [y for y in seen["others"] if overlap(x, y, 1.5)] == [], x


def list_boxes(page, selector):
    boxes = page.locator(selector).evaluate_all(
        "all => all.map((x) => x.getBoundingClientRect()).filter((b) => b.width)"
    )
    return [(box["left"], box["right"]) for box in boxes]


@pytest.mark.acceptance
def test_what_a_reader_came_for_is_on_the_screen(page, file):
    wide = page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= wide
    tables = list_boxes(page, "section:first-of-type .table")
    cells = list_boxes(page, "section:first-of-type > .table :is(th, td)")
    assert len(tables) >= 1
    assert len(cells) >= 6
    small = list_boxes(page, ".figure:not(.large) svg")
    for left, right in [*cells, *small]:
        assert left >= 0
        assert right <= wide
    assert all(right <= wide for _, right in list_boxes(page, ".scroll"))
    if wide > 1000 and file.parent.name != "board":
        groups = page.locator("main").evaluate(COLUMNS)
        assert groups
        for heights in groups:
            assert min(heights) > 0.5 * max(heights), heights
