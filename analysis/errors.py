"""The types of errors of free predictions, see docs/reproduce/xfactr.md."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from polyprobe.metrics.shared.intervals import Resampling, share, summarize
from polyprobe.metrics.shared.rows import take
from polyprobe.schema.columns import SLOT
from polyprobe.system.files import read_tsv

Words = tuple[str, ...]
UNKNOWN = ("[UNK]", "<unk>")
ENDING = 3  # most letters in which two forms of a word may differ at their ends
STEM = 3  # fewest letters that they have in common
# Letters of a word, or one character of a script without blanks.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")


class Wrong(NamedTuple):
    """A wrong prediction."""

    text: str  # as it is
    words: Words  # folded
    sentence: Words  # the words of the prompt, with a `[Y]` at the slot
    gold: Sequence[Words]  # the words of each accepted form
    other_forms: Collection[Words]  # the accepted forms of the other facts of the relation
    function_words: Collection[str]  # of the language


Rule = Callable[[Wrong], bool]
# The first that holds counts; Jiang et al. (2020, table 2) sorted samples by hand. The definitions
# of the types are in figures/figures.toml.
RULES: dict[str, Rule] = {
    "unknown": lambda wrong: not wrong.text.strip() or any(mark in wrong.text for mark in UNKNOWN),
    "no_word": lambda wrong: all(
        word in wrong.function_words or not any(map(str.isalpha, word)) for word in wrong.words
    ),
    # in the whole sentence, as the subject is not marked in it
    "subject": lambda wrong: has_run(wrong.sentence, wrong.words),
    "other_form": lambda wrong: any(are_forms(wrong.words, gold) for gold in wrong.gold),
    "part_of_gold": lambda wrong: any(has_run(gold, wrong.words) for gold in wrong.gold),
    "same_type": lambda wrong: wrong.words in wrong.other_forms,
    "other": lambda wrong: True,
}


@lru_cache
def read_function_words() -> dict[str, frozenset[str]]:
    """Read articles, pronouns, prepositions, conjunctions and auxiliaries by language, folded."""
    lines = read_tsv(Path(__file__).with_name("function_words.tsv"), "list of words")
    return {language: frozenset(words.split()) for _, (language, words) in lines}


def fold_accents(text: str) -> str:
    """Fold a text to lower case without accents and final sigma.

    >>> fold_accents("Χριστός Árbol")
    'χριστοσ arbol'
    """
    apart = unicodedata.normalize("NFD", text.lower().replace("ς", "σ"))
    plain = "".join(character for character in apart if unicodedata.category(character) != "Mn")
    return unicodedata.normalize("NFC", plain)


@lru_cache(maxsize=1_000_000)  # accepted forms recur in many facts
def split_words(text: str) -> Words:
    """Split into folded words; a character of Chinese or Japanese is a word.

    >>> split_words("Saint-Denis, 北京")
    ('saint', 'denis', '北', '京')
    """
    return tuple(_WORD.findall(fold_accents(text)))


def has_run(words: Words, part: Words) -> bool:
    """Tell whether `part`, which is not empty, occurs as consecutive words.

    >>> has_run(("a", "b", "c"), ("b", "c")), has_run(("a", "b", "c"), ("a", "c"))
    (True, False)
    """
    places = range(len(words) - len(part) + 1)
    return bool(part) and any(words[place : place + len(part)] == part for place in places)


def are_forms(first: Words, second: Words) -> bool:
    """Tell whether two texts have pairs of words with a common stem and other endings.

    >>> are_forms(("ρωσιας",), ("ρωσια",)), are_forms(("norway",), ("norwegian",))
    (True, False)
    """
    pairs = zip(first, second, strict=False)
    return first != second and len(first) == len(second) and all(have_stem(*pair) for pair in pairs)


def have_stem(first: str, second: str) -> bool:
    """Tell whether two words are equal, or equal before at most ENDING letters of each."""
    pairs = zip(first, second, strict=False)
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return first == second or (common >= STEM and max(len(first), len(second)) - common <= ENDING)


def classify(
    predictions: Sequence[str | None],
    prompts: Sequence[str],
    accepted: Sequence[Sequence[str]],
    language: str,
    groups: Sequence[str] | None = None,
    right: Sequence[bool] | None = None,
) -> list[str]:
    """Find the type of each wrong prediction, a key of RULES, in the order of the facts.

    Without `groups`, all facts are of one relation; without `right`, all are wrong.
    """
    gold = [[*map(split_words, forms)] for forms in accepted]
    labels = groups or [""] * len(gold)
    counts_by_relation: dict[str, Counter[Words]] = defaultdict(Counter)
    for label, forms in zip(labels, gold, strict=True):
        counts_by_relation[label].update({*forms})
    marks = [False] * len(gold) if right is None else right
    return [
        _classify(text, prompt, forms, counts_by_relation[label], language)
        for text, prompt, forms, label, is_right in zip(
            predictions, prompts, gold, labels, marks, strict=True
        )
        if not is_right
    ]


def _classify(
    text: str | None, prompt: str, gold: list[Words], counts: Mapping[Words, int], language: str
) -> str:
    before, _, after = prompt.partition(SLOT)
    sentence = (*split_words(before), SLOT, *split_words(after))
    words = split_words(text or "")
    other_forms = {words} if counts.get(words, 0) > (words in gold) else set()
    function_words = read_function_words().get(language, frozenset())
    wrong = Wrong(text or "", words, sentence, gold, other_forms, function_words)
    return next(name for name, rule in RULES.items() if rule(wrong))


def measure_errors(kinds: Iterable[str], **options: Any) -> dict[str, Any]:
    """Compute each type's share with its interval, None without errors, and their number."""
    types = np.array(list(kinds), dtype=str)
    if not len(types):
        return {**dict.fromkeys(RULES), "n_queries": 0}
    measures = {name: share((types == name).astype(np.float64)) for name in RULES}
    return {**summarize(measures, **options), "n_queries": len(types)}


def measure_language(
    table: pa.Table, right: np.ndarray, language: str, options: Resampling
) -> dict[str, Any]:
    """Compute `measure_errors` in one language; `right` is 1, 0, or NaN for facts not asked."""
    places = np.flatnonzero(~np.isnan(right))
    columns = ["relation", "prompt", "answer_forms", "prediction"]
    rows = table.select(columns).take(places).to_pydict()
    kinds = classify(
        rows["prediction"],
        rows["prompt"],
        rows["answer_forms"],
        language,
        groups=rows["relation"],
        right=right[places].astype(bool),
    )
    wrong = np.flatnonzero(right == 0)  # `clusters` are of all facts
    options = options._replace(clusters=take(options.clusters, wrong))
    return measure_errors(kinds, **options._asdict())
