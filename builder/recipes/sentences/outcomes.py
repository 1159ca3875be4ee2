"""The outcome of each row in a language: its translation, and the object found there."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from polyprobe.builder.facts.labels import normalise
from polyprobe.builder.output.folder import write_table
from polyprobe.builder.translators import Translation, Translator
from polyprobe.schema.columns import SLOT, Row

if TYPE_CHECKING:  # it needs rapidfuzz, an extra
    from polyprobe.builder.objects.find import ObjectSpan

FOUND = "found"
NO_ANSWER = "no-answer"
EMPTY = "empty"
UNCHANGED = "unchanged"
NO_OBJECT = "no-object"
BAD_SLOT = "bad-slot"
COLLISION = "collision"
UNTRANSLATED = (NO_ANSWER, EMPTY, UNCHANGED)

STATUSES = {
    FOUND: "the object was found in the sentence",
    NO_ANSWER: "the translator gave no usable answer",
    EMPTY: "the translation is empty",
    UNCHANGED: "the translation is the sentence of the source language",
    NO_OBJECT: "the answer was not found in the translation",
    BAD_SLOT: "the sentence itself contains [X] or [Y]",
    COLLISION: "two candidates have the same text",
}

MARKS = (SLOT, "[X]")
Find = Callable[..., "list[ObjectSpan | None]"]


class Outcome(NamedTuple):
    """The outcome of a base row in one language; the fields are the columns of OUTCOMES.

    `english` is the sentence in the source language. `form` is the text of the translation from
    character `start` to `end`, and `score` (0-100) its similarity to the label; they are "", 0 and
    0 if nothing was found. `reason` is empty if the status is FOUND.
    """

    language: str
    row: int
    fact_id: str
    english: str
    translation: str
    label: str
    form: str = ""
    start: int = 0
    end: int = 0
    score: float = 0.0
    status: str = FOUND
    reason: str = ""


ARROW = {str: pa.string(), int: pa.int32(), float: pa.float32()}
OUTCOMES = pa.schema([(name, ARROW[kind]) for name, kind in Outcome.__annotations__.items()])


class Filled(NamedTuple):
    """A row's prompt with the answer's label in the slot, from character `start` to `end`."""

    text: str
    start: int
    end: int


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
        for number, (row, filled) in enumerate(zip(rows, map(fill_prompt, rows), strict=True))
    ]


def fill_prompt(row: Row) -> Filled:
    """Return the row's prompt with the label of its answer, uninflected.

    >>> fill_prompt(Row("f", "", "", "", "", "In [Y].", ["Oslo", "Rome"], [], [1], [], ""))
    Filled(text='In Rome.', start=3, end=7)
    """
    label = answer_label(row)
    start = row.prompt.index(SLOT)
    return Filled(row.prompt.replace(SLOT, label, 1), start, start + len(label))


def answer_label(row: Row) -> str:
    """Return the label of the row's answer, or of the first of several."""
    return row.candidates[row.answers[0]]


def mark_slots(outcome: Outcome) -> Outcome:
    """Return the outcome, as BAD_SLOT if its sentence already contains a slot."""
    for mark in MARKS:
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
    sentences = [fill_prompt(row).text for row in source[1]]
    terms = [name_terms(*pair) for pair in zip(source[1], target[1], strict=True)]
    relations = [row.relation for row in source[1]]
    answers = translator.translate_each(
        sentences, source[0], target[0], terms=terms, relations=relations
    )
    outcomes = [
        read_answer(Outcome(target[0], n, row.fact_id, sentence, "", answer_label(row)), answer)
        for n, (row, sentence, answer) in enumerate(zip(target[1], sentences, answers, strict=True))
    ]
    usable = [outcome for outcome in outcomes if not outcome.reason]
    aliases = [list_aliases(target[1][outcome.row]) for outcome in usable]
    sentences, labels = [o.translation for o in usable], [o.label for o in usable]
    spans = find(sentences, labels, target[0], aliases=aliases)
    for outcome, place in zip(usable, spans, strict=True):
        rows = source[1][outcome.row], target[1][outcome.row]
        outcomes[outcome.row] = reject_untranslated(locate_object(outcome, place), *rows)
    return outcomes


def name_terms(source: Row, target: Row) -> dict[str, str]:
    """Return {source label: target label} of subject and answer."""
    pairs = ((source.subject, target.subject), (answer_label(source), answer_label(target)))
    return {label: translation for label, translation in pairs if label and translation}


def read_answer(outcome: Outcome, answer: Translation) -> Outcome:
    """Return the outcome with its translation, or with the reason for rejecting it.

    Invisible characters that are not part of the spelling are removed, as from all texts; for
    example the direction marks that Google puts after a name in Hebrew.
    """
    result = outcome._replace(translation=normalise(answer.text, outcome.language))
    if answer.problem:
        status = answer.problem if answer.problem in (EMPTY, UNCHANGED) else NO_ANSWER
        return result._replace(status=status, reason=answer.problem)
    return mark_slots(result)


def list_aliases(row: Row) -> list[str]:
    """Return the other names of the answer; none for a row with several answers."""
    return [] if len(row.answers) > 1 else [f for f in row.answer_forms if f != answer_label(row)]


def locate_object(outcome: Outcome, place: "ObjectSpan | None") -> Outcome:
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
    form, original = outcome.form.casefold(), answer_label(source).casefold()
    names = [name.casefold() for name in (outcome.label, *list_aliases(target))]
    if form == original and not set(" ".join(names).split()).issuperset(form.split()):
        return lose(outcome, f"{outcome.form!r} was left as it is, for {outcome.label!r}")
    # A word like the subject is the subject: `Eslovenia` is not the answer `esloveno`.
    subject = target.subject.casefold()
    if outcome.score < 100 and ratio(form, subject) > max(ratio(form, name) for name in names):
        return lose(outcome, f"no words like {outcome.label!r} but the subject, {outcome.form!r}")
    return outcome


def write_outcomes(folder: Path, name: str, outcomes: Iterable[Outcome]) -> Path:
    """Write `folder/sentences/NAME.parquet` and return its path."""
    path = folder / "sentences" / f"{name}.parquet"
    table = pa.Table.from_pylist([outcome._asdict() for outcome in outcomes], schema=OUTCOMES)
    write_table(table, path)
    return path


Base = dict[str, list[Row]]
