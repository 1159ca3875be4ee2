"""The site: built without warnings or network, and without external resources."""

import os
import re
import subprocess
import sys
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from tests.hub.client import NOWHERE, run_process

ROOT = Path(__file__).parents[1]
PAGES = sorted(path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md"))
METRICS = sorted(path.parent.name for path in ROOT.glob("metrics/*/app.py"))
LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
LISTED_RELATIONS = {"stylesheet", "icon", "preload", "preconnect", "modulepreload", "manifest"}


class Page(HTMLParser):
    """What a built page loads, links to, and can be linked at."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids |= {given[key] for key in ("id", "name") if given.get(key)}
        relations = set((given.get("rel") or "").split())
        address = given.get(LOADING.get(tag, ""))
        if address and (tag != "link" or relations & LISTED_RELATIONS):
            self.loads.append(address)
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    pytest.importorskip("mkdocstrings", reason="needs polyprobe[docs]")
    pytest.importorskip("material", reason="needs polyprobe[docs]")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder / "s")]
    done = run_process(command, folder / "home", NOWHERE, ROOT, offline=True)
    assert done.returncode == 0, done.stderr
    return folder / "s"


@pytest.fixture(scope="module")
def built(site) -> dict[str, Page]:
    return {
        path.relative_to(site).as_posix(): Page(path.read_text(encoding="utf-8"))
        for path in sorted(site.rglob("*.html"))
    }


def names_in(nav):
    for entry in nav:
        for value in [entry] if isinstance(entry, str) else entry.values():
            yield from [value] if isinstance(value, str) else names_in(value)


def read_nav() -> list[str]:
    return list(names_in(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))


def test_every_page_and_card_is_in_the_navigation():
    command = ["git", "ls-files", "datasets/*/README.md"]
    tracked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode:
        pytest.skip("no git checkout: which datasets are committed is not known")
    folders = [*tracked.stdout.split(), *(f"metrics/{name}/README.md" for name in METRICS)]
    cards = {path.replace("/README.md", ".md") for path in folders}
    assert sorted(read_nav()) == sorted({*PAGES, *cards})


@pytest.fixture(scope="module", params=["from disk", "served"])
def address(request, site):
    if request.param == "from disk":
        yield (site / "index.html").as_uri()
        return
    quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *args: None})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(quiet, directory=site)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/index.html"
        server.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "page", "text"),
    [
        ("adjusted", "glossary.html", "RankC adjusted for chance, fact by fact"),
        ("HF_HUB_OFFLINE", "offline.html", "the Hub is not asked"),
    ],
)
def test_a_search_finds_the_definition_first(address, browser, words, page, text):
    shown, errors = browser.new_page(), []
    shown.on("pageerror", lambda error: errors.append(str(error)))
    shown.goto(address)
    shown.locator("input.md-search__input").click()
    shown.wait_for_selector("[data-md-component=search-result] .md-search-result__meta")
    shown.wait_for_function(
        "/type/i.test(document.querySelector('.md-search-result__meta').textContent)"
    )
    shown.locator("input.md-search__input").press_sequentially(words)
    shown.wait_for_function(
        "text => document.querySelector('.md-search-result__item')?.innerText"
        ".replace(/\\s+/g, ' ').includes(text)",
        arg=text,
    )
    assert errors == []
    first = shown.locator(".md-search-result__item a").first
    assert first.get_attribute("href").split("/")[-1].startswith(page)


@pytest.mark.slow
@pytest.mark.acceptance
def test_the_site_loads_nothing_from_elsewhere(site, built):
    assert len(built) > 20
    for name, page in built.items():
        assert page.loads, name
        assert not [x for x in page.loads if urlsplit(x).netloc or urlsplit(x).scheme], name
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", text), style


@pytest.mark.slow
@pytest.mark.acceptance
def test_every_link_inside_the_site_resolves(site, built):
    checked = 0
    for name, page in built.items():
        if name == "404.html":  # its addresses begin at the root of a server
            continue
        for link in page.links:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            path = os.path.normpath(Path(name).parent / unquote(address.path))
            path = name if not address.path else path
            assert (site / path).exists(), f"{name}: {link}"
            if address.fragment and path in built:
                assert unquote(address.fragment) in built[path].ids | {"__skip"}, f"{name}: {link}"
            checked += 1
    assert checked > 500
