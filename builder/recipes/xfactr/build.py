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
from polyprobe.builder.output.card import NOTES
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


class Material(NamedTuple):
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
    material = gather(mirror)
    names = material.names.filter(language=config).drop("language")
    named = name_ends(material.facts, names)
    written, lost = write_sentences(named, config, material)
    table = make_table(named, written, config, material, dict(names.select("id", "label").rows()))
    notes = take_notes(material, named, names, config) | {"marks": dict(sorted(lost.items()))}
    return {config: table.replace_schema_metadata({NOTES: json.dumps(notes, ensure_ascii=False)})}


@lru_cache(maxsize=1)  # the configurations are built in sequence
def gather(mirror: Path | None) -> Material:
    """Return the release and the labels of mParaRel for its entities."""
    paths = [*xfactr.list_paths(xfactr.LANGUAGES), OBJECTS]
    read = xfactr.read_paths(paths, mirror)
    tuples = xfactr.parse_tuples(read)
    found = xfactr.parse_aliases(read)
    own = xfactr.list_labels(xfactr.list_forms(tuples), found, xfactr.parse_lists(read), Counter())
    facts = pl.concat(
        pl.read_ndjson(io.BytesIO(content), schema=RELEASED)
        for path, content in read.items()
        if path.startswith("data/mTRExf/sub/")
    ).rename({"uuid": "dataset_id", "count": "popularity", **xfactr_columns()})
    objects = read_objects(read[OBJECTS], facts)
    entities = {*facts["subject_id"], *facts["object_id"]}.union(*objects.values())
    aliases: dict[tuple[str, str], list[str]] = defaultdict(list)
    known = found.filter(pl.col("id").is_in(list(entities))).sort(pl.all())
    for language, entity, alias in tidy(known, ["alias"]).iter_rows():
        aliases[language, entity].append(alias)
    return Material(
        facts,
        complete(own, read_labels(mirror), entities),
        aliases,
        objects,
        read_prompts(mirror, xfactr.LANGUAGES),
        read_traits(xfactr.REPOSITORY, mirror),
    )


def read_labels(mirror: Path | None) -> pl.DataFrame:
    """Return the labels of mParaRel in the languages of X-FACTR (LABELS)."""
    shared = sorted({*xfactr.LANGUAGES} & {*mpararel.LANGUAGES})
    folders = sorted({folder for language in shared for folder in mpararel.list_folders(language)})
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
    return {key: list(dict.fromkeys(found)) for key, found in objects.items()}


def complete(own: pl.DataFrame, other: pl.DataFrame, entities: set[str]) -> pl.DataFrame:
    """Return NAMED: the source's own labels, then the others', for some entities, cleaned."""
    further = other.join(own, on=["language", "id"], how="anti")
    both = [own.select(*NAMED), further.select(*LABELS, kind=pl.lit(COMPLETED))]
    known = pl.concat(both).filter(pl.col("id").is_in(list(entities)))
    return clean_facts(Facts(pl.DataFrame(schema=FACTS), known, {})).labels


def name_ends(facts: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """Return the facts with a label at both ends, in their order: `subject`, `object`, `kind`."""
    subjects = names.select(subject_id="id", subject="label")
    objects = names.select("kind", object_id="id", object="label")
    named = facts.join(subjects, on="subject_id", maintain_order="left")
    return named.join(objects, on="object_id", maintain_order="left")


def is_marked(prompts: Mapping[str, Prompt]) -> bool:
    """Return whether a prompt has a mark of case, gender, number or article."""
    nodes = (node for prompt in prompts.values() for node in prompt)
    return any(
        bool(node.case or node.copula) if isinstance(node, Slot) else not isinstance(node, Text)
        for node in nodes
    )


def write_sentences(
    named: pl.DataFrame, language: str, material: Material
) -> tuple[pl.DataFrame, Counter[str]]:
    """Return PROMPTS of the facts in their order, cleaned, and counts of marks not applied."""
    renderer, traits = Renderer(language), material.traits
    lost: Counter[str] = Counter()

    def write() -> Iterator[tuple[str, ...]]:
        columns = (*FACTS, "subject", "object")
        for relation, one, other, subject, object_ in named.select(columns).iter_rows():
            prompt = material.prompts[language][relation]
            ends = (traits.get(one, UNKNOWN), traits.get(other, UNKNOWN))
            text, form, reasons = renderer.render(prompt, subject, object_, *ends)
            lost.update(reasons)
            yield language, relation, one, other, text, form

    made = pl.DataFrame(list(write()), schema=PROMPTS, orient="row")
    empty = pl.DataFrame(schema=FACTS), pl.DataFrame(schema=LABELS)
    return clean_facts(Facts(*empty, {}, prompts=made)).prompts, lost


def make_table(
    named: pl.DataFrame,
    written: pl.DataFrame,
    language: str,
    material: Material,
    labels: Mapping[str, str],
) -> pa.Table:
    """Return the rows, with columns of `columns.RELEASED`."""
    kind = "sentence" if is_marked(material.prompts[language]) else "0"
    facts = map(Fact._make, named.select(*FACTS).iter_rows())
    names = name_objects(material, language, labels)
    pairs = zip(facts, written["form"], strict=True)
    forms = [list_forms(fact, form, names, material.objects) for fact, form in pairs]
    columns = {
        "fact_id": named.select(pl.concat_str(*FACTS, separator=":")).to_series(),
        **{name: named[name] for name in (*FACTS, "subject")},
        "prompt": written["prompt"],
        "candidates": [[form] for form in written["form"]],
        "candidate_ids": [[entity] for entity in named["object_id"]],
        "answers": [[0]] * named.height,
        "answer_forms": forms,
        "template_id": [f"xfactr:{relation}:{kind}" for relation in named["relation"]],
        "dataset_id": named["dataset_id"],
        "label_from": named["kind"],
        "popularity": named["popularity"],
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
    material: Material, language: str, labels: Mapping[str, str]
) -> dict[str, list[str]]:
    """Return {object: its names in a language, the label first if it has one}."""
    return {
        entity: [
            *([labels[entity]] if entity in labels else []),
            *material.aliases.get((language, entity), ()),
        ]
        for entity in set(chain.from_iterable(material.objects.values()))
    }


def list_forms(
    fact: Fact,
    form: str,
    names: Mapping[str, list[str]],
    objects: Mapping[tuple[str, str], list[str]],
) -> list[str]:
    """Return the accepted texts: label, form, then the names of the object and of the others."""
    own = names[fact.object_id]
    others = (names[entity] for entity in objects[fact.relation, fact.subject_id])
    return list(dict.fromkeys([own[0], form, *own, *chain.from_iterable(others)]))


def take_notes(
    material: Material, named: pl.DataFrame, names: pl.DataFrame, language: str
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
        "kinds": dict(sorted(Counter(named["kind"]).items())),
        "annotated": is_marked(material.prompts[language]),
    }
