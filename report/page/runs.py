"""Write the pages of runs, with examples of their facts, and of boards as single HTML files."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from os import environ
from pathlib import Path
from time import gmtime, strftime
from typing import Any

import numpy as np
import pyarrow as pa
from huggingface_hub.utils import yaml_dump

from polyprobe.analysis.board import CARD, JSON, LATEX, PAGE, REMEDY, SEALED, TABLE, check_output
from polyprobe.analysis.board.board import Board
from polyprobe.analysis.comparable import find_differing
from polyprobe.analysis.compare.folders import PairOutcome
from polyprobe.analysis.compare.runs import Comparison, compare_runs
from polyprobe.analysis.figures.compute import OPTIONS, find_results
from polyprobe.analysis.figures.facts import masked_scores, read_chosen
from polyprobe.analysis.figures.figures import HEADLINE
from polyprobe.analysis.figures.options import MetricOptions
from polyprobe.analysis.figures.results import read_results
from polyprobe.analysis.options import Bootstrap
from polyprobe.metrics.pictures.picture import Picture
from polyprobe.report.finding import Finding, Part
from polyprobe.report.findings.board import make_board_finding, write_models
from polyprobe.report.findings.run import VERDICTS, name_verdict
from polyprobe.report.findings.versions import make_versions_finding
from polyprobe.report.show import to_markdown
from polyprobe.schema.columns import place_rows
from polyprobe.schema.locate import read_relation_names
from polyprobe.schema.run.folder import SEAL, FinishedRun, Run, load_again, name_runs
from polyprobe.schema.run.protocol import as_asked, protocol_of
from polyprobe.schema.run.rows import ALL_ROWS, Choice, make_choice
from polyprobe.schema.run.settings import Settings
from polyprobe.scoring.options import FINAL_STOP
from polyprobe.system.files import hash_json, read_toml, write_text
from polyprobe.system.messages import PolyprobeError, check_ending
from polyprobe.system.options import check_arguments
from polyprobe.system.text import escape_markdown

from . import parts
from .page import ENDINGS, render_page, write_finding
from .pictures import list_drawings

FREE = ("asked", "answer", "verdict", "entity")
KINDS = ("tied", "both_right", "both_wrong", "different")
TIED, BOTH_RIGHT, BOTH_WRONG, DIFFERENT = range(4)
BUDGET = 1_300_000  # bytes of examples in a page, shared by its runs
EXAMPLES = 4  # at most, for each kind and pair
LONGEST = 500  # characters of a free answer, or of its prompt
RANKED = 12  # candidates that are listed at most, besides the right ones


@check_arguments
def write_report(
    runs: Sequence[Path], output: Path | None, choice: Choice = ALL_ROWS
) -> dict[str, Picture]:
    """Write the report of one run, or of several side by side, and return its pictures by name.

    The report is one HTML file; None: only the pictures. Several runs are compared with the first
    one, over the facts that both have. The texts of the examples come from the dataset. If it is
    missing or has changed, the report has fact ids and candidate numbers instead, and a note. With
    a choice of scored rows the figures are computed again; results.json stays.

    Raises:
        PolyprobeError: not a run folder, missing scores, or the output cannot be written.
    """
    if output:
        check_ending("--output", output, ENDINGS)
    first, *rest = [_read_finished(Run(folder), choice) for folder in runs]
    return write_pages([first, *rest], output, [_compare(first, run, choice) for run in rest])


def _compare(first: FinishedRun, second: FinishedRun, choice: Choice) -> Comparison | str:
    """Compare two runs by the figures of a report; return the reason if this is impossible."""
    options = MetricOptions.read(first.results)
    if options.of_pairs != MetricOptions.read(second.results).of_pairs:
        return "not compared: their results.json have other options"
    resampling = first.results.get("resampling", {})
    try:
        return compare_runs(
            first.run,
            second.run,
            choice=choice,
            figures=HEADLINE,
            options=options,
            test="randomisation",
            correction="holm",
            **{**resampling, "n_resamples": resampling.get("n_resamples") or 1_000},
        )
    except PolyprobeError as error:
        return f"not compared: {error}"


def write_comparison(
    runs: tuple[Run, Run], outcome: PairOutcome, output: Path | None, choice: Choice = ALL_ROWS
) -> dict[str, Picture]:
    """Write two compared runs, as `write_report` does: the effect of sentences, or both reports."""
    if outcome.wording:
        finding = make_versions_finding(outcome)
        if output:
            write_finding(finding, output)
        return finding.pictures
    finished = [_read_finished(run, choice, OPTIONS) for run in runs]  # as `compare` does
    return write_pages(finished, output, [outcome.comparison])


def _read_finished(run: Run, choice: Choice, options: MetricOptions | None = None) -> FinishedRun:
    """Read a run with its results, computed again if rows or other options are chosen."""
    results = read_results(run)
    default = MetricOptions.read(results)
    options = default if options is None else options
    if choice != ALL_ROWS or options != default:
        bootstrap = Bootstrap(**results.get("resampling", {}))
        results = find_results(run, bootstrap, choice, options)
    return FinishedRun(run, results)


def write_pages(
    runs: Sequence[FinishedRun], output: Path | None, compared: Sequence[Comparison | str] = ()
) -> dict[str, Picture]:
    """Write the report of runs in memory, and of the comparisons of the first one with others."""
    decoded = all(finished.run.settings().kind == "predictions" for finished in runs)
    for finished in runs:
        _check_results(finished, decoded)
    names = name_runs([finished.run for finished in runs])
    report = parts.make_report(runs, names, compared)
    drawings = list_drawings(report)
    finding = _make_finding(report, drawings, decoded)
    if output:
        data: dict[str, Any] = {} if decoded else {"runs": list_examples(runs, names)}
        if not decoded and parts.Titles.PAIRS in drawings:
            # the least consistent one; if none is defined, the first
            pairs = (parts.rank_pairs(part.results) for part in report.parts)
            default = [report.parts[0].results["languages"][:2]]
            data["pair"] = next(filter(None, pairs), default)[-1]
        write_finding(finding, output, **data)
    # heat maps of pairs first
    return {x.name: x.picture for of_part in drawings.values() for x in of_part}


def _make_finding(report: parts.Report, drawings: parts.Drawings, decoded: bool) -> Finding:
    runs, names = report.parts, [part.name for part in report.parts]
    data = {part.settings.data_name for part in runs}
    title = f"{len(names)} runs" if len(names) > 1 else names[0]
    # the first one with explanations
    lines = [parts.describe_run(part, place == 0) for place, part in enumerate(runs)]
    files = Part(parts.Titles.FILES, [])
    first, *rest = parts.list_parts(report, drawings)
    blocks = [first, *parts.list_differences(report), *rest, parts.make_runs_part(report), files]
    differing = find_differing([part.settings for part in runs], [[part.results] for part in runs])
    if decoded:
        differing.pop("scoring", None)  # all figures are accuracies
    caution = f"These runs differ in {', '.join(differing)}: their means are not comparable."
    return Finding(
        title + (f" on {data.pop()}" if len(data) == 1 else ""),
        [part._replace(pictures=drawings.get(part.title, ())) for part in blocks],
        "\n".join(lines),
        settings=[parts.name_part(part, report) + part.results["signature"] for part in runs],
        cautions=[caution] * bool(differing),
        terms=parts.list_terms({name for part in runs for name in part.results}),
    )


def _check_results(finished: FinishedRun, decoded: bool) -> None:
    """Refuse results that lack what the report needs, and free predictions beside scores."""
    run, results, _ = finished
    again = f"run `polyprobe metrics {run.folder}`"
    if decoded:
        if "factual_accuracy" not in results:
            raise PolyprobeError(f"{run.folder}/results.json has no factual_accuracy; {again}")
        return
    if run.settings().kind == "predictions":
        raise PolyprobeError(
            f"{run.folder} holds free predictions, other runs scores of candidates; report them "
            "apart"
        )
    choices = protocol_of(run.settings().scoring).choices
    figures = [x for x in HEADLINE if not (x.of_second or (choices and x.input.ranked))]
    names = [figure.name for figure in figures]
    missing = [name for name in names if not isinstance(results.get(name), dict)]
    if missing and results.get("own_candidates"):
        raise PolyprobeError(
            f"{run.folder} has other candidates in each language, so no RankC, which the "
            f"report needs; see `polyprobe metrics {run.folder}`"
        )
    if missing:
        without = " without --figures" if MetricOptions.read(results).figures else ""
        raise PolyprobeError(
            f"{run.folder}/results.json has no {', '.join(missing)}, which the report needs; "
            f"{again} again{without}"
        )


def list_examples(runs: Sequence[FinishedRun], names: Sequence[str]) -> list[dict[str, Any]]:
    """List name, languages and examples of each run, for the page's script."""
    # all runs share the budget, so that a page of many runs is no larger than one of a single run
    budget, examples = BUDGET // len(runs), []
    for (run, results, texts), name in zip(runs, names, strict=True):
        choice = make_choice(**results.get("subset") or {})
        answers = read_answers(run, results["languages"], choice)
        facts = collect_examples(run.settings(), answers, budget, texts)
        examples.append({"name": name, "languages": results["languages"], **facts})
    return examples


@dataclass(frozen=True)
class Answers:
    """The best candidates of a run; all arrays are [facts, languages]."""

    fact_ids: list[str]
    relations: list[str]
    right: list[list[int]]
    languages: list[str]
    best: np.ndarray  # index into the candidates, undefined in a tie
    shared: np.ndarray  # number of candidates with the best score; above one: a tie
    correct: np.ndarray
    scores: list[np.ma.MaskedArray]  # [facts, most candidates], absent ones masked, by language
    free: list[list[list[str]]]  # question, answer, verdict and entity of free answers, by language


def read_answers(run: Run, languages: Sequence[str], choice: Choice = ALL_ROWS) -> Answers:
    """Read the best candidates by the run's score files, of a choice of their rows."""
    by_language, _ = read_chosen(run, choice)
    tables = [by_language[language] for language in languages]
    right = tables[0]["answers"].to_pylist()
    scores = [masked_scores(table) for table in tables]
    ties = [np.asarray((x == x.max(axis=1, keepdims=True)).sum(axis=1)) for x in scores]
    best = np.stack([x.argmax(axis=1) for x in scores], axis=1)
    shared = np.stack(ties, axis=1)
    hits = np.array([np.isin(row, gold) for row, gold in zip(best, right, strict=True)])
    return Answers(
        fact_ids=tables[0]["fact_id"].to_pylist(),
        relations=tables[0]["relation"].to_pylist(),
        right=right,
        languages=list(languages),
        best=best,
        shared=shared,
        correct=hits.reshape(best.shape) & (shared == 1),
        scores=scores,
        free=[
            [*map(cut_answer, table.select(FREE).to_pylist())]
            for table in tables
            if {*FREE} <= {*table.column_names}
        ],
    )


def classify_answers(answers: Answers) -> np.ndarray:
    """Find the index into `KINDS` for each fact and pair (of `combinations`), [facts, pairs]."""
    places = list(combinations(range(len(answers.languages)), 2))
    first, second = np.array(places, dtype=int).reshape(-1, 2).T
    same = answers.best[:, first] == answers.best[:, second]
    kinds = np.full(same.shape, DIFFERENT, dtype=np.int8)
    kinds[same] = BOTH_WRONG
    kinds[same & answers.correct[:, first]] = BOTH_RIGHT
    kinds[(answers.shared[:, first] > 1) | (answers.shared[:, second] > 1)] = TIED
    return kinds


def count_kinds(kinds: np.ndarray, n_kinds: int = len(KINDS)) -> np.ndarray:
    """Count the facts of each kind for each pair, [pairs, kinds]."""
    return np.stack([(kinds == kind).sum(axis=0) for kind in range(n_kinds)], axis=1)


def collect_examples(
    settings: Settings, answers: Answers, budget: int, texts: Mapping[str, pa.Table] | None = None
) -> dict[str, Any]:
    """Collect the page's examples for every pair of languages, about `budget` bytes of JSON."""
    # The dataset is loaded unless `texts` has all languages; `note` says why there are no texts.
    kinds = classify_answers(answers)
    kind_names = [*map(name_verdict, VERDICTS if answers.free else ())]
    verdicts = [[kind_names.index(row[2]) for row in rows] for rows in answers.free]
    order = choose_facts(np.column_stack([kinds, *verdicts]))
    tables, note = _load_texts(settings, answers, texts or {})
    names = read_relation_names(settings.dataset)
    # The dataset may have other rows, in another order.
    row_of = place_rows(next(iter(tables.values())), answers.fact_ids) if tables else []
    facts, size = [], 0
    for fact in order:
        rows: list[list[Any]] = []
        for place, language in enumerate(answers.languages):
            prompt = labels = None
            if tables:
                columns = (tables[language][name] for name in ("prompt", "candidates"))
                prompt, labels = (column[row_of[fact]].as_py() for column in columns)
                if len(labels) != answers.scores[place][fact].count():
                    raise PolyprobeError(
                        f"scores of '{language}', row {fact + 1:,}: not as many as candidates"
                    )
            free = answers.free[place][fact] if answers.free else []
            rows.append([prompt, *_rank(answers, fact, place, labels), *free])
        entry = {
            "id": answers.fact_ids[fact],
            "relation": names.get(answers.relations[fact], answers.relations[fact]),
            "right": answers.right[fact],
            "rows": rows,
        }
        size += len(json.dumps(entry, ensure_ascii=False).encode())
        if size > budget:
            break
        facts.append(entry)
    counts = count_kinds(kinds).tolist()
    return {"counts": counts, "facts": facts, "total": len(answers.fact_ids), "note": note}


def choose_facts(kinds: np.ndarray, examples: int = EXAMPLES) -> Iterator[int]:
    """Yield facts until every pair has its examples of every kind, the most useful first.

    Behind the pairs may be languages, with the verdicts on their free answers as kinds.
    """
    # Greedy cover: first one example of each kind for each pair, then a second, and so on; a fact
    # that serves more pairs comes earlier, so that any start of the sequence covers the most.
    pairs = np.arange(kinds.shape[1])
    totals = count_kinds(kinds, max(len(KINDS), len(VERDICTS)))
    counts = np.zeros_like(totals)
    rest: np.ndarray = np.ones(len(kinds), dtype=bool)
    for number in range(1, examples + 1):
        target = np.minimum(totals, number)
        lacking = counts < target
        gains = np.where(rest, lacking[pairs, kinds].sum(axis=1), -1)
        while lacking.any():
            fact = int(gains.argmax())
            rest[fact] = False
            counts[pairs, kinds[fact]] += 1
            for pair, kind in np.argwhere(lacking & (counts >= target)):
                lacking[pair, kind] = False
                gains -= kinds[:, pair] == kind
            gains[fact] = -1
            yield fact


def _load_texts(
    settings: Settings, answers: Answers, texts: Mapping[str, pa.Table]
) -> tuple[Mapping[str, pa.Table], str | None]:
    """Load the rows as the run asked them, or none and the reason."""
    if set(answers.languages) <= set(texts):
        return texts, None
    try:
        tables = load_again(settings, answers.languages)
    except PolyprobeError as error:
        return {}, f"The texts of the examples are not at hand: {error}."
    stop = settings.further.get(FINAL_STOP, "none")
    return as_asked(tables, settings.scoring, final_stop=stop), None


def cut_answer(row: Mapping[str, str]) -> list[str]:
    """List the values of FREE, of a long answer its beginning, of a long prompt its end."""
    question, text, verdict, entity = (row[name] for name in FREE)
    if len(question) > LONGEST:  # examples stand before the question
        question = f"[{len(question) - LONGEST:,} more characters] … {question[-LONGEST:]}"
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]} … [{len(text) - LONGEST:,} more characters]"
    return [question, text, name_verdict(verdict), entity]


def _rank(answers: Answers, fact: int, place: int, labels: Sequence[str] | None) -> list[Any]:
    """List [ranking, sharers of the best score, number of candidates not listed]."""
    scores = answers.scores[place][fact].compressed()
    order = np.argsort(-scores, kind="stable").tolist()
    ranking = [
        [rank, index, labels[index] if labels else None, round(float(scores[index]), 3)]
        for rank, index in enumerate(order, start=1)
        if rank <= RANKED or index in answers.right[fact]
    ]
    return [ranking, int(answers.shared[fact, place]), len(order) - len(ranking)]


def write_board(board: Board, folder: Path) -> None:
    """Write a static Space: README.md, page, tables, and board.json with the hashes of these."""
    check_output(folder)
    moment = environ.get("SOURCE_DATE_EPOCH", "")  # of builds that give the same bytes again
    day = strftime("%Y-%m-%d", gmtime(int(moment) if moment.isdecimal() else None))
    finding = make_board_finding(board)
    finding = finding._replace(lead=f"{finding.lead} Written on {day}.")
    sealed = {
        PAGE: render_page(finding, (TABLE, LATEX)),
        TABLE: write_models(board, ".csv"),
        LATEX: write_models(board, ".tex"),
    }
    hashes = {x: hashlib.sha256(text.encode("utf-8")).hexdigest() for x, text in sealed.items()}
    numbers = {**board.as_json(), SEALED: hashes}
    numbers[SEAL] = hash_json(numbers)
    files = {JSON: json.dumps(numbers, indent=1, ensure_ascii=False, allow_nan=False) + "\n"}
    # the licence of the card is that of the page's script
    head = {"title": finding.title, **read_toml(__package__, "texts.toml")["card"]}
    models, *trends = (to_markdown(table) for table in finding.tables if table.limit != 0)
    parts = [
        f"---\n{yaml_dump(head, sort_keys=False)}---",
        f"# {escape_markdown(finding.title)}",
        models,
        "".join(f"- {escape_markdown(line)}.\n" for line in (*finding.notes, *finding.cautions)),
        *trends,
        f"Made by `polyprobe board` on {day}. `board.csv` and `board.json` have all figures.",
    ]
    card = "\n".join(f"{part.rstrip()}\n" for part in parts)
    for name, content in (files | sealed | {CARD: card}).items():
        write_text(folder / name, content, REMEDY)
