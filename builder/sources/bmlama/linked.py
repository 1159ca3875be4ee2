"""The rows of BMLAMA, linked to Wikidata through mParaRel, from whose tuples it was made."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import polars as pl

from polyprobe.builder.facts import FACTS, LABELS, TEMPLATES, Fact, Facts
from polyprobe.builder.facts.labels import choose_labels, fold, mend
from polyprobe.builder.sources import SOURCES, read_source
from polyprobe.system.files import read_table_rows, read_toml
from polyprobe.system.messages import report

from . import files

REPOSITORY = files.REPOSITORY
read_fallback_templates = files.read_fallback_templates
LANGUAGES = tuple(files.list_paths("53"))
LICENCE = SOURCES["bmlama"]["licence"]
REPAIRS: dict[str, str] = read_toml(__package__, "repairs.toml")
"""{code of a repair: its meaning}, in the order in which a row lists them."""
# Relations whose answers are places. A location may follow a comma: `Providence, Rhode Island`.
OF_PLACES = frozenset(SOURCES["bmlama"]["of_places"])
Key = tuple[int, str]
# Our names for published labels that are plainly wrong: language, Wikidata id, name, reason
NAMES = {(x["language"], x["id"]): x["name"] for x in read_table_rows(__package__, "names.csv")}
_INDEXED = re.compile(r"([^,]+), ([А-ЯЁ](?:(?! и )[^,])*)")
MINIMUM = 1 / 4  # share of the languages that must agree on a link


class PublishedQuery(NamedTuple):
    """One row as ids, the same in every language."""

    published_row: str
    relation: str
    subject_id: str
    answer: str  # a Wikidata id, or `bmlama:RELATION:LABEL`
    candidates: tuple[str, ...]  # with the answer exactly once
    repairs: tuple[str, ...] = ()  # keys of REPAIRS that apply to all languages

    @property
    def fact_id(self) -> str:
        """Return an id such as `P36:Q142:Q90`, or the published row's id if it is not linked."""
        if "unlinked" in self.repairs:
            return self.published_row
        return f"{self.relation}:{self.subject_id}:{self.answer}"

    def repaired(self, candidates: Iterable[str], *codes: str) -> "PublishedQuery":
        """Return the query with new candidates and further codes of repairs."""
        return self._replace(candidates=tuple(candidates), repairs=self.repairs + codes)


@dataclass(frozen=True)
class Entity:
    """A possible object of one relation."""

    id: str
    labels: tuple[str, ...]  # one for each language, in the order of the dataset
    original: tuple[str, ...]  # the labels before damaged ones were restored (`restore`)
    published: bool = True  # whether it is an answer in the relation's published rows

    @cached_property
    def keys(self) -> frozenset[Key]:
        """The id, and each label folded, with the index of its language (-1 for the id)."""
        labels = {(place, fold(label)) for place, label in enumerate(self.labels) if label}
        return frozenset(labels | {(-1, self.id)})

    def conflicts_with(self, keys: Set[Key]) -> bool:
        """Return whether another entity has one of the keys: both cannot be in one row."""
        return not keys.isdisjoint(self.keys)


class Linked(NamedTuple):
    """A configuration's rows, linked: {relation: {id: entity}}, and all labels of mParaRel."""

    rows: Mapping[str, files.Columns]
    queries: list[PublishedQuery]
    entities: Mapping[str, Mapping[str, Entity]]
    labels: pl.DataFrame


def read_facts(mirror: Path | None, languages: Sequence[str] | None = None) -> Facts:
    """Return the linked facts of both configurations, their labels and templates."""
    languages = LANGUAGES if languages is None else languages
    parts = read_linked(mirror).values()
    queries = [query for part in parts for query in part.queries]
    triples = [(q.relation, q.subject_id, q.answer) for q in queries if q.subject_id]
    facts = pl.DataFrame(triples, schema=FACTS, orient="row")
    names = [
        (language, entity, label)
        for part in parts
        for language, columns in part.rows.items()
        for query, *texts in zip(part.queries, columns.subject, columns.answer, strict=True)
        if query.subject_id and language in languages
        for entity, label in zip((query.subject_id, query.answer), texts, strict=True)
    ]
    repairs = Counter({"rows excluded: no Wikidata fact found": len(queries) - len(triples)})
    labels = pl.DataFrame(names, schema=LABELS, orient="row")
    templates = [line for line in read_fallback_templates(mirror) if line[0] in languages]
    names_of_ids = choose_labels(labels, repairs)
    wordings = pl.DataFrame(templates, schema=TEMPLATES, orient="row")
    distinct = facts.unique().sort(facts.columns)
    return Facts(distinct, names_of_ids, dict(repairs), templates=wordings)


@lru_cache(maxsize=1)  # two repaired configurations are built in succession
def read_linked(mirror: Path | None = None) -> dict[str, Linked]:
    """Return {published configuration: its rows with Wikidata ids from mParaRel}."""
    report("reading the published rows, and the facts of mpararel")
    published = {config: files.read_published(config, mirror) for config in files.PUBLISHED}
    languages = sorted({language for part in published.values() for language in part.columns})
    facts = read_source("mpararel", mirror, languages)
    linked = {}
    for config, part in published.items():
        report(f"linking {config} to Wikidata")
        links = link_rows(part.relations, part.columns, facts)
        entities, answers = collect_entities(part, links, facts)
        queries = read_queries(part, links, entities, answers)
        linked[config] = Linked(part.columns, queries, entities, facts.labels)
    return linked


def link_rows(
    relations: Sequence[str], rows: Mapping[str, files.Columns], facts: Facts
) -> list[Fact | None]:
    """Return for each row the known fact with the most votes of languages, or None."""
    # A language votes for every fact of the row's relation with the labels of its subject and
    # answer. Where a label has changed, or is that of two entities, other languages outvote it.
    votes = []
    for language, columns in rows.items():
        labels = facts.labels.filter(language=language)
        subjects = labels.select(subject_id="id", subject="label")
        objects = labels.select(object_id="id", object="label")
        names = facts.facts.join(subjects, on="subject_id").join(objects, on="object_id")
        questions = {"relation": relations, "subject": columns.subject, "object": columns.answer}
        rows_of_facts = pl.DataFrame(questions).with_row_index("number")
        votes.append(rows_of_facts.join(names, on=["relation", "subject", "object"]))
    totals = pl.concat(votes).group_by("number", "subject_id", "object_id").len("votes")
    totals = totals.filter(pl.col("votes") == pl.col("votes").max().over("number"))
    totals = totals.filter(pl.col("votes") / len(rows) >= MINIMUM)
    # Of two facts with as many votes, neither is taken.
    totals = totals.filter(pl.len().over("number") == 1)
    links: list[Fact | None] = [None] * len(relations)
    for number, subject, answer, _ in totals.iter_rows():
        links[number] = Fact(relations[number], subject, answer)
    return links


def collect_entities(
    published: files.Published, links: Sequence[Fact | None], facts: Facts
) -> tuple[dict[str, dict[str, Entity]], list[str]]:
    """Return {relation: {id: entity}}, and the id of each row's answer."""
    # An answer has the labels of its published rows; damaged ones are restored. The relation's
    # other objects in `facts` (mParaRel's) follow, if they have a label in every language.
    rows = published.columns
    columns = ([mend(label, language) for label in part.answer] for language, part in rows.items())
    labels = list(zip(*columns, strict=True))
    spellings = {(language, name): label for language, name, label in facts.labels.iter_rows()}
    entities: dict[str, dict[str, Entity]] = defaultdict(dict)
    ids = [""] * len(links)
    # Linked rows first: a row without a link may have the labels of one with a link.
    for number in sorted(range(len(links)), key=lambda number: links[number] is None):
        relation, link, original = published.relations[number], links[number], labels[number]
        block = entities[relation]
        twins = (entity.id for entity in block.values() if entity.original == original)
        # A row without a link takes a linked answer with the same labels, if there is one.
        fallback = f"bmlama:{relation}:{rows['en'].answer[number]}"  # known by its label only
        name = ids[number] = link.object_id if link else next(twins, fallback)
        if name not in block:
            restored = restore(relation, name, dict(zip(rows, original, strict=True)), spellings)
            block[name] = Entity(name, tuple(restored), original)
    objects = facts.facts.select("relation", "object_id").unique().sort(pl.all())
    candidates = name_entities({*objects["object_id"]}, facts.labels, list(rows))
    for relation, name in objects.iter_rows():
        if name in candidates and all(candidates[name].labels):
            entities[relation].setdefault(name, candidates[name])
    return dict(entities), ids


def restore(
    relation: str, name: str, labels: Mapping[str, str], spellings: Mapping[tuple[str, str], str]
) -> Iterator[str]:
    """Yield an entity's {language: label}: mParaRel's where cut at a comma, ours where wrong."""
    for language, label in labels.items():
        spelling = mend(spellings.get((language, name), label), language)
        text = spelling if is_cut(label, spelling, relation) else label
        yield NAMES.get((language, name), text)


def is_cut(label: str, spelling: str, relation: str) -> bool:
    """Return whether a label is the spelling, cut at a comma that is part of the name.

    >>> is_cut("Dallas (seat of Dallas County", "Dallas (seat of Dallas County, Texas)", "P190")
    True
    >>> is_cut("Providence", "Providence, Rhode Island", "P36")
    False
    """
    if not spelling.startswith(f"{label},"):
        return False
    return relation not in OF_PLACES or label.count("(") != label.count(")")


def name_entities(ids: Set[str], labels: pl.DataFrame, languages: list[str]) -> dict[str, Entity]:
    """Return {id: entity} of ids with some of the `labels` (LABELS); a missing label is ''."""
    names: dict[str, list[str]] = defaultdict(lambda: [""] * len(languages))
    places = {language: place for place, language in enumerate(languages)}
    part = labels.filter(pl.col("language").is_in(list(languages)), pl.col("id").is_in(sorted(ids)))
    for language, name, label in part.iter_rows():
        names[name][places[language]] = NAMES.get((language, name)) or mend(label, language)
    return {name: Entity(name, tuple(x), tuple(x), published=False) for name, x in names.items()}


def read_queries(
    published: files.Published,
    links: Sequence[Fact | None],
    entities: Mapping[str, Mapping[str, Entity]],
    answers: Sequence[str],
) -> list[PublishedQuery]:
    """Return the rows as ids; candidates are the entities with the English labels."""
    # If several answers of the relation share an English label (Georgia is a country and a state),
    # the candidate is the one whose labels most languages have at this index; in a tie, the one
    # with the smallest id. The id of a label without an entity is in no entities.
    rows = published.columns
    english, place = rows["en"], list(rows).index("en")
    by_label = {relation: index_by_label(b.values(), place) for relation, b in entities.items()}
    queries = []
    for number, (row_id, relation, link, answer) in enumerate(
        zip(published.ids, published.relations, links, answers, strict=True)
    ):
        candidates = []
        for index, label in enumerate(english.candidates[number]):
            name = mend(label, "en")
            labels = (mend(part.candidates[number][index], code) for code, part in rows.items())
            homonyms = by_label[relation].get(name, ())
            candidates.append(choose_entity(homonyms, labels) or f"bmlama:{relation}:{name}")
        # The answer is known by its row; its English label may be that of a homonym.
        candidates[english.candidates[number].index(english.answer[number])] = answer
        subject, repairs = (link.subject_id, ()) if link else ("", ("unlinked",))
        query = PublishedQuery(row_id, relation, subject, answer, tuple(candidates), repairs)
        queries.append(query)
    return queries


def index_by_label(entities: Iterable[Entity], language: int) -> dict[str, list[Entity]]:
    """Return {label in one language: entities with this label}, sorted by id."""
    index: dict[str, list[Entity]] = defaultdict(list)
    for entity in sorted(entities, key=lambda entity: (not entity.published, entity.id)):
        homonyms = index[entity.original[language]]
        # A published answer with the label excludes the other objects.
        if entity.published or not any(homonym.published for homonym in homonyms):
            homonyms.append(entity)
    return dict(index)


def choose_entity(entities: Sequence[Entity], labels: Iterable[str]) -> str:
    """Return the id of the first entity with the most of the labels, or ''."""
    if len(entities) < 2:  # without cleaning the labels of all languages
        return entities[0].id if entities else ""
    texts = list(labels)
    votes = [sum(map(str.__eq__, entity.original, texts)) for entity in entities]
    return entities[votes.index(max(votes))].id


def turn(label: str, language: str) -> str:
    """Return a Russian name with the surname last; other labels are unchanged.

    >>> turn("Муавр, Абрахам де", "ru"), turn("Бонэйр, Синт-Эстатиус и Саба", "ru")
    ('Абрахам де Муавр', 'Бонэйр, Синт-Эстатиус и Саба')
    """
    match = _INDEXED.fullmatch(label) if language == "ru" else None
    return f"{match[2]} {match[1]}" if match else label
