"""Measure how often a freely predicted object is correct (accuracy, X-FACTR).

>>> match("greek", ["Greek", "Modern Greek"]), match("greek.", ["Greek"])
(True, False)
"""

import re
import unicodedata
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from polyprobe.metrics.shared.rows import check_length, check_texts, summarize_counted

_STRESS = re.compile("[\u0300\u0301\u0342\u0384]")  # grave, acute, circumflex; acute by itself
_OBJECT_THEN_STOP = re.compile(r"\[Y\]\s*\.\s*$")


def match(
    prediction: str | None,
    accepted: Sequence[str],
    language: str | None = None,
    prompt: str | None = None,
) -> bool:
    """Tell whether a prediction equals an accepted text; None and blank predictions never do.

    Outer whitespace does not count, nor case as `str.lower` has it, the same in every language:
    ß is not ss, İ is not i. In Greek stress marks do not count, but a final ς is not σ. In English,
    where the prompt ends in `[Y] .`, an accepted text that ends in a full stop may lack it.
    Texts that Unicode calls canonically equal (é as one character or two) are equal.

    >>> match("Αθηνα", ["Αθήνα"], "el")
    True
    >>> match("Apple Inc", ["Apple Inc."], "en", "The maker of [X] is [Y] .")
    True
    """
    if prediction is None:
        return False
    forms = {_fold(form, language) for form in accepted}
    if language == "en" and prompt is not None and _OBJECT_THEN_STOP.search(prompt):
        forms |= {form.removesuffix(".").rstrip() for form in forms}
    return _fold(prediction, language) in forms - {""}


def find_matches(
    predictions: Sequence[str | None],
    references: Sequence[Sequence[str]],
    language: str | None = None,
    prompts: Sequence[str] | None = None,
) -> np.ndarray:
    """Tell for each query whether its prediction is correct (bool), by `match`."""
    check_length(references, len(predictions), "references")
    for query, accepted in enumerate(references):
        if not len(accepted):
            raise ValueError(f"query {query} of 'references' is empty; expected an accepted text")
    if language is not None and not isinstance(language, str):
        raise ValueError(f"language is {language!r:.60}; expected a code such as 'en', or None")
    if prompts is not None:
        check_texts(prompts, len(predictions), "prompts")
    sentences = [None] * len(predictions) if prompts is None else prompts
    triples = zip(predictions, references, sentences, strict=True)
    return np.array([match(text, forms, language, prompt) for text, forms, prompt in triples])


def measure_factual_accuracy(
    predictions: Sequence[str | None],
    references: Sequence[Sequence[str]],
    single_token: Sequence[bool] | None = None,
    language: str | None = None,
    prompts: Sequence[str] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Compute the accuracy on all queries and by number of tokens, with intervals and counts."""
    right = find_matches(predictions, references, language, prompts)
    size = len(right)
    parts: dict[str, np.ndarray] = {"all": np.ones(size, dtype=bool)}
    if single_token is not None:
        check_length(single_token, size, "single_token")
        for query, flag in enumerate(single_token):
            if flag not in (0, 1):
                place = f"query {query} of 'single_token'"
                raise ValueError(f"{place} is {flag!r}; expected true or false")
        single = np.array(single_token, dtype=bool)
        parts |= {"single": single, "multi": ~single}
    result: dict[str, Any] = {}
    by_group: dict[Hashable, dict[str, Any]] = {}
    for name, mask in parts.items():
        part = summarize_counted({name: right}, mask, **options)
        count = "n_queries" if name == "all" else f"n_{name}"
        for group, figures in part.pop("by_group", {}).items():
            n = figures.pop("n_queries")
            by_group.setdefault(group, {}).update({**figures, count: n})
        result |= {**part, count: int(mask.sum())}
    if by_group:
        result["by_group"] = by_group
    return {**result, "n_unpredicted": sum(text is None for text in predictions)}


def _fold(text: str, language: str | None) -> str:
    text = text.strip().lower()
    if language == "el":
        text = _STRESS.sub("", unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFC", text)
