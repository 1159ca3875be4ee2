"""Every row of one language: asked of the translator, and the object looked for in the answer."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from polyprobe.builder.facts.invisible import normalise
from polyprobe.builder.translators import Translation, Translator
from polyprobe.schema.columns import SLOT, Row

from .base import answer_label, fill, name_terms
from .outcomes import BAD_SLOT, EMPTY, FOUND, NO_ANSWER, NO_OBJECT, UNCHANGED, Outcome

if TYPE_CHECKING:  # it needs rapidfuzz, an extra
    from polyprobe.builder.objects.find import ObjectSpan

MARKS = (SLOT, "[X]")
Find = Callable[..., "list[ObjectSpan | None]"]


def keep_source(rows: Sequence[Row], language: str) -> list[Outcome]:
    """Return the outcomes in the source language itself, whose sentences are the filled prompts."""
    return [
        mark_slots(
            Outcome(
                *(language, number, row.fact_id, filled.text, filled.text, answer_label(row)),
                form=answer_label(row),
                start=filled.start,
                end=filled.end,
                score=100.0,
            )
        )
        for number, (row, filled) in enumerate(zip(rows, map(fill, rows), strict=True))
    ]


def translate_rows(
    source: tuple[str, Sequence[Row]],
    target: tuple[str, Sequence[Row]],
    translator: Translator,
    find: Find,
) -> list[Outcome]:
    """Return the outcomes of the rows of `source` in the language of `target`: (language, rows).

    `find` is `objects.find_objects` but for the settings of a run.
    """
    sentences = [fill(row).text for row in source[1]]
    terms = [name_terms(*pair) for pair in zip(source[1], target[1], strict=True)]
    answers = translator.translate_each(sentences, source[0], target[0], terms=terms)
    outcomes = [
        read_answer(Outcome(target[0], n, row.fact_id, sentence, "", answer_label(row)), answer)
        for n, (row, sentence, answer) in enumerate(zip(target[1], sentences, answers, strict=True))
    ]
    usable = [outcome for outcome in outcomes if not outcome.reason]
    aliases = [list_aliases(target[1][outcome.row]) for outcome in usable]
    sentences, labels = [o.translation for o in usable], [o.label for o in usable]
    found = find(sentences, labels, target[0], aliases=aliases)
    for outcome, place in zip(usable, found, strict=True):
        rows = source[1][outcome.row], target[1][outcome.row]
        outcomes[outcome.row] = reject_untranslated(locate(outcome, place), *rows)
    return outcomes


def read_answer(outcome: Outcome, answer: Translation) -> Outcome:
    """Return the outcome with its translation, or with the reason why it is of no use.

    Invisible characters that are no spelling are taken out of it, as of all our texts: marks of
    writing direction, say, which Google sets behind a name in Hebrew.
    """
    told = outcome._replace(translation=normalise(answer.text, outcome.language))
    if answer.problem:
        status = answer.problem if answer.problem in (EMPTY, UNCHANGED) else NO_ANSWER
        return told._replace(status=status, reason=answer.problem)
    return mark_slots(told)


def mark_slots(outcome: Outcome) -> Outcome:
    """Return the outcome, as BAD_SLOT where its sentence contains a slot before one is cut."""
    for mark in MARKS:
        if mark in outcome.english or mark in outcome.translation:
            return outcome._replace(status=BAD_SLOT, reason=f"the sentence contains {mark}")
    return outcome


def list_aliases(row: Row) -> list[str]:
    """Return the names of the answer beside its label; of several answers none is told apart."""
    return [] if len(row.answers) > 1 else [f for f in row.answer_forms if f != answer_label(row)]


def locate(outcome: Outcome, place: "ObjectSpan | None") -> Outcome:
    """Return the outcome with the place of its object, or as NO_OBJECT."""
    if place is None:
        return lose(outcome, f"no words like {outcome.label!r}")
    return outcome._replace(
        form=place.form, start=place.start, end=place.end, score=float(place.score)
    )


def lose(outcome: Outcome, reason: str) -> Outcome:
    """Return the outcome as NO_OBJECT."""
    return outcome._replace(form="", start=0, end=0, score=0.0, status=NO_OBJECT, reason=reason)


def reject_untranslated(outcome: Outcome, source: Row, target: Row) -> Outcome:
    """Return the outcome, as NO_OBJECT where what was found is no answer in the target language.

    - It stands as in the source language: `Armenian` for `armenio`. Names whose words are those of
      the label or of an alias are right (`Paris`, `Microsoft`).
    - It is more alike to the subject: `Eslovenia` for `esloveno`, where `Slovenian` was left.
    """
    from rapidfuzz.fuzz import ratio

    if outcome.status != FOUND:
        return outcome
    form, own = outcome.form.casefold(), answer_label(source).casefold()
    names = [name.casefold() for name in (outcome.label, *list_aliases(target))]
    if form == own and not set(" ".join(names).split()).issuperset(form.split()):
        return lose(outcome, f"{outcome.form!r} was left as it is, for {outcome.label!r}")
    subject = target.subject.casefold()
    if outcome.score < 100 and ratio(form, subject) > max(ratio(form, name) for name in names):
        return lose(outcome, f"no words like {outcome.label!r} but the subject, {outcome.form!r}")
    return outcome
