"""Every Space in Chromium: the worked example, its plot, an error, a file; no external resources.

One app is started by `python app.py` in its bundle, the others as serve_spaces.py does.
"""

import csv
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing, suppress
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

import pytest

from polyprobe.publish.source import bundle
from tests.making.waiting import PATIENCE, wait_until
from tests.metrics.spaces import FIRST, METRICS, NAMES, RUN, E, write_table

playwright = pytest.importorskip("playwright.sync_api")
if not find_spec("gradio"):  # which takes seconds to import
    pytest.skip("gradio is not installed: no Space can be started", allow_module_level=True)

OFFLINE = {
    **{"GRADIO_ANALYTICS_ENABLED": "0", "HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1"},
    **{"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
}
ALONE = "rankc"
CLICK_PATIENCE = 30.0  # seconds; in CI one click of hundreds had no answer in ten minutes
BAD = {  # a table with one wrong cell, and the error message
    "accuracy_at_1": ("query,candidate,right,en\nq,a,1,x", "row 1, column 'en' is 'x'"),
    "answer_agreement": ("query,right,en,fr\nq,a,a,", "row 1, column 'fr' is empty"),
    "answer_match": ("language,question,right,answer\nen,q,,a", "row 1, column 'right' is empty"),
    "contrastive_knowledge": ("language,stem,fact,counterfacts\nen,s,.5,x", "row 1 has x"),
    "coverlap": ("query,right,en,fr\nq,,a,b", "row 1, column 'right' is empty"),
    "factual_accuracy": (
        "relation,prompt,right,single,prediction\nP1,p,a,7,a",
        "row 1, column 'single' is '7'",
    ),
    "factual_transfer": ("query,own,en,fr\nq,en,1,7", "row 1, column 'fr' is '7'"),
    "inflection_delta": ("relation,label,inflected\nP1,1,-2", "row 1, column 'inflected' is -2"),
    "paraphrase_consistency": ("relation,subject,right\nP1,s,a", "no column 'predictions'"),
    "rank_overlap": ("query,candidate,en\nq,a,1", "1 columns of languages; expected two or more"),
    "rankc": ("query,candidate,en,fr\nq,a,1,nan", "row 1, column 'fr' is 'nan'"),
    "rankc_subject": ("query,candidate,en,fr\nq,a,1,2", "no column 'en donor'; expected en donor"),
    "recall_at_k": ("query,candidate,right,en\nq,a,0,1", "no candidate of 'q' is correct"),
}
RUN_COLUMNS = {"fact_id": ["a", "b"], "answers": [[0], [0]]}
FILES = {  # name, table; expected headline
    "rankc": (
        {f"{lang}.parquet": {**RUN_COLUMNS, "scores": RUN[lang]} for lang in RUN},
        # the tops share 1 of 1, 1 of 2, 3 of 3; with two equal scores half of one, then both
        "rankc of en – es: "
        f"{((E**2 + E / 2 + 1) / (E**2 + E + 1) + (E / 2 + 1) / (E + 1)) / 2:.4f}",
    ),
    "accuracy_at_1": (
        {"t.csv": {"query": [1, 1], "candidate": ["a", "b"], "right": [1, 0], "en": [2, 2]}},
        f"accuracy_at_1 of en: {1 / 2:.4f}",
    ),
    "inflection_delta": (
        {"t.tsv": {"relation": ["P1", "P1"], "label": [4, 1], "inflected": [1, 2]}},
        f"inflection_delta of all relations (macro): {((4 - 1) + (1 - 2)) / 2:.4f}",
    ),
    "coverlap": (
        {"t.json": {"query": ["q", "r"], "right": ["a", "b"], "en": ["a", "b"], "fr": ["a", "a"]}},
        f"coverlap of en – fr: {1 / 2:.4f}",
    ),
}

pytestmark = [pytest.mark.slow, pytest.mark.acceptance]


def free_port():
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        return server.getsockname()[1]


@pytest.fixture(scope="module")
def addresses(tmp_path_factory):
    """Start all Spaces, one as a user would; return the address of each when it answers."""
    root = tmp_path_factory.mktemp("spaces")
    folders = {name: root / name / "app" for name in NAMES}  # so the Hub calls every folder
    for name, folder in folders.items():
        folder.parent.mkdir()
        bundle(METRICS / name, root / "bundles").rename(folder)
    ports = {name: free_port() for name in NAMES}
    env = {**os.environ, **OFFLINE, "GRADIO_TEMP_DIR": str(root / "uploads")}
    server = Path(__file__).with_name("serve_spaces.py")
    others = [f"{folders[name]}={port}" for name, port in ports.items() if name != ALONE]
    alone = {**env, "GRADIO_SERVER_PORT": str(ports[ALONE])}
    log = root / "log"
    started = [
        start([sys.executable, str(server), *others], root, env, log),
        start([sys.executable, "app.py"], folders[ALONE], alone, log),
    ]
    try:
        for name, port in ports.items():
            wait_for(name, port, started, log)
        yield {name: f"http://127.0.0.1:{port}/" for name, port in ports.items()}
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def start(command, folder, env, log):
    """Start a process in a new group, which can be ended with its children."""
    with log.open("a") as output:
        return subprocess.Popen(
            command, cwd=folder, env=env, stdout=output, stderr=output, start_new_session=True
        )


def wait_for(name, port, processes, log):
    """Wait until a Space accepts connections."""
    for _ in range(3000):
        with suppress(OSError), closing(socket.create_connection(("127.0.0.1", port))):
            return
        assert all(process.poll() is None for process in processes), log.read_text()
        time.sleep(0.1)
    pytest.fail(f"{name} does not answer:\n{log.read_text()}")


@pytest.fixture
def page(browser):
    """A page without errors and without requests to servers other than the Space."""
    page, complaints = browser.new_page(), []
    page.set_default_timeout(1000 * PATIENCE)
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.append(request.url) if foreign(request) else None)
    yield page
    page.close()
    assert complaints == []


def foreign(request):
    return not request.url.startswith(("http://127.0.0.1:", "data:", "blob:"))


def compute(page, expected, state="visible"):
    """Click on Compute, as a user would once more if nothing happens, until the answer is there."""

    def answered():
        page.get_by_role("button", name="Compute").click()
        with suppress(playwright.TimeoutError):
            expected.wait_for(state=state, timeout=1000 * CLICK_PATIENCE)
            return True

    wait_until(answered)


@pytest.mark.parametrize(("languages", "written"), [(4, True), (17, False)])
def test_numbers_of_many_languages_are_not_written(languages, written, addresses, page):
    scores = {f"l{i:02d}": [[3, 2, 1], [1, i]] for i in range(languages)}
    page.set_viewport_size({"width": 390, "height": 900})
    page.goto(addresses["rankc"])
    page.get_by_label("table", exact=True).fill(json.dumps(scores))
    cells = page.locator(".picture .cells path")
    compute(page, cells.first, state="attached")
    assert cells.count() == languages**2
    texts = page.locator(".picture .texts text").all_text_contents()
    assert sum(map(bool, texts)) == (languages**2 - languages if written else 0)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("name", NAMES)
def test_a_space_computes_draws_and_says_what_is_wrong(name, addresses, page, tmp_path):
    page.goto(addresses[name])
    (label, figure), value = next(iter(FIRST[name].items()))
    compute(page, page.get_by_role("heading", name=f"{figure} of {label}: {value:.4f}"))
    drawn = page.locator(".picture .bars rect, .picture .cells path")
    drawn.locator("visible=true").first.wait_for()
    page.get_by_text(f"{value:.4f}", exact=True).locator("visible=true").first.wait_for()
    link = page.get_by_role("link", name="Download the figures as CSV").get_attribute("href")
    rows = csv.DictReader(unquote(link).removeprefix("data:text/csv;charset=utf-8,").splitlines())
    found = {(row["of"], row["figure"]): row["value"] for row in rows}
    for key, value in FIRST[name].items():
        assert found[key] == "" if value is None else float(found[key]) == pytest.approx(value)

    text, message = BAD[name]
    page.get_by_label("table", exact=True).fill(text)
    toast = page.locator(".toast-body")
    compute(page, toast.first)
    assert message in toast.first.inner_text()
    assert "Traceback" not in page.content()

    if name in FILES:
        tables, headline = FILES[name]
        paths = [write_table(tmp_path / file, table) for file, table in tables.items()]
        page.locator("input[type=file]").first.set_input_files(paths)
        for path in paths:
            page.get_by_label(Path(path).name, exact=True).wait_for()
        compute(page, page.get_by_role("heading", name=headline))
