"""Scores of real BMLAMA rows in eight scripts, compared with one candidate at a time."""

import pytest

from polyprobe.eval import load_scorer
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.rows import choose_rows
from tests.making import tiny
from tests.scoring import plain

LANGUAGES = ["en", "ru", "el", "zh", "ja", "ko", "ar", "he"]
FAMILIES = {"llama": plain.causal, "xlm-roberta": plain.masked, "t5": plain.seq2seq}


@pytest.fixture(scope="module")
def queries(bmlama):
    """Return four rows of four relations in each language, (prompt, candidates)."""
    tables = load_facts(str(bmlama), "17", LANGUAGES)
    rows = choose_rows(tables["en"], sample=4)
    return [
        (row["prompt"], row["candidates"])
        for language in LANGUAGES
        for row in tables[language].take(rows).to_pylist()
    ]


@pytest.mark.parametrize("kind", FAMILIES)
def test_scores_of_published_rows(kind, queries, tmp_path):
    text = tiny.TEXT + [p.replace("[Y]", c) for p, row in queries for c in row]
    scorer = load_scorer(str(tiny.save_model(kind, tmp_path / kind, text)), batch_tokens=512)
    got = scorer.score([p for p, _ in queries], [row for _, row in queries])
    compared = 0
    for (prompt, candidates), scores in zip(queries, got, strict=True):
        for candidate, score in zip(candidates, scores, strict=True):
            want = FAMILIES[kind](scorer.model, scorer.tokenizer, prompt, candidate)
            assert score == pytest.approx(want, abs=1e-4), (prompt, candidate)
            compared += 1
    assert compared > 250
