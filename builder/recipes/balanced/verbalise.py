"""Verbalise facts: choose templates or a prompt for each, and make its rows in each language."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import polars as pl

from polyprobe.builder.facts import FACTS, PROMPTS, SUBJECT, Fact, empty
from polyprobe.builder.recipes.sentences.forms import inflect_candidates
from polyprobe.builder.recipes.sentences.outcomes import Outcome
from polyprobe.schema.columns import SLOT, Row
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.progress import track

from .draw import Query
from .material import Material
from .request import Request


class Sentence(NamedTuple):
    """A prompt with the slot, and a correct form other than the object's label ('' if none)."""

    prompt: str
    form: str
    template_id: str


class LanguageTexts(NamedTuple):
    """Texts of one language: labels by id, templates by relation, prompts by fact.

    A template is a pair of text and id.
    """

    labels: dict[str, str]
    templates: dict[str, list[tuple[str, str]]]
    prompts: dict[Fact, Sentence]


def verbalise(
    request: Request, material: Material, queries: Sequence[Query]
) -> dict[str, list[Row]]:
    """Return {language: rows} in the requested wording, as many in every language.

    A fact with a sentence of the source in every language has one row with that sentence. Any other
    fact has consecutive rows, one for each template of its relation, filled with the subject's
    label. `material` has the same number of templates in every language (`level_templates`). The
    candidates are the same in all rows of a query.
    """
    known, languages = material.known, request.languages
    prompts = empty(PROMPTS) if request.wording == "template" else known.prompts
    prompted = find_prompted(prompts, languages)
    rows = {}
    for language in track(languages, "writing sentences"):
        texts = LanguageTexts(
            labels=dict(of_language(known.labels, language).select("id", "label").iter_rows()),
            templates=group_templates(of_language(material.templates, language)),
            prompts=dict(read_prompts(prompts, language, prompted, request.source)),
        )
        own = [row for query in queries for row in make_rows(query, texts, language)]
        rows[language] = inflect_rows(own, language) if request.wording == "sentence" else own
    return rows


def find_prompted(prompts: pl.DataFrame, languages: Sequence[str]) -> pl.DataFrame:
    """Return the facts with a prompt in all of the languages."""
    asked = prompts.filter(pl.col("language").is_in(list(languages)))
    counts = asked.group_by(*FACTS).agg(pl.col("language").n_unique().alias("languages"))
    return counts.filter(pl.col("languages") == len(set(languages))).select(*FACTS)


def of_language(table: pl.DataFrame, language: str) -> pl.DataFrame:
    """Return the rows of one language, without the language column."""
    return table.filter(pl.col("language") == language).drop("language")


def group_templates(templates: pl.DataFrame) -> dict[str, list[tuple[str, str]]]:
    """Return {relation: [(template, id)]} of one language, in their order."""
    grouped: dict[str, list[tuple[str, str]]] = {}
    for relation, template_id, template in templates.iter_rows():
        grouped.setdefault(relation, []).append((template, template_id))
    return grouped


def read_prompts(
    prompts: pl.DataFrame, language: str, facts: pl.DataFrame, source: str
) -> Iterator[tuple[Fact, Sentence]]:
    """Yield the first prompt of each fact in a language."""
    chosen = of_language(prompts, language).join(facts, on=facts.columns, how="semi")
    first = chosen.sort(chosen.columns).unique(facts.columns, keep="first", maintain_order=True)
    for *ids, prompt, form in first.select(*facts.columns, "prompt", "form").iter_rows():
        fact = Fact(*ids)
        yield fact, Sentence(prompt, form or "", f"{source}:{fact.relation}:sentence")


def make_rows(query: Query, texts: LanguageTexts, language: str) -> Iterator[Row]:
    """Yield the rows of a query; PolyprobeError for a sentence without exactly one slot."""
    fact, labels = query.fact, texts.labels
    subject = labels[fact.subject_id]
    candidates = [labels[entity] for entity in query.candidates]
    for sentence in list_sentences(fact, texts, subject):
        if sentence.prompt.count(SLOT) != 1:
            raise PolyprobeError(
                f"{fact.id} in {language}: expected exactly one {SLOT} in {sentence.prompt!r}; "
                f"leave the relation out with --exclude {fact.relation}"
            )
        forms = dict.fromkeys(filter(None, (labels[fact.object_id], sentence.form)))
        yield Row(
            fact_id=fact.id,
            **fact._asdict(),
            subject=subject,
            prompt=sentence.prompt,
            candidates=candidates,
            candidate_ids=query.candidates,
            answers=[query.answer],
            answer_forms=list(forms),
            template_id=sentence.template_id,
        )


def list_sentences(fact: Fact, texts: LanguageTexts, subject: str) -> list[Sentence]:
    """Return the fact's own sentence, or the filled templates of its relation."""
    own = texts.prompts.get(fact)
    return (
        [own]
        if own
        else [
            Sentence(template.replace(SUBJECT, subject), "", template_id)
            for template, template_id in texts.templates[fact.relation]
        ]
    )


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
