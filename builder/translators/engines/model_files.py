"""Locate, identify and load the files of a translation model."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from polyprobe.system.errors import PolyprobeError, one_line
from polyprobe.system.hashing import hash_model

Part = TypeVar("Part")


def place_model(model: str, revision: str | None) -> tuple[str, str | None]:
    """Return a local folder and None, or an id of the Hub and the commit of its revision."""
    if os.path.isdir(model):
        return os.path.abspath(model), None
    from transformers.utils import cached_file

    # the snapshot's folder is named after the commit
    file = call(lambda: cached_file(model, "config.json", revision=revision), model)
    return model, Path(file).parent.name


def identify(place: tuple[str, str | None], model: str) -> str:
    """Return the id and commit, or a hash of the folder's files."""
    folder, commit = place
    return f"{model}@{commit}" if commit else f"sha256-{hash_model(Path(folder))}"


def load_settings(place: tuple[str, str | None], model: str) -> tuple[Any, Any]:
    """Return configuration and tokenizer; PolyprobeError without an encoder and a decoder."""
    from transformers import AutoConfig, AutoTokenizer

    name, commit = place
    config = call(lambda: AutoConfig.from_pretrained(name, revision=commit), model)
    if not config.is_encoder_decoder:
        raise PolyprobeError(
            f"the model {model} ({config.model_type}) is not a translation model; expected an "
            "encoder with a decoder, such as facebook/nllb-200-distilled-600M"
        )
    return config, call(lambda: AutoTokenizer.from_pretrained(name, revision=commit), model)


def load_network(place: tuple[str, str | None], model: str, device: Any, dtype: Any) -> Any:
    """Return the network with its weights on the device, in evaluation mode."""
    from transformers import AutoModelForSeq2SeqLM

    name, commit = place
    network, info = call(
        lambda: AutoModelForSeq2SeqLM.from_pretrained(
            name, revision=commit, dtype=dtype, output_loading_info=True
        ),
        model,
    )
    if missing := sorted(info.get("missing_keys", ())):
        raise PolyprobeError(
            f"the weights of {model} are incomplete: {len(missing)} tensors are missing, "
            f"such as {missing[0]}"
        )
    network.generation_config.max_length = None  # max_new_tokens applies
    return call(lambda: network.to(device).eval(), model)


def call(load: Callable[[], Part], model: str) -> Part:
    """Return the result of `load`, with any exception in one line: files can fail in many ways."""
    try:
        return load()
    except Exception as error:
        kind = "" if isinstance(error, OSError | ValueError) else f"{type(error).__name__}: "
        if os.path.isdir(model):
            raise PolyprobeError(
                f"cannot load the model in {model}: {kind}{one_line(error)}"
            ) from error
        raise PolyprobeError(
            f"unknown model '{model}', or the Hub cannot be reached; give an id that the Hub or "
            "its local cache has (HF_HUB_OFFLINE=1 asks the cache alone), or a local folder "
            f"({kind}{one_line(error)})"
        ) from error
