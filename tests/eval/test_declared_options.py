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
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.options import collect_options
from tests.making.mistakes import MISTAKES, write_flags

OWN_KEYWORDS = {"every", "prefix"}  # of the callback


def call_command(options):
    words = ["eval", "geolm", "--dataset", "geofacts", "--output", "never-written"]
    done = CliRunner().invoke(app, words + write_flags(options))
    assert isinstance(done.exception, PolyprobeError), (options, done.exception, done.output)
    raise done.exception


CALLS = {
    "polyprobe eval": (call_command, EvaluationOptions),
    "evaluate_model": (lambda x: evaluate_model("geolm", "geofacts", **x), EvaluationOptions),
    "load_scorer": (lambda x: load_scorer("geolm", **x), ScorerOptions),
    "ConsistencyCallback": (lambda x: ConsistencyCallback(None, "geofacts", **x), CallbackOptions),
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
    """An option is a setting of its own, part of `scoring`, or in `further`."""
    of_work = {"languages", "batch_tokens", "device_map", "devices", "ray", "threads", "cache"}
    of_work |= {"price"}
    in_further = {"adapter", "quantize", "trust_remote_code", "product", "server", "tokenizer"}
    in_further |= {"also_accept", "final_stop", "shots"}
    in_scoring = {
        "answer_tokens",
        "permutations",
        "initial",
        "refinement",
        "max_masks",
        "length_norm",
        "recompute",
    }
    in_scoring |= {"beam", "refresh", "gold"}
    in_chat = {"system", "user", "chat_options"}
    settings = {part.name for part in fields(Settings)}
    elsewhere = of_work | in_further | in_scoring | in_chat | settings
    assert collect_options(EvaluationOptions).keys() <= elsewhere
