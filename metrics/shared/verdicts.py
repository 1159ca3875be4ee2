"""Judge free answers by the names of entities in them.

>>> pool = {"Q90": {"en": ["Paris"], "ru": ["Париж"]}, "Q64": {"en": ["Berlin"], "ru": ["Берлин"]}}
>>> judge = Judge(pool, "ru")
>>> judge.read("Не в Берлине, а в Париже.", "Где Лувр?", ["Q90"])
Verdict(kind='right', entity='Q90', language='ru', text='Париже')
>>> judge.read("I don't know.", "Где Лувр?", ["Q90"]).kind
'refusal'
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import count
from string import punctuation
from typing import Any, NamedTuple

import numpy as np

from polyprobe.metrics.shared.names import UNSEEN, WORD, Mention, NamePool, Names, fold_word

KINDS = (
    *("right", "right_english", "right_other"),  # in the language asked, in English, in another
    *("another", "outside", "refusal", "empty"),  # an entity of the pool, none of its names
)
LONGEST = 20_000  # characters of an answer that are read
NO_UNSEEN = str.maketrans("", "", UNSEEN)
BLANKS = dict.fromkeys(map(ord, {*punctuation, *"、？"} - {*"-%"}), " ")
MOST = 3  # entities of an answer; a longer list answers nothing

THINKING = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL)
TAG = re.compile(r"</?[a-z][^<>]{0,200}>", re.IGNORECASE)
MARKUP = re.compile(r"[*_`#]+")
CLOSING = re.compile(r"\A.*</(?:think|thinking|reasoning)>", re.DOTALL)  # the template opened it
SENTENCE = re.compile(r"(?<=[.!?…])\s+|[。！？!?।॥؟۔։።။។]\s*|\n+")
INSIDE = re.compile(r"\b(?:\w|\d\d|Dr|Mr|St|Mt|Prof|No|vs)\.$")  # the stop is no end: U. S.
# Words that negate a name: before it, or behind it, with at most two others between them.
BEFORE = frozenset(
    (
        *("not", "no", "n't", "isn't", "wasn't", "nicht", "kein", "keine", "keinen", "pas", "non"),
        *("não", "не", "ні", "ليس", "ليست", "δεν", "όχι", "niet", "nie", "ikke", "inte"),
    )
)
# Where words mean something else, by first subtag of the language asked: no Brasil, in Brazil
BEFORE_IN = {"sw": BEFORE | {"si", "hakuna"}, **dict.fromkeys(("gl", "pt"), BEFORE - {"no"})}
BEHIND = frozenset(("değil", "değildir", "नहीं", "नभई", "होइन", "nicht"))
BETWEEN = 2  # words
NEAR = 60  # characters beside a name that are read
REMARK_BEFORE = re.compile(
    r"\b(?:question|phrase|sentence|written|text|translated)(?: is)? in\W*$", re.IGNORECASE
)
REMARK_BEHIND = re.compile(r"\W*(?:(?:language|dili|dilinde)\b|भाषा)", re.IGNORECASE)
REFUSAL = re.compile(
    r"\b(?:i(?: am|'m) (?:not sure|sorry|unable)|i (?:do not|don't|cannot|can't|couldn't)|unknown"
    r"|je ne (?:sais|connais|peux)|je n'ai|désolé|no (?:lo )?sé|lo siento|weiß (?:es )?nicht"
    r"|не знаю|не могу|не можу|не маю|bilmiyorum|üzgünüm|δεν (?:γνωρίζω|μπορώ|ξέρω)|sijui|samahani"
    r"|لا أعرف|لا أستطيع|آسف)\b|抱歉|无法|不知道|申し訳|わかりません|分かりません|ขออภัย|ไม่ทราบ"
    r"|खेद|क्षमा|माफ|थाहा छैन|पता नहीं",
    re.IGNORECASE,
)


class Verdict(NamedTuple):
    """What an answer says: one of `KINDS`, the entity that it names, and the name."""

    kind: str
    entity: str = ""
    language: str = ""  # of the name
    text: str = ""


class Passage(NamedTuple):
    """The names of one sentence of an answer, and those of the question."""

    text: str
    names: list[Mention]
    # form, whether it is exact, and the words beside it
    echoes: Collection[tuple[str, bool, tuple[str, str]]]
    negations: frozenset[str]  # that stand before a name


def drop_echoes(sentence: Passage) -> list[Mention]:
    """Leave out a name of the question, beside the same word or as the same inexact form."""
    names = []
    for name in sentence.names:
        form, sides = _look_around(sentence.text, name)
        echoes = [x for x in sentence.echoes if x[0] == form]
        if not any(
            not exact or any(a and a == b for a, b in zip(sides, of, strict=True))
            for _, exact, of in echoes
        ):
            names.append(name)
    return names


def drop_negated(sentence: Passage) -> list[Mention]:
    """Leave out negated names, not A but B: a negation reaches to the next name, not beyond."""
    names = []
    starts = [*(name.start for name in sentence.names), len(sentence.text)]
    end = 0  # of the name before
    for name, start in zip(sentence.names, starts[1:], strict=True):
        before = _list_words(sentence.text[max(end, name.start - NEAR) : name.start])
        after = _list_words(sentence.text[name.end : min(start, name.end + NEAR)])
        reach = before[-1 - BETWEEN :], after[: 1 + BETWEEN]
        if sentence.negations.isdisjoint(reach[0]) and BEHIND.isdisjoint(reach[1]):
            names.append(name)
        end = name.end
    return names


def drop_remarks(sentence: Passage) -> list[Mention]:
    """Leave out the name of a language: a question in Greek, the Greek language."""
    return [
        name
        for name in sentence.names
        if not REMARK_BEFORE.search(sentence.text[max(0, name.start - NEAR) : name.start])
        and not REMARK_BEHIND.match(sentence.text, name.end)
    ]


def drop_lists(sentence: Passage) -> list[Mention]:
    """Leave out the names of a list of more entities than an answer has."""
    return [] if len({name.entity for name in sentence.names}) > MOST else sentence.names


# Each takes names away; tests/metrics/test_verdicts.py has an example that fails without it.
RULES = (drop_echoes, drop_negated, drop_remarks, drop_lists)


class Judge:
    """Verdicts on answers to questions in one language about entities of a pool.

    Args: as `names.Names`.
    """

    def __init__(
        self, pool: NamePool, language: str, lemma: Callable[[str], str] = lambda word: word
    ) -> None:
        self._names, self._language = Names(pool, language, lemma), language
        self._negations = BEFORE_IN.get(re.split("[-_]", language)[0], BEFORE)

    def read(self, answer: str, question: str, right: Collection[str]) -> Verdict:
        """Return the verdict on an answer; `right` are the ids of the right entities."""
        text = strip_answer(answer)
        if not WORD.search(text):
            return Verdict("empty")
        asking = unicodedata.normalize("NFC", question[:LONGEST].translate(NO_UNSEEN))
        mentions = [(_look_around(asking, x), x.score) for x in self._names.find(asking)]
        echoes = {(form, score == 100, sides) for (form, sides), score in mentions}
        for part in split_sentences(text):
            names = self._names.find(part, right)
            for rule in RULES:
                names = rule(Passage(part, names, echoes, self._negations))
            if names:
                name = next((x for x in names if x.entity in right), names[0])
                words = part[name.start : name.end]
                return Verdict(self._rate(name, right), name.entity, name.language, words)
        return Verdict("refusal" if REFUSAL.search(text) else "outside")

    def _rate(self, name: Mention, right: Collection[str]) -> str:
        if name.entity not in right:
            return "another"
        if name.language == self._language:
            return "right"
        return "right_english" if name.language == "en" else "right_other"


# The program of KLAR's authors: both texts folded, most ASCII punctuation as blanks.
class Containment:
    """Verdicts by containment: the label is the answer, one of its words, or its beginning."""

    def __init__(self, pool: NamePool, language: str) -> None:
        names = {x: [*of[language]][:1] for x, of in pool.items() if of.get(language)}
        labels = {x: _fold_text(label) for x, [label] in names.items()}
        self._labels = {x: label for x, label in labels.items() if label}
        self._language = language

    def read(self, answer: str, question: str, right: Collection[str]) -> Verdict:
        """Return the verdict on an answer; the question does not count."""
        text = _fold_text(answer)
        for entity in sorted(self._labels, key=lambda x: x not in right):
            label = self._labels[entity]
            if label == text or label in text.split() or text.startswith(label):
                kind = "right" if entity in right else "another"
                return Verdict(kind, entity, self._language, label)
        return Verdict("outside" if text else "empty")


JUDGES: dict[str, type[Judge] | type[Containment]] = {"names": Judge, "contains": Containment}
Pool = dict[str, dict[str, list[str]]]


def read_pool(names: Any) -> Pool:
    """Check and list the names of entities, {entity: {language: names, or one name}}."""
    example = "expected {entity: {language: [name, …]}}"
    if not isinstance(names, Mapping) or not names:
        raise ValueError(f"'names' is {names!r:.60}; {example}")
    pool: Pool = {}
    for entity, languages in names.items():
        if not isinstance(languages, Mapping):
            raise ValueError(f"{entity!r} in 'names' is {languages!r:.60}; {example}")
        if not all(isinstance(x, str) for x in languages):
            raise ValueError(f"{entity!r} in 'names' has languages {[*languages]!r:.60}; {example}")
        pool[entity] = {x: [of] if isinstance(of, str) else of for x, of in languages.items()}
        for language, several in pool[entity].items():
            listed = isinstance(several, list | tuple)
            if not listed or not all(isinstance(x, str) and x.strip() for x in several):
                place = f"{entity!r} in 'names' has {several!r:.60} in {language!r}"
                raise ValueError(f"{place}; expected names")
    return pool


def read_entities(rows: Any, pool: Collection[str], name: str, size: int) -> list[list[str]]:
    """Check the right entities of each query: lists, or one each; all are of the pool."""
    if isinstance(rows, str) or not hasattr(rows, "__len__") or len(rows) != size:
        raise ValueError(f"{name!r} is {rows!r:.60}; expected entities for each of {size} queries")
    lists = [[row] if isinstance(row, str) else row for row in rows]
    for query, row in enumerate(lists):
        if not isinstance(row, list | tuple) or not row:
            raise ValueError(f"query {query} of {name!r} is {row!r:.60}; expected entities")
        for entity in row:
            if entity not in pool:
                raise ValueError(f"query {query} of {name!r} has {entity!r:.60}, not in 'names'")
    return [[*row] for row in lists]


def number_answers(
    texts: Any, languages: Any, names: Any, references: Any = None, name: str = "references"
) -> tuple[np.ndarray, list[list[int]] | None]:
    """Number the entities that answers name, and those of `references`, in the order of `names`.

    `texts` are rows of queries, columns of languages, as is the result. An answer without an entity
    has a number of its own: it is like no other. `name` is that of the references in messages.
    """
    pool = read_pool(names)
    numbers = {entity: number for number, entity in enumerate(pool)}
    right: list[list[str]] = [[]] * len(texts)
    if references is not None:
        right = read_entities(references, pool, name, len(texts))
    judges = [Judge(pool, language) for language in _read_codes(texts, languages)]
    entities = [
        [judge.read(text, "", of).entity for judge, text in zip(judges, row, strict=True)]
        for row, of in zip(texts, right, strict=True)
    ]
    free = count(len(pool))
    rows = [[numbers[x] if x else next(free) for x in row] for row in entities]
    of = [[numbers[x] for x in row] for row in right]
    return np.array(rows), of if references is not None else None


def _read_codes(texts: Any, languages: Any) -> Sequence[str]:
    """Check the rows of answers, and the code of each of their columns."""
    listed = isinstance(languages, list | tuple) and all(isinstance(x, str) for x in languages)
    if not listed:
        raise ValueError(f"'languages' is {languages!r:.60}; expected the language of each column")
    for query, row in enumerate(texts):
        if len(row) != len(languages):
            raise ValueError(f"query {query} has {len(row)} answers, 'languages' {len(languages)}")
        for text in row:
            if not isinstance(text, str):
                raise ValueError(f"query {query} has the answer {text!r:.60}; expected a text")
    return languages


def _fold_text(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold().translate(BLANKS).strip()


def strip_answer(answer: str) -> str:
    """Return an answer composed, without thinking, tags, marks of Markdown and control characters.

    >>> strip_answer("<think>Berlin?</think>It is **Paris**.<br>")
    'It is  Paris . '
    """
    text = CLOSING.sub("", THINKING.sub("", answer))[:LONGEST].translate(NO_UNSEEN)
    text = MARKUP.sub(" ", TAG.sub(" ", unicodedata.normalize("NFC", text)))
    return "".join(" " if unicodedata.category(x) == "Cc" and x != "\n" else x for x in text)


def split_sentences(text: str) -> Iterable[str]:
    """Yield the sentences of a text: its lines, cut behind final marks."""
    start = 0
    for match in SENTENCE.finditer(text):
        word = max(start, match.start() - 6)
        if "\n" in match[0] or not INSIDE.search(text, word, match.start()):
            yield text[start : match.start()]
            start = match.end()
    yield text[start:]


def _look_around(text: str, name: Mention) -> tuple[str, tuple[str, str]]:
    """Return a name as it stands in a text, and the words beside it, folded."""
    before = _list_words(text[max(0, name.start - NEAR) : name.start])
    after = _list_words(text[name.end : name.end + NEAR])
    sides = before[-1] if before else "", after[0] if after else ""
    return fold_word(text[name.start : name.end]), sides


def _list_words(text: str) -> list[str]:
    return [fold_word(word) for word in WORD.findall(text)]
