"""Tiny random models of many classes: real configurations and tokenizers, one folder per kind.

Weights are initialized as in tiny.py. Vocabularies are fixed (stable.py), so every process creates
the same model.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from tokenizers import models, processors
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    PreTrainedTokenizerFast,
)

from polyprobe.eval import load_scorer
from polyprobe.scoring.scorers import Scorer
from tests.making import stable, tiny
from tests.scoring.queries import TEXT

UNIGRAM = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
T5 = ["<extra_id_0>", "<pad>", "</s>", "<unk>", "<extra_id_1>"]


class Kind(NamedTuple):
    """A kind of model: type, tokenizer and configuration fields.

    `spread` is the deviation of its weights, lower for classes that magnify rounding; `untied`
    adds a separate head, which later T5 models have although their configurations deny it.
    """

    model_type: str
    tokenizer: Any
    fields: dict[str, Any]
    spread: float = 0.3
    untied: bool = False


def byte_level(text: list[str], front: str = "") -> PreTrainedTokenizerFast:
    """Return tiny.py's byte-level tokenizer; `front` is a special token that it puts in front."""
    tokenizer = tiny.byte_level(text)
    if front:
        tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{front} $A", special_tokens=[(front, tokenizer.convert_tokens_to_ids(front))]
        )
    return tokenizer


def marked(text: list[str], post: str) -> PreTrainedTokenizerFast:
    """Return a tokenizer that marks words by `▁`, with XLM-R's special tokens placed by `post`."""
    tokenizer = tiny.unigram(
        text, UNIGRAM, post, bos_token="<s>", eos_token="</s>", pad_token="<pad>",
        cls_token="<s>", sep_token="</s>", mask_token="<mask>",
    )  # fmt: skip
    return stable.fix_unigram(tokenizer, text)


def word_piece(text: list[str]) -> PreTrainedTokenizerFast:
    """Return a WordPiece tokenizer as multilingual BERT's."""
    return stable.fix_word_piece(tiny.word_piece(text), text)


def t5(text: list[str]) -> PreTrainedTokenizerFast:
    """Return a tokenizer that appends EOS, sentinels among its special tokens."""
    sentinels = {"additional_special_tokens": [T5[0], T5[4]]}
    tokenizer = tiny.unigram(text, T5, "$A </s>", eos_token="</s>", pad_token="<pad>", **sentinels)
    tokenizer = stable.fix_unigram(tokenizer, text)
    pieces = json.loads(tokenizer.backend_tokenizer.to_str())["model"]["vocab"][len(T5) :]
    known = [(token, 0.0) for token in T5] + [tuple(piece) for piece in pieces]
    tokenizer.backend_tokenizer.model = models.Unigram(known, unk_id=T5.index("<unk>"))
    return tokenizer


with_bos, with_eos_in_front = partial(byte_level, front="<s>"), partial(byte_level, front="</s>")
opened, closed = partial(marked, post="</s> $A"), partial(marked, post="<s> $A </s>")
ended = partial(marked, post="$A </s>")

ENDS = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
SMALL = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
    "max_position_embeddings": 256,
}  # fmt: skip
HALF = {**SMALL, **ENDS, "num_key_value_heads": 2}  # two queries share a key
GEMMA = {**HALF, "head_dim": 8, "query_pre_attn_scalar": 8}
FULL_AND_SLIDING = ["sliding_attention", "full_attention"]
GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256, **ENDS}
FALCON = {**SMALL, **ENDS, "multi_query": True, "parallel_attn": True, "bias": True}
MOE = {"moe_intermediate_size": 16, "num_experts": 4, "num_experts_per_tok": 2}
NEO = {"hidden_size": 32, "num_layers": 2, "num_heads": 4, "intermediate_size": 48,
       "max_position_embeddings": 256, "attention_types": [[["global", "local"], 1]],
       **ENDS}  # fmt: skip

DECODERS = {
    "llama": Kind("llama", byte_level, HALF),
    "llama-tied": Kind("llama", closed, {**HALF, "tie_word_embeddings": True}),
    "qwen3": Kind("qwen3", byte_level, {**HALF, "head_dim": 8}),
    "mistral": Kind("mistral", with_bos, {**HALF, "sliding_window": 256}),
    "mistral-48": Kind("mistral", with_bos, {**HALF, "sliding_window": 48}),
    "mistral-8": Kind("mistral", with_bos, {**HALF, "sliding_window": 8}),
    "gemma2": Kind("gemma2", with_bos, {**GEMMA, "sliding_window": 256,
                   "final_logit_softcapping": 2.0, "attn_logit_softcapping": 1.0}),
    "gemma2-8": Kind("gemma2", with_bos, {**GEMMA, "sliding_window": 8}),
    "gemma3": Kind("gemma3_text", with_bos, {**GEMMA, "sliding_window": 256,
                   "layer_types": FULL_AND_SLIDING}),
    "gemma3-8": Kind("gemma3_text", with_bos, {**GEMMA, "sliding_window": 8,
                     "layer_types": FULL_AND_SLIDING}),
    "gpt2": Kind("gpt2", byte_level, GPT2),
    "opt": Kind("opt", with_eos_in_front, {**SMALL, **ENDS, "ffn_dim": 48,
                "word_embed_proj_dim": 32}),
    "xglm": Kind("xglm", opened, {"d_model": 32, "ffn_dim": 48, "num_layers": 2,
                 "attention_heads": 4, "max_position_embeddings": 256, "pad_token_id": 1}),
    "gpt-neox": Kind("gpt_neox", byte_level, {**SMALL, **ENDS, "rotary_pct": 0.5}),
    "falcon": Kind("falcon", byte_level, {**FALCON, "alibi": False}),
    "falcon-alibi": Kind("falcon", byte_level, {**FALCON, "alibi": True}),
    "bloom": Kind("bloom", byte_level, {"hidden_size": 32, "n_layer": 2, "n_head": 4, **ENDS}),
    "mpt": Kind("mpt", byte_level, {"d_model": 32, "n_layers": 2, "n_heads": 4,
                "expansion_ratio": 2, "max_seq_len": 256, **ENDS}),
    "mamba": Kind("mamba", byte_level, {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 4,
                  **ENDS}),
    "granite": Kind("granite", byte_level, {**HALF, "logits_scaling": 4.0,
                    "embedding_multiplier": 3.0, "attention_multiplier": 0.2}),
    "qwen3-moe": Kind("qwen3_moe", byte_level, {**HALF, **MOE, "head_dim": 8}),
    "gpt-neo-8": Kind("gpt_neo", byte_level, {**NEO, "window_size": 8}),
    "gpt-neo": Kind("gpt_neo", byte_level, NEO),
    "gpt-oss-8": Kind("gpt_oss", byte_level, {**HALF, "head_dim": 8, "sliding_window": 8,
                    "layer_types": FULL_AND_SLIDING, "num_local_experts": 4,
                    "num_experts_per_tok": 2}),
    "xlm-roberta-decoder": Kind("xlm-roberta", closed, {**SMALL, "is_decoder": True}),
    "rwkv": Kind("rwkv", byte_level, {"hidden_size": 32, "num_hidden_layers": 2,
                 "attention_hidden_size": 32, "intermediate_size": 48, **ENDS}),
    "recurrent-gemma-8": Kind("recurrent_gemma", with_bos, {**HALF, "num_hidden_layers": 3,
                            "lru_width": 32, "head_dim": 8, "attention_window_size": 8}),
    "jamba": Kind("jamba", with_bos, {**HALF, "num_hidden_layers": 2, "attn_layer_period": 2,
                  "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 1,
                  "num_experts": 2, "num_experts_per_tok": 1, "mamba_d_state": 4,
                  "mamba_dt_rank": 4, "use_mamba_kernels": False}, 0.2),
    "llama4-8": Kind("llama4_text", with_bos, {**HALF, "head_dim": 8, "attention_chunk_size": 8,
                   "intermediate_size_mlp": 48, "num_local_experts": 2}),
}  # fmt: skip

# Decoders that count positions by the ids that are not padding: BOS, EOS or an ordinary token is.
RECOUNTED = {
    "roberta-bos": Kind("roberta", with_bos, {**SMALL, "is_decoder": True, "pad_token_id": 0}),
    "prelayernorm-eos": Kind("roberta-prelayernorm", ended, {**SMALL, "is_decoder": True,
                             "pad_token_id": 2}),
    "xlm-roberta-word": Kind("xlm-roberta", closed, {**SMALL, "is_decoder": True,
                             "pad_token_id": 9}),
}  # fmt: skip
LATENT = {**SMALL, **ENDS, "num_key_value_heads": 4, "q_lora_rank": 16, "kv_lora_rank": 16,
          "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8, "n_routed_experts": 4,
          "moe_intermediate_size": 16, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1,
          "head_dim": 8}  # fmt: skip
STATE = {**HALF, "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_state": 4, "mamba_expand": 2}
LINEAR = ["linear_attention"] * 2
# Hybrids of attention and state space without any attention layer, and latent attention.
HYBRIDS = {
    "granitemoehybrid": Kind("granitemoehybrid", with_bos, {**STATE, "num_local_experts": 2,
                             "num_experts_per_tok": 1, "shared_intermediate_size": 48}, 0.1),
    "kimi-linear": Kind("kimi_linear", closed, {**LATENT, "num_local_experts": 4,
                        "layer_types": LINEAR, "linear_head_dim": 8, "linear_num_heads": 4}, 0.1),
    "nemotron-h": Kind("nemotron_h", with_bos, {**HALF, "head_dim": 8, "ssm_state_size": 8,
                       "mamba_num_heads": 4, "mamba_head_dim": 16, "n_groups": 2,
                       "layers_block_type": ["mamba", "mlp"]}, 0.1),
    "deepseek-v3": Kind("deepseek_v3", closed, LATENT),
    "qwen3.5": Kind("qwen3_5_text", with_bos, {**HALF, "head_dim": 8, "num_hidden_layers": 4,
                    "linear_num_key_heads": 2, "linear_num_value_heads": 4,
                    "linear_key_head_dim": 8, "linear_value_head_dim": 8}, 0.1),
    "falcon-h1": Kind("falcon_h1", with_bos, {**HALF, "head_dim": 8, "mamba_d_ssm": 64,
                      "mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 8}, 0.1),
}  # fmt: skip

BERT = {**SMALL, "pad_token_id": 0}
XLMR = {**SMALL, "pad_token_id": 1}
ENCODERS = {
    "bert": Kind("bert", word_piece, BERT),
    "xlm-roberta": Kind("xlm-roberta", closed, XLMR),
    "roberta": Kind("roberta", closed, XLMR),
    "distilbert": Kind("distilbert", word_piece, {"dim": 32, "hidden_dim": 48, "n_layers": 2,
                       "n_heads": 4, "max_position_embeddings": 256, "pad_token_id": 0}),
    "modernbert": Kind("modernbert", closed, {**XLMR, "local_attention": 8,
                       "global_attn_every_n_layers": 2, "cls_token_id": 0, "sep_token_id": 2,
                       "bos_token_id": 0, "eos_token_id": 2}),
    "deberta": Kind("deberta", closed, {**XLMR, "relative_attention": True,
                    "pos_att_type": ["c2p", "p2c"], "max_relative_positions": 32}),
    "deberta-v2": Kind("deberta-v2", closed, {**XLMR, "relative_attention": True,
                       "pos_att_type": ["c2p", "p2c"], "position_buckets": 16,
                       "norm_rel_ebd": "layer_norm", "share_att_key": True}),
    "albert": Kind("albert", closed, {**XLMR, "embedding_size": 16}),
    # Nobody listed these.
    "xlm": Kind("xlm", closed, {"emb_dim": 32, "n_layers": 2, "n_heads": 4, "pad_index": 1,
                "max_position_embeddings": 256}),
    "fnet": Kind("fnet", closed, {**XLMR}),
    "eurobert": Kind("eurobert", closed, {**XLMR, "num_key_value_heads": 2}),
}  # fmt: skip

D_T5 = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "pad_token_id": 1,
        "eos_token_id": 2, "decoder_start_token_id": 1}  # fmt: skip
GATED = {**D_T5, "feed_forward_proj": "gated-gelu"}
ENCODER_DECODERS = {
    "t5": Kind("t5", t5, D_T5),
    "t5-v1.1": Kind("t5", t5, {**GATED, "tie_word_embeddings": False}, 0.15, untied=True),
    "mt5": Kind("mt5", t5, GATED, 0.15, untied=True),
    "umt5": Kind("umt5", t5, GATED, 0.15, untied=True),
    "longt5": Kind("longt5", t5, {**D_T5, "local_radius": 7}),
    "switch-transformers": Kind("switch_transformers", t5, {**D_T5, "num_experts": 4}),
}  # fmt: skip

HEADS = {
    "causal": (AutoModelForCausalLM, {**DECODERS, **RECOUNTED, **HYBRIDS}),
    "masked": (AutoModelForMaskedLM, ENCODERS),
    "seq2seq": (AutoModelForSeq2SeqLM, ENCODER_DECODERS),
}
FAMILY = {kind: family for family, (_, kinds) in HEADS.items() for kind in kinds}


def opener(base: Path) -> Callable[..., Scorer]:
    """Return a function that loads a kind's scorer as a user would, once for each kind."""
    made: dict[tuple[Any, ...], Scorer] = {}

    def get(kind: str, scoring: str = "bmlama", **options: Any) -> Scorer:
        folder = base / f"zoo-{kind}"
        if not folder.exists():
            save_kind(kind, folder)
        key = (kind, scoring, *sorted(options.items()))
        if key not in made:
            made[key] = load_scorer(str(folder), scoring=scoring, **options)
        return made[key]

    return get


def save_kind(kind: str, folder: Path) -> None:
    """Write a model of that kind with its tokenizer."""
    auto, kinds = HEADS[FAMILY[kind]]
    made = kinds[kind]

    def configure(size: int) -> Any:
        return AutoConfig.for_model(made.model_type, vocab_size=size, **made.fields)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tiny.KINDS, kind, (auto, made.tokenizer, configure))
        patch.setitem(tiny.SPREAD, kind, made.spread)
        tiny.save_model(kind, folder, TEXT)
    if made.untied:
        _untie(auto.from_pretrained(folder)).save_pretrained(folder)


def _untie(model: Any) -> Any:
    own = torch.randn(model.lm_head.weight.shape, generator=torch.Generator().manual_seed(7))
    model.lm_head.weight = torch.nn.Parameter(own * 0.15)
    return model
