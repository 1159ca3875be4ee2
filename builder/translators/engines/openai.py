"""Servers with OpenAI's chat API: few-shot prompts with translated names.

Names to be inflected follow the Fluent-mLAMA paper (arXiv 2510.15115, appendix A); wording is ours.
"""

import hashlib
import json
import os
import re
import tomllib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from polyprobe.system import sending
from polyprobe.system.files import read_toml, read_user_text
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.text import hide_secrets

from ..codes import match_code, name_language
from ..translator import Job, Terms, Translator

SERVICE = "https://api.openai.com/v1"
KEY, ADDRESS = "OPENAI_API_KEY", "OPENAI_BASE_URL"
# Error codes of a single sentence; their HTTP status would otherwise stop a run.
OF_A_SENTENCE = ("content_filter", "content_policy_violation", "context_length_exceeded")
TEXTS = read_toml(__package__, "openai.toml")
REMEDIES = {int(status): remedy for status, remedy in TEXTS["remedies"].items()}
LABEL = "Translation:"
THOUGHTS = re.compile(r"<think>.*?</think>", re.DOTALL)
REFUSAL = re.compile("|".join(TEXTS["refusals"]), re.IGNORECASE)
DEFAULT = "default"  # the temperature of a model that accepts no other
ALL = "all"  # section of the relations without one of their own
LIMIT = 20  # as many as Fluent-mLAMA's prompts have (appendix A)


class Example(NamedTuple):
    """A sentence with a good translation; `terms` are {source label: target label}."""

    sentence: str
    translation: str
    terms: Mapping[str, str] = {}


class ExampleFile(NamedTuple):
    """The examples of a file."""

    file: Path
    hash: str  # SHA-256
    sections: dict[str, dict[str, tuple[Example, ...]]]  # language → relation or `all` → examples

    def check(self, language: str) -> None:
        """Refuse a language without a section."""
        if language not in self.sections:
            languages = ", ".join(self.sections) or "none"
            text = f"{self.file} has no examples for {language!r}; it has {languages}"
            raise PolyprobeError(text)

    def choose(self, language: str, relation: str) -> tuple[Example, ...]:
        """Return the examples of a relation, else those of `all`; PolyprobeError without both."""
        self.check(language)
        section = self.sections[language]
        for name in (relation, ALL):
            if name in section:
                return section[name]
        heading = f"[[{language}.{relation}]] or " if relation else ""
        raise PolyprobeError(
            f"{self.file} has no {heading}[[{language}.{ALL}]]; add one, or `{ALL} = []` under "
            f"[{language}] to translate without examples"
        )


class OpenAI(Translator):
    """A language model of an OpenAI-compatible server; one request for each sentence."""

    # The key is read from the environment variable OPENAI_API_KEY and never stored.

    name = "openai"
    uses_terms = True
    timeout = 60.0

    def __init__(
        self,
        *,
        model: str,  # its name on the server
        base_url: str = "",  # up to `/v1` (default: OPENAI_BASE_URL, then OpenAI's own)
        temperature: str = "0",  # so that a text can be made again; `default` leaves it out
        max_tokens: int | None = None,  # of the answer, None for the server's own limit
        # A TOML file with sections by language and relation (default: our own examples).
        examples: str | None = None,
        system: str = "false",  # `true`: task and examples are a system message
    ) -> None:
        address = base_url or os.environ.get(ADDRESS) or SERVICE
        self._base = sending.check_address(self.name, address)
        self._shown = hide_secrets(self._base)
        self._model = model
        if str(temperature) not in ("0", DEFAULT):
            raise PolyprobeError(
                f"{temperature!r} for temperature of the translator openai; expected 0, or "
                f"'{DEFAULT}' to leave it out"
            )
        self._extra: dict[str, Any] = {} if max_tokens is None else {"max_tokens": max_tokens}
        self._extra |= {} if temperature == DEFAULT else {"temperature": 0.0}
        settings = json.dumps(self._extra, sort_keys=True)
        self.signature = f"openai {model} at {self._shown} {settings}"
        if system not in ("true", "false"):
            raise PolyprobeError(f"{system!r} for system of the translator openai; true or false")
        self._system = system == "true"
        self._own = None if examples is None else read_example_file(Path(examples))
        self.signature += f" examples {self._own.hash[:12]}" if self._own else ""
        self.signature += " system" * self._system
        self.advice = f"check the server {self._shown}"

    def check(self, source: str, target: str) -> tuple[str, str]:
        """Return the codes unchanged; every language with an English name is available."""
        name_language(source), name_language(target)
        if self._own:
            self._own.check(target)
        return source, target

    def sign(self, source: str, target: str, relation: str = "") -> str:
        """Return `signature` and the hash of the prompt with the examples of the relation."""
        prompt = "\n\n".join(self._write(Job(b"", "", {}, relation), source, target))
        return f"{self.signature} {hashlib.sha256(prompt.encode()).hexdigest()}"

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[None]:
        """Hold the client open."""
        if not os.environ.get(KEY) and self._base == SERVICE:
            raise PolyprobeError(f"no key for {self._shown}: set the variable {KEY}")
        async with sending.open_client(self.timeout, KEY) as self._client:
            yield

    async def ask(self, batch: Sequence[Job], source: str, target: str) -> list[str]:
        """Return the cleaned text of one sentence."""
        [job] = batch
        task, block = self._write(job, source, target)
        # One message by default: not every chat template accepts a system message.
        parts = {"system": task, "user": block} if self._system else {"user": f"{task}\n\n{block}"}
        messages: list[Any] = [{"role": role, "content": text} for role, text in parts.items()]
        body = {"model": self._model, "messages": messages, **self._extra}
        name = f"{self.name} ({self._shown}, model {self._model})"
        url = sending.extend(self._base, "/chat/completions")
        with sending.http_failures(name, REMEDIES, "no message in it"):
            answer = await self._client.post(url, json=body)
            code = read_code(answer.text) if answer.is_error else ""
            if code in OF_A_SENTENCE:
                raise sending.BrokenAnswerError(f"refused with {code}")
            if code == "insufficient_quota":  # a 429 that waiting does not resolve
                raise PolyprobeError(f"{name}: the account has no credit left; add some")
            content = read_content(answer.raise_for_status().json()["choices"][0])
        return [clean_answer(content, job.sentence, name_language(target))]

    def _write(self, job: Job, source: str, target: str) -> tuple[str, str]:
        languages = name_language(source), name_language(target)
        examples = self._own and self._own.choose(target, job.relation)
        if examples is None:  # not (), which a file may have
            examples = read_examples(source, target)
        return write_prompt(job.sentence, job.terms, languages, examples)


def read_code(text: str) -> str:
    """Return the code of an error, "" without one."""
    try:
        return str(json.loads(text)["error"]["code"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""


def read_content(choice: Mapping[str, Any]) -> str:
    """Return the text of an answer of the chat API, "" for an empty message."""
    message, reason = choice["message"], choice.get("finish_reason")
    content = message.get("content")
    if message.get("refusal") or reason == "content_filter":
        raise sending.BrokenAnswerError("a refusal")
    if reason == "length":
        raise sending.BrokenAnswerError("cut short by the limit of tokens")
    if not isinstance(content, str | None):
        raise sending.BrokenAnswerError("no text in it")
    return content or ""


def write_prompt(
    sentence: str, terms: Terms, languages: tuple[str, str], examples: Sequence[Example] = ()
) -> tuple[str, str]:
    """Return the task with the examples, and the sentence with its translation open."""
    # `languages` are the English names of source and target.
    shots = [f"{_write_block(e.sentence, e.terms)} {e.translation}" for e in examples]
    task = TEXTS["task"].format(source=languages[0], target=languages[1])
    return "\n\n".join([task, *shots]), _write_block(sentence, terms)


def _write_block(sentence: str, terms: Mapping[str, str]) -> str:
    names = "; ".join(f"{label} = {translated}" for label, translated in terms.items())
    lines = [f"Names: {names}"] if names else []
    return "\n".join([f"Sentence: {sentence}", *lines, LABEL])


@cache
def read_examples(source: str, target: str) -> tuple[Example, ...]:
    """Return our examples of a pair; they are from English into a few languages."""
    tables = read_toml(__package__, "openai_examples.toml")
    language = match_code(target, tables)
    return tuple(Example(**row) for row in tables[language]) if source == "en" and language else ()


def clean_answer(answer: str, sentence: str, target: str) -> str:
    """Return the sentence in an answer, without label, surrounding quotes and reasoning.

    >>> clean_answer('Spanish: "Oslo está en Noruega."', "Oslo is in Norway.", "Spanish")
    'Oslo está en Noruega.'
    """
    # Quotes or a label of the source `sentence` are kept.
    text = THOUGHTS.sub("", answer)
    lines = [line.strip() for line in text.splitlines() if line.strip(" `\t")]
    lines = [line for line in lines if not line.startswith("```")]
    if not sentence.endswith(":"):  # introductions: `Here is the translation:`
        lines = [line for line in lines if not line.endswith((":", ":**"))]
    if len(lines) > 1:
        raise sending.BrokenAnswerError("several lines")
    text = _strip(lines[0], sentence, target) if lines else ""
    if REFUSAL.match(text) and not REFUSAL.match(sentence):
        raise sending.BrokenAnswerError("a refusal")
    return text


def _strip(text: str, sentence: str, target: str) -> str:
    text = text.replace("**", "") if "**" not in sentence else text
    text = text.rpartition(LABEL)[2].strip() if LABEL not in sentence else text
    for label in (f"{target}:", f"{target} translation:"):
        if text.lower().startswith(label.lower()) and not sentence.startswith(label):
            text = text[len(label) :].strip()
    pair = text[:1] + text[-1:]
    quoted = len(text) > 1 and pair in TEXTS["quotes"] and pair[0] not in text[1:-1]
    return text[1:-1].strip() if quoted and sentence[:1] not in "\"'“„«‘" else text


def read_example_file(file: Path) -> ExampleFile:
    """Return the examples of a TOML file (`_expect` states its form; `terms` may be left out)."""
    try:
        tables = tomllib.loads(read_user_text(file, "examples"))
    except tomllib.TOMLDecodeError as error:
        raise PolyprobeError(f"examples={file} is not TOML: {error}") from error
    sections = {}
    for language, parts in tables.items():
        _expect(isinstance(parts, dict), file, language)
        names = {name: f"{language}.{name}" for name in parts}
        sections[language] = {x: _read_section(file, names[x], parts[x]) for x in parts}
    return ExampleFile(file, hashlib.sha256(file.read_bytes()).hexdigest(), sections)


def _read_section(file: Path, name: str, rows: Any) -> tuple[Example, ...]:
    _expect(isinstance(rows, list), file, name)
    if len(rows) > LIMIT:
        text = f"{file}: [[{name}]] has {len(rows)} examples; expected {LIMIT} at most"
        raise PolyprobeError(text)
    examples: list[Example] = []
    for number, row in enumerate(rows, 1):
        try:
            examples.append(Example(**row))
            sentence, translation, terms = examples[-1]
            texts = [sentence, translation, *terms, *terms.values()]
        except (AttributeError, TypeError):  # other keys or types
            texts = [""]
        good = all(isinstance(x, str) and x.strip() for x in texts)
        _expect(good, file, f"{name}, example {number}")
    return tuple(examples)


def _expect(good: bool, file: Path, name: str) -> None:
    if not good:
        raise PolyprobeError(
            f"{file}: {name}: expected [[LANGUAGE.RELATION]] or [[LANGUAGE.{ALL}]] with sentence, "
            'translation and, if any, terms = { "London" = "Londres" }'
        )
