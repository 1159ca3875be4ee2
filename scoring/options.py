"""The options of an evaluation: of loading, of X-FACTR's decoder, of the workers."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from string import ascii_uppercase
from typing import Any, TypedDict

from polyprobe.system.errors import PolyprobeError, check_option, unknown
from polyprobe.system.extras import require
from polyprobe.system.sending import check_address

FREE = "xfactr"
ALL, MASKED = "all models", "masked models"
# The values of `--scoring`, and the models that each takes (`scorers.SCORINGS` has the scorers).
SCORING_NAMES = {
    "bmlama": (ALL, "mean log-probability of the sentence, equations 8-10 of BMLAMA"),
    "mpararel": (MASKED, "all masks at once, every object of the relation as a candidate"),
    "mpararel-released": (MASKED, "the same with logits, as the released code"),
    "object": (ALL, "log-probability of the object's tokens, summed"),
    "object-tokens": (ALL, "the same by the number of tokens"),
    "object-characters": (ALL, "the same by the number of characters"),
    "object-bytes": (ALL, "the same by the number of bytes"),
    "contrastive": (ALL, "the object's first sub-word"),
    "contrastive-released": (ALL, "the same, read where the released code reads it"),
    "letters": (ALL, "the candidates as options A, B, C …, the letter of each"),
    "pll": (MASKED, "the whole sentence, one token masked at a time"),
    "pll-word-l2r": (MASKED, "the same with the rest of the token's word masked"),
    FREE: (MASKED, "free decoding of the object"),
}
BOS = ("auto", "always", "never")
CHOICES = {
    "initial": ("independent", "order", "confidence"),
    "refinement": ("none", "order", "confidence"),
    "refresh": ("always", "released"),
}
SHORT_OBJECTS = ("en", "fr", "nl", "es")  # at most five tokens in over 90% of objects
FEW_MASKS, MANY_MASKS = 5, 10
LETTERS = ascii_uppercase  # of options
FINAL_STOP = "final_stop"  # the name of --final-stop in signatures
FINAL_STOPS = ("none", ".", "。")


ADAPTER = "adapter_config.json"  # only adapters of PEFT have it
QUANTIZED = ("8bit", "4bit")
EMBEDDED = ("geolm",)  # models in scoring/embedded
SERVED = "served"  # the value of settings that only the server knows
# Options of models in this process, with their defaults.
LOCAL = {
    "device": "auto",
    "dtype": "float32",
    "attention": None,
    "adapter": None,
    "quantize": None,
    "trust_remote_code": False,
    "batch_tokens": None,
    "product": None,
    "devices": 1,
    "ray": None,
    "threads": None,
}
# What computes matrix products in float32 on a CPU. torch's own is MKL on x86, which on AMD's
# processors is half as fast as oneDNN (bench/engine).
PRODUCTS = ("torch", "onednn")
MOST_TOKENS = 2**16  # of a batch; larger ones are not faster on any device


def check_model(name: str) -> None:
    """Refuse a name like that of an embedded model, which only a mistake can mean.

    Other names without an owner, such as `gpt2`, may be on the Hub.
    """
    near = get_close_matches(name.casefold(), EMBEDDED, n=1, cutoff=0.7)
    if near and name not in EMBEDDED and not Path(name).exists():
        raise PolyprobeError(
            f"unknown model {name!r}; did you mean {near[0]!r}? give an id on the Hub, a local "
            "folder, or a GGUF file"
        )


def check_revision(model: str, revision: str | None) -> None:
    """Refuse a revision of files that have none: a folder, a GGUF file, an embedded model.

    That of an adapter's folder is allowed: it is the base's.
    """
    if revision is None or Path(model, ADAPTER).is_file():
        return
    if model in EMBEDDED or Path(model).exists():
        raise PolyprobeError(
            f"--revision {revision}: {model!r} is not on the Hub and has no revisions; leave "
            "--revision out"
        )


class ModelOptions(TypedDict, total=False):
    """How a model is loaded and scored.

    Attributes:
        revision: branch, tag or commit on the Hub; of the base, if the model is the folder of an
            adapter.
        adapter: an adapter of PEFT for the model: a folder, an id or ID@REVISION on the Hub.
        quantize: `8bit` or `4bit`: round the weights with bitsandbytes when they are loaded (int8
            with a scale for each row, or NF4 in blocks of 64). Products are in `dtype`.
        trust_remote_code: whether to run the Python files that a model brings; their hash is part
            of the signature.
        device: `auto` (CUDA, then MPS, then CPU) or any device of torch.
        dtype: `float32`, `bfloat16` or `float16`; log-softmax is always in float32. Half precision
            changes rankings, so published figures are float32.
        scoring: the protocol (`SCORINGS` lists the families of each). `bmlama`: equations 8
            to 10 of the BMLAMA paper. `mpararel`: all masks at once, with every object of the
            relation as a candidate; `mpararel-released`: logits instead of probabilities.
            `object`: the sum over the object's tokens; `object-tokens`, `object-characters` and
            `object-bytes`: divided by their number. `contrastive`: the object's first sub-word;
            `contrastive-released`: read where the released code reads T5, MPT, Falcon, … .
            `letters`: the candidates as options, the letter of each, see `LettersScorer`.
            `pll`: the sum over the whole sentence, with each token masked in turn; `pll-word-l2r`:
            with the rest of its word. `xfactr`: free decoding with a masked model, see
            `DecodingOptions`.
        permutations: with `letters`, the number of orders of the options (default: as many as the
            query has candidates).
        bos: `auto`, `always` or `never`, for decoder-only models.
        attention: the implementation of attention by its name in transformers: `sdpa`, `eager`,
            `flash_attention_2`, … (default: the preference of the class).
        tokenizer: the tokenizer of a model object; for a served model the name of its tokenizer
            (default: the model's name). Other models have their own.
        server: the address of a server that has the model (vLLM, llama.cpp, or another one with
            OpenAI's completions and `echo`).
        batch_tokens: the token budget of a batch, 65,536 at most (default: that of the model's
            path, less on a GPU with little free memory); it is halved whenever memory runs out. A
            trie has 4,096 tokens at most.
        product: what computes matrix products in float32 on a CPU: `torch` (MKL on x86) or
            `onednn` (default: the faster one here). Scores differ by rounding.
        chat: score each sentence as the beginning of an answer by the model's chat template, for
            decoder-only models (`polyprobe.scoring.chat`).
        system: the system message of the conversation.
        user: the user's message; empty by default.
        chat_options: values of the chat template's variables; those that switch thinking off
            are set if the template has them.
    """

    revision: str | None
    adapter: str | None
    quantize: str | None
    trust_remote_code: bool
    device: str
    dtype: str
    scoring: str
    permutations: int | None
    bos: str
    attention: str | None
    tokenizer: Any
    server: str | None
    batch_tokens: int | None
    product: str | None
    chat: bool
    system: str | None
    user: str | None
    chat_options: Mapping[str, Any] | None


class DecodingChoices(TypedDict, total=False):
    """The fields of `DecodingOptions` as keywords of `evaluate_model`."""

    initial: str
    refinement: str
    max_masks: int | None
    length_norm: bool
    recompute: bool
    beam: int
    refresh: str
    gold: bool


@dataclass(frozen=True)
class DecodingOptions:
    """How X-FACTR fills masks and chooses their number (section 4 and appendix C).

    Attributes:
        initial: `independent` fills all masks at once, `order` from left to right, `confidence`
            the most probable first.
        refinement: `none`; `order` re-predicts from left to right, `confidence` the least
            probable, until nothing changes or the steps are used up.
        max_masks: M, the largest number of masks (default: 5 in en, fr, nl, es, 10 elsewhere).
        length_norm: compare numbers of masks by the mean of log c, not by the sum.
        recompute: recompute the confidence of every predicted token after every change.
        beam: B, the number of hypotheses.
        refresh: whether a re-predicted token that does not change gets its new confidence
            (`always`, the paper) or keeps the old one (`released`).
        gold: also read the confidences of each fact's right answer, to compare with those of the
            prediction.

    Raises:
        PolyprobeError: an unknown choice, a number below 1.
    """

    initial: str = "independent"
    refinement: str = "none"
    max_masks: int | None = None
    length_norm: bool = False
    recompute: bool = False
    beam: int = 1
    refresh: str = "always"
    gold: bool = False

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            check_option(f"--{name}", getattr(self, name), known)
        for name in ("max_masks", "beam"):
            number = getattr(self, name)
            if number is not None and number < 1:
                raise PolyprobeError(f"--{name.replace('_', '-')} must be at least 1, got {number}")

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


class WorkerChoices(TypedDict, total=False):
    """Options of the workers and the score store.

    Attributes:
        devices: number of processes on this machine, each with its own device.
        ray: the address of a Ray cluster, or `auto`.
        threads: number of torch's threads in each process (default: OMP_NUM_THREADS, else the
            cores, shared by `devices`).
        cache: whether the run reads and fills the cache that all runs share; otherwise its scores
            are stored in the run folder until the run is complete.
    """

    devices: int
    ray: str | None
    threads: int | None
    cache: bool


@dataclass(frozen=True)
class WorkerSettings:
    """See `WorkerChoices`."""

    devices: int = 1
    ray: str | None = None
    threads: int | None = None
    cache: bool = True


class Options(ModelOptions, DecodingChoices, WorkerChoices, total=False):
    """Options of loading, scoring, decoding and of the workers."""


def check_names(given: Iterable[str], known: Collection[str], place: str) -> None:
    """Refuse keywords that a function does not have."""
    for name in given:
        if name not in known:
            raise unknown("argument", name, f"{place}()", known)


def check_adapter(name: str | None) -> None:
    """Refuse a file or folder that is no adapter, or any adapter where PEFT is missing."""
    if name is not None:
        if not isinstance(name, str | PathLike):
            raise PolyprobeError(f"adapter={name!r}; give a folder, an ID or ID@REVISION")
        require(f"the adapter '{name}'", "peft")
        if Path(name).exists() and not (Path(name) / ADAPTER).is_file():
            raise no_adapter(name)


def no_adapter(name: str) -> PolyprobeError:
    """Return the error for a folder, file or repository without the settings of an adapter."""
    if Path(name).exists():
        return PolyprobeError(
            f"'{name}' is not an adapter of PEFT: it has no {ADAPTER}; give the folder or id that "
            "save_pretrained wrote"
        )
    return PolyprobeError(
        f"unknown adapter '{name}': it is not a folder here, and neither the Hub nor the local "
        f"cache has its {ADAPTER}; give the folder or id that save_pretrained wrote"
    )


def check_quantize(name: str | None) -> None:
    """Refuse an unknown kind of quantisation, or any where bitsandbytes is missing."""
    if name is not None:
        check_option("--quantize", name, QUANTIZED)
        require(f"--quantize {name}", "bitsandbytes")


def check_attention(name: str | None) -> None:
    """Refuse implementations of attention that are of no use here."""
    if name and name.startswith("flex"):
        raise PolyprobeError(
            f"--attention {name} cannot be used: it compiles a kernel for every shape of a batch, "
            "and takes no mask over a trie; leave it out, or use sdpa or eager"
        )


def check_server(options: Mapping[str, Any]) -> None:
    """Refuse options of models in this process for a served one.

    Raises:
        PolyprobeError: such an option with another value than its default.
    """
    server = options.get("server")
    if server is None:
        return
    if not str(server).strip():
        raise PolyprobeError("--server is empty; give an address such as http://127.0.0.1:8000")
    check_address("--server", str(server))
    for name, default in LOCAL.items():
        if options.get(name, default) != default:
            raise PolyprobeError(
                f"--{name.replace('_', '-')} is for models in this process; with --server set it "
                "where the server is started"
            )


def check_budget(batch_tokens: int | None) -> None:
    """Refuse a token budget outside of 1 to MOST_TOKENS; None is the default budget."""
    if batch_tokens is not None and not 1 <= batch_tokens <= MOST_TOKENS:
        raise PolyprobeError(f"--batch-tokens must be 1 to {MOST_TOKENS}, got {batch_tokens}")


def check_permutations(permutations: int | None, scoring: str) -> None:
    """Refuse a number of orders outside of 1 to len(LETTERS), or with another scoring."""
    if permutations is None:
        return
    if scoring != "letters":
        raise PolyprobeError(
            f"--permutations is for --scoring letters, not {scoring}; leave it out"
        )
    whole = isinstance(permutations, int) and not isinstance(permutations, bool)
    if not whole or not 1 <= permutations <= len(LETTERS):
        raise PolyprobeError(f"--permutations must be 1 to {len(LETTERS)}, got {permutations!r}")


def check_final_stop(final_stop: str, scoring: str) -> None:
    """Refuse an unknown full stop, or one with another scoring than mParaRel's."""
    check_option("--final-stop", final_stop, FINAL_STOPS)
    if final_stop != "none" and not scoring.startswith("mpararel"):
        raise PolyprobeError(
            f"--final-stop is for --scoring mpararel, not {scoring}, which asks the templates as "
            "they are; leave it out"
        )


def take_decoding(options: dict[str, Any]) -> DecodingOptions | None:
    """Remove the decoder's options from keywords and return them; None for other scorings.

    Raises:
        PolyprobeError: a decoder's option with another scoring, where it has no effect.
    """
    names = [field.name for field in fields(DecodingOptions)]
    chosen = {name: options.pop(name) for name in names if name in options}
    scoring = options.get("scoring", "bmlama")
    if scoring == FREE:
        return DecodingOptions(**chosen)
    if chosen:
        raise PolyprobeError(
            f"--{next(iter(chosen)).replace('_', '-')} is for --scoring {FREE}, "
            f"not {scoring}; leave it out"
        )
    return None


def take_workers(options: dict[str, Any]) -> WorkerSettings:
    """Remove the worker options from keywords and return them.

    Raises:
        PolyprobeError: options that exclude each other.
    """
    names = [field.name for field in fields(WorkerSettings)]
    chosen = WorkerSettings(**{name: options.pop(name) for name in names if name in options})
    if chosen.devices < 1:
        raise PolyprobeError(f"--devices must be at least 1, got {chosen.devices}")
    if chosen.threads is not None and chosen.threads < 1:
        raise PolyprobeError(f"--threads must be at least 1, got {chosen.threads}")
    many = "--ray" if chosen.ray else "--devices" if chosen.devices > 1 else None
    if chosen.ray and chosen.devices > 1:
        raise PolyprobeError("--devices and --ray were both given; choose one")
    if many and options.get("scoring") == FREE:
        raise PolyprobeError(f"--scoring {FREE} decodes in one process; leave {many} out")
    return chosen
