"""Numbers as text: figures, intervals, p-values."""

from collections.abc import Sequence

NO_WIDTH = "*: all resamples have this value: too few facts, or equal ones, for an interval"
UNDEFINED = "–"
NARROW = 9  # characters of a line of a long heading


def format_value(value: float | None) -> str:
    """Format a figure with three decimals, `–` where it is undefined."""
    return UNDEFINED if value is None else f"{value:z.3f}"


def format_percent(share: float | None) -> str:
    """Format a share in percent with one decimal, `–` where it is undefined."""
    return UNDEFINED if share is None else f"{share:.1%}"


def format_interval(bounds: Sequence[float] | None) -> str:
    """Format an interval with three decimals, `*` if it has no width, `–` where there is none."""
    if bounds is None:
        return UNDEFINED
    return f"{format_value(bounds[0])} to {mark_end(bounds[1], bounds)}"


def mark_end(value: float | None, bounds: Sequence[float] | None) -> str:
    """Format an end of an interval, with `*` if the interval has no width."""
    return f"{format_value(value)}{'*' if has_no_width(bounds) else ''}"


def has_no_width(bounds: Sequence[float] | None) -> bool:
    """Return whether all resamples gave the same value, as of equal facts: too short."""
    return bounds is not None and bounds[0] == bounds[1]


def format_p_value(value: float | None) -> str:
    """Format a p-value with two digits, `–` where there is none."""
    return UNDEFINED if value is None else f"{value:.2g}"
