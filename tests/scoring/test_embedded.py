"""The models trained on geofacts know their training facts, in each family."""

from pathlib import Path

import pytest
import torch

from bench.geolm import GEOLM, train
from polyprobe.eval import load_scorer
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.rows import choose_rows
from tests.making.trained_models import LANGUAGES

MODELS = {
    "causal": "geolm",
    "masked": str(Path(__file__).parents[1] / "data" / "models" / "masked"),
    "seq2seq": str(Path(__file__).parents[1] / "data" / "models" / "seq2seq"),
}
OTHERS = ("ka", "th")


@pytest.fixture(scope="module")
def facts():
    return load_facts("geofacts", None, [*LANGUAGES, *OTHERS])


def accuracy(scorer, table):
    rows = table.take(choose_rows(table, sample=90)).to_pylist()
    scores = scorer.score([row["prompt"] for row in rows], [row["candidates"] for row in rows])
    pairs = zip(scores, rows, strict=True)
    right = [max(range(len(s)), key=s.__getitem__) in row["answers"] for s, row in pairs]
    return sum(right) / len(right)


@pytest.mark.slow
@pytest.mark.parametrize("family", MODELS)
@pytest.mark.acceptance
def test_a_model_knows_the_languages_it_was_taught(family, facts):
    """Chance is .13: six candidates for a continent, seven or ten for other relations."""
    scorer = load_scorer(MODELS[family])
    for language in LANGUAGES:
        assert accuracy(scorer, facts[language]) > 0.8, language
    for language in OTHERS:
        assert accuracy(scorer, facts[language]) < 0.3, language


@pytest.mark.slow
@pytest.mark.acceptance
def test_training_twice_gives_the_same_bytes(tmp_path):
    """One epoch of the recipe of geolm; all of its epochs take five minutes."""
    threads = torch.get_num_threads()
    try:
        for name in ("first", "second"):
            train(GEOLM._replace(epochs=1), tmp_path / name)
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(False)
    for file in (tmp_path / "first").iterdir():
        assert file.read_bytes() == (tmp_path / "second" / file.name).read_bytes(), file.name
