"""The options of an evaluation: those of the model, the rows, the questions and the workers."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from polyprobe.schema.languages import parse_languages
from polyprobe.schema.locate import check_dataset_name
from polyprobe.scoring.options import (
    ANSWER,
    FINAL_STOPS,
    FREE,
    SUMS,
    DecodingOptions,
    ScorerOptions,
    ScoringOptions,
    is_name,
)
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.options import Options, option

if TYPE_CHECKING:  # imports datasets
    from polyprobe.schema.load import Splits

WITHOUT_SHOTS = ("mpararel", "pll", FREE)  # beginnings of scorings
_worker = partial(option, panel="Workers", local=True)


def check_languages(texts: str | Sequence[str]) -> None:
    """Refuse an empty list of languages."""
    if not parse_languages(texts):
        raise PolyprobeError("--languages is empty; give codes such as en,fr, or omit it for all")


def read_price(text: str) -> tuple[float, float]:
    """Return the prices of a million tokens that a model reads and writes, of IN,OUT."""
    if not re.fullmatch(r"\d*\.?\d+,\d*\.?\d+", text):
        raise PolyprobeError(f"--price {text!r}: expected two prices IN,OUT, such as 0.15,0.6")
    price_in, price_out = map(float, text.split(","))
    return price_in, price_out


@dataclass(frozen=True)
class DatasetOptions(Options):
    """The languages and rows of a dataset to score."""

    languages: str | Sequence[str] | None = option(
        None, "Comma-separated language codes (default: all).", check=check_languages
    )
    relations: str | Sequence[str] | None = option(
        None, "Use only the rows of these relations, comma-separated."
    )
    exclude: str | Sequence[str] | None = option(
        None,
        "Leave out rows of these relations or with these flags; none: keep all (default: the "
        "flags answer_in_subject and, unless --relations are given, second_answers).",
    )
    limit: int | None = option(None, "Only the first N rows, often of one relation.", minimum=1)
    sample: int | None = option(
        None, "Only N rows spread over all relations.", minimum=1, excludes="--limit"
    )


@dataclass(frozen=True)
class ImportOptions(DatasetOptions):
    """All options of `import_scores`."""

    model: str | None = option(None, "Name of the model (default: that of the run folder).")
    scoring: str | None = option(
        None,
        "What the scores are (default: that of exported tasks or scores).",
        choices=("bmlama", "object", "scores"),
    )
    tokenizer: str | None = option(None, "Count the tokens of samples of lm-eval with this one.")
    allow_missing: bool = option(False, "Leave out, and count, rows without scores in a language.")
    contents: ClassVar[str] = "scores"


@dataclass(frozen=True)
class JudgeOptions(ImportOptions):
    """All options of `judge_answers`."""

    scoring: str | None = option(None, "Kind of the answers.", choices=(ANSWER,))
    match: str = option(
        "names",
        "How the object is found: names (its forms, in any language) or contains (KLAR: the right "
        "label is a word of the answer, or its beginning).",
        choices=("names", "contains"),
        signed=True,
    )
    lemmatizer: str = option(
        "none",
        "simplemma compares lemmas too; with none, or in a language that it lacks, letters alone.",
        choices=("none", "simplemma"),
        signed=True,
    )
    contents: ClassVar[str] = "answers"


@dataclass(frozen=True)
class WorkerOptions(Options):
    """Where tasks are scored, and where their scores are stored."""

    devices: int = _worker(
        1,
        "Number of workers on this machine (Ray), one device each; on CPUs they share cores.",
        minimum=1,
        maximum=256,
    )
    ray: str | None = _worker(
        None,
        "Score on Ray: HOST:PORT, auto (a running cluster, else a new one) or local.",
        excludes="--devices",
    )
    threads: int | None = _worker(
        None,
        "Torch threads of each process (default: all cores, shared by --devices); on a machine "
        "shared with others fewer are faster.",
        minimum=1,
        maximum=1024,
    )
    cache: bool = _worker(True, "Share scores with other runs in the cache.", local=False)

    @property
    def distributor(self) -> str | None:
        """Return the option that starts workers elsewhere, None for this process."""
        return "ray" if self.ray else "devices" if self.devices > 1 else None


@dataclass(frozen=True)
class QuestionOptions(DatasetOptions):
    """The rows, and whether each has a second question."""

    donor: bool = option(
        True, "Also score each fact in another subject's sentence, for centred RankC and the gain."
    )


@dataclass(frozen=True)
class EvaluationOptions(DecodingOptions, WorkerOptions, QuestionOptions, ScorerOptions):
    """All options of `evaluate_model`."""

    prompt_probability: bool = option(
        False,
        "Also store the log-probability of the text before the slot (causal models, --scoring "
        "object or object-released).",
    )
    price: str | None = option(
        None,
        "Prices of a million tokens in and out, such as 0.15,0.6, for the cost before a run.",
        panel="Served models",
        metavar="IN,OUT",
        needs="--server",
        check=read_price,
    )
    shots: int = option(
        0,
        "Number of solved examples before each question, whose own facts are not scored.",
        minimum=0,
        maximum=32,
        excludes="--prompt-probability",
        signed=True,
    )
    final_stop: str = option(
        "none",
        "Full stop at the end of each prompt, for --scoring mpararel: none, . or 。.",
        choices=FINAL_STOPS,
        signed=True,
    )

    also_accept: str | None = option(
        None,
        "Also accept the labels and forms of this language (double evaluation of X-FACTR).",
        panel=f"Free decoding (--scoring {FREE})",
        metavar="LANGUAGE",
        needs=f"--scoring {FREE}",
    )

    def check(self) -> None:
        """Refuse free decoding, and a divided model, in several processes."""
        super().check()
        if self.distributor and self.device_map:
            raise PolyprobeError(
                "--device-map auto uses all devices of this machine for a single model; leave "
                f"--{self.distributor} out"
            )
        if self.distributor and self.scoring == FREE:
            text = f"--scoring {FREE} decodes in one process; leave --{self.distributor} out"
            raise PolyprobeError(text)


@dataclass(frozen=True)
class CallbackOptions(ScoringOptions, QuestionOptions):
    """All options of `ConsistencyCallback`."""

    every: int | None = option(
        None,
        "Number of steps between measurements (default: measure at each evaluation). An evaluation "
        "at a measured step gets its figures; other evaluations are measured if the choice of the "
        "best model depends on it.",
        minimum=1,
        flag="every",
    )
    prefix: str = option("polyprobe", "Prefix of the figures' names.", flag="prefix")


class EvaluationRequest(NamedTuple):
    """An evaluation to make, checked as far as it can be without loading anything."""

    model: Any  # a name, a path, a transformers model or a scorer
    dataset: "str | Splits"  # a name, a path or a `DatasetDict`
    config: str | None  # None for the dataset's default
    options: EvaluationOptions

    @classmethod
    def of(
        cls, model: Any, dataset: "str | Splits", config: str | None, options: EvaluationOptions
    ) -> Self:
        """Return a request whose names and options fit; nothing is loaded, no Hub is asked."""
        request = cls(model, dataset, config, options)
        scoring = request.scoring
        if options.prompt_probability and scoring not in SUMS:
            raise PolyprobeError(
                f"--prompt-probability is for --scoring {' or '.join(SUMS)}; "
                f"got --scoring {scoring}"
            )
        if options.final_stop != "none" and not scoring.startswith("mpararel"):
            raise PolyprobeError(
                f"--final-stop is for --scoring mpararel, not {scoring}, which asks the templates "
                "as they are; leave it out"
            )
        if options.shots and scoring.startswith(WITHOUT_SHOTS):
            raise PolyprobeError(
                f"--shots is for --scoring bmlama, object, contrastive and letters, not {scoring}; "
                "leave it out"
            )
        if is_name(model):
            options.check_named(os.fspath(model))
        elif options.distributor:
            raise PolyprobeError(
                f"{options.distributor} needs a model that other processes can load; save this one "
                "with its tokenizer (save_pretrained) and give the folder"
            )
        if isinstance(dataset, str):
            check_dataset_name(dataset)
        # The cache knows a model by its files, which a model in memory or on a server has not.
        here = is_name(model) and options.server is None
        return request if here else request._replace(options=replace(options, cache=False))

    @property
    def scoring(self) -> str:
        """Return the protocol; a scorer has its own."""
        return str(getattr(self.model, "scoring", self.options.scoring))
