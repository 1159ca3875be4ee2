"""Bengali endings of the genitive and the locative, and the Marathi locative, by the last sound."""

import re
from collections.abc import Collection

VOWEL_SIGNS = "ািীুূৃেৈোৌ"
VOWELS = "অআইঈউঊঋএঐওঔ"
CONSONANT = re.compile(r"[ক-হড়ঢ়ৎ]")
YA = "য়"


def decline_bengali(head: str, case: str, kinds: Collection[str]) -> str | None:
    """Return the head with the ending: ঢাকা, ঢাকার, ঢাকায়; None if it does not end in Bengali."""
    endings = {"GEN": end_genitive, "LOC": end_locative}
    ending = endings[case](head) if case in endings else ""
    return head + ending if ending else None


def decline_marathi(head: str, case: str, kinds: Collection[str]) -> str | None:
    """Return the locative: -त after ī and ū, -ात after a consonant (दिल्लीत, भारतात), or None.

    Words in -ा and -े have another, unpredictable stem before it.
    """
    if case != "LOC" or not head:
        return None
    if head[-1] in "ीूईऊ":
        return f"{head}त"
    head = re.sub("पूर$", "पुर", head)  # कोल्हापुरात
    return f"{head}ात" if "\u0915" <= head[-1] <= "\u0939" else None


def end_genitive(word: str) -> str:
    """Return -র after a vowel sign, -এর after a consonant, '' otherwise."""
    if word.endswith(tuple(VOWEL_SIGNS)) or word.endswith("ও"):
        return "র"
    if word.endswith(tuple(VOWELS)) or word.endswith("ং"):
        return f"{YA}ের"
    return "ের" if ends_in_consonant(word) else ""


def end_locative(word: str) -> str:
    """Return -য় after a, -তে after other vowels, -এ after a consonant, '' otherwise."""
    if word.endswith("া"):
        return YA
    if word.endswith(tuple(VOWEL_SIGNS)) or word.endswith(tuple(VOWELS)):
        return "তে"
    if word.endswith("ং"):
        return f"{YA}ে"
    return "ে" if ends_in_consonant(word) else ""


def ends_in_consonant(word: str) -> bool:
    """Return whether the word ends in a consonant, with or without the dot below."""
    return bool(CONSONANT.match(word.removesuffix("\u09bc")[-1:]))
