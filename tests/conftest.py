"""Shared by all tests; the environment is set before any client of the Hub is imported."""

import gc
import os
import tempfile
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest
from filelock import FileLock

# Threads do not help small models, and they slow down parallel tests.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Keep the user's caches free of what the tests load and install.
os.environ["HF_HOME"] = tempfile.mkdtemp(prefix="polyprobe-tests-")
os.environ["POLYPROBE_CACHE"] = tempfile.mkdtemp(prefix="polyprobe-tests-")

from polyprobe.builder.build import build_dataset
from polyprobe.publish.install import import_evaluate
from tests.builder.translators.apy import find_missing
from tests.hub.server import hub
from tests.making.browser import CHROMIUM, QUIET

import_evaluate()

__all__ = ["hub"]

UPSTREAM = Path(__file__).parents[2] / "shared" / "upstream"


# The whole BMLAMA, which takes a minute to build, and what `.ci/run` installs during `make test`.
ACCEPTANCE = {"bmlama", "browser", "apertium", "archive"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their fixtures; sort the files by the number of their slow tests."""
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    for item in items:
        fixtures = {*getattr(item, "fixturenames", ())}
        if ACCEPTANCE & fixtures:
            item.add_marker(pytest.mark.acceptance)
        if "upstream" in fixtures:
            item.add_marker(pytest.mark.upstream)
    items.sort(key=lambda item: (-slow[item.path], item.path))


def pytest_collection_finish() -> None:
    """Take what is imported out of later searches for garbage: a tenth of the suite's time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch) -> Path:
    """An empty score store for each test, so that no scores are cached."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("POLYPROBE_CACHE", str(folder))
    return folder


@pytest.fixture(scope="session")
def upstream() -> Path:
    if not UPSTREAM.is_dir():
        pytest.skip(f"needs the papers' released data in {UPSTREAM}")
    return UPSTREAM


def build_once(name: str, upstream: Path, tmp_path_factory) -> Path:
    """Build a dataset with all configurations from its real archive, once for all workers."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with FileLock(shared / f"{name}.lock"):
        folder, done = shared / "built" / name, shared / f"{name}.done"
        if not done.exists():
            build_dataset(name, (), upstream, folder)
            done.touch()
    return folder


@pytest.fixture(scope="session")
def bmlama(upstream, tmp_path_factory) -> Path:
    return build_once("bmlama", upstream, tmp_path_factory)


@pytest.fixture(scope="module")
def browser():
    """Chromium, one for the tests of a file; a page of it has storage of its own."""
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("needs chromium on the path")
    with playwright.sync_playwright() as player:
        chromium = player.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def apertium() -> None:
    """Debian's Apertium, for translators."""
    if missing := find_missing():
        pytest.skip(missing)


@pytest.fixture(scope="session")
def scorers(tmp_path_factory):
    """Tiny models, written once and loaded once for each protocol."""
    from polyprobe.eval import load_scorer
    from tests.making import tiny

    loaded = {}

    def get(kind, scoring="bmlama", **options):
        folder = tmp_path_factory.getbasetemp() / f"tiny-{kind}"
        if not folder.exists():
            tiny.save_model(kind, folder)
        key = (kind, scoring, *sorted(options.items()))
        if key not in loaded:
            loaded[key] = load_scorer(str(folder), scoring=scoring, **options)
        return loaded[key]

    return get


@pytest.fixture(scope="module")
def tokenizer():
    """The tokenizer of geolm, new for each module."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(files("polyprobe.scoring.embedded") / "geolm")
