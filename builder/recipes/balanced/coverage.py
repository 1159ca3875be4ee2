"""Coverage: the facts that can be asked in each language, and the cost of adding a language."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from polyprobe.builder.facts import Facts

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
    """Availability of facts: the boolean array `layers[layer, fact, language]`.

    LABELLED: subject and object have labels. PROMPTED: LABELLED, and the source has a sentence for
    the fact. TEMPLATED: LABELLED, and the relation has a template. Facts and languages are in the
    order of `facts` and `languages`. A fact can be asked in a set of languages if it is PROMPTED in
    all of them or TEMPLATED in all of them.
    """

    facts: pl.DataFrame
    languages: tuple[str, ...]
    layers: np.ndarray

    def columns(self, languages: Sequence[str]) -> list[int]:
        """Return the column indices of the languages."""
        return [self.languages.index(language) for language in languages]

    def within(self, languages: Sequence[str]) -> np.ndarray:
        """Return an array (layers, facts): whether a fact is available in all of the languages."""
        return np.all(self.layers[:, :, self.columns(languages)], axis=2)

    def require_both(self) -> "Coverage":
        """Return a coverage that requires both a sentence of the source and a template."""
        layers = self.layers.copy()
        layers[[PROMPTED, TEMPLATED]] = layers[PROMPTED] & layers[TEMPLATED]
        return self._replace(layers=layers)


def measure_coverage(
    known: Facts, facts: pl.DataFrame, templates: pl.DataFrame, languages: Sequence[str]
) -> Coverage:
    """Return the coverage of `facts` by the labels and prompts in `known` and by `templates`."""
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
    """Return an array (rows, languages): whether `found` has the row's values in the language."""
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
    """Return the index of each value in `among`, whose values are unique."""
    index = among.alias("value").to_frame().with_row_index("place")
    found = values.alias("value").to_frame().join(index, on="value", maintain_order="left")
    return found["place"].to_numpy()


def can_be_asked(layers: np.ndarray) -> np.ndarray:
    """Return whether each fact has the source's sentences in all languages, or templates in all."""
    return layers[PROMPTED] | layers[TEMPLATED]


def trace_costs(coverage: Coverage, asked: Sequence[str]) -> pl.DataFrame:
    """Return the cost of each language in facts, one row for each language (COSTS).

    The requested languages come first, in the order in which each step keeps most facts (then most
    labelled facts, then by code). `facts` counts the facts that can be asked in all languages so
    far, `lost` the facts lost with this language (with the first one, out of all facts),
    `relations` the remaining relations, and `labelled` the facts with labels in all languages so
    far. The other languages follow, each as if added alone to the requested ones, the cheapest
    first.
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
    """Return (language, facts, lost, relations, labelled) of each single addition, best first.

    `alive` (layers, facts) marks the facts available in all languages so far; `before` is their
    number.
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
