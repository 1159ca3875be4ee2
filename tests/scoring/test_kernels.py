"""oneDNN's product and attention in parts, compared with torch's own operators."""

import json
import platform

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import linear, scaled_dot_product_attention

from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.scoring.decoding import decode
from polyprobe.scoring.engine import engine, kernels
from polyprobe.scoring.engine.forward import Input
from polyprobe.scoring.engine.kernels import BLOCK, Blocks, Kernels, faster_product
from polyprobe.scoring.engine.tree import Trie, make_mask
from polyprobe.scoring.options import DecodingOptions
from polyprobe.system.messages import PolyprobeError
from tests.scoring.queries import QUERIES

CPU = torch.device("cpu")
IDS = st.lists(st.integers(0, 3), min_size=1, max_size=9).map(tuple)
TRIES = st.sets(IDS, min_size=40, max_size=90).map(lambda ids: Trie(sorted(Input(i) for i in ids)))


@pytest.fixture
def onednn():
    with torch.inference_mode(), Kernels() as kernel:
        kernel.product = "onednn"
        yield kernel


@pytest.fixture
def scorer(scorers):
    known = scorers("llama")
    return type(known)(known.model, known.tokenizer)


def count_calls(module, name, monkeypatch):
    calls, called = [], getattr(module, name)

    def counted(*arguments, **more):
        calls.append(arguments)
        return called(*arguments, **more)

    monkeypatch.setattr(module, name, counted)
    return calls


@st.composite
def parts(draw):
    """Draw a trie, the nodes of a part of it with their ancestors, and the number of the former."""
    trie = draw(TRIES)
    start = draw(st.integers(0, len(trie) - 1))
    stop = draw(st.integers(start + 1, len(trie)))
    ancestors = np.flatnonzero(trie.ends[:start] > start)
    return trie, np.concatenate([ancestors, np.arange(start, stop)]), stop - start


@given(parts())
@settings(deadline=None, max_examples=30)
def test_the_keys_of_a_block_are_all_that_its_nodes_see(part):
    trie, keys, n = part
    blocks = Blocks(keys, trie.ends[keys], n, CPU)
    seen = make_mask(keys, trie.ends[keys], n, CPU, torch.float32)[0, 0] == 0
    assert blocks.nodes.flatten()[:n].tolist() == list(range(n))
    for nodes, row, of_none in zip(blocks.nodes, blocks.keys, blocks.padding[:, 0], strict=True):
        own = set(row[~of_none].tolist())
        assert len(own) == (~of_none).sum()
        assert own == {k for node in nodes for k in seen[node].nonzero().flatten().tolist()}


@pytest.mark.parametrize("mask", ["float", "bool", "of each head", "float16"])
@pytest.mark.parametrize("key_heads", [4, 2])
@pytest.mark.parametrize("gathers", [True, False])
@pytest.mark.parametrize("start", [0, 100])
def test_attention_in_blocks_is_that_over_the_whole_trie(
    mask, key_heads, gathers, start, monkeypatch
):
    torch.manual_seed(1)
    dtype = torch.float16 if mask == "float16" else torch.float32
    trie = Trie([Input((1, 2, k, *divmod(k, 7), j)) for k in range(40) for j in range(3)])
    keys = np.concatenate([np.flatnonzero(trie.ends[:start] > start), np.arange(start, len(trie))])
    n, n_keys, ends = len(trie) - start, len(keys), trie.ends[keys]
    assert n % BLOCK
    monkeypatch.setattr(kernels, "COPY", 0 if gathers else 99)
    query = torch.randn(1, 4, n, 8, dtype=dtype)
    key, value = (torch.randn(1, key_heads, n_keys, 8, dtype=dtype) for _ in range(2))
    seen = make_mask(keys, ends, n, CPU, dtype)
    if mask == "bool":
        seen = seen == 0
    if mask == "of each head":  # a bias by distance, as ALiBi's
        seen = seen + torch.randn(1, 4, n, n_keys)
    options = {"enable_gqa": key_heads != 4, "scale": 0.3}
    want = scaled_dot_product_attention(query, key, value, attn_mask=seen, **options)
    kernel = Kernels()
    kernel.blockwise = True
    picked = count_calls(kernels, "_pick", monkeypatch)
    with kernel, kernel.for_trie(keys, ends, n, CPU):
        got = scaled_dot_product_attention(query, key, value, attn_mask=seen, **options)
    torch.testing.assert_close(got, want, atol=1e-6 if dtype == torch.float32 else 2e-3, rtol=0)
    assert len(picked) == 3 * gathers  # query, key and value
    assert all(len(of_parts) > 1 for _, of_parts in picked)
    assert kernel.blocks is None


def test_other_attention_is_left_alone(onednn):
    """No mask, a mask of another shape, several rows: not that of the trie."""
    onednn.blockwise = True
    trie = Trie([Input((1, k)) for k in range(BLOCK + 5)])
    n = len(trie)
    with onednn.for_trie(np.arange(n), trie.ends, n, CPU):
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
    operator = "_linear_pointwise"
    monkeypatch.setattr(torch.ops.mkldnn, operator, lambda *_: pytest.fail("not float32"))
    half = torch.ones(2, 2, dtype=torch.bfloat16)
    assert linear(half, half).tolist() == [[2, 2], [2, 2]]


@pytest.mark.parametrize("maker", ["AuthenticAMD", "GenuineIntel", "ARM"])
@pytest.mark.parametrize("table", [True, False])
def test_the_maker_of_the_processor_chooses(scorers, maker, table, tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "CPU_TABLE", tmp_path / "cpuinfo")
    monkeypatch.setattr(platform, "processor", lambda: maker)  # where there is no table
    if table:
        (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nvendor_id\t: {maker}\n")
    product = "onednn" if maker == "AuthenticAMD" else "torch"
    assert [faster_product(scorers(kind).model) for kind in ("llama", "gpt2")] == [product] * 2


def test_without_the_operator_products_are_torchs(scorer, monkeypatch):
    def missing(*_):
        raise AttributeError("'_OpNamespace' 'mkldnn' object has no attribute '_linear_pointwise'")

    assert scorer.engine.fix_product("torch")
    monkeypatch.setattr(kernels, "_is_amd", lambda: True)
    monkeypatch.setattr(torch.ops.mkldnn, "_linear_pointwise", missing)
    assert faster_product(scorer.model) == "torch"
    assert not scorer.engine.fix_product("onednn")
    assert scorer.engine.fix_product("torch")
    message = (
        "--product onednn needs a float32 model on a CPU for which torch has it, and "
        "scores equal to its own; use --product torch"
    )
    with pytest.raises(PolyprobeError, match=message):
        load_scorer(scorer.model, tokenizer=scorer.tokenizer, product="onednn")


@pytest.mark.parametrize("given", [False, True])
def test_a_product_that_gives_other_scores_is_not_used(scorer, given, monkeypatch):
    multiply = kernels._multiply
    monkeypatch.setattr(kernels, "_multiply", lambda *asked: multiply(*asked) * 1.01)
    chosen = "torch" if given else "onednn"
    monkeypatch.setattr(engine, "faster_product", lambda model: chosen)
    scorer = type(scorer)(scorer.model, scorer.tokenizer)
    if given:
        assert not scorer.engine.fix_product("onednn")
    assert scorer.engine.product == "torch"
    assert scorer.engine.network.kernels.blockwise


@pytest.mark.parametrize("product", ["torch", "onednn"])
def test_parts_that_give_other_scores_are_not_used(scorer, product, monkeypatch):
    """The product is kept."""
    attend = kernels._attend
    monkeypatch.setattr(kernels, "_attend", lambda *given, **more: attend(*given, **more) * 1.01)
    monkeypatch.setattr(engine, "faster_product", lambda model: product)
    scorer = type(scorer)(scorer.model, scorer.tokenizer)
    assert not scorer.engine.network.kernels.blockwise
    assert scorer.engine.product == product
    assert scorer.path == "tree"


def test_the_chosen_kernels_are_those_that_score(scorer, monkeypatch):
    assert scorer.engine.fix_product("onednn")
    attended = count_calls(kernels, "_attend", monkeypatch)
    multiplied = count_calls(kernels, "_multiply", monkeypatch)
    prompts, candidates = zip(*QUERIES, strict=True)
    scorer.score([*prompts], [*candidates])
    layers = sum(isinstance(one, torch.nn.Linear) for one in scorer.model.modules())
    assert len(multiplied) >= layers
    assert len(attended) >= scorer.model.config.num_hidden_layers


def test_free_decoding_uses_the_chosen_product(scorers, monkeypatch):
    known = scorers("bert")
    scorer = type(known)(known.model, known.tokenizer)
    assert scorer.engine.fix_product("onednn")
    multiplied = count_calls(kernels, "_multiply", monkeypatch)
    decode(scorer, ["The capital of France is [Y] ."], 2, DecodingOptions(beam=2))
    assert multiplied


def test_training_uses_torchs_own_product(scorer, monkeypatch):
    """oneDNN's has no gradient."""
    assert scorer.engine.fix_product("onednn")
    multiplied = count_calls(kernels, "_multiply", monkeypatch)
    plan = scorer.prepare(["The capital of France is [Y]"], [["Paris", "Rome"]]).plan
    logits, targets = scorer.engine.read(plan, list(plan.reads))
    torch.nn.functional.cross_entropy(logits, targets).backward()
    assert not multiplied
    assert any(weight.grad is not None for weight in scorer.model.parameters())
    scorer.model.zero_grad()


def test_a_model_keeps_its_own_operators(scorer):
    """The kernels act in the engine's own calls only."""
    assert scorer.engine.fix_product("onednn")
    forwards = [vars(layer).get("forward") for layer in scorer.model.modules()]
    scorer.score([QUERIES[0][0]], [QUERIES[0][1]])
    assert [vars(layer).get("forward") for layer in scorer.model.modules()] == forwards
    assert not torch.overrides._get_current_function_mode_stack()


@pytest.mark.parametrize("loaded", [False, True])
def test_a_run_keeps_its_product(loaded, tmp_path, monkeypatch):
    asked = {"dataset": "geofacts", "limit": 3, "output": tmp_path}
    given = {"product": "onednn"}
    if loaded:
        evaluate_model(load_scorer("geolm", **given), languages="en", **asked)
    else:
        evaluate_model("geolm", languages="en", **given, **asked)
    monkeypatch.setattr(engine, "faster_product", lambda model: "torch")
    evaluate_model(load_scorer("geolm") if loaded else "geolm", languages="es", **asked)
    settings = json.loads((tmp_path / "run.json").read_text())
    assert settings["languages"] == ["en", "es"]
    assert settings["further"] == {"product": "onednn"}
    assert "|product:onednn|" in settings["signature"]
