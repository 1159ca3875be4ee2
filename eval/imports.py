"""Make a run of scores that were computed elsewhere: `polyprobe import`."""

import os
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from importlib.metadata import version
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unicodedata import normalize

import numpy as np
import pyarrow as pa

from polyprobe.analysis.figures.compute import compute_results
from polyprobe.schema.columns import SLOT, fingerprint
from polyprobe.schema.load import IN_MEMORY, Splits, find_default, load_facts
from polyprobe.schema.locate import make_absolute
from polyprobe.schema.run.folder import SCORES, FinishedRun, Run
from polyprobe.schema.run.protocol import BLANK, as_asked, check_askable, open_question, protocol_of
from polyprobe.schema.run.rows import check_comparable, find_rows
from polyprobe.schema.run.settings import Settings
from polyprobe.scoring.options import ANSWER, LETTERS
from polyprobe.system.files import HASH, hash_files, hash_json, locked
from polyprobe.system.messages import PolyprobeError, guess, quote, report
from polyprobe.system.options import with_keywords

from .answers import Judges, load_names
from .donors import Donors, deal_donors
from .options import ImportOptions, JudgeOptions
from .questions import DONOR_PROMPT, NO_DONORS, annotate
from .replies import CHOICE, IDS, SCORED, Reply, Row, read_source

SENTENCES, OBJECTS = "bmlama", "object"
_SLOT = re.compile(r"\[Y\]|_+|\[MASK\]|<mask>")
Lists = Sequence[Sequence[str]]


class RowScores(NamedTuple):
    """What a reply says of a row of the dataset."""

    place: str  # file, row, language and fact, for messages
    scoring: str
    scores: list[float]  # in the order of the candidates; of a choice 1 for it, else 0
    tokens: Sequence[int] | None = None
    text: str = ""  # a free answer instead
    context: str | None = None  # what a harness had in front of it


Scores = dict[tuple[str, bool, int], RowScores]  # by language, whether with a donor, row


@with_keywords(ImportOptions)
def import_scores(
    scores: Any,
    dataset: str | Splits,
    config: str | None = None,
    *,
    output: str | Path | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Make a run of scores that were computed elsewhere; return the content of results.json.

    Args:
        scores: a file or several, as for `polyprobe import`; rows, columns or a data frame with the
            same names; or {language: scores of all facts}, of which each has {candidate: score},
            a list in the order of its candidates, or the chosen candidate. Facts have ids, row
            numbers or prompts; a list or an array of them is in the order of the dataset's rows.
        dataset: as in `evaluate_model`.
        config: its configuration; default: its own default.
        output: run folder; without one nothing is written.
        options: the options of `polyprobe import` by name, with underscores.

    Raises:
        PolyprobeError: rows that are not of the dataset, no numbers, twice or missing, in one line.
    """
    settings = ImportOptions.from_keywords(options, import_scores)
    with TemporaryDirectory(prefix="polyprobe-") as folder:
        run = Path(output or f"{folder}/imported")
        return import_run(scores, dataset, config, run, settings).results


@with_keywords(JudgeOptions)
def judge_answers(
    answers: Any,
    dataset: str | Splits,
    config: str | None = None,
    *,
    output: str | Path | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Make a run of free answers that were written elsewhere; return that of results.json.

    Args:
        answers: files or rows as for `import_scores`, with texts in a column `answer`, or in a
            column for each language.
        dataset: as for `import_scores`.
        config: as for `import_scores`.
        output: as for `import_scores`.
        options: the options of `polyprobe judge` by name, with underscores.

    Raises:
        PolyprobeError: as `import_scores`.
    """
    settings = JudgeOptions.from_keywords(options, judge_answers)
    with TemporaryDirectory(prefix="polyprobe-") as folder:
        run = Path(output or f"{folder}/judged")
        return import_run(answers, dataset, config, run, settings).results


def import_run(
    scores: Any, dataset: str | Splits, config: str | None, output: Path, options: ImportOptions
) -> FinishedRun:
    """Write the run of some scores, see `import_scores`, and its results."""
    run, items = Run(output), scores if isinstance(scores, list | tuple) else [scores]
    run.check_free()
    paths = sorted({Path(item) for item in items if isinstance(item, str | os.PathLike)})
    sources = {str(path): path for path in paths} or {"scores": scores}
    splits = load_facts(dataset, config, options.languages)
    replies = {x: read_source(x, y, tuple(splits), options) for x, y in sources.items()}
    tables = _take_languages(splits, replies, options)
    rows, choice = find_rows(next(iter(tables.values())), options)
    check_comparable(tables, rows)
    free = options if isinstance(options, JudgeOptions) else None
    donor = bool(free) or any(reply.donor for source in replies.values() for _, reply in source)
    questions = as_asked(tables, ANSWER, as_written=True) if free else tables
    donors = deal_donors(next(iter(questions.values()))) if donor else NO_DONORS
    annotated = annotate(questions, donors)
    scoring, scored = _join_sources(replies, FactIndex(annotated), options)
    check_askable(tables, scoring)
    lost = _find_missing(scored, rows, [*tables], options)
    columns = protocol_of(scoring).columns
    settings = Settings(
        model=options.model or output.name,
        dataset=make_absolute(dataset) if isinstance(dataset, str | os.PathLike) else IN_MEMORY,
        config=config or find_default(dataset),
        fingerprint={x: fingerprint(table, columns) for x, table in tables.items()},
        languages=[*tables],
        scoring=scoring,
        donor=donor,
        **choice,
        further=options.signature_parts
        | _describe_files(paths, scored)
        | ({"missing": str(len(lost))} if lost else {}),
        versions={"polyprobe": version("polyprobe")},
    )
    settings.left_out.update({"not imported": len(lost)} if lost else {})
    rows = [row for row in rows if row not in lost]
    with locked(run.folder):
        run.open(settings)
        names = load_names(dataset, config, [*tables]) if free else tables
        judges = Judges(names, next(iter(tables)), free) if free else None
        for language in run.missing(tables):
            make = partial(_judge, judges, donors) if judges else _make_table
            run.write(language, make(annotated[language], language, rows, scored))
        return FinishedRun(run, compute_results(run), questions)


def _take_languages(
    splits: Mapping[str, pa.Table],
    replies: Mapping[str, Sequence[tuple[str, Reply]]],
    options: ImportOptions,
) -> dict[str, pa.Table]:
    """Take the splits that have replies, of those that `--languages` names all."""
    languages = {language for source in replies.values() for language, _ in source}
    tables = {language: splits[language] for language in splits if language in languages}
    if not tables:
        raise PolyprobeError(f"no {options.contents}; name other files or --languages")
    if silent := [x for x in splits if options.languages and x not in tables]:
        text = "correct the files or --languages"
        raise PolyprobeError(f"no {options.contents} in {' and '.join(silent)}; {text}")
    return tables


def _describe_files(paths: Sequence[Path], replies: Scores) -> dict[str, str]:
    """Name a few files with the SHA-256 of all, of an object that of its scores; and the rest."""
    names = [x.name for x in paths[:2]] or ["python"]
    names += [f"{len(paths) - 2} more"] * (len(paths) > 2)
    scores = {str(key): replies[key].scores or replies[key].text for key in sorted(replies)}
    digest = hash_files((path.name, path) for path in paths) if paths else hash_json(scores)
    return {"imported": f"{'+'.join(names)}@{HASH}{digest}", "unknown": "revision+bos+dtype"}


class FactIndex:
    """The rows of a dataset by language, and by what names them."""

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self._numbers: dict[tuple[str, str], set[int]] = defaultdict(set)
        names = {*IDS, "prompt", "donor", DONOR_PROMPT, "candidates", "candidate_ids"}
        for language, table in tables.items():
            self.rows[language] = table.select(names & {*table.column_names}).to_pylist()
            for number, row in enumerate(self.rows[language]):
                row["row"] = str(number)
                for column in (x for x in (*IDS, "prompt", DONOR_PROMPT) if row.get(x)):
                    question = open_question(row[column]).removesuffix(SLOT)
                    for text in {row[column], question}:
                        self._numbers[column, _tidy(text)].add(number)

    def find_row(self, reply: Reply, place: str) -> int:
        """Find the number of the row that all keys of a reply name."""
        numbers, prompt = list[set[int]](), DONOR_PROMPT if reply.donor else "prompt"
        for name, key in reply.keys.items():
            columns = [name] if name in IDS else [*IDS, prompt]
            numbers.append(set[int]().union(*(self._numbers[x, _tidy(str(key))] for x in columns)))
        common = set.intersection(*numbers)
        if len(common) != 1:
            rows = next(iter(self.rows.values()))
            keys = " and ".join(f"{name} {quote(key)}" for name, key in reply.keys.items())
            hint = f"its rows are 0 to {len(rows) - 1}, ids as {rows[0]['fact_id']!r}"
            hint = "add a column 'row' or 'template_id'" if common else f"{hint}; another dataset?"
            text = f"{len(common) or 'no'} rows of the dataset have {keys}; {hint}"
            raise PolyprobeError(f"{place}: {text}")
        return common.pop()


def _join_sources(
    sources: Mapping[str, Sequence[tuple[str, Reply]]], facts: FactIndex, options: ImportOptions
) -> tuple[str, Scores]:
    """Join the replies of all sources with the rows of the dataset; find their scoring."""
    tokenizer, scores = None, Scores()
    if options.tokenizer:
        from polyprobe.scoring.weights.places import find_tokenizer, load_tokenizer

        tokenizer = load_tokenizer(find_tokenizer(options.tokenizer))
    for name, source in sources.items():
        names = {_tidy(str(label)) for _, reply in source for label in reply.names or ()}
        # A letter or number is a candidate's only if all names of the source are such.
        names.discard("none")
        codes = [*LETTERS] if names <= {*LETTERS} else []
        codes = codes or [*map(str, range(1000))] * all(map(str.isdigit, names))
        for language, reply in source:
            place = f"{name}, row {reply.row}, {language}"
            number = facts.find_row(reply, place)
            row = facts.rows[language][number]
            place = f"{place}, fact {row['fact_id']}"
            labels, ids = row["candidates"], row.get("candidate_ids") or ()
            elsewhere = [rows[number]["candidates"] for rows in facts.rows.values()]
            cut = [str(x).lstrip("0") for x in ids]  # as a spreadsheet writes them
            lists = [labels, ids, cut, codes[: len(labels)], *elsewhere]  # names of the candidates
            if reply.donor not in (None, row["donor"]):
                raise PolyprobeError(f"{place}: its donor is {row['donor']}, not {reply.donor}")
            key = language, bool(reply.donor), number
            scored = _join_answer(reply, place, row, lists, options, tokenizer)
            if scores.setdefault(key, scored) is not scored:
                raise PolyprobeError(f"{place} came before, in {scores[key].place}")
    places = {scored.scoring: scored.place for scored in scores.values()}
    places = {options.scoring or next(iter(places)): "--scoring", **places}
    if len(places) > 1:
        listed = " and ".join(f"{x} in {place}" for x, place in places.items())
        raise PolyprobeError(f"{listed}: import them apart")
    return next(iter(places)), scores


def _find_missing(
    replies: Scores, rows: Sequence[int], languages: Sequence[str], options: ImportOptions
) -> set[int]:
    """Find the chosen rows without scores in a language; refuse them unless it is allowed."""
    missing = {x: [row for row in rows if (x, False, row) not in replies] for x in languages}
    for language, lost in missing.items():
        listed = ", ".join(map(str, lost[:3])) + ", …" * (len(lost) > 3)
        shares = f"{len(lost):,} of {len(rows):,} rows"
        text = f"{language}: {shares} have no {options.contents} ({listed})"
        if lost and (not options.allow_missing or len(lost) == len(rows)):
            raise PolyprobeError(f"{text}; add --allow-missing to leave them out everywhere")
        if lost:
            report(text)
    return {row for lost in missing.values() for row in lost}


def _make_table(table: pa.Table, language: str, rows: Sequence[int], scores: Scores) -> pa.Table:
    """Make the scores of some rows of a language with the columns of `SCORES`."""
    columns = table.select({*SCORES.names} & {*table.column_names}).take(rows).to_pydict()
    of_donors = [scores.get((language, True, row)) for row in rows]
    columns["scores"] = [scores[language, False, row].scores for row in rows]
    columns["n_tokens"] = [scores[language, False, row].tokens for row in rows]
    columns["donor_scores"] = [row and row.scores for row in of_donors]
    return pa.table({x: pa.array(y, SCORES.field(x).type) for x, y in columns.items()})


def _judge(
    judges: Judges,
    donors: Donors,
    table: pa.Table,
    language: str,
    rows: Sequence[int],
    replies: Scores,
) -> pa.Table:
    """Judge the answers to some rows of a language; those of donors are of their own rows."""
    answers = {row: scored for (x, _, row), scored in replies.items() if x == language}
    sent = {table["prompt"][row].as_py(): x.context for row, x in answers.items()}
    of_donors = [answers[k].text if (k := donors.rows[row]) in answers else None for row in rows]
    texts = [answers[row].text for row in rows]

    def show(prompt: str) -> str:
        return sent[prompt] or prompt.removesuffix(SLOT).replace(SLOT, BLANK).rstrip()

    return judges.make_table(language, table.take(rows), texts, of_donors, show)


def _join_answer(
    reply: Reply, place: str, row: Row, lists: Lists, options: ImportOptions, tokenizer: Any
) -> RowScores:
    """Bring what a reply says of a row into the order of its candidates, with these names."""
    labels, values, tokens = [*map(_tidy, row["candidates"])], reply.values, reply.tokens
    if isinstance(options, JudgeOptions):
        return RowScores(place, ANSWER, [], None, reply.text or "", reply.context)
    names = labels if reply.names is None else [_tidy(str(name)) for name in reply.names]
    scoring, n = options.scoring or SCORED, len(labels)
    if values is None:
        choice = _find_place(names[0], lists, place, True)
        return RowScores(place, CHOICE, [float(k == choice) for k in range(n)])
    scores = [_read_number(x, f"{place}, score {k}") for k, x in enumerate(values, start=1)]
    if reply.context is not None and options.scoring != SCORED:
        prompt = row[DONOR_PROMPT if reply.donor else "prompt"]
        start, texts = prompt.partition(SLOT)[0], [str(name).strip() for name in reply.names or ()]
        if names == [_tidy(prompt.replace(SLOT, label)) for label in row["candidates"]]:
            scoring, names = SENTENCES, labels
        elif reply.context.strip().endswith(start.strip()):
            scoring, texts = OBJECTS, [start[len(start.rstrip()) :] + text for text in texts]
        if tokenizer:
            tokens = [len(ids) for ids in tokenizer(texts, add_special_tokens=False)["input_ids"]]
        if scoring == SENTENCES:
            if not tokens:
                text = "sums over the tokens of a sentence, whose number is not known"
                raise PolyprobeError(f"{place}: {text}; add --tokenizer, or --scoring scores")
            scores = [score / size for score, size in zip(scores, tokens, strict=True)]
    places = [_find_place(name, lists, place) for name in names] if names != labels else [*range(n)]
    if sorted(places) != [*range(n)] or {len(scores), len(tokens or labels)} != {n}:
        lost = next((f"; none of {labels[k]!r}" for k in range(n) if k not in places), "")
        text = f"{len(scores)} scores of {len({*places})} candidates, expected one of each of {n}"
        raise PolyprobeError(f"{place}: {text}{lost}")
    order = sorted(range(n), key=places.__getitem__)
    tokens = tokens and [tokens[k] for k in order]
    return RowScores(place, scoring, [scores[k] for k in order], tokens)


def _find_place(name: str, lists: Lists, place: str, is_choice: bool = False) -> int:
    """Find the candidate with a name; -1 for the choice of none, as of a letter beyond them."""
    places = {k for names in lists[:4] for k, label in enumerate(names) if _tidy(label) == name}
    if not places and is_choice and (name == "none" or (lists[3] and name in LETTERS)):
        return -1
    if not places:  # a table with a column for each language has the names of one of them
        places = {k for names in lists for k, label in enumerate(names) if _tidy(label) == name}
    if len(places) != 1:
        text = "may be several candidates" if places else f"is no candidate;{guess(name, lists[0])}"
        raise PolyprobeError(f"{place}: {quote(name)} {text}".rstrip(";"))
    return places.pop()


def _read_number(value: Any, place: str) -> float:
    """Read a score, a number or its text; lm-eval has it in front of a mark."""
    with suppress(OverflowError, TypeError, ValueError):
        number = value[0] if isinstance(value, list | tuple) and len(value) == 2 else value
        if not isinstance(number, bool | np.bool_) and isfinite(score := float(number)):
            return score
    raise PolyprobeError(f"{place}: the score {quote(value)} is not a finite number")


@cache
def _tidy(text: str) -> str:
    """Write a text with single blanks, in NFC, with one kind of slot."""
    return _SLOT.sub(SLOT, normalize("NFC", " ".join(text.split())))
