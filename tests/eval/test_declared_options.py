"""Options are declared once: the same mistake has the same words, wherever it is made."""

import inspect
from dataclasses import fields

import pytest
from typer.testing import CliRunner

from polyprobe.cli import app
from polyprobe.eval import ConsistencyCallback, evaluate_model, load_scorer
from polyprobe.eval.options import CallbackOptions, EvaluationOptions
from polyprobe.schema.run.settings import Settings
from polyprobe.scoring.options import ScorerOptions
from polyprobe.system.errors import PolyprobeError
from polyprobe.system.options import collect_options

OWN_KEYWORDS = {"every", "prefix"}  # of the callback


def call_command(options):
    words = ["eval", "geolm", "--dataset", "geofacts", "--output", "never-written"]
    for name, value in options.items():
        flag = collect_options(EvaluationOptions)[name].flag
        words += [flag] if value is True else [f"{flag}={value}"]
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, PolyprobeError), (words, done.exception, done.output)
    raise done.exception


CALLS = {
    "polyprobe eval": (call_command, EvaluationOptions),
    "evaluate_model": (lambda x: evaluate_model("geolm", "geofacts", **x), EvaluationOptions),
    "load_scorer": (lambda x: load_scorer("geolm", **x), ScorerOptions),
    "ConsistencyCallback": (lambda x: ConsistencyCallback(None, "geofacts", **x), CallbackOptions),
}
MISTAKES = {
    "--limit must be at least 1, got 0": {"limit": 0},
    "--sample must be at least 1, got -2": {"sample": -2},
    "--limit and --sample were both given; choose one": {"limit": 1, "sample": 1},
    "--languages is empty; give codes such as en,fr, or omit it for all": {"languages": ","},
    "unknown --scoring 'bmlma'; did you mean 'bmlama'? known: bmlama, mpararel, ": {
        "scoring": "bmlma"
    },
    "--permutations must be 1 to 26, got 27": {"permutations": 27, "scoring": "letters"},
    "--permutations is for --scoring letters, not bmlama; leave it out": {"permutations": 2},
    "--batch-tokens must be 1 to 65536, got 0": {"batch_tokens": 0},
    "--system is for --chat; add --chat, or leave --system out": {"system": "Hi"},
    "--chat is for decoder-only models, --scoring pll for masked models; leave one out": {
        "chat": True,
        "scoring": "pll",
    },
    "--bos never and --chat were both given; the chat template decides on the BOS: leave --bos": {
        "chat": True,
        "bos": "never",
    },
    "unknown --bos 'alway'; did you mean 'always'? known: auto, always, never": {"bos": "alway"},
    "unknown --dtype 'fp16'; did you mean 'float16'? known: float32, bfloat16, float16": {
        "dtype": "fp16"
    },
    "unknown --device 'gpu'; did you mean 'cuda'? auto: the GPU if any": {"device": "gpu"},
    "unknown --product 'mkl'; known: torch, onednn": {"product": "mkl"},
    "--attention flex_attention cannot be used: it compiles a kernel for every shape of a batch": {
        "attention": "flex_attention"
    },
    "unknown --quantize '4bits'; did you mean '4bit'? known: 8bit, 4bit": {"quantize": "4bits"},
    "'.' is not an adapter of PEFT: it has no adapter_config.json; give the folder": {
        "adapter": "."
    },
    "--revision main: 'geolm' is not on the Hub and has no revisions; leave --revision out": {
        "revision": "main"
    },
    "'geolm' has its own tokenizer; leave it out, or add --server": {"tokenizer": "gpt2"},
    "--server is empty; give an address such as http://127.0.0.1:8000": {"server": ""},
    "--dtype is for models in this process; with --server set it where the server is started": {
        "server": "http://127.0.0.1:9",
        "dtype": "float16",
    },
    "--devices must be at least 1, got 0": {"devices": 0},
    "--threads must be at least 1, got 0": {"threads": 0},
    "--devices and --ray were both given; choose one": {"devices": 2, "ray": "local"},
    "--scoring xfactr decodes in one process; leave --devices out": {
        "scoring": "xfactr",
        "devices": 2,
    },
    "--beam is for --scoring xfactr, not bmlama; leave it out": {"beam": 2},
    "--max-masks must be at least 1, got 0": {"max_masks": 0, "scoring": "xfactr"},
    "unknown --initial 'ordr'; did you mean 'order'? known: independent, order, confidence": {
        "initial": "ordr"
    },
    "--prompt-probability is for --scoring object; got --scoring bmlama": {
        "prompt_probability": True
    },
    "unknown --final-stop '!'; known: none, ., 。": {"final_stop": "!"},
    "--final-stop is for --scoring mpararel, not bmlama, which asks the templates": {
        "final_stop": "."
    },
}


@pytest.mark.parametrize(
    ("message", "place"),
    [
        (message, place)
        for message, options in MISTAKES.items()
        for place, (_, group) in CALLS.items()
        if options.keys() <= collect_options(group).keys()
    ],
)
def test_the_same_mistake_has_the_same_words_everywhere(message, place):
    call, _ = CALLS[place]
    with pytest.raises(PolyprobeError) as error:
        call(MISTAKES[message])
    assert str(error.value).startswith(message)


def test_functions_have_the_options_in_their_signatures():
    for function, group in (
        (evaluate_model, EvaluationOptions),
        (load_scorer, ScorerOptions),
        (ConsistencyCallback, CallbackOptions),
    ):
        parameters = inspect.signature(function).parameters
        for part in fields(group):
            assert parameters[part.name].default == part.default
    assert collect_options(CallbackOptions).keys() <= {
        *collect_options(EvaluationOptions),
        *OWN_KEYWORDS,
    }


def test_every_option_but_those_that_change_no_score_is_in_run_json():
    """An option is a setting of its own, part of `scoring`, or in `further` if it is signed."""
    of_work = {"languages", "batch_tokens", "devices", "ray", "threads", "cache"}
    in_further = {"adapter", "quantize", "trust_remote_code", "product", "server", "tokenizer"}
    in_scoring = {"permutations", "initial", "refinement", "max_masks", "length_norm", "recompute"}
    in_scoring |= {"beam", "refresh", "gold"}
    in_chat = {"system", "user", "chat_options"}
    settings = {part.name for part in fields(Settings)}
    signed = {name for name, option in collect_options(EvaluationOptions).items() if option.signed}
    elsewhere = of_work | in_further | in_scoring | in_chat | signed | settings
    assert collect_options(EvaluationOptions).keys() <= elsewhere
