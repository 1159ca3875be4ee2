"""The outcome of each row in a language: its translation, and the object found there."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from polyprobe.builder.facts import SUBJECT
from polyprobe.builder.facts.labels import normalise
from polyprobe.builder.translators import Translation, Translator
from polyprobe.schema.columns import SLOT, Row

if TYPE_CHECKING:  # it needs rapidfuzz, an extra
    from polyprobe.builder.objects.find import ObjectSpan

FOUND = "found"  # the object is in the sentence
NO_ANSWER = "no-answer"  # the translator gave no usable answer
EMPTY = "empty"
UNCHANGED = "unchanged"  # the translation is the sentence of the source language
NO_OBJECT = "no-object"  # the answer is not in the translation
BAD_SLOT = "bad-slot"  # the sentence itself contains a slot
COLLISION = "collision"  # two candidates have the same text
UNTRANSLATED = (NO_ANSWER, EMPTY, UNCHANGED)
STATUSES = (FOUND, *UNTRANSLATED, NO_OBJECT, BAD_SLOT, COLLISION)
Find = Callable[..., "list[ObjectSpan | None]"]


class Outcome(NamedTuple):
    """The outcome of a base row in one language; the fields are the columns of OUTCOMES."""

    language: str
    row: int
    fact_id: str
    english: str  # the sentence in the source language
    translation: str
    label: str
    form: str = ""  # the text of the translation from character `start` to `end`
    start: int = 0
    end: int = 0
    score: float = 0.0  # similarity of form and label, 0 to 100
    status: str = FOUND
    reason: str = ""  # empty if the status is FOUND


ARROW = {str: pa.string(), int: pa.int32(), float: pa.float32()}
OUTCOMES = pa.schema([(name, ARROW[kind]) for name, kind in Outcome.__annotations__.items()])


def keep_source(rows: Sequence[Row], language: str) -> list[Outcome]:
    """Return the outcomes in the source language: its sentences are the filled prompts."""
    outcomes = []
    for number, row in enumerate(rows):
        label, text = answer_label(row), fill_prompt(row)
        start = row.prompt.index(SLOT)
        outcome = Outcome(
            *(language, number, row.fact_id, text, text, label),
            form=label,
            start=start,
            end=start + len(label),
            score=100.0,
        )
        outcomes.append(mark_slots(outcome))
    return outcomes


def fill_prompt(row: Row) -> str:
    """Return the row's prompt with the label of its answer, uninflected.

    >>> fill_prompt(Row("f", "", "", "", "", "In [Y].", ["Oslo", "Rome"], [], [1], [], ""))
    'In Rome.'
    """
    return row.prompt.replace(SLOT, answer_label(row), 1)


def answer_label(row: Row) -> str:
    """Return the label of the row's answer, or of the first of several."""
    return row.candidates[row.answers[0]]


def mark_slots(outcome: Outcome) -> Outcome:
    """Return the outcome, as BAD_SLOT if its sentence already contains a slot."""
    for mark in (SLOT, SUBJECT):
        if mark in outcome.english or mark in outcome.translation:
            return outcome._replace(status=BAD_SLOT, reason=f"the sentence contains {mark}")
    return outcome


def translate_rows(
    source: tuple[str, Sequence[Row]],
    target: tuple[str, Sequence[Row]],
    translator: Translator,
    find: Find,
) -> list[Outcome]:
    """Return the outcomes of `source` rows in the language of `target`; both are (language, rows).

    `find` is `objects.find_objects` with the settings of a run.
    """
    pairs = list(zip(source[1], target[1], strict=True))
    sentences = [fill_prompt(row) for row in source[1]]
    answers = translator.translate_each(
        sentences,
        source[0],
        target[0],
        terms=[name_terms(*pair) for pair in pairs],
        relations=[row.relation for row in source[1]],
    )
    outcomes = [
        read_answer(Outcome(target[0], n, row.fact_id, sentence, "", answer_label(row)), answer)
        for n, (row, sentence, answer) in enumerate(zip(target[1], sentences, answers, strict=True))
    ]
    usable = [outcome for outcome in outcomes if not outcome.reason]
    spans = find(
        [outcome.translation for outcome in usable],
        [outcome.label for outcome in usable],
        target[0],
        aliases=[list_aliases(target[1][outcome.row]) for outcome in usable],
    )
    for outcome, span in zip(usable, spans, strict=True):
        if span is None:
            result = lose(outcome, f"no words like {outcome.label!r}")
        else:
            form, start, end = span.form, span.start, span.end
            result = outcome._replace(form=form, start=start, end=end, score=float(span.score))
            result = reject_untranslated(result, *pairs[outcome.row])
        outcomes[outcome.row] = result
    return outcomes


def name_terms(source: Row, target: Row) -> dict[str, str]:
    """Return {source label: target label} of subject and answer."""
    pairs = ((source.subject, target.subject), (answer_label(source), answer_label(target)))
    return {label: translation for label, translation in pairs if label and translation}


def read_answer(outcome: Outcome, answer: Translation) -> Outcome:
    """Return the outcome with its translation, or with the reason for rejecting it."""
    # Google puts direction marks after a name in Hebrew: invisible characters go, as everywhere.
    result = outcome._replace(translation=normalise(answer.text, outcome.language))
    if answer.problem:
        status = answer.problem if answer.problem in (EMPTY, UNCHANGED) else NO_ANSWER
        return result._replace(status=status, reason=answer.problem)
    return mark_slots(result)


def list_aliases(row: Row) -> list[str]:
    """Return the other names of the answer; none for a row with several answers."""
    return [] if len(row.answers) > 1 else [f for f in row.answer_forms if f != answer_label(row)]


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

    form, original = outcome.form.casefold(), answer_label(source).casefold()
    names = [name.casefold() for name in (outcome.label, *list_aliases(target))]
    if form == original and not set(" ".join(names).split()).issuperset(form.split()):
        return lose(outcome, f"{outcome.form!r} was left as it is, for {outcome.label!r}")
    subject = target.subject.casefold()
    # A form equal to a label is its own, whatever the subject (Luxembourg, capital of Luxembourg).
    if outcome.score < 100 and ratio(form, subject) > max(ratio(form, name) for name in names):
        return lose(outcome, f"no words like {outcome.label!r} but the subject, {outcome.form!r}")
    return outcome
