"""Turn the authors' lists of wrong rows of Polyglot or Not into runs for `polyprobe board`.

    python docs/reproduce/polyglot_runs.py ERRORS --models m-bert-base,bloom-7b --output runs/logs

ERRORS and --dataset are those of `polyglot_errors.py`. For each model and language it writes a run,
`runs/logs/m-bert-base-fr`: the right answer has the higher of two scores, except in the wrong rows.
Then `polyprobe board runs/logs/*` shows table 2, the mean over languages and its ±.
"""

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from polyprobe.analysis.figures.compute import compute_results
from polyprobe.analysis.figures.options import MetricOptions
from polyprobe.analysis.options import Bootstrap
from polyprobe.docs.reproduce.polyglot_errors import N_ROWS, read_errors, read_ids
from polyprobe.schema.languages import split_list
from polyprobe.schema.run.folder import SCORES, Run
from polyprobe.schema.run.settings import Settings
from polyprobe.system.files import hash_json
from polyprobe.system.messages import PolyprobeError, check_option

RIGHT, WRONG = [0.0, -1.0], [-1.0, 0.0]
FIGURES = MetricOptions(average="micro", figures=("accuracy", "contrastive_knowledge.accuracy"))


def main(argv: Sequence[str] | None = None) -> None:
    """Read the lists and write the runs, with results.json."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("errors", type=Path)
    parser.add_argument("--dataset", type=Path, default=Path("datasets/polyglot"))
    parser.add_argument("--models", help="comma-separated; default: all")
    parser.add_argument("--output", type=Path, required=True)
    chosen = parser.parse_args(argv)
    ids, errors = read_ids(chosen.dataset), read_errors(chosen.errors)
    models = split_list(chosen.models) or sorted(errors)
    for model in models:
        check_option("--models", model, errors)
    for language in ids:
        known = {model: errors[model][language] for model in models if language in errors[model]}
        rows = choose_rows(ids[language], set().union(*known.values()), language)
        for model, wrong in known.items():
            scores = [WRONG if row in wrong else RIGHT for row in rows]
            write_run(chosen.output / f"{model}-{language}", model, language, rows, scores)


def choose_rows(ids: Sequence[str], wrong: Collection[str], language: str) -> list[str]:
    """Return the rows in the authors' logs: 26,254 of the 26,267 in English.

    The lists do not name the other 13. The last rows that are right in all models are left out.
    """
    if lost := {*wrong} - {*ids}:
        raise PolyprobeError(f"{language}: {len(lost):,} errors are no rows, such as {min(lost)}")
    right = [row for row in ids if row not in wrong]
    surplus = max(len(ids) - N_ROWS.get(language, len(ids)), 0)
    left_out = {*right[len(right) - surplus :]}
    return [row for row in ids if row not in left_out]


def write_run(
    folder: Path, model: str, language: str, names: Sequence[str], scores: Sequence[list[float]]
) -> Run:
    """Write run.json, the scores and results.json of a model in a language."""
    run = Run(folder)
    run.open(
        Settings(
            model=model, revision="logs", dataset="polyglot", config=language,
            fingerprint={language: hash_json({"rows": [*names]})}, languages=[language], limit=None,
            sample=None, scoring="contrastive", bos=None, dtype="unknown", device="unknown",
        )
    )  # fmt: skip
    columns: dict[str, Any] = {
        "fact_id": [f"polyglot:{name}" for name in names],
        "relation": [""] * len(names),
        "answers": [[0]] * len(names),
        "scores": scores,
        "n_tokens": [[1, 1]] * len(names),
    }
    empty = [None] * len(names)
    run.write(language, pa.table({name: columns.get(name, empty) for name in SCORES.names}, SCORES))
    compute_results(run, Bootstrap(clusters="none"), options=FIGURES)
    return run


if __name__ == "__main__":
    try:
        main()
    except (PolyprobeError, OSError) as error:
        sys.exit(f"error: {error}")
