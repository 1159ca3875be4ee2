"""Tokens of answers or candidates as a finding."""

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from polyprobe.analysis.tokens import TokenCounts
from polyprobe.report.finding import Column, Finding, Part, Role, Table

MOST = 5  # tokens of the last column with a share: that many or more
COLUMNS = (
    Column("language", Role.NAME),
    Column("texts", Role.COUNT),
    *(Column(f"{n}", Role.SHARE) for n in range(1, MOST)),
    Column(f"{MOST}+", Role.SHARE),
    Column("tokens", Role.RATIO),
    Column("/word", Role.RATIO),
    Column("/char", Role.RATIO),
    Column("unk.", Role.SHARE),
)
NOTE = (
    "1 to {most}+: percent of {texts} with that number of tokens; tokens: mean number, also per "
    "word and per character; unk.: percent with an unknown token"
)


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
    notes = [NOTE.format(most=MOST, texts=texts)]
    return Finding(f"tokens of {texts}", [Part("", [Table(COLUMNS, rows)])], notes=notes)
