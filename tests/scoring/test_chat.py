"""Chat templates: the text in front of an answer, and which tokens are scored: the sentence's."""

import copy
from functools import cache
from importlib.resources import files

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig

from polyprobe.eval import load_scorer
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.rows import choose_rows
from polyprobe.scoring.chat import THOUGHTS, render_chat
from polyprobe.scoring.options import ScorerOptions, parse_chat_options
from polyprobe.system.messages import PolyprobeError
from tests.making import tiny
from tests.scoring import plain
from tests.scoring.templates import CASES

GEOLM = str(files("polyprobe.eval.embedded") / "geolm")
PROMPTS = [
    "The capital of France is [Y].",
    "[Y] is a city.",
    "Столица Франции — [Y].",
    "[Y]是法国的首都。",
    "عاصمة فرنسا هي [Y]",
    '"[Y]" is written so.',
]
CANDIDATES = [["Paris", "Rome"], ["Paris", "New York"], ["Париж", "Рим"], ["巴黎", "北京"]]
CANDIDATES += [["باريس", "روما"], ["Paris", "東京"]]
SPECIAL = list(dict.fromkeys(text for case in CASES.values() for text in case.special))
PLAIN = "{{ bos_token }}{% for m in messages %}{% if m.role == 'assistant' %}{{ m.content }}"
PLAIN += "{% endif %}{% endfor %}"
CHATML = CASES["yi"].template


def metaspace():
    text = [*tiny.TEXT, "USER: ASSISTANT: \n Today Date:"]
    special = ["<s>", "</s>", "<unk>", "\n"]
    return tiny.unigram(text, special, "<s> $A", bos_token="<s>", eos_token="</s>")


TOKENIZERS = {
    "geolm": lambda: AutoTokenizer.from_pretrained(GEOLM),
    "byte-level": lambda: tiny.byte_level(tiny.TEXT),
    "metaspace": metaspace,
}


@cache
def make(kind):
    tokenizer = TOKENIZERS[kind]()
    tokenizer.add_tokens(SPECIAL, special_tokens=True)
    torch.manual_seed(5)
    if kind == "geolm":
        model = AutoModelForCausalLM.from_pretrained(GEOLM, dtype=torch.float32)
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    else:
        config = LlamaConfig(vocab_size=len(tokenizer), intermediate_size=48, **tiny.SMALL)
        model = AutoModelForCausalLM.from_config(config)
    return model.eval(), tokenizer


def engage(kind, template, scoring="bmlama", **options):
    model, tokenizer = make(kind)
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.chat_template = template
    return load_scorer(model, tokenizer=tokenizer, scoring=scoring, chat=True, **options)


def split(tokenizer, head, text):
    found = tokenizer(head + text, add_special_tokens=False, return_offsets_mapping=True)
    pairs = zip(found["input_ids"], found["offset_mapping"], strict=True)
    own = [(token, start) for token, (start, end) in pairs if end > len(head)]
    assert not own or not head[own[0][1] :].strip(), "a token joins words of both"
    ids = [token for token, _ in own]
    return found["input_ids"][: len(found["input_ids"]) - len(ids)], ids


@torch.inference_mode()
def plain_scores(model, context, own):
    logits = model(torch.tensor([[*context, *own]]), use_cache=False).logits[0].double()
    table = torch.log_softmax(logits, -1)
    return [table[len(context) + k - 1, token].item() for k, token in enumerate(own)]


def bare(tokenizer, text):
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def sentences():
    return [
        (p, c, p.replace("[Y]", c)) for p, row in zip(PROMPTS, CANDIDATES, strict=True) for c in row
    ]


def talk(system=None, user=None, options=None, scoring="bmlama"):
    values = {"system": system, "user": user, "chat_options": options, "scoring": scoring}
    return ScorerOptions(chat=True, **values)


@pytest.mark.parametrize("name", CASES)
def test_the_text_in_front_of_the_answer(name):
    case, (_, tokenizer) = CASES[name], make("geolm")
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.chat_template = case.template
    assert render_chat(tokenizer, talk(), name).head == case.alone
    asked = talk("Be brief.", "Say it.")
    if case.said is None:
        with pytest.raises(PolyprobeError, match="System role not supported"):
            render_chat(tokenizer, asked, name)
    else:
        assert render_chat(tokenizer, asked, name).head == case.said


@pytest.mark.parametrize("kind", TOKENIZERS)
@pytest.mark.parametrize("name", CASES)
def test_only_tokens_of_the_sentence_are_scored(name, kind):
    scorer, case = engage(kind, CASES[name].template), CASES[name]
    plan = scorer.prepare(PROMPTS, CANDIDATES).plan
    read = {}
    for row, reads in plan.reads.items():
        places = dict(zip(reads.positions, reads.targets, strict=True))
        first, last = min(places), max(places)
        ids = (*row.ids[: first + 1], *(places[at] for at in range(first, last + 1)))
        assert ids[:-1] == row.ids  # the model reads the tokens whose probability is read
        read[ids] = first + 1
    for _, _, sentence in sentences():
        context, own = split(scorer.tokenizer, case.alone, sentence)
        assert read[(*context, *own)] == len(context)
        written = scorer.tokenizer.decode(own)
        assert not any(tag in written for thought in THOUGHTS for tag in thought[:2])
        if kind != "metaspace":  # which does not decode all blanks
            assert written.strip() == sentence
    assert len(read) == len({*sentences()})


@pytest.mark.parametrize("name", CASES)
def test_scores_are_those_of_a_plain_forward_pass(name):
    scorer = engage(
        "geolm",
        CASES[name].template,
        system=None if CASES[name].said is None else "Be brief.",
        user="Say it.",
    )
    head = scorer.chat.head
    got = [score for row in scorer.score(PROMPTS, CANDIDATES) for score in row]
    want = [
        plain_scores(scorer.model, *split(scorer.tokenizer, head, s)) for _, _, s in sentences()
    ]
    assert got == pytest.approx([sum(values) / len(values) for values in want], abs=2e-5)


BEHIND = ("qwen3", "llama-2", "gemma-2", "deepseek-r1", "mistral-v7")


@pytest.mark.parametrize("name", BEHIND)
@pytest.mark.parametrize("kind", TOKENIZERS)
def test_the_object_alone_behind_the_conversation(name, kind):
    """The ids of conversation and prompt without its blanks, then those of the candidate."""
    scorer = engage(kind, CASES[name].template, "object")
    got = [score for row in scorer.score(PROMPTS, CANDIDATES) for score in row]
    want = []
    for prompt, candidate, _ in sentences():
        before = prompt[: prompt.index("[Y]")]
        front = bare(scorer.tokenizer, (CASES[name].alone + before).rstrip(" "))
        own = plain.object_pieces(scorer.tokenizer, before, candidate)
        want.append(sum(plain_scores(scorer.model, front, own)))
    assert got == pytest.approx(want, abs=1e-4)


@pytest.mark.parametrize("name", BEHIND)
def test_the_first_piece_behind_the_conversation(name):
    scorer = engage("geolm", CASES[name].template, "contrastive")
    got = [score for row in scorer.score(PROMPTS, CANDIDATES) for score in row]
    want = []
    for prompt, candidate, _ in sentences():
        stem = prompt[: prompt.index("[Y]")]
        text = CASES[name].alone + stem.rstrip() if stem else CASES[name].alone.rstrip(" ")
        piece = plain.first_piece(scorer.tokenizer, prompt, candidate)
        want += plain_scores(scorer.model, bare(scorer.tokenizer, text), [piece])
    assert got == pytest.approx(want, abs=1e-5)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.said])
def test_letters_are_read_behind_the_question_of_the_user(name):
    asked = {"system": "Be brief.", "user": "Say it."}
    scorer = engage("geolm", CASES[name].template, "letters", **asked)
    [row, turned] = scorer.prepare(PROMPTS[:1], CANDIDATES[:1]).plan.reads.items()
    for first, second in (("Paris", "Rome"), ("Rome", "Paris")):
        question = f"The capital of France is ___.\nA. {first}\nB. {second}"
        text = CASES[name].said.replace("Say it.", f"Say it.\n\n{question}") + "Answer:"
        ids = bare(scorer.tokenizer, text)
        [reads] = [found for one, found in (row, turned) if [*one.ids] == ids]
        assert {*reads.positions} == {len(ids) - 1}
        assert [scorer.tokenizer.decode([x]) for x in sorted(reads.targets)] == [" A", " B"]


@pytest.mark.parametrize("scoring", ["bmlama", "object", "contrastive"])
def test_no_token_is_appended(scoring):
    """By a tokenizer that ends every text with EOS: the sentence is not over."""
    tokenizer = tiny.unigram(
        tiny.TEXT, ["<s>", "</s>", "<unk>"], "<s> $A </s>", bos_token="<s>", eos_token="</s>"
    )
    assert tokenizer("Paris")["input_ids"][-1] == tokenizer.eos_token_id
    tokenizer.chat_template = PLAIN
    config = LlamaConfig(vocab_size=len(tokenizer), intermediate_size=48, **tiny.SMALL)
    model = AutoModelForCausalLM.from_config(config)
    scorer = load_scorer(model, tokenizer=tokenizer, scoring=scoring, chat=True)
    plan = scorer.prepare(["The capital is [Y]"], [["Paris"]]).plan
    [(row, reads)] = plan.reads.items()
    texts = {
        "object": ("<s>The capital is", "Paris"),
        "contrastive": ("<s>The capital is", "Paris"),
    }
    front, own = texts.get(scoring, ("<s>", "The capital is Paris"))
    front, own = bare(tokenizer, front), bare(tokenizer, own)
    own = own[:1] if scoring == "contrastive" else own
    assert [*row.ids, reads.targets[-1]] == [*front, *own]
    assert reads.targets == own


@pytest.mark.parametrize("scoring", ["bmlama", "object", "object-bytes", "contrastive"])
def test_a_template_that_adds_nothing_changes_no_score(scoring):
    """BOS and the sentence, as geolm is trained: the scores without a chat, to the last bit."""
    _, tokenizer = make("geolm")
    model, tokenizer = AutoModelForCausalLM.from_pretrained(GEOLM), copy.deepcopy(tokenizer)
    tokenizer.chat_template = PLAIN
    chat, text = (
        load_scorer(model.float(), tokenizer=tokenizer, scoring=scoring, chat=chat)
        for chat in (True, False)
    )
    for table in load_facts("geofacts", None, ["en", "ru", "zh"]).values():
        rows = table.take(choose_rows(table, sample=30)).to_pylist()
        asked = [row["prompt"] for row in rows], [row["candidates"] for row in rows]
        want = text.score(*asked)
        assert len({score for row in want for score in row}) > 100
        for got, row in zip(chat.score(*asked), want, strict=True):
            assert got == pytest.approx(row, abs=1e-6)


def test_words_of_both_are_never_one_token():
    """A tokenizer that joins `:` and `"` tokenizes the sentence alone behind such a head."""
    tokenizer = tiny.byte_level([*tiny.TEXT, *['Answer:"Paris"'] * 9])
    assert ':"' in tokenizer.tokenize('Answer:"Paris"')
    tokenizer.chat_template = "{% for m in messages %}{{ m.role + ':' + m.content }}{% endfor %}"
    chat = render_chat(tokenizer, talk(), "m")
    assert chat.head == "user:assistant:"
    both = bare(tokenizer, chat.head), bare(tokenizer, '"Paris"')
    assert chat.encode(['"Paris"'], tokenizer) == [tuple(map(tuple, both))]


def test_two_newlines_are_split_as_in_a_text():
    """GPT-2's rule splits the newlines in front of a word that are one token at the end."""
    tokenizer = tiny.byte_level([*tiny.TEXT, *["a.\n\n"] * 9])
    tokenizer.chat_template = "{% for m in messages %}{{ m.role + '\n\n' + m.content }}{% endfor %}"
    chat = render_chat(tokenizer, talk(), "m")
    newlines = bare(tokenizer, "\n\n"), bare(tokenizer, "\n")
    assert [len(ids) for ids in newlines] == [1, 1]
    [(front, own)] = chat.encode(["Paris"], tokenizer)
    assert front == (*bare(tokenizer, "user\n\nassistant"), *newlines[1] * 2)
    assert own == tuple(bare(tokenizer, "Paris"))


def test_thinking_that_is_asked_for_is_closed():
    """By an option; the thought of DeepSeek-V3.1 is then opened in its line."""
    _, tokenizer = make("geolm")
    for name, option, end in [
        ("qwen3", "enable_thinking", "assistant\n<think>\n\n</think>\n\n"),
        ("deepseek-v3.1", "thinking", "<｜Assistant｜><think></think>"),
        ("glm-4.5", "enable_thinking", "<|user|>\n<|assistant|>\n<think></think>\n"),
        ("hunyuan", "enable_thinking", "<｜User｜><｜Assistant｜>"),
        ("seed-oss", "thinking_budget", "<s>assistant\n"),
    ]:
        tokenizer = copy.deepcopy(tokenizer)
        tokenizer.chat_template = CASES[name].template
        chosen = talk(options={option: 9 if "budget" in option else True})
        assert render_chat(tokenizer, chosen, name).head.endswith(end)


def test_a_command_in_a_message_is_not_dropped():
    """Nemotron's template takes `/no_think` out of the text, and the thought with it."""
    tokenizer = copy.deepcopy(make("geolm")[1])
    tokenizer.chat_template = CASES["nemotron-nano"].template
    head = render_chat(tokenizer, talk("/no_think"), "m").head
    assert head.endswith("<SPECIAL_11>Assistant\n<think></think>")
    assert "no_think" not in head


def test_instructions_about_thinking_are_no_thought():
    _, tokenizer = make("geolm")
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.chat_template = CHATML
    chat = render_chat(tokenizer, talk("Begin with <think>."), "m")
    assert chat.head.endswith(
        "Begin with <think>.<|im_end|>\n<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n"
    )


def test_what_a_run_depends_on():
    """The head and the template, nothing else; no default of a chat hides behind another."""
    _, tokenizer = make("geolm")
    keys = set()
    for template in (CHATML, CHATML + " ", CASES["qwen2"].template):
        for chosen in (talk(), talk("Be brief."), talk(None, "Be brief.")):
            tokenizer = copy.deepcopy(tokenizer)
            tokenizer.chat_template = template
            keys.add(render_chat(tokenizer, chosen, "m").key)
            assert render_chat(tokenizer, chosen, "m") == render_chat(tokenizer, chosen, "n")
    assert len(keys) == 9
    assert all(len(key) == 16 for key in keys)


SAYS = "{% for m in messages %}{{ m.role + ': ' + m.content + '\n' }}{% endfor %}"
UNUSABLE = {
    "none": (None, {}, "'m' has no chat template"),
    "several": ({"tool_use": SAYS}, {}, "'m' has several chat templates and no default"),
    "syntax": ("{% for m in messages %}", {}, "the chat template of 'm' refuses this conversation"),
    "raises": (
        SAYS + "{{ raise_exception('no') }}",
        {},
        r"refuses this conversation \(no\); leave --chat",
    ),
    "no system": (CASES["gemma-2"].template, {"system": "Hi"}, r"supported\); leave --system out"),
    "drops system": (
        SAYS.replace("{{", "{% if m.role != 'system' %}{{").replace(
            "{% endfor", "{% endif %}{% endfor"
        ),
        {"system": "Hi"},
        "drops the text of --system; leave --system out",
    ),
    "drops user": (PLAIN, {"user": "Hi"}, "drops the text of --user; leave --user out"),
    "drops answer": (SAYS.replace("m.content", "'x'"), {}, "leaves out, changes or repeats"),
    "answers first": (
        "{{ messages[-1].content }}{% for m in messages %}{{ m.content }}{% endfor %}",
        {},
        "changes or repeats the text of an answer",
    ),
    "thinks": (SAYS.replace("': '", "': <think>'"), {}, r"into a thinking part \(<think>\)"),
    "option": (
        CASES["qwen3"].template,
        {"options": {"enable_thinkin": False}},
        "has no such variable; did you mean 'enable_thinking'[?] known: .*enable_thinking",
    ),
    "no options": (SAYS, {"options": {"messages": 1}}, "no such variable; known: none"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_templates_that_cannot_be_used(name):
    template, chosen, message = UNUSABLE[name]
    tokenizer = copy.deepcopy(make("geolm")[1])
    tokenizer.chat_template = template
    with pytest.raises(PolyprobeError, match=message) as error:
        render_chat(tokenizer, talk(**chosen), "m")
    assert "\n" not in str(error.value)


def test_questions_need_a_message_that_is_not_changed():
    tokenizer = copy.deepcopy(make("geolm")[1])
    loud = "(m.content | upper if m.role == 'user' else m.content)"
    tokenizer.chat_template = SAYS.replace("m.content", loud)
    with pytest.raises(PolyprobeError, match="changes or repeats the user's message"):
        render_chat(tokenizer, talk(scoring="letters"), "m")
    refused = "{% if not m.content %}{{ raise_exception('empty') }}{% endif %}"
    tokenizer.chat_template = SAYS.replace("{{", refused + "{{", 1)
    head = render_chat(tokenizer, talk(scoring="letters"), "m").head
    assert head.count("PolyprobeQuestion") == 1
    with pytest.raises(PolyprobeError, match="refuses this conversation .empty"):
        render_chat(tokenizer, talk(), "m")


REFUSED = {
    "--chat-option must be a dictionary or None, got": {"chat": True, "chat_options": "a=1"},
    "the chat options are {'a': nan}": {"chat": True, "chat_options": {"a": float("nan")}},
}


@pytest.mark.parametrize("message", REFUSED)
def test_options_that_exclude_each_other(message):
    with pytest.raises(PolyprobeError, match=message):
        ScorerOptions(**REFUSED[message])


def test_a_run_without_a_chat_has_no_conversation():
    assert render_chat(make("geolm")[1], ScorerOptions(), "m") is None


def test_values_on_the_command_line():
    texts = {"true": True, "false": False, "0": 0, "-1.5": -1.5, "007": "007", "1e3": "1e3"}
    texts |= {"": "", "a=b": "a=b", '"x"': '"x"', "NaN": "NaN", "9" * 16: "9" * 16, "True": "True"}
    assert parse_chat_options([f"k{n}={t}" for n, t in enumerate(texts)]) == {
        f"k{n}": value for n, value in enumerate(texts.values())
    }
    for wrong in ("thinking", "=1", ""):
        with pytest.raises(PolyprobeError, match="expected KEY=VALUE"):
            parse_chat_options([wrong])


@pytest.mark.parametrize("kind", ["bert", "t5"])
def test_models_that_do_not_continue_text(kind, scorers):
    with pytest.raises(PolyprobeError, match="--chat is for decoder-only models, .* is"):
        scorers(kind, chat=True)


# What a template of a stranger costs without limits: no end, 5 GB, a stack.
COSTLY = {
    "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(99) %}{% endfor %}"
    "{% endfor %}{% endfor %}": "takes more than 5 seconds; leave --chat out",
    "{{ 'a' * 3000000000 }}": "takes more than 1 GB; leave --chat out",
    "{{ 'a' * (messages | length * 3000000000) }}": "takes more than 1 GB",
    "{{ 'a' | center(3000000000) }}": "takes more than 1 GB",
    "{{ '%3000000000d' | format(1) }}": "takes more than 1 GB",
    "{% set n = namespace(x=[1]) %}{% for a in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}": (
        "takes more than 1 GB"
    ),
    "{% for a in range(10 ** 12) %}{% endfor %}": "Range too big",
    "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}": "is nested too deeply",
    "{{ " + "(" * 20_000 + "1" + ")" * 20_000 + " }}": "is nested too deeply",
    "{% if 1 %}" * 3000 + "{% endif %}" * 3000: "is nested too deeply",
    "\ud800": "surrogates not allowed",
    "{{ '\\ud800' }}": "surrogates not allowed",
    "{{ strftime_now('%\ud800') }}": "cannot be read ('utf-8' codec can't encode",
}


@pytest.mark.parametrize("number", range(len(COSTLY)))
def test_templates_of_strangers_have_limits(number):
    template, message = [*COSTLY.items()][number]
    with pytest.raises(PolyprobeError) as error:
        engage("byte-level", template + CHATML)
    assert str(error.value).startswith("the chat template of 'LlamaForCausalLM (in memory)' ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)
