r"""Chat templates of our own with the constructs of known families, and what they must give.

Transformers renders with trimmed blocks: the newline behind `%}` and the blanks in front of `{%`
are not part of the text.
"""

from typing import NamedTuple


class Case(NamedTuple):
    """A template, and the exact text in front of the answer.

    Attributes:
        template: the source.
        alone: that text with an empty message of the user.
        said: with the system message `Be brief.` and the user's `Say it.`; None if refused.
        special: texts that are single tokens of the family's tokenizers.
    """

    template: str
    alone: str
    said: str | None
    special: tuple[str, ...] = ()


CHATML = ("<|im_start|>", "<|im_end|>")
ROLES = ("<|user|>", "<|assistant|>", "<|system|>", "<|end|>")
THINK = ("<think>", "</think>")

CASES = {
    # A default system message; the role is written as it is.
    "qwen2": Case(
        """{% for message in messages %}
{% if loop.first and messages[0]['role'] != 'system' %}
{{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}{% endif %}
{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}
{%- endfor %}
{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}""",
        "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
        "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n",
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\nSay it.<|im_end|>\n<|im_start|>assistant\n",
        CHATML,
    ),
    # ChatML without a default system message.
    "yi": Case(
        "{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}"
        "{% endif %}{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + "
        "message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
        "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n",
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\nSay it.<|im_end|>\n<|im_start|>assistant\n",
        CHATML,
    ),
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
    # The system message is written into the user's turn; an answer begins behind a blank.
    "llama-2": Case(
        """{% if messages[0]['role'] == 'system' %}
{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}
{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}
{% for message in loop_messages %}
{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}
{% endif %}
{% if loop.index0 == 0 and system_message != false %}
{% set content = '<<SYS>>\n' + system_message + '\n<</SYS>>\n\n' + message['content'] %}
{% else %}{% set content = message['content'] %}{% endif %}
{% if message['role'] == 'user' %}
{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}
{%- elif message['role'] == 'assistant' %}
{{ ' '  + content.strip() + ' ' + eos_token }}
{%- endif %}{% endfor %}""",
        "<s>[INST]  [/INST] ",
        "<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nSay it. [/INST] ",
    ),
    # A date of its own unless given one; contents are trimmed.
    "llama-3": Case(
        """{{- bos_token }}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}{%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}{%- set date_string = "26 Jul 2024" %}{%- endif %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}{%- set messages = messages[1:] %}
{%- else %}{%- set system_message = "" %}{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\n\nToday Date: " + date_string + "\n\n" }}
{{- system_message + "<|eot_id|>" }}
{%- for message in messages %}
{{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' }}
{{- message['content'] | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{%- endif %}""",
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
        """{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}{%- set loop_messages = messages[1:] %}
{%- else %}{%- set loop_messages = messages %}{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if message == user_messages[-1] and system_message is defined %}
{{- "[INST] " + system_message + "\n\n" + message["content"] + "[/INST]" }}
        {%- else %}{{- "[INST] " + message["content"] + "[/INST]" }}{%- endif %}
    {%- elif message["role"] == "assistant" %}
{{- " " + message["content"]|trim + eos_token}}
    {%- else %}{{- raise_exception("Only user and assistant roles are supported") }}{%- endif %}
{%- endfor %}""",
        "<s>[INST] [/INST] ",
        "<s>[INST] Be brief.\n\nSay it.[/INST] ",
        ("[INST]", "[/INST]"),
    ),
    # A part for the system message; an answer begins without a blank.
    "mistral-v7": Case(
        """{{- bos_token }}
{%- for message in messages %}
    {%- if message['role'] == 'user' %}{{- '[INST]' + message['content'] + '[/INST]' }}
    {%- elif message['role'] == 'system' %}
{{- '[SYSTEM_PROMPT]' + message['content'] + '[/SYSTEM_PROMPT]' }}
    {%- elif message['role'] == 'assistant' %}{{- message['content'] + eos_token }}
    {%- endif %}
{%- endfor %}""",
        "<s>[INST][/INST]",
        "<s>[SYSTEM_PROMPT]Be brief.[/SYSTEM_PROMPT][INST]Say it.[/INST]",
        ("[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"),
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
    # No system message; the role of answers is `model`.
    "gemma-2": Case(
        """{{ bos_token }}{% if messages[0]['role'] == 'system' %}
{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}
{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}
{% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}
{% else %}{% set role = message['role'] %}{% endif %}
{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}
{%- endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}""",
        "<s><start_of_turn>user\n<end_of_turn>\n<start_of_turn>model\n",
        None,
        ("<start_of_turn>", "<end_of_turn>"),
    ),
    # The system message is the beginning of the user's; contents may be lists.
    "gemma-3": Case(
        """{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- set first_user_prefix = messages[0]['content'] + '\n\n' -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}{%- set first_user_prefix = "" -%}{%- set loop_messages = messages -%}{%- endif -%}
{%- for message in loop_messages -%}
    {%- set role = 'model' if message['role'] == 'assistant' else message['role'] -%}
{{ '<start_of_turn>' + role + '\n' + (first_user_prefix if loop.first else "") }}
    {%- if message['content'] is string -%}{{ message['content'] | trim }}
    {%- else -%}{%- for item in message['content'] -%}{{ item['text'] | trim }}{%- endfor -%}
    {%- endif -%}
{{ '<end_of_turn>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{'<start_of_turn>model\n'}}{%- endif -%}""",
        "<s><start_of_turn>user\n<end_of_turn>\n<start_of_turn>model\n",
        "<s><start_of_turn>user\nBe brief.\n\nSay it.<end_of_turn>\n<start_of_turn>model\n",
        ("<start_of_turn>", "<end_of_turn>"),
    ),
    # Tokens for the roles; a template without a new answer ends in EOS.
    "phi-3": Case(
        """{% for message in messages %}
{% if message['role'] == 'system' and message['content'] %}
{{'<|system|>\n' + message['content'] + '<|end|>\n'}}
{%- elif message['role'] == 'user' %}{{'<|user|>\n' + message['content'] + '<|end|>\n'}}
{%- elif message['role'] == 'assistant' %}
{{'<|assistant|>\n' + message['content'] + '<|end|>\n'}}{% endif %}{% endfor %}
{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}""",
        "<|user|>\n<|end|>\n<|assistant|>\n",
        "<|system|>\nBe brief.<|end|>\n<|user|>\nSay it.<|end|>\n<|assistant|>\n",
        ROLES,
    ),
    # No blank or newline between the separator and the answer.
    "phi-4": Case(
        "{% for message in messages %}{% if (message['role'] == 'system') %}"
        "{{'<|im_start|>system<|im_sep|>' + message['content'] + '<|im_end|>'}}"
        "{% elif (message['role'] == 'user') %}"
        "{{'<|im_start|>user<|im_sep|>' + message['content'] + '<|im_end|>'}}"
        "{% elif (message['role'] == 'assistant') %}"
        "{{'<|im_start|>assistant<|im_sep|>' + message['content'] + '<|im_end|>'}}"
        "{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant<|im_sep|>' }}{% endif %}",
        "<|im_start|>user<|im_sep|><|im_end|><|im_start|>assistant<|im_sep|>",
        "<|im_start|>system<|im_sep|>Be brief.<|im_end|><|im_start|>user<|im_sep|>Say it."
        "<|im_end|><|im_start|>assistant<|im_sep|>",
        (*CHATML, "<|im_sep|>"),
    ),
    # Roles as words; the new answer begins without the blank of older ones.
    "falcon": Case(
        """{% for message in messages %}{% if not loop.first %}{{ '\n' }}{% endif %}
{% if message['role'] == 'system' %}{{ 'System: ' + message['content'] }}
{%- elif message['role'] == 'user' %}{{ 'User: ' + message['content'] }}
{%- elif message['role'] == 'assistant' %}{{ 'Falcon: ' + message['content'] }}
{%- endif %}{% endfor %}{% if add_generation_prompt %}{{ '\nFalcon:' }}{% endif %}""",
        "User: \nFalcon: ",
        "System: Be brief.\nUser: Say it.\nFalcon: ",
    ),
    # Two newlines as words; EOS behind every turn.
    "zephyr": Case(
        "{% for message in messages %}\n{% if message['role'] == 'user' %}\n"
        "{{ '<|user|>\n' + message['content'] + eos_token }}\n"
        "{% elif message['role'] == 'system' %}\n"
        "{{ '<|system|>\n' + message['content'] + eos_token }}\n"
        "{% elif message['role'] == 'assistant' %}\n"
        "{{ '<|assistant|>\n'  + message['content'] + eos_token }}\n{% endif %}\n"
        "{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n"
        "{% endfor %}",
        "<|user|>\n</s>\n<|assistant|>\n",
        "<|system|>\nBe brief.</s>\n<|user|>\nSay it.</s>\n<|assistant|>\n",
    ),
    # One line of text; a default system message without a role.
    "vicuna": Case(
        """{% if messages[0]['role'] == 'system' %}{{ messages[0]['content'] + ' ' }}
{%- set messages = messages[1:] %}{% else %}{{ 'A chat between a user and an assistant. ' }}
{%- endif %}{% for message in messages %}
{% if message['role'] == 'user' %}{{ 'USER: ' + message['content'] + ' ' }}
{%- else %}{{ 'ASSISTANT: ' + message['content'] + eos_token }}{% endif %}{% endfor %}
{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}""",
        "A chat between a user and an assistant. USER:  ASSISTANT: ",
        "Be brief. USER: Say it. ASSISTANT: ",
    ),
    # Several tokens a turn.
    "command-r": Case(
        """{{ bos_token }}{% if messages[0]['role'] == 'system' %}
{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}
{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}
{% if system_message != false %}
{{ '<|START_OF_TURN|><|SYSTEM_TOKEN|>' + system_message + '<|END_OF_TURN|>' }}{% endif %}
{% for message in loop_messages %}{% set content = message['content'] %}
{% if message['role'] == 'user' %}
{{ '<|START_OF_TURN|><|USER_TOKEN|>' + content.strip() + '<|END_OF_TURN|>' }}
{%- elif message['role'] == 'assistant' %}
{{ '<|START_OF_TURN|><|CHATBOT_TOKEN|>'  + content.strip() + '<|END_OF_TURN|>' }}
{%- endif %}{% endfor %}
{% if add_generation_prompt %}{{ '<|START_OF_TURN|><|CHATBOT_TOKEN|>' }}{% endif %}""",
        "<s><|START_OF_TURN|><|USER_TOKEN|><|END_OF_TURN|><|START_OF_TURN|><|CHATBOT_TOKEN|>",
        "<s><|START_OF_TURN|><|SYSTEM_TOKEN|>Be brief.<|END_OF_TURN|>"
        "<|START_OF_TURN|><|USER_TOKEN|>Say it.<|END_OF_TURN|><|START_OF_TURN|><|CHATBOT_TOKEN|>",
        ("<|START_OF_TURN|>", "<|END_OF_TURN|>", "<|CHATBOT_TOKEN|>", "<|USER_TOKEN|>"),
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
    # Words as roles, the BOS as in a text.
    "deepseek-v2": Case(
        """{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}
{% endif %}{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}
{{ 'User: ' + message['content'] + '\n\n' }}{% elif message['role'] == 'assistant' %}
{{ 'Assistant: ' + message['content'] + eos_token }}{% elif message['role'] == 'system' %}
{{ message['content'] + '\n\n' }}{% endif %}{% endfor %}
{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}""",
        "<s>User: \n\nAssistant: ",
        "<s>Be brief.\n\nUser: Say it.\n\nAssistant: ",
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
    # A date, a sentence about thinking in the system message.
    "granite-3": Case(
        """{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] %}{%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set system_message = "Today's Date: " + strftime_now('%B %d, %Y') + ".\nYou are Granite." %}
    {%- if thinking %}{%- set system_message = system_message + " Think in <think></think>." %}
    {%- endif %}{%- set loop_messages = messages %}
{%- endif %}
{{- '<|start_of_role|>system<|end_of_role|>' + system_message + '<|end_of_text|>\n' }}
{%- for message in loop_messages %}
{{- '<|start_of_role|>' + message['role'] + '<|end_of_role|>' + message['content'] }}
{{- '<|end_of_text|>\n' }}
    {%- if loop.last and add_generation_prompt %}
{{- '<|start_of_role|>assistant<|end_of_role|>' }}{%- endif %}
{%- endfor %}""",
        "<|start_of_role|>system<|end_of_role|>Today's Date: July 26, 2024.\nYou are Granite."
        "<|end_of_text|>\n<|start_of_role|>user<|end_of_role|><|end_of_text|>\n"
        "<|start_of_role|>assistant<|end_of_role|>",
        "<|start_of_role|>system<|end_of_role|>Be brief.<|end_of_text|>\n"
        "<|start_of_role|>user<|end_of_role|>Say it.<|end_of_text|>\n"
        "<|start_of_role|>assistant<|end_of_role|>",
        ("<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>"),
    ),
    # Roles as words in brackets, another end for the last answer.
    "olmo-2": Case(
        "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'system' %}"
        "{{ '<|system|>\n' + message['content'] + '\n' }}"
        "{% elif message['role'] == 'user' %}{{ '<|user|>\n' + message['content'] + '\n' }}"
        "{% elif message['role'] == 'assistant' %}{% if not loop.last %}"
        "{{ '<|assistant|>\n'  + message['content'] + eos_token + '\n' }}{% else %}"
        "{{ '<|assistant|>\n'  + message['content'] + eos_token }}{% endif %}{% endif %}"
        "{% if loop.last and add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}"
        "{% endfor %}",
        "<s><|user|>\n\n<|assistant|>\n",
        "<s><|system|>\nBe brief.\n<|user|>\nSay it.\n<|assistant|>\n",
    ),
    # A budget of thinking; at 0 a new answer begins with a thought that says so.
    "seed-oss": Case(
        """{%- macro turn(role, content) -%}
{{ bos_token + role + "\n" + content + eos_token }}{%- endmacro -%}
{%- if thinking_budget is not defined %}{%- set thinking_budget = -1 -%}{%- endif -%}
{%- for message in messages %}{{ turn(message.role, message.content) }}{%- endfor %}
{%- if add_generation_prompt %}{{ bos_token + "assistant\n" }}
    {%- if thinking_budget == 0 %}
{{- "<seed:think><seed:budget>The budget is 0.</seed:budget></seed:think>" }}{%- endif %}
{%- endif %}""",
        "<s>user\n</s><s>assistant\n"
        "<seed:think><seed:budget>The budget is 0.</seed:budget></seed:think>",
        "<s>system\nBe brief.</s><s>user\nSay it.</s><s>assistant\n"
        "<seed:think><seed:budget>The budget is 0.</seed:budget></seed:think>",
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
