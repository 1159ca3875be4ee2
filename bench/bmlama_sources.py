"""Count the published facts of BMLAMA that `build balanced` finds in other sources, and why not.

Run `python -m bench bmlama_sources [MIRROR]`; MIRROR is a folder with the archives (default:
download). It prints the tables and writes them to bench/bmlama_sources.md.

BMLAMA was made of X-FACTR and mLAMA. mLAMA's own archive is read if MIRROR holds it, or if all
archives are downloaded. mParaRel has the same facts of LAMA as mLAMA, with labels of its own.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from polyprobe.builder.facts import FACTS
from polyprobe.builder.recipes.balanced import IN_SET, LACKS, count_reasons, explain_published
from polyprobe.builder.recipes.balanced.material import LABELLED, Coverage, gather
from polyprobe.builder.recipes.requests import BalancedRequest
from polyprobe.builder.sources import bmlama

SOURCES = ("xfactr", "mpararel", "xfactr,mpararel", "mlama", "xfactr,mlama")
ARCHIVE = "mlama1.1.zip"
REASONS = (IN_SET, *LACKS[:-1])  # distractors are not drawn: a complete fact counts as in the set


def main(argv: Sequence[str] = ()) -> None:
    """Read each choice of sources once, compare both configurations, write the page."""
    mirror = Path(argv[0]) if argv else None
    linked = bmlama.read_linked(mirror)
    results = {}
    for source in SOURCES:
        if "mlama" in source and mirror and not (mirror / ARCHIVE).is_file():
            continue
        coverage = gather(BalancedRequest(source), mirror).coverage
        for config, part in linked.items():
            languages = [*part.rows]
            missing = count_missing_labels(part.queries, coverage, languages)
            results[config, source] = explain(part.queries, coverage, languages), missing
    text = write_page({config: part.queries for config, part in linked.items()}, results)
    print(text)
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")


def explain(
    queries: Sequence[bmlama.PublishedQuery], coverage: Coverage, languages: Sequence[str]
) -> list[str]:
    """Return for each published row why it is not in a set of the languages, or IN_SET."""
    published = pl.DataFrame([query[1:4] for query in queries], FACTS, orient="row")
    return explain_published(published, widen(coverage, languages), languages, published)


def widen(coverage: Coverage, languages: Sequence[str]) -> Coverage:
    """Return the coverage with further languages, in which nothing has a label."""
    absent = [language for language in languages if language not in coverage.languages]
    layers = np.pad(coverage.layers, ((0, 0), (0, 0), (0, len(absent))))
    return Coverage(coverage.facts, (*coverage.languages, *absent), layers)


def count_missing_labels(
    queries: Sequence[bmlama.PublishedQuery], coverage: Coverage, languages: Sequence[str]
) -> Counter[str]:
    """Count, by language, the published facts of the source without labels there."""
    published = {query[1:4] for query in queries}
    rows = [fact in published for fact in coverage.facts.iter_rows()]
    wide = widen(coverage, languages)
    return Counter({x: int((~wide.within([x])[LABELLED][rows]).sum()) for x in languages})


def write_page(
    published: dict[str, list[bmlama.PublishedQuery]],
    results: dict[tuple[str, str], tuple[list[str], Counter[str]]],
) -> str:
    """Return the page: totals by reason, languages without labels, and relations."""
    absent = ", ".join(x for x in SOURCES if ("17", x) not in results)
    lines = [
        "# The published facts of BMLAMA in its sources",
        "",
        "`python -m bench bmlama_sources MIRROR` counts the published rows of BMLAMA-17 and "
        "BMLAMA-53 whose fact `polyprobe build balanced --source SOURCES --languages …` finds, "
        "with all languages of the configuration. Facts are compared by relation and Wikidata "
        "ids. A row has the first reason that applies. No distractors are drawn here: a few facts "
        "in the set find none.",
        "",
        "The published rows have no ids: they are linked through mParaRel "
        "(`builder/sources/bmlama`), so that the ids of linked rows are in mParaRel by nature. "
        "For the labels, and for X-FACTR, there is no such advantage.",
        "",
        "The paper keeps the queries whose prompt and candidates exist in every language. It "
        "states neither a number of candidates nor a seed. `build balanced` applies the same "
        "rule: every candidate has a label in every language; `--candidates` and `--seed` are "
        "options.",
    ]
    if absent:
        lines += ["", f"Not measured here, for want of {ARCHIVE} in the mirror: {absent}."]
    for config, queries in published.items():
        names = [source for part, source in results if part == config]
        counts = {name: Counter(results[config, name][0]) for name in names}
        lines += ["", f"## BMLAMA-{config}: {len(queries):,} rows", ""]
        lines += tabulate(
            ("published rows", *names),
            [(reason, *(counts[name][reason] for name in names)) for reason in REASONS],
        )
        lines += ["", "Published facts of the source without labels, by language:", ""]
        lines += [f"- {name}: {write_counts(results[config, name][1])}" for name in names]
        relations = [query.relation for query in queries]
        for name in (names[0], names[-1]):
            lines += ["", f"By relation, `--source {name}`:", ""]
            table = count_reasons(f"BMLAMA-{config}", relations, results[config, name][0])
            lines += tabulate(table.columns, table.rows())
    return "\n".join([*lines, ""])


def write_counts(counts: Counter[str]) -> str:
    """Return the five languages with the most, and their counts."""
    return ", ".join(f"{name} {count:,}" for name, count in counts.most_common(5) if count)


def tabulate(head: Sequence[str], rows: Sequence[tuple[str | int, ...]]) -> list[str]:
    """Return a Markdown table with numbers aligned to the right."""
    cells = [[f"{x:,}" if isinstance(x, int) else x for x in row] for row in rows]
    rule = f"| --- |{' ---: |' * (len(head) - 1)}"
    return [f"| {' | '.join(head)} |", rule, *(f"| {' | '.join(row)} |" for row in cells)]
