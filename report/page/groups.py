"""Write the groups of a run as one HTML file that opens without a network."""

from operator import attrgetter
from pathlib import Path
from typing import Any

from polyprobe.analysis.groups.measure import ALL, Outcome
from polyprobe.report.groups import (
    describe_test,
    list_cautions,
    list_groups,
    list_notes,
    list_pairs,
)
from polyprobe.report.page.page import write_page
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.naming import name_runs

TERMS = [
    (
        "right, wrong",
        "Number of rows: a fact has one in each language. A tie counts with its expectation.",
    ),
    ("share", "Right rows as a share of all rows, with the 95% bootstrap interval over facts."),
    (
        "errors",
        "100 (e/E − n/N) / (n/N): the percentage by which the group's share of the errors e/E "
        "exceeds its share of the rows n/N (Polyglot or Not).",
    ),
    ("χ²", "Pearson's test of equal shares in all groups, with Yates' correction for two groups."),
    ("V", "Cramér's V, the size of the difference from 0 to 1."),
    (
        "permuted p",
        "Share of the assignments of labels to whole units with a χ² at least as large.",
    ),
    ("RankC", "Mean RankC of the group's facts over pairs of languages."),
]


def write_groups(run: Run, outcome: Outcome, output: Path) -> None:
    """Write the page of the groups of a run.

    Raises:
        PolyprobeError: the file cannot be written, or has another ending than .html.
    """
    settings, [name] = run.settings(), name_runs([run])
    parts: list[dict[str, Any]] = [
        {
            "name": "all languages" if key == ALL else key,
            "id": f"groups-{key}",
            "test": describe_test(found.test, found.permutation, outcome.unit, found.n_units),
            "least": min(found.groups, key=attrgetter("share")),
            "most": max(found.groups, key=attrgetter("share")),
            "groups": list_groups(outcome, found),
            "pairs": list_pairs(found),
        }
        for key, found in outcome.found.items()
    ]
    drawn = {
        f"groups-{key}": [[x.name, x.share, x.ci] for x in found.groups]
        for key, found in outcome.found.items()
    }
    write_page(
        output,
        "groups",
        run=name,
        title=f"polyprobe: {name} on {settings.data_name} by {outcome.by}",
        data=drawn,
        parts=parts,
        terms=TERMS,
        notes=[*list_notes(outcome)],
        cautions=[*list_cautions(outcome)],
        signature=settings.signature,
    )
