"""Bengali endings of the genitive and the locative, and the Marathi locative, by the last sound."""

import re
from collections.abc import Collection

YA = "য়"
# Last sounds, and the endings of the genitive and the locative; the first that fits counts.
BENGALI = (
    ("া$", "র", YA),
    ("[ািীুূৃেৈোৌও]$", "র", "তে"),
    ("[অআইঈউঊঋএঐঔ]$", f"{YA}ের", "তে"),
    ("ং$", f"{YA}ের", f"{YA}ে"),
    ("[ক-হৎ]\u09bc?$", "ের", "ে"),  # a consonant, with or without the dot below
)


def decline_bengali(head: str, case: str, kinds: Collection[str]) -> str | None:
    """Return the head with the ending: ঢাকা, ঢাকার, ঢাকায়; None if it does not end in Bengali."""
    for last, genitive, locative in BENGALI:
        if case in ("GEN", "LOC") and re.search(last, head):
            return head + (genitive if case == "GEN" else locative)
    return None


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
