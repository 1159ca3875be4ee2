"""Extract the translated sentence from a language model's answer."""

import re

from polyprobe.builder.translators.failures import BrokenAnswerError

from .openai_prompt import LABEL

THOUGHTS = re.compile(r"<think>.*?</think>", re.DOTALL)
QUOTES = ('""', "''", "“”", "„“", "„”", "‘’", "«»", "»«", "「」", "『』", "``")
REFUSAL = re.compile(
    r"(i['’]?m sorry|i am sorry|sorry, |i can(no|['’])t |i am unable|i['’]m unable|as an ai\b)",
    re.IGNORECASE,
)


def clean_answer(answer: str, sentence: str, target: str) -> str:
    """Return the sentence in an answer, without label, surrounding quotes and reasoning.

    Args:
        answer: of the model; a blank answer gives "".
        sentence: the source sentence; its own quotes or label are kept in the translation.
        target: English name of the language, which models may put before their answer.

    Raises:
        BrokenAnswerError: several lines, or a refusal.

    >>> clean_answer('Spanish: "Oslo está en Noruega."', "Oslo is in Norway.", "Spanish")
    'Oslo está en Noruega.'
    """
    text = THOUGHTS.sub("", answer)
    lines = [line.strip() for line in text.splitlines() if line.strip(" `\t")]
    lines = [line for line in lines if not _is_heading(line, sentence)]
    if len(lines) > 1:
        raise BrokenAnswerError("several lines")
    text = _strip(lines[0], sentence, target) if lines else ""
    if REFUSAL.match(text) and not REFUSAL.match(sentence):
        raise BrokenAnswerError("a refusal")
    return text


def _is_heading(line: str, sentence: str) -> bool:
    """Return whether a line is an introduction (`Here is the translation:`) or a code fence."""
    return line.startswith("```") or (line.endswith((":", ":**")) and not sentence.endswith(":"))


def _strip(text: str, sentence: str, target: str) -> str:
    text = text.replace("**", "") if "**" not in sentence else text
    text = text.rpartition(LABEL)[2].strip() if LABEL not in sentence else text
    for label in (f"{target}:", f"{target} translation:"):
        if text.lower().startswith(label.lower()) and not sentence.startswith(label):
            text = text[len(label) :].strip()
    pair = text[:1] + text[-1:]
    quoted = len(text) > 1 and pair in QUOTES and pair[0] not in text[1:-1]
    return text[1:-1].strip() if quoted and sentence[:1] not in "\"'“„«‘" else text
