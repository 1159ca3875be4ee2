"""Tokens of answers or candidates as a finding."""

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from polyprobe.analysis.tokens import TokenCounts
from polyprobe.report.finding import Column, Finding, Part, Table
from polyprobe.system.files import read_toml

MOST = 5  # tokens of the last column with a share, `5+` in columns.csv: that many or more


def make_tokens_finding(counts: Mapping[str, TokenCounts], texts: str) -> Finding:
    """Make the finding of the tokens of each language, and of the mean over languages."""
    names = ("tokens", "tokens_per_word", "tokens_per_character", "unknown")
    rows: list[list[Any]] = []
    for language, of_language in counts.items():
        shares = [of_language.share(n, n) for n in range(1, MOST)]
        ratios = of_language.as_json()
        values = [*shares, of_language.share(MOST), *map(ratios.get, names)]
        rows.append([language, of_language.n_texts, *values])
    if len(rows) > 1:
        means = (fmean(column) for column in zip(*(row[2:] for row in rows), strict=True))
        rows.append(["mean", "", *means])
    note = read_toml(__package__, "terms.toml")["tokens"]["note"].format(most=MOST, texts=texts)
    table = Table(Column.read("tokens"), rows)
    return Finding(f"tokens of {texts}", [Part("Tokens", [table])], notes=[note])
