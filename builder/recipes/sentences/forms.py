"""Candidates of a sentence, inflected like answers of the same relation.

Otherwise the answer would be the only candidate that fits the sentence grammatically.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from polyprobe.schema.columns import Row

from .outcomes import COLLISION, FOUND, Outcome, answer_label

Forms = Mapping[tuple[str, str], Counter[str]]


class Inflected(NamedTuple):
    """The outcomes of a language's rows, and the candidates of the rows that were found."""

    outcomes: list[Outcome]
    candidates: dict[int, list[str]]


def inflect_nothing(rows: Sequence[Row], outcomes: Sequence[Outcome]) -> Inflected:
    """Return the rows of the source language, with unchanged candidates."""
    numbers = [outcome.row for outcome in outcomes if outcome.status == FOUND]
    return Inflected(list(outcomes), {number: rows[number].candidates for number in numbers})


def inflect_candidates(rows: Sequence[Row], outcomes: Sequence[Outcome]) -> Inflected:
    """Return the candidates of the rows found; rows with two equal candidates are COLLISION."""
    # {(relation, entity): counts of its forms as an answer}
    forms: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for outcome in outcomes:
        if outcome.status == FOUND:
            row = rows[outcome.row]
            form = lower_as(outcome.label, outcome.form)
            forms[row.relation, name_entity(row, row.answers[0])][form] += 1
    settled = list(outcomes)
    candidates = {}
    for outcome in outcomes:
        if outcome.status != FOUND:
            continue
        row = rows[outcome.row]
        # Two distractors may share a form although their labels differ.
        texts = resolve_collisions(row, choose_forms(row, outcome.form, forms))
        if outcome.form[:1] != lower_as(outcome.label, outcome.form)[:1]:
            # The answer is capitalized at the beginning of a sentence: so are the others.
            texts = [text[:1].upper() + text[1:] for text in texts]
        counts = Counter(text.casefold() for text in texts)
        if duplicate := next((text for text in texts if counts[text.casefold()] > 1), ""):
            reason = f"two candidates read {duplicate!r}"
            settled[outcome.row] = outcome._replace(status=COLLISION, reason=reason)
        else:
            candidates[outcome.row] = texts
    return Inflected(settled, candidates)


def lower_as(label: str, form: str) -> str:
    """Return the form with a lower-case first letter if the label starts with that letter.

    >>> lower_as("euro", "Euros"), lower_as("euro", "yuan"), lower_as("Paris", "Paris")
    ('euros', 'yuan', 'Paris')
    """
    small = form[:1].lower()
    return small + form[1:] if label.startswith(small) else form


def name_entity(row: Row, place: int) -> str:
    """Return a candidate's id, or its label if the dataset has no ids."""
    return row.candidate_ids[place] if row.candidate_ids else row.candidates[place]


def choose_forms(row: Row, form: str, forms: Forms) -> list[str]:
    """Return the candidates' texts: the answer as in the sentence, distractors to match.

    - If the answer is inflected here, a distractor takes its most frequent inflected form.
    - If the answer is inflected only elsewhere in the relation, this sentence requires no
      inflection, and distractors keep their labels.
    - If the answer is never inflected, a distractor takes its most frequent form.

    Of equally frequent forms, the first is taken. A distractor without such a form keeps its label.
    Differences in case are not inflection.
    """
    label, place = answer_label(row), row.answers[0]
    inflected = is_inflected(form, label)
    counts = forms.get((row.relation, name_entity(row, place)), Counter())
    plain = not inflected and any(is_inflected(variant, label) for variant in counts)
    texts = list(row.candidates)
    for number, text in enumerate(texts):
        met = forms.get((row.relation, name_entity(row, number)), Counter())
        usable = [f for f, _ in met.most_common() if not inflected or is_inflected(f, text)]
        if usable and not plain:
            texts[number] = usable[0]
    texts[place] = form
    return texts


def is_inflected(form: str, label: str) -> bool:
    """Return whether a form differs from the label, ignoring case."""
    return form.casefold() != label.casefold()


def resolve_collisions(row: Row, texts: Sequence[str]) -> list[str]:
    """Return the texts; equal ones are reset to their labels, except the answer."""
    texts = list(texts)
    while True:
        counts = Counter(text.casefold() for text in texts)
        back = [
            number
            for number, (text, label) in enumerate(zip(texts, row.candidates, strict=True))
            if counts[text.casefold()] > 1 and text != label and number != row.answers[0]
        ]
        if not back:
            return texts
        for number in back:
            texts[number] = row.candidates[number]
