"""Load a model and its tokenizer from the Hub, a folder or a GGUF file, and choose a scorer."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Unpack

import torch
from transformers import AutoConfig, AutoTokenizer

from polyprobe.system.devices import DTYPES, choose_device, find_dtype
from polyprobe.system.errors import PolyprobeError, check_option, one_line
from polyprobe.system.extras import explain_missing_extras
from polyprobe.system.progress import report as say
from polyprobe.system.sending import run

from .chat import Chat, ChatOptions, render_chat, take_chat
from .given import check_options, configuration_of, identify, name_of, unwrap
from .options import (
    LOCAL,
    PRODUCTS,
    SERVED,
    ModelOptions,
    check_adapter,
    check_attention,
    check_budget,
    check_names,
    check_permutations,
    check_quantize,
    check_revision,
    check_server,
)
from .scorers import CAUSAL, FAMILIES, SCORINGS, Family, Scorer
from .served import LimitedServerError, ServedEngine, TopCompletions, connect, shake
from .weights import quantized
from .weights.adapters import apply_adapter, find_parts, read_kind
from .weights.code import find_code_files
from .weights.places import Place, cannot_load, find_place


class Loaded(NamedTuple):
    """A scorer and how its model was loaded.

    Attributes:
        scorer: the scorer.
        revision: the exact revision of the model.
        dtype: the precision of its weights.
        further: what else its scores depend on, see `Settings`.
        probe: log-probabilities by which a served model is recognised, see `shake`.
    """

    scorer: Scorer
    revision: str
    dtype: str
    further: Mapping[str, str] = MappingProxyType({})
    probe: tuple[float, ...] = ()


def load_scorer(model: Any, **options: Unpack[ModelOptions]) -> Scorer:
    """Return the scorer of a model; its family is taken from its configuration.

    Example::

        scorer = load_scorer("gpt2")
        scorer = load_scorer(model, tokenizer=tokenizer)  # a model of your own
        [scores] = scorer.score(["Paris is in [Y]."], [["France", "Spain"]])

    Args:
        model: an id on the Hub, a local folder, a GGUF file, or the embedded `geolm`; or a
            transformers model, also wrapped by PEFT, which is put into evaluation mode.
        options: see `ModelOptions`; those of a model object are `tokenizer`, `scoring`, `bos`,
            `batch_tokens`, `product` and those of a chat.

    Raises:
        PolyprobeError: an unknown model, a model without a language-model head, one that does not
            read in the direction of its family, unknown settings.
    """
    check_names(options, ModelOptions.__annotations__, "load_scorer")
    return load(model, **options).scorer if is_name(model) else _take_given(model, dict(options))


def is_name(model: Any) -> bool:
    """Return whether this is a name or a path, not a model or scorer."""
    return isinstance(model, str | os.PathLike)


def load(model: Any, **options: Any) -> Loaded:
    """Return the scorer of a name, a model object or a scorer, with its revision and dtype.

    The revision of a model in memory is a hash of what it is now (see `identify`): its weights may
    have changed since they were loaded. For the arguments see `load_scorer`.
    """
    if is_name(model):
        chosen = take_chat(options)
        if options.get("server") is None:
            return _load_named(os.fspath(model), chosen=chosen, **options)
        check_server(options)
        given = {name: value for name, value in options.items() if name not in LOCAL}
        return _load_served(os.fspath(model), chosen=chosen, **given)
    scorer = _take_given(model, options)
    dtype = str(scorer.model.dtype).removeprefix("torch.")
    return Loaded(scorer, identify(scorer.model, scorer.tokenizer), dtype)


def _take_given(model: Any, options: dict[str, Any]) -> Scorer:
    """Return the scorer itself, or that of a model object."""
    check_options(model, options)
    if isinstance(model, Scorer):
        return model
    return _engage_object(model, take_chat(options), **options)


def _engage_object(
    model: Any,
    chosen: ChatOptions | None,
    tokenizer: Any,
    scoring: str = "bmlama",
    permutations: int | None = None,
    bos: str = "auto",
    batch_tokens: int | None = None,
    product: str | None = None,
) -> Scorer:
    network, name = unwrap(model), name_of(model)
    check_option("--scoring", scoring, tuple(SCORINGS))
    check_permutations(permutations, scoring)
    check_budget(batch_tokens)
    check_option("--product", product or PRODUCTS[0], PRODUCTS)
    family = FAMILIES[family_of(configuration_of(network), name)]
    _check_protocol(family, scoring, bos, chosen, name)
    chat = render_chat(tokenizer, chosen, name, scoring) if chosen else None
    quantized.keep_unpacked(network)
    scorer = _engage(
        family, network, tokenizer, name, scoring, bos, chat, batch_tokens, permutations
    )
    return _fix(scorer, product)


def _load_named(
    model: str,
    *,
    chosen: ChatOptions | None,
    revision: str | None = None,
    adapter: str | None = None,
    quantize: str | None = None,
    trust_remote_code: bool = False,
    device: str = "auto",
    dtype: str = "float32",
    scoring: str = "bmlama",
    permutations: int | None = None,
    bos: str = "auto",
    attention: str | None = None,
    batch_tokens: int | None = None,
    product: str | None = None,
    tokenizer: None = None,
    server: None = None,
) -> Loaded:
    if tokenizer is not None:
        raise PolyprobeError(f"'{model}' has its own tokenizer; leave it out, or add --server")
    check_option("--dtype", dtype, DTYPES)
    check_option("--scoring", scoring, tuple(SCORINGS))
    check_permutations(permutations, scoring)
    check_budget(batch_tokens)
    check_option("--product", product or PRODUCTS[0], PRODUCTS)
    check_attention(attention)
    check_adapter(adapter)
    check_quantize(quantize)
    where, precision = choose_device(device), find_dtype(dtype)
    parts = find_parts(model, revision, adapter)
    kind = read_kind(parts.adapter) if parts.adapter else None
    code = find_code_files({parts.base, parts.tokenizer}) if trust_remote_code else None
    options = code.allow() if code else {"trust_remote_code": False}
    config = _call(AutoConfig.from_pretrained, parts.base, options)
    family = FAMILIES[family_of(config, model)]
    _check_protocol(family, scoring, bos, chosen, model)
    few = quantized.describe_weights(quantize, parts.base, config)
    exact, further = parts.identify()
    further |= {"quantize": few} if few else {}
    further |= {"code": code.hash} if code else {}
    own = _call(AutoTokenizer.from_pretrained, parts.tokenizer, {**options, "config": config})
    chat = render_chat(own, chosen, model, scoring) if chosen else None
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
    quantized.keep_unpacked(network)
    scorer = _engage(family, network, own, model, scoring, bos, chat, batch_tokens, permutations)
    return Loaded(_fix(scorer, product), exact, dtype, further)


def _load_served(
    model: str,
    *,
    server: str,
    chosen: ChatOptions | None,
    tokenizer: str | None = None,
    revision: str | None = None,
    scoring: str = "bmlama",
    permutations: int | None = None,
    bos: str = "auto",
    before: tuple[str, Sequence[float]] | None = None,
) -> Loaded:
    """Return the scorer of a model behind a server, which has passed all checks.

    `before` are revision and probe of a run to resume: a model that has nearly the same probe is
    the same.
    """
    check_option("--scoring", scoring, tuple(SCORINGS))
    check_permutations(permutations, scoring)
    _check_protocol(CAUSAL, scoring, bos, chosen, model)
    if not is_name(tokenizer or model):
        raise PolyprobeError(
            f"a served model was given with a {type(tokenizer).__name__} as tokenizer; give the "
            "name or folder of one"
        )
    with explain_missing_extras("--server"):
        kind = run(connect(server, model))
    place, own, model_type = _read_tokenizer(tokenizer or model, revision, bos)
    chat = render_chat(own, chosen, model, scoring) if chosen else None
    n_tokens = max(own.get_vocab().values(), default=0) + 1
    engine = ServedEngine(kind, n_tokens, model_type)
    say(f"checking the server {kind.where}")
    try:
        found = shake(engine, own, before[1] if before else ())
    except LimitedServerError:
        if scoring != "letters":
            raise
        kind = TopCompletions(kind.served, partial(_spell, own))
        engine = ServedEngine(kind, n_tokens, model_type)
        found = shake(engine, own, before[1] if before else ())
    scorer = _engage(CAUSAL, engine, own, model, scoring, bos, chat, None, permutations)
    further = {
        "tokenizer": f"{place.label}@{place.exact_revision()}",
        "server": f"{kind.name}-{kind.served.version}-{kind.served.about}".strip("-"),
        "handshake": "+".join(found.passed),
    }
    exact = before[0] if before and found.probe == [*before[1]] else found.revision
    return Loaded(scorer, exact, SERVED, further, tuple(found.probe))


def _read_tokenizer(name: str, revision: str | None, bos: str) -> tuple[Place, Any, str]:
    """Return the place of a served model's tokenizer, the tokenizer, and the type of the model."""
    check_revision(name, revision)
    place = find_place(name, revision)
    try:
        place = place.pin("tokenizer_config.json").pin("tokenizer.json")
        own = AutoTokenizer.from_pretrained(place.path, trust_remote_code=False, **place.options)
    except Exception as error:
        raise PolyprobeError(
            f"no tokenizer of {name!r} ({one_line(error)}); give that of the served model "
            "(--tokenizer): an id on the Hub, a folder or a GGUF file"
        ) from error
    try:
        config = AutoConfig.from_pretrained(place.path, trust_remote_code=False, **place.options)
    except Exception:  # a folder with a tokenizer alone
        if bos == "auto":
            say(
                f"warning: {place.label} has no configuration of a model; whether prompts begin "
                "with a BOS is taken from the tokenizer (--bos always or never)"
            )
        return place, own, "unknown"
    names = getattr(config, "architectures", None) or [""]
    if config.is_encoder_decoder or names[0].endswith(FAMILIES["masked"].suffixes):
        raise PolyprobeError(
            f"--server is for decoder-only models, '{place.name}' is {names[0]}; leave it out"
        )
    return place, own, config.model_type


def _spell(tokenizer: Any, token: int) -> str:
    """Return the text of a token behind other text, with its blank."""
    front = tokenizer("a", add_special_tokens=False)["input_ids"]
    return str(tokenizer.decode([*front, token])).removeprefix(str(tokenizer.decode(front)))


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


def _check_protocol(
    of: Family, scoring: str, bos: str, chosen: ChatOptions | None, model: str
) -> None:
    if chosen:
        check_chat(of, model)
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


def check_chat(family: Family, model: str) -> None:
    """Refuse the conversation of a model that does not continue text."""
    if not family.takes_bos:
        raise PolyprobeError(
            f"--chat is for decoder-only models, '{model}' is {family.name}; leave it out"
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
    chat: Chat | None,
    batch_tokens: int | None,
    permutations: int | None,
) -> Scorer:
    """Return the scorer; its constructor runs the model for the first time."""
    extra: dict[str, Any] = {"bos": bos} if family.takes_bos else {}
    extra |= {"chat": chat} if chat else {}
    extra |= {"permutations": permutations} if permutations else {}
    try:
        return SCORINGS[scoring][family.name](network, tokenizer, batch_tokens, **extra)
    except PolyprobeError:
        raise
    except Exception as error:  # a model that needs more than text may raise anything
        raise PolyprobeError(
            f"model '{model}' cannot be run here on text ({type(error).__name__}: "
            f"{one_line(error)})"
        ) from error


def _fix(scorer: Scorer, product: str | None) -> Scorer:
    """Let the scorer multiply as given; without a product it keeps its own choice."""
    if product and not scorer.engine.fix_product(product):
        raise PolyprobeError(
            f"--product {product} needs a float32 model on a CPU for which torch has it, and the "
            f"same scores; use --product {PRODUCTS[0]}"
        )
    return scorer
