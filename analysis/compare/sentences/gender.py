"""Compute verb forms of the subject's gender, and ranks by gender, in two wordings."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from polyprobe.metrics.joint.significance import Averages
from polyprobe.metrics.shared.intervals import Ratio
from polyprobe.system.files import TAB, read_tsv
from polyprobe.system.messages import PolyprobeError

from .deltas import Measured, Ranks, WordingTest, WordingTexts

GENDERS = ("female", "male", "none")
WORDS = "verb forms"
NO_WORDS = "0 rows have a subject of --gender FILE and a relation and language of --verb-forms FILE"
GROUPS = {"women": "female", "men": "male"}
VERB_FORMS = Path(__file__).with_name("verb_forms.tsv")  # of P19 and P20, Slavic languages
RanksOfBoth = tuple[Ranks, Ranks]
Verbs = dict[tuple[str, str], dict[str, set[str]]]  # (relation, language) → gender → its forms


def read_genders(file: Path) -> dict[str, str]:
    """Read the gender of each id from a TSV file (id; female, male or none)."""
    genders = {}
    for number, cells in read_tsv(file, "--gender"):
        if len(cells) != 2 or cells[1] not in GENDERS:
            raise PolyprobeError(
                f"{file}, line {number}: {TAB.join(cells)[:80]!r}; expected an id, a tab and "
                f"one of {', '.join(GENDERS)}, as in X-FACTR's data/TREx_gender.txt"
            )
        genders[cells[0]] = cells[1]
    return genders


def read_verb_forms(file: Path = VERB_FORMS) -> Verbs:
    """Read a TSV file of verb forms: relation, language, masculine and feminine form."""
    verbs: Verbs = {}
    for number, cells in read_tsv(file, "--verb-forms"):
        if len(cells) != 4 or not all(cells):
            raise PolyprobeError(
                f"{file}, line {number}: {TAB.join(cells)[:80]!r}; expected relation, language, "
                "masculine and feminine form, separated by tabs: P19, ru, родился, родилась"
            )
        relation, language, masculine, feminine = cells
        forms = verbs.setdefault((relation, language), {"male": set(), "female": set()})
        forms["male"].add(masculine)
        forms["female"].add(feminine)
    return verbs


def measure_words(
    texts: WordingTexts,
    genders: Mapping[str, str],
    verbs: Verbs,
    ranks: RanksOfBoth,
    test: WordingTest,
) -> Measured:
    """Compare the figures of women's and of men's facts in both wordings.

    The figures are `GROUP: FIGURE`: women or men; `verb form` (the share of facts whose text has a
    form of that gender), recall@1, recall@5 or mean_rank. Micro of women is %(F) and R@1(F) in
    Fluent-mLAMA's table 6. As in its appendix D, a row counts in a language with verb forms for its
    relation. A form is a whole word of the text with its answer.
    """
    relations = test.relations
    with_verb = {x: np.array([(name, x) in verbs for name in relations]) for x in texts.variant}
    figures: dict[str, Averages] = {}
    n_facts = {}
    for group, gender in GROUPS.items():
        members = np.array([genders.get(subject) == gender for subject in texts.subjects])
        n_facts[group] = {x: int((members & marks).sum()) for x, marks in with_verb.items()}
        languages = [x for x, count in n_facts[group].items() if count]
        if not languages:
            continue
        marks = np.column_stack([members & with_verb[x] for x in languages])
        rows = np.flatnonzero(marks.any(axis=1))
        weights, measures = marks[rows].astype(float), {}
        forms = {x: [verbs.get((r, x), {}).get(gender, ()) for r in relations] for x in languages}
        for name, sides in _list_values(texts, ranks, forms):
            variant, reference = (
                Ratio((side * marks)[rows], weights, share=name != "mean_rank") for side in sides
            )
            measures[f"{group}: {name}"] = (variant, reference)
        figures |= test.compare(languages, measures, rows.tolist())
    notes = [] if figures else [f"{WORDS}: {NO_WORDS}"]
    return Measured(figures, {**figures, "n_facts": n_facts}, notes)


def _list_values(
    texts: WordingTexts, ranks: RanksOfBoth, forms: Mapping[str, Sequence[Collection[str]]]
) -> Iterator[tuple[str, list[np.ndarray]]]:
    """Yield each figure's name and its values [facts, L], the variant first."""
    wordings = (texts.variant, texts.reference)
    marks = ([[*map(has_word, side[x], y)] for x, y in forms.items()] for side in wordings)
    yield "verb form", [np.column_stack(columns).astype(float) for columns in marks]
    places = [ranks[0].languages.index(x) for x in forms]
    for k in (1, 5):
        if k <= min(len(side.recall) for side in ranks):
            yield f"recall@{k}", [side.recall[k - 1][:, places] for side in ranks]
    yield "mean_rank", [side.rank[:, places] for side in ranks]


def has_word(text: str, forms: Collection[str]) -> bool:
    """Check whether one of the forms is a word of the text.

    >>> has_word("Анна родилась в Москве.", {"родилась"})
    True
    """
    return any(re.search(rf"(?<!\w){re.escape(form)}(?!\w)", text) for form in forms)
