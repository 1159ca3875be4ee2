"""Match two runs: the languages, facts and rows that both have, and the wordings of these."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from polyprobe.schema.columns import key_rows
from polyprobe.schema.run.folder import Run, read_run_tables
from polyprobe.schema.run.rows import ALL_ROWS, Choice, apply_choice, list_relations_and_flags
from polyprobe.system.messages import PolyprobeError

Tables = Mapping[str, pa.Table]
Pair = tuple[Tables, Tables]
ODD_SHARE = 0.5  # of the rows of two wordings
# Wordings and the ends of their configurations' names; a reference is in front of the others.
WORDINGS = {"template": "", "sentence": "-sentence", "chatgpt": "-chatgpt"}
WIDE = "-wide"  # behind these ends: aliases are correct answers


class Versions(NamedTuple):
    """Two runs on the same facts in two wordings; `sides` are these in the order of the runs."""

    reference: Run
    variant: Run
    sides: tuple[str, str] = ("sentence", "template")

    @property
    def wordings(self) -> tuple[str, str]:
        """Name the wording of the reference and that of the variant."""
        first, second = sorted(self.sides, key=[*WORDINGS].index)
        return first, second

    @property
    def runs(self) -> tuple[Run, Run]:
        """List both runs, the reference first."""
        return self.reference, self.variant


def find_versions(first: Run, second: Run) -> Versions | None:
    """Tell reference and variant apart; None unless configurations differ in wording alone."""
    (base, side), (second_base, second_side) = split_wording(first), split_wording(second)
    if base != second_base or side == second_side:
        return None
    order = [*WORDINGS]
    pair = (first, second) if order.index(side) < order.index(second_side) else (second, first)
    return Versions(*pair, (side, second_side))


def split_wording(run: Run) -> tuple[str, str]:
    """Split dataset and configuration of a run from the wording.

    `fluent-mlama/ru-chatgpt-wide` is the wording `chatgpt` of `fluent-mlama/ru-wide`.
    """
    name = run.settings().data_name
    base = name.removesuffix(WIDE)  # the wording stands before it
    for wording, suffix in WORDINGS.items():
        if suffix and base.endswith(suffix):
            return base.removesuffix(suffix) + name[len(base) :], wording
    return name, "template"


class Match(NamedTuple):
    """The rows that two runs have in common."""

    languages: list[str]  # of both, in the first one's order
    left_out_languages: list[str]  # of one alone
    tables: Pair  # of each run by language, row by row the same facts
    left_out: tuple[int, int]  # rows of the first, of the second alone
    left_out_rows: dict[str, int]  # common rows without the choice, by reason
    n_differing: int  # common rows with other candidates, only of two wordings


def match_runs(first: Run, second: Run, choice: Choice = ALL_ROWS) -> Match:
    """Match the languages and facts of two runs; flags of rows are those of the first run."""
    runs = (first, second)
    kinds = [run.settings().kind for run in runs]
    if len({*kinds}) > 1:
        free = kinds.index("predictions")
        raise PolyprobeError(
            f"{runs[free].folder} holds free predictions, {runs[1 - free].folder} scores of "
            "candidates; compare two runs of one kind"
        )
    tables = (read_run_tables(first), read_run_tables(second))
    languages = [language for language in tables[0] if language in tables[1]]
    if not languages:
        raise PolyprobeError(
            f"{first.folder} and {second.folder} have no language in common "
            f"({', '.join(tables[0])}; {', '.join(tables[1])})"
        )
    # a release may have odd rows in one wording; other runs have the same candidates
    limit = ODD_SHARE if find_versions(first, second) else 0.0
    # every language is checked for other candidates, the rows are those of the first one
    matches = [match_facts(tables[0][x], tables[1][x], runs, x, limit) for x in languages]
    *rows, _ = matches[0]
    common = tables[0][languages[0]].take(rows[0])
    names = {name for run in runs for name in run.settings().exclude}
    names |= {name for table in tables for name in list_relations_and_flags(table[languages[0]])}
    selection = apply_choice(common, choice, names)
    parts = [
        {x: _take(table[x], [places[row] for row in selection.rows]) for x in languages}
        for table, places in zip(tables, rows, strict=True)
    ]
    sizes = [len(table[languages[0]]) for table in tables]
    return Match(
        languages,
        [x for x in {**tables[0], **tables[1]} if x not in languages],
        (parts[0], parts[1]),
        (sizes[0] - len(rows[0]), sizes[1] - len(rows[1])),
        selection.left_out,
        sum(n for *_, n in matches),
    )


def _take(table: pa.Table, rows: list[int]) -> pa.Table:
    """Take rows of a table; all of them take no memory."""
    return table if rows == [*range(len(table))] else table.take(rows)


def match_facts(
    first: pa.Table, second: pa.Table, runs: Sequence[Run], language: str, limit: float = 0.0
) -> tuple[list[int], list[int], int]:
    """List the rows of both tables that hold the same fact, in the first one's order.

    The third is the number of rows with other candidates; a share above `limit` is refused.
    """
    # a fact with several templates is matched template by template
    keys = [key_rows(table["fact_id"].to_pylist()) for table in (first, second)]
    places = {key: row for row, key in enumerate(keys[1])}
    pairs = [(row, places[key]) for row, key in enumerate(keys[0]) if key in places]
    if not pairs:
        raise PolyprobeError(
            f"{runs[0].folder} and {runs[1].folder} have no fact in common; compare runs on the "
            "same dataset and configuration"
        )
    differing: list[tuple[int, int]] = []
    if "scores" in first.column_names:  # of free predictions even the prompts may differ
        # of each row, the correct candidates and the number of all
        lengths = [pc.list_value_length(table["scores"]).to_pylist() for table in (first, second)]
        answers = [table["answers"].to_pylist() for table in (first, second)]
        questions = [[*zip(*x, strict=True)] for x in zip(answers, lengths, strict=True)]
        differing = [pair for pair in pairs if questions[0][pair[0]] != questions[1][pair[1]]]
    if len(differing) > limit * len(pairs):
        row, place = differing[0]
        raise PolyprobeError(
            f"{language}, fact {first['fact_id'][row]}: other candidates in {runs[0].folder} "
            f"(row {row}) than in {runs[1].folder} (row {place}); compare runs on the same dataset "
            "and configuration"
        )
    return [row for row, _ in pairs], [row for _, row in pairs], len(differing)
