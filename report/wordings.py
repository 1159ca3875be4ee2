"""The effect of wording in the terminal and as JSON."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rich.table import Table

from polyprobe.analysis.compare.sentences.compare import VersionComparison
from polyprobe.analysis.compare.sentences.relations import relations_table
from polyprobe.metrics.joint.significance import Averages, Paired
from polyprobe.report.results import differences_table

_GROUPS = ("women", "men")
_BY_LANGUAGE = ("recall@1", "mean_rank", "inflection delta", "feminine verb forms", "QE")


def name_difference(found: VersionComparison) -> str:
    """Return the direction of all differences, such as `sentence - template`."""
    return " - ".join(found.versions.sides)


def versions_table(found: VersionComparison, correction: str) -> Table:
    """Return the effect of wording for a rich console: macro averages, and the micro means.

    The columns are in the order of the runs that were given, the title names the direction.
    """
    table = differences_table(found.versions.sides, correction, list_rows(found))
    table.title = f"difference (Δ): {name_difference(found)}"
    return table


def list_rows(found: VersionComparison) -> list[tuple[str, Paired]]:
    """Return the rows of the table with their titles."""
    titled = []
    for name, averages in list_figures(found).items():
        rows = averages["macro"] if len(found.languages) > 1 else averages["macro"][:1]
        shown = rows if name in _BY_LANGUAGE else rows[-1:]
        if name.partition(":")[0] in _GROUPS:  # as in the paper's table 6
            titled += [(f"{name} {row.name} (micro)", row) for row in averages["micro"][:-1]]
            continue
        titled += [(f"{name} {row.name} (macro)", row) for row in shown]
        if name in _BY_LANGUAGE:
            titled.append((f"{name} mean (micro)", averages["micro"][-1]))
    return titled


def list_figures(found: VersionComparison) -> dict[str, Averages]:
    """Return the measured paired figures by name."""
    further = {
        "inflection delta": found.inflection and found.inflection.delta,
        "feminine verb forms": found.feminine and found.feminine.share,
        "QE": found.quality and found.quality.score,
    }
    words = found.words.figures if found.words else {}
    return {**found.ranks, **words, **{name: rows for name, rows in further.items() if rows}}


def relations_tables(found: VersionComparison) -> Iterator[Table]:
    """Yield the changes by relation of each language."""
    difference = " - ".join(reversed(found.versions.wordings))
    for language, part in found.by_relation.items():
        yield relations_table(language, difference, part)


def list_notes(found: VersionComparison) -> Iterator[str]:
    """Yield the notes below the table, one line each."""
    reference, other = found.versions.wordings
    yield (
        f"{found.n_queries:,} rows in both; macro: mean over relations, micro: over rows; ranks "
        "are of the best correct answer, ties in expectation"
    )
    if found.left_out_languages:
        yield f"excluded (only in one run): languages {', '.join(found.left_out_languages)}"
    if any(found.left_out):
        only = zip(found.left_out, found.versions.sides, strict=True)
        yield "excluded (only in one run): rows, " + ", ".join(f"{n:,} of {x}" for n, x in only)
    if found.overlap:
        for language, chrf in found.overlap.by_language.items():
            yield (
                f"chrF {language}: {chrf.corpus:.1f}, mean of sentences {chrf.sentences:.1f} "
                f"({_interval(chrf.sentences_ci)}), {found.overlap.compared}s, {other} against "
                f"{reference} as reference"
            )
        yield f"chrF signature: {found.overlap.signature}"
    for group, counts in found.words.n_facts.items() if found.words else ():
        yield f"{group}: facts " + ", ".join(f"{x} {n:,}" for x, n in counts.items() if n)
    for language, forms in found.feminine.forms.items() if found.feminine else ():
        yield (
            f"feminine verb forms {language}: {forms.other_feminine} of {forms.other} in {other}, "
            f"{forms.reference_feminine} of {forms.reference} in {reference}"
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
    inflection, feminine, sides = found.inflection, found.feminine, found.versions.sides
    overlap, quality = found.overlap, found.quality
    return {
        "difference": name_difference(found),
        "languages": found.languages,
        "left_out_languages": found.left_out_languages,
        "n_queries": found.n_queries,
        "left_out": dict(zip(sides, found.left_out, strict=True)),
        "ranks": {name: _averages(averages, sides) for name, averages in found.ranks.items()},
        "boxes": {
            language: {side: box._asdict() for side, box in zip(sides, boxes, strict=True)}
            for language, boxes in found.boxes.items()
        },
        "inflection_delta": inflection
        and {**_averages(inflection.delta, sides), "n_queries": inflection.n_queries},
        "verb_forms": found.words
        and {
            **{name: _averages(rows, sides) for name, rows in found.words.figures.items()},
            "n_facts": found.words.n_facts,
        },
        "feminine_forms": feminine
        and {
            **_averages(feminine.share, sides),
            "n_facts": feminine.n_facts,
            "forms": {x: _name_sides(forms, found) for x, forms in feminine.forms.items()},
            "without_tagger": feminine.without_tagger,
        },
        "chrf": overlap
        and {
            "compared": overlap.compared,
            "by_language": {x: chrf._asdict() for x, chrf in overlap.by_language.items()},
            "signature": overlap.signature,
        },
        "qe": quality
        and {**_averages(quality.score, sides), **_without(quality._asdict(), "score", "change")},
        "by_relation": {
            "difference": " - ".join(reversed(found.versions.wordings)),
            **{x: part.as_json() for x, part in found.by_relation.items()},
        },
        "notes": found.notes,
        "failures": found.failures,
    }


def _averages(averages: Averages | None, sides: tuple[str, str]) -> dict[str, Any]:
    """Return {macro, micro}: null without averages, else by language."""
    if averages is None:
        return {"macro": None, "micro": None}
    return {
        average: {row.name: _without(_named(row, sides), "name") for row in rows}
        for average, rows in averages.items()
    }


def _named(row: Paired, sides: tuple[str, str]) -> dict[str, Any]:
    """Return a row's fields, `first` and `second` renamed to the wordings."""
    return {
        name.replace("first", sides[0]).replace("second", sides[1]): value
        for name, value in row._asdict().items()
    }


def _name_sides(row: NamedTuple, found: VersionComparison) -> dict[str, Any]:
    """Return a row's fields, `reference` and `other` renamed to the wordings."""
    reference, other = found.versions.wordings
    return {
        name.replace("reference", reference).replace("other", other): value
        for name, value in row._asdict().items()
    }


def _without(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in names}


def _interval(bounds: list[float] | None) -> str:
    return "–" if bounds is None else f"{bounds[0]:.1f} to {bounds[1]:.1f}"
