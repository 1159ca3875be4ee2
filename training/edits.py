"""Edit facts of a dataset one by one, and score them in every language before and after."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import islice, product
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import pyarrow as pa
from scipy.special import expit

from polyprobe.eval.evaluate import evaluate_model
from polyprobe.schema.columns import SLOT, fingerprint, has_prompts
from polyprobe.schema.languages import order_pair, split_list
from polyprobe.schema.load import find_default, load_facts
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.protocol import protocol_of
from polyprobe.schema.run.rows import choose_rows, find_rows
from polyprobe.scoring.load import Loaded, load
from polyprobe.scoring.model_objects import identify_object, name_of
from polyprobe.scoring.options import LoadingOptions, ScorerOptions, is_name
from polyprobe.scoring.scorers.causal import CausalObjectScorer
from polyprobe.system.download import ContentStore
from polyprobe.system.files import (
    hash_json,
    hash_text,
    locked,
    read_user_text,
    shuffle_items,
    write_text,
)
from polyprobe.system.messages import PolyprobeError, one_line, report, track

from .options import METHODS, EditOptions
from .rome import Editor, replaced, sample_starts

FILE = "edits.json"
PLACE = ("model", "dataset", "config", "source", "layer")
PARTS = ("adapter", "base", "quantize", "server")  # of a model, beside its revision
SCORING = "object"  # the sum of log P of the candidate's tokens; text behind the slot is not read
Rows = Sequence[Mapping[str, Any]]  # of a language; those of all languages are parallel


class EditCase(NamedTuple):
    """A fact to edit: numbers of rows, and of the target among the candidates."""

    row: int
    target: int
    neighbours: Sequence[int]  # rows of further facts of the relation
    paraphrases: Sequence[int]  # rows of the same fact, with further templates


def edit_facts(
    model: Any, dataset: str, config: str | None, output: Path, options: EditOptions
) -> dict[str, Any]:
    """Edit facts, and return the content of OUTPUT/edits.json; OUTPUT/edits.sqlite keeps each.

    Args:
        model: as in `evaluate_model`; a scorer has the scoring `object`.
        dataset: as in `load_facts`.
        config: as in `load_facts`.
        output: folder; repeat the call to resume.
        options: the rest. Without a `run` the consistency is that of a run OUTPUT/run.

    Raises:
        PolyprobeError: a model that is not causal or has no layer to edit, an unknown language, no
            fact to edit, a folder with edits of other settings.
    """
    [source] = load_facts(dataset, config, [options.source])
    names = [source, *split_list(options.languages)] if options.languages else None
    tables = load_facts(dataset, config, names)
    if any(map(has_prompts, tables.values())):
        raise PolyprobeError(f"{dataset} has a prompt for each candidate, which cannot be edited")
    loaded = _load(model, options)
    scorer: Any = loaded.scorer  # a `CausalObjectScorer`
    rows = {language: table.to_pylist() for language, table in tables.items()}
    texts = _list_sentences(rows[source], options.moments)
    is_rome = options.method == METHODS[0]
    starts = sample_starts(scorer, options.contexts) if is_rome and options.contexts else ()
    editor = Editor(scorer, options.layer, starts)
    name = str(model) if is_name(model) else name_of(model)
    place = (name, dataset, config or find_default(dataset), source, editor.layer)
    edits = _describe(loaded, place, tables, texts, options)
    with locked(output):
        _check_settings(output / FILE, edits)
        edits["consistency"] = _find_consistency(loaded, tables, edits, output, options)
        cases = choose_cases(tables[source], rows[source], scorer, options)
        if is_rome:
            about = {"model": edits["model"], "revision": loaded.revision, "dtype": loaded.dtype}
            editor.load_moment({**about, "bos": scorer.bos, **loaded.extra}, texts)
        _edit_all(editor, rows, edits, cases, output / FILE)
    return edits


def _list_sentences(rows: Rows, file: Path | None) -> list[str]:
    """List the sentences of the second moments: the lines of a file, or the right ones of rows."""
    if file is None:
        texts = [row["prompt"].replace(SLOT, _name_right(row)) for row in rows]
    else:
        texts = [*map(str.strip, read_user_text(file, "--moments").splitlines())]
    return [*dict.fromkeys(filter(None, texts))]


def _describe(
    loaded: Loaded,
    place: Sequence[Any],
    tables: Mapping[str, pa.Table],
    texts: Sequence[str],
    options: EditOptions,
) -> dict[str, Any]:
    """Make what a resumed call must repeat; texts and rows count by their hash."""
    about = dict(zip(PLACE, place, strict=True))
    names = ["facts", "minimum_share", "neighbours", "contexts"]
    settings = {name: getattr(options, name) for name in names}
    prints = {language: fingerprint(table) for language, table in tables.items()}
    settings |= {"sentences": len(texts), "scoring": SCORING, "dtype": loaded.dtype}
    settings |= {"texts": hash_json({"": [*texts]})[:12], "rows": hash_json(prints)[:12]}
    settings |= {"bos": loaded.scorer.bos, **dict.fromkeys(PARTS[:2]), **loaded.extra}
    settings |= find_rows(tables[about["source"]], options)[1]
    about |= {"revision": loaded.revision, "method": options.method}
    return {**about, "settings": settings, "languages": [*tables]}


def _load(model: Any, options: EditOptions) -> Loaded:
    changes = {x.name: getattr(options, x.name) for x in fields(LoadingOptions)}
    settings = ScorerOptions(scoring=SCORING, **changes)
    if is_name(model):
        settings.check_named(str(model))
    loaded = load(model, settings)
    scorer = loaded.scorer
    causal = isinstance(scorer, CausalObjectScorer) and scorer.scoring == SCORING
    if not (causal and scorer.model is not None and scorer.tokenizer.is_fast):
        raise PolyprobeError(
            f"edit needs a causal model in this process with a fast tokenizer, scored by {SCORING};"
            f" {name_of(scorer)} has a {type(scorer).__name__}"
        )
    return loaded


def _name_right(row: Mapping[str, Any]) -> str:
    return str(row["candidates"][row["answers"][0]])


def _check_settings(file: Path, edits: Mapping[str, Any]) -> None:
    """Refuse the edits of an earlier call with other settings."""
    if not file.exists():
        return
    try:
        earlier = json.loads(file.read_text(encoding="utf-8"))
        pairs = {x: (earlier[x], y) for x, y in edits.items() if x != "settings"}
        pairs |= {x: (earlier["settings"].get(x), y) for x, y in edits["settings"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        text = f"cannot read {file} ({one_line(error)}); delete it, or choose another --output"
        raise PolyprobeError(text) from error
    for name, (before, now) in pairs.items():
        if before != now:
            raise PolyprobeError(
                f"{file} has edits with another {name} ({before}; now {now}); choose another "
                "--output"
            )


def _find_consistency(
    loaded: Loaded,
    tables: Mapping[str, pa.Table],
    edits: Mapping[str, Any],
    output: Path,
    options: EditOptions,
) -> dict[str, float | None]:
    """Read `rankc_subject` of each language with the source from a run, or make that run."""
    source, targets = edits["source"], [x for x in tables if x != edits["source"]]
    if folder := options.run:
        run = Run(folder)
        settings, results = run.settings(), run.read_results()
        columns = protocol_of(settings.scoring).columns
        prints = {x: fingerprint(table, columns) for x, table in tables.items()}
        same = all(settings.fingerprint.get(x, y) == y for x, y in prints.items())
        scorer, parts = loaded.scorer, [settings.further.get(x) for x in PARTS]
        is_named = settings.revision == loaded.revision
        is_named &= parts == [loaded.extra.get(x) for x in PARTS]
        # A run of this module is of a model in memory
        same &= is_named or settings.revision == identify_object(scorer.model, scorer.tokenizer)
        if not same:
            raise PolyprobeError(f"--run {folder}: it is of another model or dataset")
    elif targets:
        place = edits["dataset"], edits["config"]
        rows = {x: getattr(options, x) for x in ("limit", "sample", "relations", "exclude")}
        rows |= {"languages": [*tables], "output": output / "run"}
        results = evaluate_model(loaded.scorer, *place, **rows)
    else:
        return {}
    pairs = results.get("rankc_subject", {})
    return {x: pairs.get(order_pair(pairs, source, x)) for x in targets}


def choose_cases(table: pa.Table, rows: Rows, scorer: Any, options: EditOptions) -> list[EditCase]:
    """Choose facts whose share is above the minimum; their targets depend on the id alone."""
    numbers: dict[str, list[int]] = {}  # the rows of each fact
    for number in find_rows(table, options)[0]:
        numbers.setdefault(rows[number]["fact_id"], []).append(number)
    of_relations: dict[str, list[str]] = {}
    for fact, (first, *_) in numbers.items():
        of_relations.setdefault(rows[first]["relation"], []).append(fact)
    cases, lost = [], 0
    for fact, (first, *rest) in numbers.items():
        row = rows[first]
        wrong = sorted({*range(len(row["candidates"]))} - {*row["answers"]})
        if not (wrong and row.get("subject") and row["subject"] in row["prompt"].split(SLOT)[0]):
            lost += 1
            continue
        target = wrong[hash_text(fact) % len(wrong)]
        order = shuffle_items(of_relations[row["relation"]], fact)
        firsts = (numbers[name][0] for name in order if name != fact)
        neighbours = (k for k in firsts if _name_right(rows[k]) != row["candidates"][target])
        cases.append(EditCase(first, target, [*islice(neighbours, options.neighbours)], rest))
    pairs = [[_name_right(rows[x.row]), rows[x.row]["candidates"][x.target]] for x in cases]
    scores = scorer.score([rows[case.row]["prompt"] for case in cases], pairs)
    right = [
        case.row
        for case, (a, b) in zip(cases, scores, strict=True)
        if expit(a - b) > options.minimum_share
    ]
    report(
        f"{len(right):,} of {len(numbers):,} facts can be edited; {lost:,} have no subject in front"
        f" of the slot or no wrong candidate, {len(cases) - len(right):,} too low a share before"
    )
    if not right:
        raise PolyprobeError("no fact is left to edit; lower --minimum-share, or another --source")
    sample = {*choose_rows(table, None, options.facts, right)}
    return [case for case in cases if case.row in sample]


def _score(
    scorer: Any, rows: Mapping[str, Rows], cases: Sequence[EditCase]
) -> list[dict[str, Any]]:
    """Score facts in every language, all in one batch; pairs are of right answer and target."""
    queries: list[tuple[str, list[str]]] = []
    for of_language, case in product(rows.values(), cases):
        row = of_language[case.row]
        queries.append((row["prompt"], row["candidates"]))
        for k in (*case.neighbours, *case.paraphrases):
            pair = [_name_right(of_language[k]), row["candidates"][case.target]]
            queries.append((of_language[k]["prompt"], pair))
    scores = iter(scorer.score(*map(list, zip(*queries, strict=True))) if queries else ())
    figures: list[dict[str, Any]] = [{} for _ in cases]
    for language, (case, values) in product(rows, [*zip(cases, figures, strict=True)]):
        ranking, right = next(scores), rows[language][case.row]["answers"][0]
        target = ranking[case.target]
        rank = 1 + sum(score > target for score in ranking)
        values[language] = {
            "fact": {"right": ranking[right], "target": target, "rank": rank},
            "neighbours": [next(scores) for _ in case.neighbours],
            "paraphrases": [next(scores) for _ in case.paraphrases],
        }
    return figures


def _edit_all(
    editor: Editor,
    rows: Mapping[str, Rows],
    edits: dict[str, Any],
    cases: Sequence[EditCase],
    file: Path,
) -> None:
    """Edit the cases that are not in the store yet, and write `edits` with all that are."""
    # A file of all facts, written after each, would take longer than the edits of many
    store = ContentStore(file.with_suffix(".sqlite"), "edits", "choose another --output", seal=b"")
    front, texts = hash_json({**edits, "consistency": ""}), rows[edits["source"]]
    keys = {f"{front} {texts[case.row]['fact_id']}".encode(): case for case in cases}
    values = store.find(keys)
    rest = {key: case for key, case in keys.items() if key not in values}
    scores = _score(editor.scorer, rows, [*rest.values()])
    try:
        for (key, case), before in zip(track(rest.items(), "edits"), scores, strict=True):
            values[key] = json.dumps(_edit(editor, rows, edits, case, before)).encode()
            store.add({key: values[key]})
    finally:
        edits["facts"] = [json.loads(values[key]) for key in keys if key in values]
        text = json.dumps(edits, ensure_ascii=False, indent=1)
        write_text(file, f"{text}\n", "repeat the command: the edits are kept")


def _edit(
    editor: Editor,
    rows: Mapping[str, Rows],
    edits: Mapping[str, Any],
    case: EditCase,
    before: Mapping[str, Any],
) -> dict[str, Any]:
    """Edit a fact, score it, and restore the weight."""
    start, row = perf_counter(), rows[edits["source"]][case.row]
    edit = row["prompt"], row["subject"], row["candidates"][case.target]
    is_rome = edits["method"] == METHODS[0]
    weight = editor.rome(*edit).weight if is_rome else editor.tune(*edit)
    with replaced(editor.weight):
        editor.weight.data.copy_(weight)
        [after] = _score(editor.scorer, rows, [case])
    seconds, languages = round(perf_counter() - start, 3), {}
    for language, now in after.items():
        sides = {x: {"before": before[language][x], "after": y} for x, y in now.items() if y}
        languages[language] = sides.pop("fact") | sides
    about = {name: row[name] for name in ("fact_id", "relation", "subject")}
    labels = {"right": _name_right(row), "target": edit[2]}
    return {**about, **labels, "seconds": seconds, "languages": languages}
