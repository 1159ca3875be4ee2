"""The effect of sentences in the terminal, as JSON and as one HTML file."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from polyprobe.eval.report.page import HERE as REPORT
from polyprobe.eval.report.page import write_page
from polyprobe.eval.results.table import difference_cells, format_interval, format_p_value, number
from polyprobe.metrics.joint.significance import Averages, Paired

from .compare import VersionComparison

DIRECTION = "sentence - template"
_BY_LANGUAGE = ("recall@1", "mean_rank", "inflection delta", "feminine verb forms", "QE")
SIDES = ("sentence", "template")
HERE = Path(__file__).parent
OPENED = ("recall@1", "mean_rank")  # tables that are open at first
TERMS = {
    "recall@k": "share of facts with a correct answer among the k best-scored candidates; ties "
    "count with their probability.",
    "mean rank": "rank of the best-scored correct answer, from 1; lower is better.",
    "macro, micro": "mean over relations (Fluent-mLAMA), and mean over facts.",
    "inflection delta": "rank of the answer's label less the rank of its inflected form.",
    "feminine verb forms": "their share of the verb forms with a gender, for female subjects.",
    "QE": "COMET’s estimate of how well the text translates the English sentence.",
}


def versions_table(found: VersionComparison, correction: str) -> Table:
    """Return the effect of sentences for a rich console: macro averages, and the micro means."""
    table = Table(header_style="bold", highlight=False)
    for name in ("figure", "sentence", "template", "difference", "95 %", f"p ({correction})"):
        table.add_column(name, justify="left" if name == "figure" else "right", overflow="fold")
    for name, averages in list_figures(found).items():
        rows = averages["macro"] if len(found.languages) > 1 else averages["macro"][:1]
        for row in rows if name in _BY_LANGUAGE else rows[-1:]:
            table.add_row(Text(f"{name} {row.name}"), *difference_cells(row))
        if name in _BY_LANGUAGE:
            table.add_row(Text(f"{name} micro mean"), *difference_cells(averages["micro"][-1]))
    return table


def list_figures(found: VersionComparison) -> dict[str, Averages]:
    """Return the measured paired figures by name."""
    further = {
        "inflection delta": found.inflection and found.inflection.delta,
        "feminine verb forms": found.feminine and found.feminine.share,
        "QE": found.quality and found.quality.score,
    }
    return {**found.ranks, **{name: rows for name, rows in further.items() if rows}}


def list_notes(found: VersionComparison) -> Iterator[str]:
    """Yield the notes below the table, one line each."""
    yield (
        f"{found.n_queries:,} rows in both; differences are {DIRECTION}; macro: mean over "
        "relations, micro: over rows; ranks are of the best correct answer, ties in expectation"
    )
    if found.left_out_languages:
        yield f"excluded (only in one run): languages {', '.join(found.left_out_languages)}"
    if any(found.left_out):
        yield (
            f"excluded (only in one run): {found.left_out[0]:,} rows of sentences, "
            f"{found.left_out[1]:,} of templates"
        )
    if found.overlap:
        for language, chrf in found.overlap.by_language.items():
            yield (
                f"chrF {language}: {chrf.corpus:.1f}, mean of sentences {chrf.sentences:.1f} "
                f"({_interval(chrf.sentences_ci)}), templates against sentences"
            )
        yield f"chrF signature: {found.overlap.signature}"
    for language, forms in found.feminine.forms.items() if found.feminine else ():
        yield (
            f"feminine verb forms {language}: {forms.sentence_feminine} of {forms.sentence} in "
            f"sentences, {forms.template_feminine} of {forms.template} in templates"
        )
    if found.quality and found.quality.score:
        yield (
            f"QE: {found.quality.model} (comet {found.quality.version}), source "
            f"{found.quality.source}/en, {found.quality.n_queries:,} rows"
        )
    yield from found.notes
    yield from (f"omitted: {line}" for line in found.failures)


def as_json(found: VersionComparison) -> dict[str, Any]:
    """Return the comparison for JSON: figure, average, language, values."""
    inflection, feminine = found.inflection, found.feminine
    overlap, quality = found.overlap, found.quality
    return {
        "difference": DIRECTION,
        "languages": found.languages,
        "left_out_languages": found.left_out_languages,
        "n_queries": found.n_queries,
        "left_out": dict(zip(SIDES, found.left_out, strict=True)),
        "ranks": {name: _averages(averages) for name, averages in found.ranks.items()},
        "boxes": {
            language: {side: box._asdict() for side, box in zip(SIDES, boxes, strict=True)}
            for language, boxes in found.boxes.items()
        },
        "inflection_delta": inflection
        and {**_averages(inflection.delta), "n_queries": inflection.n_queries},
        "feminine_forms": feminine
        and {
            **_averages(feminine.share),
            "n_facts": feminine.n_facts,
            "forms": {x: forms._asdict() for x, forms in feminine.forms.items()},
            "without_tagger": feminine.without_tagger,
        },
        "chrf": overlap
        and {
            "by_language": {x: chrf._asdict() for x, chrf in overlap.by_language.items()},
            "signature": overlap.signature,
        },
        "qe": quality and {**_averages(quality.score), **_without(quality._asdict(), "score")},
        "notes": found.notes,
        "failures": found.failures,
    }


def _averages(averages: Averages | None) -> dict[str, Any]:
    """Return {macro, micro}: null without averages, else by language."""
    if averages is None:
        return {"macro": None, "micro": None}
    return {
        average: {row.name: _without(_named(row), "name") for row in rows}
        for average, rows in averages.items()
    }


def _named(row: Paired) -> dict[str, Any]:
    """Return a row's fields, `first` and `second` renamed to the wordings."""
    return {
        name.replace("first", SIDES[0]).replace("second", SIDES[1]): value
        for name, value in row._asdict().items()
    }


def _without(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != name}


def _interval(bounds: list[float] | None) -> str:
    return "–" if bounds is None else f"{bounds[0]:.1f} to {bounds[1]:.1f}"


def write_versions(found: VersionComparison, options: Mapping[str, Any], output: Path) -> None:
    """Write the effect of sentences as one file that opens without a network."""
    settings = found.versions.sentence.settings()
    values = as_json(found)
    curves = [figure["macro"] for name, figure in values["ranks"].items() if "@" in name]
    write_page(
        output,
        HERE / "sentences.html",
        [REPORT / "plot.js", HERE / "page.js"],
        title=f"polyprobe: {settings.model_name} on {settings.data_name}",
        data={"languages": found.languages, "curves": curves, "boxes": values["boxes"]},
        found=found,
        mean=found.ranks["recall@1"]["macro"][-1],
        terms=TERMS.items(),
        signatures=[(side, getattr(found.versions, side).settings().signature) for side in SIDES],
        sides=SIDES,
        boxes=[
            [language, side, *(f"{value:.2f}" for value in box)]
            for language, boxes in found.boxes.items()
            for side, box in zip(SIDES, boxes, strict=True)
        ],
        direction=DIRECTION,
        options=options,
        figures={
            name: {average: map(_cells, rows) for average, rows in averages.items()}
            for name, averages in list_figures(found).items()
        },
        opened=OPENED,
        notes=list_notes(found),
    )


def _cells(row: Paired) -> list[str]:
    pairs = ((row.first, row.first_ci), (row.second, row.second_ci), (row.difference, row.ci))
    cells = (cell for value, bounds in pairs for cell in (number(value), format_interval(bounds)))
    return [row.name, *cells, format_p_value(row.p_adjusted)]
