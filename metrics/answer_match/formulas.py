"""Judge free answers by the names in them: right, in which language, another entity, or none.

>>> result = match_answers(
...     ["Во Франции.", "It is Greece", "Не знаю"],
...     [["Франция"], ["Греция"], ["Греция"]],
...     language="ru",
...     n_resamples=0,
... )
>>> result["accuracy"], [verdict["kind"] for verdict in result["verdicts"]]
(0.3333333333333333, ['right', 'outside', 'refusal'])
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from polyprobe.metrics.shared.intervals import share, summarize
from polyprobe.metrics.shared.rows import check_length, check_texts
from polyprobe.metrics.shared.verdicts import JUDGES, KINDS, Pool, read_entities, read_pool


def match_answers(
    predictions: Sequence[str],
    references: Sequence[Sequence[str] | str],
    language: str | None = None,
    languages: Sequence[str] | None = None,
    names: Any = None,
    questions: Sequence[str] | None = None,
    match: str = "names",
    **options: Any,
) -> dict[str, Any]:
    """Compute the accuracy of answers, the share of each of `KINDS`, and the verdict on each."""
    n = len(predictions)
    check_length(references, n, "references")
    codes = list_languages(language, languages, n)
    if not isinstance(match, str) or match not in JUDGES:
        raise ValueError(f"match is {match!r:.60}; expected {' or '.join(JUDGES)}")
    if questions is not None:
        check_texts(questions, n, "questions")
    if names is None:
        right = [[row] if isinstance(row, str) else [*row] for row in references]
        pool = collect_names(right, codes)
    else:
        pool = read_pool(names)
        right = read_entities(references, pool, "references", n)
    judges = {code: JUDGES[match](pool, code) for code in dict.fromkeys(codes)}
    rows = zip(codes, predictions, questions or [""] * n, right, strict=True)
    verdicts = [judges[code].read(text, question, of) for code, text, question, of in rows]
    kinds = np.array([verdict.kind for verdict in verdicts])
    accuracy = np.char.startswith(kinds, "right")
    shares = {"accuracy": accuracy, **{kind: kinds == kind for kind in KINDS}}
    figures = summarize({name: share(values) for name, values in shares.items()}, **options)
    return {**figures, "verdicts": [verdict._asdict() for verdict in verdicts], "n_queries": n}


def list_languages(language: Any, languages: Any, size: int) -> list[str]:
    """List the language of each answer: that of all, or one each."""
    if (language is None) == (languages is None):
        raise ValueError("pass language=, of all answers, or languages=[…], one for each answer")
    if languages is None:
        check_texts([language], 1, "language")
        return [language] * size
    check_texts(languages, size, "languages")
    return [*languages]


def collect_names(references: Sequence[Sequence[str]], codes: Sequence[str]) -> Pool:
    """Collect the pool of accepted names: each is an entity of its own, in its answers' languages.

    >>> collect_names([["Bern"], ["Bern", "Ulm"]], ["de", "fr"])
    {'Bern': {'de': ['Bern'], 'fr': ['Bern']}, 'Ulm': {'fr': ['Ulm']}}
    """
    pool: Pool = {}
    for query, (row, code) in enumerate(zip(references, codes, strict=True)):
        if not row or not all(name.strip() for name in row):
            raise ValueError(f"query {query} of 'references' is {row!r:.60}; expected names")
        for name in row:
            pool.setdefault(name, {})[code] = [name]
    return pool
