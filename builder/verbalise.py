"""From facts to sentences: which template or prompt a fact gets, and its row in each language."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import polars as pl

from polyprobe import PolyprobeError

from .distractors import Fact
from .facts import TEMPLATES, Facts
from .progress import track
from .table import SLOT, Row

SUBJECT = "[X]"


class Query(NamedTuple):
    """A fact with its candidates by id, the same in every language; `answer` is its place."""

    fact: Fact
    candidates: list[str]
    answer: int


class Sentence(NamedTuple):
    """A prompt with the slot, and what counts as right beside the object's label ('' if none)."""

    prompt: str
    form: str
    template_id: str


class Wording(NamedTuple):
    """How one language says things: labels by id, templates by relation, prompts by fact."""

    labels: dict[str, str]
    templates: dict[str, tuple[str, str]]
    prompts: dict[Fact, Sentence]


def choose_templates(own: pl.DataFrame, fallback: pl.DataFrame) -> pl.DataFrame:
    """Return one template for a language and relation (TEMPLATES): the first of the source's own.

    Where the source has none, it is the first of the fallback's.
    """
    both = pl.concat([own.select(*TEMPLATES), fallback.select(*TEMPLATES)])
    first = both.unique(["language", "relation"], keep="first", maintain_order=True)
    return first.sort("language", "relation")


def verbalise(
    queries: Sequence[Query],
    known: Facts,
    templates: pl.DataFrame,
    languages: Sequence[str],
    source: str,
) -> dict[str, list[Row]]:
    """Return {language: rows}: a query is one row, with the same candidates in every language.

    A fact that has a sentence of the source's own in every language takes that, any other the
    template of its relation with the subject's label.
    """
    prompted = find_prompted(known.prompts, languages)
    rows = {}
    for language in track(languages, "writing sentences"):
        wording = Wording(
            labels=dict(of_language(known.labels, language).select("id", "label").iter_rows()),
            templates={
                relation: (template, template_id)
                for relation, template_id, template in of_language(templates, language).iter_rows()
            },
            prompts=dict(read_prompts(known.prompts, language, prompted, source)),
        )
        rows[language] = [make_row(query, wording, language) for query in queries]
    return rows


def of_language(table: pl.DataFrame, language: str) -> pl.DataFrame:
    """Return the rows of one language, without the column."""
    return table.filter(pl.col("language") == language).drop("language")


def find_prompted(prompts: pl.DataFrame, languages: Sequence[str]) -> pl.DataFrame:
    """Return the facts that have a prompt in every one of the languages."""
    key = ["relation", "subject_id", "object_id"]
    asked = prompts.filter(pl.col("language").is_in(list(languages)))
    counts = asked.group_by(key).agg(pl.col("language").n_unique().alias("languages"))
    return counts.filter(pl.col("languages") == len(set(languages))).select(key)


def read_prompts(
    prompts: pl.DataFrame, language: str, facts: pl.DataFrame, source: str
) -> Iterator[tuple[Fact, Sentence]]:
    """Yield the first prompt in a language of each of the facts."""
    chosen = of_language(prompts, language).join(facts, on=facts.columns, how="semi")
    first = chosen.sort(chosen.columns).unique(facts.columns, keep="first", maintain_order=True)
    for *ids, prompt, form in first.select(*facts.columns, "prompt", "form").iter_rows():
        fact = Fact(*ids)
        yield fact, Sentence(prompt, form or "", f"{source}:{fact.relation}:sentence")


def make_row(query: Query, wording: Wording, language: str) -> Row:
    """Return the query as a row; PolyprobeError where its sentence has not exactly one slot."""
    fact, labels = query.fact, wording.labels
    label, subject = labels[fact.object_id], labels[fact.subject_id]
    sentence = wording.prompts.get(fact) or fill(*wording.templates[fact.relation], subject)
    if sentence.prompt.count(SLOT) != 1:
        raise PolyprobeError(
            f"{fact.id} in {language}: expected exactly one {SLOT} in {sentence.prompt!r}; "
            f"leave the relation out with --exclude {fact.relation}"
        )
    return Row(
        fact_id=fact.id,
        relation=fact.relation,
        subject_id=fact.subject_id,
        object_id=fact.object_id,
        subject=subject,
        prompt=sentence.prompt,
        candidates=[labels[entity] for entity in query.candidates],
        candidate_ids=query.candidates,
        answers=[query.answer],
        answer_forms=list(dict.fromkeys(filter(None, (label, sentence.form)))),
        template_id=sentence.template_id,
    )


def fill(template: str, template_id: str, subject: str) -> Sentence:
    """Return the template with the subject's label in its place."""
    return Sentence(template.replace(SUBJECT, subject), "", template_id)
