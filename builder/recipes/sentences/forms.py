"""The candidates as a sentence needs them: inflected as they are elsewhere in the relation.

A distractor takes the form in which the same entity stood as an answer in other sentences of the
relation, so that the answer is not the only candidate that fits the frame.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from polyprobe.schema.columns import Row

from .base import answer_label
from .outcomes import COLLISION, FOUND, Outcome

Forms = Mapping[tuple[str, str], Counter[str]]


class Inflected(NamedTuple):
    """A language: what became of its rows, and the candidates of those that were found."""

    outcomes: list[Outcome]
    candidates: dict[int, list[str]]


def keep_candidates(rows: Sequence[Row], outcomes: Sequence[Outcome]) -> Inflected:
    """Return the rows with their candidates as they are: those of the source language."""
    found = [outcome.row for outcome in outcomes if outcome.status == FOUND]
    return Inflected(list(outcomes), {number: rows[number].candidates for number in found})


def inflect_candidates(rows: Sequence[Row], outcomes: Sequence[Outcome]) -> Inflected:
    """Return the candidates of the rows found; rows in which two read the same are COLLISION."""
    forms = gather_forms(rows, outcomes)
    settled = list(outcomes)
    candidates = {}
    for outcome in outcomes:
        if outcome.status != FOUND:
            continue
        row = rows[outcome.row]
        chosen = resolve_collisions(row, choose_forms(row, outcome.form, forms))
        texts = raise_as(outcome, chosen)
        if twice := find_repeated(texts):
            reason = f"two candidates read {twice!r}"
            settled[outcome.row] = outcome._replace(status=COLLISION, reason=reason)
        else:
            candidates[outcome.row] = texts
    return Inflected(settled, candidates)


def gather_forms(rows: Sequence[Row], outcomes: Sequence[Outcome]) -> Forms:
    """Return {(relation, entity): how often it took which form as an answer}, in order of rows."""
    forms: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for outcome in outcomes:
        if outcome.status == FOUND:
            row = rows[outcome.row]
            form = lower_as(outcome.label, outcome.form)
            forms[row.relation, name_entity(row, row.answers[0])][form] += 1
    return forms


def lower_as(label: str, form: str) -> str:
    """Return the form with a small first letter where the label has it small.

    >>> lower_as("euro", "Euros"), lower_as("euro", "yuan"), lower_as("Paris", "Paris")
    ('euros', 'yuan', 'Paris')
    """
    small = form[:1].lower()
    return small + form[1:] if label.startswith(small) else form


def name_entity(row: Row, place: int) -> str:
    """Return a candidate's id, or its label where the dataset has no ids."""
    return row.candidate_ids[place] if row.candidate_ids else row.candidates[place]


def choose_forms(row: Row, form: str, forms: Forms) -> list[str]:
    """Return the candidates' texts: the answer as it stands in the sentence, the others to match.

    - The answer is inflected here: a distractor takes its most frequent form that is inflected.
    - It stands as its label, and is inflected elsewhere in the relation: this sentence asks for no
      inflection, and distractors keep their labels.
    - It is inflected nowhere: a distractor takes its most frequent form.

    Of forms as frequent the first is taken; without such a form the label. Capitals are no
    inflection.
    """
    label, place = answer_label(row), row.answers[0]
    inflected = is_inflected(form, label)
    own = forms.get((row.relation, name_entity(row, place)), Counter())
    plain = not inflected and any(is_inflected(other, label) for other in own)
    texts = list(row.candidates)
    for number, text in enumerate(texts):
        met = forms.get((row.relation, name_entity(row, number)), Counter())
        usable = [f for f, _ in met.most_common() if not inflected or is_inflected(f, text)]
        if usable and not plain:
            texts[number] = usable[0]
    texts[place] = form
    return texts


def is_inflected(form: str, label: str) -> bool:
    """Tell whether a form is another than the label, capitals aside."""
    return form.casefold() != label.casefold()


def resolve_collisions(row: Row, texts: Sequence[str]) -> list[str]:
    """Return the texts; of those that read the same all but the answer go back to their labels."""
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


def raise_as(outcome: Outcome, texts: Sequence[str]) -> list[str]:
    """Return the texts; all with a capital where the answer has one that its label has not."""
    if outcome.form[:1] == lower_as(outcome.label, outcome.form)[:1]:
        return list(texts)
    return [text[:1].upper() + text[1:] for text in texts]


def find_repeated(texts: Sequence[str]) -> str:
    """Return the first text that stands there twice, capitals aside; "" where none does."""
    counts = Counter(text.casefold() for text in texts)
    return next((text for text in texts if counts[text.casefold()] > 1), "")
