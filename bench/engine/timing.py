"""Race one model's methods on rows of each language, and hold their scores together."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import operators
from floor import count_merged, count_naive, fill_rows
from race import Difference, Lap, Rows, Worker, compare, race
from rows import take_rows
from transformers import AutoTokenizer

LANGUAGES = ("en", "ru")
TOLERANCE = 1e-4
CHECKED = 4  # rows on which a peer's own quantity is held against ours of the same


class Setting(NamedTuple):
    """Where things are and how long to run: what every part needs.

    Attributes:
        dataset: the folder of BMLAMA.
        models: the folder of the models.
        logs: the folder of the workers' logs.
        peers: the interpreter that has the peers; None times none of them.
        rows: rows a language, fewer for development; None takes each part's own number.
        rounds: rounds of a race.
        threads: torch's threads in each worker.
    """

    dataset: Path
    models: Path
    logs: Path
    peers: Path | None
    rows: int | None
    rounds: int
    threads: int


class Entry(NamedTuple):
    """A model in the race, its rows a language, and the peers that know its family."""

    model: str
    family: str
    sample: int
    peers: tuple[str, ...]


# The peers whose scores are another quantity than the reference's.
OWN_QUANTITY = ("lm-pub-quiz",)
ENTRIES = {
    "decoder": [Entry("decoder", "causal", 24, ("lm-eval", "lm-pub-quiz"))],
    "encoder": [
        Entry("encoder-30k", "masked", 24, ("lm-pub-quiz",)),
        Entry("encoder-250k", "masked", 12, ("lm-pub-quiz",)),
    ],
    "encoder-decoder": [
        Entry("encoder-decoder-30k", "seq2seq", 24, ("lm-eval",)),
        Entry("encoder-decoder-250k", "seq2seq", 12, ("lm-eval",)),
    ],
}


class Timed(NamedTuple):
    """One model on the rows of one language.

    Attributes:
        model: the folder's name.
        family: causal, masked or seq2seq.
        language: of the rows.
        n_rows: how many rows.
        wall: seconds of each round, by method.
        cpu: processor seconds of each round, by method.
        error: ours, and each peer of the same quantity, against the reference.
        own: largest error of a peer against the reference's way to the peer's own quantity.
        operations: floating-point operations of the floor.
        naive: what the reference runs (`Work`).
        merged: what is left when identical prompts and prefixes are merged.
        kinds: share of our time by kind of operator.
    """

    model: str
    family: str
    language: str
    n_rows: int
    wall: dict[str, list[float]]
    cpu: dict[str, list[float]]
    error: dict[str, Difference]
    own: dict[str, float]
    operations: float
    naive: list[int]
    merged: list[int]
    kinds: dict[str, float]


def time_part(part: str, setting: Setting, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return the races of a part's models, as JSON holds them."""
    return [_as_json(timed) for e in ENTRIES[part] for timed in time_entry(e, setting, say)]


def time_entry(entry: Entry, setting: Setting, say: Callable[[str], None]) -> list[Timed]:
    """Race all methods of a model, and profile ours."""
    found = []
    peers = entry.peers if setting.peers else ()
    with ExitStack() as stack:
        workers = [
            start(stack, setting, entry, m) for m in ("reference", "ours", "floor", "operators")
        ]
        workers += [start(stack, setting, entry, m) for m in peers]
        own = check_own(stack, setting, entry, [w for w in workers if w.name in OWN_QUANTITY])
        for language in LANGUAGES:
            rows = take_rows(setting.dataset, language, setting.rows or entry.sample)
            laps = race([w for w in workers if w.name != "operators"], rows, setting.rounds)
            seconds = workers[3].ask(rows).value
            say(f"{entry.model}, {language}: ours by operator\n{operators.show(seconds)}")
            found.append(_collect(entry, setting, language, rows, laps, own, seconds))
    return found


def start(stack: ExitStack, setting: Setting, entry: Entry, method: str, **more: str) -> Worker:
    """Return a running worker that ends with the stack."""
    in_peers = method in ("lm-eval", "lm-pub-quiz")
    worker = Worker(
        method,
        entry.family,
        setting.models / entry.model,
        threads=setting.threads,
        log=setting.logs / f"{entry.model}-{method}.log",
        **({"python": str(setting.peers)} if in_peers else {}),
        **more,
    )
    stack.callback(worker.close)
    return worker


def check_own(
    stack: ExitStack, setting: Setting, entry: Entry, workers: list[Worker]
) -> dict[str, float]:
    """Return each such peer's error against a plain way to what it scores; stop if it is large."""
    if not workers:
        return {}
    plain = start(stack, setting, entry, "peer-quantity")
    rows = take_rows(setting.dataset, "ru", CHECKED)
    expected = plain.ask(rows).value
    errors = {w.name: compare(w.ask(rows).value, expected).error for w in workers}
    plain.close()
    for name, error in errors.items():
        stop_if_wrong(f"{name}, {entry.model}, its own quantity", error)
    return errors


def stop_if_wrong(what: str, error: float) -> None:
    """Stop the bench: the time of a wrong answer is worth nothing."""
    if not error <= TOLERANCE:
        raise SystemExit(f"{what}: scores differ from the reference's by {error:.2g}")


def _collect(
    entry: Entry,
    setting: Setting,
    language: str,
    rows: Rows,
    laps: dict[str, Lap],
    own: dict[str, float],
    seconds: dict[str, float],
) -> Timed:
    same = [name for name in laps if name not in ("reference", "floor", *OWN_QUANTITY)]
    errors = {name: compare(laps[name].value, laps["reference"].value) for name in same}
    for name, difference in errors.items():
        stop_if_wrong(f"{name}, {entry.model}, {language}", difference.error)
    tokenizer = AutoTokenizer.from_pretrained(setting.models / entry.model)
    filled = fill_rows(entry.family, tokenizer, rows)
    return Timed(
        entry.model,
        entry.family,
        language,
        len(rows.prompts),
        {name: lap.wall for name, lap in laps.items()},
        {name: lap.cpu for name, lap in laps.items()},
        errors,
        own,
        laps["floor"].value,
        list(count_naive(entry.family, filled)),
        list(count_merged(entry.family, rows.prompts, filled, "prompt")),
        operators.group(seconds),
    )


def _as_json(timed: Timed) -> dict[str, Any]:
    return {**timed._asdict(), "error": {n: d._asdict() for n, d in timed.error.items()}}
