"""Tokens of answers or candidates as a finding."""

from collections.abc import Mapping
from statistics import fmean

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
    values = {language: _list_values(of_language) for language, of_language in counts.items()}
    rows = [[x, counts[x].n_texts, *of_language] for x, of_language in values.items()]
    if len(rows) > 1:
        rows.append(["mean", "", *map(fmean, zip(*values.values(), strict=True))])
    table = Table(COLUMNS, rows)
    return Finding(
        f"tokens of {texts}", [Part("", [table])], notes=[NOTE.format(most=MOST, texts=texts)]
    )


def _list_values(counts: TokenCounts) -> list[float]:
    """List the values of a row behind the number of texts."""
    ratios = counts.as_json()
    names = ("tokens", "tokens_per_word", "tokens_per_character", "unknown")
    shares = [counts.share(n, n) for n in range(1, MOST)]
    return [*shares, counts.share(MOST), *(ratios[name] for name in names)]
