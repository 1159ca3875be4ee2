"""Which facts can be asked in which languages, and what each further language costs."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from polyprobe.builder.facts.facts import Facts

COSTS = {
    "language": pl.String,
    "asked": pl.Boolean,
    "facts": pl.Int64,
    "lost": pl.Int64,
    "relations": pl.Int64,
    "labelled": pl.Int64,
}
LABELLED, PROMPTED, TEMPLATED = range(3)  # the layers of a coverage


class Coverage(NamedTuple):
    """Where facts stand: `layers[layer, fact, language]` is true or false.

    LABELLED: subject and object have a label. PROMPTED: the source has a sentence for the fact as
    well. TEMPLATED: the relation has a template as well. Facts and languages are in the order of
    `facts` and `languages`. A fact can be asked in a set of languages if it is PROMPTED in all of
    them, or TEMPLATED in all of them.
    """

    facts: pl.DataFrame
    languages: tuple[str, ...]
    layers: np.ndarray

    def columns(self, languages: Sequence[str]) -> list[int]:
        """Return the places of the languages."""
        return [self.languages.index(language) for language in languages]

    def within(self, languages: Sequence[str]) -> np.ndarray:
        """Return (layers, facts): whether a fact stands in every one of the languages."""
        return np.all(self.layers[:, :, self.columns(languages)], axis=2)

    def require_both(self) -> "Coverage":
        """Return where facts have a sentence of the source's own and a template as well."""
        layers = self.layers.copy()
        layers[[PROMPTED, TEMPLATED]] = layers[PROMPTED] & layers[TEMPLATED]
        return self._replace(layers=layers)


def measure_coverage(
    known: Facts, facts: pl.DataFrame, templates: pl.DataFrame, languages: Sequence[str]
) -> Coverage:
    """Return where the `facts` stand, by the labels and prompts `known` and the templates given."""
    entities = pl.DataFrame({"id": pl.concat([facts["subject_id"], facts["object_id"]]).unique()})
    named = mark(known.labels, entities, languages)
    labelled = named[places(facts["subject_id"], entities["id"])]
    labelled &= named[places(facts["object_id"], entities["id"])]
    relations = facts.select(pl.col("relation").unique())
    templated = mark(templates, relations, languages)
    templated = templated[places(facts["relation"], relations["relation"])]
    prompted = mark(known.prompts, facts, languages)
    layers = np.stack([labelled, labelled & prompted, labelled & templated])
    return Coverage(facts, tuple(languages), layers)


def mark(found: pl.DataFrame, rows: pl.DataFrame, languages: Sequence[str]) -> np.ndarray:
    """Return (rows, languages): whether `found` holds the row's values with the language."""
    columns = pl.DataFrame({"language": languages}, schema={"language": pl.String})
    hits = (
        found.select("language", *rows.columns)
        .unique()
        .join(rows.with_row_index("row"), on=rows.columns)
        .join(columns.with_row_index("column"), on="language")
    )
    marks = np.zeros((rows.height, columns.height), dtype=bool)
    marks[hits["row"].to_numpy(), hits["column"].to_numpy()] = True
    return marks


def places(values: pl.Series, among: pl.Series) -> np.ndarray:
    """Return the place of each value in `among`, which holds each once."""
    index = among.alias("value").to_frame().with_row_index("place")
    found = values.alias("value").to_frame().join(index, on="value", maintain_order="left")
    return found["place"].to_numpy()


def can_be_asked(layers: np.ndarray) -> np.ndarray:
    """Return whether there is a sentence: the source's own everywhere, or templates everywhere."""
    return layers[PROMPTED] | layers[TEMPLATED]


def trace_costs(coverage: Coverage, asked: Sequence[str]) -> pl.DataFrame:
    """Return what each language costs in facts, one row a language (COSTS).

    First the languages asked for, in the order in which each step keeps most facts (then most
    labelled facts, then by code): `facts` are those that can be asked in all languages so far,
    `lost` what this one took away (the first from all facts), `relations` those that are left,
    `labelled` the facts with labels in all languages so far, sentence or not. Then each other
    language, as if it alone were added to those asked for, the cheapest first.
    """
    asked = asked or coverage.languages
    alive = np.ones(coverage.layers.shape[:2], dtype=bool)
    steps, left, before = [], sorted(set(asked)), coverage.facts.height
    while left:
        [best, *_] = try_each(coverage, alive, left, before)
        steps.append((best[0], True, *best[1:]))
        before = best[1]
        left.remove(best[0])
        alive &= coverage.layers[:, :, coverage.languages.index(best[0])]
    others = sorted(set(coverage.languages) - set(asked))
    steps += [(row[0], False, *row[1:]) for row in try_each(coverage, alive, others, before)]
    return pl.DataFrame(steps, schema=COSTS, orient="row")


def try_each(
    coverage: Coverage, alive: np.ndarray, languages: Sequence[str], before: int
) -> list[tuple[str, int, int, int, int]]:
    """Return (language, facts, lost, relations, labelled) if it alone were added, best first.

    `alive` (layers, facts) is what stands in the languages so far, `before` the count of it.
    """
    kept = alive[LABELLED].nonzero()[0]
    relations = coverage.facts["relation"].cast(pl.Categorical).to_physical().to_numpy()[kept]
    columns = coverage.columns(languages)
    after = coverage.layers[:, kept][:, :, columns] & alive[:, kept, None]
    asked = can_be_asked(after)
    rows = [
        (language, int(n := asked[:, i].sum()), before - int(n),
         np.unique(relations[asked[:, i]]).size, int(after[LABELLED, :, i].sum()))
        for i, language in enumerate(languages)
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (-row[1], -row[4], row[0]))
