"""Build a balanced set: the largest multi-parallel set of a source for the requested languages."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from polyprobe.builder.facts import FACTS, Fact
from polyprobe.builder.facts.truths import CorrectAnswers, find_alike, flag_rows, learn
from polyprobe.builder.output.config import Config
from polyprobe.builder.output.tables import render_text
from polyprobe.builder.recipes.requests import BalancedRequest
from polyprobe.builder.sources import TRUTH_SOURCES
from polyprobe.schema.columns import Row
from polyprobe.system.messages import PolyprobeError, report

from .material import LABELLED, Material, Provenance, has_wording, trace_costs
from .rows import draw_queries, list_total, verbalise

# A line with an empty detail counts each fact of a reason once. One with a language or relation
# counts the facts concerned there: labels of a fact may be missing in several languages.
LEFT_OUT = {"reason": pl.String, "detail": pl.String, "facts": pl.Int64}
USED_TEMPLATES = {"relation": pl.String, "templates": pl.Int64, "facts": pl.Int64, "rows": pl.Int64}
IN_TOTAL = "in total"  # the place of a line with an empty detail, where it is shown
NO_LABEL = "no label"
ROLES = {"truths": "correct answers"}  # roles with another name in cards


class Notes(NamedTuple):
    """How a set was built."""

    config: str
    command: str
    source_facts: int
    facts: int  # of one language, as `rows`; several templates of a fact are several rows
    rows: int
    used_templates: pl.DataFrame  # USED_TEMPLATES, only if several were requested
    left_out: pl.DataFrame  # LEFT_OUT: facts of the source without a row
    costs: pl.DataFrame  # `material.COSTS`
    borrowed: dict[str, int]
    repairs: dict[str, int]  # by the source's reader, in all its languages
    sources: tuple[Provenance, ...]
    card: Mapping[str, Any] = {}  # replaces entries of the card's YAML


class Balanced(NamedTuple):
    """A balanced set: {language: rows}, aligned by row number, and notes."""

    rows: dict[str, list[Row]]
    notes: Notes


def balance(request: BalancedRequest, material: Material, mirror: Path | None = None) -> Balanced:
    """Return the requested balanced set, sorted by relation, subject, object and template."""
    # It contains all facts that have labels and a sentence in every language (with `--wording`, a
    # sentence and a template), except facts without a distractor. Objects of the same subject are
    # separate rows: a row has one answer, and its candidates exclude the other objects.
    level = level_templates(material.templates, request.languages, request.templates)
    material = material._replace(templates=level)
    layers = material.coverage.within(request.languages)
    facts = material.coverage.facts.filter(has_wording(layers))
    if facts.is_empty():
        coverage, labelled = material.coverage, int(layers[LABELLED].sum())
        complete = {x: int(has_wording(coverage.within([x])).sum()) for x in request.languages}
        fewest = min(complete.values())
        worst = ", ".join(x for x in complete if complete[x] == fewest)
        raise PolyprobeError(
            f"no fact of {request.source} has labels and a template or sentence in all of "
            f"{', '.join(complete)} ({labelled} have labels); the fewest are complete in {worst} "
            f"({fewest} of {coverage.facts.height}): complete them there, or leave it out with "
            "--languages"
        )
    correct = find_correct_answers(request, material, mirror)
    queries, left_out = draw_queries(request, material, facts, correct)
    if not queries:
        raise PolyprobeError(
            f"no fact of {request.source} finds a distractor, another object of its relation with "
            "a label in each language; add facts or relations, or ask for fewer languages"
        )
    # Flags need the texts of all languages: a row is flagged in all or in none.
    rows = flag_rows(verbalise(request, material, queries))
    missing = [*list_missing(request, material, layers), *left_out]
    return Balanced(rows, take_notes(request, material, rows, missing))


def level_templates(templates: pl.DataFrame, languages: Sequence[str], limit: int) -> pl.DataFrame:
    """Return the first templates of each relation, the same number in each language (TEMPLATES)."""
    # The number is `limit`, or the smallest number that a language has. A language without
    # templates is ignored here: coverage excludes the relation there.
    part = templates.filter(pl.col("language").is_in(list(languages)))
    number = pl.int_range(pl.len()).over("language", "relation")
    fewest = pl.len().over("language", "relation").min().over("relation")
    return part.filter(number < fewest, number < limit)


def find_correct_answers(
    request: BalancedRequest, material: Material, mirror: Path | None
) -> CorrectAnswers:
    """Return the correct answers, from all known facts and the requested languages' wordings."""
    content = material.content
    selection = pl.col("language").is_in(list(request.languages))
    truths = [source.source for source in material.sources if source.role == "truths"]
    if truths:
        report(f"reading the correct answers of {', '.join(truths)}")
    facts = {name: import_module(TRUTH_SOURCES[name]).read_truths(mirror) for name in truths}
    prompts = content.prompts.filter(selection)
    return CorrectAnswers(
        learn({"": content.facts, **facts}),
        find_alike(material.templates, "template", pl.col("relation")),
        find_alike(prompts, "prompt", pl.struct(*FACTS), lambda fact: Fact(**fact)),
        find_alike(content.labels.filter(selection), "label", pl.col("id")),
    )


def list_missing(
    request: BalancedRequest, material: Material, layers: np.ndarray
) -> Iterator[tuple[str, str, int]]:
    """Yield the counts of excluded facts (LEFT_OUT): by relation, label and template."""
    coverage, languages = material.coverage, request.languages
    yield ("relation not requested", "", material.content.facts.height - coverage.facts.height)
    labelled = layers[LABELLED]
    yield (NO_LABEL, "", int((~labelled).sum()))
    for language in languages:
        yield (NO_LABEL, language, int((~coverage.within([language])[LABELLED]).sum()))
    dumb = coverage.facts.filter(labelled & ~has_wording(layers))["relation"].value_counts()
    counts = dict(dumb.sort("relation").iter_rows())
    # With --wording a fact may lack either; which one is not counted.
    if request.wording:
        yield from list_total("no template or no sentence", counts)
        return
    present = set(material.templates.select("relation", "language").iter_rows())
    places = {
        f"{relation} in {', '.join(x for x in languages if (relation, x) not in present)}": count
        for relation, count in counts.items()
    }
    yield from list_total("no template", places)


def take_notes(
    request: BalancedRequest,
    material: Material,
    rows: dict[str, list[Row]],
    left_out: Iterable[tuple[str, str, int]],
) -> Notes:
    """Return the notes of the set, without sources of templates that no row uses."""
    prefixes = tuple(f"{source}:" for source in request.sources)
    is_pure = all(row.template_id.startswith(prefixes) for part in rows.values() for row in part)
    first = rows[request.languages[0]]
    # A sentence counts as one template.
    counts = Counter((row.relation, row.fact_id) for row in first if request.templates > 1)
    repeated: dict[str, list[int]] = {}
    for (relation, _), count in counts.items():
        repeated.setdefault(relation, []).append(count)
    lines = [(relation, max(part), len(part), sum(part)) for relation, part in repeated.items()]
    return Notes(
        config=request.name,
        command=request.command,
        source_facts=material.content.facts.height,
        facts=len({row.fact_id for row in first}),
        rows=len(first),
        used_templates=pl.DataFrame(lines, USED_TEMPLATES, orient="row"),
        left_out=pl.DataFrame([line for line in left_out if line[2]], LEFT_OUT, orient="row"),
        costs=trace_costs(material.coverage, request.languages),
        borrowed=material.borrowed,
        repairs=material.content.repairs,
        sources=tuple(s for s in material.sources if s.role != "templates" or not is_pure),
    )


def dump(notes: Notes) -> str:
    """Return the notes as JSON, for the metadata of the Parquet files."""
    several = {"facts": notes.facts, "told": notes.used_templates.rows()}
    fields = {
        "command": notes.command,
        "source_facts": notes.source_facts,
        "rows": notes.rows,
        **(several if notes.used_templates.height else {}),
        "left_out": notes.left_out.rows(),
        "lent": notes.borrowed,
        "repairs": notes.repairs,
        "costs": notes.costs.filter(notes.costs["asked"]).select("language", "facts").rows(),
        "sources": [list(source) for source in notes.sources],
        **({"card": dict(notes.card)} if notes.card else {}),
    }
    return json.dumps(fields, ensure_ascii=False)


def describe(configs: Sequence[Config]) -> dict[str, str]:
    """Return the parts of the card that only balanced sets have."""
    several = any("told" in config.notes for config in configs)
    return {
        "builds": "\n\n".join(describe_build(config) for config in configs),
        "paraphrases": render_text(__package__, "paraphrases.md") if several else "",
    }


def describe_build(config: Config) -> str:
    """Return a section on one configuration: command, sources, and excluded facts by reason."""
    notes = config.notes
    sources = [
        (name, ROLES.get(role, role), home, f"`{commit[:12]}`" if commit else "", licence)
        for name, role, home, commit, licence in notes["sources"]
    ]
    left_out = [(reason, where or IN_TOTAL, n) for reason, where, n in notes["left_out"]]
    repairs = [(reason, count) for reason, count in notes["repairs"].items() if count]
    values = {"name": config.name, "notes": notes, "templates": notes.get("told", [])}
    values |= {"sources": sources, "left_out": left_out, "repairs": repairs}
    return render_text(__package__, "build.md", **values)
