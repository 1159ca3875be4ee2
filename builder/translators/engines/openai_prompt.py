"""The prompt for a language model: task, examples, and a sentence with its names translated.

Giving the translations of names, to be inflected in the sentence, follows the Fluent-mLAMA paper
(arXiv 2510.15115, appendix A); wording and examples are ours.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from polyprobe.builder.translators.codes import match

TASK = (
    "Translate from {source} into {target}. Each sentence comes with its names and what they are "
    "called in {target}: use these and no others, in the grammatical form that the sentence asks "
    "for, with the articles and prepositions that {target} needs. Verbs and adjectives agree with "
    "the names in gender and number. Answer with the translated sentence alone, on one line."
)
LABEL = "Translation:"


class Example(NamedTuple):
    """A sentence with a good translation; `terms` are {source label: target label}."""

    sentence: str
    terms: Mapping[str, str]
    translation: str


def write_prompt(
    sentence: str,
    terms: Mapping[str, str],
    languages: tuple[str, str],
    examples: Sequence[Example] = (),
) -> str:
    """Return the task, the examples, and the sentence with its translation open.

    It is one user message, since not every chat template accepts a system message.

    Args:
        sentence: one line.
        terms: {source label: target label}, may be empty.
        languages: English names of source and target.
        examples: in their order.
    """
    source, target = languages
    shots = [f"{_write_block(e.sentence, e.terms)} {e.translation}" for e in examples]
    task = TASK.format(source=source, target=target)
    return "\n\n".join([task, *shots, _write_block(sentence, terms)])


def _write_block(sentence: str, terms: Mapping[str, str]) -> str:
    names = "; ".join(f"{label} = {translated}" for label, translated in terms.items())
    given = [f"Names: {names}"] if names else []
    return "\n".join([f"Sentence: {sentence}", *given, LABEL])


def read_examples(source: str, target: str) -> tuple[Example, ...]:
    """Return our examples of a pair; they are from English into a few languages."""
    ours = _read_all()
    language = match(target, ours)
    return ours[language] if source == "en" and language else ()


@cache
def _read_all() -> dict[str, tuple[Example, ...]]:
    text = files(__package__).joinpath("openai_examples.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    return {code: tuple(Example(**row) for row in rows) for code, rows in tables.items()}
