"""Edit facts of a dataset one by one, and score them in every language before and after."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import pyarrow as pa
from scipy.special import expit

from polyprobe.eval.evaluate import evaluate_model
from polyprobe.schema.columns import SLOT, fingerprint, has_prompts
from polyprobe.schema.languages import split_list
from polyprobe.schema.load import find_default, load_facts
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.protocol import protocol_of
from polyprobe.schema.run.rows import apply_choice, choose_rows, choose_to_score
from polyprobe.scoring.load import Loaded, load
from polyprobe.scoring.model_objects import name_of
from polyprobe.scoring.options import ScorerOptions, is_name
from polyprobe.scoring.scorers.causal import CausalObjectScorer
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

SCORING = "object"  # the sum of log P of the candidate's tokens; text behind the slot is not read
Rows = Sequence[Mapping[str, Any]]  # of a language; those of all languages are parallel


class Fact(NamedTuple):
    """A fact to edit: numbers of rows, and of the target among the candidates."""

    row: int
    target: int
    neighbours: Sequence[int]  # rows of other facts of the relation
    paraphrases: Sequence[int]  # rows of the same fact, with other templates


def edit_facts(
    model: Any, dataset: str, config: str | None, output: Path, options: EditOptions
) -> dict[str, Any]:
    """Edit facts, and return the content of OUTPUT/edits.json, which is written after each.

    Args:
        model: as in `evaluate_model`; a scorer has the scoring `object`.
        dataset: as in `load_facts`.
        config: as in `load_facts`.
        output: folder; repeat the call to resume.
        options: all others. Without a `run` the consistency is that of a run OUTPUT/run.

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
    scorer: Any = loaded.scorer
    rows = {language: table.to_pylist() for language, table in tables.items()}
    texts = {row["prompt"].replace(SLOT, _name_right(row)): None for row in rows[source]}
    if options.moments:
        content = read_user_text(options.moments, "--moments")
        texts = dict.fromkeys(filter(None, map(str.strip, content.splitlines())))
    is_rome = options.method == METHODS[0]
    starts = sample_starts(scorer, options.contexts) if is_rome and options.contexts else ()
    editor = Editor(scorer, options.layer, starts)
    settings = {
        **{x: getattr(options, x) for x in ("facts", "minimum_share", "neighbours")},
        **({"contexts": options.contexts} if is_rome else {}),
        **{"sentences": len(texts), "scoring": SCORING, "dtype": loaded.dtype},
        "texts": hash_json({"": [*texts]})[:12],
        "rows": hash_json({x: fingerprint(table) for x, table in tables.items()})[:12],
    }
    edits = {
        "model": str(model) if is_name(model) else name_of(model),
        **{"revision": loaded.revision, "dataset": dataset},
        "config": config or find_default(dataset),
        **{"source": source, "method": options.method, "layer": editor.layer},
        **{"settings": settings, "languages": [*tables]},
    }
    with locked(output):
        file = output / "edits.json"
        edits |= {"consistency": {}, "facts": _read_facts(file, edits)}
        edits["consistency"] = _find_consistency(loaded, tables, edits, output, options.run)
        facts = choose_facts(tables[source], rows[source], scorer, options)
        if is_rome:
            editor.load_moment({x: edits[x] for x in ("model", "revision")} | settings, [*texts])
        edited = {fact["fact_id"] for fact in edits["facts"]}
        facts = [fact for fact in facts if rows[source][fact.row]["fact_id"] not in edited]
        scores = _score(scorer, rows, facts)
        for fact, before in zip(track(facts, "edits"), scores, strict=True):
            edits["facts"].append(_edit(editor, rows, source, fact, before, options.method))
            text = json.dumps(edits, ensure_ascii=False, indent=1)
            write_text(file, f"{text}\n", "the edits before are kept")
    return edits


def _load(model: Any, options: EditOptions) -> Loaded:
    changes = {x: getattr(options, x) for x in ("revision", "device", "dtype")}
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


def _read_facts(file: Path, edits: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Read the facts of an earlier call with the same settings."""
    if not file.exists():
        return []
    try:
        earlier = json.loads(file.read_text(encoding="utf-8"))
        pairs = {x: (earlier[x], y) for x, y in edits.items() if x != "settings"}
        pairs |= {x: (earlier["settings"].get(x), y) for x, y in edits["settings"].items()}
        facts: list[dict[str, Any]] = [dict(fact) for fact in earlier["facts"]]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        text = f"cannot read {file} ({one_line(error)}); delete it, or choose another --output"
        raise PolyprobeError(text) from error
    for name, (before, now) in pairs.items():
        if before != now:
            raise PolyprobeError(
                f"{file} has edits with another {name} ({before}; now {now}); choose another "
                "--output"
            )
    return facts


def _find_consistency(
    loaded: Loaded,
    tables: Mapping[str, pa.Table],
    edits: Mapping[str, Any],
    output: Path,
    folder: Path | None,
) -> dict[str, float | None]:
    """Read `rankc_subject` of each language with the source from a run, or make that run."""
    source, targets = edits["source"], [x for x in tables if x != edits["source"]]
    if folder:
        run = Run(folder)
        settings, results = run.settings(), run.read_results()
        columns = protocol_of(settings.scoring).columns
        prints = {x: fingerprint(table, columns) for x, table in tables.items()}
        same = all(settings.fingerprint.get(x, y) == y for x, y in prints.items())
        if settings.revision != edits["revision"] or not same:
            raise PolyprobeError(f"--run {folder}: it is of another model or dataset")
    elif targets:
        place = edits["dataset"], edits["config"]
        results = evaluate_model(loaded.scorer, *place, languages=[*tables], output=output / "run")
    else:
        return {}
    pairs = results.get("rankc_subject", {})
    return {x: pairs.get(f"{source}-{x}", pairs.get(f"{x}-{source}")) for x in targets}


def choose_facts(
    table: pa.Table, rows: Rows, scorer: CausalObjectScorer, options: EditOptions
) -> list[Fact]:
    """Choose facts that the model has right; targets, neighbours depend on ids alone."""
    numbers: dict[str, list[int]] = {}  # rows of each fact
    of_relations: dict[str, list[str]] = {}
    for row in apply_choice(table, choose_to_score(table, None, None)).rows:
        fact, relation = rows[row]["fact_id"], rows[row]["relation"]
        if numbers.setdefault(fact, []) == []:
            of_relations.setdefault(relation, []).append(fact)
        numbers[fact].append(row)
    facts, excluded = [], Counter[str]()
    for name, (first, *rest) in numbers.items():
        row = rows[first]
        wrong = [k for k in range(len(row["candidates"])) if k not in row["answers"]]
        if not (row.get("subject") and row["subject"] in row["prompt"].partition(SLOT)[0].rstrip()):
            excluded["have no subject in front of the slot"] += 1
        elif not wrong:
            excluded["have no wrong candidate"] += 1
        else:
            target = wrong[hash_text(name) % len(wrong)]
            label = row["candidates"][target]
            order = shuffle_items(of_relations[row["relation"]], name)
            others = (numbers[x][0] for x in order if x != name)
            near = [k for k in others if _name_right(rows[k]) != label][: options.neighbours]
            facts.append(Fact(first, target, near, rest))
    pairs = [(rows[x.row], x.target) for x in facts]
    candidates = [[_name_right(row), row["candidates"][target]] for row, target in pairs]
    scores = scorer.score([row["prompt"] for row, _ in pairs], candidates)
    right = [
        x for x, (a, b) in zip(facts, scores, strict=True) if expit(a - b) > options.minimum_share
    ]
    if unsure := len(facts) - len(right):
        excluded[f"have a share of at most {options.minimum_share:g} before"] = unsure
    if excluded:
        report("not edited: " + "; ".join(f"{n:,} facts {why}" for why, n in excluded.items()))
    if not right:
        raise PolyprobeError("no fact is left to edit; lower --minimum-share, or another --source")
    sample = {*choose_rows(table, None, options.facts, [fact.row for fact in right])}
    return [fact for fact in right if fact.row in sample]


def _score(
    scorer: CausalObjectScorer, rows: Mapping[str, Rows], facts: Sequence[Fact]
) -> list[dict[str, Any]]:
    """Score facts in every language, all in one batch; the pairs are of right and target."""
    queries = []
    for of_language in rows.values():
        for fact in facts:
            label = of_language[fact.row]["candidates"][fact.target]
            queries.append((of_language[fact.row]["prompt"], of_language[fact.row]["candidates"]))
            around = [of_language[k] for k in (*fact.neighbours, *fact.paraphrases)]
            queries += [(row["prompt"], [_name_right(row), label]) for row in around]
    scores = iter(scorer.score(*map(list, zip(*queries, strict=True))) if queries else ())
    figures: list[dict[str, Any]] = [{} for _ in facts]
    for language, of_language in rows.items():
        for fact, values in zip(facts, figures, strict=True):
            whole, right = next(scores), of_language[fact.row]["answers"][0]
            values[language] = (
                {
                    "right": whole[right],
                    "target": whole[fact.target],
                    "rank": 1 + sum(score > whole[fact.target] for score in whole),
                },
                {
                    name: [next(scores) for _ in numbers]
                    for name, numbers in fact._asdict().items()
                    if name in ("neighbours", "paraphrases") and numbers
                },
            )
    return figures


def _edit(
    editor: Editor,
    rows: Mapping[str, Rows],
    source: str,
    fact: Fact,
    before: Mapping[str, Any],
    method: str,
) -> dict[str, Any]:
    """Edit a fact, score it, and restore the weight."""
    start, row = perf_counter(), rows[source][fact.row]
    label = row["candidates"][fact.target]
    edit = row["prompt"], row["subject"], label
    weight = editor.rome(*edit).weight if method == METHODS[0] else editor.tune(*edit)
    with replaced(editor.weight):
        editor.weight.data.copy_(weight)
        [after] = _score(editor.scorer, rows, [fact])
    languages = {}
    for language, (now, pairs) in after.items():
        old, old_pairs = before[language]
        both = {name: {"before": old_pairs[name], "after": x} for name, x in pairs.items()}
        languages[language] = {"before": old, "after": now, **both}
    about = {"fact_id": row["fact_id"], "relation": row["relation"], "subject": row["subject"]}
    about |= {"right": _name_right(row), "target": label}
    return {**about, "seconds": round(perf_counter() - start, 3), "languages": languages}
