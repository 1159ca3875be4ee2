"""What the rows of a dataset become where a protocol has its own way; which filling it takes."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polyprobe.schema.columns import SLOT, has_prompts
from polyprobe.system.messages import PolyprobeError, naming_language

_TEXTS = [of(text) for of in (pa.list_, pa.large_list) for text in (pa.string(), pa.large_string())]
_STRIPPED = str.maketrans("", "", ".:。")
_SAME = ("fact_id", "relation", "subject", "subject_id", "template_id", "flags", "reviewed")
ANSWER_COLUMNS = ("object_id", "answer_forms")
BLANK = "___"
NO_NAMES: tuple[str, Mapping[str, Sequence[str]]] = ("", MappingProxyType({}))
NO_CANDIDATES = (BLANK,)  # of a question with a free answer
_REST = re.compile(r"[\s\W]*")  # of a sentence behind the slot at its end
CHOSEN = ("prediction", "n_masks", "log_probability")  # columns of the filling that wins


class Protocol(NamedTuple):
    """The input of a protocol and the kind of its files."""

    kind: str = "scores"  # of candidates, or free `predictions`
    whole_relation: bool = False  # candidates are all objects of the relation
    bare: bool = False  # templates are, see `bare_template`
    answers: bool = False  # free answers, in which objects are found
    contrasts: bool = False  # compares first sub-words, the fact's with the mean of the others'
    choices: bool = False  # chosen candidates without scores of the others
    options: bool = False  # the candidates are options with letters, whose positions have effects
    columns: tuple[str, ...] = ()  # further columns that its scores depend on


# By the first word of the name in run.json, such as `mpararel-released` or `bmlama-eq8`.
PROTOCOLS = {
    "bmlama": Protocol(),
    "object": Protocol(),
    "contrastive": Protocol(contrasts=True),
    "letters": Protocol(options=True),
    "pll": Protocol(),
    "mpararel": Protocol(whole_relation=True, bare=True, columns=("object_id", "subject")),
    "answer": Protocol(whole_relation=True, answers=True, choices=True, columns=ANSWER_COLUMNS),
    "scores": Protocol(),  # imported, of an unknown protocol
    "choice": Protocol(choices=True),
    "xfactr": Protocol(kind="predictions", columns=("answer_forms",)),
}


def protocol_of(scoring: str) -> Protocol:
    """Find the protocol of a scoring, by its exact name."""
    name = str(scoring).partition("-")[0]
    if name not in PROTOCOLS:
        raise PolyprobeError(f"unknown scoring {scoring!r}; known: {', '.join(PROTOCOLS)}")
    return PROTOCOLS[name]


def as_asked(
    tables: Mapping[str, pa.Table],
    scoring: str,
    first: str | None = None,
    final_stop: str = "none",
    as_written: bool = False,
    also: tuple[str, Mapping[str, Sequence[str]]] = NO_NAMES,
) -> dict[str, pa.Table]:
    """Change the rows to what a protocol asks; most protocols take them unchanged.

    mParaRel: prompts are `bare_template`s, and the candidates of a row are all objects of its
    relation, that is all correct answers of its rows in the order of their first occurrence, the
    same in every language. `answers` are indices into them. The labels of the language `first`
    (default: that of the first table) identify objects without ids. `final_stop` ends each prompt.
    Free answers: the same candidates, and prompts are `open_question`s, or remain `as_written`.
    Free decoding: accepted forms of all rows of a question, and the names in `also`.
    """
    check_askable(tables, scoring)
    if protocol_of(scoring).kind == "predictions":
        return {
            x: _accept_all(table, x, also[1] if x != also[0] else {}) for x, table in tables.items()
        }
    if not protocol_of(scoring).whole_relation:
        return dict(tables)
    objects = list_relation_objects(tables[first or next(iter(tables))])
    stop = "" if final_stop == "none" else final_stop
    write = partial(_write_bare, stop=stop) if protocol_of(scoring).bare else _write_open
    write = (lambda table: {"prompt": table["prompt"]}) if as_written else write
    return {language: _ask_relations(table, objects, write) for language, table in tables.items()}


def read_forms(table: pa.Table, with_labels: bool = False) -> list[list[str]]:
    """List the accepted forms: the column `answer_forms`, or the labels of correct candidates."""
    rows = zip(table["candidates"].to_pylist(), table["answers"].to_pylist(), strict=True)
    labels = [[candidates[k] for k in answers] for candidates, answers in rows]
    if "answer_forms" not in table.schema.names:
        return labels
    kind = table.schema.field("answer_forms").type
    if kind not in _TEXTS:
        raise PolyprobeError(f"column 'answer_forms' is {kind}; expected lists of text")
    pairs = zip(table["answer_forms"].to_pylist(), labels, strict=True)
    return [[*filter(None, f or []), *with_labels * label] or label for f, label in pairs]


def _accept_all(table: pa.Table, language: str, also: Mapping[str, Sequence[str]]) -> pa.Table:
    """Give the rows the `answer_forms` of all rows of the same question."""
    with naming_language(language):
        lists = read_forms(table)
    facts = table["fact_id"].to_pylist() if also else ()
    lists = [[*lists[row], *also.get(fact, ())] for row, fact in enumerate(facts)] or lists
    # a question is a relation of a subject, known by its id, or a prompt without ids
    questions = table["prompt"].to_pylist()
    if "subject_id" in table.column_names:
        ids = zip(table["relation"].to_pylist(), table["subject_id"].to_pylist(), strict=True)
        questions = [pair if pair[1] else text for pair, text in zip(ids, questions, strict=True)]
    valid: dict[Any, dict[str, None]] = {}
    for question, forms in zip(questions, lists, strict=True):
        valid.setdefault(question, {}).update(dict.fromkeys(forms))
    merged = [[*dict.fromkeys([*f, *valid[q]])] for q, f in zip(questions, lists, strict=True)]
    columns = [name for name in table.schema.names if name != "answer_forms"]
    column = pa.array(merged, pa.list_(pa.string()))
    return table.select(columns).append_column("answer_forms", column)


def check_askable(tables: Mapping[str, pa.Table], scoring: str) -> None:
    """Refuse tables that the protocol cannot ask."""
    protocol = protocol_of(scoring)
    ranked = not protocol.whole_relation and protocol.kind == "scores"
    for language, table in tables.items() if ranked else ():
        if len(table) and pc.max(pc.list_value_length(table["candidates"])).as_py() == 1:
            raise PolyprobeError(
                f"language '{language}': --scoring {scoring} ranks the candidates of a row, but "
                "each row has only the right answer; use --scoring xfactr or mpararel "
                "(masked models), or a dataset with more candidates"
            )
    together = protocol.whole_relation or protocol.options or protocol.kind == "predictions"
    for language, table in tables.items() if together else ():
        if has_prompts(table):
            raise PolyprobeError(
                f"language '{language}': --scoring {scoring} needs one prompt for all candidates, "
                "but the dataset has rows with a prompt for each candidate (column 'prompts'); use "
                "--scoring contrastive, object or bmlama"
            )
    for language, table in tables.items() if protocol.bare else ():
        kind = table.schema.field("subject").type if "subject" in table.column_names else None
        if kind is None or not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            problem = "it has none" if kind is None else f"it is {kind}"
            raise PolyprobeError(
                f"language '{language}': --scoring {scoring} strips templates, not the subjects in "
                f"them, and so needs a column 'subject' of text; {problem}"
            )


def bare_template(prompt: str, subject: str | None) -> str:
    r"""Write a prompt lower-cased and without `.`, `:` and `。`, except for the subject's label.

    >>> bare_template("The capital of St. Lucia is: [Y].", "St. Lucia")
    'the capital of St. Lucia is [Y]'
    """
    # An inflected subject is not found, and lower-cased; without one there is nothing else to keep
    label = subject or SLOT
    texts = (
        label.join(text.lower().translate(_STRIPPED) for text in part.split(label))
        for part in prompt.split(SLOT)
    )
    return SLOT.join(texts).strip()


def open_question(prompt: str) -> str:
    r"""Write a prompt with its slot at the end; a slot inside is a blank to fill in.

    >>> open_question("France is in [Y]."), open_question("[Y] is in Asia.")
    ('France is in [Y]', '___ is in Asia.\nAnswer: [Y]')
    """
    before, _, rest = prompt.partition(SLOT)
    if _REST.fullmatch(rest):
        return f"{before}{SLOT}"
    return f"{before}{BLANK}{rest}\nAnswer: {SLOT}"


def _write_open(table: pa.Table) -> dict[str, pa.Array]:
    return {"prompt": pa.array(map(open_question, table["prompt"].to_pylist()), pa.string())}


def _write_bare(table: pa.Table, stop: str) -> dict[str, pa.Array]:
    texts = zip(table["prompt"].to_pylist(), table["subject"].to_pylist(), strict=True)
    prompts = pa.array([bare_template(*text) + stop for text in texts], pa.string())
    return {"prompt": prompts, "repeated": mark_repeated(table)}


class Objects(NamedTuple):
    """The objects of each relation, and the correct ones of each row."""

    # First occurrence of each object as (row, index into candidates), by relation.
    places: dict[str, list[tuple[int, int]]]
    answers: list[list[int]]  # numbers of each row's correct objects in that list
    names: dict[str, list[str]]  # ids of the objects of each relation, labels without ids


def list_relation_objects(table: pa.Table) -> Objects:
    """List the objects of a split's relations, in the order of their first occurrence."""
    # by id, or by label without one, so that homonyms without ids are one object
    places: dict[str, list[tuple[int, int]]] = {}
    numbers: dict[tuple[str, str], int] = {}
    answers = []
    relations, indices = table["relation"].to_pylist(), table["answers"].to_pylist()
    rows = zip(relations, indices, _object_names(table), strict=True)
    for row, (relation, right, names) in enumerate(rows):
        listed = places.setdefault(relation, [])
        for index, name in zip(right, names, strict=True):
            if (relation, name) not in numbers:
                numbers[relation, name] = len(listed)
                listed.append((row, index))
        answers.append(list(dict.fromkeys(numbers[relation, name] for name in names)))
    names_of = {x: [name for relation, name in numbers if relation == x] for x in places}
    return Objects(places, answers, names_of)


def _object_names(table: pa.Table) -> Iterator[list[str]]:
    """Yield the ids of each row's correct answers, labels for those without an id."""
    none = [None] * len(table)
    columns = (
        table[name].to_pylist() if name in table.column_names else none
        for name in ("candidates", "candidate_ids", "object_id", "answers")
    )
    for labels, ids, object_id, right in zip(*columns, strict=True):
        keys = ids if ids and len(ids) == len(labels) else [None] * len(labels)
        key = object_id if len(right) == 1 else None
        yield [keys[index] or key or labels[index] for index in right]


def _ask_relations(
    table: pa.Table, objects: Objects, write: Callable[[pa.Table], dict[str, pa.Array]]
) -> pa.Table:
    listed = table["candidates"]
    labels = [[listed[row][k].as_py() for row, k in pairs] for pairs in objects.places.values()]
    numbers = {relation: number for number, relation in enumerate(objects.places)}
    which = pa.array([numbers[relation] for relation in table["relation"].to_pylist()])
    candidates = pa.array(labels, pa.list_(pa.string())).take(which)
    answers = pa.array(objects.answers, pa.list_(pa.int32()))
    same = {name: table[name] for name in _SAME if name in table.column_names}
    return pa.table(same | write(table) | {"candidates": candidates, "answers": answers})


class Repeated(NamedTuple):
    """Marks of tuples (bool, shape (n,))."""

    subject: np.ndarray  # its subject occurs in several tuples of the group
    twin: np.ndarray  # both labels are those of an earlier tuple of the group


def find_repeated(subjects: Sequence[str], objects: Sequence[str], groups: Sequence) -> Repeated:
    """Mark the tuples by the labels of subject and object in each group.

    The released code (coastalcph/mpararel) keeps predictions by the key SUBJECT-OBJECT, so that
    tuples with equal labels are one, and reads the subject back as the text before the first
    hyphen. The paper leaves out subjects with two objects, without saying how subjects are compared
    (footnote 10); by ids, "Jean-Paul Sartre" and "Jean-Luc Godard" are two.

    >>> names = ["Jean-Paul", "Jean-Luc", "Ulm", "Ulm"]
    >>> find_repeated(names, ["Paris", "Paris", "Germany", "Germany"], ["P19"] * 4)
    Repeated(subject=array([ True,  True, False, False]), twin=array([False, False, False,  True]))
    """
    keys = list(zip(groups, subjects, objects, strict=True))
    first: dict[tuple, int] = {}
    for place, key in enumerate(keys):
        first.setdefault(key, place)
    counts = Counter((group, subject.partition("-")[0]) for group, subject, _ in first)
    repeated = [counts[group, subject.partition("-")[0]] > 1 for group, subject, _ in keys]
    twins = [first[key] != place for place, key in enumerate(keys)]
    return Repeated(np.array(repeated, bool), np.array(twins, bool))


def mark_repeated(table: pa.Table) -> pa.Array:
    """List for each row the names of `Repeated` that hold for its fact, by labels."""
    columns = ("fact_id", "subject", "candidates", "answers", "relation")
    facts: dict[str, tuple[str, str, str]] = {}
    for part in table.select(columns).to_batches(max_chunksize=1000):
        for fact, subject, labels, right, relation in zip(*part.to_pydict().values(), strict=True):
            facts.setdefault(fact, (subject or "", labels[right[0]], relation))
    repeated = find_repeated(*zip(*facts.values(), strict=True))
    marks = {
        fact: [name for name, mark in zip(Repeated._fields, pair, strict=True) if mark]
        for fact, *pair in zip(facts, *repeated, strict=True)
    }
    return pa.array([marks[fact] for fact in table["fact_id"].to_pylist()], pa.list_(pa.string()))


def value_of(log_c: Sequence[float], length_norm: bool) -> float:
    """Compute v of a filling in nats: the sum of log c, or with length normalisation the mean."""
    return sum(log_c) / len(log_c) if length_norm else sum(log_c)


def find_winner(log_c: Sequence[Sequence[float]], length_norm: bool) -> int:
    """Find the index of the filling with the highest v(m), of equals the first (fewest masks)."""
    # X-FACTR (Jiang et al. 2020), section 4.2, v(m) = sum of log c over the m tokens
    values = [value_of(row, length_norm) for row in log_c]
    return values.index(max(values))


def choose_again(
    tables: Mapping[str, pa.Table], length_norm: bool, max_masks: int | None, folder: object
) -> dict[str, pa.Table]:
    """Choose again among the fillings of predictions by language.

    `length_norm` compares by the mean of log c, not by the sum; `max_masks` takes only fillings of
    at most so many masks; None: all.
    """
    for language, table in tables.items():
        longest = count_masks(table)
        if longest and max_masks is not None and max_masks > longest:
            raise PolyprobeError(
                f"--max-masks {max_masks}: {folder}/predictions/{language}.parquet has fillings of "
                f"{longest} masks at most; choose at most {longest}, or evaluate into another "
                "--output"
            )
    return {x: _replace_winners(table, length_norm, max_masks) for x, table in tables.items()}


def count_masks(table: pa.Table) -> int:
    """Count M, the largest number of masks of the fillings; 0 if no fact was asked."""
    return pc.max(pc.list_value_length(table["fillings"])).as_py() or 0


def _replace_winners(table: pa.Table, length_norm: bool, max_masks: int | None) -> pa.Table:
    rows = table.to_pylist()
    for row in rows:
        offered = (row["fillings"] or [])[:max_masks]
        values: tuple[Any, ...] = (None,) * len(CHOSEN)
        if offered:
            best = offered[find_winner([filling["log_c"] for filling in offered], length_norm)]
            values = (best["text"], len(best["ids"]), value_of(best["log_c"], length_norm))
        row.update(zip(CHOSEN, values, strict=True), fillings=offered or None)
    return pa.Table.from_pylist(rows, schema=table.schema)
