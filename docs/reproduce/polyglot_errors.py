"""Accuracy of Polyglot or Not (table 2) from the authors' lists of wrong rows.

    python docs/reproduce/polyglot_errors.py ERRORS [--dataset FOLDER] [--rows en=26254] [--pairs]

ERRORS has the columns model, language (English name) and dataset_id: a TSV file, or a zip with
`errors.tsv`. FOLDER is a build of `polyprobe build polyglot`. The authors' English logs have 26,254
of the 26,267 rows; --rows gives such a number for a language. --pairs also prints for each ordered
pair of languages P(a and b), P(a | b) and P(a and not b) over the facts that both have.
"""

import argparse
import csv
import io
import sys
import zipfile
from collections import defaultdict
from collections.abc import Mapping
from math import nan
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from polyprobe.metrics.contrastive_knowledge.contrastive_knowledge import measure_knowledge
from polyprobe.metrics.joint.measures import (
    find_right_alone,
    find_right_given_right,
    find_right_in_both,
)
from polyprobe.metrics.shared.intervals import estimate_figure
from polyprobe.schema.names import find_code
from polyprobe.system.errors import PolyprobeError

COLUMNS = {"model", "language", "dataset_id"}


class Accuracy(NamedTuple):
    """A language's rows, the share recalled, and half the width of its 95% interval, in percent."""

    rows: int
    accuracy: float
    half_width: float


def read_errors(path: Path) -> dict[tuple[str, str], set[str]]:
    """Return the ids of the wrong rows by model and language."""
    content = path.read_bytes()
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            content = archive.read("errors.tsv")
    lines = csv.DictReader(io.StringIO(content.decode("utf-8")), delimiter="\t")
    if not COLUMNS.issubset(lines.fieldnames or ()):
        raise PolyprobeError(f"{path} has the columns {lines.fieldnames}; expected {COLUMNS}")
    errors = defaultdict(set)
    for number, line in enumerate(lines, 2):
        language = find_code(line["language"]) or line["language"]
        if line["dataset_id"] in errors[line["model"], language]:
            raise PolyprobeError(f"{path}, line {number}: {line['dataset_id']} occurs twice")
        errors[line["model"], language].add(line["dataset_id"])
    return dict(errors)


def read_ids(dataset: Path) -> dict[str, list[str]]:
    """Return the ids of the rows of each language of a build."""
    files = [path for path in sorted(dataset.glob("data/*/*.parquet")) if len(path.stem) == 2]
    own = [path for path in files if path.parent.name == path.stem]
    if not own:
        raise PolyprobeError(f"{dataset} has no rows; run `polyprobe build polyglot` first")
    return {
        path.stem: pq.read_table(path, columns=["dataset_id"])["dataset_id"].to_pylist()
        for path in own
    }


def find_accuracies(
    ids: Mapping[str, list[str]],
    errors: Mapping[tuple[str, str], set[str]],
    model: str,
    n_rows: Mapping[str, int],
) -> dict[str, Accuracy]:
    """Return a model's accuracy in each language of `ids`.

    Raises:
        PolyprobeError: a language without errors, or an error that is no row of it.
    """
    found = {}
    for language, own in ids.items():
        wrong = errors.get((model, language))
        if wrong is None or not wrong <= {*own}:
            strange = f"{len(wrong - {*own})} of {len(wrong)} errors are no rows" if wrong else ""
            raise PolyprobeError(f"{model}, {language}: {strange or 'no errors are listed'}")
        right = n_rows.get(language, len(own)) - len(wrong)
        rows = [[1.0, 0.0]] * right + [[0.0, 1.0]] * len(wrong)
        figures = measure_knowledge(rows, n_resamples=10_000)
        low, high = figures["accuracy_ci"]
        found[language] = Accuracy(len(rows), 100 * figures["accuracy"], 100 * (high - low) / 2)
    return found


def find_pairs(
    ids: Mapping[str, list[str]], errors: Mapping[tuple[str, str], set[str]], model: str
) -> dict[str, tuple[float, float, float]]:
    """Return P(a and b), P(a | b) and P(a and not b) of each ordered pair `a-b` of languages."""
    facts = sorted({fact for own in ids.values() for fact in own})
    right = {
        language: [float(f not in errors[model, language]) if f in had else nan for f in facts]
        for language, had in ((x, {*own}) for x, own in ids.items())
    }
    both, given, alone = (
        estimate_figure(find(right), n_resamples=0)
        for find in (find_right_in_both, find_right_given_right, find_right_alone)
    )
    both |= {"-".join(reversed(pair.split("-"))): value for pair, value in both.items()}
    return {pair: (both[pair], given[pair], alone[pair]) for pair in given if pair != "mean"}


def main() -> None:
    """Print a line for each language, and the means of table 2."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("errors", type=Path)
    parser.add_argument("--dataset", type=Path, default=Path("datasets/polyglot"))
    parser.add_argument("--rows", nargs="*", default=["en=26254"], metavar="LANG=N")
    parser.add_argument("--pairs", action="store_true")
    chosen = parser.parse_args()
    errors, ids = read_errors(chosen.errors), read_ids(chosen.dataset)
    n_rows = {name: int(number) for name, _, number in (x.partition("=") for x in chosen.rows)}
    for model in sorted({model for model, _ in errors}):
        found = find_accuracies(ids, errors, model, n_rows)
        for language, one in found.items():
            print(f"{model}\t{language}\t{one.rows}\t{one.accuracy:.3f}\t± {one.half_width:.3f}")
        for pair, shares in find_pairs(ids, errors, model).items() if chosen.pairs else ():
            print(f"{model}\t{pair}\t" + "\t".join(f"{share:.4f}" for share in shares))
        mean, width = (
            sum(getattr(one, name) for one in found.values()) / len(found)
            for name in ("accuracy", "half_width")
        )
        print(f"{model}\tmean\t{len(found)} languages\t{mean:.3f}\t± {width:.4f}")


if __name__ == "__main__":
    try:
        main()
    except (PolyprobeError, OSError, KeyError, ValueError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
