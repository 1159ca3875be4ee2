"""Models that accelerate divides: most of their weights stay on disk until a layer runs."""

import pytest
import torch
import transformers.integrations.accelerate as loading
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.schema.run.folder import Run
from polyprobe.system.messages import PolyprobeError
from tests.making import tiny
from tests.scoring import plain
from tests.scoring.protocols import KINDS as FAMILIES
from tests.scoring.protocols import PLAIN

PROMPTS = ["Paris and [Y] are cities in Europe.", "Paris is [Y]."]
CANDIDATES = [["Berlin", "Paris", "Europe"], ["Berlin", "in Europe"]]
KINDS = ("llama", "gpt2", "bert", "t5")


def save_shards(kind, folder):
    tiny.save_model(kind, folder)
    model = tiny.KINDS[kind][0].from_pretrained(folder).eval()
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size=100_000)
    assert len([*folder.glob("model-*.safetensors")]) > 1
    return model


@pytest.fixture
def small_memory(monkeypatch):
    monkeypatch.setattr(loading, "accelerate_max_memory", lambda _=None: {"cpu": 100_000})


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_the_whole_model(kind, small_memory, tmp_path):
    model, definition = save_shards(kind, tmp_path), PLAIN["bmlama", FAMILIES[kind]]
    scorer = load_scorer(str(tmp_path), device_map="auto")
    assert "disk" in scorer.model.hf_device_map.values()
    assert any(
        part._hf_hook.offload for part in scorer.model.modules() if hasattr(part, "_hf_hook")
    )
    scores = scorer.score(PROMPTS, CANDIDATES)
    assert any(weight.is_meta for weight in scorer.model.parameters())
    pairs = [(p, c) for p, row in zip(PROMPTS, CANDIDATES, strict=True) for c in row]
    want = [definition(model, scorer.tokenizer, *pair) for pair in pairs]
    assert plain.flat(scores) == pytest.approx(want, abs=2e-5)
    whole = load_scorer(str(tmp_path))
    assert (scorer.path, scorer.engine.product) == (whole.path, whole.engine.product)
    assert scores == whole.score(PROMPTS, CANDIDATES)


def test_the_signature_is_that_of_the_whole_model(small_memory, tmp_path):
    save_shards("llama", tmp_path / "model")
    results = [
        evaluate_model(
            str(tmp_path / "model"), dataset="geofacts", languages="en", limit=3, cache=False,
            output=tmp_path / str(name), device_map=name,
        )
        for name in (None, "auto")
    ]  # fmt: skip
    assert results[0] == results[1]
    settings = Run(tmp_path / "auto").settings()
    assert settings.device == "cpu"
    assert settings == Run(tmp_path / "None").settings()


def test_a_divided_model_writes_answers(small_memory, tmp_path):
    save_shards("llama", tmp_path)
    options = {"scoring": "answer", "answer_tokens": 4}
    scorers = [load_scorer(str(tmp_path), **options, device_map=name) for name in (None, "auto")]
    scored = [x.score_counted(["Paris is [Y]"], [["___"]]) for x in scorers]
    assert scored[0] == scored[1]
    assert scored[0][0].text is not None


def test_a_divided_model_object(tmp_path):
    save_shards("llama", tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    options = {"max_memory": {"cpu": 100_000}, "offload_folder": tmp_path / "weights"}
    model = AutoModelForCausalLM.from_pretrained(tmp_path, device_map="auto", **options)
    whole = AutoModelForCausalLM.from_pretrained(tmp_path)
    scores = [
        load_scorer(x, tokenizer=tokenizer).score(PROMPTS, CANDIDATES) for x in (model, whole)
    ]
    assert scores[0] == scores[1]
    with pytest.raises(PolyprobeError, match="weights are elsewhere.*give its name with"):
        evaluate_model(model, tokenizer=tokenizer, dataset="geofacts", output=tmp_path / "run")


def test_an_adapter_of_a_divided_model_is_refused(small_memory, tmp_path):
    model = save_shards("llama", tmp_path / "model")
    kind = LoraConfig(r=2, target_modules=["q_proj"], task_type="CAUSAL_LM")
    get_peft_model(model, kind).save_pretrained(tmp_path / "adapter")
    options = {"adapter": str(tmp_path / "adapter"), "device_map": "auto"}
    with pytest.raises(PolyprobeError, match="weights are elsewhere.*merge the adapter"):
        load_scorer(str(tmp_path / "model"), **options)


def test_inputs_go_where_the_embeddings_run(small_memory, tmp_path):
    save_shards("llama", tmp_path)
    scorer = load_scorer(str(tmp_path), device_map="auto")
    assert scorer.model.device.type == "meta"
    assert scorer.engine.network.device == torch.device("cpu")
