"""Check X-FACTR's released logs of decodings with our matching, and test two decodings.

    python docs/examples/xfactr_logs.py en results/multi_word/best_decode
    python docs/examples/xfactr_logs.py el results/cs_ana/el_en_raw05

The folder has a CSV file for each relation, as the released code writes them: `prediction` and
`is_same`, or those of two decodings (`prediction1`, `is_same1`, …, or RELATION.1.csv and
RELATION.2.csv). Accepted forms are `gold`, separated by ` | `. Accuracy is averaged over relations;
one without objects of a length counts as 0 there, as in the released code.
"""

import argparse
import sys
from pathlib import Path

import pyarrow as pa

from polyprobe.eval.compare.decodings import compare_decodings
from polyprobe.eval.errors.released import read_decodings
from polyprobe.eval.results.predictions import mark_predictions
from polyprobe.metrics.factual_accuracy.factual_accuracy import measure_factual_accuracy


def read_logs(folder: Path) -> list[list[dict]]:
    """Return the rows of the decodings in a folder, one or two of the same facts.

    `single_token` is None where the log does not have it.
    """
    files = sorted(folder.glob("*.csv"))
    if not files:
        sys.exit(f"error: {folder} has no CSV files; expected one for each relation")
    sides: dict[str, list[dict]] = {}
    for file in files:
        relation, *number = file.stem.split(".")
        decodings = read_decodings(file)
        for side, rows in zip(number or "12", decodings, strict=False):
            sides.setdefault(side, []).extend(
                {
                    "fact_id": f"{relation}:{place}",
                    "relation": relation,
                    "prompt": row.prompt,
                    "answer_forms": row.gold,
                    "single_token": row.single,
                    "prediction": row.prediction,
                    "right": row.right,
                }
                for place, row in enumerate(rows)
            )
    return [rows for _, rows in sorted(sides.items())]


def main() -> None:
    """Print the figures of a folder of logs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("language", help="of the prompts and the accepted forms, such as en")
    parser.add_argument("folder", type=Path, help="CSV files, one for each relation")
    given = parser.parse_args()
    logs, tables, marks = read_logs(given.folder), [], []
    known = all(row["single_token"] is not None for row in logs[0])
    parts = ("all", "single", "multi") if known else ("all",)
    for number, rows in enumerate(logs, 1):
        for row in rows:  # a fact without the flag was asked nevertheless
            row["single_token"] = bool(row["single_token"])
        tables.append({given.language: pa.Table.from_pylist(rows)})
        marks.append(mark_predictions(tables[-1]))
        right = marks[-1][given.language]
        agree = sum(r == row["right"] for r, row in zip(right, rows, strict=True))
        columns = tables[-1][given.language].to_pydict()
        name = f"decoding {number}: " if len(logs) > 1 else ""
        print(
            f"{name}{len(rows):,} facts of {len(set(columns['relation']))} relations; flags that "
            f"agree with our matching: {agree:,}"
        )
        figures = measure_factual_accuracy(
            columns["prediction"],
            columns["answer_forms"],
            columns["single_token"],
            given.language,
            columns["prompt"],
            groups=columns["relation"],
            n_resamples=0,
            empty="zero",
        )
        print("  accuracy: " + ", ".join(f"{part} {figures[part]:.4f}" for part in parts))
    if len(logs) > 1:
        for row in compare_decodings(tuple(tables), tuple(marks)).counts:
            if row.part in parts:
                tested = "" if row.p is None else f", p = {row.p:.2g}"
                print(
                    f"{row.part}: {row.only_first} only in the first, {row.only_second} only in "
                    f"the second{tested}"
                )


if __name__ == "__main__":
    main()
