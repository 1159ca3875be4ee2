"""Verb forms with female subjects in two wordings."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from polyprobe.metrics.joint.significance import Averages, compare_averages
from polyprobe.metrics.shared.intervals import Ratio
from polyprobe.metrics.shared.rows import take
from polyprobe.schema.stanza import stanza_name
from polyprobe.system.errors import PolyprobeError, one_line
from polyprobe.system.extras import missing
from polyprobe.system.progress import track

from .texts import Texts

GENDERS = ("female", "male", "none")


class Tagger(Protocol):
    """The used part of `stanza.Pipeline`: documents of sentences of words with `feats`."""

    def bulk_process(self, docs: list[str]) -> list[Any]:
        """Return a document for each text."""


class Forms(NamedTuple):
    """Counts of one language: feminine verb forms, and all verb forms with a gender."""

    other_feminine: int
    other: int
    reference_feminine: int
    reference: int


class Feminine(NamedTuple):
    """Share of feminine verb forms among those with a gender, female subjects only.

    Attributes:
        share: {macro, micro: one row for each language, `mean` last}; None without verb forms.
            Micro is the share over all verb forms. The paper's table 6 has another share, see
            `measure_words`.
        n_facts: rows with a female subject.
        forms: {language with a tagger: its counts}.
        without_tagger: {language: why its texts were not tagged}.
    """

    share: Averages | None
    n_facts: int
    forms: dict[str, Forms]
    without_tagger: dict[str, str]


def read_females(file: Path) -> set[str]:
    """Return the female ids of a TSV file (id; female, male or none)."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise PolyprobeError(f"cannot read --gender {file}: {reason}") from error
    females = set()
    for number, line in enumerate(lines, start=1):
        entity, tab, gender = line.partition("\t")
        if not tab or gender.strip() not in GENDERS:
            raise PolyprobeError(
                f"{file}, line {number}: {line[:80]!r}; expected an id, a tab and one of "
                f"{', '.join(GENDERS)}, as in X-FACTR's data/TREx_gender.txt"
            )
        if gender.strip() == "female":
            females.add(entity)
    return females


def measure_feminine(
    texts: Texts, females: set[str], folder: Path | None, paired: Mapping[str, Any]
) -> Feminine:
    """Return the shares of both wordings and other - reference, by language.

    A language without a tagger is excluded and named; `paired` is as in `compare_ranks`.
    """
    rows = [row for row, subject in enumerate(texts.subjects) if subject in females]
    counts, forms, without = {}, {}, {}
    for language in track(texts.other if rows else (), "verb forms"):
        try:
            tagger = load_tagger(language, folder)
        except LookupError as error:
            without[language] = str(error)
            continue
        both = [
            count_forms(tagger.bulk_process([wording[language][row] for row in rows]))
            for wording in (texts.other, texts.reference)
        ]
        counts[language] = both
        forms[language] = Forms(*(int(n) for side in both for n in side.sum(axis=0)))
    languages = [x for x, found in forms.items() if found.other and found.reference]
    if not languages:
        return Feminine(None, len(rows), forms, without)
    # rows without such a verb form in any language are not resampled
    table = np.stack([np.stack(counts[x]) for x in languages], axis=-1)  # wording, row, part, L
    kept = np.flatnonzero(table[:, :, 1].any(axis=(0, 2)))
    own = {name: take(paired[name], [rows[i] for i in kept]) for name in ("relations", "clusters")}
    one, other = (Ratio(side[kept, 0], side[kept, 1], share=True) for side in table)
    found = compare_averages(languages, {"share": (one, other)}, **{**paired, **own})
    return Feminine(found["share"], len(rows), forms, without)


def load_tagger(language: str, folder: Path | None) -> Tagger:
    """Return Stanza's pipeline of a language from a folder (None: Stanza's own).

    Raises:
        LookupError: no tokenizer or tagger in the folder; one line.
        PolyprobeError: stanza is not installed.
    """
    try:
        import stanza
    except ImportError:
        raise missing("finding feminine verb forms", "stanza") from None
    name = stanza_name(language)
    place = {} if folder is None else {"dir": str(folder)}
    try:
        return stanza.Pipeline(
            lang=name,
            processors="tokenize,pos",
            download_method=None,
            tokenize_no_ssplit=True,
            use_gpu=False,
            logging_level="CRITICAL",
            **place,
        )
    except Exception as error:  # the exception depends on the language
        raise LookupError(
            f"{one_line(error)}; stanza.download({name!r}, processors='tokenize,mwt,pos'"
            f"{f', model_dir={str(folder)!r}' if folder else ''})"
        ) from error


def count_forms(documents: Iterable[Any]) -> np.ndarray:
    """Return counts [documents, 2]: feminine verb forms, and verb forms with any gender.

    A verb form is a word with VerbForm Fin or Part and any part of speech: treebanks tag
    participles VERB or ADJ. A form of several genders (Fem,Masc) counts as feminine.
    """
    counts = []
    for document in documents:
        features = [read_features(word.feats) for s in document.sentences for word in s.words]
        genders = [
            found["Gender"].split(",")
            for found in features
            if "Gender" in found and found.get("VerbForm") in ("Fin", "Part")
        ]
        counts.append([sum("Fem" in names for names in genders), len(genders)])
    return np.array(counts, dtype=np.float64).reshape(-1, 2)


def read_features(text: str | None) -> dict[str, str]:
    """Return {name: value} of Universal Dependencies features.

    >>> read_features("Gender=Fem|VerbForm=Fin")
    {'Gender': 'Fem', 'VerbForm': 'Fin'}
    """
    pairs: Sequence[str] = [] if not text or text == "_" else text.split("|")
    return dict(pair.split("=", 1) for pair in pairs)
