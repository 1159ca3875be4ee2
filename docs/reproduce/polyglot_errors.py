"""Accuracy of Polyglot or Not (table 2) and its tests from the authors' lists of wrong rows.

    python docs/reproduce/polyglot_errors.py ERRORS [--dataset FOLDER] [--rows en=26254] [--pairs]
        [--by script] [--tags FILE]

ERRORS has the columns model, language (English name or code) and dataset_id: a TSV file, or a zip
with `errors.tsv`. FOLDER is a build of `polyprobe build polyglot`. The mean is over the languages
that a model has in ERRORS; the others of FOLDER are named (`not listed`). The authors' English logs
have 26,254 of the 26,267 rows; --rows gives such a number for a language, and --rows without a
number takes all rows. --pairs also prints for each ordered pair of languages P(a and b), P(a | b)
and P(a and not b) over the facts of both. --by prints right and wrong rows by group instead, and
tests the groups: script, family or branch of the languages; relation, English subject or object of
the facts; location or gender of the English subject, as tagged by the authors, without subjects
tagged as unsure. The rows of a subject are those of its facts in all languages. Tags are read from
the zip, or from your own TSV file. Up to 10 groups are also tested in pairs. Shares of relations
are means over the languages, as in the released tables; counts are of all. The 13 English rows
missing from the logs are unknown: groups of languages leave out 13 right rows, groups of facts
count all rows.
"""

import csv
import io
import sys
import zipfile
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Mapping, Sequence
from functools import cache
from math import nan
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq

from polyprobe.analysis.groups import OF_LANGUAGES
from polyprobe.analysis.groups.groups import GroupTable, MarkedRows, group_facts, group_languages
from polyprobe.builder.sources.polyglot import LANGUAGES
from polyprobe.metrics.contrastive_knowledge.formulas import measure_knowledge
from polyprobe.metrics.joint.groups import share_errors
from polyprobe.metrics.joint.measures import (
    find_right_alone,
    find_right_given_right,
    find_right_in_both,
)
from polyprobe.metrics.shared.intervals import Resampling, estimate_figure, sum_by
from polyprobe.report.findings.groups import describe_test
from polyprobe.schema.columns import UNREADABLE
from polyprobe.schema.languages import find_code, list_traits
from polyprobe.system.messages import PolyprobeError, one_line, unknown

COLUMNS = ("model", "language", "dataset_id")
FILE = "errors.tsv"  # of a zip
N_ROWS = {"en": 26_254}  # of the authors' logs
TAGS = {  # of a zip
    "location": "data/wikidata/geo_entities_tagged.txt",
    "gender": "data/wikidata/people_entities_tagged.txt",
}
OF_ROWS = ("relation", "subject", "object")
ASKED = ("subject", "candidates", "flags")
UNSURE = "unsure"
DRAWS = Resampling(n_resamples=0)  # no intervals


class Accuracy(NamedTuple):
    """A language's rows, the share recalled, and half the width of its 95% interval, in percent."""

    rows: int
    accuracy: float
    half_width: float


def main(argv: Sequence[str] | None = None) -> None:
    """Print a line for each language, and the means of table 2."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("errors", type=Path)
    parser.add_argument("--dataset", type=Path, default=Path("datasets/polyglot"))
    parser.add_argument("--rows", nargs="*", metavar="LANG=N", help="default: en=26254")
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("--by", choices=[*OF_LANGUAGES, *OF_ROWS, *TAGS])
    parser.add_argument("--tags", type=Path, metavar="FILE", help="default: those in the zip")
    chosen = parser.parse_args(argv)
    ids = read_ids(chosen.dataset)
    fitting = {x: n for x, n in N_ROWS.items() if n <= len(ids.get(x, ()))}
    n_rows = fitting | parse_rows(chosen.rows or [], ids)
    for model, errors in sorted(read_errors(chosen.errors).items()):
        found = find_accuracies(ids, errors, model, n_rows)
        if chosen.by:
            tags = read_tags(chosen.tags or chosen.errors, chosen.by) if chosen.by in TAGS else {}
            unit, grouped = find_groups(
                chosen.dataset, {x: ids[x] for x in found}, errors, chosen.by, n_rows, tags
            )
            print_groups(model, chosen.by, unit, grouped)
            continue
        for language, one in found.items():
            print(f"{model}\t{language}\t{one.rows}\t{one.accuracy:.3f}\t± {one.half_width:.3f}")
        for pair, shares in find_pairs(ids, errors).items() if chosen.pairs else ():
            print(f"{model}\t{pair}\t" + "\t".join(f"{share:.4f}" for share in shares))
        for head, languages in (
            ("not listed", {*ids} - {*errors}),
            ("not built", {*errors} - {*ids}),
        ):
            if languages:
                print(f"{model}\t{head}\t{', '.join(sorted(languages))}")
        mean, width = (
            sum(getattr(one, name) for one in found.values()) / len(found)
            for name in ("accuracy", "half_width")
        )
        print(f"{model}\tmean\t{len(found)} of {len(ids)} languages\t{mean:.3f}\t± {width:.4f}")


def parse_rows(texts: Sequence[str], ids: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return the number of rows by language from items such as `en=26254`."""
    found = {}
    for text in texts:
        language, _, number = text.partition("=")
        if not number.isdecimal() or int(number) == 0:
            raise PolyprobeError(f"--rows {text!r}: expected LANG=N with N from 1, as en=26254")
        if language not in ids:
            raise unknown("language", language, "--rows", ids.keys())
        found[language] = int(number)
    return found


def read_ids(dataset: Path) -> dict[str, list[str]]:
    """Return the ids of the rows of each language of a build."""
    found = {}
    for path in sorted(dataset.glob("data/*/*.parquet")):
        if path.parent.name == path.stem:  # else of the configuration `parallel`
            try:
                column = pq.read_table(path, columns=["dataset_id"])["dataset_id"]
            except (KeyError, *UNREADABLE) as error:
                raise PolyprobeError(
                    f"cannot read dataset_id in {path}: {one_line(error)}"
                ) from None
            found[path.stem] = column.to_pylist()
    if not found:
        raise PolyprobeError(f"{dataset} has no rows; run `polyprobe build polyglot` first")
    return found


def read_errors(path: Path) -> dict[str, dict[str, set[str]]]:
    """Return the ids of the wrong rows by model and language.

    Raises:
        PolyprobeError: a file that cannot be read, has no rows or lacks a column, or a line with an
            empty field, an unknown language or an id that occurred before.
    """
    names, lines = _read_table(path, FILE)
    if lost := [name for name in COLUMNS if name not in names]:
        raise PolyprobeError(f"{path} lacks {', '.join(lost)}; it has {', '.join(names)}")
    if not lines:
        raise PolyprobeError(f"{path} has no rows; expected one for each wrong row of a model")
    find = cache(find_code)
    errors: dict[str, dict[str, set[str]]] = {}
    for number, line in enumerate(lines, 2):
        model, name, row = (line[column] for column in COLUMNS)
        if not (model and name and row):
            raise PolyprobeError(f"{path}, line {number}: expected {', '.join(COLUMNS)}")
        language = find(name) or name
        if language not in LANGUAGES:
            raise PolyprobeError(
                f"{path}, line {number}: unknown language {name!r}; expected an English name or "
                f"one of {', '.join(LANGUAGES)}"
            )
        known = errors.setdefault(model, {}).setdefault(language, set())
        if row in known:
            raise PolyprobeError(f"{path}, line {number}: {row} occurs twice")
        known.add(row)
    return errors


def _read_table(path: Path, member: str) -> tuple[Sequence[str], list[dict[str, str]]]:
    """Return the columns and the lines of a TSV file, or of a file in a zip."""
    try:
        content = path.read_bytes()
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                content = archive.read(member)
        reader = csv.DictReader(io.StringIO(content.decode("utf-8")), delimiter="\t")
        lines = list(reader)
    except (OSError, KeyError, UnicodeDecodeError, csv.Error, zipfile.BadZipFile) as error:
        raise PolyprobeError(f"cannot read {path} as TSV: {one_line(error)}") from error
    return reader.fieldnames or (), lines


def find_accuracies(
    ids: Mapping[str, Sequence[str]],
    errors: Mapping[str, set[str]],
    model: str,
    n_rows: Mapping[str, int],
) -> dict[str, Accuracy]:
    """Return a model's accuracy in each language of both `ids` and `errors`.

    Raises:
        PolyprobeError: no such language, an error that is no row of its language, or a number of
            rows that is less than the errors or more than the rows.
    """
    found = {}
    for language in (x for x in ids if x in errors):
        own, wrong = {*ids[language]}, errors[language]
        n = n_rows.get(language, len(own))
        if not wrong <= own:
            raise PolyprobeError(
                f"{model}, {language}: {len(wrong - own):,} of {len(wrong):,} errors are no rows, "
                f"such as {min(wrong - own)}"
            )
        if not len(wrong) <= n <= len(own):
            raise PolyprobeError(
                f"{model}, {language}: {n:,} rows are impossible with {len(wrong):,} errors in "
                f"{len(own):,} rows; change --rows"
            )
        scores = [[1.0, 0.0]] * (n - len(wrong)) + [[0.0, 1.0]] * len(wrong)
        figures = measure_knowledge(scores, n_resamples=10_000)
        low, high = figures["accuracy_ci"]
        found[language] = Accuracy(n, 100 * figures["accuracy"], 100 * (high - low) / 2)
    if not found:
        raise PolyprobeError(
            f"{model} has errors in {', '.join(errors)}, the dataset only rows in {', '.join(ids)}"
        )
    return found


def find_pairs(
    ids: Mapping[str, Sequence[str]], errors: Mapping[str, set[str]]
) -> dict[str, tuple[float, float, float]]:
    """Return P(a and b), P(a | b) and P(a and not b) of each ordered pair `a-b` of languages.

    The languages are those of both `ids` and `errors`.
    """
    rows = {language: {*own} for language, own in ids.items() if language in errors}
    facts = sorted(set().union(*rows.values()))
    right = {
        language: [float(fact not in errors[language]) if fact in own else nan for fact in facts]
        for language, own in rows.items()
    }
    both, given, alone = (
        estimate_figure(find(right), n_resamples=0)
        for find in (find_right_in_both, find_right_given_right, find_right_alone)
    )
    both |= {"-".join(reversed(pair.split("-"))): value for pair, value in both.items()}
    return {pair: (both[pair], given[pair], alone[pair]) for pair in given if pair != "mean"}


def read_tags(path: Path, by: str) -> dict[str, str]:
    """Return the tag of each English subject from a zip or a TSV file, except `unsure`."""
    names, lines = _read_table(path, TAGS[by])
    if [*names] != ["entity", by]:
        raise PolyprobeError(
            f"{path} has the columns {', '.join(names)}; expected entity, {by}; use --tags"
        )
    return {line["entity"]: line[by] for line in lines if line[by] != UNSURE}


def read_english(dataset: Path) -> dict[str, list[str]]:
    """Return the id, the relation, and the released subject and object of each row in English.

    In rows with the flag `inverted` the stem asks for the subject, and a build swaps the two.
    """
    names, file = ["dataset_id", "relation", *ASKED], dataset / "data" / "en" / "en.parquet"
    try:
        table = pq.read_table(file, columns=names)
    except (KeyError, *UNREADABLE) as error:
        raise PolyprobeError(f"cannot read {file}: {one_line(error)}") from None
    found: dict[str, list[str]] = {name: table[name].to_pylist() for name in names[:2]}
    ends = [
        (row["candidates"][0], row["subject"])
        if "inverted" in row["flags"]
        else (row["subject"], row["candidates"][0])
        for row in table.to_pylist()
    ]
    found["subject"], found["object"] = ([*column] for column in zip(*ends, strict=True))
    return found


def find_groups(
    dataset: Path,
    ids: Mapping[str, Sequence[str]],
    errors: Mapping[str, set[str]],
    by: str,
    n_rows: Mapping[str, int],
    tags: Mapping[str, str],
) -> tuple[str, GroupTable]:
    """Return the permuted unit, and the groups of a model with their test.

    Args:
        dataset: a build with the configuration `en`, which has all rows.
        ids: ids of the rows of each language with errors.
        errors: ids of the wrong rows by language.
        by: a name of `OF_LANGUAGES`, `OF_ROWS` or `TAGS`.
        n_rows: number of rows of a language in the logs, unless all; for groups of languages.
        tags: tags of English subjects, for `TAGS`.
    """
    english = read_english(dataset)
    place = {row: i for i, row in enumerate(english["dataset_id"])}
    if lost := set().union(*ids.values()) - {*place}:
        raise PolyprobeError(
            f"{dataset}: {len(lost):,} rows, such as {min(lost)}, are not in English; build it "
            "again"
        )
    marks = np.full((len(place), len(ids)), nan)
    for column, (language, own) in enumerate(ids.items()):
        right = [place[row] for row in own if row not in errors[language]]
        n_lost = len(own) - n_rows.get(language, len(own)) if by in OF_LANGUAGES else 0
        marks[[place[row] for row in errors[language]], column] = 0
        marks[right[n_lost:], column] = 1
    if by in OF_LANGUAGES:
        traits = list_traits([*ids], by)
        return "language", group_languages(marks, [traits.get(language) for language in ids], DRAWS)
    ids_of = english["dataset_id"]
    if by in OF_ROWS:
        table = group_facts(MarkedRows(marks, english[by], ids_of, ids_of), DRAWS)
        return "fact", average_languages(table, marks, english[by]) if by == "relation" else table
    groups = [tags.get(subject) for subject in english["subject"]]
    return "subject", group_facts(MarkedRows(marks, groups, ids_of, english["subject"]), DRAWS)


def average_languages(table: GroupTable, marks: np.ndarray, names: Sequence[str]) -> GroupTable:
    """Replace share and change of each group by their means over languages, as released."""
    places = {group.name: place for place, group in enumerate(table.groups)}
    codes = np.array([places[name] for name in names])
    figures = np.full((2, len(places), marks.shape[1]), nan)  # share and change
    for language, column in enumerate(marks.T):
        counts = sum_by(codes, np.column_stack([column == 1, column == 0]).astype(float))
        rows = counts.sum(axis=1) > 0  # other relations are not in the language
        figures[0, rows, language] = counts[rows, 0] / counts[rows].sum(axis=1)
        figures[1, rows, language] = share_errors(counts[rows])
    means = np.nanmean(figures, axis=2).T.tolist()
    pairs = zip(table.groups, means, strict=True)
    return table._replace(groups=[x._replace(share=y, change=change) for x, (y, change) in pairs])


def print_groups(model: str, by: str, unit: str, found: GroupTable) -> None:
    """Print a line for each group, in the order of their shares, and the tests."""
    for group in sorted(found.groups, key=lambda group: group.share):
        counts = (f"{count:.0f}" for count in (group.size, group.right, group.wrong))
        change = "–" if group.change is None else f"{group.change:+.3f}%"
        cells = (model, by, group.name, *counts, f"{100 * group.share:.3f}", change)
        print("\t".join(cells))
    test = describe_test(found.test, found.permutation, unit, found.n_units)
    print(f"{model}\t{by}\t{len(found.groups):,} groups\t{test}")
    for pair in found.pairs:
        if pair.permutation and pair.test.chi2 is not None:
            names = " - ".join(found.groups[place].name for place in (pair.first, pair.second))
            p = f"p = {pair.test.p:.2g}\tpermuted p = {pair.permutation.p:.2g}"
            print(f"{model}\t{by}\t{names}\tχ²(1, Yates) = {pair.test.chi2:.4f}\t{p}")


if __name__ == "__main__":
    try:
        main()
    except (PolyprobeError, OSError) as error:
        sys.exit(f"error: {error}")
