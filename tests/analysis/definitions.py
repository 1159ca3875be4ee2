"""Figures by their definitions."""


def error_of(confidence, right):
    """Return the error fact by fact, with bins by comparison instead of by product."""
    found = 0.0
    for b in range(10):
        rows = [
            k for k, c in enumerate(confidence)
            if (b / 10 <= c or b == 0) and (c < (b + 1) / 10 or b == 9)
        ]  # fmt: skip
        if rows:
            accuracy = sum(right[k] for k in rows) / len(rows)
            mean = sum(confidence[k] for k in rows) / len(rows)
            found += len(rows) / len(right) * abs(accuracy - mean)
    return found
