"""Models: family by configuration, and one-line errors."""

import json
import shutil
from pathlib import Path

import pytest
import transformers
from safetensors.torch import load_file
from transformers import AutoConfig

from polyprobe.eval import load_scorer
from polyprobe.scoring.load import family_of, load
from polyprobe.scoring.options import ScorerOptions
from polyprobe.system.messages import PolyprobeError
from tests.making import tiny

HEADS = [
    ("bert", "BertForMaskedLM", "masked"),
    ("bert", "BertForPreTraining", "masked"),
    ("bert", "BertLMHeadModel", "causal"),
    ("bert", None, "masked"),
    ("xlm-roberta", "XLMRobertaForMaskedLM", "masked"),
    ("distilbert", "DistilBertForMaskedLM", "masked"),
    ("modernbert", "ModernBertForMaskedLM", "masked"),
    ("deberta-v2", None, "masked"),
    ("albert", "AlbertForMaskedLM", "masked"),
    ("gpt2", "GPT2LMHeadModel", "causal"),
    ("bloom", "BloomForCausalLM", "causal"),
    ("llama", "LlamaForCausalLM", "causal"),
    ("qwen3", "Qwen3ForCausalLM", "causal"),
    ("gemma3", "Gemma3ForConditionalGeneration", "causal"),
    ("mamba", "MambaForCausalLM", "causal"),
    ("llama", "SomebodysOwnForCausalLM", "causal"),
    ("t5", "T5ForConditionalGeneration", "seq2seq"),
    ("t5", "T5WithLMHeadModel", "seq2seq"),
    ("mt5", "MT5ForConditionalGeneration", "seq2seq"),
    ("umt5", "UMT5ForConditionalGeneration", "seq2seq"),
]


@pytest.mark.parametrize(("model_type", "architecture", "family"), HEADS)
def test_family_follows_from_the_configuration(model_type, architecture, family):
    config = AutoConfig.for_model(model_type)
    config.architectures = [architecture] if architecture else None
    assert family_of(config, "a-name-that-says-bert-gpt-t5").name == family
    if architecture and not architecture.startswith(("Somebodys", "T5With")):
        assert hasattr(transformers, architecture)


@pytest.mark.parametrize(
    ("model_type", "architecture"),
    [("bert", "BertModel"), ("bert", "BertForSequenceClassification"), ("t5", "T5EncoderModel"),
     ("vit", "ViTForImageClassification")],
)  # fmt: skip
def test_models_without_a_language_model_head_are_refused(model_type, architecture):
    config = AutoConfig.for_model(model_type)
    config.architectures = [architecture]
    with pytest.raises(PolyprobeError) as error:
        family_of(config, "some/model")
    assert str(error.value).startswith(
        f"model 'some/model' has no language-model head ({architecture})"
    )


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return tiny.save_model("llama", tmp_path_factory.mktemp("llama"))


def test_head_weights_that_are_missing_are_noticed(tmp_path):
    """A checkpoint without the head of its configuration would give random scores."""
    folder = tiny.save_model("bert", tmp_path / "bert")
    model = transformers.BertModel.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model.save_pretrained(tmp_path / "bare")
    tokenizer.save_pretrained(tmp_path / "bare")
    config = tmp_path / "bare" / "config.json"
    said = {**json.loads(config.read_text()), "architectures": ["BertForMaskedLM"]}
    config.write_text(json.dumps(said))
    with pytest.raises(PolyprobeError, match="weights are incomplete: .* tensors are missing"):
        load_scorer(str(tmp_path / "bare"))


def cut_weights(folder):
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:1000])


def no_tokenizer(folder):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()


def say(**said):

    def spoil(folder):
        file = folder / "config.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **said}))

    return spoil


def pickled_garbage(folder):
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"garbage")


SPOILERS = [
    cut_weights, no_tokenizer, pickled_garbage,
    lambda folder: (folder / "config.json").unlink(),
    lambda folder: (folder / "config.json").write_text("null"),
    lambda folder: (folder / "tokenizer_config.json").write_text("[]"),
    say(hidden_size=64), say(hidden_size="x"), say(num_attention_heads=0),
]  # fmt: skip


@pytest.mark.parametrize("spoil", SPOILERS)
def test_folders_that_cannot_be_loaded_are_named(spoil, llama, tmp_path):
    folder = shutil.copytree(llama, tmp_path / "copy")
    spoil(folder)
    with pytest.raises(PolyprobeError) as error:
        load_scorer(str(folder))
    assert str(error.value).startswith(f"cannot load the model in {folder}: ")
    assert "\n" not in str(error.value)


def test_bos_is_refused_where_it_means_nothing(tmp_path):
    folder = str(tiny.save_model("bert", tmp_path / "bert"))
    with pytest.raises(PolyprobeError, match="--bos always is for decoder-only models, .*masked"):
        load_scorer(folder, bos="always")


def test_a_missing_gguf_file_is_named():
    with pytest.raises(PolyprobeError, match="no such GGUF file: nowhere.gguf"):
        load_scorer("nowhere.gguf")


def test_a_folder_with_several_gguf_files_names_them(tmp_path):
    for name in ("q8.gguf", "q4.gguf"):
        (tmp_path / name).touch()
    with pytest.raises(PolyprobeError, match="has 2 GGUF files; give one: q4.gguf, q8.gguf"):
        load_scorer(str(tmp_path))


@pytest.mark.parametrize("name", ["w/m.safetensors", "bpe.codes", "source.spm"])
def test_revision_of_a_folder_counts_every_file_that_may_matter(name, llama, tmp_path):
    copy = shutil.copytree(llama, tmp_path / "copy")
    (copy / name).parent.mkdir(exist_ok=True)
    (copy / name).write_text("a")
    before = load(str(copy)).revision
    (copy / name).write_text("b")
    after = load(str(copy)).revision
    assert before != after
    (copy / "README.md").write_text("about")
    assert load(str(copy)).revision == after


def test_an_attention_that_is_not_there_is_reported(llama):
    with pytest.raises(PolyprobeError, match="^--attention nonsense cannot be used with model"):
        load(str(llama), ScorerOptions(attention="nonsense"))


def shard(name):
    """Put the weights where `name` says, with an index that names them."""

    def spoil(folder):
        weights = (folder / "model.safetensors").rename(folder / "weights")
        names = [*load_file(weights)]
        (folder / "sub").mkdir()
        target = folder / name
        target.resolve().parent.mkdir(exist_ok=True)
        weights.rename(target)
        index = {"metadata": {}, "weight_map": dict.fromkeys(names, name)}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))

    return spoil


def link(name):
    def spoil(folder):
        (folder.parent / "elsewhere").mkdir()
        (folder / "linked").symlink_to(folder.parent / "elsewhere")
        shard(name)(folder)

    return spoil


def settle(**settings):
    def spoil(folder):
        file = folder / "tokenizer_config.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **settings}))

    return spoil


def lose_unknown(folder):
    file = folder / "tokenizer.json"
    settings = json.loads(file.read_text())
    settings["model"] |= {"type": "WordPiece", "unk_token": "gone", "vocab": {"a": 0}}
    settings["model"] |= {"max_input_chars_per_word": 9, "continuing_subword_prefix": "##"}
    settings["model"].pop("merges")
    file.write_text(json.dumps(settings))


# Damages that cost a minute, changed scores without a word, or ended in a traceback.
DAMAGES = {
    "a billion layers": (say(num_hidden_layers=10**9), "num_hidden_layers .* is 1000000000"),
    "more layers": (say(num_hidden_layers=3000), "num_hidden_layers .* can have 64 at most"),
    "a vocabulary": (say(vocab_size=10**7), "vocab_size .* can have 131072 at most"),
    "a billion labels": (say(num_labels=10**9), "num_labels in its config.json is 1000000000"),
    "a wide layer": (say(intermediate_size=10**7), "intermediate_size in its config.json is"),
    "a layer less": (
        say(num_hidden_layers=1),
        "fewer layers than its weights: model.layers.1.",
    ),
    "no layer": (say(num_hidden_layers=0), "has fewer layers than its weights: model.layers.0."),
    "a negative size": (say(hidden_size=-32), "negative dimension -32"),
    "text for a number": (say(num_hidden_layers="2"), "expected int, got str"),
    "other shapes": (say(vocab_size=64), "weights have other shapes than its configuration says"),
    "weights above": (shard("../outside.safetensors"), "which its revision does not cover"),
    "weights in a link": (link("linked/w.safetensors"), "which its revision does not cover"),
    "hidden weights": (shard(".w.safetensors"), "which its revision does not cover"),
    "ignored weights": (shard("sub/w.log"), "which its revision does not cover"),
    "another's tokenizer": (settle(vocab_file="/etc/passwd"), "vocab_file .* '/etc/passwd'"),
    "a length": (settle(model_max_length="x"), "'>' not supported"),
    "no unknown token": (lose_unknown, "Missing .* token from the vocabulary"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_models_are_refused_in_a_second(name, llama, tmp_path):
    folder = shutil.copytree(llama, tmp_path / "place" / "copy")
    spoil, message = DAMAGES[name]
    spoil(folder)
    with pytest.raises(PolyprobeError, match=message) as error:
        load_scorer(str(folder))
    assert "\n" not in str(error.value)


def test_files_may_be_links_and_shards_in_folders(llama, tmp_path):
    """A snapshot in the cache of the Hub is a folder of links to files elsewhere."""
    folder = shutil.copytree(llama, tmp_path / "blobs")
    shard("sub/w.safetensors")(folder)
    snapshot = tmp_path / "snapshot"
    (snapshot / "sub").mkdir(parents=True)
    for file in filter(Path.is_file, folder.rglob("*")):
        (snapshot / file.relative_to(folder)).symlink_to(file)
    prompts, candidates = ["The capital of France is [Y]."], [["Paris", "Rome"]]
    want = load_scorer(str(llama)).score(prompts, candidates)
    assert load_scorer(str(snapshot)).score(prompts, candidates) == want
    assert load(str(snapshot)).revision == load(str(folder)).revision


def test_an_error_of_the_machine_is_no_unknown_model(monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("no threads are left")

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", fail)
    with pytest.raises(
        PolyprobeError, match="^cannot load the model in geolm: RuntimeError: no th"
    ):
        load_scorer("geolm")
