"""Write the report of runs of free decoding as one HTML file that opens without a network."""

from collections.abc import Sequence
from pathlib import Path

from polyprobe.analysis.compare.runs import Comparison
from polyprobe.analysis.figures.figures import BY_NAME, OF_MODULES
from polyprobe.report.findings.comparison import list_notes
from polyprobe.report.findings.decodings import list_notes_of_decodings, make_counts_table
from polyprobe.report.format import format_p_value, number
from polyprobe.report.page.pictures import list_pictures
from polyprobe.report.pictures.picture import Picture
from polyprobe.report.show import format_table
from polyprobe.schema.run.folder import FinishedRun
from polyprobe.schema.run.naming import describe_differing
from polyprobe.system.errors import PolyprobeError

from .page import write_page
from .parts import Between, RunPart, Table, list_cautions, with_interval

EXAMPLES = 20  # of each direction and language
DRAWN = ("languages", "accuracy", "intervals", "by_masks", "calibration", "coverlap")
# Columns of the table of a run: module and key in results.json, and the head.
COLUMNS = (
    ("factual_accuracy", "all", "all"),
    ("factual_accuracy", "single", "one token"),
    ("factual_accuracy", "multi", "more tokens"),
    ("oracle_length", "all", "known length"),
    ("oracle_length", "single", "known length,\none token"),
    ("oracle_length", "multi", "known length,\nmore tokens"),
    ("single_mask", "all", "one mask"),
    ("single_mask", "single", "one mask,\none token"),
    ("calibration", "ece", "calibration\nerror"),
    ("prediction_at_least_gold", "all", "at least\nright answer"),
)
TERMS = [
    *((figure.title, figure.says) for figure in OF_MODULES["factual_accuracy"].values()),
    *(
        (BY_NAME[name].title, BY_NAME[name].says)
        for name in ("oracle_length.all", "single_mask.all", "calibration.ece", "coverlap")
    ),
    ("at least right answer", "Share of facts whose prediction is as probable as the answer."),
]


def write_decodings(
    runs: Sequence[FinishedRun],
    names: Sequence[str],
    output: Path | None,
    compared: Sequence[Comparison | str] = (),
) -> dict[str, Picture]:
    """Write the report of runs of free decoding, and of their comparisons with the first one.

    Returns its pictures by name; without an `output` it does this alone.

    Raises:
        PolyprobeError: results of another version, or the file cannot be written.
    """
    parts = [_make_part(finished, name) for finished, name in zip(runs, names, strict=True)]
    between = [
        Between((0, place), f"{names[0]} − {names[place]}", comparison)
        for place, comparison in enumerate(compared, start=1)
        if isinstance(comparison, Comparison)
    ]
    pictures = list_pictures(parts, between)
    if not output:
        return pictures
    write_page(
        output,
        "decodings",
        title=f"polyprobe: {', '.join(names)} on {parts[0].settings.data_name}",
        data={
            "runs": [
                {"name": p.name, "results": {k: p.results[k] for k in DRAWN if k in p.results}}
                for p in parts
            ]
        },
        parts=parts,
        tables=[list_accuracies(part) for part in parts],
        terms=TERMS,
        cautions=[name for name in list_cautions(parts) if name != "scoring"],  # all accuracies
        differing=describe_differing([finished.run for finished in runs]),
        between=[
            (two.title, *_describe(two.found, (names[0], names[two.runs[1]]))) for two in between
        ],
        notes=[line for line in compared if isinstance(line, str)],
    )
    return pictures


def _make_part(finished: FinishedRun, name: str) -> RunPart:
    run, results, _ = finished
    if "factual_accuracy" not in results:
        raise PolyprobeError(
            f"{run.folder}/results.json has no factual_accuracy; run "
            f"`polyprobe metrics {run.folder}`"
        )
    return RunPart(name, run.settings(), results, {})


def list_accuracies(part: RunPart) -> Table:
    """List the accuracies of each language, with the columns that the run has."""
    columns = [column for column in COLUMNS if column[0] in part.results]
    rows = []
    for language in part.results["languages"]:
        values = [(part.results[module][language], key) for module, key, _ in columns]
        cells = [with_interval(row.get(key), row.get(f"{key}_ci")) for row, key in values]
        rows.append([language, *(cell.replace(" (", "\n(") for cell in cells)])
    return ["language", *(head for *_, head in columns)], rows


def _describe(comparison: Comparison, names: Sequence[str]) -> tuple[Table, Table, list[str]]:
    """List the tested differences, the counts of facts, and the notes with examples."""
    correction = comparison.settings["correction"]
    tests = [
        [
            f"{BY_NAME[figure].title} {row.name}",
            number(row.first),
            number(row.second),
            with_interval(row.difference, row.ci),
            format_p_value(row.p_adjusted),
        ]
        for figure, rows in comparison.differences.items()
        for row in rows
    ]
    counts: Table = ([], [])
    notes = list(list_notes(comparison))
    if comparison.decodings:
        counts = format_table(make_counts_table(comparison.decodings, names, correction))
        notes += list_notes_of_decodings(comparison.decodings, names, EXAMPLES)
    return (["figure (micro)", *names, "Δ", f"p ({correction})"], tests), counts, notes
