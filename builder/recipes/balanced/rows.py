"""The rows of a balanced set: candidates drawn for each fact, and a sentence in each language."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

import polars as pl

from polyprobe.builder.facts import FACTS, SUBJECT, Fact
from polyprobe.builder.facts.truths import Alike, CorrectAnswers
from polyprobe.builder.recipes.requests import BalancedRequest
from polyprobe.builder.recipes.sentences.outcomes import Outcome, inflect_candidates
from polyprobe.schema.columns import Row
from polyprobe.system.files import hash_text, shuffle_items
from polyprobe.system.messages import track

from .material import Material, mark

ALONE = "one candidate"


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
