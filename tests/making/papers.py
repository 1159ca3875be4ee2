"""Tables of the papers, from their text beside the released data."""

import re

import pytest


def read_bmlama(upstream):
    """Return the text of the BMLAMA paper; skip the test without it."""
    file = upstream.parent / "papers" / "2310.10378-bmlama-rankc.txt"
    if not file.is_file():
        pytest.skip(f"needs the paper's text, {file}")
    return file.read_text(encoding="utf-8")


def read_edits(paper, table):
    """Return language and four printed numbers of each row: right, wrong before; the same after."""
    end = paper.index(f"Table {table}:")
    text = paper[paper.rindex("Lang RankC", 0, end) : end]
    numbers = " ".join([r"(\d\.\d+(?:e-\d+)?)"] * 4)
    rows = re.findall(rf"^(\w\w)(?: \d\d \(\w+\)|-){numbers}$", text, re.MULTILINE)
    return [(language, values) for language, *values in rows]
