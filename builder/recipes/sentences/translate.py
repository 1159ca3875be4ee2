"""Translation of the rows of one language, and the search for objects in the translations."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from polyprobe.builder.facts.labels import normalise
from polyprobe.builder.translators import Translation, Translator
from polyprobe.schema.columns import SLOT, Row

from .base import answer_label, fill, name_terms
from .outcomes import BAD_SLOT, EMPTY, FOUND, NO_ANSWER, NO_OBJECT, UNCHANGED, Outcome

if TYPE_CHECKING:  # it needs rapidfuzz, an extra
    from polyprobe.builder.objects.find import ObjectSpan

MARKS = (SLOT, "[X]")
Find = Callable[..., "list[ObjectSpan | None]"]


def keep_source(rows: Sequence[Row], language: str) -> list[Outcome]:
    """Return the outcomes in the source language: its sentences are the filled prompts."""
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
    """Return the outcomes of `source` rows in the language of `target`; both are (language, rows).

    `find` is `objects.find_objects` with the settings of a run.
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
    """Return the outcome with its translation, or with the reason for rejecting it.

    Invisible characters that are not part of the spelling are removed, as from all texts; for
    example the direction marks that Google puts after a name in Hebrew.
    """
    told = outcome._replace(translation=normalise(answer.text, outcome.language))
    if answer.problem:
        status = answer.problem if answer.problem in (EMPTY, UNCHANGED) else NO_ANSWER
        return told._replace(status=status, reason=answer.problem)
    return mark_slots(told)


def mark_slots(outcome: Outcome) -> Outcome:
    """Return the outcome, as BAD_SLOT if its sentence already contains a slot."""
    for mark in MARKS:
        if mark in outcome.english or mark in outcome.translation:
            return outcome._replace(status=BAD_SLOT, reason=f"the sentence contains {mark}")
    return outcome


def list_aliases(row: Row) -> list[str]:
    """Return the other names of the answer; none for a row with several answers."""
    return [] if len(row.answers) > 1 else [f for f in row.answer_forms if f != answer_label(row)]


def locate(outcome: Outcome, place: "ObjectSpan | None") -> Outcome:
    """Return the outcome with the position of its object, or as NO_OBJECT."""
    if place is None:
        return lose(outcome, f"no words like {outcome.label!r}")
    return outcome._replace(
        form=place.form, start=place.start, end=place.end, score=float(place.score)
    )


def lose(outcome: Outcome, reason: str) -> Outcome:
    """Return the outcome as NO_OBJECT."""
    return outcome._replace(form="", start=0, end=0, score=0.0, status=NO_OBJECT, reason=reason)


def reject_untranslated(outcome: Outcome, source: Row, target: Row) -> Outcome:
    """Return the outcome, as NO_OBJECT if the object found is not in the target language.

    - It equals the label of the source language: `Armenian` for `armenio`. Names made of words of
      the label or an alias are accepted (`Paris`, `Microsoft`).
    - It is more similar to the subject: `Eslovenia` for `esloveno`, where `Slovenian` was left
      untranslated.
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
