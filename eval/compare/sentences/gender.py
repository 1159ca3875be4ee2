"""Share of verbs that agree with a female subject in both wordings, by Stanza's morphology."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from polyprobe.metrics.joint.averages import Averages, compare_averages
from polyprobe.metrics.shared.intervals import Ratio
from polyprobe.metrics.shared.subsets import take
from polyprobe.system.errors import PolyprobeError, one_line
from polyprobe.system.progress import track

from .texts import Texts

GENDERS = ("female", "male", "none")
# Stanza's language names that differ from split names.
_STANZA = {"no": "nb", "zh": "zh-hans"}


class Tagger(Protocol):
    """The interface of `stanza.Pipeline`: documents of sentences of words with `feats`."""

    def bulk_process(self, docs: list[str]) -> list[Any]:
        """Return a document for each text."""


class Forms(NamedTuple):
    """Numbers of verb forms in one language: feminine ones, and all with a gender."""

    sentence_feminine: int
    sentence: int
    template_feminine: int
    template: int


class Feminine(NamedTuple):
    """Share of feminine verb forms among those with a gender, for female subjects.

    Attributes:
        share: {macro, micro: one row for each language, `mean` last}; None without such forms.
            Micro is over all verb forms, as in the paper's table 6.
        n_facts: number of rows with a female subject.
        forms: numbers of verb forms, by language with a tagger.
        without_tagger: the reason, by language without a tagger.
    """

    share: Averages | None
    n_facts: int
    forms: dict[str, Forms]
    without_tagger: dict[str, str]


def read_females(file: Path) -> set[str]:
    """Return the ids marked female in a TSV file (id; female, male or none).

    Raises:
        PolyprobeError: no such file, or an invalid line.
    """
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
    """Return the shares of both wordings and sentence - template, by language.

    Languages without a tagger are excluded and listed; `paired` is as in `compare_ranks`.

    Raises:
        PolyprobeError: stanza is not installed.
    """
    rows = [row for row, subject in enumerate(texts.subjects) if subject in females]
    counts, forms, without = {}, {}, {}
    for language in track(texts.sentence if rows else (), "verb forms"):
        try:
            tagger = load_tagger(language, folder)
        except LookupError as error:
            without[language] = str(error)
            continue
        both = [
            count_forms(tagger.bulk_process([wording[language][row] for row in rows]))
            for wording in (texts.sentence, texts.template)
        ]
        counts[language] = both
        forms[language] = Forms(*(int(n) for side in both for n in side.sum(axis=0)))
    languages = [x for x, found in forms.items() if found.sentence and found.template]
    if not languages:
        return Feminine(None, len(rows), forms, without)
    # do not resample rows without a gendered verb in any language
    table = np.stack([np.stack(counts[x]) for x in languages], axis=-1)  # wording, row, part, L
    kept = np.flatnonzero(table[:, :, 1].any(axis=(0, 2)))
    own = {name: take(paired[name], [rows[i] for i in kept]) for name in ("relations", "clusters")}
    one, other = (Ratio(side[kept, 0], side[kept, 1]) for side in table)
    found = compare_averages(languages, {"share": (one, other)}, **{**paired, **own})
    return Feminine(found["share"], len(rows), forms, without)


def load_tagger(language: str, folder: Path | None) -> Tagger:
    """Return Stanza's pipeline of a language from a folder (None: Stanza's own).

    Raises:
        LookupError: no tokenizer or tagger there, in one line.
        PolyprobeError: stanza is not installed.
    """
    try:
        import stanza
    except ImportError:
        raise PolyprobeError(
            "feminine verb forms need stanza; pip install 'polyprobe[sentences]'"
        ) from None
    name = _STANZA.get(language, language.replace("_", "-"))
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
    except Exception as error:  # missing and broken files differ by language
        raise LookupError(
            f"{one_line(error)}; stanza.download({name!r}, processors='tokenize,mwt,pos'"
            f"{f', model_dir={str(folder)!r}' if folder else ''})"
        ) from error


def count_forms(documents: Iterable[Any]) -> np.ndarray:
    """Return the numbers of feminine verb forms and of all with a gender [documents, 2].

    A verb form is a word of VerbForm Fin or Part of any part of speech, because treebanks tag
    participles as VERB or ADJ. A form of several genders (Fem,Masc) counts as feminine.
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
    """Return Universal Dependencies features by name.

    >>> read_features("Gender=Fem|VerbForm=Fin")
    {'Gender': 'Fem', 'VerbForm': 'Fin'}
    """
    pairs: Sequence[str] = [] if not text or text == "_" else text.split("|")
    return dict(pair.split("=", 1) for pair in pairs)
