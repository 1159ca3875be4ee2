"""The general builder: the largest multi-parallel set of a source for the requested languages."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from polyprobe.builder.facts import PROMPTS, empty
from polyprobe.builder.recipes.sentences.forms import inflect_candidates
from polyprobe.builder.recipes.sentences.outcomes import Outcome
from polyprobe.builder.sources import read_truths
from polyprobe.schema.columns import Row
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.progress import track

from .coverage import LABELLED, can_be_asked, mark, trace_costs
from .distractors import (
    CorrectAnswers,
    Fact,
    Query,
    draw_distractors,
    find_homonyms,
    gather_correct,
    order_by_hash,
    place_answer,
)
from .material import Material, Provenance, gather
from .request import Request, check_buildable
from .verbalise import verbalise

LEFT_OUT = {"reason": pl.String, "detail": pl.String, "facts": pl.Int64}
USED_TEMPLATES = {"relation": pl.String, "templates": pl.Int64, "facts": pl.Int64, "rows": pl.Int64}
NOT_ASKED = "relation not asked for"
NO_LABEL = "no label"
NO_SENTENCE = "no template"
NOT_BOTH = "no template or no sentence"
ALONE = "one candidate"
OVER = "over --max-per-relation"


class Notes(NamedTuple):
    """How a set was built.

    `facts` and `rows` are the numbers of facts and of rows in one language. They differ if several
    templates were requested; only then `used_templates` (USED_TEMPLATES) counts templates, facts
    and rows by relation.

    `left_out` (LEFT_OUT) counts the facts of the source without a row. A line with an empty detail
    counts each fact of a reason once. A line with a language or relation as its detail counts the
    facts concerned there (a fact may lack labels in several languages). `costs` is the result of
    `coverage.trace_costs`. `borrowed` is the number of labels that each source of `--labels`
    completed, in all languages. `repairs` counts the repairs and exclusions by the source's reader
    ({description: count}), in all its languages.
    """

    config: str
    command: str
    seed: int
    languages: tuple[str, ...]
    source_facts: int
    facts: int
    rows: int
    used_templates: pl.DataFrame
    left_out: pl.DataFrame
    costs: pl.DataFrame
    borrowed: dict[str, int]
    repairs: dict[str, int]
    sources: tuple[Provenance, ...]


class Balanced(NamedTuple):
    """A balanced set: {language: rows}, aligned by row number, and its notes."""

    rows: dict[str, list[Row]]
    notes: Notes


def build(request: Request, mirror: Path | None = None) -> Balanced:
    """Return the requested balanced set, from the network or a mirror folder."""
    return balance(request, gather(request, mirror), mirror)


def balance(request: Request, material: Material, mirror: Path | None = None) -> Balanced:
    """Return the requested balanced set, sorted by relation, subject, object and template.

    It contains all facts that have labels and a sentence in every language (with `--wording`, a
    sentence and a template), except facts without a distractor. Objects of the same subject are
    separate rows: a row has one answer, and its candidates exclude the other objects.
    """
    check_buildable(request)
    level = level_templates(material.templates, request.languages, request.templates)
    material = material._replace(templates=level)
    layers = material.coverage.within(request.languages)
    facts = material.coverage.facts.filter(can_be_asked(layers))
    if facts.is_empty():
        raise explain_empty(request, material, layers)
    drawn, left_out = draw(request, material, facts, mirror)
    if not drawn:
        raise PolyprobeError(
            f"no fact of {request.source} finds a distractor in its relation; ask for more "
            "relations or fewer languages"
        )
    rows = write_rows(request, material, drawn)
    missing = [*list_missing(request, material, layers), *left_out]
    return Balanced(rows, describe(request, material, rows, missing))


def level_templates(templates: pl.DataFrame, languages: Sequence[str], most: int) -> pl.DataFrame:
    """Return the first templates of each relation, the same number in each language (TEMPLATES).

    The number is `most`, or the smallest number that a language has. A language without templates
    is ignored here: coverage excludes the relation there.
    """
    asked = templates.filter(pl.col("language").is_in(list(languages)))
    counts = asked.group_by("language", "relation").len("count")
    fewest = counts.group_by("relation").agg(pl.col("count").min())
    number = pl.int_range(pl.len()).over("language", "relation")
    return (
        asked.join(fewest, on="relation", maintain_order="left")
        .filter((number < pl.col("count")) & (number < most))
        .drop("count")
    )


def write_rows(
    request: Request, material: Material, drawn: Sequence[Query]
) -> dict[str, list[Row]]:
    """Return {language: rows} of the queries in the requested wording."""
    known, languages = material.known, request.languages
    if request.wording == "template":
        known = known._replace(prompts=empty(PROMPTS))
    rows = verbalise(drawn, known, material.templates, languages, request.source)
    if request.wording == "sentence":
        rows = {language: inflect_rows(part, language) for language, part in rows.items()}
    return rows


def inflect_rows(rows: Sequence[Row], language: str) -> list[Row]:
    """Return the rows of one language with candidates inflected for their sentences.

    The answer is the form found in the sentence, the last of `answer_forms`. Distractors take the
    forms that they have as answers in other rows (`forms.choose_forms`). If two candidates of a row
    would then be equal, all of its candidates keep their labels.
    """
    outcomes = [
        Outcome(language, number, row.fact_id, "", "", row.answer_forms[0], row.answer_forms[-1])
        for number, row in enumerate(rows)
    ]
    worded = inflect_candidates(rows, outcomes).candidates
    return [
        row._replace(candidates=worded.get(number, row.candidates))
        for number, row in enumerate(rows)
    ]


def draw(
    request: Request, material: Material, facts: pl.DataFrame, mirror: Path | None
) -> tuple[list[Query], list[tuple[str, str, int]]]:
    """Return the kept queries, sorted, and counts of excluded facts (LEFT_OUT)."""
    correct = prepare_correct(request, material, mirror)
    objects = list_objects(request, material)
    queries: list[Query] = []
    alone: dict[str, int] = {}
    over = 0
    parts = facts.sort(facts.columns).partition_by("relation", maintain_order=True)
    for part in track(parts, "drawing candidates"):
        asked = list(map(Fact._make, part.iter_rows()))
        relation = asked[0].relation
        found, tried = draw_relation(asked, objects[relation], correct, request)
        queries += found
        alone[relation] = tried - len(found)
        over += len(asked) - tried
    return queries, [*total(ALONE, alone), (OVER, "", over)]


def draw_relation(
    facts: Sequence[Fact], objects: Collection[str], correct: CorrectAnswers, request: Request
) -> tuple[list[Query], int]:
    """Return the queries of a relation, sorted, and the number of facts tried.

    Distractors are drawn from the objects of the facts, then from the other objects of the relation
    if more are needed. Facts are tried in the order of their hash until `max_per_relation` facts
    have a distractor.
    """
    own = {fact.object_id for fact in facts}
    pools = (sorted(own), sorted({*objects} - own))
    limit = request.max_per_relation or len(facts)
    found: list[Query] = []
    tried = 0
    for fact in order_by_hash(facts, request.seed):
        if len(found) == limit:
            break
        tried += 1
        distractors = draw_distractors(fact, pools, correct, request.candidates - 1, request.seed)
        if distractors:
            found.append(Query(fact, *place_answer(fact, distractors, request.seed)))
    return sorted(found, key=attrgetter("fact")), tried


def list_objects(request: Request, material: Material) -> dict[str, list[str]]:
    """Return {relation: objects with a label in all requested languages}."""
    objects = material.coverage.facts.select("relation", id="object_id").unique()
    named = mark(material.known.labels, objects.select("id"), request.languages).all(axis=1)
    return dict(objects.filter(named).group_by("relation").agg("id").iter_rows())


def prepare_correct(request: Request, material: Material, mirror: Path | None) -> CorrectAnswers:
    """Return the correct answers, from all known facts and the requested languages' wordings.

    `material` contains the templates in use (`level_templates`).
    """
    facts = {"": material.known.facts, **read_truths(mirror, material.truths)}
    asked = pl.col("language").is_in(list(request.languages))
    known = material.known
    homonyms = find_homonyms(known.labels.filter(asked))
    return gather_correct(facts, material.templates, known.prompts.filter(asked), homonyms)


def list_missing(
    request: Request, material: Material, layers: np.ndarray
) -> Iterator[tuple[str, str, int]]:
    """Yield the counts of excluded facts (LEFT_OUT): by relation, label and template."""
    coverage = material.coverage
    yield (NOT_ASKED, "", material.known.facts.height - coverage.facts.height)
    labelled = layers[LABELLED]
    yield (NO_LABEL, "", int((~labelled).sum()))
    for language, column in zip(
        request.languages, coverage.columns(request.languages), strict=True
    ):
        yield (NO_LABEL, language, int((~coverage.layers[LABELLED, :, column]).sum()))
    dumb = coverage.facts.filter(labelled & ~can_be_asked(layers))["relation"].value_counts()
    counts = dict(dumb.sort("relation").iter_rows())
    if request.wording:
        yield from total(NOT_BOTH, counts)
        return
    named = {
        f"{relation} in {', '.join(list_without_template(request, material, relation))}": count
        for relation, count in counts.items()
    }
    yield from total(NO_SENTENCE, named)


def list_without_template(request: Request, material: Material, relation: str) -> list[str]:
    """Return the requested languages without a template of the relation."""
    present = set(material.templates.filter(pl.col("relation") == relation)["language"])
    return [language for language in request.languages if language not in present]


def total(reason: str, counts: dict[str, int]) -> Iterator[tuple[str, str, int]]:
    """Yield lines of LEFT_OUT for a reason: the sum of the counts, then each count."""
    yield (reason, "", sum(counts.values()))
    yield from ((reason, detail, count) for detail, count in counts.items())


def describe(
    request: Request,
    material: Material,
    rows: dict[str, list[Row]],
    left_out: Iterable[tuple[str, str, int]],
) -> Notes:
    """Return the notes of the set, without sources of templates that no row uses."""
    own = all(
        row.template_id.startswith(f"{request.source}:") for part in rows.values() for row in part
    )
    first = rows[request.languages[0]]
    return Notes(
        config=request.name,
        command=request.command,
        seed=request.seed,
        languages=request.languages,
        source_facts=material.known.facts.height,
        facts=len({row.fact_id for row in first}),
        rows=len(first),
        used_templates=count_templates(first)
        if request.templates > 1
        else pl.DataFrame(schema=USED_TEMPLATES),
        left_out=pl.DataFrame([line for line in left_out if line[2]], LEFT_OUT, orient="row"),
        costs=trace_costs(material.coverage, request.languages),
        borrowed=material.borrowed,
        repairs=material.known.repairs,
        sources=tuple(s for s in material.sources if s.role != "templates" or not own),
    )


def count_templates(rows: Sequence[Row]) -> pl.DataFrame:
    """Return USED_TEMPLATES for the rows of one language; a sentence counts as one template."""
    counts = Counter((row.relation, row.fact_id) for row in rows)
    repeated: dict[str, list[int]] = {}
    for (relation, _), count in counts.items():
        repeated.setdefault(relation, []).append(count)
    lines = [(relation, max(part), len(part), sum(part)) for relation, part in repeated.items()]
    return pl.DataFrame(lines, USED_TEMPLATES, orient="row")


def explain_empty(request: Request, material: Material, layers: np.ndarray) -> PolyprobeError:
    """Return the error for languages without a common fact."""
    coverage = material.coverage
    labelled = int(layers[LABELLED].sum())
    mute = [
        language
        for language in request.languages
        if not can_be_asked(coverage.within([language])).any()
    ]
    why = f"; no sentence at all in {', '.join(mute)}" if mute else ""
    return PolyprobeError(
        f"no fact of {request.source} can be asked in every language asked for ({labelled} have "
        f"labels in all of them{why}); leave some out, --plan shows their cost"
    )
