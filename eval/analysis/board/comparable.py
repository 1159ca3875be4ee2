"""In what the runs of a board differ beside the model."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from polyprobe.eval.results.options import describe_options
from polyprobe.eval.run.choice import describe, make_choice
from polyprobe.eval.run.folder import Settings
from polyprobe.eval.run.naming import OF_MODELS, compare_settings
from polyprobe.eval.run.protocol import protocol_of
from polyprobe.system.errors import PolyprobeError

from .entries import Entry

RELEASED = "contrastive-released"
NAMED = 3  # rows with one value that a message names
KNOWN = {"model", "revision", "base", "adapter", "code", "tokenizer", "handshake", "chat", "bos"}


def find_differing(entries: Sequence[Entry]) -> dict[str, list[str]]:
    """Return setting → its value in each row, of the settings that make figures incomparable."""
    settings = [entry.settings for entry in entries]
    own = OF_MODELS | {"scoring"}
    found = {x: y for x, y in compare_settings(settings).items() if x not in own}
    read = {
        "scoring": _list_scorings(settings),
        "bos": [_read_bos(one) for one in settings],
        "chat": [_read_chat(one) for one in settings],
        "part": [_join(entry, _read_part) or "all" for entry in entries],
        "options": [_join(entry, describe_options) or "default" for entry in entries],
        "facts": [f"{sum(part['n_queries'] for part in entry.results):,}" for entry in entries],
    }
    return found | {name: values for name, values in read.items() if len({*values}) > 1}


def list_loading(entries: Sequence[Entry]) -> list[str]:
    """Return what the rows differ in that belongs to a model, such as `dtype: float32, float16`."""
    found = compare_settings([entry.settings for entry in entries])
    names = (name for name in found if name in OF_MODELS - KNOWN)
    return [f"{name}: {', '.join(dict.fromkeys(found[name]))}" for name in names]


def refuse_differing(entries: Sequence[Entry], differing: Mapping[str, Sequence[str]]) -> None:
    """Refuse rows that differ.

    Raises:
        PolyprobeError: one line with the rows by their values.
    """
    parts = []
    for name, values in differing.items():
        rows: dict[str, list[str]] = {}
        for entry, value in zip(entries, values, strict=True):
            rows.setdefault(value, []).append(entry.name)
        shown = (f"{value} ({_list_some(names)})" for value, names in rows.items())
        parts.append(f"{name} {' / '.join(shown)}")
    if parts:
        raise PolyprobeError(
            f"the runs cannot be compared, they differ in {'; '.join(parts)}; leave some out, or "
            "add --despite-differences to show them with the differences"
        )


def _list_some(names: Sequence[str]) -> str:
    rest = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _list_scorings(settings: Sequence[Settings]) -> list[str]:
    """Return the protocols.

    BMLAMA has an equation for each family; masked models are scored alike in `contrastive` and
    `contrastive-released`, and are signed with the first.
    """
    names = [re.sub(r"-eq\d+$", "", one.scoring) for one in settings]
    if RELEASED not in names:
        return names
    return [
        RELEASED if (name, one.bos) == ("contrastive", None) else name
        for name, one in zip(names, settings, strict=True)
    ]


def _read_bos(settings: Settings) -> str:
    """Return `--bos`; `auto` for families without it, and for BLOOM's `never` in contrasts."""
    automatic = ("never",) if protocol_of(settings.scoring).contrasts else ()
    return "auto" if settings.bos is None or settings.bos in automatic else settings.bos


def _read_chat(settings: Settings) -> str:
    """Return the messages before a sentence, but not the model's template around them."""
    if settings.chat is None:
        return "none"
    said = (settings.chat.get(role) for role in ("system", "user"))
    return " + ".join(filter(None, said)) or "no messages"


def _read_part(results: Mapping[str, Any]) -> str:
    subset = results.get("subset")
    return describe(make_choice(**subset)) if subset else ""


def _join(entry: Entry, read: Any) -> str:
    """Return the texts of all runs of a row, each once."""
    return " + ".join(filter(None, dict.fromkeys(map(read, entry.results))))
