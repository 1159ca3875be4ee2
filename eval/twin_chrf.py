"""How alike the texts of the two wordings are: chrF."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from polyprobe import PolyprobeError
from polyprobe.metrics.intervals import summarize

from .progress import track
from .twin_texts import Texts


class LanguageOverlap(NamedTuple):
    """ChrF of one language, 0 to 100: over the corpus, and the mean of its sentences."""

    corpus: float
    sentences: float
    sentences_ci: list[float] | None


class Overlap(NamedTuple):
    """ChrF by language, with sacreBLEU's signature."""

    by_language: dict[str, LanguageOverlap]
    signature: str


def measure_overlap(texts: Texts, paired: Mapping[str, Any]) -> Overlap:
    """Return chrF (Popović 2015) of the template texts against the sentences as references.

    Raises:
        PolyprobeError: sacrebleu is not installed.
    """
    try:
        from sacrebleu.metrics import CHRF
    except ImportError:
        raise PolyprobeError("chrF needs sacrebleu; pip install 'polyprobe[sentences]'") from None
    chrf = CHRF()
    found = {}
    for language in track(texts.sentence, "chrF"):
        written, references = texts.template[language], texts.sentence[language]
        each = [
            chrf.sentence_score(text, [reference]).score
            for text, reference in zip(written, references, strict=True)
        ]
        options = {"n_resamples": min(paired.get("n_resamples", 1000), 1000)}
        mean = summarize(
            {"chrf": each},
            seed=paired.get("seed", 0),
            clusters=paired["clusters"],
            **options,
        )
        corpus = chrf.corpus_score(written, [references]).score
        found[language] = LanguageOverlap(corpus, mean["chrf"], mean["chrf_ci"])
    return Overlap(found, str(chrf.get_signature()))
