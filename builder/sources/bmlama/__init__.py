"""The files of BMLAMA as published by Qi, Fernández and Bisazza (EMNLP 2023, arXiv:2310.10378).

Their rows are linked to Wikidata through mParaRel, from whose tuples they were made.

Prompts, candidates and their order are unchanged, except that the released `<mask>` is written
`[Y]`. The files contain neither ids nor relations. Languages are aligned by row number, and a
relation is a contiguous block of rows with the same English template.
"""

import csv
import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, groupby, islice, repeat
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import polars as pl
import pyarrow as pa

from polyprobe.builder.facts import FACTS, LABELS, TEMPLATES, Fact, Facts
from polyprobe.builder.facts.labels import choose_labels, fold, mend
from polyprobe.builder.sources import SOURCES, read_source
from polyprobe.schema.columns import SCHEMA, SLOT
from polyprobe.schema.languages import refuse_languages
from polyprobe.system.download import Repository, read_files, read_sums
from polyprobe.system.files import read_table_rows, read_toml
from polyprobe.system.messages import PolyprobeError, report, track

PUBLISHED = ("17", "53")
ABOUT = SOURCES["bmlama"]
REPOSITORY = Repository(**ABOUT["repository"], sha256=read_sums(__package__, "bmlama.sha256"))
MASK = "<mask>"

# The blocks in order: relation, rows in 17, rows in 53. Four of them (P30, P131, P17, P276) share
# one template; they are identified by mParaRel's tuples (tests/builder/test_bmlama.py).
_LINES = (line.values() for line in read_table_rows(__package__, "blocks.csv"))
BLOCKS = [(relation, int(in_17), int(in_53)) for relation, in_17, in_53 in _LINES]
LICENCE = ABOUT["licence"]
REPAIRS: dict[str, str] = read_toml(__package__, "repairs.toml")
"""{code of a repair: its meaning}, in the order in which a row lists them."""
# Relations whose answers are places. A location may follow a comma: `Providence, Rhode Island`.
OF_PLACES = frozenset(ABOUT["of_places"])
Key = tuple[int, str]
# Our names for published labels that are plainly wrong: language, Wikidata id, name, reason
NAMES = {(x["language"], x["id"]): x["name"] for x in read_table_rows(__package__, "names.csv")}
_INDEXED = re.compile(r"([^,]+), ([А-ЯЁ](?:(?! и )[^,])*)")


class Columns(NamedTuple):
    """The columns of a released file; row i is the same query in every language."""

    prompt: Sequence[str]
    answer: Sequence[str]
    candidates: Sequence[tuple[str, ...]]
    subject: Sequence[str]


class Published(NamedTuple):
    """A configuration as published: the id and relation of each row, and {language: columns}."""

    ids: list[str]
    relations: list[str]
    columns: dict[str, Columns]


@lru_cache(maxsize=2)  # the published configurations are also the source of the repaired ones
def read_published(config: str, mirror: Path | None = None) -> Published:
    """Return BMLAMA-17 (`17`) or BMLAMA-53 (`53`); ids number the rows from 0001."""
    paths = list_paths(config)
    contents = map(parse_columns, read_files(REPOSITORY, paths.values(), mirror))
    progress = track(paths, f"reading bmlama/{config}")
    columns = dict(zip(progress, contents, strict=True))
    relations = recover_relations(columns["en"], config)
    ids = [f"{config}:{number:04}" for number in range(1, len(relations) + 1)]
    return Published(ids, relations, columns)


def list_paths(config: str) -> dict[str, str]:
    """Return {language: path in the repository} of one configuration, sorted by language."""
    paths = map(PurePosixPath, sorted(REPOSITORY.sha256))
    return {path.stem: str(path) for path in paths if path.parent.name == f"BMLAMA{config}"}


LANGUAGES = tuple(list_paths("53"))


def parse_columns(content: bytes) -> Columns:
    """Return the columns of one released file, CSV with tabs and doubled quotation marks."""
    text = io.StringIO(content.decode("utf-8"), newline="")
    lines = csv.reader(text, delimiter="\t", strict=True)
    next(lines, None)  # that of zh has one field too many
    rows = list(lines)
    for number, row in enumerate(rows, start=1):
        if len(row) != len(Columns._fields):
            expected = ", ".join(Columns._fields)
            raise ValueError(f"row {number} has {len(row)} columns; expected {expected}")
    columns = map(list, zip(*rows, strict=True)) if rows else [[]] * 4
    prompts, answers, candidates, subjects = columns
    texts = [prompt.replace(MASK, SLOT) for prompt in prompts]
    return Columns(texts, answers, [tuple(names.split(", ")) for names in candidates], subjects)


def recover_relations(english: Columns, config: str) -> list[str]:
    """Return the relation of each row, found by the blocks of rows with equal English templates."""
    # ValueError if the lengths of the blocks are not those of BLOCKS.
    column = PUBLISHED.index(config)
    lengths = [len(list(block)) for _, block in groupby(blank_subjects(english))]
    expected = [(relation, rows[column]) for relation, *rows in BLOCKS if rows[column]]
    if lengths != [length for _, length in expected]:
        raise ValueError(f"blocks of English templates have {lengths} rows, expected {expected}")
    return [relation for relation, length in expected for _ in range(length)]


def blank_subjects(columns: Columns) -> list[str]:
    """Return the prompts with `[X]` in place of the subject."""
    pairs = zip(columns.prompt, columns.subject, strict=True)
    return [prompt.replace(subject, "[X]") for prompt, subject in pairs]


def make_published_table(part: Columns, ids: Sequence[str], relations: Sequence[str]) -> pa.Table:
    """Return the rows without ids of entities; every candidate that equals the answer is one."""
    nothing, pairs = [""] * len(ids), zip(part.candidates, part.answer, strict=True)
    answers = [[i for i, x in enumerate(names) if x == answer] for names, answer in pairs]
    head = ids, relations, nothing, nothing, part.subject, part.prompt, part.candidates
    values = (*head, [()] * len(ids), answers, [*zip(part.answer, strict=True)], relations)
    return pa.table(dict(zip(SCHEMA.names, values, strict=True)), schema=SCHEMA)


def read_fallback_templates(mirror: Path | None = None) -> list[tuple[str, str, str, str]]:
    """Return the rows of `facts.TEMPLATES` in all 53 languages, sorted by language and relation."""
    # A template is the most frequent prompt of a relation with `[X]` for the subject; those of
    # BMLAMA-17 have priority, and plainly wrong ones are replaced by ours.
    rows: dict[tuple[str, str], tuple[str, str, str, str]] = {}
    for config in PUBLISHED:
        published, replacements = read_published(config, mirror), list_replacements(config)
        for language, part in published.columns.items():
            templates = zip(published.relations, blank_subjects(part), strict=True)
            for relation, block in groupby(templates, itemgetter(0)):
                (_, template), _ = Counter(block).most_common(1)[0]
                replaced = replacements.get(relation, {}).get(language)
                name = f"polyprobe:{relation}" if replaced else f"bmlama:{relation}:0"
                line = (language, relation, name, replaced or template)
                rows.setdefault((language, relation), line)
    return [rows[key] for key in sorted(rows)]


def list_replacements(config: str) -> dict[str, dict[str, str]]:
    """Return {relation: {language: our template}} for the replaced templates of `17` or `53`."""
    replacements: dict[str, dict[str, str]] = read_toml(__package__, "templates.toml")
    for name in ("uninflected", "uninflected_53", "sentences_53")[: 2 if config == "17" else 3]:
        for language, sentences in read_toml(__package__, f"{name}.toml").items():
            for relation, sentence in sentences.items():
                replacements.setdefault(relation, {})[language] = sentence
    return {relation: dict(sorted(table.items())) for relation, table in replacements.items()}


def read_entry_templates() -> dict[str, dict[str, str]]:
    """Return {relation: {language: template}} of entries.csv: one form in all languages."""
    # `[X] (capital: [Y]).`: both labels and the noun are in the dictionary form. The first line
    # has each language's punctuation.
    forms, *rows = read_table_rows(__package__, "entries.csv")
    forms.pop("relation")
    return {row["relation"]: {x: y.format(row[x]) for x, y in forms.items()} for row in rows}


def read_raw(folder: Path, languages: Sequence[str] | None = None) -> dict[str, pa.Table]:
    """Return {language: table} of the folder's TSVs, in the requested order or by language."""
    # `relation` is recovered if the English templates have the blocks of BMLAMA-17 or 53. Otherwise
    # it is `block-N`. Without English, the blocks are those of the first language.
    paths = {path.stem.replace("-", "_"): path for path in sorted(folder.glob("*.tsv"))}
    refuse_languages(languages or (), str(folder), paths)
    columns = {language: read_language_file(paths[language]) for language in languages or paths}
    first = columns.get("en") or next(iter(columns.values()))
    blocks = enumerate(groupby(blank_subjects(first)), start=1)
    relations = [f"block-{number}" for number, (_, rows) in blocks for _ in rows]
    for config in PUBLISHED:
        with suppress(ValueError):
            relations = recover_relations(first, config)
    tables = {}
    for language, part in columns.items():
        size = len(part.prompt)
        # A language may have more rows than the first one: the last ones have no relation.
        names = list(islice(chain(relations, repeat("")), size))
        ids = [f"{number:04}" for number in range(1, size + 1)]
        tables[language] = make_published_table(part, ids, names)
    return tables


def read_language_file(path: Path) -> Columns:
    """Return the columns of a released file; raise PolyprobeError if it is not valid."""
    try:
        columns = parse_columns(path.read_bytes())
    except csv.Error as error:
        message = f"{path} has an unclosed quotation mark ({error}); unpack it again"
        raise PolyprobeError(message) from error
    except (ValueError, OSError) as error:  # not UTF-8, or rows of other columns
        reason = getattr(error, "strerror", None) or error
        raise PolyprobeError(f"cannot read {path}: {reason}; unpack it again") from error
    if not columns.prompt:
        raise PolyprobeError(f"{path} has no rows; unpack it again")
    return columns


class PublishedQuery(NamedTuple):
    """One row as ids, the same in every language."""

    published_row: str
    relation: str
    subject_id: str
    answer: str
    candidates: tuple[str, ...]  # with the answer exactly once
    repairs: tuple[str, ...] = ()  # keys of REPAIRS that apply to all languages

    @property
    def fact_id(self) -> str:
        """Return the id of the fact, such as `P36:Q142:Q90`."""
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

    rows: Mapping[str, Columns]
    queries: list[PublishedQuery]
    entities: Mapping[str, Mapping[str, Entity]]
    labels: pl.DataFrame


def read_facts(mirror: Path | None, languages: Sequence[str] | None = None) -> Facts:
    """Return the linked facts of both configurations, their labels and templates."""
    languages = LANGUAGES if languages is None else languages
    parts = read_linked(mirror).values()
    triples = [query[1:4] for part in parts for query in part.queries]
    facts = pl.DataFrame(triples, schema=FACTS, orient="row").unique().sort(pl.all())
    names = [
        (language, entity, label)
        for part in parts
        for language, columns in part.rows.items()
        for query, *texts in zip(part.queries, columns.subject, columns.answer, strict=True)
        if language in languages
        for entity, label in zip((query.subject_id, query.answer), texts, strict=True)
    ]
    repairs: Counter[str] = Counter()
    labels = pl.DataFrame(names, schema=LABELS, orient="row")
    templates = [line for line in read_fallback_templates(mirror) if line[0] in languages]
    names_of_ids = choose_labels(labels, repairs)
    wordings = pl.DataFrame(templates, schema=TEMPLATES, orient="row")
    return Facts(facts, names_of_ids, dict(repairs), templates=wordings)


@lru_cache(maxsize=1)  # two repaired configurations are built in succession
def read_linked(mirror: Path | None = None) -> dict[str, Linked]:
    """Return {published configuration: its rows with Wikidata ids from mParaRel}."""
    report("reading the published rows, and the facts of mpararel")
    published = {config: read_published(config, mirror) for config in PUBLISHED}
    languages = sorted({language for part in published.values() for language in part.columns})
    facts = read_source("mpararel", mirror, languages)
    linked = {}
    for config, part in published.items():
        report(f"linking {config} to Wikidata")
        links = link_rows(part.relations, part.columns, facts)
        entities = collect_entities(part, links, facts)
        queries = read_queries(part, links, entities)
        linked[config] = Linked(part.columns, queries, entities, facts.labels)
    return linked


def link_rows(relations: Sequence[str], rows: Mapping[str, Columns], facts: Facts) -> list[Fact]:
    """Return for each row the known fact with the most votes of languages, or raise ValueError."""
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
    # Of two facts with as many votes, neither is taken.
    ends = {x: ids for x, *ids, _ in totals.filter(pl.len().over("number") == 1).iter_rows()}
    if lost := [number for number in range(len(relations)) if number not in ends]:
        raise ValueError(f"row {lost[0]} of BMLAMA is no fact of mParaRel")
    return [Fact(relation, *ends[number]) for number, relation in enumerate(relations)]


def collect_entities(
    published: Published, links: Sequence[Fact], facts: Facts
) -> dict[str, dict[str, Entity]]:
    """Return {relation: {id: entity}}."""
    # An answer has the labels of its published rows; damaged ones are restored. The relation's
    # other objects in `facts` (mParaRel's) follow, if they have a label in every language.
    rows = published.columns
    columns = ([mend(label, language) for label in part.answer] for language, part in rows.items())
    labels = list(zip(*columns, strict=True))
    spellings = {(language, name): label for language, name, label in facts.labels.iter_rows()}
    entities: dict[str, dict[str, Entity]] = defaultdict(dict)
    for (relation, _, name), original in zip(links, labels, strict=True):
        if name not in entities[relation]:
            restored = restore(relation, name, dict(zip(rows, original, strict=True)), spellings)
            entities[relation][name] = Entity(name, tuple(restored), original)
    objects = facts.facts.select("relation", "object_id").unique().sort(pl.all())
    candidates = name_entities({*objects["object_id"]}, facts.labels, list(rows))
    for relation, name in objects.iter_rows():
        if name in candidates and all(candidates[name].labels):
            entities[relation].setdefault(name, candidates[name])
    return dict(entities)


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
    published: Published,
    links: Sequence[Fact],
    entities: Mapping[str, Mapping[str, Entity]],
) -> list[PublishedQuery]:
    """Return the rows as ids; candidates are the entities with the English labels."""
    # If several answers of the relation share an English label (Georgia is a country and a state),
    # the candidate is the one whose labels most languages have at this index; in a tie, the one
    # with the smallest id. Each label is that of an entity.
    rows = published.columns
    english, place = rows["en"], list(rows).index("en")
    by_label = {relation: index_by_label(b.values(), place) for relation, b in entities.items()}
    queries = []
    for number, (row_id, link) in enumerate(zip(published.ids, links, strict=True)):
        candidates = []
        for index, label in enumerate(english.candidates[number]):
            name = mend(label, "en")
            labels = (mend(part.candidates[number][index], code) for code, part in rows.items())
            candidates.append(choose_entity(by_label[link.relation][name], labels))
        # The answer is known by its row; its English label may be that of a homonym.
        candidates[english.candidates[number].index(english.answer[number])] = link.object_id
        queries.append(PublishedQuery(row_id, *link, tuple(candidates)))
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
    """Return the id of the first entity with the most of the labels."""
    if len(entities) == 1:  # without cleaning the labels of all languages
        return entities[0].id
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
