r"""Chat templates of our own with the constructs of known families, and what they must give.

Transformers renders with trimmed blocks: the newline behind `%}` and the blanks in front of `{%`
are not part of the text.
"""

from pathlib import Path
from typing import NamedTuple


class Case(NamedTuple):
    """A template, and the exact text in front of the answer.

    Attributes:
        template: the source.
        alone: that text with an empty message of the user.
        said: with the system message `Be brief.` and the user's `Say it.`; None if refused.
        special: texts that are single tokens of the family's tokenizers.
    """

    template: str
    alone: str
    said: str | None
    special: tuple[str, ...] = ()


CHATML = ("<|im_start|>", "<|im_end|>")
THINK = ("<think>", "</think>")


def read_template(name: str) -> str:
    return Path(__file__).with_name(f"{name}.jinja").read_text(encoding="utf-8")
