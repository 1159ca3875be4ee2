"""Rows, models and settings of all parts: BMLAMA-17 as published, models of each family."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers.processors import TemplateProcessing
from tokenizers.trainers import UnigramTrainer
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    MT5Config,
    PreTrainedTokenizerFast,
    XLMRobertaConfig,
)

from bench.gguf_files import write_gguf
from polyprobe.schema.run.rows import choose_rows

CONFIG = "17"


class Setting(NamedTuple):
    """The folders and sizes of a measurement.

    Attributes:
        dataset: the folder of BMLAMA.
        models: the folder of the models.
        logs: the folder of the workers' logs.
        peers: the interpreter with lm-eval and lm-pub-quiz; None: they are not timed.
        servers: the interpreter with vLLM and llama.cpp; None: they are not timed.
        rows: rows per language, for trials; None: the default of each part.
        rounds: rounds of a race.
        threads: torch's threads in each worker.
    """

    dataset: Path
    models: Path
    logs: Path
    peers: Path | None
    servers: Path | None
    rows: int | None
    rounds: int
    threads: int


class Rows(NamedTuple):
    """Queries of one language; `candidates[i]` are the fillers of the slot in `prompts[i]`."""

    prompts: list[str]
    candidates: list[list[str]]


def build_bmlama(folder: Path, mirror: Path | None) -> Path:
    """Return the folder of BMLAMA; build it from the mirror or the network if missing."""
    if not (folder / "data" / CONFIG).is_dir():
        from polyprobe.builder.build import build_dataset  # local: workers do not need the builder

        build_dataset("bmlama", [CONFIG], mirror, folder)
    return folder


def take_rows(dataset: Path, language: str, sample: int | None = None) -> Rows:
    """Return all rows of a language, or N of them spread over the relations (`choose_rows`)."""
    table = pq.read_table(dataset / "data" / CONFIG / f"{language}.parquet")
    chosen = table.take(choose_rows(table, sample=sample))
    return Rows(chosen["prompt"].to_pylist(), chosen["candidates"].to_pylist())


def take_sentences(dataset: Path) -> list[str]:
    """Return every candidate in its prompt, in all 17 languages."""
    files = sorted((dataset / "data" / CONFIG).glob("*.parquet"))
    return [
        prompt.replace("[Y]", candidate)
        for file in files
        for prompt, row in zip(*take_rows(dataset, file.stem), strict=True)
        for candidate in row
    ]


PIECES = 30_000
# Ids beyond the tokenizer's pieces occur in no text, but the head computes them.
FEW, MANY = 30_002, 250_002
# Special tokens of XLM-R and T5 in one list: one tokenizer for both.
PAD, BOS, EOS = 0, 1, 2
SPECIAL = [
    "<pad>", "<s>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True, special=True),
    "<extra_id_0>", "<extra_id_1>",
]  # fmt: skip


class Sources(NamedTuple):
    """The inputs of the models: SmolLM2's GGUF file, and a tokenizer."""

    gguf: Path
    unigram: Path


class Network(NamedTuple):
    """A model of the bench: its family, and the function that writes it to a folder."""

    family: str
    make: Callable[[Path, Sources], None]


def make_model(name: str, folder: Path, sources: Sources) -> None:
    """Write a model's folder or file; rename it only when it is complete."""
    part = folder.with_suffix(".part")
    NETWORKS[name].make(part, sources)
    part.rename(folder)


def convert_gguf(file: Path, folder: Path) -> None:
    """Write a GGUF file's model as safetensors in float32, with its tokenizer.

    `save_pretrained` refuses models loaded from GGUF, so the weights are copied to a new model.
    """
    options = {"gguf_file": file.name}
    loaded = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **options)
    settings = loaded.config.to_dict()
    settings.pop("quantization_config", None)
    model = LlamaForCausalLM(LlamaConfig(**settings))
    model.load_state_dict(loaded.state_dict())
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(file.parent, **options).save_pretrained(folder)


def train_unigram(sentences: list[str], file: Path) -> None:
    """Write a SentencePiece-like unigram tokenizer of `PIECES` pieces."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    trainer = UnigramTrainer(
        vocab_size=PIECES, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(sentences, trainer)
    tokenizer.save(str(file))


def load_unigram(file: Path, post: str) -> PreTrainedTokenizerFast:
    """Return the tokenizer with its special tokens; `post` is the template of those it adds."""
    tokenizer = Tokenizer.from_file(str(file))
    names = [(name, tokenizer.token_to_id(name)) for name in post.split() if name != "$A"]
    tokenizer.post_processor = TemplateProcessing(single=post, special_tokens=names)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>",
        pad_token="<pad>", cls_token="<s>", sep_token="</s>", mask_token="<mask>",
    )  # fmt: skip


def write_encoder(folder: Path, unigram: Path, vocabulary: int, layers: int = 6) -> None:
    """Write a random encoder of type XLM-R with hidden size 384, as in MiniLM."""
    config = XLMRobertaConfig(
        vocab_size=vocabulary, hidden_size=384, num_hidden_layers=layers, num_attention_heads=12,
        intermediate_size=1536, max_position_embeddings=514, type_vocab_size=1, pad_token_id=PAD,
        bos_token_id=BOS, eos_token_id=EOS,
    )  # fmt: skip
    _write_random(AutoModelForMaskedLM, config, load_unigram(unigram, "<s> $A </s>"), folder)


def write_encoder_decoder(folder: Path, unigram: Path, vocabulary: int, layers: int = 8) -> None:
    """Write a random encoder-decoder with the shape of mT5-small."""
    config = MT5Config(
        vocab_size=vocabulary, d_model=512, d_kv=64, d_ff=1024, num_layers=layers,
        num_decoder_layers=layers, num_heads=6, decoder_start_token_id=PAD, pad_token_id=PAD,
        eos_token_id=EOS,
    )  # fmt: skip
    _write_random(AutoModelForSeq2SeqLM, config, load_unigram(unigram, "$A </s>"), folder)


def write_decoder(folder: Path, unigram: Path, layers: int = 2) -> None:
    """Write a small random decoder of type Llama."""
    config = LlamaConfig(
        vocab_size=FEW, hidden_size=256, intermediate_size=688,
        num_hidden_layers=layers, num_attention_heads=8, num_key_value_heads=4,
        max_position_embeddings=2048, bos_token_id=BOS, eos_token_id=EOS, pad_token_id=PAD,
        tie_word_embeddings=True,
    )  # fmt: skip
    _write_random(AutoModelForCausalLM, config, load_unigram(unigram, "<s> $A"), folder)


def _write_random(auto: Any, config: Any, tokenizer: Any, folder: Path) -> None:
    """Write random weights; T5's embeddings of variance 1 would give scores near -150 nats."""
    torch.manual_seed(7)
    model = auto.from_config(config)
    if config.is_encoder_decoder:
        with torch.no_grad():
            model.shared.weight.mul_(0.05)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


NETWORKS = {
    "decoder": Network("causal", lambda folder, s: convert_gguf(s.gguf, folder)),
    # llama.cpp's file of the decoder; `file` is a name beside it until it is complete.
    "decoder.gguf": Network("causal", lambda file, s: write_gguf(file.with_name("decoder"), file)),
    "encoder-30k": Network("masked", lambda folder, s: write_encoder(folder, s.unigram, FEW)),
    "encoder-250k": Network("masked", lambda folder, s: write_encoder(folder, s.unigram, MANY)),
    "encoder-decoder-30k": Network(
        "seq2seq", lambda folder, s: write_encoder_decoder(folder, s.unigram, FEW)
    ),
    "encoder-decoder-250k": Network(
        "seq2seq", lambda folder, s: write_encoder_decoder(folder, s.unigram, MANY)
    ),
    "growth-decoder": Network("causal", lambda folder, s: write_decoder(folder, s.unigram)),
    "growth-encoder": Network("masked", lambda folder, s: write_encoder(folder, s.unigram, FEW, 2)),
    "growth-encoder-decoder": Network(
        "seq2seq", lambda folder, s: write_encoder_decoder(folder, s.unigram, FEW, 2)
    ),
}
