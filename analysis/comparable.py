"""Settings other than the model in which runs differ."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from polyprobe.analysis.figures.options import describe_options
from polyprobe.schema.run.naming import OF_MODELS, compare_settings, split_signature
from polyprobe.schema.run.protocol import protocol_of
from polyprobe.schema.run.rows import describe, make_choice
from polyprobe.schema.run.settings import Settings
from polyprobe.system.errors import PolyprobeError

Results = Mapping[str, Any]
RELEASED = "contrastive-released"
USUAL = {"bos": "auto", "chat": "none", "part": "all", "options": "default", "rows": "limit=none"}
NAMED = 3  # rows with one value that a message names
SHORT = 40  # characters of a list of languages, else those that not all rows have
KNOWN = {"model", "revision", "base", "adapter", "code", "tokenizer", "handshake", "chat", "bos"}


def find_differing(
    settings: Sequence[Settings], results: Sequence[Sequence[Results]]
) -> dict[str, list[str]]:
    """Return setting → its value in each row, for differences that make figures incomparable.

    Args:
        settings: settings of each row.
        results: results of each row, from one or several runs.
    """
    others = OF_MODELS | {"scoring"}
    found = {x: y for x, y in compare_settings(settings).items() if x not in others}
    if "other languages" in found:
        rare = found.pop("other languages")
        named = [", ".join(one.languages) for one in settings]
        found["languages"] = named if max(map(len, named)) <= SHORT else rare
    read = _read_settings(settings, results)
    return found | {name: values for name, values in read.items() if len({*values}) > 1}


def find_shared(
    settings: Sequence[Settings], results: Sequence[Sequence[Results]]
) -> dict[str, str]:
    """Return setting → its value, for settings with one unusual value in all rows."""
    read = _read_settings(settings, results)
    signed = [split_signature(one.signature) for one in settings]
    for name in ("rows", "relations", "exclude"):
        read[name] = [parts.get(name, "") for parts in signed]
    return {
        name: values[0]
        for name, values in read.items()
        if len({*values}) == 1 and values[0] not in ("", USUAL.get(name))
    }


def _read_settings(
    settings: Sequence[Settings], results: Sequence[Sequence[Results]]
) -> dict[str, list[str]]:
    return {
        "scoring": _list_scorings(settings),
        "bos": [_read_bos(one) for one in settings],
        "chat": [_read_chat(one) for one in settings],
        "part": [_join(own, _read_part) or "all" for own in results],
        "options": [_join(own, describe_options) or "default" for own in results],
        "facts": [_count_facts(own) for own in results],
    }


def _count_facts(results: Sequence[Results]) -> str:
    """Return the number of facts of a row's runs, the fewest and the most if they differ."""
    counts = sorted({part["n_queries"] for part in results})
    return " to ".join(f"{count:,}" for count in dict.fromkeys([counts[0], counts[-1]]))


def list_loading(settings: Sequence[Settings]) -> list[str]:
    """Return the model settings in which the rows differ, such as `dtype: float32, float16`."""
    found = compare_settings(settings)
    names = (name for name in found if name in OF_MODELS - KNOWN)
    return [f"{name}: {', '.join(dict.fromkeys(found[name]))}" for name in names]


def refuse_differing(names: Sequence[str], differing: Mapping[str, Sequence[str]]) -> None:
    """Refuse rows that differ.

    Raises:
        PolyprobeError: one line that lists the rows by value.
    """
    parts = []
    for setting, values in differing.items():
        rows: dict[str, list[str]] = {}
        for name, value in zip(names, values, strict=True):
            rows.setdefault(value, []).append(name)
        shown = (f"{value} ({_list_some(same)})" for value, same in rows.items())
        parts.append(f"{setting} {' / '.join(shown)}")
    if parts:
        raise PolyprobeError(
            f"the runs cannot be compared: they differ in {'; '.join(parts)}; omit some, or add "
            "--despite-differences to show all with their differences"
        )


def _list_some(names: Sequence[str]) -> str:
    rest = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _list_scorings(settings: Sequence[Settings]) -> list[str]:
    """Return the protocols.

    BMLAMA has an equation for each model family. Masked models have the same scores in
    `contrastive` and `contrastive-released`; their signature has the first name.
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
    """Return the messages before a sentence, without the model's chat template."""
    if settings.chat is None:
        return "none"
    said = (settings.chat.get(role) for role in ("system", "user"))
    return " + ".join(filter(None, said)) or "no messages"


def _read_part(results: Results) -> str:
    subset = results.get("subset")
    return describe(make_choice(**subset)) if subset else ""


def _join(results: Sequence[Results], read: Callable[[Results], str]) -> str:
    """Return the texts of all runs of a row, each once."""
    return " + ".join(filter(None, dict.fromkeys(map(read, results))))
