"""The cells of LaTeX tables."""

from collections.abc import Sequence

UNDEFINED = "--"
ESCAPES = {
    **{char: f"\\{char}" for char in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


def escape(text: str) -> str:
    r"""Escape the special characters of LaTeX.

    >>> print(escape("zh_hans, 95%"))
    zh\_hans, 95\%
    """
    return "".join(ESCAPES.get(char, char) for char in text)


def join_cells(cells: Sequence[str]) -> str:
    """Join cells to a line of a table."""
    return " & ".join(cells) + r" \\"


def percent(value: float | None) -> str:
    """Format a share in percent with one decimal."""
    return UNDEFINED if value is None else f"{100 * round(value, 3):z.1f}".replace("-", "$-$")
