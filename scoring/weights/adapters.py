"""Adapters of PEFT: their kind, and how a model gets one."""

import warnings
from pathlib import Path
from typing import Any

from polyprobe.scoring.model_objects import check_adapter_kind, check_loaded, unwrap_model
from polyprobe.scoring.options import ADAPTER, check_adapter
from polyprobe.system.messages import PolyprobeError

from .places import Place, one_line_errors
from .quantized import quieten

WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")


def read_kind(adapter: Place) -> Any:
    """Read the configuration of PEFT, before any weights are loaded."""
    check_adapter(adapter.name)
    quieten()
    from peft import PeftConfig

    with one_line_errors(adapter):
        kind = PeftConfig.from_pretrained(str(_find_folder(adapter)))
    check_adapter_kind(kind)
    kind.inference_mode = True
    return kind


def apply_adapter(network: Any, adapter: Place, kind: Any) -> Any:
    """Put the adapter's layers beside the network's, in place; `kind` is of `read_kind`."""
    # They are not merged: that would round the sum in half precision, spoil quantised weights, and
    # change a head that shares its weights with adapted embeddings.
    from peft import PeftModel
    from peft.utils import load_peft_weights

    check_loaded(network, "merge the adapter (merge_and_unload) and give the merged model")
    folder = _find_folder(adapter)
    with one_line_errors(adapter):
        weights = load_peft_weights(str(folder), device="cpu")
        embeddings = network.get_input_embeddings()
        [name] = [name for name, part in network.named_modules() if part is embeddings]
        keys = {f"base_model.model.{name}{middle}.weight" for middle in ("", ".base_layer")}
        rows = next((len(weights[key]) for key in keys if key in weights), None)
        if rows and rows != len(embeddings.weight):  # PEFT refuses embeddings of another size
            network.resize_token_embeddings(rows, mean_resizing=False)
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
    return unwrap_model(model)


def _find_folder(adapter: Place) -> Path:
    settings = adapter.file(ADAPTER)
    if settings is None or not any(adapter.file(name) for name in WEIGHTS):
        raise PolyprobeError(f"the adapter '{adapter.name}' has no weights ({WEIGHTS[0]})")
    return settings.parent
