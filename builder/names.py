"""What is said of a name that nobody knows: the name, its place, the nearest known one."""

from collections.abc import Collection
from difflib import get_close_matches

from polyprobe import PolyprobeError


def unknown(kind: str, name: str, place: str, known: Collection[str]) -> PolyprobeError:
    """Return the error for a name that is not among `known`.

    >>> print(unknown("language", "gr", "mpararel", ["el", "gl", "fr"]))
    unknown language 'gr' in mpararel; did you mean 'gl'? available: el, fr, gl
    """
    folded = {other.casefold(): other for other in known}
    near = get_close_matches(name.casefold(), folded, n=1, cutoff=0.5)
    guess = f" did you mean {folded[near[0]]!r}?" if near else ""
    return PolyprobeError(
        f"unknown {kind} {name!r} in {place};{guess} available: {', '.join(sorted(known))}"
    )
