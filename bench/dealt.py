"""Scores of a simulated model on rows with the donors that `polyprobe eval` deals.

The model scores each pair of a sentence and a candidate once in each language: rows that share a
subject or a donor share scores, as those of a real model do.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from polyprobe.analysis.figures.facts import ScoredFacts
from polyprobe.eval.donors import deal_donors
from polyprobe.eval.questions import annotate
from polyprobe.schema.columns import name_candidates, name_subjects
from polyprobe.schema.run.folder import SCORES


class Dealt:
    """The rows of a dataset in every language, and their pairs of a sentence and a candidate.

    Attributes:
        tables: rows with the columns of `annotate`.
        rows, donor_rows: number of the pair of each candidate, flat over the rows, in the row's own
            sentence and in the donor's; without a donor in its own.
        sizes: candidates of each row.
        sentences: sentence of each pair, a relation and a subject.
        entities: number of the candidate of each pair.
        right: whether the candidate of a pair answers the sentence.
        names: relation, subject and candidate of each pair.
        places: a row of the subject of each pair, and row and place of the candidate.
    """

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        first = next(iter(tables.values()))
        donors = deal_donors(first)
        self.tables = annotate(tables, donors)
        candidates, subjects = name_candidates(first), name_subjects(first)
        relations, answers = (first[x].to_pylist() for x in ("relation", "answers"))
        sentences, entities = dict[tuple[str, str], int](), dict[str, int]()
        numbers = dict[tuple[str, str, str], int]()
        self.places: list[tuple[int, int, int]] = []
        flats: tuple[list[int], list[int]] = ([], [])
        rows = zip(relations, candidates, donors.rows, strict=True)
        for row, (relation, names, dealt) in enumerate(rows):
            donor = row if dealt is None else dealt
            for flat, of in zip(flats, (row, donor), strict=True):
                for place, name in enumerate(names):
                    key = relation, subjects[of], name
                    if key not in numbers:
                        numbers[key] = len(numbers)
                        self.places.append((of, row, place))
                    flat.append(numbers[key])
        self.names = [*numbers]
        self.rows, self.donor_rows = map(np.array, flats)
        self.sizes = np.array([len(names) for names in candidates])
        self.sentences = np.array([sentences.setdefault(x[:2], len(sentences)) for x in numbers])
        self.entities = np.array([entities.setdefault(x[2], len(entities)) for x in numbers])
        facts = {
            (relation, subject, names[k])
            for relation, subject, names, right in zip(
                relations, subjects, candidates, answers, strict=True
            )
            for k in right
        }
        self.right = np.array([key in facts for key in numbers])
        self._runs = {language: _as_run(table) for language, table in self.tables.items()}

    def score(
        self, scores: Mapping[str, np.ndarray], rows: Sequence[int] | None = None
    ) -> ScoredFacts:
        """Make the scored facts of a model from its scores of each pair, by language."""
        ends = pa.array(np.insert(self.sizes.cumsum(), 0, 0), pa.int32())
        tables = {}
        for language, values in scores.items():
            table = self._runs[language]
            served = table["donor"].is_valid().to_numpy()
            for name, flat in (("scores", self.rows), ("donor_scores", self.donor_rows)):
                mask = None if name == "scores" else pa.array(~served)
                lists = pa.array(values[flat], pa.float32())
                column = pa.ListArray.from_arrays(ends, lists, mask=mask)
                table = table.set_column(SCORES.get_field_index(name), name, column)
            tables[language] = table if rows is None else table.take(rows)
        return ScoredFacts(tables)


def _as_run(table: pa.Table) -> pa.Table:
    """Make a language's file of a run; a byte of a candidate counts as a token."""
    columns = {name: table[name] for name in SCORES.names if name in table.column_names}
    columns["n_tokens"] = pa.array(
        [[len(x.encode()) for x in row] for row in table["candidates"].to_pylist()],
        pa.list_(pa.int32()),
    )
    nothing = pa.nulls(len(table))
    return pa.table({name: columns.get(name, nothing) for name in SCORES.names}, schema=SCORES)
