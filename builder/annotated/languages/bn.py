"""Bengali endings of the genitive and the locative, by the last sound."""

import re
from collections.abc import Collection

from polyprobe.builder.annotated.inflector import ByRule

VOWEL_SIGNS = "ািীুূৃেৈোৌ"
VOWELS = "অআইঈউঊঋএঐওঔ"
CONSONANT = re.compile(r"[ক-হড়ঢ়ৎ]")
YA = "য়"


class Inflection(ByRule):
    """Adds endings by the rules of sound: ঢাকা, ঢাকার, ঢাকায়."""

    name = "last sound (bn)"

    def decline(self, head: str, case: str, kinds: Collection[str]) -> str | None:
        """Return the head with the ending, None where it does not end in a Bengali letter."""
        ending = (
            end_genitive(head) if case == "GEN" else end_locative(head) if case == "LOC" else ""
        )
        return head + ending if ending else None


def end_genitive(word: str) -> str:
    """Return -র behind a vowel sign, -এর behind a consonant, '' behind anything else."""
    if word.endswith(tuple(VOWEL_SIGNS)) or word.endswith("ও"):
        return "র"
    if word.endswith(tuple(VOWELS)) or word.endswith("ং"):
        return f"{YA}ের"
    return "ের" if ends_in_consonant(word) else ""


def end_locative(word: str) -> str:
    """Return -য় behind a, -তে behind other vowels, -এ behind a consonant, '' behind the rest."""
    if word.endswith("া"):
        return YA
    if word.endswith(tuple(VOWEL_SIGNS)) or word.endswith(tuple(VOWELS)):
        return "তে"
    if word.endswith("ং"):
        return f"{YA}ে"
    return "ে" if ends_in_consonant(word) else ""


def ends_in_consonant(word: str) -> bool:
    """Return whether the word ends in a consonant, with the dot below or without."""
    return bool(CONSONANT.match(word.removesuffix("\u09bc")[-1:]))
