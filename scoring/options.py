"""The options of a model: how it is loaded, how it scores, and X-FACTR's decoder."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import partial
from os import PathLike
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from polyprobe.system.devices import DTYPES, check_device
from polyprobe.system.messages import PolyprobeError, require
from polyprobe.system.options import Options, collect_options, option
from polyprobe.system.sending import check_address

FREE = "xfactr"
SUMS = ("object", "object-released")  # a score is a log-probability, summed over tokens
ANSWER, ANSWER_TOKENS = "answer", 64
ALL, MASKED, WRITERS = "all models", "masked models", "causal and T5-like models"
# The values of `--scoring`, and the models that each takes (`scorers.SCORINGS` has the scorers).
SCORING_NAMES = {
    "bmlama": (ALL, "mean log-probability of the sentence, equations 8-10 of BMLAMA"),
    "mpararel": (MASKED, "all masks at once, every object of the relation as a candidate"),
    "mpararel-released": (MASKED, "the same with logits, as the released code"),
    "object": (ALL, "log-probability of the object's tokens, summed"),
    "object-released": (ALL, "the same without the blank in front, as Fluent-mLAMA's code"),
    "object-tokens": (ALL, "the same by the number of tokens"),
    "object-characters": (ALL, "the same by the number of characters"),
    "object-bytes": (ALL, "the same by the number of bytes"),
    "contrastive": (ALL, "the object's first sub-word"),
    "contrastive-released": (ALL, "the same, read where the released code reads it"),
    "letters": (ALL, "the candidates as options A, B, C …, the letter of each"),
    "pll": (MASKED, "the whole sentence, one token masked at a time"),
    "pll-word-l2r": (MASKED, "the same with the rest of the token's word masked"),
    FREE: (MASKED, "free decoding of the object"),
    ANSWER: (WRITERS, "a short answer, in which the object is found by its names"),
}
BOS = ("auto", "always", "never")
SHORT_OBJECTS = ("en", "fr", "nl", "es")  # at most five tokens in over 90% of objects
FEW_MASKS, MANY_MASKS, MOST_MASKS = 5, 10, 1000
LETTERS = ascii_uppercase  # of options
FINAL_STOP = "final_stop"  # the name of --final-stop in signatures
FINAL_STOPS = ("none", ".", "。")
ADAPTER = "adapter_config.json"  # only adapters of PEFT have it
QUANTIZED = ("8bit", "4bit")
EMBEDDED = ("geolm",)  # models in scoring/embedded
SERVED = "served"  # the value of settings that only the server knows
# What computes matrix products in float32. torch's own is MKL on x86 CPUs, which on AMD's Zen 5 is
# half as fast as oneDNN (bench/engine); `HALF` rounds the factors.
HALF = "bfloat16"
PRODUCTS = ("torch", "onednn", HALF)
MOST_TOKENS = 2**16  # of a batch; larger ones are not faster on any device


def is_name(model: Any) -> bool:
    """Return whether this is a name or a path, not a model or scorer."""
    return isinstance(model, str | os.PathLike)


def check_model(name: str) -> None:
    """Refuse a name like that of an embedded model, which only a mistake can mean."""
    # Other names without an owner, such as `gpt2`, may be on the Hub
    matches = get_close_matches(name.casefold(), EMBEDDED, n=1, cutoff=0.7)
    if matches and name not in EMBEDDED and not Path(name).exists():
        raise PolyprobeError(
            f"unknown model {name!r}; did you mean {matches[0]!r}? give an id on the Hub, a local "
            "folder, or a GGUF file"
        )


def check_model_revision(model: str, revision: str | None) -> None:
    """Refuse a revision of files that have none: a folder, a GGUF file, an embedded model."""
    # That of an adapter's folder is allowed: it is the base's
    if revision is None or Path(model, ADAPTER).is_file():
        return
    if model in EMBEDDED or Path(model).exists():
        raise PolyprobeError(
            f"--revision {revision}: {model!r} is not on the Hub and has no revisions; leave "
            "--revision out"
        )


def check_adapter(name: Any) -> None:
    """Refuse a file or folder that is no adapter, or any adapter where PEFT is missing."""
    if not isinstance(name, str | PathLike):
        raise PolyprobeError(f"adapter={name!r}; give a folder, an ID or ID@REVISION")
    require(f"the adapter '{name}'", "peft")
    if Path(name).exists() and not (Path(name) / ADAPTER).is_file():
        raise PolyprobeError(
            f"'{name}' is not an adapter of PEFT: it has no {ADAPTER}; give the folder or id that "
            "save_pretrained wrote"
        )


def check_attention(name: str | None) -> None:
    """Refuse implementations of attention that are of no use here."""
    if name and name.startswith("flex"):
        raise PolyprobeError(
            f"--attention {name} cannot be used: it compiles a kernel for every shape of a batch, "
            "and takes no mask over a trie; leave it out, or use sdpa or eager"
        )


def check_variables(values: Any) -> None:
    """Refuse values of a chat template's variables that JSON cannot hold."""
    try:
        json.dumps(dict(values), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise PolyprobeError(
            f"the chat options are {values!r}; expected names with values as in JSON"
        ) from error


def parse_chat_options(texts: Sequence[str] | None) -> dict[str, Any]:
    """Return the values of `KEY=VALUE`: true, false and numbers as such, anything else as text.

    >>> parse_chat_options(["enable_thinking=false", "date_string=26 Jul 2024", "budget=0"])
    {'enable_thinking': False, 'date_string': '26 Jul 2024', 'budget': 0}
    """
    values = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise PolyprobeError(
                f"--chat-option {text!r}; expected KEY=VALUE, such as thinking=false"
            )
        number = re.fullmatch(r"-?(0|[1-9]\d{0,14})(\.\d{1,15})?|true|false", value)
        values[name] = json.loads(value) if number else value
    return values


_model = partial(option, panel="Model")
_local = partial(_model, local=True)
_served = partial(option, panel="Served models")
_chat = partial(option, panel="Chat")
_message = partial(_chat, needs="--chat")
_free = partial(option, panel=f"Free decoding (--scoring {FREE})", needs=f"--scoring {FREE}")


@dataclass(frozen=True)
class ScoringOptions(Options):
    """How sentences are scored, by any model."""

    scoring: str = option(
        "bmlama",
        "Scoring protocol: bmlama (equations 8-10); object, object-released, object-tokens, "
        "object-characters, object-bytes (the object alone: sum, or mean by length); contrastive, "
        "contrastive-released (the object's first sub-word); letters (the candidates as options "
        "A, B, C …, the letter of each); answer (a short text, not for masked models); for masked "
        "models pll, pll-word-l2r (the sentence, one mask at a time), mpararel, mpararel-released "
        "(all masks at once), xfactr (free decoding).",
        choices=SCORING_NAMES,
    )
    permutations: int | None = _model(
        None,
        "Number of orders of the options, for --scoring letters (default: one for each candidate).",
        minimum=1,
        maximum=len(LETTERS),
        needs="--scoring letters",
    )
    answer_tokens: int = _model(
        ANSWER_TOKENS,
        "Most tokens of an answer, for --scoring answer.",
        minimum=1,
        maximum=4096,
        needs="--scoring answer",
    )
    batch_tokens: int | None = _local(
        None,
        "Token budget of a batch (default: by path).",
        minimum=1,
        maximum=MOST_TOKENS,
    )
    chat: bool = _chat(
        False,
        "Score each sentence as the beginning of an answer by the model's chat template, without "
        "thinking; decoder-only models.",
    )
    system: str | None = _message(None, "System message (default: none).")
    user: str | None = _message(None, "The user's message before the answer (default: empty).")
    chat_options: Mapping[str, Any] | None = _message(
        None,
        "Value of a variable of the chat template (true, false, a number or text); repeatable.",
        flag="--chat-option",
        metavar="KEY=VALUE",
        check=check_variables,
        parse=parse_chat_options,
    )

    def check(self) -> None:
        """Refuse a conversation for masked models."""
        super().check()
        if self.chat and SCORING_NAMES[self.scoring][0] == MASKED:
            raise PolyprobeError(
                f"--chat is for decoder-only models, --scoring {self.scoring} for {MASKED}; leave "
                "one out"
            )


@dataclass(frozen=True)
class LoadingOptions(Options):
    """Which files of a model are loaded, where, and how its texts begin."""

    revision: str | None = _model(None, "Branch, tag or commit of the model.")
    adapter: str | None = _local(
        None, "PEFT adapter of the model: folder, Hub id or ID@REVISION.", check=check_adapter
    )
    bos: str = _model(
        "auto",
        "Begin-of-sequence token: auto (as the tokenizer), always or never; decoder-only models.",
        choices=BOS,
    )
    device: str = _local("auto", "auto, cpu, cuda, mps, cuda:1, …", check=check_device)
    dtype: str = _local("float32", f"{', '.join(DTYPES)}.", choices=DTYPES)


@dataclass(frozen=True)
class ScorerOptions(ScoringOptions, LoadingOptions):
    """How a model is loaded and scores, in this process or on a server."""

    quantize: str | None = _local(
        None,
        "Round the weights with bitsandbytes: 8bit or 4bit (default: neither).",
        choices=QUANTIZED,
        check=lambda name: require(f"--quantize {name}", "bitsandbytes"),
    )
    trust_remote_code: bool = _local(False, "Run the Python files that the model brings.")
    device_map: str | None = _local(
        None,
        "auto: accelerate divides the model between all GPUs, then memory and disk (default: the "
        "whole model on one device).",
        choices=("auto",),
        excludes="--device",
    )
    product: str | None = _local(
        None,
        "Matrix products of a float32 model: torch, onednn (on a CPU) or bfloat16 (nothing else is "
        "rounded); default: onednn on AMD's processors, torch elsewhere.",
        choices=PRODUCTS,
    )
    attention: str | None = _local(
        None, "sdpa, eager, flash_attention_2, … (default: the model's).", check=check_attention
    )
    server: str | None = _served(
        None,
        "Address of a server that has MODEL: vLLM, llama.cpp, OpenAI's completions or chat; "
        "its key, if any, is read from POLYPROBE_API_KEY.",
        check=partial(check_address, "--server"),
    )
    tokenizer: Any = _served(  # noqa: RUF009 (a field)
        None, "Tokenizer of the served model: Hub id, folder or GGUF file (default: MODEL)."
    )

    def check(self) -> None:
        """Refuse a BOS beside a chat template, and options of local models for a served one."""
        super().check()
        if self.chat and self.bos != "auto":
            raise PolyprobeError(
                f"--bos {self.bos} and --chat were both given; the chat template decides on the "
                "BOS: leave --bos out"
            )
        options = collect_options(type(self))
        for part in fields(self) if self.server is not None else ():
            if options[part.name].local and getattr(self, part.name) != part.default:
                raise PolyprobeError(
                    f"{options[part.name].flag} is for models in this process; with --server set "
                    "it where the server is started"
                )

    def check_named(self, model: str) -> None:
        """Refuse a name that only a mistake can mean, and options that its model cannot have."""
        check_model(model)
        if self.server is None and self.tokenizer is not None:
            raise PolyprobeError(f"'{model}' has its own tokenizer; leave it out, or add --server")
        name = self.tokenizer if is_name(self.tokenizer) else model
        check_model_revision(os.fspath(name), self.revision)


# Options of a model object or of its scorer; a model has its own precision, device and so on.
OF_OBJECTS = {*collect_options(ScoringOptions), "tokenizer", "bos", "product"}


@dataclass(frozen=True)
class DecodingOptions(Options):
    """How X-FACTR fills masks and chooses their number (section 4 and appendix C)."""

    initial: str = _free(
        "independent",
        "How the masks are filled first: independent (all at once), order (from left to right) or "
        "confidence (the most probable first).",
        choices=("independent", "order", "confidence"),
    )
    refinement: str = _free(
        "none",
        "How filled masks are predicted again, until nothing changes or the steps are used up: "
        "none, order (from left to right) or confidence (the least probable first).",
        choices=("none", "order", "confidence"),
    )
    max_masks: int | None = _free(
        None,
        "Maximum number of masks (default: 5 for en, fr, nl, es; 10 for others).",
        minimum=1,
        maximum=MOST_MASKS,
    )
    length_norm: bool = _free(False, "Compare lengths by the mean log-probability.")
    recompute: bool = _free(
        False,
        "After each change recompute the probability of every filled token, which the choice of "
        "the next one depends on (slow).",
    )
    beam: int = _free(1, "Beam size.", minimum=1, maximum=1000)
    refresh: str = _free(
        "always",
        "Probability of a token that is predicted again and stays the same: always (the new one, "
        "the paper) or released (the old one, the released code).",
        choices=("always", "released"),
    )
    gold: bool = _free(
        False, "Also read the log-probability of each right answer (its tokens' sum)."
    )

    @property
    def name(self) -> str:
        """Return the exact name of the scoring, for the signature and for resuming a run."""
        masks = self.max_masks or f"{FEW_MASKS}/{MANY_MASKS}"
        parts = [FREE, self.initial, self.refinement, f"m{masks}", f"b{self.beam}"]
        parts += ["norm"] * self.length_norm + ["recompute"] * self.recompute
        parts += ["refresh-released"] * (self.refresh == "released") + ["gold"] * self.gold
        return "-".join(parts)

    def masks(self, language: str) -> int:
        """Return M, the largest number of masks in a language."""
        return self.max_masks or (FEW_MASKS if language in SHORT_OBJECTS else MANY_MASKS)


def is_normalised(scoring: str) -> bool:
    """Return whether a scoring's name (`DecodingOptions.name`) has length normalisation."""
    return "norm" in scoring.split("-")
