"""Settings other than the model in which runs differ."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from polyprobe.analysis.figures.options import describe_options
from polyprobe.schema.run.folder import OF_MODELS, compare_settings, split_signature
from polyprobe.schema.run.protocol import protocol_of
from polyprobe.schema.run.rows import describe_choice, make_choice
from polyprobe.schema.run.settings import Settings
from polyprobe.system.messages import PolyprobeError

Results = Mapping[str, Any]
RunResults = Sequence[Sequence[Results]]  # of each row, results.json of its runs
RELEASED = "contrastive-released"
USUAL = {"bos": "auto", "chat": "none", "part": "all", "options": "default", "rows": "limit=none"}
EXAMPLES = 3  # rows with one value that a message names
SHORT = 40  # characters of a list of languages, else those that not all rows have
LISTED = {"model", "revision", "base", "adapter", "code", "tokenizer", "handshake", "chat", "bos"}


def find_differing(settings: Sequence[Settings], results: RunResults) -> dict[str, list[str]]:
    """Find the settings that make figures incomparable: setting → its value in each row."""
    values = compare_settings(settings)
    if rare := values.pop("other languages", None):
        listed = [", ".join(row.languages) for row in settings]
        values["languages"] = listed if max(map(len, listed)) <= SHORT else rare
    columns = _read_settings(settings, results)
    return {
        **{name: column for name, column in values.items() if name not in OF_MODELS | {"scoring"}},
        **{name: column for name, column in columns.items() if len({*column}) > 1},
    }


def find_shared(settings: Sequence[Settings], results: RunResults) -> dict[str, str]:
    """Find the settings with one unusual value in all rows: setting → that value."""
    columns = _read_settings(settings, results)
    signatures = [split_signature(row.signature) for row in settings]
    for name in ("rows", "relations", "exclude", "shots"):
        columns[name] = [parts.get(name, "") for parts in signatures]
    return {
        name: column[0]
        for name, column in columns.items()
        if len({*column}) == 1 and column[0] not in ("", USUAL.get(name))
    }


def _read_settings(settings: Sequence[Settings], results: RunResults) -> dict[str, list[str]]:
    """Read what a signature has under other names, or not at all: setting → value in each row."""
    counts = [[part["n_queries"] for part in row] for row in results]
    return {
        "scoring": _list_scorings(settings),
        "bos": [*map(_read_bos, settings)],
        "chat": [*map(_read_chat, settings)],
        "part": [_join(row, _read_part) or "all" for row in results],
        "options": [_join(row, describe_options) or "default" for row in results],
        # of a row's runs, the fewest and the most if they differ
        "facts": [" to ".join(f"{n:,}" for n in sorted({min(row), max(row)})) for row in counts],
    }


def list_loading(settings: Sequence[Settings]) -> list[str]:
    """List the model settings in which the rows differ, such as `dtype: float32, float16`."""
    values = compare_settings(settings)
    names = (name for name in values if name in OF_MODELS - LISTED)
    return [f"{name}: {', '.join(dict.fromkeys(values[name]))}" for name in names]


def refuse_differing(names: Sequence[str], differing: Mapping[str, Sequence[str]]) -> None:
    """Refuse rows that differ, in one line that lists them by value."""
    parts = []
    for setting, values in differing.items():
        rows: dict[str, list[str]] = {}
        for name, value in zip(names, values, strict=True):
            rows.setdefault(value, []).append(name)
        counts = []
        for value, same in rows.items():
            rest = f" and {len(same) - EXAMPLES} more" if len(same) > EXAMPLES else ""
            counts.append(f"{value} ({', '.join(same[:EXAMPLES])}{rest})")
        parts.append(f"{setting} {' / '.join(counts)}")
    if parts:
        raise PolyprobeError(
            f"the runs cannot be compared: they differ in {'; '.join(parts)}; omit some, or "
            "show all and their differences with polyprobe board --despite-differences"
        )


def _list_scorings(settings: Sequence[Settings]) -> list[str]:
    """List the protocols; BMLAMA has an equation for each model family."""
    names = [re.sub(r"-eq\d+$", "", row.scoring) for row in settings]
    if RELEASED not in names:
        return names
    # masked models have the same scores in both; their signature has the first name
    return [
        RELEASED if (name, row.bos) == ("contrastive", None) else name
        for name, row in zip(names, settings, strict=True)
    ]


def _read_bos(settings: Settings) -> str:
    """Read `--bos`; `auto` for families without it, and for BLOOM's `never` in contrasts."""
    automatic = ("never",) if protocol_of(settings.scoring).contrasts else ()
    return "auto" if settings.bos is None or settings.bos in automatic else settings.bos


def _read_chat(settings: Settings) -> str:
    """Read the messages before a sentence, without the model's chat template."""
    if settings.chat is None:
        return "none"
    messages = (settings.chat.get(role) for role in ("system", "user"))
    return " + ".join(filter(None, messages)) or "no messages"


def _read_part(results: Results) -> str:
    subset = results.get("subset")
    return describe_choice(make_choice(**subset)) if subset else ""


def _join(results: Sequence[Results], describe_part: Callable[[Results], str]) -> str:
    return " + ".join(filter(None, dict.fromkeys(map(describe_part, results))))
