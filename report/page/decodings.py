"""The parts of a report of runs of free decoding."""

from collections.abc import Iterator, Sequence

from polyprobe.analysis.figures.figures import BY_NAME, OF_MODULES
from polyprobe.report.finding import Column, Part, Role, Table
from polyprobe.report.findings import comparison as tests
from polyprobe.report.show import format_percent, with_interval
from polyprobe.system.files import read_toml

from .parts import Between, Drawings, Report, RunPart, Titles

EXAMPLES = 20  # of each direction and language
COLUMNS = read_toml(__package__, "texts.toml")["decodings"]["columns"]
TERMS = [
    *((figure.title, figure.definition) for figure in OF_MODULES["factual_accuracy"].values()),
    *(
        (BY_NAME[name].title, BY_NAME[name].definition)
        for name in ("oracle_length.all", "single_mask.all", "calibration.ece", "coverlap")
    ),
    ("at least right answer", "Share of facts whose prediction is as probable as the answer."),
]


def list_decoding_parts(report: Report, drawings: Drawings) -> Iterator[Part]:
    """Yield the parts of runs of free decoding, and of their comparisons with the first one."""
    yield Part(Titles.ACCURACY, [_make_accuracies_table(part) for part in report.parts])
    for title in drawings:
        if title not in (Titles.ACCURACY, Titles.FILES):
            yield Part(title, [])
    for two in report.between:
        yield _make_part(two, [report.parts[place].name for place in (0, two.place)])


def describe_decodings(part: RunPart, explain: bool) -> str:
    """Describe the accuracy of a run."""
    results = part.results
    mean = "rows" if results.get("options", {}).get("average") == "micro" else "relations"
    n = len(results["languages"])
    languages = f" and {n} languages" if n > 1 else ""
    return (
        f"{part.name} on {part.settings.data_name}{part.rows} predicts "
        f"{format_percent(results['mean']['accuracy'])} of {results['n_queries']:,} facts "
        f"right (mean over {mean}{languages})."
    )


def _make_accuracies_table(part: RunPart) -> Table:
    columns = [column for column in COLUMNS if column[0] in part.results]
    rows = []
    for language in part.results["languages"]:
        values = [(part.results[module][language], key) for module, key, _ in columns]
        cells = [with_interval(row.get(key), row.get(f"{key}_ci")) for row, key in values]
        rows.append([language, *(cell.replace(" (", "\n(") for cell in cells)])
    heads = [Column(head, Role.TEXT) for *_, head in columns]
    return Table([Column("language", Role.LABEL), *heads], rows, part.name)


def _make_part(two: Between, names: Sequence[str]) -> Part:
    comparison = two.comparison
    correction = comparison.settings["correction"]
    rows = [
        (f"{BY_NAME[figure].title} {row.name}", row)
        for figure, rows_of_figure in comparison.differences.items()
        for row in rows_of_figure
    ]
    # the means above are over relations, unless another average was chosen
    blocks: list[Table | str] = [
        tests.make_differences_table(names, correction, rows, "figure (micro)")
    ]
    notes = [*tests.list_notes(comparison)]
    if comparison.decodings:
        counts = tests.make_counts_table(comparison.decodings, names, correction)
        blocks.append(counts._replace(title="Facts that both, one or neither knows"))
        notes += tests.list_notes_of_decodings(comparison.decodings, names, EXAMPLES)
    return Part(two.title, [*blocks, *notes])
