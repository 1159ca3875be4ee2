"""Build a balanced set: the largest multi-parallel set of a source for the requested languages."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from polyprobe.builder.facts import FACTS, SUBJECT, Fact
from polyprobe.builder.facts.truths import Alike, CorrectAnswers, find_alike, flag_rows, learn
from polyprobe.builder.output.folder import Config, render_text
from polyprobe.builder.recipes.requests import BalancedRequest
from polyprobe.builder.recipes.sentences import Outcome, inflect_candidates
from polyprobe.builder.sources import TRUTH_SOURCES, load_source
from polyprobe.schema.columns import Row
from polyprobe.system.files import hash_text, shuffle_items
from polyprobe.system.messages import PolyprobeError, report, track

from .material import LABELLED, Coverage, Material, Provenance, has_wording, mark, trace_costs

# A line with an empty detail counts each fact of a reason once. One with a language or relation
# counts the facts concerned there: labels of a fact may be missing in several languages.
LEFT_OUT = {"reason": pl.String, "detail": pl.String, "facts": pl.Int64}
USED_TEMPLATES = {"relation": pl.String, "templates": pl.Int64, "facts": pl.Int64, "rows": pl.Int64}
IN_TOTAL = "in total"  # the place of a line of all places together
NO_LABEL = "no label"
# Why a set lacks a published fact: the first that applies.
LACKS = (
    "relation not in the source or not requested",
    "subject not in the relation",
    "object not with this subject",
    "no label in a language",
    "no template in a language",
    "no distractor, or over --max-per-relation",
)
IN_SET = "in the set"
ROLES = {"truths": "correct answers"}  # roles with another name in cards
ALONE = "one candidate"


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
    published: pl.DataFrame = pl.DataFrame()  # `count_reasons`, if BMLAMA has the same languages


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


class Query(NamedTuple):
    """A fact with its candidates by id, the same in every language; `answer` is an index."""

    fact: Fact
    candidates: list[str]
    answer: int


class Sentence(NamedTuple):
    """A prompt with the slot, and a correct form other than the object's label ('' if none)."""

    prompt: str
    form: str
    template_id: str


def draw_queries(
    request: BalancedRequest, material: Material, facts: pl.DataFrame, correct: CorrectAnswers
) -> tuple[list[Query], list[tuple[str, str, int]]]:
    """Return the kept queries, sorted, and counts of excluded facts (LEFT_OUT)."""
    objects = material.coverage.facts.select("relation", id="object_id").unique()
    # Only an object with a label in every language can be a candidate.
    mask = mark(material.content.labels, objects.select("id"), request.languages).all(axis=1)
    labelled = dict(objects.filter(mask).group_by("relation").agg("id").iter_rows())
    queries: list[Query] = []
    singles: dict[str, int] = {}
    over = 0
    parts = facts.sort(facts.columns).partition_by("relation", maintain_order=True)
    for part in track(parts, "drawing candidates"):
        group = list(map(Fact._make, part.iter_rows()))
        relation = group[0].relation
        additions, tried = draw_relation(group, labelled[relation], correct, request)
        queries += additions
        singles[relation] = tried - len(additions)
        over += len(group) - tried
    return queries, [*list_total(ALONE, singles), ("over --max-per-relation", "", over)]


def draw_relation(
    facts: Sequence[Fact], objects: Iterable[str], correct: CorrectAnswers, request: BalancedRequest
) -> tuple[list[Query], int]:
    """Return the queries of a relation, sorted, and the number of facts tried."""
    # Distractors are drawn from the objects of the facts, each as often as it is an object (each
    # once with `--draw uniform`), then from the other objects of the relation if more are needed.
    answers = sorted(fact.object_id for fact in facts)
    first = answers if request.draw == "frequency" else sorted({*answers})
    pools = (first, sorted({*objects}.difference(answers)))
    limit = request.max_per_relation or len(facts)
    queries: list[Query] = []
    tried = 0
    # A random sample; by hash, so that a fact keeps its turn when others come or go.
    for fact in sorted(facts, key=lambda x: (hash_text(f"{request.seed}|{x.id}|order"), x)):
        if len(queries) == limit:
            break
        tried += 1
        right = correct.of(fact)
        if distractors := draw_distractors(fact, right, correct.homonyms, pools, request):
            if request.draw == "frequency":  # frequent objects are drawn first
                key = f"{request.seed}|{fact.id}|places"
                distractors = [*shuffle_items(sorted(distractors), key)]
            queries.append(Query(fact, *place_answer(fact, distractors, request.seed)))
    return sorted(queries, key=attrgetter("fact")), tried


def draw_distractors(
    fact: Fact,
    right: Iterable[str],
    homonyms: Alike,
    pools: Iterable[Sequence[str]],
    request: BalancedRequest,
) -> list[str]:
    """Return the distractors of a fact from the pools (sorted ids, which may repeat)."""
    # Each pool is drawn without replacement until it is empty; then the next one is used. Excluded
    # are the subject, correct answers (`right`), earlier distractors, and their homonyms.
    barred = {fact.subject_id}.union(*(homonyms.get(entity, {entity}) for entity in right))
    distractors: list[str] = []
    key = f"{request.seed}|{fact.id}"
    for entity in chain.from_iterable(shuffle_items(pool, key) for pool in pools):
        if len(distractors) == request.candidates - 1:
            break
        if entity not in barred:
            distractors.append(entity)
            # A second candidate of the same name could not be told from the first.
            barred |= homonyms.get(entity, {entity})
    return distractors


def place_answer(fact: Fact, distractors: Sequence[str], seed: int) -> tuple[list[str], int]:
    """Return the candidates with the answer inserted, and its index, uniform by hash."""
    place = hash_text(f"{seed}|{fact.id}|answer") % (len(distractors) + 1)
    return [*distractors[:place], fact.object_id, *distractors[place:]], place


def list_total(reason: str, counts: dict[str, int]) -> Iterator[tuple[str, str, int]]:
    """Yield lines of LEFT_OUT for a reason: the sum of the counts, then each count."""
    yield (reason, "", sum(counts.values()))
    yield from ((reason, detail, count) for detail, count in counts.items())


def verbalise(
    request: BalancedRequest, material: Material, queries: Sequence[Query]
) -> dict[str, list[Row]]:
    """Return {language: rows} in the requested wording, as many in every language."""
    # A fact with a sentence of the source in every language has one row with it. Any other fact has
    # a row for each template of its relation, as many in every language (`level_templates`).
    languages, prompts = request.languages, material.content.prompts
    source = "+".join(request.sources)
    part = prompts.filter(pl.col("language").is_in(list(languages)))
    if request.wording == "template":
        part = part.clear()
    shared = part.filter(pl.col("language").n_unique().over(*FACTS) == len(set(languages)))
    keys = ["language", *FACTS]
    first = shared.sort(pl.all()).unique(keys, keep="first", maintain_order=True)
    rows = {}
    for language in track(languages, "writing sentences"):
        labels = material.content.labels.filter(language=language)
        names = dict(labels.select("id", "label").iter_rows())
        templates: dict[str, list[Sentence]] = defaultdict(list)
        for _, relation, name, text in material.templates.filter(language=language).iter_rows():
            templates[relation].append(Sentence(text, "", name))
        sentences = {
            Fact(*ids): Sentence(prompt, form or "", f"{source}:{ids[0]}:sentence")
            for _, *ids, prompt, form in first.filter(language=language).iter_rows()
        }
        made = [row for x in queries for row in phrase_query(x, names, templates, sentences)]
        rows[language] = inflect_rows(made, language) if request.wording == "sentence" else made
    return rows


def phrase_query(
    query: Query,
    labels: Mapping[str, str],
    templates: Mapping[str, Sequence[Sentence]],
    sentences: Mapping[Fact, Sentence],
) -> Iterator[Row]:
    """Yield the rows of a query, with its own sentence or the filled templates of its relation."""
    fact, ids = query.fact, query.candidates
    subject = labels[fact.subject_id]
    candidates = [labels[entity] for entity in query.candidates]
    of_fact = [sentences[fact]] if fact in sentences else templates[fact.relation]
    for sentence in of_fact:
        forms = dict.fromkeys(filter(None, (labels[fact.object_id], sentence.form)))
        prompt = sentence.prompt.replace(SUBJECT, subject)
        answers, template = [query.answer], sentence.template_id
        yield Row(fact.id, *fact, subject, prompt, candidates, ids, answers, [*forms], template)


def inflect_rows(rows: Sequence[Row], language: str) -> list[Row]:
    """Return the rows of one language with candidates inflected for their sentences."""
    # The answer is the form found in the sentence, the last of `answer_forms`.
    outcomes = [
        Outcome(language, n, row.fact_id, "", "", row.answer_forms[0], row.answer_forms[-1])
        for n, row in enumerate(rows)
    ]
    inflected = inflect_candidates(rows, outcomes).candidates
    # A row with two equal forms is not among the inflected ones: it keeps its labels.
    return [row._replace(candidates=inflected.get(n, row.candidates)) for n, row in enumerate(rows)]


def count_published(
    request: BalancedRequest, coverage: Coverage, rows: Iterable[Row], mirror: Path | None
) -> pl.DataFrame:
    """Return `count_reasons` of the configuration of BMLAMA in these languages, if there is one."""
    bmlama = load_source("bmlama")
    names = (x for x in bmlama.PUBLISHED if {*bmlama.list_paths(x)} == {*request.languages})
    if not (name := next(names, "")):
        return pl.DataFrame()
    queries = bmlama.read_linked(mirror)[name].queries
    published = pl.DataFrame([query[1:4] for query in queries], FACTS, orient="row")
    made = pl.DataFrame([row[1:4] for row in rows], FACTS, orient="row")
    reasons = explain_published(published, coverage, request.languages, made)
    return count_reasons(f"BMLAMA-{name}", published["relation"], reasons)


def explain_published(
    published: pl.DataFrame, coverage: Coverage, languages: Sequence[str], rows: pl.DataFrame
) -> list[str]:
    """Return for each published fact (FACTS) IN_SET, or why it is not (LACKS).

    `rows` are the facts (FACTS) of a set in the languages.
    """
    layers, facts = coverage.within(languages), coverage.facts
    parts = (
        facts.select("relation"),
        facts.select("relation", "subject_id"),
        facts,
        facts.filter(layers[LABELLED]),
        facts.filter(has_wording(layers)),
        rows,
    )
    steps = [(x, part.width, {*part.iter_rows()}) for x, part in zip(LACKS, parts, strict=True)]
    return [
        next((reason for reason, width, values in steps if fact[:width] not in values), IN_SET)
        for fact in published.iter_rows()
    ]


def count_reasons(name: str, relations: Sequence[str], reasons: Sequence[str]) -> pl.DataFrame:
    """Return the published facts by relation, and in total, with a column for each reason."""
    totals, counts = Counter(relations), Counter(zip(relations, reasons, strict=True))
    columns = [reason for reason in (IN_SET, *LACKS) if reason in reasons]
    lines = [
        (relation, totals[relation], *(counts[relation, reason] for reason in columns))
        for relation in sorted(totals, key=lambda x: int(x[1:]))
    ]
    lines.append((IN_TOTAL, len(reasons), *map(reasons.count, columns)))
    return pl.DataFrame(lines, [name, "published", *columns], orient="row")


def dump(notes: Notes) -> str:
    """Return the notes as JSON, for the metadata of the Parquet files."""
    several = {"facts": notes.facts, "told": notes.used_templates.rows()}
    published = [notes.published.columns, *notes.published.rows()]
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
        **({"published": published} if notes.published.height else {}),
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
