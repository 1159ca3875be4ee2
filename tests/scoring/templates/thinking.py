"""Families that can think before they answer."""

from .case import CHATML, THINK, Case

THINKING = {
    # Thinking of older answers is cut; the last answer gets an empty thought.
    "qwen3": Case(
        """{%- if messages[0].role == 'system' %}
{{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}{%- endif %}
{%- set ns = namespace(last_query=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if message.role == "user" and ns.last_query == messages|length - 1 %}
        {%- set ns.last_query = index %}{%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.role == 'user' %}
{{- '<|im_start|>user\n' + message.content + '<|im_end|>\n' }}
    {%- elif message.role == 'assistant' %}
        {%- set content = message.content %}{%- set reasoning = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set reasoning = content.split('</think>')[0].rstrip('\n').split('<think>')[-1] %}
            {%- set content = content.split('</think>')[-1].lstrip('\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query and (loop.last or reasoning) %}
{{- '<|im_start|>assistant\n<think>\n' + reasoning.strip('\n') + '\n</think>\n\n' }}
{{- content.lstrip('\n') }}
        {%- else %}{{- '<|im_start|>assistant\n' + content }}{%- endif %}
{{- '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
{{- '<think>\n\n</think>\n\n' }}{%- endif %}
{%- endif %}""",
        "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nSay it.<|im_end|>\n"
        "<|im_start|>assistant\n<think>\n\n</think>\n\n",
        (*CHATML, *THINK),
    ),
    # Always thinks: the template opens the thought of a new answer.
    "qwq": Case(
        """{%- for message in messages %}
    {%- set content = message.content %}
    {%- if message.role == 'assistant' %}
        {%- set content = content.split('</think>')[-1].lstrip('\n') %}{%- endif %}
{{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n<think>\n' }}{%- endif %}""",
        "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nSay it.<|im_end|>\n"
        "<|im_start|>assistant\n<think>\n\n</think>\n\n",
        (*CHATML, *THINK),
    ),
    # Today's date, metadata, the system message in them; an empty thought in new answers only.
    "smollm3": Case(
        """{%- if enable_thinking is not defined -%}{%- set enable_thinking = true -%}{%- endif -%}
{%- set mode = '/think' if enable_thinking else '/no_think' -%}
{{- '<|im_start|>system\nToday Date: ' + strftime_now("%d %B %Y") + '\nReasoning Mode: ' + mode -}}
{%- if messages[0].role == 'system' -%}
{{- '\n\n' + messages[0].content.replace('/no_think', '').rstrip() -}}{%- endif -%}
{{- '<|im_end|>\n' -}}
{%- for message in messages -%}
    {%- set content = message.content if message.content is string else '' -%}
    {%- if message.role == 'user' -%}
{{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>\n' -}}
    {%- elif message.role == 'assistant' -%}
        {%- generation -%}
{{- '<|im_start|>assistant\n' + content.lstrip('\n') + '<|im_end|>\n' -}}
        {%- endgeneration -%}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {%- if enable_thinking -%}{{- '<|im_start|>assistant\n' -}}
    {%- else -%}{{- '<|im_start|>assistant\n<think>\n\n</think>\n' -}}{%- endif -%}
{%- endif -%}""",
        "<|im_start|>system\nToday Date: 26 July 2024\nReasoning Mode: /no_think<|im_end|>\n"
        "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n",
        "<|im_start|>system\nToday Date: 26 July 2024\nReasoning Mode: /no_think\n\nBe brief."
        "<|im_end|>\n<|im_start|>user\nSay it.<|im_end|>\n"
        "<|im_start|>assistant\n<think>\n\n</think>\n",
        (*CHATML, *THINK),
    ),
    # The same with an answer that begins in a thought.
    "magistral": Case(
        """{{- bos_token }}
{%- for message in messages %}
    {%- if message['role'] == 'user' %}{{- '[INST]' + message['content'] + '[/INST]' }}
    {%- elif message['role'] == 'system' %}
{{- '[SYSTEM_PROMPT]' + message['content'] + '\nFirst think in [THINK]here[/THINK].' }}
{{- '[/SYSTEM_PROMPT]' }}
    {%- else %}{{- message['content'] + eos_token }}{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '[THINK]' }}{%- endif %}""",
        "<s>[INST][/INST][THINK][/THINK]",
        "<s>[SYSTEM_PROMPT]Be brief.\nFirst think in [THINK]here[/THINK].[/SYSTEM_PROMPT]"
        "[INST]Say it.[/INST][THINK][/THINK]",
        ("[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[THINK]", "[/THINK]"),
    ),
    # The same family with reasoning: an empty thought, then the token of the response.
    "command-a-reasoning": Case(
        """{{ bos_token }}{% for message in messages %}
{% if message.role == 'assistant' %}
{{ '<|START_OF_TURN|><|CHATBOT_TOKEN|><|START_RESPONSE|>' + message.content }}
{{- '<|END_RESPONSE|><|END_OF_TURN|>' }}
{%- else %}{{ '<|START_OF_TURN|><|' + message.role|upper + '_TOKEN|>' + message.content }}
{{- '<|END_OF_TURN|>' }}{% endif %}{% endfor %}
{%- if add_generation_prompt %}{{ '<|START_OF_TURN|><|CHATBOT_TOKEN|>' }}
{%- if thinking is defined and not thinking %}{{ '<|START_THINKING|><|END_THINKING|>' }}
{%- endif %}{% endif %}""",
        "<s><|START_OF_TURN|><|USER_TOKEN|><|END_OF_TURN|><|START_OF_TURN|><|CHATBOT_TOKEN|>"
        "<|START_THINKING|><|END_THINKING|><|START_RESPONSE|>",
        "<s><|START_OF_TURN|><|SYSTEM_TOKEN|>Be brief.<|END_OF_TURN|>"
        "<|START_OF_TURN|><|USER_TOKEN|>Say it.<|END_OF_TURN|><|START_OF_TURN|><|CHATBOT_TOKEN|>"
        "<|START_THINKING|><|END_THINKING|><|START_RESPONSE|>",
        ("<|START_OF_TURN|>", "<|START_THINKING|>", "<|END_THINKING|>", "<|START_RESPONSE|>"),
    ),
    # A new answer begins with a thought; what precedes `</think>` is cut from answers.
    "deepseek-r1": Case(
        """{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}
{% endif %}{% set ns = namespace(system_prompt='') %}{% for message in messages %}
{% if message['role'] == 'system' %}{% set ns.system_prompt = message['content'] %}{% endif %}
{% endfor %}{{ bos_token }}{{ ns.system_prompt }}{% for message in messages %}
{% if message['role'] == 'user' %}{{ '<｜User｜>' + message['content'] }}{% endif %}
{% if message['role'] == 'assistant' and message['content'] is not none %}
{% set content = message['content'] %}
{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}
{{ '<｜Assistant｜>' + content + '<｜end▁of▁sentence｜>' }}{% endif %}{% endfor %}
{% if add_generation_prompt %}{{ '<｜Assistant｜><think>\n' }}{% endif %}""",
        "<s><｜User｜><｜Assistant｜><think>\n\n</think>\n\n",
        "<s>Be brief.<｜User｜>Say it.<｜Assistant｜><think>\n\n</think>\n\n",
        ("<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>", *THINK),
    ),
    # A closing tag alone stands for an answer without a thought.
    "deepseek-v3.1": Case(
        """{% if not thinking is defined %}{% set thinking = true %}{% endif %}
{% set ns = namespace(system_prompt='', last_user=false) %}{% for message in messages %}
{% if message['role'] == 'system' %}{% set ns.system_prompt = message['content'] %}{% endif %}
{% endfor %}{{ bos_token }}{{ ns.system_prompt }}{% for message in messages %}
{% if message['role'] == 'user' %}{% set ns.last_user = true %}
{{ '<｜User｜>' + message['content'] }}{% endif %}
{% if message['role'] == 'assistant' %}{% if ns.last_user %}{{ '<｜Assistant｜>' }}
{%- if message['prefix'] is defined and message['prefix'] and thinking %}{{ '<think>' }}
{% else %}{{ '</think>' }}{% endif %}{% endif %}{% set ns.last_user = false %}
{{ message['content'] + '<｜end▁of▁sentence｜>' }}{% endif %}{% endfor %}
{% if add_generation_prompt and ns.last_user %}{{ '<｜Assistant｜>' }}
{%- if not thinking %}{{ '</think>' }}{% else %}{{ '<think>' }}{% endif %}{% endif %}""",
        "<s><｜User｜><｜Assistant｜></think>",
        "<s>Be brief.<｜User｜>Say it.<｜Assistant｜></think>",
        ("<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>", *THINK),
    ),
    # Switched off in the user's turn and by an empty thought; the answer on the next line.
    "glm-4.5": Case(
        """[gMASK]<sop>{%- for m in messages %}
{%- if m.role == 'user' -%}<|user|>
{{ m.content }}
{{- '/nothink' if (enable_thinking is defined and not enable_thinking) else '' -}}
{%- elif m.role == 'assistant' -%}<|assistant|>
{%- set content = m.content %}{%- set reasoning = '' %}
{%- if '</think>' in content %}{%- set content = content.split('</think>')[-1] %}{%- endif %}
{{ '\n<think>' + reasoning.strip() + '</think>' }}
{%- if content.strip() -%}{{ '\n' + content.strip() }}{%- endif -%}
{%- elif m.role == 'system' -%}<|system|>
{{ m.content }}
{%- endif -%}{%- endfor -%}
{%- if add_generation_prompt -%}<|assistant|>
{{- '\n<think></think>' if (enable_thinking is defined and not enable_thinking) else '' -}}
{%- endif -%}""",
        "[gMASK]<sop><|user|>\n/nothink<|assistant|>\n<think></think>\n",
        "[gMASK]<sop><|system|>\nBe brief.<|user|>\nSay it./nothink<|assistant|>\n"
        "<think></think>\n",
        ("[gMASK]", "<sop>", "<|user|>", "<|assistant|>", "<|system|>", *THINK),
    ),
    # Channels: a new answer has none yet, an old one is on the channel `final`.
    "gpt-oss": Case(
        """{%- set reasoning_effort = reasoning_effort | default('medium') %}
{{- "<|start|>system<|message|>Current date: " + strftime_now('%Y-%m-%d') }}
{{- "\nReasoning: " + reasoning_effort + "<|end|>" }}
{%- for message in messages -%}
    {%- if message.role == 'system' %}
{{- "<|start|>developer<|message|># Instructions\n\n" + message.content + "<|end|>" }}
    {%- elif message.role == 'user' -%}
{{- "<|start|>user<|message|>" + message.content + "<|end|>" }}
    {%- elif message.role == 'assistant' -%}
        {%- if "<|channel|>analysis<|message|>" in message.content %}
{{- raise_exception("You have passed a message with channels") }}{%- endif %}
        {%- if "thinking" in message %}
{{- "<|start|>assistant<|channel|>analysis<|message|>" + message.thinking + "<|end|>" }}
        {%- endif %}
{{- "<|start|>assistant<|channel|>final<|message|>" + message.content }}
        {%- if loop.last and not add_generation_prompt %}{{- "<|return|>" }}
        {%- else %}{{- "<|end|>" }}{%- endif %}
    {%- endif %}
{%- endfor -%}
{%- if add_generation_prompt -%}<|start|>assistant{%- endif -%}""",
        "<|start|>system<|message|>Current date: 2024-07-26\nReasoning: medium<|end|>"
        "<|start|>user<|message|><|end|><|start|>assistant<|channel|>final<|message|>",
        "<|start|>system<|message|>Current date: 2024-07-26\nReasoning: medium<|end|>"
        "<|start|>developer<|message|># Instructions\n\nBe brief.<|end|>"
        "<|start|>user<|message|>Say it.<|end|><|start|>assistant<|channel|>final<|message|>",
        ("<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|return|>"),
    ),
    # The same with a new answer on the channel of thoughts.
    "harmony-analysis": Case(
        """{%- for message in messages -%}
{{- "<|start|>" + message.role }}
{{- "<|channel|>final" if message.role == "assistant" }}
{{- "<|message|>" + message.content + "<|end|>" }}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{- "<|start|>assistant<|channel|>analysis<|message|>" }}{%- endif -%}""",
        "<|start|>user<|message|><|end|><|start|>assistant<|channel|>analysis<|message|><|end|>"
        "<|start|>assistant<|channel|>final<|message|>",
        "<|start|>system<|message|>Be brief.<|end|><|start|>user<|message|>Say it.<|end|>"
        "<|start|>assistant<|channel|>analysis<|message|><|end|>"
        "<|start|>assistant<|channel|>final<|message|>",
        ("<|start|>", "<|end|>", "<|message|>", "<|channel|>"),
    ),
    # A budget of thinking; at 0 a new answer begins with a note inside a thought.
    "seed-oss": Case(
        """{%- macro turn(role, content) -%}
{{ bos_token + role + "\n" + content + eos_token }}{%- endmacro -%}
{%- if thinking_budget is not defined %}{%- set thinking_budget = -1 -%}{%- endif -%}
{%- for message in messages %}{{ turn(message.role, message.content) }}{%- endfor %}
{%- if add_generation_prompt %}{{ bos_token + "assistant\n" }}
    {%- if thinking_budget == 0 %}{{ "<seed:think><seed:cot_budget_reflect>" }}{%- endif %}
{%- endif %}""",
        "<s>user\n</s><s>assistant\n"
        "<seed:think><seed:cot_budget_reflect></seed:cot_budget_reflect></seed:think>",
        "<s>system\nBe brief.</s><s>user\nSay it.</s><s>assistant\n"
        "<seed:think><seed:cot_budget_reflect></seed:cot_budget_reflect></seed:think>",
        ("<seed:think>", "</seed:think>"),
    ),
    # The role behind the user's text; an empty thought only where thinking is off.
    "hunyuan": Case(
        """{{ bos_token }}{%- for message in messages %}
{%- if message.role == 'system' %}{{ message.content + '<｜place_3｜>' }}
{%- elif message.role == 'user' %}{{ '<｜User｜>' + message.content }}
{%- else %}{{ '<｜Assistant｜>' + message.content + '<｜place_2｜>' }}{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<｜Assistant｜>' }}
    {%- if enable_thinking is defined and not enable_thinking %}{{ '<think>\n\n</think>\n' }}
    {%- endif %}
{%- endif %}""",
        "<s><｜User｜><｜Assistant｜><think>\n\n</think>\n",
        "<s>Be brief.<｜place_3｜><｜User｜>Say it.<｜Assistant｜><think>\n\n</think>\n",
        ("<｜User｜>", "<｜Assistant｜>", *THINK),
    ),
    # The thought of a new answer is a channel; contents are stripped of channels.
    "gemma-4": Case(
        """{%- macro strip(text) -%}{%- set ns = namespace(result='') -%}
{%- for part in text.split('<channel|>') -%}
{%- set ns.result = ns.result + part.split('<|channel>')[0] -%}
{%- endfor -%}{{- ns.result | trim -}}{%- endmacro -%}
{{- bos_token -}}
{%- if (enable_thinking is defined and enable_thinking) or messages[0]['role'] == 'system' -%}
{{- '<|turn>system\n' -}}
{%- if enable_thinking is defined and enable_thinking -%}{{- '<|think|>\n' -}}{%- endif -%}
{%- if messages[0]['role'] == 'system' -%}{{- messages[0]['content'] | trim -}}{%- endif -%}
{{- '<turn|>\n' -}}{%- endif -%}
{%- for message in messages if message['role'] != 'system' -%}
{{- '<|turn>' + ('model' if message['role'] == 'assistant' else 'user') + '\n' -}}
{{- strip(message['content']) + '<turn|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|turn>model\n' -}}
{%- if not enable_thinking | default(false) -%}{{- '<|channel>thought\n<channel|>' -}}{%- endif -%}
{%- endif -%}""",
        "<s><|turn>user\n<turn|>\n<|turn>model\n<|channel>thought\n<channel|>",
        "<s><|turn>system\nBe brief.<turn|>\n<|turn>user\nSay it.<turn|>\n"
        "<|turn>model\n<|channel>thought\n<channel|>",
        ("<|turn>", "<turn|>", "<|channel>", "<channel|>"),
    ),
    # Thinks unless a message says `/no_think`, also in front of a given answer.
    "nemotron-nano": Case(
        """{%- set ns = namespace(thinks=true, answer='') -%}
{%- for message in messages -%}
{%- if '/no_think' in message.content -%}{%- set ns.thinks = false -%}{%- endif -%}
{%- endfor -%}
{%- set system = messages[0].content if messages[0].role == 'system' else '' -%}
{{- '<SPECIAL_10>System\n' + system.replace('/no_think', '').strip() + '\n\n' -}}
{%- for message in messages if message.role == 'user' -%}
{{- '<SPECIAL_11>User\n' + message.content.replace('/no_think', '').strip() + '\n' -}}
{%- endfor -%}
{%- if messages[-1].role == 'assistant' or add_generation_prompt -%}
{{- '<SPECIAL_11>Assistant\n' + ('<think>\n\n' if ns.thinks else '<think></think>') -}}
{%- if messages[-1].role == 'assistant' -%}
{{- messages[-1].content.strip() + '\n<SPECIAL_12>\n\n' -}}{%- endif -%}
{%- endif -%}""",
        "<SPECIAL_10>System\n\n\n<SPECIAL_11>User\n\n<SPECIAL_11>Assistant\n"
        "<think>\n\n</think>\n\n",
        "<SPECIAL_10>System\nBe brief.\n\n<SPECIAL_11>User\nSay it.\n<SPECIAL_11>Assistant\n"
        "<think>\n\n</think>\n\n",
        ("<SPECIAL_10>", "<SPECIAL_11>", "<SPECIAL_12>", *THINK),
    ),
    # Opens a thought; its own empty one is followed by one newline, as in its older answers.
    "stepfun": Case(
        """{{ bos_token }}{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\n' }}
{%- if message.role == 'assistant' %}{{- '<think>\n\n</think>\n' }}{%- endif %}
{{- message.content + '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n<think>\n' }}{%- endif %}""",
        "<s><|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n",
        "<s><|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nSay it.<|im_end|>\n"
        "<|im_start|>assistant\n<think>\n\n</think>\n",
        (*CHATML, *THINK),
    ),
    # Always thinks, with other signs.
    "kimi": Case(
        """{%- for message in messages -%}
{{- '<|im_' + message.role + '|>' + message.role + '<|im_middle|>' -}}
{{- message.content + '<|im_end|>' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{- '<|im_assistant|>assistant<|im_middle|>◁think▷' -}}{%- endif -%}""",
        "<|im_user|>user<|im_middle|><|im_end|><|im_assistant|>assistant<|im_middle|>"
        "◁think▷◁/think▷",
        "<|im_system|>system<|im_middle|>Be brief.<|im_end|><|im_user|>user<|im_middle|>Say it."
        "<|im_end|><|im_assistant|>assistant<|im_middle|>◁think▷◁/think▷",
        ("<|im_middle|>", "<|im_end|>", "◁think▷", "◁/think▷"),
    ),
}
