"""Names of runs that are shown together, and the settings in which they differ."""

import hashlib
from collections import Counter
from collections.abc import Sequence

from polyprobe.schema.run.folder import AGREE, Run
from polyprobe.schema.run.settings import Settings
from polyprobe.system.errors import PolyprobeError

_WEIGHTS = ("model", "base", "adapter", "quantize", "code")
# What belongs to a model: runs of one protocol differ in these. `bos` is that of its family.
OF_MODELS = {
    *(*_WEIGHTS, "revision", "tokenizer", "server", "handshake", "bos", "chat", "dtype", "device"),
    *("attention", "path", "product", "polyprobe", "torch", "transformers"),
}
_MAIN = (*_WEIGHTS, "data", "languages", "rows", "relations", "exclude", "scoring", "chat", "dtype")


def name_runs(runs: Sequence[Run]) -> list[str]:
    """Give each run a unique name: that of model and adapter, if needed with a folder or number."""
    if not runs:
        raise PolyprobeError("no run given; name at least one run folder")
    full = []
    for settings in (run.settings() for run in runs):
        adapter = settings.further.get("adapter", "").partition("@")[0].rpartition("/")[2]
        full.append(settings.model_name + (f" + {adapter}" if adapter else ""))
    names = [name.partition("/")[2] if name.count("/") == 1 else name for name in full]
    names = full if len({*names}) < len({*full}) else names
    # as many last parts of each path as tell different folders apart
    paths, depth = [run.folder.resolve() for run in runs], 0
    folders: list[str] = []
    while len({*folders}) < len({*paths}):
        depth += 1
        folders = ["/".join(path.parts[-depth:]).lstrip("/") for path in paths]
    often = Counter(names)
    labels = [
        name if often[name] == 1 else f"{name} ({folder})"
        for name, folder in zip(names, folders, strict=True)
    ]
    return [
        name if labels.count(name) == 1 else f"{name} {labels[: i + 1].count(name)}"
        for i, name in enumerate(labels)
    ]


def compare_settings(settings: Sequence[Settings]) -> dict[str, list[str]]:
    """List the parts of the signature that differ, with their value in each run."""
    columns = [
        {**split_signature(run.signature), "model": run.model_name, "revision": revision}
        for run, revision in zip(settings, _list_revisions(settings), strict=True)
    ]
    names = dict.fromkeys(name for column in columns for name in column)
    parts = {name: [column.get(name, "–") for column in columns] for name in names}
    prints = [run.fingerprint for run in settings]
    common = [x for x in prints[0] if all(x in languages for languages in prints)]
    rare = [[x for x in run if x not in common] for run in prints]
    parts["other languages"] = [", ".join(x[:4] + ["…"] * (len(x) > 4)) or "none" for x in rare]
    del parts["languages"]
    changed = [x for x in common if len({languages[x] for languages in prints}) > 1]
    if len({*parts["data"]}) == 1:
        parts |= {f"rows of {x}": [languages[x][:6] for languages in prints] for x in changed}
    return {name: values for name, values in parts.items() if len({*values}) > 1}


def _list_revisions(settings: Sequence[Settings]) -> list[str]:
    """List the revisions; that of a served model has a number, by probes that agree."""
    revisions: list[str] = []
    for place, run in enumerate(settings):
        pairs = zip(settings[:place], revisions, strict=True)
        same = (label for earlier, label in pairs if _have_one_probe(earlier, run))
        revision = run.revision[:14]
        namesakes = [label for label in revisions if label.startswith(revision)]
        number = f" ({len({*namesakes}) + 1})" if namesakes and run.probe else ""
        revisions.append(next(same, revision + number))
    return revisions


def _have_one_probe(first: Settings, second: Settings) -> bool:
    if not first.probe or len(first.probe) != len(second.probe):
        return False
    pairs = zip(first.probe, second.probe, strict=True)
    return max(abs(a - b) for a, b in pairs) <= AGREE


def describe_differing(runs: Sequence[Run]) -> str:
    """Describe the differing settings in a line, such as `differ in: dtype float32 / bfloat16`."""
    differing = compare_settings([run.settings() for run in runs])
    parts = [f"{name} {' / '.join(values)}" for name, values in differing.items()]
    return f"differ in: {'; '.join(parts)}" if parts else "equal settings"


def split_signature(signature: str) -> dict[str, str]:
    """Split a signature into its parts by name."""
    return dict(part.partition(":")[::2] for part in signature.split("|"))


def shorten_signature(signature: str) -> str:
    """Shorten a signature to a hash and its main parts.

    >>> shorten_signature("model:geolm@r1|data:geofacts/default|languages:en@1+fr@2|dtype:float32")
    '83915a21: model geolm@r1, data geofacts/default, languages 2, dtype float32'
    """
    parts = split_signature(signature)
    if "languages" in parts:
        parts["languages"] = str(parts["languages"].count("+") + 1)
    summary = ", ".join(f"{name} {parts[name]}" for name in _MAIN if name in parts)
    return f"{hashlib.sha256(signature.encode()).hexdigest()[:8]}: {summary}"
