"""Names of strangers on the pages of a run and of a board: text, never elements or handlers."""

from html.parser import HTMLParser

import pytest

from polyprobe.analysis.board.board import make_board
from polyprobe.analysis.figures.compute import compute_results
from polyprobe.analysis.options import Bootstrap
from polyprobe.report.page import write_report
from polyprobe.report.page.runs import write_board
from polyprobe.schema.run.folder import Run
from tests.making.browser import open_page
from tests.making.facts import write_facts
from tests.making.runs import SCORES, reseal, write_run

HOSTILE = {
    "script": "</script><script>document.title='pwned'</script>",
    "image": "<img src=x onerror=\"document.title='pwned'\">",
    "attribute": "\" onmouseover=\"document.title='pwned'\" x='",
    "comment": "--><svg onload=\"document.title='pwned'\"><!--",
    "template": "{{ 7 * 7 }}${document.title='pwned'}{% raw %}",
    "style": "</style></title></svg><iframe srcdoc='<script>1</script>'>",
    "terminal": "\x1b]0;pwned\x07\u202e\u2028</textarea><a href=javascript:alert(1)>",
}
PLACES = ("model", "server", "relation", "prompt", "candidate", "fact")
ALL = "all places"


class Structure(HTMLParser):
    """The elements of a page, each with the names of its attributes."""

    def __init__(self, file):
        super().__init__()
        self.elements = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        self.elements.add((tag, *sorted(name for name, _ in attributes)))


def write_pages(folder, text, place):
    """Write the report and the board of a run with the text in one or all of its names."""

    def spoil(language, rows):
        changes = {
            "relation": lambda row: {"relation": row.relation + text},
            "prompt": lambda row: {"prompt": row.prompt + text},
            "candidate": lambda row: {"candidates": [f"{x}{text}" for x in row.candidates]},
            "fact": lambda row: {"fact_id": row.fact_id + text},
        }
        names = [name for name in changes if place in (name, ALL)]
        for name in names:
            rows = [row._replace(**changes[name](row)) for row in rows]
        return rows

    run = write_run(folder / "run", write_facts(folder / "facts", spoil), SCORES)
    changes = {"model": f"owner/a{text}", "further": {"server": f"vllm-1{text}"}}
    places = {"model": "model", "server": "further"}
    reseal(run.folder, **{places[x]: changes[places[x]] for x in places if place in (x, ALL)})
    compute_results(Run(run.folder), Bootstrap(0))
    write_report([run.folder], folder / "report.html")
    write_board(make_board([run.folder]), folder / "board")
    return folder / "report.html", folder / "board" / "index.html"


@pytest.fixture(scope="module")
def elements(tmp_path_factory):
    pages = write_pages(tmp_path_factory.mktemp("plain"), "plain", ALL)
    return [Structure(page).elements for page in pages]


@pytest.mark.parametrize(
    "place", [ALL, *(pytest.param(x, marks=pytest.mark.acceptance) for x in PLACES)]
)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_name_adds_no_element_and_no_handler(text, place, elements, tmp_path):
    """7 texts in 6 places, and in all: 49 reports and 49 boards."""
    for page, of_plain in zip(write_pages(tmp_path, text, place), elements, strict=True):
        assert Structure(page).elements <= of_plain


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_name_runs_in_a_browser(text, browser, tmp_path):
    for file in write_pages(tmp_path, text, ALL):
        page = open_page(browser, file)
        page.wait_for_load_state("load")
        assert page.title().startswith("polyprobe: ")
        assert page.evaluate("document.title") != "pwned"
        page.close()
