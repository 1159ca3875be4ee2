"""Load a model and its tokenizer from the Hub, a folder or a GGUF file, and choose a scorer."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from torch.nn import ModuleList
from transformers import AutoConfig, AutoTokenizer

from polyprobe.schema.run.settings import Settings
from polyprobe.system.devices import choose_device, device_of, find_dtype
from polyprobe.system.messages import MAX_LENGTH, PolyprobeError, explain_missing_extras, one_line
from polyprobe.system.messages import report as say
from polyprobe.system.options import collect_options, with_keywords
from polyprobe.system.sending import run_async
from polyprobe.system.text import clean_field

from .chat import Chat, describe_messages, render_chat
from .model_objects import check_object, configuration_of, identify_object, name_of, unwrap_model
from .options import ANSWER, HALF, PRODUCTS, SERVED, ScorerOptions, is_name
from .scorers import CAUSAL, FAMILIES, SCORINGS, Family, Scorer
from .scorers.answers import ServedAnswerScorer
from .scorers.part import ServedLettersScorer
from .served.engine import ServedEngine
from .served.handshake import Handshake, LimitedServerError, connect, shake
from .served.openai import SYSTEM, ChatServer, TopCompletions
from .weights import places, quantized
from .weights.places import find_code_files

DEFAULTS = ScorerOptions()


class Loaded(NamedTuple):
    """A scorer and how its model was loaded."""

    scorer: Scorer
    revision: str  # the exact one of the model
    dtype: str  # the precision of its weights
    # What else its scores depend on, see `Settings.further`
    extra: Mapping[str, str] = MappingProxyType({})
    # Log-probabilities by which a served model is recognised, see `shake`
    probe: tuple[float, ...] = ()

    def describe(self) -> dict[str, Any]:
        """Make the settings of a run that the model decides; `product` is one of `further`."""
        scorer, network = self.scorer, self.scorer.model
        attention = network and str(network.config._attn_implementation or "eager")
        return {
            "revision": self.revision,
            "scoring": scorer.scoring,
            "bos": scorer.bos,
            "dtype": self.dtype,
            "device": device_of(network).type if network else SERVED,
            "attention": attention or SERVED,
            "path": scorer.path,
            "batch_tokens": scorer.engine.batch_tokens,
            "further": {**self.extra, **scorer.extra},
            "product": scorer.engine.product,
            "probe": [*self.probe],
            "chat": scorer.chat.settings if scorer.chat else None,
            "parameters": network.num_parameters() if network else None,
        }


@with_keywords(ScorerOptions)
def load_scorer(model: Any, **options: Any) -> Scorer:
    """Return the scorer of a model; its family is taken from its configuration.

    Example::

        scorer = load_scorer("gpt2")
        scorer = load_scorer(model, tokenizer=tokenizer)  # a model of your own
        [scores] = scorer.score(["Paris is in [Y]."], [["France", "Spain"]])

    Args:
        model: an id on the Hub, a local folder, a GGUF file, or the embedded `geolm`; or a
            transformers model, also wrapped by PEFT, which is put into evaluation mode.
        options: those of `ScorerOptions`; of a model object `tokenizer`, `scoring`, `bos`,
            `batch_tokens`, `product` and those of a chat.

    Raises:
        PolyprobeError: an unknown model, a model without a language-model head, one that does not
            read in the direction of its family, unknown settings.
    """
    settings = ScorerOptions.from_keywords(options, load_scorer)
    if is_name(model):
        settings.check_named(os.fspath(model))
        return load(model, settings).scorer
    check_object(model, options)
    return engage_object(model, settings)


def load(model: Any, options: ScorerOptions = DEFAULTS, earlier: Settings | None = None) -> Loaded:
    """Load the scorer of a name, a model object or a scorer, with its revision and dtype."""
    # The revision of a model in memory is a hash of what it is now (see `identify_object`): its
    # weights may have changed since they were loaded. `earlier` are the settings of a run to
    # resume, which decide on what only rounding depends on: the token budget and the matrix
    # product; and on the revision of a served model with nearly the same probe.
    if options.server is not None:
        return _load_served(os.fspath(model), options, earlier)
    if earlier and options.batch_tokens is None and not isinstance(model, Scorer):
        options = replace(options, batch_tokens=earlier.batch_tokens)
    if is_name(model):
        loaded = _load_named(os.fspath(model), options)
    else:
        scorer = engage_object(model, options)
        dtype = str(scorer.model.dtype).removeprefix("torch.")
        loaded = Loaded(scorer, identify_object(scorer.model, scorer.tokenizer), dtype)
    if earlier and options.product is None and loaded.scorer.model is not None:
        loaded.scorer.engine.fix_product(earlier.further.get("product", PRODUCTS[0]))
    return loaded


class ModelSource(NamedTuple):
    """How another process loads the same model."""

    model: str  # its name or path
    options: ScorerOptions  # see `load`
    # `revision`, `path` and `further` of the model that the run began with
    expected: Mapping[str, str] | None = None
    earlier: Settings | None = None  # see `load`

    def load(self) -> Loaded:
        """Load the model; refuse another one than the expected."""
        loaded = load(self.model, self.options, self.earlier)
        values = loaded.describe()
        values |= values["further"]
        for name, value in (self.expected or {}).items():
            here = values.get(name, "none")
            if here != value:
                raise PolyprobeError(
                    f"the model '{self.model}' has another {name} here ({here}) than where the run "
                    f"was started ({value}); put the same files and the same kind of device there"
                )
        return loaded


def engage_object(model: Any, options: ScorerOptions) -> Scorer:
    """Return the scorer itself, or that of a model object."""
    if isinstance(model, Scorer):
        return model
    network, name = unwrap_model(model), name_of(model)
    family = family_of(configuration_of(network), name)
    _check_protocol(family, options, name)
    chat = render_chat(options.tokenizer, options, name)
    return _engage(family, network, options.tokenizer, chat, name, options)


def _load_named(model: str, options: ScorerOptions) -> Loaded:
    device, precision = choose_device(options.device), find_dtype(options.dtype)
    parts = places.find_parts(model, options.revision, options.adapter)
    kind = quantized.read_adapter_kind(parts.adapter) if parts.adapter else None
    places.check_files({parts.base, parts.tokenizer})
    code = find_code_files({parts.base, parts.tokenizer}) if options.trust_remote_code else None
    keywords = code.allow() if code else {"trust_remote_code": False}
    config = parts.base.load(AutoConfig.from_pretrained, **keywords)
    places.check_header(parts.base, config)
    family = family_of(config, model)
    _check_protocol(family, options, model)
    rounding = quantized.describe_weights(options.quantize, parts.base, config)
    exact, extra = parts.identify()
    more = {"quantize": rounding, "code": code and code.hash}
    extra |= {name: value for name, value in more.items() if value}
    tokenizer = parts.tokenizer.load(AutoTokenizer.from_pretrained, **keywords, config=config)
    # Damaged ones fail only when they read a text, such as an unknown character.
    parts.tokenizer.load(lambda *_, **options: tokenizer("\ue000 a"))
    chat = render_chat(tokenizer, options, model)  # its mistakes come before the weights
    keywords |= {"dtype": precision}
    if rounding:
        keywords |= quantized.loading_options(options.quantize, precision, device)
    if options.device_map:
        keywords |= {"device_map": options.device_map}
    network = _load_weights(family, parts.base, keywords, options)
    if code:
        code.check_run(network)
    dtype = options.dtype
    if rounding:
        quantized.settle(network, precision)
        dtype = str(network.dtype).removeprefix("torch.")
    if parts.adapter:
        network = quantized.apply_adapter(network, parts.adapter, kind)
    if not (rounding or options.device_map):
        try:
            network.to(device)
        except RuntimeError as error:
            raise PolyprobeError(
                f"model '{model}' cannot be put on {device} ({one_line(error)}); "
                "use a smaller model, --dtype bfloat16 or another --device"
            ) from error
    return Loaded(_engage(family, network, tokenizer, chat, model, options), exact, dtype, extra)


def _load_served(model: str, options: ScorerOptions, earlier: Settings | None) -> Loaded:
    _check_protocol(CAUSAL, options, model)
    name = options.tokenizer or model
    if not is_name(name):
        raise PolyprobeError(
            f"a served model was given with a {type(name).__name__} as tokenizer; give the "
            "name or folder of one"
        )
    with explain_missing_extras("--server"):
        kind = run_async(connect(str(options.server), model))
    say(f"checking the server {kind.where}")
    probe, source = earlier.probe if earlier else [], "server"
    if isinstance(kind, ChatServer):
        scorer, handshake = _engage_chat(kind, options, probe)
    else:
        place, tokenizer, model_type = _read_tokenizer(name, options.revision, options.bos)
        source = f"{place.label}@{place.exact_revision()}"
        chat = render_chat(tokenizer, options, model)
        n_tokens = max(tokenizer.get_vocab().values(), default=0) + 1
        engine = ServedEngine(kind, n_tokens, model_type)
        try:
            handshake = run_async(shake(engine, tokenizer, probe))
        except LimitedServerError:
            if options.scoring not in ("letters", ANSWER):
                raise
            if options.scoring == "letters":
                kind = TopCompletions(kind.served, partial(_spell, tokenizer))
            engine = ServedEngine(kind, n_tokens, model_type)
            handshake = run_async(shake(engine, tokenizer, probe, options.scoring == ANSWER))
        scorer = _engage(CAUSAL, engine, tokenizer, chat, model, options)
    names = filter(None, [kind.name, kind.served.version, kind.served.about])
    extra = {
        "tokenizer": source,
        "server": clean_field("-".join(names))[:MAX_LENGTH],
        "handshake": "+".join(handshake.passed),
    }
    same = earlier and probe and handshake.probe == [*probe]
    exact = earlier.revision if earlier and same else handshake.revision
    return Loaded(scorer, exact, SERVED, extra, tuple(handshake.probe))


def _engage_chat(
    server: ChatServer, options: ScorerOptions, probe: list[float]
) -> tuple[Scorer, Handshake]:
    where = f"the server {server.where}"
    for name in ("tokenizer", "revision", "bos", "chat_options"):
        if getattr(options, name) != getattr(DEFAULTS, name):
            flag = collect_options(ScorerOptions)[name].flag
            raise PolyprobeError(f"{flag} is not for {where}; leave it out")
    letters = options.scoring == "letters"
    system = SYSTEM if letters and options.system is None else options.system or None
    chat = describe_messages(replace(options, chat=True, system=system))
    server.chat = chat
    engine = ServedEngine(server, 2**18)  # tokens of a model, at most
    handshake = run_async(shake(engine, None, probe, options.scoring == ANSWER))
    makers: dict[str, Callable[..., Scorer]] = {
        "letters": partial(ServedLettersScorer, permutations=options.permutations),
        ANSWER: partial(ServedAnswerScorer, answer_tokens=options.answer_tokens),
    }
    if options.scoring not in makers:
        raise PolyprobeError(
            f"{where} gives only the first token's values; use --scoring letters or {ANSWER}"
        )
    return makers[options.scoring](engine, None, chat=chat), handshake


def _read_tokenizer(name: str, revision: str | None, bos: str) -> tuple[places.Place, Any, str]:
    try:
        place = places.find_tokenizer(name, revision)
        tokenizer = places.load_tokenizer(place)
    except PolyprobeError as error:
        raise PolyprobeError(f"{error}; give that of the served model (--tokenizer)") from error
    try:
        config = place.load(AutoConfig.from_pretrained, trust_remote_code=False)
    except PolyprobeError:  # a folder with a tokenizer alone
        if bos == "auto":
            say(
                f"warning: {place.label} has no configuration of a model; whether prompts begin "
                "with a BOS is taken from the tokenizer (--bos always or never)"
            )
        return place, tokenizer, "unknown"
    names = getattr(config, "architectures", None) or [""]
    if config.is_encoder_decoder or names[0].endswith(FAMILIES["masked"].suffixes):
        raise PolyprobeError(
            f"--server is for decoder-only models, '{place.name}' is {names[0]}; leave it out"
        )
    return place, tokenizer, config.model_type


def _spell(tokenizer: Any, token: int) -> str:
    """Return the text of a token behind other text, with its blank."""
    front = tokenizer("a", add_special_tokens=False)["input_ids"]
    return str(tokenizer.decode([*front, token])).removeprefix(str(tokenizer.decode(front)))


def family_of(config: Any, model: str) -> Family:
    """Return the family of a configuration: by its class names, without any by its model type."""
    names = getattr(config, "architectures", None)
    names = [x for x in names if isinstance(x, str)] if isinstance(names, list) else []
    for family in FAMILIES.values():
        # BART, say, has causal and encoder-decoder classes under one model type.
        if config.is_encoder_decoder == family.encoder_decoder:
            classes = family.architectures.get(config.model_type, ())
            classes = (classes,) if isinstance(classes, str) else classes
            if {*names} & {*classes, *family.old_names} or (classes and not names):
                return family
    for name in names:  # a class with its own code, or of another model type
        for family in FAMILIES.values():
            if name.endswith(family.suffixes):
                return family
    raise PolyprobeError(
        f"model '{model}' has no language-model head ({', '.join(names) or config.model_type}); "
        "expected a masked, causal or T5-like language model"
    )


def _check_protocol(family: Family, options: ScorerOptions, model: str) -> None:
    flag = "--chat" if options.chat else f"--bos {options.bos}" if options.bos != "auto" else ""
    if flag and not family.takes_bos:
        raise PolyprobeError(
            f"{flag} is for decoder-only models, '{model}' is {family.name}; leave it out"
        )
    families = SCORINGS[options.scoring]
    if family.name not in families:
        names = [name for name, takers in SCORINGS.items() if family.name in takers]
        raise PolyprobeError(
            f"--scoring {options.scoring} is for {' and '.join(families)} models, '{model}' is "
            f"{family.name}; known for {family.name}: {', '.join(names)}"
        )


def _load_weights(
    family: Family, place: places.Place, keywords: dict[str, Any], options: ScorerOptions
) -> Any:
    attention, quantize = options.attention, options.quantize
    keywords = {**keywords, "output_loading_info": True}
    keywords |= {"attn_implementation": attention} if attention else {}
    try:
        network, info = place.load(family.auto.from_pretrained, **keywords)
    except PolyprobeError as error:
        cause = one_line(error.__cause__ or error)
        flag, remedy = f"--quantize {quantize}", "leave it out"
        if attention and re.search("att(entio)?n", cause, re.IGNORECASE):
            flag, remedy = f"--attention {attention}", "leave it out, or use sdpa or eager"
        elif not quantize:
            raise
        raise PolyprobeError(
            f"{flag} cannot be used with model '{place.name}' here ({cause}); {remedy}"
        ) from error
    _check_fit(network, place, info)
    return network


def _check_fit(network: Any, place: places.Place, info: Mapping[str, Any]) -> None:
    """Refuse weights that are missing, or of a layer that the configuration does not have."""
    missing = sorted(info.get("missing_keys", ()))
    if missing:
        raise PolyprobeError(
            f"model '{place.name}' has no language-model head, or its weights are incomplete: "
            f"{len(missing)} tensors are missing, {missing[0]} the first"
        )
    stacks = {f".{x}": len(y) for x, y in network.named_modules() if isinstance(y, ModuleList)}
    for key in sorted(info.get("unexpected_keys", ())):
        for part in re.finditer(r"\.(\d+)\.", key):
            front = f".{key[: part.start()]}"
            sizes = {size for name, size in stacks.items() if name.endswith(front)}
            if sizes and int(part[1]) >= max(sizes):
                raise PolyprobeError(
                    f"the configuration of model '{place.name}' has fewer layers than its weights: "
                    f"{key} has no place; correct config.json"
                )


def _engage(
    family: Family,
    network: Any,
    tokenizer: Any,
    chat: Chat | None,
    model: str,
    options: ScorerOptions,
) -> Scorer:
    """Return the scorer; its constructor runs the model for the first time."""
    if not isinstance(network, ServedEngine):
        quantized.keep_unpacked(network)
    extra: dict[str, Any] = {"bos": options.bos} if family.takes_bos else {}
    extra |= {"chat": chat} if chat else {}
    extra |= {"permutations": options.permutations} if options.permutations else {}
    extra |= {"answer_tokens": options.answer_tokens} if options.scoring == ANSWER else {}
    scorer_class = SCORINGS[options.scoring][family.name]
    try:
        scorer = scorer_class(network, tokenizer, options.batch_tokens, **extra)
    except PolyprobeError:
        raise
    except (Exception, SystemExit) as error:  # a model that needs more than text may raise anything
        raise PolyprobeError(
            f"model '{model}' cannot be run here on text ({type(error).__name__}: "
            f"{one_line(error)})"
        ) from error
    if options.product and not scorer.engine.fix_product(options.product):
        place = "" if options.product == HALF else " on a CPU for which torch has it"
        raise PolyprobeError(
            f"--product {options.product} needs a float32 model{place}, and scores equal to its "
            f"own; use --product {PRODUCTS[0]}"
        )
    return scorer
