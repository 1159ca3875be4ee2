"""Measure how often a freely predicted object is correct (accuracy, X-FACTR).

A prediction is correct if it equals, in lower case, one of the accepted strings: the label and
the aliases of every valid object, inflected for the prompt. Accuracy is taken by relation and then
averaged over relations, for all facts, for those whose object is one token of the evaluated model,
and for the others.

>>> match("greek", ["Greek", "Modern Greek"]), match("greek.", ["Greek"])
(True, False)
"""

import re
import unicodedata
from collections.abc import Hashable, Sequence
from typing import Any

import datasets
import evaluate
import numpy as np

from polyprobe.metrics.shared.inputs import Module
from polyprobe.metrics.shared.intervals import share, summarize
from polyprobe.metrics.shared.rows import (
    check_length,
    check_lists,
    check_texts,
    count_by_group,
    pick_counted,
    take,
)

_DESCRIPTION = """\
Factual accuracy is the share of facts whose predicted text reads like an accepted one, averaged \
over relations, for all objects and apart for those of one token and of several.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions (list of str or None): the predicted text; None for no prediction.
    references (list of list of str): the accepted texts, at least one for each query.
    single_token (list of bool, optional): whether the object, as the prompt inflects it, is one
        token of the evaluated model.
    language (str, optional): of the texts; in el stress marks do not count, and in en the full stop
        that follows the object in the prompt may replace that of the accepted text.
    prompts (list of str, optional): of each query, with [Y] for the object; without them no full
        stop is forgiven.
    groups (list, optional): label of each query, usually its relation.
    average (str): macro (default), the unweighted mean over groups, or micro, over queries.
    n_resamples (int): resamples of the bootstrap over queries; default: 10000, or 1000
        above 50,000 values (queries x figures); below 40: no intervals.
    seed (int): of the bootstrap; default: 0.
    clusters (list, optional): label of each query, such as its subject; the bootstrap draws whole
        clusters. Queries about one subject should be drawn together.
    empty (str): value of a group without such objects in the macro average of single or multi: skip
        (default) or zero, as in the released code.

Returns:
    all (float): share of correct predictions, by group and then over groups.
    single, multi (float or None): the same for objects of one token and of several, where
        single_token is given; None where there are none.
    all_ci, single_ci, multi_ci (list of float or None): 95% bootstrap intervals, each drawn from
        its own queries; None where there is a single one.
    by_group (dict): the same for each group, if `groups` is given.
    n_queries, n_single, n_multi (int): the queries that the figures are taken over.
    n_unpredicted (int): predictions that are None; they count as wrong.

Examples:
    >>> accuracy = evaluate.load("factual_accuracy")
    >>> texts, accepted = ["greek", None, "usa"], [["Greek"], ["Kenya"], ["United States", "USA"]]
    >>> result = accuracy.compute(
    ...     predictions=texts, references=accepted, single_token=[True, True, False]
    ... )
    >>> round(result["all"], 4), result["single"], result["multi"], result["n_unpredicted"]
    (0.6667, 0.5, 1.0, 1)
"""

_CITATION = """\
@inproceedings{jiang-etal-2020-x,
    title = "{X}-{FACTR}: Multilingual Factual Knowledge Retrieval from Pretrained Language Models",
    author = "Jiang, Zhengbao and Anastasopoulos, Antonios and Araki, Jun and Ding, Haibo and
      Neubig, Graham",
    booktitle = "Proceedings of EMNLP", year = "2020",
    url = "https://aclanthology.org/2020.emnlp-main.479",
}
"""


_STRESS = re.compile("[\u0300\u0301\u0342\u0384]")  # grave, acute, circumflex; acute by itself
_OBJECT_THEN_STOP = re.compile(r"\[Y\]\s*\.\s*$")


def match(
    prediction: str | None,
    accepted: Sequence[str],
    language: str | None = None,
    prompt: str | None = None,
) -> bool:
    """Return whether a prediction equals an accepted text; None and blank predictions never do.

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
    """Return for each query whether its prediction is correct (bool), by `match`."""
    check_texts(predictions, "predictions", optional=True)
    check_lists(references, "references")
    check_length(references, len(predictions), "references")
    for query, accepted in enumerate(references):
        if not len(accepted):
            raise ValueError(f"query {query} of 'references' is empty; expected an accepted text")
    if language is not None and not isinstance(language, str):
        raise ValueError(f"language is {language!r:.60}; expected a code such as 'en', or None")
    if prompts is not None:
        check_texts(prompts, "prompts")
        check_length(prompts, len(predictions), "prompts")
    given = [None] * len(predictions) if prompts is None else prompts
    triples = zip(predictions, references, given, strict=True)
    return np.array([match(text, forms, language, prompt) for text, forms, prompt in triples])


def measure_factual_accuracy(
    predictions: Sequence[str | None],
    references: Sequence[Sequence[str]],
    single_token: Sequence[bool] | None = None,
    language: str | None = None,
    prompts: Sequence[str] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Return the accuracy on all queries and by number of tokens, with intervals and counts.

    `options` are those of `intervals.Resampling`.
    """
    right = find_matches(predictions, references, language, prompts)
    size = len(right)
    for name in ("groups", "clusters"):
        if options.get(name) is not None:
            check_length(options[name], size, name)
    parts: dict[str, np.ndarray] = {"all": np.ones(size, dtype=bool)}
    if single_token is not None:
        single = _read_flags(single_token, size)
        parts |= {"single": single, "multi": ~single}
    result: dict[str, Any] = {}
    by_group: dict[Hashable, dict[str, Any]] = {}
    for name, counted in parts.items():
        part = _summarize_part(name, right, counted, **options)
        for group, figures in part.pop("by_group", {}).items():
            by_group.setdefault(group, {}).update(figures)
        result.update(part)
    if by_group:
        result["by_group"] = by_group
    return {**result, "n_unpredicted": sum(text is None for text in predictions)}


class FactualAccuracy(Module):
    """Compare predicted texts with accepted ones."""

    measure = staticmethod(measure_factual_accuracy)
    nullable = ("predictions",)

    def _info(self) -> evaluate.MetricInfo:
        # Not "string": evaluate refuses a batch of strings whose first entry is None.
        text = datasets.Value("large_string")
        features = datasets.Features({"predictions": text, "references": datasets.Sequence(text)})
        return evaluate.MetricInfo(_DESCRIPTION, _CITATION, features, _KWARGS_DESCRIPTION)


def _fold(text: str, language: str | None) -> str:
    text = text.strip().lower()
    if language == "el":
        text = _STRESS.sub("", unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFC", text)


def _read_flags(flags: Sequence[bool], size: int) -> np.ndarray:
    check_length(flags, size, "single_token")
    for query, flag in enumerate(flags):
        if flag not in (0, 1):
            raise ValueError(f"query {query} of 'single_token' is {flag!r}; expected true or false")
    return np.array(flags, dtype=bool)


def _summarize_part(
    name: str, right: np.ndarray, counted: np.ndarray, **options: Any
) -> dict[str, Any]:
    """Return the accuracy NAME on the queries that count, and their number, by group too.

    They are drawn from by themselves: in a draw from all queries a relation's only object of one
    token would often be missing, and the relation with it.
    """
    groups = options.get("groups")
    places = pick_counted(counted, groups)
    for column in ("groups", "clusters"):
        options[column] = take(options.get(column), places)
    result = summarize({name: share(np.where(counted, right, np.nan)[places])}, **options)
    count = "n_queries" if name == "all" else f"n_{name}"
    if groups is not None:
        for group, size in count_by_group(counted, groups).items():
            del result["by_group"][group]["n_queries"]
            result["by_group"][group][count] = size
    return {**result, count: int(counted.sum())}
