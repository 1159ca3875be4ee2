"""Choose rows by relation and flag, and a sample of these."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from polyprobe.schema.columns import ANSWER_IN_SUBJECT, SECOND_ANSWERS, find_different, key_rows
from polyprobe.schema.languages import split_list
from polyprobe.system.files import hash_text
from polyprobe.system.messages import PolyprobeError, refuse_unknown
from polyprobe.system.options import check_arguments

OTHERS = "other relations"


class Choice(NamedTuple):
    """The rows to keep; sorted, so that equal choices are equal."""

    relations: tuple[str, ...] | None = None  # only the rows of these; None: of all
    exclude: tuple[str, ...] = ()  # relations and flags to leave out, also those of `relations`

    def as_json(self) -> dict[str, Any]:
        """Make lists of both, as JSON has them."""
        relations = None if self.relations is None else [*self.relations]
        return {"relations": relations, "exclude": [*self.exclude]}


class Chosen(NamedTuple):
    """The numbers of the rows that are kept, and the number left out by reason."""

    rows: list[int]
    left_out: dict[str, int]


ALL_ROWS = Choice()


@check_arguments
def make_choice(
    relations: str | Iterable[str] | None = None, exclude: str | Iterable[str] | None = None
) -> Choice:
    """Make the choice of these relations, without `exclude`; None is all and nothing.

    Both are lists, or texts with commas as on the command line (`exclude="none"`: nothing).
    """
    relations = split_list(relations) if isinstance(relations, str) else relations
    exclude = () if exclude == "none" else exclude or ()
    exclude = split_list(exclude) if isinstance(exclude, str) else exclude
    return Choice(None if relations is None else _sort(relations), _sort(exclude))


def choose_to_score(
    table: pa.Table, relations: str | Iterable[str] | None, exclude: str | Iterable[str] | None
) -> Choice:
    """Make the choice of an evaluation; by default without rows that have either flag below."""
    if exclude is None:  # `second_answers` marks whole relations: of those named, rows are kept
        flags = [ANSWER_IN_SUBJECT, *([SECOND_ANSWERS] if relations is None else ())]
        exclude = list_relations_and_flags(table).intersection(flags)
    return make_choice(relations, exclude)


def apply_choice(table: pa.Table, choice: Choice, names_elsewhere: Collection[str] = ()) -> Chosen:
    """Find the rows of a table that a choice keeps, and count the others by their first reason."""
    # an unknown name is refused, except for `names_elsewhere`, as of rows left out earlier
    relations, flags = table["relation"].to_pylist(), _read_flags(table)
    relations_and_flags = {*list_relations_and_flags(table), *names_elsewhere}
    all_relations = {*relations, *names_elsewhere}
    refuse_unknown("relation", choice.relations or (), "--relations", all_relations)
    refuse_unknown("relation or flag", choice.exclude, "--exclude", relations_and_flags)
    rows, left_out = [], Counter[str]()
    for row, (relation, names) in enumerate(zip(relations, flags, strict=True)):
        excluded = choice.relations is not None and relation not in choice.relations
        reasons = (name for name in choice.exclude if name == relation or name in names)
        reason = OTHERS if excluded else next(reasons, None)
        if reason is None:
            rows.append(row)
        else:
            left_out[reason] += 1
    if not rows:
        raise PolyprobeError(f"no row is left of {len(table):,} ({describe_choice(choice)})")
    return Chosen(rows, {name: left_out[name] for name in sorted(left_out)})


def choose_rows(
    table: pa.Table,
    limit: int | None = None,
    sample: int | None = None,
    among: Sequence[int] | None = None,
) -> list[int]:
    """Choose row numbers, in dataset order; they depend on relation and id alone.

    `among` are the rows to choose from, in order (default: all). `limit` takes the first rows.
    `sample` takes facts, with all rows (templates) of each: it numbers each relation's n facts by
    the SHA-256 of their id, k = 0, 1, ..., and takes those with the smallest (k + 1/2) / n. So
    relations keep their shares to within one fact, every language and machine gets the same facts,
    a larger sample includes the smaller one, and a small change of the dataset changes it little.
    """
    among = [*range(len(table))] if among is None else [*among]
    if sample is None:
        return among[:limit]
    table = table.take(among)
    # a repaired dataset and the published one give the same facts
    names = table["published_row" if "published_row" in table.schema.names else "fact_id"]
    ids = names.to_pylist()
    relation_of = dict(zip(ids, table["relation"].to_pylist(), strict=True))
    digests = {name: hash_text(name) for name in relation_of}
    totals, counts, places = Counter(relation_of.values()), Counter[str](), {}
    for name in sorted(relation_of, key=digests.__getitem__):
        relation = relation_of[name]
        places[name] = (counts[relation] + 0.5) / totals[relation]
        counts[relation] += 1
    order = sorted(relation_of, key=lambda name: (places[name], digests[name]))
    facts_of_sample = {*order[:sample]}
    return [row for row, name in zip(among, ids, strict=True) if name in facts_of_sample]


def find_rows(table: pa.Table, options: Any) -> tuple[list[int], dict[str, Any]]:
    """Find the rows of `DatasetOptions`, in order, and the settings that say their choice."""
    choice = choose_to_score(table, options.relations, options.exclude)
    rows, excluded = apply_choice(table, choice)
    numbers = choose_rows(table, options.limit, options.sample, rows)
    values = {"limit": options.limit, "sample": options.sample, "left_out": excluded}
    return numbers, values | choice.as_json()


def choose_examples(table: pa.Table, options: Any, n: int) -> tuple[list[int], list[list[int]]]:
    """Find the rows that are asked, and for each n solved examples of its relation.

    The examples are among the rows of `DatasetOptions`, the last ones in the order of `choose_rows`
    with different answers, by ids alone. Rows about their subjects are not asked, because they
    have the same sentence. An example has the template of the row, if its fact has that.
    """
    scored, _ = apply_choice(table, choose_to_score(table, options.relations, options.exclude))
    names = [x for x in table.column_names if not x.startswith("candidate")]  # long lists
    rows = table.select(names).to_pylist()
    subjects = [(row["relation"], row.get("subject_id") or row["fact_id"]) for row in rows]
    places: dict[Any, int] = {subjects[k]: k for k in reversed(scored)}
    ids = {x: rows[k].get("published_row") or rows[k]["fact_id"] for x, k in places.items()}
    order = sorted(places, key=lambda subject: hash_text(ids[subject]), reverse=True)
    answers = key_rows([f"{x[0]} {rows[places[x]].get('object_id') or x}" for x in order])
    of_relations: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for _, subject in sorted(zip(answers, order, strict=True), key=lambda pair: pair[0][1]):
        of_relations[subject[0]].append(subject)
    if lacks := [f"{x} has {len(of)}" for x, of in of_relations.items() if len(of) < n + 2]:
        raise PolyprobeError(
            f"--shots {n} needs {n + 2} subjects of each relation; {', '.join(lacks)}: use fewer, "
            "or leave these relations out (--exclude)"
        )
    examples = {subject for of in of_relations.values() for subject in of[:n]}
    rest = [k for k, subject in enumerate(subjects) if subject not in examples]
    places |= {(subjects[k], rows[k].get("template_id")): k for k in reversed(scored)}
    return rest, [
        [
            places.get((subject, rows[k].get("template_id")), places[subject])
            for subject in of_relations[rows[k]["relation"]][:n]
        ]
        for k in rest
    ]


def check_comparable(tables: Mapping[str, pa.Table], rows: Sequence[int]) -> None:
    """Refuse rows that hide that languages have their own candidates, whose rankings differ."""
    differ = find_different(tables.values())
    if differ.any() and not differ[rows].any():
        raise PolyprobeError(
            f"languages have other candidates in {differ.sum():,} rows, but in none of the "
            f"{len(rows):,} chosen ones, so RankC would compare different candidates; score more "
            "rows, or name one language (--languages)"
        )


def describe_choice(choice: Choice) -> str:
    """Describe a choice in words.

    >>> describe_choice(make_choice(["P36", "P19"], ["second_answers"]))
    'relations P19, P36; without second_answers'
    """
    only = "" if choice.relations is None else f"relations {', '.join(choice.relations) or 'none'}"
    without = f"without {', '.join(choice.exclude)}" if choice.exclude else ""
    return "; ".join(filter(None, (only, without)))


def list_relations_and_flags(table: pa.Table) -> set[str]:
    """List the relations and flags of a table."""
    flags = {name for names in _read_flags(table) for name in names}
    return {*table["relation"].to_pylist(), *flags}


def _read_flags(table: pa.Table) -> Sequence[Sequence[str]]:
    if "flags" not in table.column_names:
        return [()] * len(table)
    return [names or () for names in table["flags"].to_pylist()]


def _sort(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names), key=lambda name: (len(name), name)))  # P36 before P101
