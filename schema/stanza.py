"""Stanza's language codes."""

_NAMES = {"iw": "he", "no": "nb", "zh": "zh-hans"}


def stanza_name(language: str) -> str:
    """Return Stanza's code of a language or split.

    >>> stanza_name("no"), stanza_name("zh_hant")
    ('nb', 'zh-hant')
    """
    return _NAMES.get(language, language.replace("_", "-"))
