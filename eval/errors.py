"""Foreign errors in our own words."""

MOST = 200  # characters


def one_line(error: BaseException) -> str:
    """Return an error's text as one line, or its class if it has none.

    A longer one than 200 characters ends behind a word with `…`; a first word of that length, such
    as an address, is cut.
    """
    text = " ".join(str(error).split())
    if len(text) > MOST:
        whole = text[: MOST - 1].rpartition(" ")[0]
        return f"{whole} …" if whole else f"{text[: MOST - 1]}…"
    return text.rstrip(".") or type(error).__name__
