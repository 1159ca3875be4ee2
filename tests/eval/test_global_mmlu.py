"""RankC of Global-MMLU-Lite as six models' authors publish it, from their scores by import."""

import json
import zipfile

import pytest
from datasets import Dataset

from polyprobe.analysis.figures.compute import compute_results
from polyprobe.analysis.figures.options import MetricOptions
from polyprobe.eval import import_scores
from polyprobe.schema.columns import Row, to_table
from polyprobe.schema.run.folder import Run
from tests.conftest import UPSTREAM

SCORES = UPSTREAM.parent / "oracles" / "global-mmlu-lite-scores.zip"
MODELS = (
    *("OLMo-2-1124-7B", "OLMo-2-7B-grpo", "olmo-2-7b-wikifact-sft"),
    *("Qwen-2.5-7B", "Qwen-2.5-7B-TED-SFT", "Qwen-2.5-7B-TED-grpo"),
)


@pytest.mark.upstream
@pytest.mark.parametrize("model", MODELS)
def test_rankc_of_imported_scores_is_the_published_one(model, tmp_path):
    if not SCORES.is_file():
        pytest.skip(f"needs the released scores, {SCORES}")
    with zipfile.ZipFile(SCORES) as archive:
        name = f"results/{model}_gmmlu_lite_consistency.json"
        released = json.loads(archive.read(name))
    facts = released["predictions"]
    languages = [*next(iter(facts.values()))]
    rows = [Row(x, "question", "", "", "", "? [Y]", [*"ABCD"], [], [0], [], "") for x in facts]
    scores = {x: {fact: row[x]["scores"] for fact, row in facts.items()} for x in languages}
    dataset = {language: Dataset(to_table(rows)) for language in languages}
    import_scores(scores, dataset, output=tmp_path / "run")
    run, published = Run(tmp_path / "run"), released["rankc"]["pairwise"]
    values = {
        ties: compute_results(run, options=MetricOptions(ties=ties, figures=("rankc",)))["rankc"]
        for ties in ("released", "expected")
    }
    differences = {
        ties: max(abs(of[pair] - value) for pair, value in published.items())
        for ties, of in values.items()
    }
    assert {*values["released"]} == {*published}
    assert differences["released"] < 1e-12
    has_ties = any(len({*row[x]["scores"]}) < 4 for row in facts.values() for x in languages)
    assert (differences["expected"] > 1e-12) == has_ties
