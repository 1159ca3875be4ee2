"""Scores of earlier runs by content: each query is scored once per model and settings."""

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.settings import Settings
from polyprobe.scoring import QueryScores
from polyprobe.system.download import ELSEWHERE, MOMENTS, ContentStore, cache_folder
from polyprobe.system.messages import PolyprobeError

REMEDY = f"{ELSEWHERE}, or run without the score store (--no-cache)"
FILE = re.compile(r"[0-9a-f]{16}\.sqlite")
OWN_STORE = ".store"  # in the folder of a run without the cache
IDENTITY, NAME = b"identity", b"name"
EFFECTS = 2**24  # more than the candidates of any query
_Rows = Sequence[Sequence[str]]  # of candidates
# Paths and damaged texts may contain lone surrogates; each must remain distinct.
_encode = json.JSONEncoder(ensure_ascii=False).encode


# Several processes may read and add at once. A row that this process has read or added is served
# from memory until the process ends, even if the file is deleted or another process replaces the
# row. A row that does not match its checksum, of identity, key and value, counts as absent.
# The identity is everything that a score depends on except the query (model, revision, dtype, …);
# the name, for `polyprobe cache`, is the model's. `remedy` is the last resort in error messages.
class ScoreStore:
    """Scores of one model and its settings, in FOLDER/scores/HASH.sqlite."""

    def __init__(
        self, folder: Path, identity: Mapping[str, str], name: str = "", remedy: str = REMEDY
    ) -> None:
        text = json.dumps(dict(identity), sort_keys=True, separators=(",", ":"))
        self._identity, self._name = text.encode(), name.encode(errors="replace")
        self.file = folder / "scores" / f"{file_stem(self._identity)}.sqlite"
        self._about = ContentStore(self.file, "settings", remedy)
        self._rows = ContentStore(self.file, "scores", remedy, seal=self._identity)
        self._known: dict[bytes, bytes] = {}
        self._claim()

    def find(self, prompts: Sequence[str], candidates: _Rows) -> list[QueryScores | None]:
        """Return the stored scores of each query, None if there are none."""
        # Damaged rows are reported in one line on standard error and are absent.
        keys = [hash_query(prompt, row) for prompt, row in zip(prompts, candidates, strict=True)]
        self._known |= self._rows.find(key for key in keys if key not in self._known)
        rows = zip(keys, candidates, strict=True)
        return [_unpack(self._known.get(key), len(row)) for key, row in rows]

    def add(self, prompts: Sequence[str], candidates: _Rows, scores: Sequence[QueryScores]) -> None:
        """Store the scores of queries, all of them or none; they are on disk at return."""
        rows = {}
        for prompt, options, scored in zip(prompts, candidates, scores, strict=True):
            assert len(scored.scores) == len(scored.n_tokens) == len(options), prompt
            rows[hash_query(prompt, options)] = _pack(scored)
        if rows:
            self._claim()  # the file may have been deleted
            self._rows.add(rows)
            self._known |= rows

    def _claim(self) -> None:
        """Write identity and name into a new file, or refuse a file of another identity."""
        held = self._about.find([IDENTITY, NAME])
        if not held:
            self._about.add({IDENTITY: self._identity, NAME: self._name})
        elif held.get(IDENTITY) != self._identity:
            raise PolyprobeError(
                f"{self.file} belongs to another model or other settings (it was changed, or two "
                f"share a hash): delete it, or {self._about.remedy}"
            )
        with suppress(PolyprobeError, OSError):  # a read-only store is of use too
            os.utime(self.file)
            if held.get(NAME, self._name) != self._name:
                self._about.add({NAME: self._name})


def open_store(run: Run, settings: Settings, cache: bool) -> ScoreStore:
    """Return the score store of a run's model, in the cache or in the run folder."""
    identity, folder = settings.identity, run.folder / OWN_STORE
    if cache and not folder.exists():  # a run started without the cache resumes without it
        return ScoreStore(cache_folder(), identity, settings.model_name)
    return ScoreStore(folder, identity, remedy="choose another --output")


class Stored(NamedTuple):
    """A score store on disk."""

    file: Path
    identity: dict[str, str]  # see `ScoreStore`; empty if the file is damaged
    name: str  # the model's last name
    rows: int  # number of queries
    size: int  # in bytes
    last_use: float  # time of the last use, in seconds since 1970


def list_stores(cache: Path) -> list[Stored]:
    """Return the stores in a cache folder by model, the last used first, and that of moments."""
    names = (x for x in sorted((cache / "scores").glob("*.sqlite")) if FILE.fullmatch(x.name))
    files = [*names, cache / f"{MOMENTS}.sqlite"]
    stores = [file for file in files if file.is_file() and not file.is_symlink()]
    return sorted(map(_inspect, stores), key=lambda store: (store.name, -store.last_use))


def remove_store(store: Stored) -> None:
    """Delete a score store."""
    # The journal first: SQLite would apply it to a new file of the same name.
    store.file.with_name(f"{store.file.name}-journal").unlink(missing_ok=True)
    store.file.unlink(missing_ok=True)


def _inspect(file: Path) -> Stored:
    state = file.stat()
    try:
        if file.stem == MOMENTS:
            rows, name = ContentStore(file, MOMENTS).count(), "second moments"
            return Stored(file, {"": name}, name, rows, state.st_size, state.st_mtime)
        about = ContentStore(file, "settings").find([IDENTITY, NAME])
        identity = {name: str(value) for name, value in json.loads(about[IDENTITY]).items()}
        name = about[NAME].decode() or identity.get("model", "")
        rows = ContentStore(file, "scores").count()
    except (PolyprobeError, KeyError, ValueError, AttributeError):
        identity, name, rows = {}, "", 0
    return Stored(file, identity, name, rows, state.st_size, state.st_mtime)


def hash_query(prompt: str, candidates: Sequence[str]) -> bytes:
    """Return the key of a query: the SHA-256 of a JSON list of the prompt and the candidates."""
    text = _encode([prompt, *candidates])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def file_stem(identity: bytes) -> str:
    """Return 16 hexadecimal digits."""
    return hashlib.sha256(identity).hexdigest()[:16]


def _pack(scores: QueryScores) -> bytes:
    """Return the number of candidates, n_tokens and unknown as int32, then scores as float32."""
    # Effects are before the scores, and the number of candidates is then increased by EFFECTS; the
    # characters of an answer are in the place of unknown, and it is increased by twice as much.
    kind = 1 if scores.effects else 0 if scores.text is None else 2
    codes = [*map(ord, scores.text or ""), *scores.unknown]
    counts = np.array([len(scores.scores) + kind * EFFECTS, *scores.n_tokens, *codes], "<i4")
    return counts.tobytes() + np.array([*scores.effects, *scores.scores], "<f4").tobytes()


def _unpack(row: bytes | None, n_candidates: int) -> QueryScores | None:
    if row is None:
        return None
    counts = np.frombuffer(row, "<i4")
    kind, n = divmod(int(counts[0]), EFFECTS)
    assert n == n_candidates
    ends = len(counts) - n - n * (kind == 1), len(counts) - n
    effects, scores = counts[ends[0] : ends[1]].view("<f4"), counts[ends[1] :].view("<f4")
    n_tokens, unknown = counts[1 : n + 1].tolist(), counts[n + 1 : ends[0]].tolist()
    if kind == 2:
        return QueryScores(scores.tolist(), n_tokens, [], (), "".join(map(chr, unknown)))
    return QueryScores(scores.tolist(), n_tokens, unknown, tuple(effects.tolist()))
