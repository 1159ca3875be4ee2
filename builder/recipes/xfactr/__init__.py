"""Build xfactr: the facts of mTRExf whose ends have a label in a language, in released order."""

import io
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pyarrow as pa

from polyprobe.builder.annotated.entities import Traits, read_traits
from polyprobe.builder.annotated.grammar import Prompt, Slot, Text
from polyprobe.builder.annotated.render import Renderer
from polyprobe.builder.facts import FACTS, LABELS, PROMPTS, Fact
from polyprobe.builder.facts.labels import clean_columns, clean_labels, tidy
from polyprobe.builder.output.folder import NOTES, Config, markdown_table
from polyprobe.builder.recipes.balanced.material import read_prompts, render_rows
from polyprobe.builder.sources import mpararel, xfactr
from polyprobe.system.files import read_toml

DEFAULT_CONFIG = "en"
COMPLETED = "mpararel"  # the `label_from` of its labels
KINDS = ("alias", "list", "form", COMPLETED)
OBJECTS = "data/mTRExf_multi_rel.txt"
RELEASED = {"uuid": pl.String, "predicate_id": pl.String, "sub_uri": pl.String,
            "obj_uri": pl.String, "count": pl.Int32}  # fmt: skip
NO_NAME = "no name in the language"
UNDECIDED = "several names, none of them marked as the label"
# Facts in each language in the paper's table 5.
PUBLISHED = read_toml(__package__, "published.toml")


class Release(NamedTuple):
    """The release, in all languages."""

    facts: pl.DataFrame  # FACTS, `dataset_id` and `popularity`, in the order of the release
    names: pl.DataFrame  # LABELS and `kind`, at most one label for each language and id
    aliases: Mapping[tuple[str, str], list[str]]  # {(language, id): names}
    objects: Mapping[tuple[str, str], list[str]]  # {(relation, subject id): valid objects}
    prompts: Mapping[str, Mapping[str, Prompt]]  # {language: {relation: tree}}
    traits: Mapping[str, Traits]  # {id: traits}


def build(config: str, mirror: Path | None = None) -> dict[str, pa.Table]:
    """Return the rows of a language, with notes on lost facts in the metadata of the table."""
    release = read_release(mirror)
    names = release.names.filter(language=config)
    subjects = names.select(subject_id="id", subject="label")
    objects = names.select("kind", object_id="id", object="label")
    facts = release.facts.join(subjects, on="subject_id", maintain_order="left")
    facts = facts.join(objects, on="object_id", maintain_order="left")
    lost: Counter[str] = Counter()
    ends = facts.select(*FACTS, "subject", "object")
    rows = render_rows(ends, release.prompts[config], release.traits, Renderer(config), lost)
    sentences = pl.DataFrame([(config, *row) for row in rows], PROMPTS, orient="row")
    sentences = clean_columns(sentences, ["prompt", "form"])
    table = make_fact_table(facts, sentences, config, release)
    notes = count_losses(release, facts, names, config) | {"marks": dict(sorted(lost.items()))}
    return {config: table.replace_schema_metadata({NOTES: json.dumps(notes, ensure_ascii=False)})}


@lru_cache(maxsize=1)  # the configurations are built in sequence
def read_release(mirror: Path | None) -> Release:
    """Return the release and the labels of mParaRel for its entities."""
    contents = xfactr.read_paths([*xfactr.list_source_paths(xfactr.LANGUAGES), OBJECTS], mirror)
    facts = pl.concat(
        pl.read_ndjson(io.BytesIO(content), schema=RELEASED)
        for path, content in contents.items()
        if path.startswith("data/mTRExf/sub/")
    ).rename(dict(zip(RELEASED, ("dataset_id", *FACTS, "popularity"), strict=True)))
    # The objects of each relation and subject: the listed ones and those of the facts.
    objects: dict[tuple[str, str], list[str]] = defaultdict(list)
    listed = xfactr.parse_objects(contents[OBJECTS])
    for relation, subject, answer in chain(listed, facts.select(*FACTS).iter_rows()):
        objects[relation, subject].append(answer)
    # Names of all valid objects are needed, not only those of the facts.
    entities = {*facts["subject_id"], *facts["object_id"]}.union(*objects.values())
    alias_rows = xfactr.parse_aliases(contents)
    forms = xfactr.list_forms(xfactr.parse_tuples(contents))
    lists = xfactr.parse_lists(contents)
    labels = xfactr.choose_entity_labels(forms, alias_rows, lists, Counter())
    aliases: dict[tuple[str, str], list[str]] = defaultdict(list)
    part = alias_rows.filter(pl.col("id").is_in(list(entities))).sort(pl.all())
    for language, entity, alias in tidy(part, ["alias"]).iter_rows():
        aliases[language, entity].append(alias)
    distinct = {key: list(dict.fromkeys(names)) for key, names in objects.items()}
    # mParaRel has labels where X-FACTR has none.
    shared = sorted({*xfactr.LANGUAGES} & {*mpararel.LANGUAGES})
    folders = sorted({name for x in shared for name in mpararel.list_language_folders(x)})
    borrowed = mpararel.list_labels(mpararel.read_tuples(mirror, folders), shared)
    additions = borrowed.join(labels, on=["language", "id"], how="anti")
    tables = [labels.select(*LABELS, "kind"), additions.select(*LABELS, kind=pl.lit(COMPLETED))]
    names = clean_labels(pl.concat(tables).filter(pl.col("id").is_in(list(entities))))
    prompts, traits = read_prompts(mirror, xfactr.LANGUAGES), read_traits(xfactr.REPOSITORY, mirror)
    return Release(facts, names, aliases, distinct, prompts, traits)


def make_fact_table(
    facts: pl.DataFrame, sentences: pl.DataFrame, language: str, release: Release
) -> pa.Table:
    """Return the rows, with columns of `columns.RELEASED`."""
    kind = "sentence" if is_marked(release.prompts[language]) else "0"
    labels = dict(release.names.filter(language=language).select("id", "label").iter_rows())
    forms = []
    for *ids, form in zip(*facts.select(*FACTS), sentences["form"], strict=True):
        fact = Fact(*ids)
        names = [
            name
            for entity in (fact.object_id, *release.objects[fact.relation, fact.subject_id])
            for name in (labels.get(entity), *release.aliases.get((language, entity), ()))
            if name is not None
        ]
        forms.append(list(dict.fromkeys([labels[fact.object_id], form, *names])))
    rows = facts.with_columns(sentences["prompt", "form"], answer_forms=pl.Series(forms))
    columns = rows.select(
        *(*FACTS, "subject", "prompt", "answer_forms", "dataset_id", "popularity"),
        fact_id=pl.concat_str(*FACTS, separator=":"),
        candidates=pl.concat_list("form"),
        candidate_ids=pl.concat_list("object_id"),
        answers=pl.lit([0], pl.List(pl.Int32)),
        template_id=pl.format("xfactr:{}:{}", "relation", pl.lit(kind)),
        label_from="kind",
    )
    # The chunks of a table decide the bytes of its Parquet file.
    return columns.rechunk().to_arrow()


def is_marked(prompts: Mapping[str, Prompt]) -> bool:
    """Return whether a prompt has a mark of case, gender, number or article."""
    return any(
        bool(node.case or node.copula) if isinstance(node, Slot) else not isinstance(node, Text)
        for prompt in prompts.values()
        for node in prompt
    )


def count_losses(
    release: Release, facts: pl.DataFrame, names: pl.DataFrame, language: str
) -> dict[str, object]:
    """Return the counts of facts, of lost ones by reason, and of the objects' labels by kind."""
    # A fact is lost for want of a name if an end has none; otherwise because an end has several.
    labelled = set(names["id"])
    lost = Counter(
        NO_NAME if any((language, end) not in release.aliases for end in absent) else UNDECIDED
        for ends in release.facts.select("subject_id", "object_id").iter_rows()
        if (absent := [end for end in ends if end not in labelled])
    )
    return {
        "facts": release.facts.height,
        "lost": {reason: lost[reason] for reason in (NO_NAME, UNDECIDED)},
        "kinds": dict(sorted(Counter(facts["kind"]).items())),
        "annotated": is_marked(release.prompts[language]),
    }


def describe(configs: Sequence[Config]) -> dict[str, str]:
    """Return the tables of facts and of labels by language, and of marks that were not applied."""
    head = ("language", "facts", "table 5", "without a label (%)", NO_NAME, UNDECIDED)
    facts = []
    for config in configs:
        size, notes = config.sizes.total(), config.notes
        lost = f"{100 * (1 - size / notes['facts']):.1f}"
        reasons = (notes["lost"][reason] for reason in (NO_NAME, UNDECIDED))
        kinds = (notes["kinds"].get(kind, 0) for kind in KINDS)
        facts.append((f"`{config.name}`", size, PUBLISHED[config.name], lost, *reasons, *kinds))
    marks = [
        (f"`{config.name}`", reason, count)
        for config in configs
        if config.notes["annotated"]
        for reason, count in config.notes["marks"].items()
    ]
    return {
        "facts": markdown_table((*head, *(f"`{kind}`" for kind in KINDS)), facts),
        "marks": markdown_table(("language", "mark", "sentences"), marks),
    }
