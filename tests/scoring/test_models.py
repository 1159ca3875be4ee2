"""Models: family by configuration, and one-line errors."""

import json
import shutil

import pytest
import transformers
from transformers import AutoConfig

from polyprobe.eval import load_scorer
from polyprobe.scoring.load import family_of, load
from polyprobe.scoring.options import ScorerOptions
from polyprobe.system.errors import PolyprobeError
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
