"""Families that answer at once."""

from .case import CHATML, Case, read_template

ANSWERING = {
    # A default system message; the role is written as it is.
    "qwen2": Case(
        read_template("qwen2"),
        "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
        "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n",
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\nSay it.<|im_end|>\n<|im_start|>assistant\n",
        CHATML,
    ),
    # ChatML without a default system message.
    "yi": Case(
        read_template("yi"),
        "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n",
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\nSay it.<|im_end|>\n<|im_start|>assistant\n",
        CHATML,
    ),
    # The system message is written into the user's turn; an answer begins behind a blank.
    "llama-2": Case(
        read_template("llama-2"),
        "<s>[INST]  [/INST] ",
        "<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nSay it. [/INST] ",
    ),
    # A date of its own unless given one; contents are trimmed.
    "llama-3": Case(
        read_template("llama-3"),
        "<s><|start_header_id|>system<|end_header_id|>\n\nToday Date: 26 Jul 2024\n\n<|eot_id|>"
        "<|start_header_id|>user<|end_header_id|>\n\n<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
        "<s><|start_header_id|>system<|end_header_id|>\n\nToday Date: 26 Jul 2024\n\nBe brief."
        "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nSay it.<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
        ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
    ),
    # The system message is written into the last turn of the user.
    "mistral-v3": Case(
        read_template("mistral-v3"),
        "<s>[INST] [/INST] ",
        "<s>[INST] Be brief.\n\nSay it.[/INST] ",
        ("[INST]", "[/INST]"),
    ),
    # A part for the system message; an answer begins without a blank.
    "mistral-v7": Case(
        read_template("mistral-v7"),
        "<s>[INST][/INST]",
        "<s>[SYSTEM_PROMPT]Be brief.[/SYSTEM_PROMPT][INST]Say it.[/INST]",
        ("[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"),
    ),
    # No system message; the role of answers is `model`.
    "gemma-2": Case(
        read_template("gemma-2"),
        "<s><start_of_turn>user\n<end_of_turn>\n<start_of_turn>model\n",
        None,
        ("<start_of_turn>", "<end_of_turn>"),
    ),
    # No blank or newline between the separator and the answer.
    "phi-4": Case(
        read_template("phi-4"),
        "<|im_start|>user<|im_sep|><|im_end|><|im_start|>assistant<|im_sep|>",
        "<|im_start|>system<|im_sep|>Be brief.<|im_end|><|im_start|>user<|im_sep|>Say it."
        "<|im_end|><|im_start|>assistant<|im_sep|>",
        (*CHATML, "<|im_sep|>"),
    ),
    # Roles as words; the new answer begins without the blank of older ones.
    "falcon": Case(
        read_template("falcon"), "User: \nFalcon: ", "System: Be brief.\nUser: Say it.\nFalcon: "
    ),
    # One line of text; a default system message without a role.
    "vicuna": Case(
        read_template("vicuna"),
        "A chat between a user and an assistant. USER:  ASSISTANT: ",
        "Be brief. USER: Say it. ASSISTANT: ",
    ),
}
