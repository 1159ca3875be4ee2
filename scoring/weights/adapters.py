"""Adapters of PEFT: where they are, what they are for, and how a model gets one."""

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from polyprobe.scoring.model_objects import check_adapter_kind, unwrap
from polyprobe.scoring.options import ADAPTER, check_adapter, check_revision, no_adapter
from polyprobe.system.errors import PolyprobeError, one_line
from polyprobe.system.progress import report

from .places import Place, find_place
from .quantized import quieten

WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")


class Parts(NamedTuple):
    """A model and the adapter that changes it, both pinned.

    Attributes:
        base: the model.
        adapter: its adapter, if any.
        tokenizer: the place of the tokenizer: the adapter's own if it has one.
        by_adapter: whether the user named the adapter and not the base.
    """

    base: Place
    adapter: Place | None
    tokenizer: Place
    by_adapter: bool

    def identify(self) -> tuple[str, dict[str, str]]:
        """Return the named part's exact revision; the other part and PEFT's version by its role."""
        base = self.base.exact_revision()
        if self.adapter is None:
            return base, {}
        adapter, package = self.adapter.exact_revision(), f"+peft {version('peft')}"
        if self.by_adapter:
            return adapter, {"base": f"{self.base.label}@{base}{package}"}
        return base, {"adapter": f"{self.adapter.label}@{adapter}{package}"}


def find_parts(model: str, revision: str | None, adapter: str | None) -> Parts:
    """Find a model and its adapter: that of `--adapter`, or the model itself.

    Args:
        model: a model, or an adapter that names its base.
        revision: of the model; of the base, if the model is an adapter in a folder.
        adapter: a folder, ID or ID@REVISION.

    Raises:
        PolyprobeError: an adapter that is none, or has no base that is a model; a revision of files
            that are not on the Hub.
    """
    check_revision(model, revision)
    place = find_place(model, revision)
    if adapter is not None:
        extra, base = _find_adapter(adapter), place
    elif place.is_adapter:
        extra = place.pin(ADAPTER)
        base = _find_base(extra, revision if place.local else None)
    else:
        base = place.pin()
        return Parts(base, None, base, False)
    if base.is_adapter:
        raise PolyprobeError(
            f"the base of the adapter '{extra.name}' is an adapter too: {base.name}; merge that "
            "into its own base first (merge_and_unload)"
        )
    if adapter is not None:
        _compare_bases(extra, base)
    base = base.pin()
    tokenizer = extra if extra.file("tokenizer_config.json") else base
    return Parts(base, extra, tokenizer, adapter is None)


def _find_adapter(name: str) -> Place:
    path, _, revision = (name, "", "") if Path(name).exists() else name.partition("@")
    place = find_place(path, revision or None)
    try:
        exists = place.is_adapter
    except PolyprobeError as error:
        raise PolyprobeError(f"--adapter {name}: {error}") from error
    if not exists:
        raise no_adapter(name)
    return place.pin(ADAPTER)


def _find_base(adapter: Place, revision: str | None) -> Place:
    settings = _read_settings(adapter)
    name = settings.get("base_model_name_or_path")
    remedy = f"name the base: polyprobe eval BASE --adapter {adapter.name}"
    if not name or not isinstance(name, str):
        raise PolyprobeError(f"the adapter '{adapter.name}' does not name its base; {remedy}")
    if name.startswith((".", "/")) and not Path(name).exists():
        raise PolyprobeError(
            f"the base of the adapter '{adapter.name}' is not here: {name}; {remedy}"
        )
    check_revision(name, revision)
    return find_place(name, revision or settings.get("revision"))


def _compare_bases(adapter: Place, base: Place) -> None:
    """Warn if the adapter names a model of another name; the same model may have several."""
    name = _read_settings(adapter).get("base_model_name_or_path")
    if name and Path(str(name)).name.casefold() != Path(base.label).name.casefold():
        report(f"warning: the adapter '{adapter.name}' was trained on {name}, not {base.name}")


def read_kind(adapter: Place) -> Any:
    """Read the configuration of PEFT, before any weights are loaded.

    Raises:
        PolyprobeError: PEFT is missing, or the adapter is of a kind that cannot be scored.
    """
    check_adapter(adapter.name)
    quieten()
    from peft import PeftConfig

    with _one_line_errors(adapter):
        kind = PeftConfig.from_pretrained(str(_find_folder(adapter)))
    check_adapter_kind(kind)
    kind.inference_mode = True
    return kind


def apply_adapter(network: Any, adapter: Place, kind: Any) -> Any:
    """Put the adapter's layers beside the network's, in place.

    They are not merged: that would round the sum in half precision, spoil quantised weights, and
    change a head that shares its weights with adapted embeddings.

    Args:
        network: the base, in the precision of its use.
        adapter: the adapter, pinned.
        kind: of `read_kind`.

    Raises:
        PolyprobeError: weights that do not fit the network.
    """
    from peft import PeftModel
    from peft.utils import load_peft_weights

    folder = _find_folder(adapter)
    with _one_line_errors(adapter):
        _resize(network, load_peft_weights(str(folder), device="cpu"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are about training and merging
            model = PeftModel(network, kind)
        devices = getattr(network, "hf_device_map", None)  # of quantised weights
        result = model.load_adapter(str(folder), "default", device_map=devices)
    # Resized embeddings are stored under a second name, which PEFT does not read.
    extra = [name for name in result.unexpected_keys if ".modules_to_save." not in name]
    wrong = [*result.missing_keys, *extra]
    if wrong:
        raise PolyprobeError(
            f"the adapter '{adapter.name}' does not fit its base: {len(result.missing_keys)} of "
            f"its tensors are missing, {len(extra)} have no place, {wrong[0]} the first; give the "
            "model that it was trained on"
        )
    return unwrap(model)


def _resize(network: Any, weights: dict[str, Any]) -> None:
    """Give the embeddings as many rows as those that the adapter brings, if it brings any.

    PEFT itself refuses embeddings of another size.
    """
    embeddings = network.get_input_embeddings()
    [name] = [name for name, part in network.named_modules() if part is embeddings]
    keys = {f"base_model.model.{name}{middle}.weight" for middle in ("", ".base_layer")}
    rows = next((len(weights[key]) for key in keys if key in weights), None)
    if rows and rows != len(embeddings.weight):
        network.resize_token_embeddings(rows, mean_resizing=False)


def _find_folder(adapter: Place) -> Path:
    """Return the folder of the adapter's files, those of the Hub in its cache."""
    settings = adapter.file(ADAPTER)
    if settings is None or not any(adapter.file(name) for name in WEIGHTS):
        raise PolyprobeError(f"the adapter '{adapter.name}' has no weights ({WEIGHTS[0]})")
    return settings.parent


def _read_settings(adapter: Place) -> dict[str, Any]:
    file = adapter.file(ADAPTER)
    with _one_line_errors(adapter):
        value = json.loads(file.read_text(encoding="utf-8")) if file else None
        if not isinstance(value, dict):
            raise ValueError(f"expected a JSON object, got {type(value).__name__}")
    return value


@contextmanager
def _one_line_errors(adapter: Place) -> Iterator[None]:
    """Raise the errors of damaged files, which are of many classes, as one of one line."""
    try:
        yield
    except PolyprobeError:
        raise
    except Exception as error:
        raise PolyprobeError(
            f"cannot load the adapter '{adapter.name}': {type(error).__name__}: {one_line(error)}"
        ) from error
