"""Chat models: the text in front of an answer, and the tokens of a sentence that begins it."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date
from functools import partial
from typing import Any, NamedTuple

from polyprobe.system.errors import PolyprobeError, guess, one_line
from polyprobe.system.hashing import hash_json

from .options import ChatOptions

# Values of template variables that switch thinking off, if the template has the variable.
WITHOUT_THINKING = {"enable_thinking": False, "thinking": False, "thinking_budget": 0}


class Thought(NamedTuple):
    """How a template writes a thinking part: its tags, and what leads from it to the answer."""

    opens: str
    closes: str
    leads: str = ""


THOUGHTS = (
    Thought("<think>", "</think>"),
    Thought("<thinking>", "</thinking>"),
    Thought("<thought>", "</thought>"),
    Thought("<reasoning>", "</reasoning>"),
    Thought("<seed:cot_budget_reflect>", "</seed:cot_budget_reflect>"),  # inside the next
    Thought("<seed:think>", "</seed:think>"),
    Thought("<|think|>", "<|/think|>"),
    Thought("[THINK]", "[/THINK]"),
    Thought("◁think▷", "◁/think▷"),
    Thought("<|channel>thought", "<channel|>"),
    Thought("<|inner_prefix|>", "<|inner_suffix|>"),
    Thought("<|START_THINKING|>", "<|END_THINKING|>", "<|START_RESPONSE|>"),
    Thought(
        "<|channel|>analysis<|message|>", "<|end|>", "<|start|>assistant<|channel|>final<|message|>"
    ),
)
# The date of templates that write today's: Llama 3.1's own default. A run is the same on every day.
TODAY = date(2024, 7, 26)
_DATES = re.compile(r"""\bstrftime_now\(\s*(["'])(.*?)\1\s*\)""")
# Variables that every template may read, and those that this module sets.
_GIVEN = {"messages", "tools", "documents", "add_generation_prompt"}
_GIVEN |= {"raise_exception", "strftime_now", "namespace", "range", "dict"}
_ANSWER, QUESTION, _OTHER = "PolyprobeAnswer", "PolyprobeQuestion", "PolyprobeOther"
_ANSWERS = (
    "Paris",
    "The capital of France is Paris. ",
    "法国的首都是巴黎。",
    "Столица — ",
    '7, "b"',
)

Ids = tuple[int, ...]


class Chat(NamedTuple):
    """A conversation up to the answer, the same for every row except for a question.

    Attributes:
        head: the rendered text up to the answer, with QUESTION in the place of each row's question
            (scoring `letters`).
        key: a short hash of template and head, for the signature.
        said: the options and the head, for run.json.
    """

    head: str
    key: str
    said: dict[str, Any]

    def encode(
        self, texts: Sequence[str], tokenizer: Any, questions: Sequence[str] | None = None
    ) -> list[tuple[Ids, Ids]]:
        """Return for each text the ids in front of it and its own, without special tokens.

        Head and text are tokenized together, as when a model is trained on them. If the first ids
        are those of the head, the others are the text's. A blank at the end of the head may be
        part of the first word's token (`ĠThe`, `▁The`): if the first ids are those of the head
        without its last blanks, the tokens behind them that are not only blanks are the text's.
        Otherwise both are tokenized separately, so that no token joins words of both. An empty text
        has no own ids; the head is then without a blank at its end, which belongs to a word.

        Args:
            texts: the beginnings of answers.
            tokenizer: a tokenizer of transformers.
            questions: of each text, if the head has a place for them.
        """
        heads = [self.head] * len(texts)
        if questions is not None:
            if self.head.count(QUESTION) != 1:
                raise ValueError("a conversation without a place for questions")
            heads = [self.head.replace(QUESTION, question) for question in questions]
        fronts = {
            head: _tokenize([head, head.rstrip(), head.rstrip(" ")], tokenizer)
            for head in dict.fromkeys(heads)
        }
        whole = _tokenize(list(map(str.__add__, heads, texts)), tokenizer)
        found: list[tuple[Ids, Ids]] = []
        for head, text, ids in zip(heads, texts, whole, strict=True):
            front, words, bare = fronts[head]
            if not text:
                found.append((bare, ()))
            elif ids[: len(front)] == front:
                found.append((front, ids[len(front) :]))
            elif ids[: len(words)] == words:
                n = _find_word(ids, len(words), tokenizer)
                found.append((ids[:n], ids[n:]))
            else:
                [alone] = _tokenize([text], tokenizer)
                found.append((front, alone))
        return found


def _tokenize(texts: Sequence[str], tokenizer: Any) -> list[Ids]:
    return [tuple(ids) for ids in tokenizer(texts, add_special_tokens=False)["input_ids"]]


def _find_word(ids: Ids, first: int, tokenizer: Any) -> int:
    """Return the place of the first token, from `first` on, that is not only blanks."""
    places = range(first, len(ids))
    return next((k for k in places if tokenizer.decode([ids[k]]).strip()), len(ids))


def render_chat(tokenizer: Any, chosen: ChatOptions, model: str, scoring: str = "bmlama") -> Chat:
    """Return the conversation by the tokenizer's chat template, up to the answer.

    The answer begins where the template puts the text of an unfinished last message of the
    assistant (`continue_final_message`). If the template begins a new answer with a thinking part,
    the head is that beginning, and an open thinking part is closed as an empty one. Variables that
    switch thinking off (`WITHOUT_THINKING`) are set if the template has them and no option does.
    Where a template writes today's date it is `TODAY`.

    Args:
        tokenizer: a tokenizer of transformers.
        chosen: the messages and the values of the template's variables.
        model: the model's name, for messages.
        scoring: in `letters` each row has a question of its own in the user's message.

    Raises:
        PolyprobeError: no template, an option that it does not have, a message that it refuses,
            changes or drops, an answer that it changes or puts into a thinking part.
    """
    template = _read_template(tokenizer, model)
    options = _choose_options(template, chosen.options, model)
    dated = _DATES.sub(lambda found: json.dumps(TODAY.strftime(found[2])), template)
    writer = Writer(tokenizer, dated, options, model)
    asks = scoring == "letters"
    messages = chosen.messages(QUESTION if asks else "")
    head = _find_head(writer, messages)
    _check_said(writer, messages)
    if asks:
        _check_question(writer, chosen, head)
    said = {"head": head, "system": chosen.system, "user": chosen.user, "options": options}
    return Chat(head, hash_json({"template": template, "head": head})[:16], said)


def _read_template(tokenizer: Any, model: str) -> str:
    if not getattr(tokenizer, "chat_template", None):
        raise PolyprobeError(
            f"'{model}' has no chat template: it is not a chat model; leave --chat out"
        )
    try:
        return str(tokenizer.get_chat_template())
    except ValueError as error:
        raise PolyprobeError(
            f"'{model}' has several chat templates and no default ({one_line(error)})"
        ) from error


def _choose_options(template: str, given: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Return the given values and those that switch thinking off.

    Raises:
        PolyprobeError: a name that is no variable of the template.
    """
    known = _list_variables(template, model)
    for name in given:
        if name not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise PolyprobeError(
                f"--chat-option {name}: the chat template of '{model}' has no such variable;"
                f"{guess(name, known)} known: {listed}"
            )
    return {**{n: value for n, value in WITHOUT_THINKING.items() if n in known}, **given}


def _list_variables(template: str, model: str) -> set[str]:
    from jinja2 import Environment, TemplateError, meta

    bare = re.sub(r"\{%[-+]?\s*(end)?generation\s*[-+]?%\}", "", template)  # transformers' own tag
    try:
        tree = Environment(extensions=["jinja2.ext.loopcontrols"]).parse(bare)
        return meta.find_undeclared_variables(tree) - _GIVEN
    except TemplateError as error:
        raise _unusable(model, error) from error


class Writer(NamedTuple):
    """A chat template with the values of its variables.

    Attributes:
        tokenizer: a tokenizer of transformers.
        template: the source.
        options: the values.
        model: the model's name, for messages.
    """

    tokenizer: Any
    template: str
    options: Mapping[str, Any]
    model: str

    def write(self, messages: Sequence[Mapping[str, str]], **how: bool) -> str:
        """Return the text of a conversation.

        Raises:
            PolyprobeError: a conversation that the template refuses, or an answer that it changes.
        """
        write = partial(self.tokenizer.apply_chat_template, chat_template=self.template)
        try:
            return str(write([*messages], tokenize=False, **how, **self.options))
        except Exception as error:  # a template is code and may raise anything
            if "continue_final_message" in str(error):
                raise _changes(self.model) from error
            raise _unusable(self.model, error, messages) from error

    def write_answer(self, messages: Sequence[Mapping[str, str]], answer: str) -> str:
        """Return the text up to the end of an unfinished answer."""
        said = {"role": "assistant", "content": answer}
        return self.write([*messages, said], continue_final_message=True)


def _find_head(writer: Writer, messages: Sequence[Mapping[str, str]]) -> str:
    """Return the text in front of an answer, behind any thinking part."""
    begun = writer.write(messages, add_generation_prompt=True)
    head = _find_answer(writer, messages)
    return _without_thought(head, writer.write(messages), begun, writer.model)


def _find_answer(writer: Writer, messages: Sequence[Mapping[str, str]]) -> str:
    """Return the text in front of an answer, the same for every answer."""
    written = writer.write_answer(messages, _ANSWER)
    head = written.removesuffix(_ANSWER)
    for answer in (_ANSWER, *_ANSWERS):
        found = writer.write_answer(messages, answer)
        if found not in (head + answer, head + answer.rstrip()):
            raise _changes(writer.model)
    return head


def _check_said(writer: Writer, messages: Sequence[Mapping[str, str]]) -> None:
    """Refuse a message whose text changes nothing; some are commands, such as `/no_think`."""
    for message in messages:
        if message["content"].strip():
            others = [{**one, "content": _OTHER} if one is message else one for one in messages]
            if writer.write_answer(others, _ANSWER) == writer.write_answer(messages, _ANSWER):
                option = f"--{message['role']}"
                raise PolyprobeError(
                    f"the chat template of '{writer.model}' drops the text of {option}; "
                    f"leave {option} out"
                )


def _check_question(writer: Writer, chosen: ChatOptions, head: str) -> None:
    """Refuse a template that changes the text of a question."""
    questions = (*map(str.strip, _ANSWERS), "\nA. ".join(_ANSWERS).strip())
    if head.count(QUESTION) != 1 or any(
        _find_head(writer, chosen.messages(question)) != head.replace(QUESTION, question)
        for question in questions
    ):
        raise PolyprobeError(
            f"the chat template of '{writer.model}' changes or repeats the user's message, so "
            "that questions cannot be placed in it; leave --chat out"
        )


def _without_thought(head: str, before: str, begun: str, model: str) -> str:
    """Return the text in front of the answer: behind a thought, if the model begins with one.

    Args:
        head: the text up to the content of an assistant's message.
        before: the conversation without an answer.
        begun: the same with what the template begins a new answer with.
        model: the model's name, for messages.
    """
    thoughts = _list_thoughts(begun, before)
    if thoughts and not (head.startswith(begun) and not _list_open(head, before)):
        head = _close(begun, thoughts)
    for thought in _list_open(head, before):
        raise PolyprobeError(
            f"the chat template of '{model}' puts the answer into a thinking part "
            f"({thought.opens}), which cannot be scored; leave --chat out"
        )
    return head


def _list_open(text: str, before: str) -> list[Thought]:
    return [one for one, behind in _list_thoughts(text, before) if one.closes not in behind]


def _list_thoughts(text: str, before: str) -> list[tuple[Thought, str]]:
    """Return each kind of thinking part that begins behind the text in common with `before`.

    With it comes the text behind the last one of that kind.
    """
    pairs = enumerate(zip(text, before, strict=False))
    common = next((n for n, (a, b) in pairs if a != b), min(len(text), len(before)))
    ends = [(one, text.rfind(one.opens) + len(one.opens)) for one in THOUGHTS if one.opens in text]
    return [(thought, text[end:]) for thought, end in ends if end > common]


def _close(text: str, thoughts: Sequence[tuple[Thought, str]]) -> str:
    r"""Return the beginning of an answer with its thinking part closed as an empty one.

    A thought on lines of its own is closed as by Qwen3's template, with `\n</think>\n\n`. One that
    begins in the line of its tag is closed by the closing tag alone.
    """
    for thought, behind in thoughts:
        if thought.closes not in behind:
            line = "" if behind.endswith("\n\n") else "\n"
            text += f"{line}{thought.closes}\n\n" if behind.endswith("\n") else thought.closes
        if text.endswith(thought.closes):
            text += thought.leads
    return text


def _changes(model: str) -> PolyprobeError:
    return PolyprobeError(
        f"the chat template of '{model}' leaves out, changes or repeats the text of an answer, "
        "so that its tokens cannot be found; leave --chat out"
    )


def _unusable(
    model: str, error: Exception, messages: Sequence[Mapping[str, str]] = ()
) -> PolyprobeError:
    option = "--system" if any(one["role"] == "system" for one in messages) else "--chat"
    return PolyprobeError(
        f"the chat template of '{model}' refuses this conversation ({one_line(error)}); "
        f"leave {option} out"
    )
