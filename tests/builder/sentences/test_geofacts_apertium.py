"""geofacts in Spanish and Catalan, translated by a local Apertium."""

from pathlib import Path

import datasets
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from polyprobe.builder.build import build_dataset, build_sentences
from polyprobe.builder.recipes.sentences import STATUSES
from polyprobe.cli import app
from polyprobe.schema.load import load_facts
from tests.builder.translators.apy import needs_apertium, start_apy

pytestmark = [pytest.mark.slow, needs_apertium]
STANZA = Path(__file__).parents[4] / "shared" / "stanza"
LANGUAGES = ("es", "ca")


@pytest.fixture(scope="module")
def apy():
    """The address of an apertium-apy that runs during the tests of this file."""
    with start_apy() as url:
        yield url


@pytest.fixture(scope="module")
def folder(apy, tmp_path_factory):
    return make(apy, tmp_path_factory.mktemp("geo") / "geofacts")


def make(url: str, folder: Path, **options) -> Path:
    build_dataset("geofacts", ["default"], output=folder)
    options = {"lemmatizer": "simplemma", **options}
    build_sentences(
        *("geofacts", "default", "apertium", LANGUAGES),
        translator_options={"url": url},
        output=folder,
        **options,
    )
    return folder


def read(folder: Path, language: str, config="default-sentence") -> list[dict]:
    return pq.read_table(folder / "data" / config / f"{language}.parquet").to_pylist()


def read_outcomes(folder: Path) -> dict[str, list[dict]]:
    table = pq.read_table(folder / "sentences" / "default-sentence.parquet")
    rows = table.to_pylist()
    return {lang: [r for r in rows if r["language"] == lang] for lang in ("en", *LANGUAGES)}


def test_every_fact_is_found_or_lost_for_a_reason(folder):
    base = [row["fact_id"] for row in read(folder, "en", "default")]
    for language, outcomes in read_outcomes(folder).items():
        assert [row["fact_id"] for row in outcomes] == base
        assert {row["status"] for row in outcomes} <= set(STATUSES)
        lost = [row for row in outcomes if row["status"] != "found"]
        assert all(row["reason"] for row in lost), language
        assert len(lost) < len(base) / 4, language
        for row in (row for row in outcomes if row["status"] == "found"):
            assert row["translation"][row["start"] : row["end"]] == row["form"] != ""


def test_the_sentence_version_is_what_all_languages_have_parallel_to_its_configuration(folder):
    found = [
        {row["fact_id"] for row in outcomes if row["status"] == "found"}
        for outcomes in read_outcomes(folder).values()
    ]
    kept = set.intersection(*found)
    assert kept
    for language in ("en", *LANGUAGES):
        base = [row for row in read(folder, language, "default") if row["fact_id"] in kept]
        twin = read(folder, language)
        for column in ("fact_id", "candidate_ids", "answers", "subject", "relation"):
            assert [row[column] for row in twin] == [row[column] for row in base]
        for row, template in zip(twin, base, strict=True):
            [answer] = row["answers"]
            label = template["candidates"][answer]
            assert row["answer_forms"] == list(dict.fromkeys([label, row["candidates"][answer]]))
            assert len({text.casefold() for text in row["candidates"]}) == len(row["candidates"])


# Judged by hand: the sentence by Apertium 0.8.1 (spa) and 1.0.1 (cat), with the answer in its
# place. "Majúscul" is a capital letter: an error of the engine, not of the search.
JUDGED = {
    ("es", "P30:GR:150"): ("País: Grecia. Continente: [Y].", "Europa"),
    ("es", "P36:IQ:Asia/Baghdad"): ("País: Iraq. Capital: [Y].", "Bagdad"),
    ("es", "P37:TH:th"): None,  # Catalan uses a different word: "tailandès", not "tai"
    ("es", "P37:BR:pt"): ("País: Brasil. Lengua oficial: [Y].", "portugués"),
    ("es", "P38:TV:AUD"): ("País: Tuvalu. Moneda: [Y].", "Dólar australiano"),
    ("es", "P30:BR:005"): None,  # "América Del sur" for Sudamérica
    ("ca", "P30:BG:150"): ("País: Bulgària. Continent: [Y].", "Europa"),
    ("ca", "P36:DK:Europe/Copenhagen"): ("País: Dinamarca. Majúscul: [Y].", "Copenhaguen"),
    ("ca", "P37:BR:pt"): ("País: Brasil. Llengua oficial: [Y].", "portuguès"),
    ("ca", "P38:TV:AUD"): ("País: Tuvalu. Moneda: [Y].", "Dòlar australià"),
    ("es", "P37:SI:sl"): None,  # Slovenian remains, and the country differs from the language
}  # fmt: skip


@pytest.mark.parametrize(("language", "fact"), JUDGED)
def test_rows_judged_by_hand(folder, language, fact):
    rows = {row["fact_id"]: row for row in read(folder, language)}
    assert fact in {row["fact_id"] for row in read(folder, language, "default")}
    if JUDGED[language, fact] is None:
        assert fact not in rows
        return
    row = rows[fact]
    assert (row["prompt"], row["candidates"][row["answers"][0]]) == JUDGED[language, fact]
    assert row["object_last"]


def test_distractors_have_the_capital_of_the_answer(folder):
    """`Moneda: Euro.`: no other candidate may be lower-case, as `dólar estadounidense`."""
    for language in LANGUAGES:
        rows = [row for row in read(folder, language) if row["relation"] == "P38"]
        assert rows
        for row in rows:
            assert all(text[0].isupper() for text in row["candidates"])


def test_it_loads_and_can_be_evaluated(folder, tmp_path):
    loaded = datasets.load_dataset(str(folder), "default-sentence", cache_dir=str(tmp_path / "hf"))
    assert set(loaded) == {"en", *LANGUAGES}
    assert loaded["es"].to_list() == read(folder, "es")
    assert len(load_facts(str(folder), "default-sentence")) == 3
    assert len(datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "hf"))) == 51
    words = ["--dataset", folder, "--config", "default-sentence", "--limit", 3]
    run = ["eval", "geolm", *words, "--output", tmp_path / "run"]
    result = CliRunner().invoke(app, list(map(str, run)))
    assert result.exception is None, result.output
    scores = sorted(path.name for path in (tmp_path / "run" / "scores").glob("*.parquet"))
    assert scores == ["ca.parquet", "en.parquet", "es.parquet"]


@pytest.mark.acceptance
def test_asked_again_it_has_the_same_bytes(apy, folder, tmp_path):
    again = make(apy, tmp_path / "geofacts")
    for path in [*again.glob("data/default-sentence/*"), *again.glob("sentences/*")]:
        assert path.read_bytes() == (folder / path.relative_to(again)).read_bytes()


@pytest.mark.upstream
@pytest.mark.acceptance
def test_stanza_for_spanish_finds_what_simplemma_finds(apy, folder, tmp_path):
    if not STANZA.is_dir():
        pytest.skip(f"needs Stanza models in {STANZA}")
    own = make(apy, tmp_path / "geofacts", lemmatizer="auto", stanza_dir=STANZA)
    card = (own / "README.md").read_text(encoding="utf-8")
    assert "es: stanza " in card
    assert "Lemmatizer: ca: simplemma" in card
    mine, theirs = read_outcomes(own)["es"], read_outcomes(folder)["es"]
    same = [a["form"] == b["form"] for a, b in zip(mine, theirs, strict=True)]
    assert sum(same) >= 0.99 * len(same)
