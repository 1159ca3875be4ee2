"""Products in bfloat16 with weights in float32, compared with layers that round."""

import pytest
import torch
from torch.nn.functional import linear
from transformers.pytorch_utils import Conv1D

from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.schema.run.folder import Run
from polyprobe.scoring.engine import kernels
from polyprobe.scoring.engine.kernels import Kernels
from polyprobe.system.messages import PolyprobeError
from tests.making import tiny
from tests.scoring import plain
from tests.scoring.protocols import KINDS as FAMILIES
from tests.scoring.protocols import PLAIN

PROMPTS = ["The capital of France is [Y].", "Paris and [Y] are cities in Europe."]
CANDIDATES = [["Paris", "Berlin", "Rome"], ["Berlin", "Paris is"]]
KINDS = ("llama", "gpt2", "bert", "t5")


def round_products(model):
    """Let the layers round weights, inputs and products, but not biases and embeddings."""

    def round_output(layer, _, output):
        bias = 0 if layer.bias is None else layer.bias
        return (output - bias).bfloat16().float() + bias

    for layer in model.modules():
        if isinstance(layer, torch.nn.Linear | Conv1D):
            layer.weight = torch.nn.Parameter(layer.weight.bfloat16().float())
            layer.register_forward_pre_hook(lambda _, inputs: (inputs[0].bfloat16().float(),))
            layer.register_forward_hook(round_output)
    return model.eval()


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_layers_that_round(kind, tmp_path):
    auto, definition = tiny.KINDS[kind][0], PLAIN["bmlama", FAMILIES[kind]]
    folder = str(tiny.save_model(kind, tmp_path))
    model = round_products(auto.from_pretrained(folder))
    scorer, full = load_scorer(folder, product="bfloat16"), load_scorer(folder)
    pairs = [(p, c) for p, row in zip(PROMPTS, CANDIDATES, strict=True) for c in row]
    want = torch.tensor([definition(model, scorer.tokenizer, *pair) for pair in pairs])
    together = [plain.flat(x.score(PROMPTS, CANDIDATES)) for x in (scorer, full)]
    scores, full_scores = map(torch.tensor, together)
    assert scorer.path == full.path
    assert (scores - want).abs().max() < (scores - full_scores).abs().max() / 20


@pytest.mark.parametrize("bias", [None, torch.arange(8.0)])
def test_a_product_is_rounded_and_its_bias_is_not(bias):
    weight, inputs = torch.randn(8, 16), torch.randn(5, 16)
    want = linear(inputs.bfloat16(), weight.bfloat16()).float() + (0 if bias is None else bias)
    with torch.inference_mode(), Kernels() as kernel:
        kernel.product = "bfloat16"
        assert torch.equal(linear(inputs, weight, bias), want)
        if bias is not None:  # GPT-2's layers
            assert torch.equal(torch.addmm(bias, inputs, weight.T.contiguous()), want)
        inputs, weight = inputs.double(), weight.double()
        assert torch.equal(linear(inputs, weight), inputs @ weight.T)


def test_the_option_is_in_the_signature_and_kept(tmp_path):
    rows = {"dataset": "geofacts", "limit": 3, "output": tmp_path}
    evaluate_model("geolm", languages="en", product="bfloat16", **rows)
    evaluate_model("geolm", languages="es", **rows)
    settings = Run(tmp_path).settings()
    assert settings.languages == ["en", "es"]
    assert (settings.dtype, settings.further) == ("float32", {"product": "bfloat16"})


def test_a_model_in_half_precision_has_no_such_product(tmp_path):
    with pytest.raises(PolyprobeError, match="--product bfloat16 needs a float32 model"):
        load_scorer("geolm", dtype="bfloat16", product="bfloat16")


def test_a_path_that_disagrees_is_refused(tmp_path, monkeypatch):
    scorer = load_scorer(str(tiny.save_model("llama", tmp_path)))
    attend = kernels._attend
    monkeypatch.setattr(kernels, "_attend", lambda *given, **more: attend(*given, **more) * 1.5)
    assert not scorer.engine.fix_product("bfloat16")
    assert scorer.engine.product != "bfloat16"
