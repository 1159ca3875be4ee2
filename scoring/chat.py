"""Chat models: the text in front of an answer, and the tokens of a sentence that begins it."""

import json
import re
import resource
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from functools import partial
from itertools import takewhile
from multiprocessing import get_context
from multiprocessing.connection import Connection
from operator import eq
from pathlib import Path
from signal import SIGKILL, SIGXCPU
from typing import Any, NamedTuple, TypeVar

from polyprobe.schema.columns import SENTENCE_START
from polyprobe.scoring.engine import Ids
from polyprobe.scoring.engine.tokens import list_heads, list_ids
from polyprobe.system.files import hash_json, read_toml
from polyprobe.system.messages import PolyprobeError, guess, one_line

from .options import ANSWER, ScoringOptions

# Values of template variables that switch thinking off, if the template has the variable.
WITHOUT_THINKING = {"enable_thinking": False, "thinking": False, "thinking_budget": 0}
Result = TypeVar("Result")
# What a template may take: seconds of processor time, bytes in addition to those of this process
SECONDS, MEMORY = 5, 2**30


class Thought(NamedTuple):
    """How a template writes a thinking part: its tags, and what leads from it to the answer."""

    opens: str
    closes: str
    leads: str = ""


_TAGS = read_toml(__package__, "thoughts.toml")
THOUGHTS = [Thought(f"<{name}>", f"</{name}>") for name in _TAGS["xml"]]
THOUGHTS += [Thought(*tags) for tags in _TAGS["others"]]
# The date of templates that write today's: Llama 3.1's own default. A run is the same on every day.
TODAY = date(2024, 7, 26)
_DATES = re.compile(r"""\bstrftime_now\(\s*(["'])(.*?)\1\s*\)""")
# Variables that every template may read, and those that this module sets.
_COMMON_VARIABLES = {"messages", "tools", "documents", "add_generation_prompt"}
_COMMON_VARIABLES |= {"raise_exception", "strftime_now", "namespace", "range", "dict"}
_ANSWER, QUESTION, _OTHER = "PolyprobeAnswer", "PolyprobeQuestion", "PolyprobeOther"
_ANSWERS = (
    "Paris",
    "The capital of France is Paris. ",
    "法国的首都是巴黎。",
    "Столица — ",
    '7, "b"',
)
_CHANGES = (
    "leaves out, changes or repeats the text of an answer, so that its tokens cannot be found"
)
Messages = Sequence[Mapping[str, str]]


class Chat(NamedTuple):
    """A conversation up to the answer, the same for every row except for a question."""

    # The rendered text, or the messages as JSON, with QUESTION in the place of each row's question
    head: str
    key: str  # a short hash of template and head, for the signature
    settings: dict[str, Any]  # the options and the head, for run.json
    is_json: bool = False  # whether the head is the messages

    def ask(self, question: str) -> str:
        """Return the head with a question in it."""
        text = json.dumps(question, ensure_ascii=False)[1:-1] if self.is_json else question
        return self.head.replace(QUESTION, text)

    def encode(
        self, texts: Sequence[str], tokenizer: Any, questions: Sequence[str] | None = None
    ) -> list[tuple[Ids, Ids]]:
        """Return for each text the ids in front of it and its own, without special tokens."""
        # Head and text are tokenized together, as when a model is trained on them. If the first ids
        # are those of the head, the others are the text's. A blank at the end of the head may be
        # part of the first word's token (`ĠThe`, `▁The`): if the first ids are those of the head
        # without its last blanks, the tokens behind them that are not only blanks are the text's.
        # Otherwise both are tokenized separately, so that no token joins words of both. An empty
        # text has no own ids; the head is then without a blank at its end, which belongs to a word.
        # What is in front of SENTENCE_START belongs to the head.
        parts = [text.rpartition(SENTENCE_START) for text in texts]
        heads = [self.head + part[0] for part in parts]
        if questions is not None:
            heads = [*map(self.ask, questions)]
        texts = [part[2] for part in parts]
        encode = partial(list_ids, tokenizer, special=False)
        sentences = encode([*map(str.__add__, heads, texts)])
        fronts = list_heads(heads, encode)
        rows = zip(sentences, heads, texts, strict=True)
        return [split_ids(ids, head, text, fronts, tokenizer) for ids, head, text in rows]


def split_ids(
    ids: Ids, head: str, text: str, fronts: Mapping[str, Ids], tokenizer: Any
) -> tuple[Ids, Ids]:
    """Split the ids of a text behind a head into those of its context and its own."""
    # Blanks of all kinds begin a word, but spaces alone do not; see `list_heads`.
    front = fronts[head]
    if not text:
        return fronts[head.rstrip(" ")], ()
    if ids[: len(front)] == front:
        return front, ids[len(front) :]
    words = fronts[head.rstrip()]
    if ids[: len(words)] == words:
        places = range(len(words), len(ids))  # the first token that is not only blanks
        n = next((k for k in places if tokenizer.decode([ids[k]]).strip()), len(ids))
        return ids[:n], ids[n:]
    [bare] = list_ids(tokenizer, [text], special=False)
    return front, bare


def render_chat(tokenizer: Any, options: ScoringOptions, model: str) -> Chat | None:
    """Render the conversation by the tokenizer's chat template, up to the answer; None without."""
    # The answer begins where the template puts the text of an unfinished last message of the
    # assistant (`continue_final_message`). If the template begins a new answer with a thinking
    # part, the head is that beginning, and an open thinking part is closed as an empty one.
    # Variables that switch thinking off (`WITHOUT_THINKING`) are set if the template has them and
    # no option does. Where a template writes today's date it is `TODAY`.
    if not options.chat:
        return None
    if not getattr(tokenizer, "chat_template", None):
        raise PolyprobeError(
            f"'{model}' has no chat template: it is not a chat model; leave --chat out"
        )
    try:
        return run_limited(partial(_render_chat, tokenizer, options, model))
    except ExceededError as error:
        raise _refusal(model, str(error)) from error


def _render_chat(tokenizer: Any, options: ScoringOptions, model: str) -> Chat:
    try:
        source = str(tokenizer.get_chat_template())
    except ValueError as error:
        raise PolyprobeError(
            f"'{model}' has several chat templates and no default ({one_line(error)})"
        ) from error
    # a copy of plain lists and dictionaries
    variables = json.loads(json.dumps(dict(options.chat_options or {})))
    variables = _add_defaults(variables, source, model)
    with_date = _DATES.sub(lambda match: json.dumps(TODAY.strftime(match[2])), source)
    template = Template(tokenizer, with_date, variables, model)
    has_question = options.scoring in ("letters", ANSWER)
    messages = _write_messages(options, QUESTION if has_question else "")
    head = template.find_head(messages)
    template.check_messages(messages)
    if has_question:
        template.check_question(options, head)
    return _make_chat(head, options, variables, template=source)


def describe_messages(options: ScoringOptions) -> Chat:
    """Return the messages for a server that applies its own template: the head is their JSON."""
    head = json.dumps(_write_messages(options, QUESTION), ensure_ascii=False)
    return _make_chat(head, options, {})


def _make_chat(head: str, options: ScoringOptions, variables: Any, **template: str) -> Chat:
    texts = {"head": head, "system": options.system, "user": options.user or ""}
    key = hash_json({**template, "head": head})[:16]
    return Chat(head, key, {**texts, "options": variables}, is_json=not template)


def _write_messages(options: ScoringOptions, question: str = "") -> list[dict[str, str]]:
    """Return the messages before the answer; a question is behind the user's own text."""
    system = [] if options.system is None else [{"role": "system", "content": options.system}]
    content = "\n\n".join(filter(None, [options.user, question]))
    return [*system, {"role": "user", "content": content}]


def _add_defaults(options: Mapping[str, Any], template: str, model: str) -> dict[str, Any]:
    """Return the options with those that switch thinking off, where the template has them."""
    from jinja2 import Environment, TemplateError, meta

    # transformers' own tag, which jinja2 itself refuses.
    bare = re.sub(r"\{%[-+]?\s*(end)?generation\s*[-+]?%\}", "", template)
    try:
        tree = Environment(extensions=["jinja2.ext.loopcontrols"]).parse(bare)
        names = meta.find_undeclared_variables(tree) - _COMMON_VARIABLES
    except TemplateError as error:
        raise _refusal(model, f"refuses this conversation ({one_line(error)})") from error
    for name in options:
        if name not in names:
            raise PolyprobeError(
                f"--chat-option {name}: the chat template of '{model}' has no such variable;"
                f"{guess(name, names)} known: {', '.join(sorted(names)) or 'none'}"
            )
    return {**{n: value for n, value in WITHOUT_THINKING.items() if n in names}, **options}


class Template(NamedTuple):
    """A chat template with the values of its variables."""

    tokenizer: Any
    source: str
    options: Mapping[str, Any]
    model: str  # the model's name, for messages

    def write(self, messages: Messages, **options: bool) -> str:
        """Render a conversation."""
        render = partial(self.tokenizer.apply_chat_template, chat_template=self.source)
        try:
            text = str(render([*messages], tokenize=False, **options, **self.options))
            text.encode()  # a lone surrogate cannot be written to run.json
            return text
        except (MemoryError, RecursionError):
            raise
        except Exception as error:  # a template is code and may raise anything
            if "continue_final_message" in str(error):
                raise _refusal(self.model, _CHANGES) from error
            system = any(message["role"] == "system" for message in messages)
            problem = f"refuses this conversation ({one_line(error)})"
            raise _refusal(self.model, problem, "--system" if system else "--chat") from error

    def write_answer(self, messages: Messages, answer: str) -> str:
        """Render the text up to the end of an unfinished answer."""
        message = {"role": "assistant", "content": answer}
        return self.write([*messages, message], continue_final_message=True)

    def find_head(self, messages: Messages) -> str:
        """Return the text in front of an answer, the same for every answer, behind a thought."""
        start = self.write(messages, add_generation_prompt=True)
        head = self.write_answer(messages, _ANSWER).removesuffix(_ANSWER)
        for answer in (_ANSWER, *_ANSWERS):
            # Some templates strip the answer.
            if self.write_answer(messages, answer) not in (head + answer, head + answer.rstrip()):
                raise _refusal(self.model, _CHANGES)
        before = self.write(messages)
        thoughts = _list_thoughts(start, before)
        if thoughts and (not head.startswith(start) or _find_open(head, before)):
            head = _close(start, thoughts)  # the model begins its answers with a thought
        if thought := _find_open(head, before):
            problem = f"puts the answer into a thinking part ({thought.opens}), which cannot be "
            raise _refusal(self.model, f"{problem}scored")
        return head

    def check_messages(self, messages: Messages) -> None:
        """Refuse a message whose text changes nothing; some are commands, such as `/no_think`."""
        for k, message in enumerate(messages):
            if message["content"].strip():
                changed = [*messages[:k], {**message, "content": _OTHER}, *messages[k + 1 :]]
                if self.write_answer(changed, _ANSWER) == self.write_answer(messages, _ANSWER):
                    option = f"--{message['role']}"
                    raise _refusal(self.model, f"drops the text of {option}", option)

    def check_question(self, options: ScoringOptions, head: str) -> None:
        """Refuse a template that changes the text of a question."""
        questions = (*map(str.strip, _ANSWERS), "\nA. ".join(_ANSWERS).strip())
        if head.count(QUESTION) != 1 or any(
            self.find_head(_write_messages(options, question)) != head.replace(QUESTION, question)
            for question in questions
        ):
            raise _refusal(
                self.model,
                "changes or repeats the user's message, so that questions cannot be placed in it",
            )


def _refusal(model: str, problem: str, option: str = "--chat") -> PolyprobeError:
    return PolyprobeError(f"the chat template of '{model}' {problem}; leave {option} out")


def _find_open(text: str, before: str) -> Thought | None:
    """Return the first kind of thinking part that is open at the end of the text."""
    thoughts = _list_thoughts(text, before)
    return next((kind for kind, rest in thoughts if kind.closes not in rest), None)


def _list_thoughts(text: str, before: str) -> list[tuple[Thought, str]]:
    """List each kind of thinking part that begins behind the text in common with `before`."""
    # With it comes the text behind the last one of that kind. A tag in a message is no thought.
    common = sum(takewhile(bool, map(eq, text, before)))
    kinds = [kind for kind in THOUGHTS if kind.opens in text]
    ends = [text.rfind(kind.opens) + len(kind.opens) for kind in kinds]
    pairs = zip(kinds, ends, strict=True)
    return [(kind, text[end:]) for kind, end in pairs if end > common]


def _close(text: str, thoughts: Sequence[tuple[Thought, str]]) -> str:
    r"""Return the beginning of an answer with its thinking part closed as an empty one.

    A thought on lines of its own is closed as by Qwen3's template, with `\n</think>\n\n`. One that
    begins in the line of its tag is closed by the closing tag alone.
    """
    for thought, rest in thoughts:
        if thought.closes not in rest:
            line = "" if rest.endswith("\n\n") else "\n"
            text += f"{line}{thought.closes}\n\n" if rest.endswith("\n") else thought.closes
        if text.endswith(thought.closes):
            text += thought.leads
    return text


class ExceededError(Exception):
    """A call that took too much time or memory, or ended its process."""


def run_limited(call: Callable[[], Result]) -> Result:
    """Return the result of a call in a copy of this process; nothing else of it comes back."""
    context = get_context("fork")
    source, target = context.Pipe(duplex=False)
    process = context.Process(target=_send_result, args=(call, target))
    with warnings.catch_warnings():  # other threads are no part of the copy, which needs none
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    target.close()
    try:
        outcome = source.recv()
    except EOFError:
        process.join()
        late = process.exitcode in (-SIGXCPU, -SIGKILL)
        raise ExceededError(
            f"takes more than {SECONDS} seconds" if late else "ends its process"
        ) from None
    finally:
        process.kill()
        process.join()
    if isinstance(outcome, PolyprobeError | ExceededError):
        raise outcome
    return outcome  # type: ignore[no-any-return]


def _send_result(call: Callable[[], object], target: Connection) -> None:
    with suppress(OSError):  # elsewhere than on Linux memory has no limit
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    try:
        target.send(call())
    except PolyprobeError as error:
        target.send(error)
    except MemoryError:
        target.send(ExceededError(f"takes more than {MEMORY >> 30} GB"))
    except RecursionError as error:
        target.send(ExceededError(f"is nested too deeply ({one_line(error)})"))
    except Exception as error:
        target.send(ExceededError(f"cannot be read ({one_line(error)})"))
