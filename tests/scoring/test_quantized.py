"""Quantised weights: the scores are those of bitsandbytes' weights, whatever else is in a batch."""

import json
import shutil
from importlib.resources import files

import bitsandbytes
import pytest
import torch
from bitsandbytes.nn import Linear4bit, Linear8bitLt
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig
from transformers.pytorch_utils import Conv1D

from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.eval.callback import undisturbed
from polyprobe.schema.run.folder import Run
from polyprobe.scoring.load import load
from polyprobe.scoring.model_objects import unwrap_model
from polyprobe.scoring.options import ScorerOptions
from polyprobe.system.messages import PolyprobeError
from tests.making import tiny
from tests.making.facts import write_facts
from tests.scoring import plain

GEOLM = str(files("polyprobe.scoring.embedded") / "geolm")
PROMPTS = ["The capital of France is [Y].", "Madrid es la capital de [Y].", "[Y] — город."]
CANDIDATES = [["Paris", "Berlin", "Rome"], ["España", "Francia"], ["Москва", "Париж"]]
PAIRS = [(p, c) for p, row in zip(PROMPTS, CANDIDATES, strict=True) for c in row]
NF4 = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")
INT8 = BitsAndBytesConfig(load_in_8bit=True)
KINDS = [("4bit", "4bit-nf4", NF4), ("8bit", "8bit-int8", INT8)]
FULL = torch.float32
VERSION = f"+bitsandbytes {bitsandbytes.__version__}"
pytestmark = pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")


def with_plain_weights(kind, folder=GEOLM):
    """Return a model in float32 whose weights are those of bitsandbytes, dequantised by it."""
    few = AutoModelForCausalLM.from_pretrained(folder, quantization_config=kind, dtype=FULL)
    full = AutoModelForCausalLM.from_pretrained(folder, dtype=FULL)
    layers = dict(full.named_modules())
    changed = 0
    for name, layer in few.named_modules():
        if isinstance(layer, Linear4bit):
            weight = bitsandbytes.functional.dequantize_4bit(
                layer.weight.data, layer.weight.quant_state
            )
        elif isinstance(layer, Linear8bitLt):
            weight = bitsandbytes.functional.int8_vectorwise_dequant(
                layer.weight.CB, layer.weight.SCB
            )
        else:
            continue
        own = layers[name]
        own.weight.data = (weight.T if isinstance(own, Conv1D) else weight).float()
        changed += 1
    assert changed >= 8
    return full.eval()


@pytest.fixture(scope="module")
def lora(tmp_path_factory):
    torch.manual_seed(5)
    kind = LoraConfig(r=4, target_modules=["q_proj", "up_proj"], init_lora_weights=False)
    folder = tmp_path_factory.mktemp("lora")
    get_peft_model(AutoModelForCausalLM.from_pretrained(GEOLM), kind).save_pretrained(folder)
    return folder


@pytest.mark.parametrize(("quantize", "name", "kind"), KINDS)
def test_scores_are_those_of_the_rounded_weights(quantize, name, kind, tokenizer):
    loaded = load("geolm", ScorerOptions(quantize=quantize))
    model = with_plain_weights(kind)
    want = [plain.causal(model, tokenizer, prompt, candidate) for prompt, candidate in PAIRS]
    together = plain.flat(loaded.scorer.score(PROMPTS, CANDIDATES))
    alone = [loaded.scorer.score([prompt], [[candidate]])[0][0] for prompt, candidate in PAIRS]
    assert together == pytest.approx(want, abs=1e-5)
    assert alone == pytest.approx(together, abs=1e-5)
    assert loaded.scorer.path == "tree"
    assert loaded.dtype == "float32"
    assert loaded.extra == {"quantize": f"{name}{VERSION}"}
    full = plain.flat(load_scorer("geolm").score(PROMPTS, CANDIDATES))
    assert 1e-3 < max(abs(a - b) for a, b in zip(together, full, strict=True)) < 0.5


@pytest.mark.parametrize(("quantize", "name", "kind"), KINDS)
def test_layers_that_are_no_linear_are_quantised_too(quantize, name, kind, tmp_path):
    """GPT-2's layers hold the transposed matrix."""
    folder = str(tiny.save_model("gpt2", tmp_path))
    model, tokenizer = with_plain_weights(kind, folder), AutoTokenizer.from_pretrained(folder)
    want = [plain.causal(model, tokenizer, prompt, candidate) for prompt, candidate in PAIRS]
    found = load_scorer(folder, quantize=quantize).score(PROMPTS, CANDIDATES)
    assert plain.flat(found) == pytest.approx(want, abs=1e-5)


@pytest.mark.parametrize(("quantize", "name", "kind"), KINDS)
def test_an_adapter_is_added_to_rounded_weights(quantize, name, kind, lora, tokenizer):
    loaded = load("geolm", ScorerOptions(quantize=quantize, adapter=str(lora)))
    assert [*loaded.extra] == ["adapter", "quantize"]
    model = PeftModel.from_pretrained(with_plain_weights(kind), lora)
    want = [plain.causal(model, tokenizer, prompt, candidate) for prompt, candidate in PAIRS]
    found = plain.flat(loaded.scorer.score(PROMPTS, CANDIDATES))
    assert found == pytest.approx(want, abs=1e-5)
    assert found == plain.flat(load_scorer(str(lora), quantize=quantize).score(PROMPTS, CANDIDATES))


def test_products_are_in_the_precision_of_the_run(tokenizer):
    loaded = load("geolm", ScorerOptions(quantize="4bit", dtype="bfloat16"))
    assert loaded.dtype == "bfloat16"
    full = plain.flat(load_scorer("geolm", quantize="4bit").score(PROMPTS, CANDIDATES))
    found = plain.flat(loaded.scorer.score(PROMPTS, CANDIDATES))
    assert found != full
    assert found == pytest.approx(full, abs=0.15)


@pytest.mark.parametrize(("quantize", "name", "kind"), KINDS)
def test_weights_that_were_stored_quantised(quantize, name, kind, tokenizer, tmp_path):
    model = AutoModelForCausalLM.from_pretrained(GEOLM, quantization_config=kind, dtype=FULL)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    loaded = load(str(tmp_path))
    want = load_scorer("geolm", quantize=quantize).score(PROMPTS, CANDIDATES)
    assert plain.flat(loaded.scorer.score(PROMPTS, CANDIDATES)) == pytest.approx(
        plain.flat(want), abs=1e-5
    )
    assert loaded.extra == {"quantize": f"bitsandbytes:{quantize}{VERSION}"}
    with pytest.raises(PolyprobeError, match=f"quantised already .bitsandbytes:{quantize}.; leave"):
        load(str(tmp_path), ScorerOptions(quantize="4bit"))


def test_weights_that_were_stored_in_fp8(tmp_path):
    """Blocks of 16 x 16 weights of eight bits, each with a scale; without a GPU, expanded."""
    few = tiny.save_model("llama", tmp_path / "few")
    full = shutil.copytree(few, tmp_path / "full")
    weights = load_file(few / "model.safetensors")
    stored, expanded = dict(weights), dict(weights)
    for name in (name for name in weights if "proj" in name):
        rows, columns = weights[name].shape
        blocks = weights[name].reshape(rows // 16, 16, columns // 16, 16)
        scales = blocks.abs().amax((1, 3)) / 448
        eighths = (blocks / scales[:, None, :, None]).to(torch.float8_e4m3fn)
        stored[name] = eighths.reshape(rows, columns)
        stored[f"{name}_scale_inv"] = scales
        again = eighths.float() * scales[:, None, :, None]
        expanded[name] = again.reshape(rows, columns)
    save_file(stored, few / "model.safetensors", {"format": "pt"})
    save_file(expanded, full / "model.safetensors", {"format": "pt"})
    kind = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [16, 16]}
    say(few, quantization_config=kind)
    loaded = load(str(few), ScorerOptions(device="cpu"))
    want = plain.flat(load_scorer(str(full)).score(PROMPTS, CANDIDATES))
    assert plain.flat(loaded.scorer.score(PROMPTS, CANDIDATES)) == pytest.approx(want, abs=1e-5)
    assert loaded.extra == {"quantize": "fp8"}
    assert loaded.dtype == "float32"


def say(folder, **said):
    file = folder / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **said}))


def test_the_kind_is_part_of_the_signature_and_of_the_key(tmp_path):
    facts, identities = write_facts(tmp_path / "facts"), []
    for quantize in (None, "8bit", "4bit"):
        run = Run(tmp_path / str(quantize))
        evaluate_model("geolm", facts, output=run.folder, languages="en", quantize=quantize)
        identities.append(json.dumps(run.settings().identity))
        signature = run.settings().signature
        assert ("|quantize:" in signature) == bool(quantize)
    assert f"|quantize:4bit-nf4{VERSION}|" in signature
    assert len(set(identities)) == 3


@pytest.mark.parametrize(
    ("method", "package"),
    [("gptq", "gptqmodel"), ("compressed-tensors", "compressed_tensors")],
)
def test_a_method_whose_package_is_missing_is_named(method, package, tmp_path):
    folder = tiny.save_model("llama", tmp_path / "model")
    say(folder, quantization_config={"quant_method": method, "bits": 4})
    with pytest.raises(PolyprobeError) as error:
        load_scorer(str(folder))
    assert str(error.value) == (
        f"the model '{folder}' ({method}:4bit) needs the package {package}: pip install {package}"
    )


def test_mistakes_are_one_line(tmp_path, monkeypatch):
    copy = shutil.copytree(tiny.save_model("llama", tmp_path / "llama"), tmp_path / "copy")
    (copy / "model.safetensors").write_bytes(b"x")
    with pytest.raises(PolyprobeError, match=r"--quantize 4bit cannot be used with model .* here"):
        load_scorer(str(copy), quantize="4bit")
    monkeypatch.setattr("polyprobe.system.messages.find_spec", lambda name: None)
    with pytest.raises(PolyprobeError, match=r"--quantize 4bit needs the package bitsandbytes: "):
        load_scorer("geolm", quantize="4bit")


@pytest.mark.parametrize("threshold", [6.0, 0.0])
def test_a_model_object_with_outliers_is_explained(threshold, tokenizer):
    kind = BitsAndBytesConfig(load_in_8bit=True, llm_int8_threshold=threshold)
    model = AutoModelForCausalLM.from_pretrained(GEOLM, quantization_config=kind, dtype=FULL)
    if not threshold:
        scores = plain.flat(load_scorer(model, tokenizer=tokenizer).score(PROMPTS, CANDIDATES))
        want = plain.flat(load_scorer("geolm").score(PROMPTS, CANDIDATES))
        assert scores == pytest.approx(want, abs=0.1)
        return
    with pytest.raises(PolyprobeError, match=r"depend on the batch; .*llm_int8_threshold=0"):
        load_scorer(model, tokenizer=tokenizer)


def train(tokenizer, between):
    base = AutoModelForCausalLM.from_pretrained(GEOLM, quantization_config=NF4, dtype=FULL)
    torch.manual_seed(5)
    model = get_peft_model(base, LoraConfig(r=4, target_modules=["q_proj"]))
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], 0.1)
    ids = tokenizer("The capital of France is Berlin.", return_tensors="pt").input_ids
    for step in range(2):
        model.train()
        optimizer.zero_grad()
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        if not step:
            between(model)
    return [p.detach() for p in model.parameters() if p.requires_grad]


def test_scoring_does_not_end_the_training_of_an_adapter(tokenizer):
    """bitsandbytes packs 4-bit weights on some CPUs, and they have no gradient from then on."""

    def score(model):
        with undisturbed(unwrap_model(model)) as inside:
            load_scorer(inside, tokenizer=tokenizer).score(PROMPTS, CANDIDATES)

    alone = train(tokenizer, lambda model: None)
    for one, two in zip(alone, train(tokenizer, score), strict=True):
        assert torch.equal(one, two)
