"""The least p-value that a comparison can come to, and what it would take to fall below .05."""

from typing import NamedTuple

from scipy.special import ndtr, ndtri, stdtr, stdtrit

from .runs import Comparison

LEVEL = 0.05
MOST = 10_000_000  # resamples, more than is worth waiting for


class Asked(NamedTuple):
    """What a comparison's p-values hang on: the test, what it swaps or draws, how often."""

    test: str
    n_units: int
    n_resamples: int


def find_least(asked: Asked) -> float:
    """Return the least uncorrected p-value, that of a difference no resample reaches.

    Of n units there are 2^n ways to swap two runs, and the way that is the runs' own and the one
    that swaps all reach any difference: 2^(1 - n). Fewer drawn swaps may miss that by luck. The
    bootstrap is bound by its degrees of freedom, at most n - 1 (`significance.invert_intervals`);
    without any it has no p-value, which counts as 1.
    """
    drawn = 1 / (1 + asked.n_resamples)
    if asked.test == "randomisation":
        return max(drawn, 2.0 ** (1 - asked.n_units))
    return float(2 * stdtr(asked.n_units - 1, ndtri(min(drawn, 0.5)))) if asked.n_units > 1 else 1.0


def find_resamples(asked: Asked, level: float) -> int | None:
    """Return how many resamples p-values below `level` need, None where more than MOST."""
    if asked.test == "randomisation":
        tail = level
    else:
        tail = ndtr(stdtrit(asked.n_units - 1, level / 2)) if asked.n_units > 1 else 0.0
    least = int(1 / max(tail, 1 / MOST)) - 1  # rounding may have it one off either way
    fit = (n for n in range(max(1, least), least + 3) if n <= MOST)
    return next((n for n in fit if find_least(asked._replace(n_resamples=n)) < level), None)


def find_units(asked: Asked, level: float) -> int:
    """Return how many units p-values below `level` need, with as many resamples as that takes."""
    n = 2
    while find_resamples(asked._replace(n_units=n), level) is None:
        n += 1
    return n


def explain_least(found: Comparison, correction: str, n_resamples: int) -> str | None:
    """Return why figures cannot have a p-value below .05, and what helps; None where all can.

    Holm multiplies the least of k p-values by k; Benjamini-Hochberg leaves k equal ones as they
    are.
    """
    asked = Asked(found.settings["test"], found.n_units, n_resamples)
    counts = {
        figure: sum(row.p_adjusted is not None for row in rows[:-1])
        for figure, rows in found.differences.items()
    }
    factors = {name: n if correction == "holm" else 1 for name, n in counts.items() if n}
    bound = {name: k for name, k in factors.items() if k * find_least(asked) >= LEVEL}
    if not bound:
        return None
    level = LEVEL / max(bound.values())
    cause, remedies = _weigh(asked, level, found.settings["clusters"], found.n_queries)
    if correction == "holm" and find_least(asked) < LEVEL:
        remedies.append("--correction bh")
    return (
        f"no p ({correction}) can fall below .05 in {', '.join(bound)}: {cause}; "
        f"take {' or '.join(remedies)}"
    )


def _weigh(asked: Asked, level: float, clusters: str, n_queries: int) -> tuple[str, list[str]]:
    """Return what there is too little of for p-values below `level`, and each of what would do."""
    enough = find_resamples(asked, level)
    if enough is not None:
        return f"{asked.n_resamples:,} resamples are too few", [f"--resamples {enough}"]
    units = "rows in common" if clusters == "none" else f"{clusters}s in common"
    cause, remedies = f"{asked.n_units:,} {units} are too few", []
    if clusters != "none":
        single = asked._replace(n_units=n_queries)
        if (drawn := find_resamples(single, level)) is not None:
            remedies.append("--cluster none" + _also(asked, drawn))
    needed = find_units(asked, level)
    drawn = find_resamples(asked._replace(n_units=needed), level)
    return cause, [*remedies, f"runs with at least {needed:,} {units}{_also(asked, drawn)}"]


def _also(asked: Asked, needed: int | None) -> str:
    return f" and --resamples {needed}" if needed and needed > asked.n_resamples else ""
