"""The Marathi locative, if the last letter determines it."""

import re
from collections.abc import Collection

from polyprobe.builder.annotated.inflection import ByRule


class Inflection(ByRule):
    """Adds -त after ī and ū, -ात after a consonant: दिल्लीत, भारतात.

    Words in -ा and -े have another, unpredictable stem before it.
    """

    name = "last sound (mr)"

    def decline(self, head: str, case: str, kinds: Collection[str]) -> str | None:
        """Return the locative, or None if the stem of the head is unknown."""
        if case != "LOC" or not head:
            return None
        if head[-1] in "ीूईऊ":
            return f"{head}त"
        head = re.sub("पूर$", "पुर", head)  # कोल्हापुरात
        return f"{head}ात" if "\u0915" <= head[-1] <= "\u0939" else None
