"""Compute verb forms of the subject's gender, and ranks by gender, in two wordings."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from polyprobe.metrics.joint.significance import Averages
from polyprobe.metrics.shared.intervals import Ratio
from polyprobe.schema.languages import stanza_name
from polyprobe.system.files import TAB, read_tsv
from polyprobe.system.messages import PolyprobeError, missing, one_line, track

from .deltas import NO_AVERAGES, Measured, Ranks, WordingTest, WordingTexts

GENDERS = ("female", "male", "none")
WORDS, FEMININE = "verb forms", "feminine verb forms"
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


def measure_feminine(
    texts: WordingTexts, genders: Mapping[str, str], folder: Path, test: WordingTest
) -> Measured:
    """Compare the shares of feminine verb forms among those with a gender, of female subjects."""
    rows = [row for row, subject in enumerate(texts.subjects) if genders.get(subject) == "female"]
    reference, variant = texts.wordings
    counts, forms, without = {}, {}, {}
    for language in track(texts.variant if rows else (), "verb forms"):
        try:
            tagger = load_tagger(language, folder)
        except LookupError as error:
            without[language] = str(error)
            continue
        prompts = (texts.variant[language], texts.reference[language])
        documents = (tagger.bulk_process([side[row] for row in rows]) for side in prompts)
        counts[language] = np.stack([*map(count_feminine, documents)])
        totals = counts[language].sum(axis=1).astype(int).tolist()
        names = (f"{variant}_feminine", variant, f"{reference}_feminine", reference)
        forms[language] = dict(zip(names, chain(*totals), strict=True))
    fields = {"n_facts": len(rows), "forms": forms, "without_tagger": without}
    notes = [f"{FEMININE}: no tagger for '{x}' ({reason})" for x, reason in without.items()]
    languages = [x for x, totals in forms.items() if totals[variant] and totals[reference]]
    if not languages:
        note = (
            f"{FEMININE}: {len(rows):,} rows have a female subject, and in no language do both "
            "wordings show a verb with a gender"
        )
        return Measured({}, {**NO_AVERAGES, **fields}, [note, *notes])
    # rows without such a verb form in any language are not resampled
    table = np.stack([counts[x] for x in languages], axis=-1)  # wording, row, part, L
    places = np.flatnonzero(table[:, :, 1].any(axis=(0, 2)))
    pair = [Ratio(side[places, 0], side[places, 1], share=True) for side in table]
    figures = test.compare(languages, {FEMININE: (pair[0], pair[1])}, [rows[i] for i in places])
    return Measured(figures, {**figures[FEMININE], **fields}, notes)


def load_tagger(language: str, folder: Path) -> Any:
    """Load Stanza's pipeline of a language from a folder; LookupError, one line, without one."""
    try:
        import stanza
    except ImportError:
        raise missing("finding feminine verb forms", "stanza") from None
    name = stanza_name(language)
    try:
        return stanza.Pipeline(
            lang=name,
            processors="tokenize,pos",
            download_method=None,
            tokenize_no_ssplit=True,
            use_gpu=False,
            logging_level="CRITICAL",
            dir=str(folder),
        )
    except Exception as error:  # the exception depends on the language
        raise LookupError(
            f"{one_line(error)}; stanza.download({name!r}, processors='tokenize,mwt,pos'"
            f", model_dir={str(folder)!r})"
        ) from error


def count_feminine(documents: Iterable[Any]) -> np.ndarray:
    """Count feminine verb forms, and verb forms with any gender, of each text [documents, 2]."""
    counts = []
    for document in documents:
        genders = []
        for word in (word for sentence in document.sentences for word in sentence.words):
            # Universal Dependencies: Gender=Fem|VerbForm=Fin, or "_" without features
            pairs = (word.feats or "_").split("|")
            features = dict(pair.split("=", 1) for pair in pairs if pair != "_")
            # Of any part of speech: treebanks tag participles VERB or ADJ. A form of several
            # genders (Fem,Masc) counts as feminine.
            if "Gender" in features and features.get("VerbForm") in ("Fin", "Part"):
                genders.append(features["Gender"].split(","))
        counts.append([sum("Fem" in names for names in genders), len(genders)])
    return np.array(counts, dtype=np.float64).reshape(-1, 2)
