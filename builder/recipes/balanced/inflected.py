"""Candidates of a source's own sentences, inflected as the answer is."""

from collections.abc import Sequence

from polyprobe.builder.recipes.sentences.forms import word_candidates
from polyprobe.builder.recipes.sentences.outcomes import Outcome
from polyprobe.schema.columns import Row


def inflect_candidates(rows: Sequence[Row], language: str) -> list[Row]:
    """Return one language's rows with the candidates as their sentences need them.

    The answer is the form that stood in the sentence, the last of `answer_forms`; distractors take
    the forms that they had as answers elsewhere (`forms.choose_forms`). Where two of a row would
    then read the same all of its candidates stay labels.
    """
    outcomes = [
        Outcome(language, number, row.fact_id, "", "", row.answer_forms[0], row.answer_forms[-1])
        for number, row in enumerate(rows)
    ]
    worded = word_candidates(rows, outcomes).candidates
    return [
        row._replace(candidates=worded.get(number, row.candidates))
        for number, row in enumerate(rows)
    ]
