"""Sources of the similarities of `relate --with`: URIEL, names, tables in files, other runs."""

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from importlib.metadata import PackageNotFoundError, distribution
from itertools import combinations
from math import nan
from pathlib import Path

import numpy as np

from polyprobe.metrics.joint.relate import FEWEST
from polyprobe.metrics.shared.intervals import Figure
from polyprobe.schema.languages import TRAITS, find_language
from polyprobe.schema.run.folder import Run, name_runs
from polyprobe.schema.run.rows import Choice
from polyprobe.system.files import read_tsv
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.messages import missing as lacks

from . import ACCURACIES, ACCURACY, DISTANCES, SUBWORDS, check_with
from .pairs import Pairs, Similarity, flatten, load_rows, measure, measure_pairs, name_keys, spread
from .vocabularies import Corpus

OF_ACCURACIES = {
    "accuracy_min": ("the smaller accuracy of the two languages", np.minimum),
    "accuracy_product": ("the product of the two accuracies", np.multiply),
    "accuracy_difference": (
        "the absolute difference of the two accuracies",
        lambda first, second: np.abs(first - second),
    ),
}
EXPECTED = "expected a language and a number, or two languages and a number, between tabs"
PACKAGE = "lang2vec"
NO_CODE = "no ISO 639-3 code is known"
# File of a distance, and the prefix of its features. Gaps of syntax, phonology and inventory are
# predicted; places are distances to points of the globe.
TABLES = {
    "genetic": ("family_features", "F_"),
    "geographic": ("geocoord_features", "GC_"),
    "phonological": ("feature_predictions", "P_"),
    "syntactic": ("feature_predictions", "S_"),
    "inventory": ("feature_predictions", "INV_"),
}
_MOST = 1e100  # whose squares are finite


def find_similarities(
    item: str, pairs: Pairs, choice: Choice, subwords: Future[tuple[Corpus, Similarity]] | None
) -> list[Similarity]:
    """Find the similarities of a name, a TSV file or another run's folder (`--with`)."""
    check_with(item)
    if item in DISTANCES:
        return [read_uriel(item, pairs.languages)]
    if item in TRAITS:
        return [compare_traits(item, pairs.languages)]
    if item == ACCURACY or item in ACCURACIES:
        names = ACCURACIES if item == ACCURACY else (item,)
        return [_compare_accuracies(name, pairs) for name in names]
    if item == SUBWORDS and subwords:
        return [subwords.result()[1]]
    if Path(item).is_dir():
        return [_read_run(Run(item), pairs, choice)]
    return [read_table(Path(item), pairs.languages)]


def read_uriel(name: str, languages: Sequence[str]) -> Similarity:
    """Read the similarity of each pair of languages from URIEL: 1 - d (Littell et al. 2017).

    Qi et al. (2023) used the distances that lang2vec computed online. The package has only vectors;
    the distances follow from them up to rounding. Languages without an ISO 639-3 code or values are
    missing; for `genetic`, those without a family, such as Basque, too.
    """
    # In the family tree a macrolanguage such as Malay (msa) has a shorter path than its standard
    # language, zsm.
    n_codes = 2 if name == "genetic" else 1
    entries = map(find_language, languages)
    codes = [[x.iso, x.flores[:3]][:n_codes] if x else [] for x in entries]
    try:
        paths = _read_vectors(*TABLES[name], {code for names in codes for code in names})
    except PackageNotFoundError:
        raise lacks(f"--with {name}", PACKAGE) from None
    width = len(next(iter(paths.values()), ()))
    vectors: np.ndarray = np.full((len(languages), width), np.nan, np.float32)
    missing = {}
    for place, (split, names) in enumerate(zip(languages, codes, strict=True)):
        rows = [paths[code] for code in names if code in paths]
        if rows:
            vectors[place] = max(rows, key=np.count_nonzero)
        else:
            missing[split] = f"{names[0]} has no values in URIEL" if names else NO_CODE
    if name == "genetic":
        nodes: np.ndarray = vectors.astype(np.float64)
        sizes = nodes.sum(axis=1)
        # shared nodes of the family tree / (nodes of the longer path + 1)
        values = nodes @ nodes.T / (np.maximum.outer(sizes, sizes) + 1)
    else:
        norms = np.linalg.norm(vectors, axis=1)
        cos = vectors @ vectors.T / np.outer(norms, norms)
        # in single precision, as the tables: the distance of equal vectors may be .0002, not 0
        values = (1 - 2 * np.arccos(np.clip(cos, -1, 1)) / np.pi).astype(np.float64)
    return Similarity(name, f"{name} similarity from URIEL ({PACKAGE})", values, missing)


def _read_vectors(file: str, prefix: str, codes: Collection[str]) -> dict[str, np.ndarray]:
    """Read ISO 639-3 code → values of the features, for codes with a value other than 0."""
    # Not by import: the package's script lang2vec.py, beside the command `polyprobe`, hides it.
    path = distribution(PACKAGE).locate_file(f"{PACKAGE}/data/{file}.npz")
    with np.load(str(path)) as table:
        features = np.char.startswith(table["feats"], prefix)
        rows = [(row, code) for row, code in enumerate(table["langs"].tolist()) if code in codes]
        data = table["data"]
        vectors = {code: data[row, features, 0] for row, code in rows}
    return {code: values for code, values in vectors.items() if values.any()}


def compare_traits(trait: str, languages: Sequence[str]) -> Similarity:
    """Mark pairs of languages of the same script, family or branch by 1, others by 0."""
    entries = [find_language(split) for split in languages]
    values = np.array(
        [
            [getattr(a, trait) == getattr(b, trait) if a and b else np.nan for b in entries]
            for a in entries
        ]
    ).astype(float)
    missing = {x: NO_CODE for x, entry in zip(languages, entries, strict=True) if entry is None}
    return Similarity(trait, f"1 for the same {trait}, else 0", values, missing)


def _compare_accuracies(name: str, pairs: Pairs) -> Similarity:
    description, combine = OF_ACCURACIES[name]
    firsts, seconds = np.triu_indices(len(pairs.languages), 1)
    accuracies = pairs.accuracies

    def statistic(sums: np.ndarray) -> np.ndarray:
        values = accuracies.statistic(sums)
        return np.asarray(combine(values[..., firsts], values[..., seconds]))

    figure = Figure(pairs.figure.names[:-1], accuracies.table, statistic)
    values = spread(measure(figure), len(pairs.languages))
    return Similarity(name, description, values, figure=figure)


def _read_run(run: Run, pairs: Pairs, choice: Choice) -> Similarity:
    """Measure the same figure in another run, over the languages of both."""
    languages, size = run.settings().languages, len(pairs.languages)
    common = [x for x in languages if x in pairs.languages]
    if len(common) < FEWEST:
        raise PolyprobeError(
            f"{run.folder} has fewer than {FEWEST} languages in common with {pairs.run.folder}: "
            f"{', '.join(languages)} / {', '.join(pairs.languages)}"
        )
    second = measure_pairs(run, pairs.of.name, *load_rows(run, choice, common))
    n_pairs = size * (size - 1) // 2
    numbers = spread(np.arange(n_pairs), size)
    # the other run's pairs, in its own order of languages, as numbers of this run's pairs
    order = [pairs.languages.index(x) for x in second.languages]
    places: np.ndarray = flatten(numbers, order).astype(int)

    def statistic(sums: np.ndarray) -> np.ndarray:
        values = np.full((*sums.shape[:-1], n_pairs), np.nan)
        values[..., places] = second.figure.statistic(sums)[..., :-1]
        return values

    figure = Figure(pairs.figure.names[:-1], second.figure.table, statistic)
    name = name_runs([pairs.run, run])[1]
    return Similarity(
        name,
        f"{pairs.of.title} of {run.settings().signature}",
        spread(measure(figure), size),
        {x: f"not in {name}" for x in pairs.languages if x not in common},
        # rows of other facts cannot be resampled together
        figure=figure if second.table["fact_id"].equals(pairs.table["fact_id"]) else None,
    )


def read_table(file: Path, languages: Sequence[str]) -> Similarity:
    """Read a TSV file of languages (a pair has the smaller number) or of pairs of languages."""
    values_of = _read_lines(file, languages)
    names = {name for key in values_of for name in key}
    keys = {x: next((key for key in name_keys(x) if key in names), None) for x in languages}
    if not any(keys.values()):
        raise PolyprobeError(
            f"{file} has no language of the run: it has {', '.join(sorted(names)[:5])}, the run "
            f"{', '.join(languages)}"
        )
    missing = {x: f"not in {file.name}" for x, key in keys.items() if key is None}
    if {*map(len, values_of)} == {1}:
        numbers = np.array([values_of[key,] if key else np.nan for key in keys.values()])
        description = f"the smaller {file.stem} of the two languages"
        values = np.asarray(np.minimum.outer(numbers, numbers))
        return Similarity(file.stem, description, values, missing, numbers=numbers)
    values = np.full((len(languages),) * 2, np.nan)
    for i, j in combinations(range(len(languages)), 2):
        ends = tuple(sorted(keys[languages[place]] or "" for place in (i, j)))
        values[i, j] = values[j, i] = values_of.get(ends, np.nan)
    return Similarity(file.stem, f"values of pairs in {file.name}", values, missing)


def _read_lines(file: Path, languages: Sequence[str]) -> Mapping[tuple[str, ...], float]:
    """Read the number of each language or pair, by their names in lower case."""
    keys = {name for language in languages for name in name_keys(language)}
    values: dict[tuple[str, ...], float] = {}
    repeated = None
    for line, cells in read_tsv(file, "--with"):
        *names, last = map(str.casefold, cells)
        try:
            number = float(last)
        except ValueError:
            number = nan
        finite = abs(number) < _MOST
        # A heading has no number, and no language of the run at its beginning.
        if not finite and line == 1 and not keys.intersection(names[:1]):
            continue
        if not finite or len(names) not in (1, 2) or not all(names):
            raise PolyprobeError(f"{file}, line {line}: {' '.join(cells)!r:.80}; {EXPECTED}")
        if values.setdefault(tuple(sorted(names)), number) != number:
            repeated = repeated or names
    if len({*map(len, values)}) != 1:
        raise PolyprobeError(f"{file}: lines of both kinds, or no lines; {EXPECTED}")
    if repeated:
        raise PolyprobeError(f"{file}: two values of {' and '.join(repeated)}; keep one")
    return values
