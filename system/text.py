"""Text of others: cleaned where it enters or is shown, escaped in the formats of our files."""

import html
import re
import unicodedata

# Controls end lines and command terminals; embeddings, overrides and isolates of writing
# directions reorder what follows. The marks and joiners of Arabic, Hebrew and Indic words stay.
_HIDDEN: dict[int, str | None] = {
    **{code: None for code in range(0xA0) if unicodedata.category(chr(code)) == "Cc"},
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A))),
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),  # halves of characters are in no file
    **dict.fromkeys(map(ord, "\t\n\v\f\r\x85\u2028\u2029"), " "),
}
_OF_LINES = {code: sign for code, sign in _HIDDEN.items() if code != ord("\n")}
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")  # the first sign of one in a sheet


def clean(text: object) -> str:
    r"""Write text on one line, without characters that command a terminal.

    >>> clean("a\x1b[31m\nb")
    'a[31m b'
    """
    return str(text).translate(_HIDDEN)


def clean_lines(text: str) -> str:
    """Write text without characters that command a terminal, except ends of lines."""
    return text.translate(_OF_LINES)


def clean_field(text: object) -> str:
    """Clean a field of a signature, in which `|` is between two fields."""
    return clean(text).replace("|", "/")


def escape_cell(value: object) -> object:
    """Clean text of a cell, with an apostrophe where a spreadsheet would take it for a formula."""
    if not isinstance(value, str):
        return value
    text = clean(value)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def escape_markdown(text: str) -> str:
    r"""Escape what Markdown and HTML would interpret, on one line.

    >>> print(escape_markdown("a|[b](c) <i>"))
    a\|\[b\](c) &lt;i&gt;
    """
    return re.sub(r"[\\`*\[\]|]", r"\\\g<0>", html.escape(clean(text), quote=False))
