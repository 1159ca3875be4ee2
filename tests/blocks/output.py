"""Compare the output shown on a page with the printed output."""

import re

FRAME = re.compile(r"[\u2500-\u257f]+")  # of tables in the terminal


def lines_of(text: str) -> list[str]:
    """Return the non-empty lines without frames, with one space between words.

    >>> lines_of("│ en │  0.9 │\\n├────┤\\n")
    ['en 0.9']
    """
    lines = (" ".join(FRAME.sub(" ", line).split()) for line in text.splitlines())
    return [line for line in lines if line]


def missing_line(shown: str, printed: str) -> str | None:
    """Return the first shown line that was not printed in this order; None if all were printed.

    The printed output may have more lines; `…` in a line matches any text.

    >>> missing_line("a\\nc …", "a\\nb\\nc 1\\n") is None
    True
    >>> missing_line("b\\na", "a\\nb")
    'a'
    """
    rest = iter(lines_of(printed))
    for line in lines_of(shown):
        wanted = re.compile(".*".join(map(re.escape, line.split("…"))))
        if not any(wanted.fullmatch(other) for other in rest):
            return line
    return None
