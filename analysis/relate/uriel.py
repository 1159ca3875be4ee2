"""Similarities of languages from URIEL, in the tables of the package lang2vec.

The values are 1 - d (Littell et al. 2017). Qi et al. (2023) used the distances that lang2vec
computed online. The package has only vectors; the distances follow from them up to rounding:

- genetic: shared nodes of the family tree / (nodes of the longer path + 1). A macrolanguage such as
  Malay (msa) has a short path: the path of the standard language (zsm) is used if it is longer;
- the others: d = 2 arccos(cos) / pi, from the vectors of syntax, phonology and inventory whose gaps
  are predicted (`feature_predictions.npz`), and from distances to points of the globe.
"""

from collections.abc import Collection, Sequence
from importlib.metadata import PackageNotFoundError, distribution

import numpy as np

from polyprobe.schema.languages import find_language
from polyprobe.system.extras import missing as lacks

from .pairs import Similarity

PACKAGE = "lang2vec"
NO_CODE = "no ISO 639-3 code is known"
# File of a distance, and the prefix of its features.
TABLES = {
    "genetic": ("family_features", "F_"),
    "geographic": ("geocoord_features", "GC_"),
    "phonological": ("feature_predictions", "P_"),
    "syntactic": ("feature_predictions", "S_"),
    "inventory": ("feature_predictions", "INV_"),
}


def read_uriel(name: str, languages: Sequence[str]) -> Similarity:
    """Read the similarity of each pair of languages.

    Languages without an ISO 639-3 code in `schema/languages.tsv` or in URIEL are missing. For
    `genetic`, languages without a family, such as Basque, are missing too.
    """
    codes = [_list_codes(split, name) for split in languages]
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
    values = _share_nodes(vectors) if name == "genetic" else _compare_angles(vectors)
    return Similarity(name, f"{name} similarity from URIEL ({PACKAGE})", values, missing)


def _list_codes(split: str, name: str) -> list[str]:
    """List the ISO 639-3 code of a language; for `genetic` also that of its standard language."""
    entry = find_language(split)
    codes = [] if entry is None else [entry.iso, entry.flores[:3]]
    return codes if name == "genetic" else codes[:1]


def _read_vectors(file: str, prefix: str, codes: Collection[str]) -> dict[str, np.ndarray]:
    """Read ISO 639-3 code → values of the features, for codes with a value other than 0.

    The package is not imported: its script lang2vec.py, beside the command `polyprobe`, hides it.
    """
    path = distribution(PACKAGE).locate_file(f"{PACKAGE}/data/{file}.npz")
    with np.load(str(path)) as table:
        features = np.char.startswith(table["feats"], prefix)
        rows = [(row, code) for row, code in enumerate(table["langs"].tolist()) if code in codes]
        data = table["data"]
        vectors = {code: data[row, features, 0] for row, code in rows}
    return {code: values for code, values in vectors.items() if values.any()}


def _share_nodes(vectors: np.ndarray) -> np.ndarray:
    """Compute shared nodes / (longer path + 1) of rows of 0 and 1; NaN of rows with NaN."""
    vectors = vectors.astype(np.float64)
    sizes = vectors.sum(axis=1)
    return np.asarray(vectors @ vectors.T / (np.maximum.outer(sizes, sizes) + 1))


def _compare_angles(vectors: np.ndarray) -> np.ndarray:
    """Compute 1 - 2 arccos(cos) / pi of each pair of rows; NaN of rows with NaN.

    Computed in single precision, as the tables: the published distance of equal vectors may be
    .0002 instead of 0.
    """
    norms = np.linalg.norm(vectors, axis=1)
    cos = vectors @ vectors.T / np.outer(norms, norms)
    return np.asarray(1 - 2 * np.arccos(np.clip(cos, -1, 1)) / np.pi, dtype=np.float64)
