"""GGUF files in float32 of Llama models in folders, for llama.cpp."""

import json
from pathlib import Path

import gguf
from transformers import AutoModelForCausalLM

NAMES = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}
PARTS = {
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}  # fmt: skip
ROTARY = ("q_proj.weight", "k_proj.weight")


def write_gguf(folder: Path, file: Path) -> None:
    """Write a Llama folder as GGUF: llama.cpp's names, and its order of rotary rows."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype="float32")
    config = model.config
    heads = {"q": config.num_attention_heads, "k": config.num_key_value_heads}
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(heads["q"])
    writer.add_head_count_kv(heads["k"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    pieces = json.loads((folder / "tokenizer.json").read_text())["model"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(sorted(pieces["vocab"], key=pieces["vocab"].get))
    writer.add_token_merges([" ".join(pair) for pair in pieces["merges"]])
    writer.add_bos_token_id(config.bos_token_id)
    writer.add_eos_token_id(config.eos_token_id)
    for name, weight in model.state_dict().items():
        array = weight.numpy()
        if name.endswith(ROTARY):
            own = heads[name.removesuffix("_proj.weight")[-1]]
            rows = array.reshape(own, 2, -1, array.shape[1]).swapaxes(1, 2)
            array = rows.reshape(array.shape)
        writer.add_tensor(gguf_name(name), array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def gguf_name(name: str) -> str:
    """Return llama.cpp's name of a tensor."""
    if name in NAMES:
        return NAMES[name]
    _, _, layer, part = name.split(".", 3)
    return f"blk.{layer}.{PARTS[part.removesuffix('.weight')]}.weight"
