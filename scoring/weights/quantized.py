"""Weights of 4 or 8 bits, by `--quantize` or in the checkpoint, and adapters of PEFT."""

import logging
import sys
import warnings
from importlib.metadata import version
from pathlib import Path
from types import MethodType
from typing import Any

import torch
from transformers import BitsAndBytesConfig

from polyprobe.scoring.model_objects import check_adapter_kind, check_loaded, unwrap_model
from polyprobe.scoring.options import ADAPTER, check_adapter
from polyprobe.system.messages import PolyprobeError, require

from .places import Place, one_line_errors

# The package that loads weights of a method (`quant_method` in config.json). transformers itself
# loads or refuses methods that are not listed.
PACKAGES = {
    "awq": "gptqmodel",
    "bitsandbytes": "bitsandbytes",
    "compressed-tensors": "compressed_tensors",
    "gptq": "gptqmodel",
    "hqq": "hqq",
    "torchao": "torchao",
}
KINDS = {"4bit": "4bit-nf4", "8bit": "8bit-int8"}
ADAPTER_WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")


def describe_weights(quantize: str | None, place: Place, config: Any) -> str | None:
    """Return the entry of the signature, with the version of the package; None without any."""
    method = "gguf" if place.gguf else None
    settings = getattr(config, "quantization_config", None)
    if settings is not None and not method:
        settings = settings if isinstance(settings, dict) else settings.to_dict()
        method = str(getattr(settings.get("quant_method"), "value", settings.get("quant_method")))
        bits = 4 if settings.get("load_in_4bit") else 8 if settings.get("load_in_8bit") else None
        bits = bits or settings.get("bits")
        method = f"{method}:{bits}bit" if bits else method
    if quantize and method:
        raise PolyprobeError(
            f"--quantize {quantize} is for weights in full precision, but those of '{place.name}' "
            f"are quantised already ({method}); leave it out"
        )
    if place.gguf or not (quantize or method):
        return None  # GGUF is converted to the full precision
    kind = KINDS[quantize] if quantize else method
    package = "bitsandbytes" if quantize else PACKAGES.get(str(method).partition(":")[0])
    if package is None:
        return kind
    require(f"the model '{place.name}' ({kind})", package)
    return f"{kind}+{package} {version(package)}"


def quieten() -> None:
    """Keep bitsandbytes from printing which of its kernels it does not use; PEFT imports it too."""
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)


def loading_options(
    quantize: str | None, dtype: torch.dtype, device: torch.device
) -> dict[str, Any]:
    """Return the keywords of `from_pretrained` for weights that are or become quantised."""
    # `4bit` is NF4 in blocks of 64, `8bit` is int8 with one scale for each row; both leave the head
    # and embeddings alone
    quieten()
    # Such weights are rounded on the device and cannot be moved afterwards.
    options: dict[str, Any] = {"device_map": {"": device}}
    if quantize == "4bit":
        options["quantization_config"] = BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype
        )
    elif quantize == "8bit":
        options["quantization_config"] = BitsAndBytesConfig(load_in_8bit=True)
    return options


def settle(network: Any, dtype: torch.dtype) -> None:
    """Let the layers of bitsandbytes multiply in `dtype`, so that no sentence changes another."""
    # LLM.int8() also rounds the activations to 8 bits, except for columns with an outlier in any
    # sentence of the batch: scores would depend on the batch, and tokens on later ones
    if "bitsandbytes" not in sys.modules:
        return
    from bitsandbytes.nn import Linear4bit, Linear8bitLt

    for layer in network.modules():
        if isinstance(layer, Linear4bit):
            layer.compute_dtype, layer.compute_type_is_set = dtype, True
        elif isinstance(layer, Linear8bitLt):
            layer.forward = MethodType(_multiply, layer)
            layer.state.threshold = 0.0


def keep_unpacked(network: Any) -> None:
    """Keep 4-bit layers on CPUs with AVX-512 BF16 as they are on others."""
    # There they would pack their weights at the first call in evaluation mode, multiply in bfloat16
    # whatever the precision, and have no gradient when training goes on
    for layer in network.modules():
        if hasattr(layer, "support_avx512bf16_for_cpu"):
            layer.support_avx512bf16_for_cpu = False


def _multiply(layer: Any, states: torch.Tensor) -> torch.Tensor:
    """Multiply by the rounded weights, [..., inputs] → [..., outputs]."""
    if layer.weight.CB is not None:  # the first call
        layer.init_8bit_state()
    # The weights are integers of -127 to 127, with the largest number of each row as its scale.
    integers, scales = layer.state.CB.to(states.dtype), layer.state.SCB.to(states.dtype)
    return torch.nn.functional.linear(states, integers * (scales[:, None] / 127), layer.bias)


def read_adapter_kind(adapter: Place) -> Any:
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
    """Put the adapter's layers beside the network's, in place; `kind` is of `read_adapter_kind`."""
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
    if settings is None or not any(adapter.file(name) for name in ADAPTER_WEIGHTS):
        raise PolyprobeError(f"the adapter '{adapter.name}' has no weights ({ADAPTER_WEIGHTS[0]})")
    return settings.parent
