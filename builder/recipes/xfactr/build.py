"""Build xfactr: the facts of X-FACTR (Jiang et al., EMNLP 2020), one configuration a language.

A configuration has the facts of the sample mTRExf (46 relations with 1,000 facts each) whose
subject and object have a label in the language, in the order of the release; nothing is drawn.
Labels are those of `builder.sources.xfactr`, completed by mParaRel's. The sentence is the annotated
prompt, rendered for the fact (`annotated.render`); a prompt without marks is a template.

The only candidate is the object's label in the form of the sentence. `answer_forms` has the label,
that form, and the names of all valid objects of the subject and relation (`_multi_rel`).
"""

import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pyarrow as pa

from polyprobe.builder.annotated.entities import Traits, read_traits
from polyprobe.builder.annotated.grammar import Prompt, Slot, Text
from polyprobe.builder.annotated.render import UNKNOWN, Renderer
from polyprobe.builder.facts import FACTS, LABELS, PROMPTS, Fact, Facts
from polyprobe.builder.facts.labels import clean_facts, tidy
from polyprobe.builder.output.config import NOTES
from polyprobe.builder.recipes import RECIPES
from polyprobe.builder.recipes.balanced.sentences import read_prompts
from polyprobe.builder.sources import mpararel, xfactr

from .card import describe

__all__ = ["CONFIGS", "DEFAULT_CONFIG", "build", "describe"]

CONFIGS = RECIPES["xfactr"].configs
DEFAULT_CONFIG = "en"
COMPLETED = "mpararel"  # the `label_from` of its labels
OBJECTS = "data/mTRExf_multi_rel.txt"
RELEASED = {"uuid": pl.String, "predicate_id": pl.String, "sub_uri": pl.String,
            "obj_uri": pl.String, "count": pl.Int32}  # fmt: skip
NAMED = {"language": pl.String, "id": pl.String, "label": pl.String, "kind": pl.String}
NO_NAME = "no name in the language"
UNDECIDED = "several names, none of them marked as the label"


class Release(NamedTuple):
    """The release, in all languages.

    - `facts`: FACTS, `dataset_id` and `popularity`, in the order of the release.
    - `names`: NAMED, at most one label for each language and id.
    - `aliases`: {(language, id): names}.
    - `objects`: {(relation, subject id): valid objects}.
    - `prompts`: {language: {relation: tree}}.
    - `traits`: {id: traits}, for the forms in sentences.
    """

    facts: pl.DataFrame
    names: pl.DataFrame
    aliases: Mapping[tuple[str, str], list[str]]
    objects: Mapping[tuple[str, str], list[str]]
    prompts: Mapping[str, Mapping[str, Prompt]]
    traits: Mapping[str, Traits]


def build(config: str, mirror: Path | None = None) -> dict[str, pa.Table]:
    """Return the rows of a language, with notes on lost facts in the metadata of the table."""
    material = read_release(mirror)
    names = material.names.filter(language=config).drop("language")
    facts = join_labels(material.facts, names)
    sentences, lost = write_sentences(facts, config, material)
    table = make_fact_table(
        facts, sentences, config, material, dict(names.select("id", "label").rows())
    )
    notes = count_losses(material, facts, names, config) | {"marks": dict(sorted(lost.items()))}
    return {config: table.replace_schema_metadata({NOTES: json.dumps(notes, ensure_ascii=False)})}


@lru_cache(maxsize=1)  # the configurations are built in sequence
def read_release(mirror: Path | None) -> Release:
    """Return the release and the labels of mParaRel for its entities."""
    paths = [*xfactr.list_source_paths(xfactr.LANGUAGES), OBJECTS]
    contents = xfactr.read_paths(paths, mirror)
    tuples = xfactr.parse_tuples(contents)
    alias_rows = xfactr.parse_aliases(contents)
    labels = xfactr.choose_entity_labels(
        xfactr.list_forms(tuples), alias_rows, xfactr.parse_lists(contents), Counter()
    )
    facts = pl.concat(
        pl.read_ndjson(io.BytesIO(content), schema=RELEASED)
        for path, content in contents.items()
        if path.startswith("data/mTRExf/sub/")
    ).rename({"uuid": "dataset_id", "count": "popularity", **xfactr_columns()})
    objects = read_objects(contents[OBJECTS], facts)
    entities = {*facts["subject_id"], *facts["object_id"]}.union(*objects.values())
    aliases: dict[tuple[str, str], list[str]] = defaultdict(list)
    part = alias_rows.filter(pl.col("id").is_in(list(entities))).sort(pl.all())
    for language, entity, alias in tidy(part, ["alias"]).iter_rows():
        aliases[language, entity].append(alias)
    return Release(
        facts,
        merge_labels(labels, read_labels(mirror), entities),
        aliases,
        objects,
        read_prompts(mirror, xfactr.LANGUAGES),
        read_traits(xfactr.REPOSITORY, mirror),
    )


def read_labels(mirror: Path | None) -> pl.DataFrame:
    """Return the labels of mParaRel in the languages of X-FACTR (LABELS)."""
    shared = sorted({*xfactr.LANGUAGES} & {*mpararel.LANGUAGES})
    folders = sorted(
        {folder for language in shared for folder in mpararel.list_language_folders(language)}
    )
    return mpararel.list_labels(mpararel.read_tuples(mirror, folders), shared)


def xfactr_columns() -> dict[str, str]:
    """Return {released name of a column: name in FACTS}."""
    return dict(zip(("predicate_id", "sub_uri", "obj_uri"), FACTS, strict=True))


def read_objects(content: bytes, facts: pl.DataFrame) -> dict[tuple[str, str], list[str]]:
    """Return the objects of each relation and subject: the listed ones and those of the facts."""
    objects: dict[tuple[str, str], list[str]] = defaultdict(list)
    for line in content.decode("utf-8").splitlines():
        subject, relation, listed = line.split("\t")
        objects[relation, subject] += listed.split()
    for relation, subject, answer in facts.select(*FACTS).iter_rows():
        objects[relation, subject].append(answer)
    return {key: list(dict.fromkeys(entities)) for key, entities in objects.items()}


def merge_labels(labels: pl.DataFrame, fallback: pl.DataFrame, entities: set[str]) -> pl.DataFrame:
    """Return NAMED: the source's own labels, then the others', for some entities, cleaned."""
    additions = fallback.join(labels, on=["language", "id"], how="anti")
    tables = [labels.select(*NAMED), additions.select(*LABELS, kind=pl.lit(COMPLETED))]
    # Names of all valid objects are needed, not only those of the facts.
    rows = pl.concat(tables).filter(pl.col("id").is_in(list(entities)))
    return clean_facts(Facts(pl.DataFrame(schema=FACTS), rows, {})).labels


def join_labels(facts: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """Return the facts with a label at both ends, in their order: `subject`, `object`, `kind`."""
    subjects = names.select(subject_id="id", subject="label")
    objects = names.select("kind", object_id="id", object="label")
    with_subject = facts.join(subjects, on="subject_id", maintain_order="left")
    return with_subject.join(objects, on="object_id", maintain_order="left")


def is_marked(prompts: Mapping[str, Prompt]) -> bool:
    """Return whether a prompt has a mark of case, gender, number or article."""
    nodes = (node for prompt in prompts.values() for node in prompt)
    return any(
        bool(node.case or node.copula) if isinstance(node, Slot) else not isinstance(node, Text)
        for node in nodes
    )


def write_sentences(
    facts: pl.DataFrame, language: str, material: Release
) -> tuple[pl.DataFrame, Counter[str]]:
    """Return PROMPTS of the facts in their order, cleaned, and counts of marks not applied."""
    renderer, traits = Renderer(language), material.traits
    lost: Counter[str] = Counter()

    def write() -> Iterator[tuple[str, ...]]:
        columns = (*FACTS, "subject", "object")
        for relation, subject_id, object_id, subject, object_ in facts.select(columns).iter_rows():
            prompt = material.prompts[language][relation]
            ends = (traits.get(subject_id, UNKNOWN), traits.get(object_id, UNKNOWN))
            text, form, reasons = renderer.render(prompt, subject, object_, *ends)
            lost.update(reasons)
            yield language, relation, subject_id, object_id, text, form

    made = pl.DataFrame(list(write()), schema=PROMPTS, orient="row")
    empty = pl.DataFrame(schema=FACTS), pl.DataFrame(schema=LABELS)
    return clean_facts(Facts(*empty, {}, prompts=made)).prompts, lost


def make_fact_table(
    rows: pl.DataFrame,
    sentences: pl.DataFrame,
    language: str,
    material: Release,
    labels: Mapping[str, str],
) -> pa.Table:
    """Return the rows, with columns of `columns.RELEASED`."""
    kind = "sentence" if is_marked(material.prompts[language]) else "0"
    facts = map(Fact._make, rows.select(*FACTS).iter_rows())
    names = name_objects(material, language, labels)
    pairs = zip(facts, sentences["form"], strict=True)
    forms = [list_accepted(fact, form, names, material.objects) for fact, form in pairs]
    columns = {
        "fact_id": rows.select(pl.concat_str(*FACTS, separator=":")).to_series(),
        **{name: rows[name] for name in (*FACTS, "subject")},
        "prompt": sentences["prompt"],
        "candidates": [[form] for form in sentences["form"]],
        "candidate_ids": [[entity] for entity in rows["object_id"]],
        "answers": [[0]] * rows.height,
        "answer_forms": forms,
        "template_id": [f"xfactr:{relation}:{kind}" for relation in rows["relation"]],
        "dataset_id": rows["dataset_id"],
        "label_from": rows["kind"],
        "popularity": rows["popularity"],
    }
    lists = ("candidates", "candidate_ids", "answer_forms")
    types = {**dict.fromkeys(lists, pa.list_(pa.string())), "answers": pa.list_(pa.int32())}
    arrays = {
        name: pa.array(values, types[name])
        if name in types
        else pa.array(list(values), pa.int32() if name == "popularity" else pa.string())
        for name, values in columns.items()
    }
    return pa.table(arrays)


def name_objects(
    material: Release, language: str, labels: Mapping[str, str]
) -> dict[str, list[str]]:
    """Return {object: its names in a language, the label first if it has one}."""
    return {
        entity: [
            *([labels[entity]] if entity in labels else []),
            *material.aliases.get((language, entity), ()),
        ]
        for entity in set(chain.from_iterable(material.objects.values()))
    }


def list_accepted(
    fact: Fact,
    form: str,
    names: Mapping[str, list[str]],
    objects: Mapping[tuple[str, str], list[str]],
) -> list[str]:
    """Return the accepted texts: label, form, then the names of the object and of the others."""
    object_names = names[fact.object_id]
    more = (names[entity] for entity in objects[fact.relation, fact.subject_id])
    return list(dict.fromkeys([object_names[0], form, *object_names, *chain.from_iterable(more)]))


def count_losses(
    material: Release, facts: pl.DataFrame, names: pl.DataFrame, language: str
) -> dict[str, object]:
    """Return counts of the facts, of the lost ones by reason, and of the objects' labels by kind.

    A fact is lost for want of a name if one of its ends has none; otherwise because one of its ends
    has several.
    """
    labelled = set(names["id"])
    lost = Counter(
        NO_NAME if any((language, end) not in material.aliases for end in absent) else UNDECIDED
        for ends in material.facts.select("subject_id", "object_id").iter_rows()
        if (absent := [end for end in ends if end not in labelled])
    )
    return {
        "facts": material.facts.height,
        "lost": {reason: lost[reason] for reason in (NO_NAME, UNDECIDED)},
        "kinds": dict(sorted(Counter(facts["kind"]).items())),
        "annotated": is_marked(material.prompts[language]),
    }
