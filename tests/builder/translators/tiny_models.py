"""Translation models of a few thousand weights, with real tokenizers; one learns its sentences."""

import json
from pathlib import Path
from typing import NamedTuple

import sentencepiece
import torch
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    M2M100Config,
    M2M100ForConditionalGeneration,
    M2M100Tokenizer,
    MarianConfig,
    MarianMTModel,
    MarianTokenizer,
    MBart50Tokenizer,
    MBartConfig,
    MBartForConditionalGeneration,
    NllbTokenizer,
    T5Config,
    T5ForConditionalGeneration,
    T5Tokenizer,
)

ENGLISH = [
    "Norway has fjords.",
    "The capital of Norway is Oslo.",
    "The capital of Italy is Rome.",
    "Rome lies in Italy, and its oldest bridge is older than the city of Oslo.",
    "Ibsen was born in Skien.",
    "She speaks Italian.",
    "Oslo and Rome are capitals.",
]
SPANISH = [
    "Noruega tiene fiordos.",
    "La capital de Noruega es Oslo.",
    "La capital de Italia es Roma.",
    "Roma está en Italia, y su puente más viejo es más viejo que la ciudad de Oslo.",
    "Ibsen nació en Skien.",
    "Ella habla italiano.",
    "Oslo y Roma son capitales.",
]
CATALAN = [
    "Noruega té fiords.",
    "La capital de Noruega és Oslo.",
    "La capital d'Itàlia és Roma.",
    "Roma és a Itàlia, i el seu pont més vell és més vell que la ciutat d'Oslo.",
    "Ibsen va néixer a Skien.",
    "Ella parla italià.",
    "Oslo i Roma són capitals.",
]
FEW = 3  # number of sentences for the models of the other families


class Lesson(NamedTuple):
    """Sentences, their translations, and the tokenizer's codes of both languages."""

    texts: list[str]
    translations: list[str]
    source: str = ""
    target: str = ""


SIZES = {
    "d_model": 48, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 96, "decoder_ffn_dim": 96, "dropout": 0.0,
    "attention_dropout": 0.0, "activation_dropout": 0.0, "encoder_layerdrop": 0.0,
    "decoder_layerdrop": 0.0, "max_position_embeddings": 64, "init_std": 0.2,
}  # fmt: skip


PIECES = {
    "fairseq": {"bos_id": 1, "eos_id": 2, "unk_id": 0, "pad_id": -1},
    "t5": {"bos_id": -1, "eos_id": 1, "unk_id": 2, "pad_id": 0},
}


def train_pieces(
    folder: Path, kind: str = "bpe", codes: tuple[str, ...] = (), form: str = "fairseq"
) -> Path:
    """Write a sentencepiece model of the sentences."""
    folder.mkdir(parents=True, exist_ok=True)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*ENGLISH, *SPANISH, *CATALAN]),
        model_prefix=str(folder / "pieces"),
        vocab_size=180 if kind == "bpe" else 90,
        model_type=kind,
        user_defined_symbols=list(codes),
        **PIECES[form],
        minloglevel=2,
    )  # fmt: skip
    return folder / "pieces.model"


def list_pieces(pieces: Path) -> list[str]:
    spm = sentencepiece.SentencePieceProcessor(str(pieces))
    return [spm.id_to_piece(number) for number in range(3, len(spm))]


def make_nllb(folder: Path) -> Path:
    """Write a model like NLLB: M2M100's network, languages such as `spa_Latn`."""
    tokenizer = NllbTokenizer.from_pretrained(
        _spm_folder(folder),
        src_lang="eng_Latn",
        extra_special_tokens=["cat_Latn", "eng_Latn", "glg_Latn", "spa_Latn"],
    )
    return _save(folder, tokenizer, M2M100Config, M2M100ForConditionalGeneration)


def make_m2m100(folder: Path) -> Path:
    pieces = train_pieces(folder)
    words = ["<s>", "<pad>", "</s>", "<unk>", *list_pieces(pieces)]
    (folder / "vocab.json").write_text(json.dumps({w: n for n, w in enumerate(words)}))
    tokenizer = M2M100Tokenizer(str(folder / "vocab.json"), str(pieces))
    return _save(folder, tokenizer, M2M100Config, M2M100ForConditionalGeneration, more=110)


def make_mbart(folder: Path) -> Path:
    tokenizer = MBart50Tokenizer.from_pretrained(_spm_folder(folder, "unigram"), src_lang="en_XX")
    return _save(folder, tokenizer, MBartConfig, MBartForConditionalGeneration)


def make_marian(folder: Path, codes: tuple[str, ...] = (), **stated: str) -> Path:
    """Write a model as OPUS-MT's: for one pair, or with `codes` for several targets."""
    pieces = train_pieces(folder)
    words = ["</s>", "<unk>", *list_pieces(pieces), *codes, "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({w: n for n, w in enumerate(words)}))
    tokenizer = MarianTokenizer(str(pieces), str(pieces), str(folder / "vocab.json"), **stated)
    ids = {"eos_token_id": 0, "decoder_start_token_id": len(words) - 1,
           "pad_token_id": len(words) - 1, "forced_eos_token_id": None}  # fmt: skip
    return _save(folder, tokenizer, MarianConfig, MarianMTModel, **ids)


def make_t5(folder: Path, codes: tuple[str, ...] = (), tasks: tuple[str, ...] = ()) -> Path:
    """Write a model as MADLAD's, with a token for each target, or as T5's with `tasks` in words."""
    pieces = train_pieces(folder / "spm", "unigram", codes, "t5").rename(
        folder / "spm" / "spiece.model"
    )
    tokenizer = T5Tokenizer.from_pretrained(pieces.parent, extra_ids=0)
    prefixes = {f"translation_en_to_{code}": {"prefix": f"translate to {code}: "} for code in tasks}
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=len(tokenizer) + 1,
        d_model=48, d_kv=12, d_ff=96, num_layers=1, num_heads=4, dropout_rate=0.0,
        decoder_start_token_id=0,
        task_specific_params=prefixes or None,
    )  # fmt: skip
    model = T5ForConditionalGeneration(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _spm_folder(folder: Path, kind: str = "bpe") -> Path:
    pieces = train_pieces(folder / "spm", kind)
    return pieces.rename(folder / "spm" / "sentencepiece.bpe.model").parent


def _save(folder, tokenizer, config, network, more=0, **ids) -> Path:
    ids = ids or {"decoder_start_token_id": 2, "eos_token_id": 2, "pad_token_id": 1,
                  "bos_token_id": 0}  # fmt: skip
    torch.manual_seed(0)
    model = network(config(vocab_size=len(tokenizer) + more, **SIZES, **ids))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def teach(folder: Path, lessons: list[Lesson], steps: int = 150) -> Path:
    """Train a model on its sentences until it reproduces them."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    network = AutoModelForSeq2SeqLM.from_pretrained(folder)
    inputs, labels = [], []
    for texts, translations, source, target in lessons:
        if source:
            tokenizer.src_lang, tokenizer.tgt_lang = source, target
        inputs += tokenizer(texts)["input_ids"]
        labels += tokenizer(text_target=translations)["input_ids"]
    read = pad(inputs, network.config.pad_token_id)
    asked = {"input_ids": read, "attention_mask": read != network.config.pad_token_id}
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3)
    for _ in range(steps):
        network(**asked, labels=pad(labels, -100)).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    network.save_pretrained(folder)
    return folder


def pad(rows: list[list[int]], filler: int) -> torch.Tensor:
    longest = max(map(len, rows))
    return torch.tensor([row + [filler] * (longest - len(row)) for row in rows])
