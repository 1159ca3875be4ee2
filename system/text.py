"""Text of others: cleaned where it enters or is shown, escaped in our files; without secrets."""

import base64
import html
import os
import re
import unicodedata
from contextlib import suppress
from urllib.parse import parse_qsl, quote, unquote, urlsplit

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
_SECRET_NAME = re.compile(r"(?i)(key|token|secret|passw(or)?d)$")  # of an environment variable
_SHORTEST = 8  # characters of a secret that is searched for by its value
# A user and password in an address; a password may have a `/`, but a port has digits only.
_USER = re.compile(r"(?<=://)([^\s/?#]*@|[^\s/?#:[\]]*:(?!\d*([/?#\s]|$))\S*@)")
_QUERY = re.compile(r"(://[^\s?#]*)[?#][^\s'\"<>]*?(?=[),.;:]*([\s'\"<>]|$))")
_KEY = re.compile(r"\b(hf_|sk-)[A-Za-z0-9_-]{16,}")
_NAMED = re.compile(r"(?i)((?:api|access|secret|auth)[-_]?(?:key|token)|passw(?:or)?d)(=)[^\s'\"]+")


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
    return hide_secrets(clean(text)).replace("|", "/")


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


def hide_secrets(text: str, *addresses: str) -> str:
    """Cut secrets from a text that is shown or stored: user, password, query of any address, keys.

    The secrets of the environment and of `addresses` are also found outside of an address.

    >>> hide_secrets("no answer from http://me:word@127.0.0.1:8000/v1?key=abc; start it")
    'no answer from http://127.0.0.1:8000/v1; start it'
    """
    secrets = {value for name, value in os.environ.items() if _SECRET_NAME.search(name)}
    for address in (*addresses, *(x for x in os.environ.values() if "://" in x)):
        with suppress(ValueError):
            parts = urlsplit(address)
            user = parts.netloc.rpartition("@")[0]
            # A user without a password is a token; else it may be any word.
            values = [user.partition(":")[2] or user, parts.fragment]
            values += [value for _, value in parse_qsl(parts.query)] or [parts.query]
            # As a server may repeat them
            secrets |= {x for y in values for x in (y, unquote(y), quote(unquote(y), safe=""))}
            secrets.add(base64.b64encode(unquote(user).encode()).decode())
    for secret in sorted(map(str.strip, secrets), key=len, reverse=True):
        text = text.replace(secret, "…") if len(secret) >= _SHORTEST else text
    text = _NAMED.sub(r"\1\2…", _KEY.sub("…", text))
    return _QUERY.sub(r"\1", _USER.sub("", text))
