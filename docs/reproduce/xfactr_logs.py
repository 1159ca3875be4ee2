"""Check X-FACTR's released logs of decodings with our matching, and test two decodings.

    python docs/reproduce/xfactr_logs.py en results/multi_word/best_decode
    python docs/reproduce/xfactr_logs.py el results/cs_ana/el_en_raw05
    python docs/reproduce/xfactr_logs.py en results/en_pred_left --gold results/en_gold
    python docs/reproduce/xfactr_logs.py en report/count.csv

The folder has a CSV file for each relation, as the released code writes them: `prediction` and
`is_same`, or those of two decodings (`prediction1`, `is_same1`, …, or RELATION.1.csv and
RELATION.2.csv, with the same sentences and accepted forms in the same order). Accepted forms are
`gold`, separated by ` | `, or `gold_inflection` and `gold_original`. With --gold, the log of the
right answers, it counts the predictions that are at least as probable (`log_prob`). The file
count.csv has the facts by the number of languages that know them (figure 5). Accuracy is averaged
over relations; one without objects of a length counts as 0 there, as in the released code.
"""

import csv
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from polyprobe.analysis.compare.runs import compare_decodings
from polyprobe.analysis.figures.predictions import mark_predictions
from polyprobe.builder.sources.xfactr import LANGUAGES
from polyprobe.docs.reproduce.released import Released, read_decodings
from polyprobe.metrics.factual_accuracy.formulas import measure_factual_accuracy
from polyprobe.system.messages import PolyprobeError, one_line, unknown

Rows = list[dict[str, Any]]  # of a decoding
Log = tuple[Path, list[Released]]  # one decoding of a relation, and its file


def main(argv: Sequence[str] | None = None) -> None:
    """Print the figures of a folder of logs."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("language", help="of the prompts and the accepted forms, such as en")
    parser.add_argument("folder", type=Path, help="CSV files, one for each relation; or count.csv")
    parser.add_argument("--gold", type=Path, help="folder of the right answers")
    given = parser.parse_args(argv)
    if given.language not in LANGUAGES:
        raise unknown("language", given.language, "X-FACTR", LANGUAGES)
    if given.folder.suffix == ".csv":
        show_counts(given.folder)
        return
    decodings = read_logs(given.folder)
    known = all(row["single_token"] is not None for rows in decodings for row in rows)
    parts = ("all", "single", "multi") if known else ("all",)
    tables, marks = [], []
    for number, rows in enumerate(decodings, 1):
        for row in rows:  # a fact without the flag was asked nevertheless
            row["single_token"] = bool(row["single_token"])
        tables.append({given.language: pa.Table.from_pylist(rows)})
        marks.append(mark_predictions(tables[-1]))
        name = f"decoding {number}: " if len(decodings) > 1 else ""
        agree = sum(marks[-1][given.language] == [row["right"] for row in rows])
        relations = {row["relation"] for row in rows}
        print(
            f"{name}{len(rows):,} facts of {len(relations)} relations; flags that agree with our "
            f"matching: {agree:,}"
        )
        show_accuracy(tables[-1][given.language], given.language, parts)
    if given.gold:
        show_search(decodings[0], read_logs(given.gold)[0], given.gold)
    if len(decodings) == 2:
        for count in compare_decodings((tables[0], tables[1]), (marks[0], marks[1])).counts:
            if count.part in parts:
                tested = "" if count.p is None else f", p = {count.p:.2g}"
                print(
                    f"{count.part}: {count.only_first} only in the first, {count.only_second} only "
                    f"in the second{tested}"
                )


def show_accuracy(table: pa.Table, language: str, parts: Sequence[str]) -> None:
    """Print the accuracy of a decoding, macro over relations."""
    columns = table.to_pydict()
    figures = measure_factual_accuracy(
        columns["prediction"],
        columns["answer_forms"],
        columns["single_token"],
        language,
        columns["prompt"],
        groups=columns["relation"],
        n_resamples=0,
        empty="zero",
    )
    print("  accuracy: " + ", ".join(f"{part} {figures[part]:.4f}" for part in parts))


def show_counts(path: Path) -> None:
    """Print the facts of `report/count.csv` by the number of languages that know them."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            counts = Counter(int(line["number of langs"]) for line in csv.DictReader(file))
    except (OSError, LookupError, TypeError, ValueError, csv.Error) as error:
        raise PolyprobeError(f"no `number of langs` in {path}: {one_line(error)}") from error
    print(f"{counts.total():,} facts that some language knows")
    for number, n in sorted(counts.items()):
        print(f"  in {number} languages: {n:,} ({n / counts.total():.4f})")


def show_search(rows: Rows, gold: Rows, folder: Path) -> None:
    """Print how many predictions are at least as probable as the right answer."""
    pairs = [*zip(rows, gold, strict=False)]
    names = ("relation", "answer_forms")
    if len(rows) != len(gold) or any(x[name] != y[name] for x, y in pairs for name in names):
        raise PolyprobeError(f"{folder}: expected the facts of the predictions, in their order")
    if None in [row["log_probability"] for row in rows + gold]:
        raise PolyprobeError(f"{folder} or the predictions have no column log_prob")
    n = sum(x["log_probability"] >= y["log_probability"] for x, y in pairs)
    share = f"{n:,} of {len(rows):,} ({n / len(rows):.4f})"
    print(f"at least as probable as the right answer: {share}")


def read_logs(folder: Path) -> list[Rows]:
    """Return the rows of each decoding in a folder, one or two of the same facts.

    `single_token` is None where the log does not have it.

    Raises:
        PolyprobeError: no folder, files or rows, a file that `read_decodings` refuses, or
            decodings of other facts.
    """
    if not folder.is_dir():
        raise PolyprobeError(f"no folder {folder}; give one with a CSV file for each relation")
    files: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("*.csv")):
        files.setdefault(path.name.partition(".")[0], []).append(path)
    if not files:
        raise PolyprobeError(f"{folder} has no CSV files; expected one for each relation")
    found: list[Rows] = []
    for relation, paths in files.items():
        logs = [(path, rows) for path in paths for rows in read_decodings(path)]
        found = found or [[] for _ in logs]
        if len(logs) != len(found) or len(logs) > 2:
            others = f", {next(iter(files))} has {len(found)}" if len(logs) != len(found) else ""
            raise PolyprobeError(
                f"{folder}: {relation} has {len(logs)} decodings{others}; expected one for each "
                "relation, or two"
            )
        check_same_facts(logs[0], logs[-1])
        for side, (_, rows) in zip(found, logs, strict=True):
            side += [make_row(relation, place, row) for place, row in enumerate(rows)]
    if not found[0]:
        raise PolyprobeError(f"{folder} has no rows in its {len(files)} CSV files")
    return found


def check_same_facts(first: Log, second: Log) -> None:
    """Refuse two decodings of a relation whose rows are not the same facts in the same order."""
    (one, rows), (other, others) = first, second
    for place, (row, its) in enumerate(zip(rows, others, strict=False), 1):
        if (row.prompt, row.gold) != (its.prompt, its.gold):
            raise PolyprobeError(
                f"{other}, row {place}: sentence or gold differs from that of {one}; expected the "
                "same facts in the same order"
            )
    if len(rows) != len(others):
        raise PolyprobeError(
            f"{other} has {len(others):,} rows and {one} has {len(rows):,}; expected the same facts"
        )


def make_row(relation: str, place: int, row: Released) -> dict[str, Any]:
    """Return a row of a decoding with the columns of a run."""
    return {
        "fact_id": f"{relation}:{place}",
        "relation": relation,
        "prompt": row.prompt,
        "answer_forms": row.gold,
        "single_token": row.single,
        "prediction": row.prediction,
        "log_probability": row.log_probability,
        "right": row.right,
    }


if __name__ == "__main__":
    try:
        main()
    except (PolyprobeError, OSError) as error:
        sys.exit(f"error: {error}")
