"""Build klar: facts of BMLAMA-17, each in the five questions of Wang et al. (ACL 2025).

A row is a fact in a template, in the order of relation, fact and template. Rows are parallel: a
configuration has the relations that have five templates in all of its languages, and the facts that
all have. `17` has all languages, `15` all relations, both with the released subjects and
candidates. `-repaired` configurations have those of BMLAMA's `17-repaired`.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from polyprobe.builder.recipes import RECIPES
from polyprobe.builder.recipes.bmlama import build as bmlama
from polyprobe.builder.sources.bmlama.files import MASK, Record
from polyprobe.builder.sources.bmlama.files import make_row as bmlama_row
from polyprobe.builder.sources.klar import SUBJECT, Relation, Sample, read_relations
from polyprobe.schema.columns import SLOT, Row

CONFIGS = RECIPES["klar"].configs
DEFAULT_CONFIG = "17-repaired"
SHORT = ("fa", "he")  # one template of two relations
N_TEMPLATES = 5
Facts = Mapping[str, Row]  # by row of BMLAMA-17, without a question


def describe(configs: Sequence[object]) -> dict[str, str]:
    """Return no further parts of the card."""
    return {}


def build(config: str, mirror: Path | None = None) -> dict[str, list[Row]]:
    """Return {language: rows}."""
    size, _, repaired = config.partition("-")
    asked = {
        language: relations
        for language, relations in read_relations(mirror).items()
        if size == "17" or language not in SHORT
    }
    facts = read_repaired(mirror) if repaired else {x: list_facts(asked[x]) for x in asked}
    order = choose_facts(asked, facts)
    return {x: list(fill(order, asked[x], facts[x])) for x in asked}


def read_repaired(mirror: Path | None) -> dict[str, Facts]:
    """Return the rows of BMLAMA's `17-repaired`; repairs of its templates are not ours."""
    rows = bmlama.build("17-repaired", mirror)
    return {
        language: {
            row.published_row: row._replace(repairs=[x for x in row.repairs if x != "template"])
            for row in part
        }
        for language, part in rows.items()
    }


def list_facts(relations: Mapping[str, Relation]) -> Facts:
    """Return the released facts of a language."""
    samples = (sample for relation in relations.values() for sample in relation.samples)
    return {name_row(sample): make_fact(sample) for sample in samples}


def name_row(sample: Sample) -> str:
    """Return the id of a fact's row in the published BMLAMA-17."""
    return f"17:{sample.row + 1:04}"


def make_fact(sample: Sample) -> Row:
    """Return a row without relation and question."""
    record = Record("", sample.object, sample.candidates, sample.subject)
    return bmlama_row(record, name_row(sample), relation="")


def choose_facts(
    asked: Mapping[str, Mapping[str, Relation]], facts: Mapping[str, Facts]
) -> dict[str, list[str]]:
    """Return {relation: rows of BMLAMA-17} that all languages have, in five templates."""
    first, *_ = asked.values()
    order = {}
    for name in sorted(first, key=lambda name: int(name[1:])):
        parts = {language: relations[name] for language, relations in asked.items()}
        if all(len(part.templates) == N_TEMPLATES for part in parts.values()):
            known = [
                {row for row in map(name_row, part.samples) if row in facts[language]}
                for language, part in parts.items()
            ]
            order[name] = sorted(set.intersection(*known))
    return order


def fill(
    order: Mapping[str, Sequence[str]], relations: Mapping[str, Relation], facts: Facts
) -> Iterator[Row]:
    """Yield the rows of a language: each fact in the templates of its relation."""
    for name, rows in order.items():
        for fact in (facts[row] for row in rows):
            for number, template in enumerate(relations[name].templates):
                yield fact._replace(
                    relation=name,
                    prompt=template.replace(SUBJECT, fact.subject).replace(MASK, SLOT),
                    template_id=f"klar:{name}:{number}",
                )
