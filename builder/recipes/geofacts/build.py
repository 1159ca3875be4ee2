"""Build geofacts, the embedded dataset: facts about the world's countries in 51 languages.

Names (`labels.py`), official languages and currencies come from Unicode CLDR through babel,
continents, capitals and excluded facts from `facts.csv`, sentences from `templates.toml`. Nothing
is random: order and choice of candidates follow SHA-256 of the ids.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path

from babel.core import get_global

from polyprobe.builder.facts import SUBJECT, Fact
from polyprobe.schema.columns import Row
from polyprobe.system.hashing import hash_text

from .labels import LANGUAGES, city, load_labels, read_csv_table

DEFAULT_CONFIG = "default"

N_CANDIDATES = 10

# Characters in a stem; fewer where a character is a syllable or vowels are unwritten.
_STEM = {"zh": 2, "ja": 2, "ko": 2, "ar": 3, "fa": 3, "he": 3, "ur": 3}
# Languages are named after their countries: the rule would leave 62 of 115 facts of P37.
_MAY_LEAK = ("P37",)
# A language with at least this share of speakers in a country is never its distractor.
_SPOKEN_PERCENT = 5
_BETWEEN_WORDS = re.compile(r"[\s\-–—’'ʼ.,/·・]+")


def build(config: str, mirror: Path | None = None) -> dict[str, list[Row]]:
    """Return the rows of every language, by relation and country; `mirror` is unused."""
    # A country's name must not reveal the answer.
    facts = [x for x in sorted(_list_facts()) if x.relation in _MAY_LEAK or not leaks(x)]
    candidates = {fact: choose_candidates(fact, facts) for fact in facts}
    templates = load_templates()
    return {
        language: [_row(fact, candidates[fact], templates[language], language) for fact in facts]
        for language in LANGUAGES
    }


@cache
def load_templates() -> dict[str, dict[str, str]]:
    """Return the template of each relation in each language, with `[X]` and `[Y]`."""
    source = files(__package__).joinpath("templates.toml")
    return tomllib.loads(source.read_text(encoding="utf-8"))


@cache
def label(language: str, relation: str, entity: str) -> str:
    """Return the name of a relation's object in a language."""
    labels = load_labels(language)
    if relation == "P36":
        return city(labels, entity)
    names = {"P30": labels.territories, "P37": labels.languages, "P38": labels.currencies}
    return names[relation][entity]


def select_languages(country: str, percent: float | None = None) -> set[str]:
    """Return the languages official in the whole of a country; scripts of a language count once."""
    # With `percent`, return those of any official status or with this share of speakers.
    spoken = get_global("territory_languages")[country]
    return {
        code.split("_")[0]
        for code, entry in spoken.items()
        if entry["official_status"] in ("official", "de_facto_official")
        or (percent and (entry["official_status"] or entry["population_percent"] >= percent))
    }


def currencies(country: str) -> set[str]:
    """Return the currencies that are legal tender in a country today, according to CLDR."""
    periods = get_global("territory_currencies").get(country, [])
    return {code for code, _start, end, tender in periods if end is None and tender}


def _list_facts() -> Iterator[Fact]:
    """Yield the facts of the fact table, and those of CLDR with one object; no excluded ones."""
    table = read_csv_table("facts.csv")
    left_out = {(row["country"], row["relation"]) for row in table if row["left_out"]}
    for row in table:
        if row["object"] and not row["left_out"]:
            yield Fact(row["relation"], row["country"], row["object"])
    for country in sorted({row["country"] for row in table}):
        for relation, objects in (("P37", select_languages(country)), ("P38", currencies(country))):
            if len(objects) == 1 and (country, relation) not in left_out:
                yield Fact(relation, country, *objects)


def leaks(fact: Fact) -> bool:
    """Return whether the country's name reveals the answer in any of the languages."""
    return any(
        shares_stem(
            load_labels(language).territories[fact.subject_id],
            label(language, fact.relation, fact.object_id),
            language,
        )
        for language in LANGUAGES
    )


def shares_stem(subject: str, answer: str, language: str) -> bool:
    """Return whether the beginning of a word of the subject occurs in the answer.

    The beginning has four characters, or fewer in a shorter word (at least three). It has two where
    a character is a syllable (zh, ja, ko), and three where vowels are unwritten (ar, fa, he, ur).

    >>> shares_stem("Japan", "Japanese Yen", "en"), shares_stem("Mali", "Euro", "en")
    (True, False)
    """
    length = _STEM.get(language, 4)
    words = _BETWEEN_WORDS.split(subject.casefold())
    stems = {word.removeprefix("ال")[:length] for word in words}
    return any(len(stem) >= min(length, 3) and stem in answer.casefold() for stem in stems)


def choose_candidates(fact: Fact, facts: Iterable[Fact]) -> list[str]:
    """Return the candidates of a fact: its object and up to nine other objects of the relation."""
    # The others are the first by SHA-256 of fact and candidate: a uniform draw. Excluded are right
    # and arguable answers, and objects that share a name with a candidate in some language.
    pool = {peer.object_id for peer in facts if peer.relation == fact.relation}
    # A language that many speak there would be a debatable distractor.
    heard = select_languages(fact.subject_id, _SPOKEN_PERCENT)
    also_right = {"P37": heard, "P38": currencies(fact.subject_id)}
    pool -= {fact.object_id} | also_right.get(fact.relation, set())
    candidates = [fact.object_id]
    for entity in sorted(pool, key=lambda entity: hash_text(f"{fact.id}|{entity}")):
        if len(candidates) < N_CANDIDATES and all_differ(fact.relation, [*candidates, entity]):
            candidates.append(entity)
    place = hash_text(f"{fact.id}|place") % len(candidates)
    return [*candidates[1 : place + 1], fact.object_id, *candidates[place + 1 :]]


def all_differ(relation: str, entities: list[str]) -> bool:
    """Return whether the entities' names differ in every language, ignoring case."""
    return all(
        len({label(language, relation, entity).casefold() for entity in entities}) == len(entities)
        for language in LANGUAGES
    )


def _row(fact: Fact, candidates: list[str], templates: dict[str, str], language: str) -> Row:
    subject = load_labels(language).territories[fact.subject_id]
    return Row(
        fact_id=fact.id,
        **fact._asdict(),
        subject=subject,
        prompt=templates[fact.relation].replace(SUBJECT, subject),
        candidates=[label(language, fact.relation, entity) for entity in candidates],
        candidate_ids=candidates,
        answers=[candidates.index(fact.object_id)],
        answer_forms=[label(language, fact.relation, fact.object_id)],
        template_id=fact.relation,
    )
