"""Families that can think before they answer."""

from .case import CHATML, THINK, Case, read_template

THINKING = {
    # Thinking of older answers is cut; the last answer gets an empty thought.
    "qwen3": Case(
        read_template("qwen3"),
        "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nSay it.<|im_end|>\n"
        "<|im_start|>assistant\n<think>\n\n</think>\n\n",
        (*CHATML, *THINK),
    ),
    # Today's date, metadata, the system message in them; an empty thought in new answers only.
    "smollm3": Case(
        read_template("smollm3"),
        "<|im_start|>system\nToday Date: 26 July 2024\nReasoning Mode: /no_think<|im_end|>\n"
        "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n",
        "<|im_start|>system\nToday Date: 26 July 2024\nReasoning Mode: /no_think\n\nBe brief."
        "<|im_end|>\n<|im_start|>user\nSay it.<|im_end|>\n"
        "<|im_start|>assistant\n<think>\n\n</think>\n",
        (*CHATML, *THINK),
    ),
    # The same with an answer that begins in a thought.
    "magistral": Case(
        read_template("magistral"),
        "<s>[INST][/INST][THINK][/THINK]",
        "<s>[SYSTEM_PROMPT]Be brief.\nFirst think in [THINK]here[/THINK].[/SYSTEM_PROMPT]"
        "[INST]Say it.[/INST][THINK][/THINK]",
        ("[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[THINK]", "[/THINK]"),
    ),
    # The same family with reasoning: an empty thought, then the token of the response.
    "command-a-reasoning": Case(
        read_template("command-a-reasoning"),
        "<s><|START_OF_TURN|><|USER_TOKEN|><|END_OF_TURN|><|START_OF_TURN|><|CHATBOT_TOKEN|>"
        "<|START_THINKING|><|END_THINKING|><|START_RESPONSE|>",
        "<s><|START_OF_TURN|><|SYSTEM_TOKEN|>Be brief.<|END_OF_TURN|>"
        "<|START_OF_TURN|><|USER_TOKEN|>Say it.<|END_OF_TURN|><|START_OF_TURN|><|CHATBOT_TOKEN|>"
        "<|START_THINKING|><|END_THINKING|><|START_RESPONSE|>",
        ("<|START_OF_TURN|>", "<|START_THINKING|>", "<|END_THINKING|>", "<|START_RESPONSE|>"),
    ),
    # A new answer begins with a thought; what precedes `</think>` is cut from answers.
    "deepseek-r1": Case(
        read_template("deepseek-r1"),
        "<s><｜User｜><｜Assistant｜><think>\n\n</think>\n\n",
        "<s>Be brief.<｜User｜>Say it.<｜Assistant｜><think>\n\n</think>\n\n",
        ("<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>", *THINK),
    ),
    # A closing tag alone stands for an answer without a thought.
    "deepseek-v3.1": Case(
        read_template("deepseek-v3.1"),
        "<s><｜User｜><｜Assistant｜></think>",
        "<s>Be brief.<｜User｜>Say it.<｜Assistant｜></think>",
        ("<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>", *THINK),
    ),
    # Switched off in the user's turn and by an empty thought; the answer on the next line.
    "glm-4.5": Case(
        read_template("glm-4.5"),
        "[gMASK]<sop><|user|>\n/nothink<|assistant|>\n<think></think>\n",
        "[gMASK]<sop><|system|>\nBe brief.<|user|>\nSay it./nothink<|assistant|>\n"
        "<think></think>\n",
        ("[gMASK]", "<sop>", "<|user|>", "<|assistant|>", "<|system|>", *THINK),
    ),
    # Channels: a new answer has none yet, an old one is on the channel `final`.
    "gpt-oss": Case(
        read_template("gpt-oss"),
        "<|start|>system<|message|>Current date: 2024-07-26\nReasoning: medium<|end|>"
        "<|start|>user<|message|><|end|><|start|>assistant<|channel|>final<|message|>",
        "<|start|>system<|message|>Current date: 2024-07-26\nReasoning: medium<|end|>"
        "<|start|>developer<|message|># Instructions\n\nBe brief.<|end|>"
        "<|start|>user<|message|>Say it.<|end|><|start|>assistant<|channel|>final<|message|>",
        ("<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|return|>"),
    ),
    # The same with a new answer on the channel of thoughts.
    "harmony-analysis": Case(
        read_template("harmony-analysis"),
        "<|start|>user<|message|><|end|><|start|>assistant<|channel|>analysis<|message|><|end|>"
        "<|start|>assistant<|channel|>final<|message|>",
        "<|start|>system<|message|>Be brief.<|end|><|start|>user<|message|>Say it.<|end|>"
        "<|start|>assistant<|channel|>analysis<|message|><|end|>"
        "<|start|>assistant<|channel|>final<|message|>",
        ("<|start|>", "<|end|>", "<|message|>", "<|channel|>"),
    ),
    # A budget of thinking; at 0 a new answer begins with a note inside a thought.
    "seed-oss": Case(
        read_template("seed-oss"),
        "<s>user\n</s><s>assistant\n"
        "<seed:think><seed:cot_budget_reflect></seed:cot_budget_reflect></seed:think>",
        "<s>system\nBe brief.</s><s>user\nSay it.</s><s>assistant\n"
        "<seed:think><seed:cot_budget_reflect></seed:cot_budget_reflect></seed:think>",
        ("<seed:think>", "</seed:think>"),
    ),
    # The role behind the user's text; an empty thought only where thinking is off.
    "hunyuan": Case(
        read_template("hunyuan"),
        "<s><｜User｜><｜Assistant｜><think>\n\n</think>\n",
        "<s>Be brief.<｜place_3｜><｜User｜>Say it.<｜Assistant｜><think>\n\n</think>\n",
        ("<｜User｜>", "<｜Assistant｜>", *THINK),
    ),
    # The thought of a new answer is a channel; contents are stripped of channels.
    "gemma-4": Case(
        read_template("gemma-4"),
        "<s><|turn>user\n<turn|>\n<|turn>model\n<|channel>thought\n<channel|>",
        "<s><|turn>system\nBe brief.<turn|>\n<|turn>user\nSay it.<turn|>\n"
        "<|turn>model\n<|channel>thought\n<channel|>",
        ("<|turn>", "<turn|>", "<|channel>", "<channel|>"),
    ),
    # Thinks unless a message says `/no_think`, also in front of a given answer.
    "nemotron-nano": Case(
        read_template("nemotron-nano"),
        "<SPECIAL_10>System\n\n\n<SPECIAL_11>User\n\n<SPECIAL_11>Assistant\n"
        "<think>\n\n</think>\n\n",
        "<SPECIAL_10>System\nBe brief.\n\n<SPECIAL_11>User\nSay it.\n<SPECIAL_11>Assistant\n"
        "<think>\n\n</think>\n\n",
        ("<SPECIAL_10>", "<SPECIAL_11>", "<SPECIAL_12>", *THINK),
    ),
    # Always thinks, with other signs.
    "kimi": Case(
        read_template("kimi"),
        "<|im_user|>user<|im_middle|><|im_end|><|im_assistant|>assistant<|im_middle|>"
        "◁think▷◁/think▷",
        "<|im_system|>system<|im_middle|>Be brief.<|im_end|><|im_user|>user<|im_middle|>Say it."
        "<|im_end|><|im_assistant|>assistant<|im_middle|>◁think▷◁/think▷",
        ("<|im_middle|>", "<|im_end|>", "◁think▷", "◁/think▷"),
    ),
}
