"""Chromium of this machine, and a page in it that must have no error."""

import shutil
from pathlib import Path

from tests.making.waiting import PATIENCE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]


def open_page(browser, file, fragment="", **options):
    """Open a page that must have no error; colour scheme and size are options."""
    page, errors = browser.new_page(**options), []
    page.set_default_timeout(1000 * PATIENCE)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text))
    page.goto(f"{Path(file).as_uri()}#{fragment}")
    assert errors == []
    return page
