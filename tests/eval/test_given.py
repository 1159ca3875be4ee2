"""Models, scorers and datasets in memory give the results of their names."""

import tempfile

import datasets
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

from polyprobe.eval import ConsistencyCallback, evaluate_model, load_scorer
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import Run
from polyprobe.scoring.model_objects import identify_object
from polyprobe.system.messages import PolyprobeError
from tests.making import tiny
from tests.making.facts import write_facts
from tests.making.trainers import Adapted
from tests.scoring import plain

PROMPT, CANDIDATES = "The capital of France is [Y].", ["Paris", "Berlin", "Rome"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    tiny.save_model("gpt2", folder / "model")
    write_facts(folder / "facts")
    return folder


@pytest.fixture
def tokenizer(place):
    return AutoTokenizer.from_pretrained(place / "model")


@pytest.fixture
def model(place):
    return AutoModelForCausalLM.from_pretrained(place / "model")


@pytest.fixture
def splits(place):
    return datasets.load_dataset(str(place / "facts"))


def figures(results):
    return {name: value for name, value in results.items() if name != "signature"}


@pytest.mark.filterwarnings("ignore:.*unknown tokens")
@pytest.mark.parametrize("kind", ["gpt2", "bert"])
def test_a_model_object_has_the_scores_of_its_folder(kind, tmp_path):
    folder = tiny.save_model(kind, tmp_path / kind)
    auto = AutoModelForMaskedLM if kind == "bert" else AutoModelForCausalLM
    given = auto.from_pretrained(folder)
    own = AutoTokenizer.from_pretrained(folder)
    named = load_scorer(str(folder))
    scorer = load_scorer(given, tokenizer=own)
    assert type(scorer) is type(named)
    assert scorer.path == named.path
    assert scorer.score([PROMPT], [CANDIDATES]) == named.score([PROMPT], [CANDIDATES])


def test_adapters_are_scored_with_their_model(model, tokenizer, place):
    bare = load_scorer(str(place / "model")).score([PROMPT], [CANDIDATES])
    adapted = Adapted(model).eval()
    scorer = load_scorer(adapted, tokenizer=tokenizer)
    [found] = scorer.score([PROMPT], [CANDIDATES])
    assert found == pytest.approx([plain.causal(adapted, tokenizer, PROMPT, c) for c in CANDIDATES])
    assert found != pytest.approx(bare[0], abs=1e-3)
    assert scorer.path == "tree"
    Adapted.Kind.is_prompt_learning = True
    try:
        with pytest.raises(PolyprobeError, match=r"adapter \(Kind\) adds to the model's inputs"):
            load_scorer(adapted, tokenizer=tokenizer)
    finally:
        Adapted.Kind.is_prompt_learning = False


def test_a_compiled_model_is_the_model_inside(model, tokenizer):
    want = load_scorer(model, tokenizer=tokenizer).score([PROMPT], [CANDIDATES])
    compiled = torch.compile(model)
    assert load_scorer(compiled, tokenizer=tokenizer).score([PROMPT], [CANDIDATES]) == want


def test_an_identity_changes_with_weights_settings_adapters_and_tokenizer(model, tokenizer, place):
    again = AutoModelForCausalLM.from_pretrained(place / "model")
    first = identify_object(model, tokenizer)
    assert identify_object(again, AutoTokenizer.from_pretrained(place / "model")) == first
    seen = [first]
    with torch.no_grad():
        again.transformer.h[1].mlp.c_fc.bias[3] += 1e-3
    seen.append(identify_object(again, tokenizer))
    model.config.layer_norm_epsilon = 1e-3
    seen.append(identify_object(model, tokenizer))
    adapted = Adapted(model)
    seen.append(identify_object(adapted.model, tokenizer))
    model.transformer.h[0].attn.c_attn.scaling["default"] = 1.0
    seen.append(identify_object(adapted.model, tokenizer))
    tokenizer.add_tokens(["Atlantis"])
    seen.append(identify_object(adapted.model, tokenizer))
    assert len(set(seen)) == len(seen)


def test_objects_give_the_results_of_names(model, tokenizer, splits, place, tmp_path):
    named = evaluate_model(place / "model", place / "facts", output=tmp_path / "named")
    scorer = load_scorer(str(place / "model"))
    for number, (given, options) in enumerate([(model, {"tokenizer": tokenizer}), (scorer, {})]):
        folder = tmp_path / str(number)
        found = evaluate_model(given, splits, output=folder, **options)
        assert figures(found) == figures(named)
        assert "model (in memory)@sha256-" in found["signature"]
        assert "data:in memory/default" in found["signature"]
        assert Run(folder).read("ru").equals(Run(tmp_path / "named").read("ru"))
    rows = {"en": splits["en"], "ru": splits["ru"]}
    assert evaluate_model(scorer, rows)["rankc"] == {"en-ru": named["rankc"]["en-ru"]}


def test_a_run_of_an_object_resumes_unless_its_weights_have_changed(
    model, tokenizer, place, tmp_path, monkeypatch
):
    asked = {"output": tmp_path / "run", "tokenizer": tokenizer}
    evaluate_model(model, place / "facts", languages="en", **asked)
    evaluate_model(model, place / "facts", languages="en,ru", **asked)
    assert Run(tmp_path / "run").settings().languages == ["en", "ru"]
    assert not (tmp_path / "run" / ".store").exists()
    with torch.no_grad():
        model.transformer.wte.weight[40] += 0.1
    with pytest.raises(PolyprobeError, match=r"holds another run \(revision"):
        evaluate_model(model, place / "facts", languages="en,ru", **asked)


def test_scores_of_an_object_do_not_go_to_the_cache(model, tokenizer, place, tmp_path, monkeypatch):
    monkeypatch.setenv("POLYPROBE_CACHE", str(tmp_path / "cache"))
    evaluate_model(model, place / "facts", tokenizer=tokenizer)
    assert not (tmp_path / "cache").exists()
    evaluate_model(place / "model", place / "facts")
    assert [*(tmp_path / "cache").glob("scores/*.sqlite")]


def test_without_an_output_nothing_is_left_but_the_results(place, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.chdir(tmp_path)
    found = evaluate_model(str(place / "model"), str(place / "facts"))
    want = evaluate_model(str(place / "model"), str(place / "facts"), output=tmp_path / "run")
    assert found == want
    assert not [*(tmp_path / "temporary").iterdir()]
    assert {path.name for path in tmp_path.iterdir()} == {"temporary", "run"}


def test_names_of_rows_may_be_one_text(place):
    scorer = load_scorer(str(place / "model"))
    lists = {"languages": ["en", "zh_hans"], "relations": ["P36"], "exclude": []}
    texts = {"languages": "en, zh-hans", "relations": "P36", "exclude": "none"}
    assert evaluate_model(scorer, place / "facts", **lists) == evaluate_model(
        scorer, place / "facts", **texts
    )
    assert [*load_facts(place / "facts", languages="ru")] == ["ru"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: evaluate_model(m, "facts", samples=5),
         r"unknown argument 'samples' in evaluate_model\(\); did you mean 'sample'\?"),
        (lambda m: evaluate_model(m, "facts", lang="en"), "unknown argument 'lang' in eval"),
        (lambda m: load_scorer("geolm", batch_token=5), "did you mean 'batch_tokens'"),
        (lambda m: ConsistencyCallback(None, "facts", language=["en"]),
         r"unknown argument 'language' in ConsistencyCallback\(\); did you mean 'languages'"),
        (lambda m: load_scorer(m), r"no tokenizer; add tokenizer=AutoTokenizer"),
        (lambda m: load_scorer(m, tokenizer="gpt2"), "a str as tokenizer; add tokenizer="),
        (lambda m: load_scorer(torch.nn.Linear(2, 2), tokenizer=0), "an? int as tokenizer"),
        (lambda m: load_scorer(m, device="cpu"), "a model object has its own device; leave it out"),
        (lambda m: load_scorer("geolm", device=0), "--device must be a text, got 0"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_one_line(call, message, model):
    with pytest.raises(PolyprobeError, match=message) as error:
        call(model)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scoring": "object"}, "a scorer has its own scoring; leave it out, or set it in load_s"),
        ({"permutations": 2}, "a scorer has its own permutations; leave it out"),
        ({"system": "Hi"}, "a scorer has its own system; leave it out"),
        ({"devices": 2}, r"devices needs a model that other processes can load; save this one"),
        ({"ray": "auto"}, "ray needs a model that other processes can load"),
        ({"dataset": ["en"]}, "the dataset is a list; expected a name, a folder, or a DatasetDict"),
        ({"dataset": {"en": [1]}}, "split 'en' is a list; expected"),
        ({"config": "small"}, "config 'small' is for a dataset's name"),
        (
            {"languages": "en,de"},
            "unknown language 'de' in the dataset; available: en, ru, zh_hans",
        ),
    ],
)
def test_wrong_arguments_beside_objects_are_one_line(options, message, place, splits):
    scorer = load_scorer(str(place / "model"))
    with pytest.raises(PolyprobeError, match=message):
        evaluate_model(scorer, options.pop("dataset", splits), **options)
