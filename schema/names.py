"""Names of languages, relations and flags in comma-separated lists."""

from collections.abc import Iterable

SENTENCE = "-sentence"  # the suffix of a sentence version's name


def split_list(texts: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return the items of comma-separated lists, without blanks and repetitions.

    >>> split_list(["P36, P37", "P36"])
    ('P36', 'P37')
    """
    lists = [texts] if isinstance(texts, str) else texts or ()
    parts = [part.strip() for text in lists for part in text.split(",")]
    return tuple(dict.fromkeys(filter(None, parts)))


def parse_languages(texts: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return language codes in the spelling of cards and sources, with hyphens.

    >>> parse_languages("en, zh_hans"), parse_languages(["en,fr", "zh-hans"])
    (('en', 'zh-hans'), ('en', 'fr', 'zh-hans'))
    """
    return tuple(dict.fromkeys(item.replace("_", "-") for item in split_list(texts)))


def parse_exclude(text: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """Return the relations and flags to leave out; `none` is an empty list, None the default.

    >>> parse_exclude("P530, answer_in_subject"), parse_exclude("none"), parse_exclude(None)
    (('P530', 'answer_in_subject'), (), None)
    """
    return None if text is None else split_list("" if text == "none" else text)
