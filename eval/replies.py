"""Read the scores and choices that other programs have written: tables, and logs of harnesses."""

import json
import re
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from polyprobe.metrics.space.sheet import read_file, read_text
from polyprobe.schema.languages import find_language, find_split, refuse_languages
from polyprobe.system.files import read_user_text
from polyprobe.system.messages import PolyprobeError, one_line

from .options import ImportOptions, JudgeOptions

# Columns that name a fact, and other names of columns.
KEYS = ("fact_id", "template_id", "row", "fact", "query", "question", "prompt", "sentence")
IDS = ("fact_id", "template_id", "dataset_id", "row")
CELLS = ("language", "candidate", "scores", "choice", "n_tokens", "donor", "donor_scores")
ALIASES = dict.fromkeys(("score", "logprob", "logprobs", "log_prob", "log_probability"), "scores")
ALIASES |= dict.fromkeys(("prediction", "chosen"), "choice")
ALIASES |= {"lang": "language", "option": "candidate", "index": "row", "doc_id": "row"}
CHOICE, SCORED, EITHER = "choice", "scores", "scores_or_choice"  # columns of answers
# Columns of free answers
FREE = ("answer", "response", "generation", "output", "completion", "pred", "predicted", CHOICE)
EMPTY = ("", "nan", "None")
Row = Mapping[Any, Any]


class Reply(NamedTuple):
    """The scores of a fact's candidates in a language, or the choice among them."""

    row: int  # of the source, from 1
    language: Any  # None if the source names none
    keys: Row  # what names the fact, by column
    names: Sequence[Any] | None  # of the candidates; None: all in order
    values: Sequence[Any] | None  # None for a choice, whose name is the only one
    tokens: Sequence[int] | None = None
    donor: str | None = None  # the fact in whose sentence the candidates are instead
    context: str | None = None  # what a harness had in front of them
    text: str | None = ""  # a free answer, instead of names and values


def read_source(
    name: str, source: Any, splits: tuple[str, ...], options: ImportOptions
) -> list[tuple[str, Reply]]:
    """Read the replies of a file or object with their languages; of some, others are ignored."""
    stem = re.sub(r"_\d{4}-\d\d-\d\dT[\d.-]+$", "", Path(name).stem)  # lm-eval adds the date
    parts, replies = re.split("[._-]", stem), []
    ends = ["_".join(parts[-2:]), *parts[-1:]]  # zh_hant before hant
    endings = [x for x in ends if find_split(x, splits)] or [*filter(find_language, ends[1:])]
    free = isinstance(options, JudgeOptions)
    expected = "answers" if free else "scores or predictions"
    default = next(iter(endings or (splits if len(splits) == 1 else ())), None)
    try:
        find = partial(find_split, splits=splits)
        with pd.option_context("mode.string_storage", "python"):  # takes lone surrogates
            table = _read_table(source, lambda name: find(str(name)) or find_language(str(name)))
        if not len(table.columns):  # of a harness, without rows
            return []
        for reply in _read_replies(table, find, free):
            code = reply.language.strip() if isinstance(reply.language, str) else default
            place = f"{name}, row {reply.row}"
            if code is None:
                raise PolyprobeError(f"{place}: no language in a column, its name or --languages")
            if split := find_split(code, splits):
                replies.append((split, reply))
            elif options.languages is None:
                refuse_languages([code], f"the dataset ({place})", splits)
        if not replies and options.languages is None:
            raise PolyprobeError(f"{name}: no rows with {expected}; columns: {[*table]}")
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        text = f"{name} is no table of {options.contents}: {one_line(error)}"
        raise PolyprobeError(text) from error
    return replies


def _read_table(source: Any, find: Callable[[Any], object]) -> pd.DataFrame:
    """Read a file, rows, columns, a data frame or {language: {fact: scores}} as a table.

    `find` recognises languages: in {fact: scores} there are none.
    """
    suffix = source.suffix.lower() if isinstance(source, Path) else None
    if suffix == ".jsonl":
        lines = filter(str.strip, read_user_text(source).split("\n"))
        source = _read_json("[" + ",\n".join(lines) + "]")
    elif suffix in (".csv", ".tsv", ".txt", ".json"):
        source = (_read_json if suffix == ".json" else read_text)(read_user_text(source))
    elif suffix is not None:
        source = read_file(source)
    source = [] if isinstance(source, Mapping) and "results" in source else source  # of a harness
    if hasattr(source, "to_pandas"):  # of polars or pyarrow
        source = source.to_pandas()
    elif isinstance(source, Mapping) and any(isinstance(x, Mapping) for x in source.values()):
        if not any(map(find, source)):
            source = {None: source}
        pairs = [(language, fact) for language, facts in source.items() for fact in facts]
        source = [{"language": x, "fact": y, EITHER: source[x][y]} for x, y in pairs]
    elif isinstance(source, Mapping):
        source = {column: [*cells] for column, cells in source.items()}
    elif isinstance(source, pd.DataFrame) and any(source.index.names):
        source = source.reset_index()
    table = pd.DataFrame(source).rename(columns=lambda x: re.sub(r"[\s-]+", "_", str(x).strip()))
    table = table.rename(columns=str.casefold).rename(columns=ALIASES)
    if not table.columns.is_unique:
        raise ValueError(f"two columns mean {table.columns[table.columns.duplicated()][0]}")
    return table


def _read_json(text: str) -> Any:
    """Read JSON, in which no object may have a name twice: one of its values would be lost."""

    def join(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            names = [name for name, _ in pairs]
            raise ValueError(f"{next(x for x in names if names.count(x) > 1)!r} is there twice")
        return values

    return json.loads(text, object_pairs_hook=join)


def _read_replies(
    table: pd.DataFrame, find_split: Callable[[str], str | None], free: bool
) -> Iterator[Reply]:
    """Yield the replies of a table, or of a harness; `find_split` finds columns of languages."""
    for column, reader in (("filtered_resps", _read_lm_eval), ("model_response", _read_lighteval)):
        if column in table:
            rows = enumerate(table.to_dict("records"), start=1)  # lm-eval may have several filters
            for reply in (reader(n, x) for n, x in rows if x.get("filter", "none") == "none"):
                if free and not isinstance(reply.text, str):
                    raise ValueError(f"row {reply.row} has no answer that the model wrote")
                yield reply
            return
    table = _take_texts(table) if free else table
    if "id" in table and not {*KEYS} & {*table} and not isinstance(table["id"].iloc[0], list):
        table = table.rename(columns={"id": "fact"})  # else it may be Indonesian
    if not {SCORED, CHOICE, EITHER} & {*table}:
        languages = [x for x in table if x not in (*KEYS, *CELLS) and find_split(x)]
        if not languages or "language" in table:
            expected = "answers" if free else "scores or choices"
            raise ValueError(f"no column of {expected}; columns: {[*table]}")
        rest = [x for x in table if x not in languages]
        table = table.melt(rest, languages, "language", EITHER)
    kind = next(x for x in (SCORED, CHOICE, EITHER) if x in table)
    table = table.rename(columns={kind: "scores"})
    keys = [x for x in KEYS if x in table]
    if unknown := sorted({*table} - {*CELLS}) * (not keys):
        raise ValueError(f"no column of {', '.join(KEYS)} names the rows; columns: {unknown}")
    labels = [x for x in ("language", "donor", *keys) if x in table]
    table = table.assign(number=range(1, len(table) + 1), row_of_language=range(len(table)))
    if "language" in table:
        table["row_of_language"] = table.groupby("language", dropna=False).cumcount()
    if "candidate" in table:  # a row for each candidate
        groups = table.groupby(labels, sort=False, dropna=False)
        table = groups.agg({"number": "first", "candidate": list, "scores": list}).reset_index()
    for row in table.to_dict("records"):
        if free:
            names, values = None, None
        elif isinstance(row["scores"], str | float | None) and str(row["scores"]) in EMPTY:
            continue  # a missing row
        else:
            names, values = _read_answer(row["scores"], row.get("candidate"), kind)
        place: Row = {key: row[key] for key in keys} or {"row": row["row_of_language"]}
        tokens = row["n_tokens"] if isinstance(row.get("n_tokens"), list) else None
        of_run, donor = "donor_scores" in row, row.get("donor")
        donor = donor if isinstance(donor, str) and donor else None
        reply = Reply(row["number"], row.get("language"), place, names, values, tokens)
        reply = reply._replace(text=_read_free(row["scores"], row["number"])) if free else reply
        yield reply if of_run else reply._replace(donor=donor)
        if of_run and row["donor_scores"]:
            yield reply._replace(values=row["donor_scores"], donor=donor)


def _take_texts(table: pd.DataFrame) -> pd.DataFrame:
    """Take the column of free answers as EITHER, and none of scores or candidates."""
    names = [x for x in FREE if x in table]
    if len(names) > 1:
        raise ValueError(f"{' and '.join(names)} may each be the answers; leave one column of them")
    table = table.rename(columns=dict.fromkeys(names, EITHER))
    return table.drop(columns=[x for x in CELLS if x in table and x != "language"])


def _read_free(answer: Any, row: int) -> str:
    """Return an answer as a text: empty for none, and a number as it was before pandas."""
    if not isinstance(answer, str) and hasattr(answer, "__len__"):  # a list of one answer
        if isinstance(answer, Mapping) or len(answer) != 1 or not isinstance(answer[0], str):
            raise ValueError(f"row {row} has {answer!r:.60}; expected a text")
        return answer[0]
    if isinstance(answer, float):
        return "" if isnan(answer) else str(int(answer) if answer.is_integer() else answer)
    return "" if answer is None or answer is pd.NaT else str(answer)


def _read_answer(answer: Any, names: Any, kind: str) -> tuple[Any, Any]:
    """Return the names of candidates and their scores, or the name of a choice and None."""
    if isinstance(answer, str) and answer[0] in "[{":
        with suppress(SyntaxError, ValueError):
            answer = literal_eval(answer)
    if isinstance(answer, Mapping):
        scores = {x: y for x, y in answer.items() if y is not None}  # Parquet fills gaps
        return [*scores], [*scores.values()]
    if not isinstance(answer, str) and hasattr(answer, "__len__"):
        return names, answer
    # A choice is no number with a point, except where pandas had to mark gaps among numbers.
    if kind == SCORED or (isinstance(answer, float) and kind == EITHER):
        return names, [answer]
    return [f"{answer:.0f}" if isinstance(answer, float) else answer], None


def _read_lm_eval(number: int, row: Row) -> Reply:
    """Read a sample of lm-evaluation-harness 0.4."""
    pairs = [[*request.values()] for request in row["arguments"].values()]
    keys, donor = _name_fact(row["doc"], row["row"])
    names, values = [choice for _, choice in pairs], row["filtered_resps"]
    text = values[0] if isinstance(values[0], str) else None  # where it is generated
    return Reply(number, None, keys, names, values, None, donor, str(pairs[0][0]), text)


def _read_lighteval(number: int, row: Row) -> Reply:
    """Read a detail of lighteval 0.13; behind the choices of exported tasks is a filler."""
    doc, response = row["doc"], row["model_response"]
    specific, task = doc["specific"] or {}, re.search(r":([^|]+)\|", doc["task_name"])
    n = specific.get("n_choices") or len(doc["choices"])
    keys, donor = _name_fact(specific, doc["id"])
    values = response["logprobs"][: 0 if response["truncated_tokens_count"] else n]
    tokens = [sum(token >= 0 for token in ids) for ids in response["output_tokens"][:n]]
    language, names = task and task[1], doc["choices"][:n]
    text = next(iter(response.get("text") or ()), None)
    return Reply(number, language, keys, names, values, tokens, donor, doc["query"], text)


def _name_fact(doc: Row, number: Any) -> tuple[Row, str | None]:
    """Name the fact of a document of a harness, and its donor; rows of our tasks are in order."""
    keys = {key: doc[key] for key in KEYS if doc.get(key)}
    in_order = not keys or ("fact_id" in keys and not doc.get("donor"))
    return {**keys, **({"row": number} if in_order else {})}, doc.get("donor")
