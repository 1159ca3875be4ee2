"""The texts of two wordings from the datasets: runs keep scores only."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from polyprobe.analysis.compare.match import WIDE, WORDINGS, Versions
from polyprobe.schema.columns import SLOT, key_rows, place_rows, split_fact
from polyprobe.schema.run.folder import Run, load_again
from polyprobe.schema.run.protocol import protocol_of
from polyprobe.system.messages import PolyprobeError

ENGLISH = "en"
FormPair = tuple[int, int]  # indices of label and form among the candidates
_COLUMNS = ("prompt", "candidates", "answers", "answer_forms")


class WordingTexts(NamedTuple):
    """The prompts of both runs for the matched rows."""

    # By language, prompts with the answer in the slot: its form in sentences, its label in
    # templates
    variant: dict[str, list[str]]
    reference: dict[str, list[str]]
    starts: dict[str, tuple[list[str], list[str]]]  # both sides' prompts up to the slot
    # Label and form of each row, if exactly these are correct in both wordings and can be told (see
    # `find_obstacle`)
    forms: dict[str, list[FormPair | None]]
    subjects: list[str]  # id of each row, "" if unknown
    english: list[str | None]  # sentence of each row, None without one
    english_from: str  # their configuration


def load_texts(versions: Versions, languages: Sequence[str], ids: Sequence[str]) -> WordingTexts:
    """Load the texts of the matched rows; refuse a dataset that differs from the run's."""
    runs = (versions.variant, versions.reference)
    splits = (load_again(run.settings(), languages).items() for run in runs)
    variants, references = (
        {x: table.take(place_rows(table, ids)) for x, table in pairs} for pairs in splits
    )
    wording_of_reference, wording = versions.wordings
    english, origin = _find_english(runs, (wording, wording_of_reference), ids)
    forms: dict[str, list[FormPair | None]] = {x: [None] * len(ids) for x in languages}
    if not find_obstacle(runs):
        forms = {x: _find_forms(variants[x], references[x]) for x in languages}
    return WordingTexts(
        {x: _fill_slots(table, wording) for x, table in variants.items()},
        {x: _fill_slots(table, wording_of_reference) for x, table in references.items()},
        {x: (_cut_prompts(variants[x]), _cut_prompts(references[x])) for x in languages},
        forms,
        _read_subjects(variants[languages[0]]),
        english,
        origin,
    )


def find_obstacle(runs: Sequence[Run]) -> str:
    """Explain why label and form cannot be told among the candidates; "" if they can."""
    if any(protocol_of(run.settings().scoring).whole_relation for run in runs):
        # the indices of the dataset's candidates are not those of the scores
        return (
            "a run's candidates are all objects of a relation, which of them are label and form is "
            "not known; score both wordings again: polyprobe eval --scoring object"
        )
    if any((run.settings().config or "").endswith(WIDE) for run in runs):
        return f"aliases are correct too; compare the configurations without {WIDE}"
    return ""


def _fill_slots(table: pa.Table, wording: str) -> list[str]:
    return [x["prompt"].replace(SLOT, find_answer_text(x, wording)) for x in _list_rows(table)]


def _cut_prompts(table: pa.Table) -> list[str]:
    return [prompt.partition(SLOT)[0] for prompt in table["prompt"].to_pylist()]


def find_answer_text(row: Mapping[str, Any], wording: str) -> str:
    """Name the correct answer of a row: its label in templates, else its form.

    `answer_forms` begins with the label, Google's form and ChatGPT's form, without repetitions: of
    two, the second is taken for the form of either. Without that column, or if that text is not a
    correct candidate, take the first correct candidate.

    >>> row = {"candidates": ["Рим", "Риме"], "answers": [0, 1], "answer_forms": ["Рим", "Риме"]}
    >>> find_answer_text(row, "sentence")
    'Риме'
    """
    right = [*_find_answers(row)]
    forms = (row.get("answer_forms") or [])[: [*WORDINGS].index(wording) + 1]
    return forms[-1] if forms and forms[-1] in right else right[0]


def _find_forms(variants: pa.Table, references: pa.Table) -> list[FormPair | None]:
    """Find label and form of each row where only these are correct, in both wordings."""
    pairs: list[FormPair | None] = []
    for row, row_of_reference in zip(_list_rows(variants), _list_rows(references), strict=True):
        forms, places = (row.get("answer_forms") or [])[:2], _find_answers(row)
        correct = len(places) == 2 and {*forms} == {*places}
        same = correct and places == _find_answers(row_of_reference)
        pairs.append((places[forms[0]], places[forms[1]]) if same else None)
    return pairs


def _find_answers(row: Mapping[str, Any]) -> dict[str, int]:
    return {row["candidates"][place]: place for place in row["answers"]}


def _read_subjects(table: pa.Table) -> list[str]:
    """Read each row's subject id, from the column or the middle of RELATION:SUBJECT:OBJECT."""
    subjects = table["subject_id"].to_pylist() if "subject_id" in table.column_names else []
    if any(subjects):
        return [subject or "" for subject in subjects]
    parts = map(split_fact, table["fact_id"].to_pylist())
    return [part[1] if part else "" for part in parts]


def _find_english(
    runs: Sequence[Run], wordings: Sequence[str], fact_ids: Sequence[str]
) -> tuple[list[str | None], str]:
    """Find the English sentence of each row, and its configuration."""
    # imports datasets, which takes seconds
    from polyprobe.schema.load import load_facts

    settings, keys = [run.settings() for run in runs], key_rows(fact_ids)
    # The first of these that has a split `en` and any of the facts.
    places = [(s.dataset, s.config) for s in settings] + [(settings[1].dataset, ENGLISH)]
    for place, wording in zip(places, (*wordings, "template"), strict=True):
        try:
            table = load_facts(*place, [ENGLISH])[ENGLISH]
        except PolyprobeError:
            continue
        texts = _fill_slots(table, wording)
        sentences = dict(zip(key_rows(table["fact_id"].to_pylist()), texts, strict=True))
        english = [sentences.get(key) for key in keys]
        if any(english):
            return english, place[1] or "default"
    return [None] * len(keys), ""


def _list_rows(table: pa.Table) -> list[dict[str, Any]]:
    return table.select([name for name in _COLUMNS if name in table.column_names]).to_pylist()
