"""Families that answer at once."""

from .case import CHATML, ROLES, Case

ANSWERING = {
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
}
