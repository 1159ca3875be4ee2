"""Names of runs that are shown together, and the settings in which they differ."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

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
    """Return a short and unique name for each run.

    A name is the model's, without the owner, and its adapter's. Runs of the same model also have
    the end of their folder's path, and equal folders a number.
    """
    if not runs:
        raise PolyprobeError("no run given; name at least one run folder")
    full = [_name_weights(run.settings()) for run in runs]
    names = [name.partition("/")[2] if name.count("/") == 1 else name for name in full]
    names = full if len({*names}) < len({*full}) else names
    folders = _shorten([run.folder.resolve() for run in runs])
    often = Counter(names)
    named = [
        name if often[name] == 1 else f"{name} ({folder})"
        for name, folder in zip(names, folders, strict=True)
    ]
    return [
        name if named.count(name) == 1 else f"{name} {named[: i + 1].count(name)}"
        for i, name in enumerate(named)
    ]


def _name_weights(settings: Settings) -> str:
    """Return the model's name with that of an adapter: `geolm + lora`."""
    adapter = settings.further.get("adapter", "").partition("@")[0].rpartition("/")[2]
    return f"{settings.model_name} + {adapter}" if adapter else settings.model_name


def _shorten(folders: Sequence[Path]) -> list[str]:
    """Return as many last parts of each path as tell different folders apart."""
    depths = range(1, max(len(folder.parts) for folder in folders) + 1)
    return next(
        shown
        for shown in (["/".join(f.parts[-depth:]).lstrip("/") for f in folders] for depth in depths)
        if len({*shown}) == len({*folders})
    )


def list_differing(runs: Sequence[Run]) -> dict[str, list[str]]:
    """Return part of the signature → its value in each run, of the parts that differ."""
    return compare_settings([run.settings() for run in runs])


def compare_settings(settings: Sequence[Settings]) -> dict[str, list[str]]:
    """Return the same as `list_differing` of settings."""
    columns = [
        {**split_signature(one.signature), "model": one.model_name, "revision": revision}
        for one, revision in zip(settings, _list_revisions(settings), strict=True)
    ]
    names = dict.fromkeys(name for column in columns for name in column)
    found = {name: [column.get(name, "–") for column in columns] for name in names}
    prints = [one.fingerprint for one in settings]
    common = [x for x in prints[0] if all(x in others for others in prints)]
    found["other languages"] = [_list_few([x for x in one if x not in common]) for one in prints]
    del found["languages"]
    changed = [x for x in common if len({others[x] for others in prints}) > 1]
    if len({*found["data"]}) == 1:
        found |= {f"rows of {x}": [others[x][:6] for others in prints] for x in changed}
    return {name: values for name, values in found.items() if len({*values}) > 1}


def _list_revisions(settings: Sequence[Settings]) -> list[str]:
    """Return the revisions; that of a served model is a number for all runs whose probes agree."""
    found: list[str] = []
    for place, one in enumerate(settings):
        pairs = zip(settings[:place], found, strict=True)
        same = (known for other, known in pairs if _have_one_probe(other, one))
        revision = one.revision[:14]
        others = [known for known in found if known.startswith(revision)]
        number = f" ({len({*others}) + 1})" if others and one.probe else ""
        found.append(next(same, revision + number))
    return found


def _have_one_probe(one: Settings, other: Settings) -> bool:
    if not one.probe or len(one.probe) != len(other.probe):
        return False
    pairs = zip(one.probe, other.probe, strict=True)
    return max(abs(a - b) for a, b in pairs) <= AGREE


def _list_few(names: Sequence[str]) -> str:
    return ", ".join([*names[:4], *["…"][: len(names) > 4]]) or "none"


def describe_differing(runs: Sequence[Run]) -> str:
    """Return the differing settings in one line, such as `differ in: dtype float32 / bfloat16`."""
    parts = [f"{name} {' / '.join(values)}" for name, values in list_differing(runs).items()]
    return f"differ in: {'; '.join(parts)}" if parts else "equal settings"


def split_signature(signature: str) -> dict[str, str]:
    """Return the parts of a signature by name.

    >>> split_signature("model:geolm@r1|data:geofacts/default")
    {'model': 'geolm@r1', 'data': 'geofacts/default'}
    """
    return dict(part.partition(":")[::2] for part in signature.split("|"))


def shorten_signature(signature: str) -> str:
    """Return a hash of a signature and its main parts.

    >>> shorten_signature("model:geolm@r1|data:geofacts/default|languages:en@1+fr@2|dtype:float32")
    '83915a21: model geolm@r1, data geofacts/default, languages 2, dtype float32'
    """
    parts = split_signature(signature)
    if "languages" in parts:
        parts["languages"] = str(parts["languages"].count("+") + 1)
    shown = ", ".join(f"{name} {parts[name]}" for name in _MAIN if name in parts)
    return f"{hashlib.sha256(signature.encode()).hexdigest()[:8]}: {shown}"
