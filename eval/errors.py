"""Foreign errors in our own words."""


def one_line(error: BaseException) -> str:
    """Return an error's text as one line of at most 200 characters, or its class if it has none."""
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
