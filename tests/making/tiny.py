"""Small random models with real configurations and tokenizers, one per family and kind."""

from pathlib import Path

import torch
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    BertConfig,
    BloomConfig,
    GPT2Config,
    LlamaConfig,
    MT5Config,
    PreTrainedTokenizerFast,
    T5Config,
    XLMRobertaConfig,
)

# Ours, in eight scripts: enough for tokenizers that merge some words and split others.
TEXT = [
    "The capital of France is Paris.", "Paris and Berlin are cities in Europe.",
    "Столица Франции — Париж.", "Берлин и Москва — города.", "法国的首都是巴黎。北京是中国的首都。",
    "日本の首都は東京です。", "عاصمة فرنسا هي باريس.", "פריז היא בירת צרפת.",
    "Η πρωτεύουσα της Γαλλίας είναι το Παρίσι.", "프랑스의 수도는 파리이다.",
    "फ़्रांस की राजधानी पेरिस है।",
    "กรุงปารีสเป็นเมืองหลวง", "La capitale de la France est Paris.", "Hà Nội là thủ đô của Việt Nam.",
]  # fmt: skip


def byte_level(text: list[str]) -> PreTrainedTokenizerFast:
    """Return a byte-level BPE tokenizer like GPT-2's and Llama-3's, which adds no BOS."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "</s>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=special,
        initial_alphabet=alphabet,
        show_progress=False,
    )
    tokenizer.train_from_iterator(text * 3, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")


def unigram(
    text: list[str], special: list[str], post: str, **names: str
) -> PreTrainedTokenizerFast:
    """Return a SentencePiece-like unigram tokenizer with `▁`, like XLM-R's and T5's."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    trainer = trainers.UnigramTrainer(
        vocab_size=max(250, 5 * len(text)),
        special_tokens=special,
        unk_token="<unk>",
        show_progress=False,
    )
    tokenizer.train_from_iterator(text * 3, trainer)
    pairs = [(token, tokenizer.token_to_id(token)) for token in post.split() if token != "$A"]
    tokenizer.post_processor = processors.TemplateProcessing(single=post, special_tokens=pairs)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", **names)


def word_piece(text: list[str]) -> PreTrainedTokenizerFast:
    """Return a WordPiece tokenizer like multilingual BERT's."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(text * 3, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[(t, tokenizer.token_to_id(t)) for t in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]",
    )  # fmt: skip


def xlmr_tokenizer(text: list[str]) -> PreTrainedTokenizerFast:
    """Return a tokenizer with XLM-R's special tokens and template."""
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    return unigram(
        text, special, "<s> $A </s>", bos_token="<s>", eos_token="</s>", pad_token="<pad>",
        cls_token="<s>", sep_token="</s>", mask_token="<mask>",
    )  # fmt: skip


def t5_tokenizer(text: list[str]) -> PreTrainedTokenizerFast:
    """Return a tokenizer with T5's special tokens: EOS appended, sentinels among the special."""
    special = ["<pad>", "</s>", "<unk>", "<extra_id_0>", "<extra_id_1>"]
    return unigram(
        text, special, "$A </s>", eos_token="</s>", pad_token="<pad>",
        additional_special_tokens=["<extra_id_0>", "<extra_id_1>"],
    )  # fmt: skip


SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
KINDS = {
    "llama": (AutoModelForCausalLM, byte_level, lambda n: LlamaConfig(
        vocab_size=n, intermediate_size=48, bos_token_id=0, eos_token_id=1, **SMALL)),
    "gpt2": (AutoModelForCausalLM, byte_level, lambda n: GPT2Config(
        vocab_size=n, n_embd=32, n_layer=2, n_head=4, n_positions=256)),
    "bloom": (AutoModelForCausalLM, byte_level, lambda n: BloomConfig(
        vocab_size=n, hidden_size=32, n_layer=2, n_head=4)),
    "xlm-roberta": (AutoModelForMaskedLM, xlmr_tokenizer, lambda n: XLMRobertaConfig(
        vocab_size=n, intermediate_size=48, max_position_embeddings=200, pad_token_id=1, **SMALL)),
    "bert": (AutoModelForMaskedLM, word_piece, lambda n: BertConfig(
        vocab_size=n, intermediate_size=48, **SMALL)),
    "t5": (AutoModelForSeq2SeqLM, t5_tokenizer, lambda n: T5Config(
        vocab_size=n, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4,
        decoder_start_token_id=0)),
    "mt5": (AutoModelForSeq2SeqLM, t5_tokenizer, lambda n: MT5Config(
        vocab_size=n, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4,
        decoder_start_token_id=0)),
}  # fmt: skip


# Its gated layers multiply what its unscaled attention sums: at 0.3 the model magnifies the
# rounding of float32 tenfold, so that scores differ by 1e-5 between one batch and another.
SPREAD = {"mt5": 0.15}


def save_model(kind: str, folder: Path, text: list[str] = TEXT) -> Path:
    """Write a random model of that kind, its tokenizer trained on the text.

    Its weights are large enough for different scores.
    """
    auto, make_tokenizer, make_config = KINDS[kind]
    tokenizer = make_tokenizer(text)
    torch.manual_seed(7)
    model = auto.from_config(make_config(len(tokenizer)))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() > 1:
                weight.normal_(0, SPREAD.get(kind, 0.3))
            elif "norm" not in name and "ln" not in name:
                weight.normal_(0, 0.1)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
