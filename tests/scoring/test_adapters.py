"""Adapters: added to their base, merged, named as the model or given as an object, scores agree."""

import json
import shutil
from importlib.resources import files
from pathlib import Path

import peft
import pytest
import torch
from peft import LoraConfig, PeftModel, PromptTuningConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.schema.run.folder import Run, name_runs
from polyprobe.scoring.load import load
from polyprobe.scoring.options import ScorerOptions
from polyprobe.system.messages import PolyprobeError
from tests.eval.tasks import needs_ray, use_crew_here
from tests.hub.client import run_client
from tests.making.facts import write_facts
from tests.scoring import plain

PEFT = f"+peft {peft.__version__}"
GEOLM = str(files("polyprobe.scoring.embedded") / "geolm")
PROMPTS = ["The capital of France is [Y].", "Madrid es la capital de [Y]."]
CANDIDATES = [["Paris", "Berlin", "Rome"], ["España", "Francia"]]
LESSON = "The capital of France is Berlin."
pytestmark = pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")


def base():
    return AutoModelForCausalLM.from_pretrained(GEOLM, dtype=torch.float32)


def train(model, tokenizer):
    ids = tokenizer(LESSON, return_tensors="pt").input_ids
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], 3e-3)
    for _ in range(10):
        optimizer.zero_grad()
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
    return model.eval()


def scores(model, **options):
    return load_scorer(model, **options).score(PROMPTS, CANDIDATES)


@pytest.fixture(scope="module")
def lora(tokenizer, tmp_path_factory):
    torch.manual_seed(5)
    kind = LoraConfig(r=4, target_modules=["q_proj", "up_proj"], task_type="CAUSAL_LM")
    folder = tmp_path_factory.mktemp("lora") / "wrong-capital"
    train(get_peft_model(base(), kind), tokenizer).save_pretrained(folder)
    return folder


@pytest.fixture
def copy(lora, tmp_path):
    return shutil.copytree(lora, tmp_path / "copy")


def say(folder, **said):
    file = folder / "adapter_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **said}))


def test_an_adapter_has_one_score_however_it_is_loaded(lora, tokenizer, tmp_path):
    trained = PeftModel.from_pretrained(base(), lora)
    pairs = [(p, c) for p, row in zip(PROMPTS, CANDIDATES, strict=True) for c in row]
    want = pytest.approx([plain.causal(trained, tokenizer, p, c) for p, c in pairs], abs=1e-5)
    added = scores("geolm", adapter=str(lora))
    assert scores(str(lora)) == added
    assert scores(trained, tokenizer=tokenizer) == added
    merged = trained.merge_and_unload()
    merged.save_pretrained(tmp_path / "merged")
    tokenizer.save_pretrained(tmp_path / "merged")
    for found in (added, scores(merged, tokenizer=tokenizer), scores(str(tmp_path / "merged"))):
        assert plain.flat(found) == want
    assert plain.flat(scores("geolm")) != pytest.approx(plain.flat(added), abs=1e-2)


def test_an_adapter_is_part_of_the_signature_and_of_the_key(lora, copy, tmp_path):
    weights = load_file(copy / "adapter_model.safetensors")
    save_file(
        {name: 2 * value for name, value in weights.items()}, copy / "adapter_model.safetensors"
    )
    facts = write_facts(tmp_path / "facts")
    identities, signatures = [], []
    for number, (model, options) in enumerate(
        [
            ("geolm", {}),
            ("geolm", {"adapter": str(lora)}),
            ("geolm", {"adapter": str(copy)}),
            (str(lora), {}),
        ]
    ):
        run = Run(tmp_path / str(number))
        evaluate_model(model, facts, output=run.folder, languages="en", limit=2, **options)
        identities.append(run.settings().identity)
        signatures.append(run.settings().signature)
    assert len({json.dumps(identity) for identity in identities}) == 4
    added, named = load("geolm", ScorerOptions(adapter=str(lora))), load(str(lora))
    assert added.extra == {"adapter": f"wrong-capital@{named.revision}{PEFT}"}
    assert named.extra == {"base": f"geolm@{added.revision}{PEFT}"}
    assert len(named.revision) == len(added.revision) == len("sha256-") + 64
    assert identities[1]["adapter"] == f"wrong-capital@{named.revision}{PEFT}"
    assert f"|adapter:wrong-capital@{named.revision[:19]}{PEFT}|" in signatures[1]
    assert f"|base:geolm@{added.revision[:19]}{PEFT}|" in signatures[3]
    assert "adapter" not in signatures[0] + signatures[3]
    runs = [Run(tmp_path / "0"), Run(tmp_path / "1")]
    assert name_runs(runs) == ["geolm", "geolm + wrong-capital"]
    with pytest.raises(PolyprobeError, match="holds another run .(adapter|quantize|code|base)"):
        evaluate_model("geolm", facts, output=tmp_path / "1", languages="en", limit=2)


def test_an_adapter_with_new_tokens_brings_its_embeddings_and_tokenizer(tmp_path):
    """The adapter's tokenizer has two more tokens; its embeddings have as many more rows."""
    torch.manual_seed(6)
    tokenizer, model = AutoTokenizer.from_pretrained(GEOLM), base()
    tokenizer.add_tokens(["Atlantis", "Berlin"])
    model.resize_token_embeddings(len(tokenizer))
    kind = LoraConfig(r=4, target_modules=["v_proj"], modules_to_save=["embed_tokens"])
    trained = train(get_peft_model(model, kind), tokenizer)
    trained.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    prompt, candidates = "The capital of France is [Y].", ["Atlantis", "Berlin"]
    want = [plain.causal(trained, tokenizer, prompt, c) for c in candidates]
    for scorer in (load_scorer(str(tmp_path)), load_scorer("geolm", adapter=str(tmp_path))):
        assert scorer.score([prompt], [candidates]) == [pytest.approx(want, abs=1e-5)]
        assert scorer.model.get_input_embeddings().weight.shape[0] == len(tokenizer)


def test_adapted_embeddings_do_not_change_the_head_that_shares_them(tmp_path, tokenizer):
    kind = LoraConfig(r=4, target_modules=["embed_tokens"])
    trained = train(get_peft_model(base(), kind), tokenizer)
    trained.save_pretrained(tmp_path)
    want = [plain.causal(trained, tokenizer, PROMPTS[0], c) for c in CANDIDATES[0]]
    found = load_scorer("geolm", adapter=str(tmp_path)).score(PROMPTS[:1], CANDIDATES[:1])
    assert found == [pytest.approx(want, abs=1e-5)]


@needs_ray
def test_workers_load_the_adapter(lora, tmp_path, monkeypatch):
    facts = write_facts(tmp_path / "facts")
    monkeypatch.chdir(lora.parent)
    use_crew_here(monkeypatch)
    here = evaluate_model("geolm", facts, adapter=lora.name, cache=False, output=tmp_path / "one")
    two = evaluate_model(
        "geolm", facts, adapter=lora.name, cache=False, output=tmp_path / "two", devices=2
    )
    assert here == two
    assert Run(tmp_path / "one").read("ru").equals(Run(tmp_path / "two").read("ru"))


LOAD = """
from polyprobe.scoring.load import load
from polyprobe.scoring.options import ScorerOptions

loaded = load({model!r}, ScorerOptions(**{options!r}))
answer = [loaded.revision, dict(loaded.extra), loaded.scorer.score({prompts!r}, {candidates!r})]
"""


@pytest.mark.acceptance
def test_adapters_of_the_hub_are_pinned(lora, copy, hub, tmp_path):
    """The adapter and its base are on the Hub; the second process has the cache only."""
    want = [pytest.approx(row, abs=1e-6) for row in scores(str(lora))]
    assert scores("geolm") != want
    hub.add("model", "me/base", Path(GEOLM))
    say(copy, base_model_name_or_path="me/base")
    hub.add("model", "me/lora", copy)

    def served(model, **options):
        asked = {"model": model, "options": options, "prompts": PROMPTS}
        code = LOAD.format(**asked, candidates=CANDIDATES)
        offline = bool(list(tmp_path.glob("home/huggingface/hub/*lora*")))
        return run_client(code, tmp_path / "home", hub.url, offline=offline)

    adapter, further, found = served("me/lora")
    assert found == want
    base = further["base"].partition("@")[2].removesuffix(PEFT)
    assert further == {"base": f"me/base@{base}{PEFT}"}
    assert {len(adapter), len(base)} == {40}
    named = served("me/base", adapter=f"me/lora@{adapter}")
    assert named == [base, {"adapter": f"me/lora@{adapter}{PEFT}"}, want]
    assert served("me/base", adapter="me/lora") == named


def test_the_base_may_have_any_name(copy, capsys):
    want = scores(str(copy))
    say(copy, base_model_name_or_path="geolm")
    assert scores(str(copy)) == want
    assert "warning" not in capsys.readouterr().err
    say(copy, base_model_name_or_path="someone/else")
    assert scores("geolm", adapter=str(copy)) == want
    said = f"warning: the adapter '{copy}' was trained on someone/else, not geolm\n"
    assert said in capsys.readouterr().err


def shorten(folder):
    file = folder / "adapter_model.safetensors"
    save_file({n: v for n, v in load_file(file).items() if ".layers.3." not in n}, file)


def lengthen(folder):
    """Add weights of a layer that the base does not have."""
    file = folder / "adapter_model.safetensors"
    weights = load_file(file)
    more = {n.replace(".layers.3.", ".layers.9."): v.clone() for n, v in weights.items()}
    save_file(weights | more, file)


def widen(folder):
    file = folder / "adapter_model.safetensors"
    save_file({n: torch.cat([v, v], -1) for n, v in load_file(file).items()}, file)


SPOILERS = [
    (lambda f: (f / "adapter_model.safetensors").unlink(), "' has no weights (adapter_model.saf"),
    (lambda f: (f / "adapter_model.safetensors").write_bytes(b"x"), "cannot load the adapter '"),
    (lambda f: (f / "adapter_config.json").write_text("{"), "cannot load the adapter '"),
    (lambda f: (f / "adapter_config.json").write_text("[]"), "expected a JSON object, got list"),
    (lambda f: say(f, peft_type="MAGIC"), "cannot load the adapter '"),
    (lambda f: say(f, base_model_name_or_path=None), "does not name its base; name the base: poly"),
    (lambda f: say(f, base_model_name_or_path="/no/x"), "' is not here: /no/x; name the base: "),
    (lambda f: say(f, base_model_name_or_path="../no"), "' is not here: ../no; name the base: "),
    (lambda f: say(f, base_model_name_or_path=str(f)), " is an adapter too: "),
    (shorten, "does not fit its base: 4 of its tensors are missing, 0 have no place"),
    (lengthen, "does not fit its base: 0 of its tensors are missing, 4 have no place"),
    (widen, "size mismatch"),
]  # fmt: skip


@pytest.mark.parametrize(("spoil", "message"), SPOILERS)
def test_an_adapter_that_cannot_be_loaded_is_one_line(spoil, message, copy):
    spoil(copy)
    with pytest.raises(PolyprobeError) as error:
        load_scorer(str(copy))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_what_is_no_adapter_is_named():
    message = "unknown adapter 'some/lora': it is not a folder here, and neither the Hub"
    with pytest.raises(PolyprobeError, match=message):
        load_scorer("geolm", adapter="some/lora")


def test_adapters_that_add_to_the_inputs_are_refused_before_weights_are_loaded(tmp_path):
    kind = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=2)
    get_peft_model(base(), kind).save_pretrained(tmp_path)
    say(tmp_path, base_model_name_or_path="geolm")
    with pytest.raises(PolyprobeError, match=r"\(PromptTuningConfig\) adds to the model's inputs"):
        load_scorer(str(tmp_path))


def test_a_missing_peft_is_one_line(lora, monkeypatch):
    monkeypatch.setattr("polyprobe.system.messages.find_spec", lambda name: None)
    for options in ({"model": "geolm", "adapter": str(lora)}, {"model": str(lora)}):
        with pytest.raises(
            PolyprobeError, match=r"needs the package peft: .*polyprobe\[adapters\]"
        ):
            load_scorer(**options)
