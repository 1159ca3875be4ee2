"""The log-probability of the right answer beside that of the prediction."""

import pyarrow as pa
import pytest

from polyprobe.analysis.figures.predictions import (
    PredictedFacts,
    compare_with_gold,
    summarize_predictions,
)
from polyprobe.analysis.figures.units import Units
from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.schema.run.folder import PREDICTIONS, Run
from polyprobe.scoring.decoding import read_confidences
from polyprobe.scoring.options import DecodingOptions
from polyprobe.system.messages import PolyprobeError
from tests.making import tiny
from tests.making.facts import CITIES, rows, write_facts
from tests.making.stable import save_fixed
from tests.scoring import plain_decoding


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gold")
    letters = " ".join("".join(CITIES["en"]))  # the cities of en have a token for each letter
    save_fixed("bert", folder / "bert", [*tiny.TEXT, *CITIES["ru"], letters])
    write_facts(folder / "facts")
    return folder


def decode_facts(place, **options):
    output = place / ",".join(f"{name}={value}" for name, value in options.items())
    asked = {"scoring": "xfactr", "max_masks": 3, **options}
    if not output.exists():
        evaluate_model(str(place / "bert"), str(place / "facts"), output=output, **asked)
    return Run(output)


def test_the_log_probability_is_that_of_each_token_alone_masked(place):
    """Sentence by sentence in float64, without the batches of the engine."""
    run = decode_facts(place, gold=True)
    scorer = load_scorer(str(place / "bert"))
    model = plain_decoding.MaskedModel(scorer.model, scorer.tokenizer)
    lengths = set()
    for language in ("en", "ru", "zh_hans"):
        for row, made in zip(run.read(language).to_pylist(), rows(language), strict=True):
            gold = made.candidates[made.answers[0]]
            ids = scorer.tokenizer(gold, add_special_tokens=False)["input_ids"]
            if row["prediction"] is None:
                assert row["gold_log_c"] is None
                assert scorer.tokenizer.unk_token_id in ids
                continue
            [(before, after)] = scorer.around_slots([made.prompt])
            expected = []
            for k, token in enumerate(ids):
                masked = [*ids[:k], scorer.mask, *ids[k + 1 :]]
                log_p = model.log_p([*before, *masked, *after], len(before) + k)
                expected.append(log_p[token])
            assert row["gold_log_c"] == pytest.approx(expected, abs=1e-4)
            lengths.add(len(ids))
    assert lengths >= {1, 4, 6}


def test_recomputed_fillings_have_the_same_confidences(place):
    """The reader of right answers, given the decoder's own fillings."""
    run, scorer = decode_facts(place, recompute=True), load_scorer(str(place / "bert"))
    table = run.read("ru").to_pylist()
    for m in (0, 1, 2):
        found = read_confidences(
            scorer, [row["prompt"] for row in table], [row["fillings"][m]["ids"] for row in table]
        )
        for row, logs in zip(table, found, strict=True):
            assert row["fillings"][m]["log_c"] == pytest.approx(logs, abs=1e-4)


def test_only_the_column_and_its_figure_differ(place):
    run, plain = decode_facts(place, gold=True), decode_facts(place, gold=False)
    assert run.settings().scoring == f"{plain.settings().scoring}-gold"
    for language in ("en", "ru"):
        table = plain.read(language)
        assert run.read(language).drop_columns("gold_log_c") == table.drop_columns("gold_log_c")
        assert table["gold_log_c"].null_count == len(table)
    results = run.read_results(), plain.read_results()
    assert set(results[0]) - set(results[1]) == {"prediction_at_least_gold"}
    assert results[0]["prediction_at_least_gold"].keys() == {"en", "ru", "zh_hans"}


def row(relation, single, own, gold):
    filling = {"ids": [1] * len(own), "text": "a", "log_c": own}
    shorter = [{"ids": [1] * m, "text": "b", "log_c": [-9.0] * m} for m in range(1, len(own))]
    return {
        "fact_id": "f", "relation": relation, "single_token": single, "n_masks": len(own),
        "fillings": [*shorter, filling], "gold_log_c": gold, "prediction": "a",
    }  # fmt: skip


REST = {"prompt": "[Y]", "answer_forms": ["a"], "form_lengths": [1], "log_probability": -1.0}


def compare(made, length_norm=False, **options):
    table = pa.Table.from_pylist([{**row, **REST} for row in made], PREDICTIONS)
    facts = PredictedFacts({"en": table}, length_norm)
    return compare_with_gold(facts, **options)["prediction_at_least_gold"]["en"]


def test_shares_by_hand():
    made = [
        row("P36", True, [-1.0], [-2.0]),  # higher
        row("P36", True, [-2.0], [-1.0]),
        row("P36", False, [-1.0, -1.0], [-0.5, -0.5, -0.5, -0.5]),  # equal sums
        row("P19", False, [-3.0], [-1.0, -1.5]),
        row("P19", None, [-3.0], None),  # not asked
    ]
    found = compare(made)
    assert found == {"all": (2 / 3 + 0) / 2, "single": 1 / 2, "multi": (1 + 0) / 2}
    norm = compare(made, True)
    assert norm == {"all": 1 / 3 / 2, "single": 1 / 2, "multi": 0}
    micro = compare(made, average="micro")
    assert micro == {"all": (1 + 0 + 1 + 0) / 4, "single": 1 / 2, "multi": (1 + 0) / 2}


def test_the_shares_of_a_run_follow_the_average():
    """Two facts of one relation and one of another; the first alone has no less than its answer."""
    logs = [("P36", [-1.0, -1.0]), ("P36", [-9.0, -9.0]), ("P19", [-9.0, -9.0])]
    made = [{**row(relation, True, own, [-3.0]), **REST} for relation, own in logs]
    facts = PredictedFacts({"en": pa.Table.from_pylist(made, PREDICTIONS)})
    for average, share in (("macro", (1 / 2 + 0) / 2), ("micro", 1 / 3)):
        found = summarize_predictions(facts, Units(average=average))
        assert found["prediction_at_least_gold"]["en"]["all"] == share


@pytest.mark.parametrize(("own", "share"), [(-1.00005, 1), (-1.001, 0)])
def test_rounding_does_not_decide(own, share):
    assert compare([row("P36", True, [own], [-1.0])])["all"] == share


def test_the_prediction_is_always_at_least_the_right_answer_it_equals(place):
    """With one mask, every answer of one token: the decoder's best is the maximum."""
    run = decode_facts(place, gold=True, max_masks=1)
    for language in ("en", "ru"):
        for one in run.read(language).to_pylist():
            if one["single_token"]:
                assert one["fillings"][0]["log_c"][0] >= one["gold_log_c"][0] - 1e-4
    shares = run.read_results()["prediction_at_least_gold"]
    assert {figures["single"] for figures in shares.values()} <= {None, 1.0}
    assert 1.0 in {figures["single"] for figures in shares.values()}


def test_gold_is_an_option_of_free_decoding_alone(place, tmp_path):
    assert DecodingOptions(gold=True).name.endswith("-b1-gold")
    with pytest.raises(PolyprobeError, match="--gold is for --scoring xfactr; add that"):
        evaluate_model(
            str(place / "bert"), str(place / "facts"), output=tmp_path, scoring="bmlama", gold=True
        )
