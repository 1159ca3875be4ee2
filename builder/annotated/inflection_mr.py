"""The Marathi locative, where the last letter tells it."""

from collections.abc import Collection

from .inflection import Inflector, split_tail


class Inflection(Inflector):
    """Adds -त behind ī and ū, -ात behind a consonant: दिल्लीत, भारतात.

    Words in -ा and -े have another stem before it, which no rule of sound tells.
    """

    name = "last sound (mr)"

    def __init__(self, language: str) -> None:
        pass

    def inflect(
        self,
        label: str,
        case: str,
        gender: str | None = None,
        number: str | None = None,
        kinds: Collection[str] = (),
    ) -> str | None:
        """Return the label in the locative, None where it does not tell its stem."""
        head, tail = split_tail(label)
        if case == "NOM":
            return label
        if case != "LOC" or not head:
            return None
        if head[-1] in "ीूईऊ":
            return f"{head}त{tail}"
        return f"{head}ात{tail}" if "\u0915" <= head[-1] <= "\u0939" else None
