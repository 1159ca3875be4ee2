"""The log-probability of the text before the slot, with the embedded model, token by token."""

import shutil
from importlib.resources import files

import pyarrow as pa
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from polyprobe.eval import evaluate_model
from polyprobe.eval.questions import PROMPT_START, add_starts
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import SCORES, Run
from polyprobe.system.messages import PolyprobeError

GEOLM = str(files("polyprobe.scoring.embedded") / "geolm")
ASKED = {"languages": ["en", "ru"], "sample": 12, "scoring": "object", "cache": False}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name, wanted in (("with", True), ("without", False)):
        evaluate_model(
            "geolm", "geofacts", output=folder / name, prompt_probability=wanted, **ASKED
        )
    return Run(folder / "with"), Run(folder / "without")


@torch.inference_mode()
def sum_by_token(model, tokenizer, text):
    """log P of each token behind the BOS, one forward pass a token."""
    ids, total = tokenizer(text)["input_ids"], 0.0
    assert ids[0] == tokenizer.bos_token_id
    for place in range(1, len(ids)):
        logits = model(torch.tensor([ids[:place]])).logits[0, -1].double()
        total += logits.log_softmax(0)[ids[place]].item()
    return total, len(ids) - 1


def test_it_is_the_sum_over_the_tokens_before_the_slot(done):
    model = AutoModelForCausalLM.from_pretrained(GEOLM, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(GEOLM)
    prompts = load_facts("geofacts", None, ASKED["languages"])
    for language, table in prompts.items():
        known = dict(zip(table["fact_id"].to_pylist(), table["prompt"].to_pylist(), strict=True))
        for row in done[0].read(language).to_pylist():
            start = known[row["fact_id"]].partition("[Y]")[0]
            total, n = sum_by_token(model, tokenizer, start)
            assert row["prompt_log_probability"] == pytest.approx(total, abs=1e-3)
            assert row["n_prompt_tokens"] == n


def test_all_other_columns_are_the_same_without_it(done):
    for language in ASKED["languages"]:
        one, other = (run.read(language) for run in done)
        assert other["prompt_log_probability"].null_count == len(other)
        for name in {*SCORES.names} - {"prompt_log_probability", "n_prompt_tokens"}:
            left, right = one[name].to_pylist(), other[name].to_pylist()
            if name in ("scores", "donor_scores"):
                left, right = ([x or [] for x in part] for part in (left, right))
                assert all(
                    a == pytest.approx(b, abs=1e-4) for a, b in zip(left, right, strict=True)
                )
            else:
                assert left == right


def test_it_is_stored_in_the_settings(done, tmp_path):
    assert [run.settings().prompt_probability for run in done] == [True, False]
    folder = shutil.copytree(done[1].folder, tmp_path / "run")
    with pytest.raises(PolyprobeError, match="holds another run \\(prompt_probability: False"):
        evaluate_model("geolm", "geofacts", output=folder, prompt_probability=True, **ASKED)


def test_nothing_before_the_slot_has_no_probability():
    table = pa.table({"prompt": ["[Y] is it", "  [Y]", "It is [Y]."]})
    assert add_starts({"en": table})["en"][PROMPT_START].to_pylist() == [None, None, "It is "]


def test_a_model_without_a_bos_has_none():
    with pytest.raises(PolyprobeError, match="^--prompt-probability needs a BOS"):
        evaluate_model("geolm", "geofacts", prompt_probability=True, scoring="object", bos="never")
