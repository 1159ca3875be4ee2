"""URIEL's similarities: made-up tables in the layout of lang2vec, and published values."""

import re
import zipfile
from importlib.util import find_spec
from math import acos, pi
from pathlib import Path

import numpy as np
import pytest

from polyprobe.analysis.compare.sentences.deltas import compute_pearson
from polyprobe.analysis.relate import DISTANCES, sources
from polyprobe.analysis.relate.sources import read_table, read_uriel
from polyprobe.schema.languages import Language, find_code, read_languages
from polyprobe.system.messages import PolyprobeError

ORACLE = Path(__file__).parents[3] / "shared" / "oracles" / "polyglot-or-not-errors.zip"
BMLAMA_17 = [
    "en",
    "fr",
    "nl",
    "es",
    "ru",
    "ja",
    "zh",
    "ko",
    "vi",
    "el",
    "hu",
    "he",
    "tr",
    "ca",
    "ar",
    "uk",
    "fa",
]
needs_package = pytest.mark.skipif(
    find_spec("lang2vec") is None, reason="needs lang2vec: pip install 'polyprobe[typology]'"
)
PATHS = {  # of made-up families
    "eng": "F_Old F_West F_Isle",
    "deu": "F_Old F_West",
    "pol": "F_Old F_East F_North F_Lake",
    "msa": "F_Sea",
    "zsm": "F_Sea F_Bay",
    "fra": "",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of six languages, with files as in lang2vec 1.1.2."""
    names = [*PATHS]
    nodes = sorted({node for path in PATHS.values() for node in path.split()})
    random = np.random.default_rng(0)
    features = [f"{kind}_{k}" for kind in ("S", "P", "INV") for k in range(4)]
    tables = {
        "family_features": (nodes, [[node in PATHS[x].split() for node in nodes] for x in names]),
        "feature_predictions": (features, random.integers(0, 2, (6, 12)) + 0.1),
        "geocoord_features": ([f"GC_{k}" for k in range(5)], random.random((6, 5))),
    }
    folder = tmp_path / "madeup" / "data"
    folder.mkdir(parents=True)
    (tmp_path / "madeup-1.dist-info").mkdir()
    (tmp_path / "madeup-1.dist-info" / "METADATA").write_text("Name: madeup\nVersion: 1\n")
    for file, (feats, data) in tables.items():
        values = np.array(data, dtype=np.float32)[..., None]
        np.savez(folder / f"{file}.npz", langs=names, feats=feats, data=values, sources=["X"])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sources, "PACKAGE", "madeup")
    return {file: np.array(data, dtype=float) for file, (_, data) in tables.items()}


def test_shared_nodes_of_a_made_up_family(package):
    found = read_uriel("genetic", ["en", "de", "pl", "ms", "fr", "el", "tlh"])
    assert found.values[:4, :4] == pytest.approx(
        np.array([
            [3 / 4, 2 / 4, 1 / 5, 0],
            [2 / 4, 2 / 3, 1 / 5, 0],
            [1 / 5, 1 / 5, 4 / 5, 0],
            [0, 0, 0, 2 / 3],  # of zsm: the path of msa is shorter
        ])
    )  # fmt: skip
    assert np.isnan(found.values[4:]).all()
    assert found.missing == {
        "fr": "fra has no values in URIEL",
        "el": "ell has no values in URIEL",
        "tlh": "no ISO 639-3 code is known",
    }


@pytest.mark.parametrize(
    ("name", "file", "columns"),
    [
        ("geographic", "geocoord_features", range(5)),
        ("syntactic", "feature_predictions", range(4)),
        ("phonological", "feature_predictions", range(4, 8)),
        ("inventory", "feature_predictions", range(8, 12)),
    ],
)
def test_angles_of_made_up_vectors(package, name, file, columns):
    vectors = package[file][:3, columns]  # eng, deu, pol
    found = read_uriel(name, ["en", "de", "pl"])
    for i, one in enumerate(vectors):
        for j, other in enumerate(vectors):
            cos = one @ other / (one @ one * (other @ other)) ** 0.5
            expected = 1 - 2 * acos(min(cos, 1)) / pi
            assert found.values[i, j] == pytest.approx(expected, abs=1e-3)


def test_a_missing_package_is_one_line(monkeypatch):
    monkeypatch.setattr(sources, "PACKAGE", "lang2vec_none")
    with pytest.raises(PolyprobeError, match="--with genetic needs the package lang2vec_none"):
        read_uriel("genetic", ["en"])


def test_the_package_is_in_its_extra():
    from polyprobe.system.messages import missing

    assert str(missing("x", "lang2vec")).endswith("pip install 'polyprobe[typology]'")


def value(name, one, other):
    return read_uriel(name, [one, other]).values[0, 1]


@needs_package
def test_published_anchors():
    """de-pl: the BMLAMA paper, .14; the others follow from the tree of lang2vec 1.1.2."""
    expected = {"de-pl": 1 / 7, "en-nl": 0.4, "es-ca": 10 / 13, "sr-hr": 7 / 8, "id-ms": 8 / 9}
    found = {pair: value("genetic", *pair.split("-")) for pair in [*expected, "ru-uk"]}
    assert found == pytest.approx({**expected, "ru-uk": 4 / 6})  # the paper has .80, 4 / 5


@needs_package
def test_the_example_of_lang2vec(monkeypatch):
    """North Frisian and Danish: distances .625 (genetic), .0002 (phonological) in its README."""
    frisian = Language("frr", "North Frisian", "frr", "", "Indo-European", "Germanic", "Latn")
    monkeypatch.setitem(read_languages(), "frr", frisian)
    assert value("genetic", "frr", "da") == pytest.approx(1 - 0.625)
    assert 1 - value("phonological", "frr", "da") == pytest.approx(0.0002, abs=5e-5)


@needs_package
def test_most_pairs_of_bmlama_17_share_no_node():
    found = read_uriel("genetic", BMLAMA_17)
    assert not found.missing
    pairs = found.values[np.triu_indices(17, 1)]
    assert (len(pairs), int((pairs == 0).sum())) == (136, 99)


@needs_package
def test_every_language_has_values_but_basque_in_the_tree():
    languages = [*read_languages()]
    for name in DISTANCES:
        found = read_uriel(name, languages)
        missing = {"eu": "eus has no values in URIEL"} if name == "genetic" else {}
        assert found.missing == missing, name
        assert np.nanmin(found.values) >= 0
        assert np.nanmax(found.values) <= 1
        np.testing.assert_array_equal(found.values, found.values.T)


@pytest.mark.upstream
@pytest.mark.parametrize(
    ("table", "column", "model", "n", "r"),
    [
        ("wikipedia-articles-per-lang-june-2022.tsv", 2, "m-bert-base", 20, 0.560),
        ("wikipedia-articles-per-lang-june-2022.tsv", 2, "bloom-7b", 20, 0.631),
        ("wikipedia-entity-richness-10k-samples.csv", 6, "m-bert-base", 15, 0.680),
        ("wikipedia-entity-richness-10k-samples.csv", 6, "bloom-7b", 15, 0.886),
    ],
)
def test_accuracy_and_wikipedia_of_polyglot_or_not(tmp_path, table, column, model, n, r):
    """Articles, and the dataset's entities in an article (`average_unique_target_entities`).

    Released tables and accuracies; tests/builder/test_polyglot_build.py has the latter."""
    if not ORACLE.is_file():
        pytest.skip(f"needs {ORACLE}")
    with zipfile.ZipFile(ORACLE) as archive:
        lines = archive.read(f"data/wikidata/{table}").decode().splitlines()
        text = archive.read(f"data/result_logs/{model}/results/metrics.txt").decode()
    found = re.findall(r"language is (\w+)\s+There are .*\s+The model got ([\d.]+)%", text)
    accuracy = {find_code(name): float(share) for name, share in found}
    rows = [line.split("\t" if "\t" in line else ",") for line in lines]
    numbers = {row[0].rstrip(":"): row[column].replace(",", "") for row in rows[1:]}
    file = tmp_path / "wikipedia.tsv"
    file.write_text("".join(f"{x}\t{number}\n" for x, number in numbers.items()))
    read = read_table(file, [*accuracy]).numbers
    made = compute_pearson(read, np.array([*accuracy.values()]))
    assert made.n == n
    assert made.r == pytest.approx(r, abs=5e-4)
