"""Load a model and its tokenizer from the Hub, a folder or a GGUF file, and choose a scorer."""

import os
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Unpack

import torch
from transformers import AutoConfig, AutoTokenizer

from polyprobe.system.devices import DTYPES, choose_device, find_dtype
from polyprobe.system.errors import PolyprobeError, check_option, one_line

from .given import check_options, configuration_of, identify, name_of, unwrap
from .options import (
    ModelOptions,
    check_adapter,
    check_attention,
    check_budget,
    check_names,
    check_quantize,
)
from .scorers import FAMILIES, SCORINGS, Family, Scorer
from .weights import quantized
from .weights.adapters import apply_adapter, find_parts, read_kind
from .weights.code import find_code
from .weights.places import Place, cannot_load


class Loaded(NamedTuple):
    """A scorer and how its model was loaded.

    Attributes:
        scorer: the scorer.
        revision: the exact revision of the model.
        dtype: the precision of its weights.
        further: what else its scores depend on, see `Settings`.
    """

    scorer: Scorer
    revision: str
    dtype: str
    further: Mapping[str, str] = MappingProxyType({})


def load_scorer(model: Any, **options: Unpack[ModelOptions]) -> Scorer:
    """Return the scorer of a model; its family is taken from its configuration.

    Example::

        scorer = load_scorer("gpt2")
        scorer = load_scorer(model, tokenizer=tokenizer)  # a model of your own
        [scores] = scorer.score(["Paris is in [Y]."], [["France", "Spain"]])

    Args:
        model: an id on the Hub, a local folder, a GGUF file, or the embedded `geolm`; or a
            transformers model, also wrapped by PEFT, which is put into evaluation mode.
        options: see `ModelOptions`; those of a model object are `tokenizer`, `scoring`, `bos` and
            `batch_tokens`.

    Raises:
        PolyprobeError: an unknown model, a model without a language-model head, one that does not
            read in the direction of its family, unknown settings.
    """
    check_names(options, ModelOptions.__annotations__, "load_scorer")
    return load(model, **options).scorer if is_name(model) else _take_given(model, options)


def is_name(model: Any) -> bool:
    """Return whether this is a name or a path, not a model or scorer."""
    return isinstance(model, str | os.PathLike)


def load(model: Any, **options: Any) -> Loaded:
    """Return the scorer of a name, a model object or a scorer, with its revision and dtype.

    The revision of a model in memory is a hash of what it is now (see `identify`): its weights may
    have changed since they were loaded. For the arguments see `load_scorer`.
    """
    if is_name(model):
        return _load_named(os.fspath(model), **options)
    scorer = _take_given(model, options)
    dtype = str(scorer.model.dtype).removeprefix("torch.")
    return Loaded(scorer, identify(scorer.model, scorer.tokenizer), dtype)


def _take_given(model: Any, options: Mapping[str, Any]) -> Scorer:
    """Return the scorer itself, or that of a model object."""
    check_options(model, options)
    return model if isinstance(model, Scorer) else _engage_object(model, **options)


def _engage_object(
    model: Any,
    tokenizer: Any,
    scoring: str = "bmlama",
    bos: str = "auto",
    batch_tokens: int | None = None,
) -> Scorer:
    network, name = unwrap(model), name_of(model)
    check_option("--scoring", scoring, tuple(SCORINGS))
    check_budget(batch_tokens)
    family = FAMILIES[family_of(configuration_of(network), name)]
    _check_protocol(family, scoring, bos, name)
    return _engage(family, network, tokenizer, name, scoring, bos, batch_tokens)


def _load_named(
    model: str,
    *,
    revision: str | None = None,
    adapter: str | None = None,
    quantize: str | None = None,
    trust_remote_code: bool = False,
    device: str = "auto",
    dtype: str = "float32",
    scoring: str = "bmlama",
    bos: str = "auto",
    attention: str | None = None,
    batch_tokens: int | None = None,
    tokenizer: None = None,
) -> Loaded:
    if tokenizer is not None:
        raise PolyprobeError(f"'{model}' has its own tokenizer; give one with a model object only")
    check_option("--dtype", dtype, DTYPES)
    check_option("--scoring", scoring, tuple(SCORINGS))
    check_budget(batch_tokens)
    check_attention(attention)
    check_adapter(adapter)
    check_quantize(quantize)
    where, precision = choose_device(device), find_dtype(dtype)
    parts = find_parts(model, revision, adapter)
    kind = read_kind(parts.adapter) if parts.adapter else None
    code = find_code({parts.base, parts.tokenizer}) if trust_remote_code else None
    options = code.allow() if code else {"trust_remote_code": False}
    config = _call(AutoConfig.from_pretrained, parts.base, options)
    family = FAMILIES[family_of(config, model)]
    _check_protocol(family, scoring, bos, model)
    few = quantized.describe(quantize, parts.base, config)
    exact, further = parts.identify()
    further |= {"quantize": few} if few else {}
    further |= {"code": code.hash} if code else {}
    own = _call(AutoTokenizer.from_pretrained, parts.tokenizer, {**options, "config": config})
    options |= {"dtype": precision}
    options |= quantized.loading_options(quantize, precision, where) if few else {}
    network = _load_weights(family, parts.base, options, attention, quantize)
    if code:
        code.check_run(network)
    if few:
        quantized.settle(network, precision)
        dtype = str(network.dtype).removeprefix("torch.")
    if parts.adapter:
        network = apply_adapter(network, parts.adapter, kind)
    if not few:
        _move(network, where, model)
    scorer = _engage(family, network, own, model, scoring, bos, batch_tokens)
    return Loaded(scorer, exact, dtype, further)


def load_again(model: str, *, expected: Mapping[str, str] | None = None, **options: Any) -> Scorer:
    """Return the scorer of a model that another process has loaded before.

    Raises:
        PolyprobeError: its `revision`, `path` or `further` differs from `expected`, so that its
            scores would be stored under the wrong key.
    """
    loaded = load(model, **options)
    found = {"revision": loaded.revision, "path": loaded.scorer.path, **loaded.further}
    for name, value in (expected or {}).items():
        here = found.get(name, "none")
        if here != value:
            raise PolyprobeError(
                f"the model '{model}' has another {name} here ({here}) than where the run was "
                f"started ({value}); put the same files and the same kind of device there"
            )
    return loaded.scorer


def family_of(config: Any, model: str) -> str:
    """Return the family of a configuration: by its class names, or its model type if it has none.

    Raises:
        PolyprobeError: none of its classes has a language-model head.
    """
    names = getattr(config, "architectures", None)
    names = names if isinstance(names, list) else []
    for family in FAMILIES.values():
        if family.fits(config, names):
            return family.name
    return _family_by_suffix(names) or _no_head(model, names, config.model_type)


def _check_protocol(of: Family, scoring: str, bos: str, model: str) -> None:
    if bos != "auto" and not of.takes_bos:
        raise PolyprobeError(
            f"--bos {bos} is for decoder-only models, '{model}' is {of.name}; leave it out"
        )
    family = of.name
    if family not in SCORINGS[scoring]:
        known = ", ".join(name for name, families in SCORINGS.items() if family in families)
        raise PolyprobeError(
            f"--scoring {scoring} is for {' and '.join(SCORINGS[scoring])} models, "
            f"'{model}' is {family}; known for {family}: {known}"
        )


def _family_by_suffix(names: list[str]) -> str | None:
    """Return the family of a class that has its own code or another model type."""
    families = FAMILIES.values()
    return next((f.name for n in names for f in families if n.endswith(f.suffixes)), None)


def _no_head(model: str, names: list[str], model_type: str) -> str:
    raise PolyprobeError(
        f"model '{model}' has no language-model head ({', '.join(names) or model_type}); "
        "expected a masked, causal or T5-like language model"
    )


def _call(load: Callable[..., Any], place: Place, options: dict[str, Any]) -> Any:
    """Load a part of the model; damaged files raise many classes of errors, so all are caught."""
    try:
        return load(place.path, **place.options, **options)
    except Exception as error:
        raise cannot_load(place.name, error) from error


def _load_weights(
    family: Family,
    place: Place,
    options: dict[str, Any],
    attention: str | None,
    quantize: str | None,
) -> Any:
    asked = {**options, "output_loading_info": True}
    asked |= {"attn_implementation": attention} if attention else {}
    try:
        network, info = _call(family.auto.from_pretrained, place, asked)
    except PolyprobeError as error:
        cause = one_line(error.__cause__ or error)
        if attention and re.search("att(entio)?n", cause, re.IGNORECASE):
            raise PolyprobeError(
                f"--attention {attention} cannot be used with model '{place.name}' here ({cause}); "
                "leave it out, or use sdpa or eager"
            ) from error
        if quantize:
            raise PolyprobeError(
                f"--quantize {quantize} cannot be used with model '{place.name}' here ({cause}); "
                "leave it out"
            ) from error
        raise
    missing = sorted(info.get("missing_keys", ()))
    if missing:
        raise PolyprobeError(
            f"model '{place.name}' has no language-model head, or its weights are incomplete: "
            f"{len(missing)} tensors are missing, {missing[0]} the first"
        )
    return network


def _move(network: Any, device: torch.device, model: str) -> None:
    try:
        network.to(device)
    except RuntimeError as error:
        raise PolyprobeError(
            f"model '{model}' cannot be put on {device} ({one_line(error)}); "
            "use a smaller model, --dtype bfloat16 or another --device"
        ) from error


def _engage(
    family: Family,
    network: Any,
    tokenizer: Any,
    model: str,
    scoring: str,
    bos: str,
    batch_tokens: int | None,
) -> Scorer:
    """Return the scorer; its constructor runs the model for the first time."""
    extra = {"bos": bos} if family.takes_bos else {}
    quantized.keep_unpacked(network)
    try:
        return SCORINGS[scoring][family.name](network, tokenizer, batch_tokens, **extra)
    except PolyprobeError:
        raise
    except Exception as error:  # a model that needs more than text may raise anything
        raise PolyprobeError(
            f"model '{model}' cannot be run here on text ({type(error).__name__}: "
            f"{one_line(error)})"
        ) from error
