"""Models and scorers of a script, in the place of a name."""

import hashlib
import json
from collections.abc import Mapping
from copy import copy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from accelerate.utils import extract_model_from_parallel
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from polyprobe.system.files import HASH, hash_model
from polyprobe.system.messages import PolyprobeError, quote

from .options import OF_OBJECTS, check_attention
from .scorers import Scorer


def unwrap_model(model: Any) -> Any:
    """Return the transformers model inside torch.compile, DistributedDataParallel or PEFT."""
    if not isinstance(model, torch.nn.Module):
        raise PolyprobeError(
            f"the model is {quote(model)}; expected a name, a path, a transformers "
            "model or a scorer"
        )
    # Adapters of PEFT (LoRA and others) are layers of the model inside
    model = extract_model_from_parallel(model, keep_torch_compile=False)
    if callable(getattr(model, "get_base_model", None)):
        check_adapter_kind(getattr(model, "active_peft_config", None))
        model = model.get_base_model()
    if not hasattr(model, "config"):
        raise PolyprobeError(
            f"the model is a {type(model).__name__}; expected a transformers model with a "
            "configuration"
        )
    for layer in model.modules():
        # LLM.int8() looks for outliers in all sentences of a batch.
        if getattr(getattr(layer, "state", None), "threshold", 0):
            raise PolyprobeError(
                "the scores of this 8-bit model would depend on the batch; load it with "
                "BitsAndBytesConfig(load_in_8bit=True, llm_int8_threshold=0), or give its name "
                "with quantize='8bit'"
            )
    return model


def check_adapter_kind(kind: Any) -> None:
    """Refuse a configuration of PEFT whose adapter adds to the model's inputs."""
    if getattr(kind, "is_prompt_learning", False):
        raise PolyprobeError(
            f"the adapter ({type(kind).__name__}) adds to the model's inputs, which cannot be "
            "scored; use one that changes layers, such as LoRA"
        )


def check_loaded(model: Any, remedy: str) -> None:
    """Refuse a model of which accelerate keeps weights in memory or on disk until they are used."""
    if any(weight.is_meta for weight in model.parameters()):
        raise PolyprobeError(
            f"the model '{model.config.name_or_path}' does not fit on the devices, and some of its "
            f"weights are elsewhere; {remedy}"
        )


def configuration_of(model: Any) -> Any:
    """Return the configuration that a checkpoint of the model would have."""
    config = copy(model.config)
    if isinstance(model, PreTrainedModel):
        config.architectures = [type(model).__name__]
    return config


def name_of(model: Any) -> str:
    """Return the name of a model or scorer: of its checkpoint, or its class."""
    if isinstance(model, Scorer) and model.model is None:
        raise PolyprobeError(
            "a scorer of a served model has no weights to recognise it by; give the model's name "
            "with server= instead"
        )
    model = unwrap_model(model.model if isinstance(model, Scorer) else model)
    return f"{model.config.name_or_path or type(model).__name__} (in memory)"


def check_object(model: Any, keywords: Mapping[str, Any]) -> None:
    """Refuse options that a model object or scorer already has."""
    kind, place, allowed = "a model object", "from_pretrained", OF_OBJECTS
    if isinstance(model, Scorer):
        kind, place, allowed = "a scorer", "load_scorer", set()
    for name in keywords:
        if name == "server":
            raise PolyprobeError(f"{kind} was given with server=; give the model's name")
        if name not in allowed:
            raise PolyprobeError(f"{kind} has its own {name}; leave it out, or set it in {place}")
    if isinstance(model, Scorer):
        return
    tokenizer = keywords.get("tokenizer")
    if not isinstance(tokenizer, PreTrainedTokenizerBase):
        kind = "no tokenizer" if tokenizer is None else f"a {type(tokenizer).__name__} as tokenizer"
        raise PolyprobeError(
            f"a model object was given with {kind}; add tokenizer=AutoTokenizer.from_pretrained(…)"
        )
    check_attention(getattr(unwrap_model(model).config, "_attn_implementation", None))


def identify_object(model: Any, tokenizer: Any) -> str:
    """Return a hash of weights, configuration, adapters and tokenizer, instead of a revision."""
    # It does not see code: hooks, replaced methods and classes of the same name are not part of it.
    network = unwrap_model(model)
    check_loaded(network, "give its name with device_map='auto'")
    settings = {
        name: value
        for name, value in configuration_of(network).to_dict().items()
        if name.strip("_") not in ("name_or_path", "commit_hash", "transformers_version")
    }
    adapters = [
        [getattr(layer, name, None) for name in ("active_adapters", "scaling", "disable_adapters")]
        for layer in network.modules()
        if hasattr(layer, "active_adapters") and hasattr(layer, "scaling")
    ]
    about = [type(network).__module__, settings, adapters]
    digest = hashlib.sha256(json.dumps(about, sort_keys=True, default=repr).encode())
    for name, value in sorted(network.state_dict().items()):
        digest.update(
            f"{name} {getattr(value, 'dtype', '')} {getattr(value, 'shape', '')}".encode()
        )
        if isinstance(value, torch.Tensor):
            digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
        else:
            digest.update(repr(value).encode())
    with TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        digest.update(hash_model(Path(folder)).encode())
    return HASH + digest.hexdigest()
