"""Build geofacts, the embedded dataset: facts about the world's countries in 51 languages.

Names, official languages and currencies come from Unicode CLDR through babel (Unicode-3.0), with
`corrections.csv` for misleading names; continents, capitals and excluded facts from `facts.csv`,
sentences from `templates.toml`, rules on names from `names.toml`. `large` adds the facts of
`large.csv`. Names are in their dictionary form: CLDR has no cases. Nothing is random: hashes of ids
choose candidates and places.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from babel import Locale
from babel.core import get_global

from polyprobe.builder.facts import SUBJECT, Fact
from polyprobe.schema.columns import Row
from polyprobe.system.files import hash_text, read_table_rows, read_toml

DEFAULT_CONFIG, LARGE = "default", "large"
SMALL = (LARGE,)  # its files are in the package
N_CANDIDATES = 10
TERRITORIES = "P30"  # continents and countries
NAMES = read_toml(__package__, "names.toml")
# A language with at least this share of speakers in a country is never its distractor.
_SPOKEN_PERCENT = 5
_BETWEEN_WORDS = re.compile(r"[\s\-–—’'ʼ.,/·・]+")

# {language: {relation: template with `[X]` and `[Y]`}}
PATTERNS: dict[str, dict[str, str]] = read_toml(__package__, "templates.toml")
# The 53 languages of BMLAMA without Latin and Cebuano, for which CLDR has hardly any names.
LANGUAGES = tuple(PATTERNS)
CORRECTIONS = read_table_rows(__package__, "corrections.csv")
# A second name or a description, which goes: `Myanmar (Burma)`, `Meksyk (miasto)`
_TRAILING_BRACKET = re.compile(r"\s*[(（][^()（）]*[)）]$")
# Around what distinguishes two names, which stays: `franc CFA (BCEAO)`
_BRACKETS = re.compile(r"[][()（）]")
_SPACED_DASH = re.compile(r"\s+[-–]\s+")
# Soft hyphen and direction marks; the zero-width non-joiner of Persian spelling is kept.
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f]")


def build(config: str, mirror: Path | None = None) -> dict[str, list[Row]]:
    """Return the rows of every language, by relation and country; `mirror` is unused."""
    may_leak, choose = NAMES["may_leak"], choose_peers if config == LARGE else draw_candidates
    # A subject's name must not reveal the answer.
    facts = [x for x in sorted(_list_facts(config)) if x.relation in may_leak or not leaks(x)]
    candidates = {fact: choose(fact, facts) for fact in facts}
    if config == LARGE:  # equal candidates follow each other: smaller files
        facts.sort(key=lambda x: (x.relation, sorted(candidates[x]), candidates[x], x))
    return {
        language: [_row(fact, candidates[fact], PATTERNS[language], language) for fact in facts]
        for language in LANGUAGES
    }


@cache
def label(language: str, relation: str, entity: str) -> str:
    """Return the name of a relation's object in a language."""
    relation = NAMES["objects"].get(relation, relation)
    names = load_labels(language)[relation]
    if relation != "P36":
        return names[entity]
    # CLDR omits a city from Latin-script locales if its name is the last part of the zone's id.
    return names.get(entity) or entity.rsplit("/", 1)[1].replace("_", " ")


def select_languages(country: str, percent: float | None = None) -> set[str]:
    """Return the languages official in the whole of a country; scripts of a language count once."""
    # With `percent`, return those of any official status or with this share of speakers.
    spoken = get_global("territory_languages").get(country, {})
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


def _list_facts(config: str) -> Iterator[Fact]:
    """Yield the facts of the tables, and those of CLDR with one object; no excluded ones."""
    for row in read_table_rows(__package__, "large.csv") if config == LARGE else ():
        if not row["left_out"]:
            yield Fact(row["relation"], row["subject"], row["object"])
    table = read_table_rows(__package__, "facts.csv")
    left_out = {(row["country"], row["relation"]) for row in table if row["left_out"]}
    for row in table:
        if row["object"] and not row["left_out"]:
            yield Fact(row["relation"], row["country"], row["object"])
    for country in sorted({row["country"] for row in table}):
        for relation, objects in (("P37", select_languages(country)), ("P38", currencies(country))):
            if len(objects) == 1 and (country, relation) not in left_out:
                yield Fact(relation, country, *objects)


def leaks(fact: Fact) -> bool:
    """Return whether the subject's name reveals the answer in any of the languages."""
    relation, subject, answer = fact
    kind = NAMES["subjects"].get(relation, TERRITORIES)
    return any(
        shares_stem(label(x, kind, subject), label(x, relation, answer), x) for x in LANGUAGES
    )


def shares_stem(subject: str, answer: str, language: str) -> bool:
    """Return whether the beginning of a word of the subject occurs in the answer.

    >>> shares_stem("Japan", "Japanese Yen", "en"), shares_stem("Mali", "Euro", "en")
    (True, False)
    """
    length = NAMES["stems"].get(language, 4)
    words = _BETWEEN_WORDS.split(subject.casefold())
    stems = {word.removeprefix("ال")[:length] for word in words}
    return any(len(stem) >= min(length, 3) and stem in answer.casefold() for stem in stems)


def draw_candidates(fact: Fact, facts: Iterable[Fact]) -> list[str]:
    """Return the candidates of a fact: its object and up to nine others, a uniform draw by hash."""
    uses = {peer.object_id for peer in facts if peer.relation == fact.relation}
    names = take_distinct(fact, sorted(uses, key=lambda entity: hash_text(f"{fact.id}|{entity}")))
    place = hash_text(f"{fact.id}|place") % len(names)
    return [*names[1 : place + 1], fact.object_id, *names[place + 1 :]]


def choose_peers(fact: Fact, facts: Iterable[Fact]) -> list[str]:
    """Return the candidates of a fact: ten objects that answer about as often, which is no hint."""
    uses = Counter(peer.object_id for peer in facts if peer.relation == fact.relation)
    objects = sorted(uses, key=lambda entity: (-uses[entity], hash_text(entity)))
    start = objects.index(fact.object_id) // N_CANDIDATES * N_CANDIDATES
    names = sorted(take_distinct(fact, [*objects[start:], *objects[:start]]))
    place = hash_text(f"{fact.id}|place") % len(names)
    return [*names[place:], *names[:place]]


def take_distinct(fact: Fact, objects: Iterable[str]) -> list[str]:
    """Return a fact's object and the first of the others that may be distractors."""
    # Excluded are right and arguable answers (a language that many speak there would be debatable),
    # and objects that share a name with a candidate in some language.
    heard = select_languages(fact.subject_id, _SPOKEN_PERCENT)
    also_right = {"P37": heard, "P38": currencies(fact.subject_id)}
    barred = {fact.object_id} | also_right.get(fact.relation, set())
    candidates = [fact.object_id]
    for entity in (x for x in objects if x not in barred):
        row = [*candidates, entity]
        names = ({label(x, fact.relation, y).casefold() for y in row} for x in LANGUAGES)
        if len(candidates) < N_CANDIDATES and all(len(distinct) == len(row) for distinct in names):
            candidates = row
    return candidates


def _row(fact: Fact, candidates: list[str], templates: dict[str, str], language: str) -> Row:
    kind = NAMES["subjects"].get(fact.relation, TERRITORIES)
    subject = label(language, kind, fact.subject_id)
    prompt = templates[fact.relation].replace(SUBJECT, subject)
    names = [label(language, fact.relation, entity) for entity in candidates]
    place = candidates.index(fact.object_id)
    forms = [names[place]]
    return Row(fact.id, *fact, subject, prompt, names, candidates, [place], forms, fact.relation)


def clean_name(label: str, language: str) -> str:
    r"""Return a CLDR name as in running text: composed, without invisible characters.

    >>> clean_name("Reyk\u00adja\u00advik", "de"), clean_name("Trinidad & Tobago", "en")
    ('Reykjavik', 'Trinidad and Tobago')
    """
    label = _INVISIBLE.sub("", unicodedata.normalize("NFC", label))
    label = _SPACED_DASH.sub("-", label)
    label = label.replace("&", NAMES["and"].get(language, "&"))
    if language == "ru":
        label = label.replace("о-ва", "острова")
    return ("" if language == "ja" else " ").join(label.split())


@cache
def load_labels(language: str) -> dict[str, dict[str, str]]:
    """Return {relation: {object by id of CLDR, cities by canonical time zone: cleaned name}}."""
    locale = Locale.parse(language)
    territories = dict(locale.territories)
    if language in NAMES["north_america_as_021"]:
        territories["003"] = territories["021"]
    # The exemplar cities of the locale or of CLDR's root, by canonical zone: babel's tables use old
    # names of zones (Europe/Kiev).
    aliases, zones = get_global("zone_aliases"), locale.time_zones.items()
    cities = {aliases.get(zone, zone): names["city"] for zone, names in zones if "city" in names}
    corrected = {row["id"]: row["name"] for row in CORRECTIONS if row["language"] == language}

    labels = {}
    tables = {TERRITORIES: territories, "P36": cities, "P37": locale.languages}
    times = {x: names.get("long", {}).get("standard", "") for x, names in locale.meta_zones.items()}
    tables |= {"P38": locale.currencies, "P282": locale.scripts, "P421": times}
    for relation, names in tables.items():
        brackets = _BRACKETS if relation == "P38" else _TRAILING_BRACKET
        texts = {entity: clean_name(name, language) for entity, name in names.items()}
        labels[relation] = {x: brackets.sub("", text) for x, text in texts.items()} | corrected
    return labels
