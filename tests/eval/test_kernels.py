"""oneDNN's product and attention in parts, compared with torch's own operators."""

import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import linear, scaled_dot_product_attention

from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.eval.scoring.engine import kernels
from polyprobe.eval.scoring.engine.forward import Input, Trie
from polyprobe.eval.scoring.engine.kernels import PART, Kernels, divide, faster_product
from polyprobe.system.errors import PolyprobeError
from tests.eval.asked import QUERIES

CPU = torch.device("cpu")
IDS = st.lists(st.integers(0, 3), min_size=1, max_size=9).map(tuple)
TRIES = st.sets(IDS, min_size=40, max_size=90).map(lambda ids: Trie([Input(i) for i in ids]))


@pytest.fixture
def onednn():
    with torch.inference_mode(), Kernels() as kernel:
        kernel.product = "onednn"
        yield kernel


@given(TRIES)
@settings(deadline=None, max_examples=30)
def test_the_keys_of_a_part_are_all_that_its_nodes_see(trie):
    n, nodes, keys, filled = divide(trie.ends, CPU)
    seen = trie.mask(CPU, torch.float32)[0, 0] == 0
    assert nodes.flatten()[:n].tolist() == list(range(len(trie.ids)))
    for part, row, of_none in zip(nodes.tolist(), keys, filled[:, 0], strict=True):
        own = set(row[~of_none].tolist())
        assert len(own) == (~of_none).sum()
        ancestors = {k for node in part for k in seen[node].nonzero().flatten().tolist()}
        assert ancestors <= own
        assert own - ancestors == set()


@pytest.mark.parametrize("mask", ["float", "bool", "of each head", "float16"])
@pytest.mark.parametrize("key_heads", [4, 2])
def test_attention_in_parts_is_that_over_the_whole_trie(mask, key_heads):
    torch.manual_seed(1)
    dtype = torch.float16 if mask == "float16" else torch.float32
    trie = Trie([Input((1, 2, k, *divmod(k, 7), j)) for k in range(40) for j in range(3)])
    n = len(trie.ids)
    assert n % PART
    query = torch.randn(1, 4, n, 8, dtype=dtype)
    key, value = (torch.randn(1, key_heads, n, 8, dtype=dtype) for _ in range(2))
    seen = trie.mask(CPU, dtype)
    if mask == "bool":
        seen = seen == 0
    if mask == "of each head":  # a bias by distance, as ALiBi's
        seen = seen + torch.randn(1, 4, n, n)
    options = {"enable_gqa": key_heads != 4, "scale": 0.3}
    want = scaled_dot_product_attention(query, key, value, attn_mask=seen, **options)
    kernel = Kernels()
    kernel.in_parts = True
    calls = []
    with kernel, kernel.over(trie.ends, CPU):
        got = scaled_dot_product_attention(query, key, value, attn_mask=seen, **options)
        calls.append(kernel.parts)
    torch.testing.assert_close(got, want, atol=1e-6 if dtype == torch.float32 else 2e-3, rtol=0)
    assert len(calls[0].nodes) > 1
    assert kernel.parts is None


def test_other_attention_is_left_alone(onednn):
    """No mask, a mask of another shape, several rows: not that of the trie."""
    onednn.in_parts = True
    trie = Trie([Input((1, k)) for k in range(PART + 5)])
    n = len(trie.ids)
    with onednn.over(trie.ends, CPU):
        for rows, mask in ((1, None), (2, torch.zeros(2, 1, n, n)), (1, torch.zeros(1, 1, n, 1))):
            states = [torch.randn(rows, 2, n, 4) for _ in range(3)]
            got = scaled_dot_product_attention(*states, attn_mask=mask)
            with torch._C.DisableTorchFunction():
                want = scaled_dot_product_attention(*states, attn_mask=mask)
            assert torch.equal(got, want)


@pytest.mark.parametrize("shape", [(3, 16), (2, 5, 16), (0, 16)])
@pytest.mark.parametrize("bias", [None, torch.arange(8.0)])
def test_products_of_onednn_are_those_of_torch(shape, bias, onednn):
    weight, inputs = torch.randn(8, 16), torch.randn(shape)
    want = (inputs.double() @ weight.double().T) + (0 if bias is None else bias)
    torch.testing.assert_close(linear(inputs, weight, bias).double(), want, atol=1e-5, rtol=0)
    if bias is not None and len(shape) == 2:  # GPT-2's layers
        found = torch.addmm(bias, inputs, weight.T.contiguous())
        torch.testing.assert_close(found.double(), want, atol=1e-5, rtol=0)


def test_other_precisions_are_multiplied_by_torch(onednn, monkeypatch):
    monkeypatch.setattr(kernels, "_onednn", lambda: pytest.fail("not float32"))
    half = torch.ones(2, 2, dtype=torch.bfloat16)
    assert linear(half, half).tolist() == [[2, 2], [2, 2]]


@pytest.mark.parametrize("quick", ["torch", "onednn"])
def test_the_faster_product_is_chosen(scorers, quick, monkeypatch):
    fast = {"torch": linear, "onednn": kernels._multiply}[quick]
    monkeypatch.setattr(kernels, "_time", lambda multiply, *_: 1.0 if multiply is fast else 1.2)
    for kind in ("llama", "gpt2"):
        assert faster_product(scorers(kind).model) == quick


def test_without_the_operator_products_are_torchs(scorers, monkeypatch):
    def missing():
        raise AttributeError("'_OpNamespace' 'mkldnn' object has no attribute '_linear_pointwise'")

    scorer = scorers("llama")
    monkeypatch.setattr(kernels, "_onednn", missing)
    assert faster_product(scorer.model) == "torch"
    assert not scorer.engine.fix_product("onednn")
    assert scorer.engine.fix_product("torch")
    with pytest.raises(PolyprobeError, match="--product onednn needs a float32 model on a CPU"):
        load_scorer(scorer.model, tokenizer=scorer.tokenizer, product="onednn")


def test_a_product_that_gives_other_scores_is_not_used(scorers, tmp_path, monkeypatch):
    known = scorers("llama")
    multiply = kernels._multiply
    monkeypatch.setattr(kernels, "faster_product", lambda model: "onednn")
    monkeypatch.setattr(kernels, "_multiply", lambda *given: multiply(*given) * 1.01)
    monkeypatch.setattr("polyprobe.eval.scoring.engine.trial.faster_product", lambda m: "onednn")
    scorer = type(known)(known.model, known.tokenizer)
    assert scorer.engine.product == "torch"
    assert scorer.engine.network.kernels.in_parts


def test_parts_that_give_other_scores_are_not_used(scorers, monkeypatch):
    known = scorers("llama")
    attend = kernels._attend
    monkeypatch.setattr(kernels, "_attend", lambda *given, **more: attend(*given, **more) * 1.01)
    scorer = type(known)(known.model, known.tokenizer)
    assert not scorer.engine.network.kernels.in_parts
    assert scorer.path == "tree"


def test_a_model_keeps_its_own_operators(scorers):
    """The kernels act in the engine's own calls only."""
    scorer = scorers("llama")
    scorer.engine.fix_product("onednn")
    forwards = [vars(layer).get("forward") for layer in scorer.model.modules()]
    scorer.score([QUERIES[0][0]], [QUERIES[0][1]])
    assert [vars(layer).get("forward") for layer in scorer.model.modules()] == forwards
    assert not torch.overrides._get_current_function_mode_stack()


def test_the_product_can_be_given(scorers):
    scorer = scorers("llama")
    given = load_scorer(scorer.model, tokenizer=scorer.tokenizer, product="onednn")
    assert given.engine.product == "onednn"
    with pytest.raises(PolyprobeError, match="unknown --product 'mkl'; known: torch, onednn"):
        load_scorer(scorer.model, tokenizer=scorer.tokenizer, product="mkl")


def test_a_run_keeps_its_product(tmp_path, monkeypatch):
    asked = {"dataset": "geofacts", "limit": 3, "output": tmp_path}
    evaluate_model("geolm", languages="en", product="onednn", **asked)
    trial = "polyprobe.eval.scoring.engine.trial.faster_product"
    monkeypatch.setattr(trial, lambda model: "torch")
    evaluate_model("geolm", languages="es", **asked)
    settings = json.loads((tmp_path / "run.json").read_text())
    assert settings["languages"] == ["en", "es"]
    assert settings["further"] == {"product": "onednn"}
    assert "|product:onednn|" in settings["signature"]
