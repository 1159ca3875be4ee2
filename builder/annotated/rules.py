"""Rules of each language besides inflection: agreement, articles, adjacent words."""

import re
from collections.abc import Callable
from typing import NamedTuple

from .entities import MARK, Phrase, PromptEntity
from .gender import Agreement, Traits, agree_hebrew, agree_plainly
from .languages import el as articles_el
from .languages import es as articles_es
from .languages import fr as articles_fr


def write_none(name: str, form: str, entity: PromptEntity, case: str) -> Phrase | None:
    """Return None: the language has no articles."""
    return None


def join_plainly(text: str) -> str:
    """Return the text: adjacent words do not change."""
    return text


def join_russian(text: str) -> str:
    """Return the text with во and со before two consonants: во Франции."""
    consonants = "бвгджзклмнпрстфхцчшщ"
    text = re.sub(
        rf"\b([Вв]) (?={MARK}([вф][{consonants}]|льв))", r"\1о ", text, flags=re.IGNORECASE
    )
    return re.sub(
        rf"\b([Сс]) (?={MARK}([сзшжщ][{consonants}]|щ|льв))", r"\1о ", text, flags=re.IGNORECASE
    )


def join_hebrew(text: str) -> str:
    """Return the text without the article ה after a prefixed ב, כ, ל: בממלכה המאוחדת.

    A ה is the article if the next word has it too, except in nouns that begin with ה: בהר הבית.
    """
    nouns = "(התאחדות|הסתדרות|הוצאת|היכל|הסכם|הוד|הרי|הר) "
    return re.sub(rf"(?<=[בכל])({MARK})(?!{nouns})ה(?=\S+ ה)", r"\1", text)


def join_hungarian(text: str) -> str:
    """Return the text with the article az before a vowel."""
    return re.sub(rf"\b(a) (?={MARK}[aáeéiíoóöőuúüű])", r"\1z ", text, flags=re.IGNORECASE)


class Rules(NamedTuple):
    """The functions of a language; `join` takes a sentence with marked labels (`entities`)."""

    agree: Callable[[str, Traits], Agreement] = agree_plainly
    write_article: Callable[[str, str, PromptEntity, str], Phrase | None] = write_none
    join: Callable[[str], str] = join_plainly


PLAIN = Rules()
RULES = {
    "el": Rules(articles_el.agree, articles_el.write_article),
    "es": Rules(articles_es.agree, articles_es.write_article, articles_es.join),
    "fr": Rules(articles_fr.agree, articles_fr.write_article, articles_fr.join),
    "he": Rules(agree_hebrew, join=join_hebrew),
    "hu": Rules(join=join_hungarian),
    "ru": Rules(join=join_russian),
}
