"""Fillings that did not win: other lengths and normalisations, without the model."""

import itertools
import math
import random
from collections import defaultdict
from functools import partial

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from polyprobe.analysis.figures.compute import find_results
from polyprobe.analysis.figures.options import MetricOptions
from polyprobe.analysis.figures.predictions import (
    PredictedFacts,
    predict_right_length,
    summarize_predictions,
)
from polyprobe.analysis.figures.units import Units
from polyprobe.analysis.options import Bootstrap
from polyprobe.cli import app
from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.eval.work.predictions import predict
from polyprobe.metrics.factual_accuracy.formulas import match
from polyprobe.publish.export import export_run
from polyprobe.schema.run.folder import PREDICTIONS, Run
from polyprobe.schema.run.protocol import choose_again, find_winner
from polyprobe.scoring.decoding import decode
from polyprobe.scoring.options import DecodingOptions
from polyprobe.system.messages import PolyprobeError
from tests.making import tiny
from tests.making.facts import CITIES, rows, write_facts
from tests.making.stable import save_fixed

OPTIONS = {"scoring": "xfactr", "initial": "confidence", "max_masks": 4}
OFF = Units()
NONE = Bootstrap(0)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lengths")
    save_fixed("bert", folder / "bert", [*tiny.TEXT, *CITIES["en"], *CITIES["ru"]])
    write_facts(folder / "facts")
    return folder


def decode_all(place, **options):
    """Return the run of the model with these options besides `OPTIONS`."""
    output = place / ",".join(f"{name}={value}" for name, value in sorted(options.items()))
    if not output.exists():
        asked = {**OPTIONS, "languages": ["en", "ru"], **options}
        evaluate_model(str(place / "bert"), str(place / "facts"), output=output, **asked)
    return Run(output)


NORM = {"length_norm": True}
CHANGES = [({}, NORM), (NORM, {"length_norm": False}), (NORM, {"max_masks": 1})]
CHANGES += [(NORM, {"max_masks": 2}), ({}, {**NORM, "max_masks": 2})]


@pytest.mark.parametrize(("base", "change"), CHANGES, ids=str)
@pytest.mark.parametrize("initial", ["independent", "order", "confidence"])
def test_figures_of_another_winner_are_those_of_another_run(place, initial, base, change):
    """Without refinement M does not change how a filling is found."""
    run = decode_all(place, initial=initial, **base)
    again = decode_all(place, initial=initial, **{**base, **change})
    found, expected = (
        find_results(run, NONE, options=MetricOptions(**change)),
        find_results(again, NONE),
    )
    for name in ("accuracy", "factual_accuracy", "coverlap", "k_correct", "by_relation"):
        assert found[name] == expected[name], name
    assert (found["options"], "options" in expected) == (change, False)
    curve = expected["by_masks"]["en"]["all"]
    assert found["by_masks"]["en"]["all"][: len(curve)] == curve
    for language in ("en", "ru"):
        texts = [row["text"] for row in fillings_that_win(run, language, **{**base, **change})]
        assert texts == again.read(language)["prediction"].to_pylist()
    assert any(run.read(x)["prediction"] != again.read(x)["prediction"] for x in ("en", "ru"))


def fillings_that_win(run, language, length_norm=False, max_masks=None):
    """Return the winners by a sort instead of a maximum."""
    for row in run.read(language)["fillings"].to_pylist():
        values = []
        for filling in row[:max_masks]:
            v = math.fsum(filling["log_c"]) / (len(filling["log_c"]) if length_norm else 1)
            values.append((round(-v, 9), len(filling["ids"]), filling))
        yield sorted(values, key=lambda value: value[:2])[0][-1]


def test_one_mask_needs_no_other_run_even_with_refinement(place):
    """The other 2M steps only predict the same token again."""
    run = decode_all(place, refinement="order", max_masks=3)
    alone = decode_all(place, refinement="order", max_masks=1)
    found = find_results(run, NONE, options=MetricOptions(max_masks=1))
    assert found["factual_accuracy"] == find_results(alone, NONE)["factual_accuracy"]
    assert found["single_mask"] == found["factual_accuracy"]


def test_equal_fillings_the_one_with_fewer_masks_wins():
    assert find_winner([[-2.0], [-1.0, -1.0]], False) == 0
    assert find_winner([[-2.0], [-1.0, -1.0]], True) == 1
    assert find_winner([[-2.0], [-2.0, -2.0]], True) == 0
    assert find_winner([[-math.inf], [-1.0, -math.inf]], False) == 0


def filling(text, *log_c):
    return {"ids": [1] * len(log_c), "text": text, "log_c": [*log_c]}


def make_table(rows):
    """Return predictions from (relation, forms and their lengths, texts of 1, 2, … masks)."""
    made = []
    for number, (relation, forms, texts) in enumerate(rows):
        fillings = [filling(text, *[-1.0] * m) for m, text in enumerate(texts, 1)]
        made.append(
            {
                "fact_id": f"{relation}:Q{number}:Q9", "relation": relation,
                "prompt": "It is [Y] .", "answer_forms": [*forms], "prediction": texts[0],
                "n_masks": 1, "log_probability": -1.0,
                "single_token": next(iter(forms.values())) == 1,
                "form_lengths": [*forms.values()], "fillings": fillings,
            }
        )  # fmt: skip
    return pa.Table.from_pylist(made, schema=PREDICTIONS)


@pytest.mark.parametrize("initial", ["independent", "confidence"])
def test_a_model_knows_every_fact_whose_answer_is_its_filling_of_that_length(place, initial):
    """From the model to the figure: the accepted form of each fact is the model's own filling."""
    scorer, options = load_scorer(str(place / "bert")), DecodingOptions(initial, max_masks=4)
    prompts = [row.prompt for row in rows("ru", copies=1)]
    tokenize = partial(scorer.tokenizer, add_special_tokens=False)
    answers = []
    for prompt, found in zip(prompts, decode(scorer, prompts, 4, options), strict=True):
        for filling in found.fillings:
            text = scorer.tokenizer.decode(filling.tokens).strip()
            if tuple(tokenize(text)["input_ids"]) == filling.tokens:
                answers.append((prompt, text, len(filling.tokens)))
    assert {length for *_, length in answers} >= {1, 2, 3}
    columns = {"prompt": [prompt for prompt, *_ in answers]}
    columns |= {name: [f"f{k}" for k in range(len(answers))] for name in ("fact_id", "relation")}
    columns |= {"candidates": [[text] for _, text, _ in answers], "answers": [[0]] * len(answers)}
    table = predict(scorer, pa.table(columns), "ru", options).table
    assert [lengths[0] for lengths in table["form_lengths"].to_pylist()] == [
        length for *_, length in answers
    ]
    found = summarize_predictions(PredictedFacts({"ru": table}), OFF)
    assert found["oracle_length"]["ru"]["all"] == 1
    assert found["accuracy"]["ru"] < 1
    single = sum(length == 1 for *_, length in answers) / len(answers)
    assert found["single_mask"]["ru"]["all"] == pytest.approx(single)


def test_lengths_are_those_in_the_slot(tmp_path):
    """After a letter a lone boundary piece is dropped: 京 is one token there, two elsewhere."""
    scorer = load_scorer(str(save_fixed("xlm-roberta", tmp_path / "xlmr")))
    prompts = ["首都是[Y]。", "首都是 [Y]。"]
    columns = {"fact_id": ["a", "b"], "relation": ["P36"] * 2, "prompt": prompts}
    columns |= {"candidates": [["京"]] * 2, "answers": [[0]] * 2}
    made = predict(scorer, pa.table(columns), "zh", DecodingOptions(max_masks=1)).table
    assert made["form_lengths"].to_pylist() == [[1], [2]]


CASES = [
    # each form is compared with the filling of its own length
    ("fr", {"Rome": 1}, ["x", "Rome"], None),
    ("fr", {"Rome": 2}, ["x", "rome"], "rome"),
    ("fr", {"Rome": 1, "Roma": 2}, ["Roma", "Rome"], None),
    ("fr", {"Rome": 1, "Roma": 2}, ["x", "roma"], "roma"),
    # one longer than all fillings with the prediction
    ("fr", {"Rome": 3}, ["Rome", "x"], "Rome"),
    ("fr", {"Rome": 3}, ["x", "Rome"], None),
    # English: a full stop fewer
    ("en", {"Apple Inc.": 3}, ["x", "Apple Inc", "y"], "Apple Inc"),
    ("fr", {"Apple Inc.": 3}, ["x", "Apple Inc", "y"], None),
    ("en", {"Rome": 1}, ["Rome", "x"], "Rome"),
]


@pytest.mark.parametrize(("language", "forms", "texts", "expected"), CASES)
def test_the_right_length(language, forms, texts, expected):
    assert predict_right_length(make_table([("P36", forms, texts)]), language) == [expected]


def test_accuracies_of_lengths_by_hand():
    rows = [
        ("P36", {"a": 1}, ["a", "b", "b"]),  # one mask
        ("P36", {"b": 2}, ["a", "b", "x"]),  # known length
        ("P36", {"c": 2}, ["c", "x", "x"]),  # one mask, wrong length
        ("P19", {"d": 3}, ["x", "y", "d"]),  # known length
    ]
    found = summarize_predictions(PredictedFacts({"fr": make_table(rows)}), OFF)
    oracle, single = found["oracle_length"]["fr"], found["single_mask"]["fr"]
    assert (oracle["all"], oracle["single"], oracle["multi"]) == (
        (2 / 3 + 1) / 2,
        1,
        (1 / 2 + 1) / 2,
    )
    assert (single["all"], single["single"], single["multi"]) == (
        (2 / 3 + 0) / 2,
        1,
        (1 / 2 + 0) / 2,
    )
    assert found["n_masks"] == {"fr": [4, 0, 0]}
    assert found["by_masks"]["fr"] == {
        "all": [(2 / 3 + 0) / 2] * 3, "single": [1.0] * 3, "multi": [(1 / 2 + 0) / 2] * 3
    }  # fmt: skip
    micro = summarize_predictions(PredictedFacts({"fr": make_table(rows)}), Units(average="micro"))
    curves = {"all": [2 / 4] * 3, "single": [1 / 1] * 3, "multi": [1 / 3] * 3}
    assert micro["by_masks"]["fr"] == curves
    oracle, single = micro["oracle_length"]["fr"], micro["single_mask"]["fr"]
    assert (oracle["all"], oracle["multi"], single["all"], single["multi"]) == (
        3 / 4, 2 / 3, 2 / 4, 1 / 3
    )  # fmt: skip


def test_curves_are_those_of_all_predictions_again():
    """Brute force: each limit is read again, with equal values and facts of two relations."""
    draw = random.Random(3)
    made = []
    for number in range(60):
        fillings = [
            filling(draw.choice("abc"), *(draw.choice((-1.0, -0.5, -0.25)) for _ in range(m)))
            for m in (1, 2, 3, 4)
        ]
        made.append(
            {
                "fact_id": f"f{number}", "relation": draw.choice(("P19", "P36")),
                "prompt": "[Y]", "answer_forms": [draw.choice("abc")], "prediction": "a",
                "n_masks": 1, "single_token": draw.random() < 0.4, "fillings": fillings,
                "form_lengths": [2], "log_probability": -1.0,
            }
        )  # fmt: skip
    table = pa.Table.from_pylist(made, schema=PREDICTIONS)
    for norm in (False, True):
        curves = summarize_predictions(PredictedFacts({"fr": table}, norm), OFF)["by_masks"]["fr"]
        for m, part in itertools.product((1, 2, 3, 4), ("all", "single", "multi")):
            shares = defaultdict(list)
            for row in made:
                best = max(
                    row["fillings"][:m],
                    key=lambda f: (
                        sum(f["log_c"]) / (len(f["ids"]) if norm else 1),
                        -len(f["ids"]),
                    ),
                )
                if part == "all" or row["single_token"] == (part == "single"):
                    shares[row["relation"]].append(match(best["text"], row["answer_forms"]))
            means = [sum(right) / len(right) for right in shares.values()]
            assert curves[part][m - 1] == pytest.approx(sum(means) / len(means)), (norm, m, part)
        assert len({*curves["all"]}) > 2


def test_a_language_in_which_nothing_was_asked():
    nothing = {"fact_id": "P36:Q0:Q9", "relation": "P36", "prompt": "[Y]", "answer_forms": ["a"]}
    asked = make_table([("P36", {"a": 1}, ["a", "b"])])
    tables = {"fr": asked, "zh": pa.Table.from_pylist([nothing], schema=PREDICTIONS)}
    found = summarize_predictions(PredictedFacts(tables), OFF)
    assert found["oracle_length"]["zh"]["all"] is None
    assert found["by_masks"]["zh"] == {"all": [], "single": [], "multi": []}
    assert (found["n_masks"]["zh"], found["calibration"]["zh"]["ece"]) == ([], None)
    again = choose_again(tables, True, 2, "run")
    assert again["zh"]["prediction"].to_pylist() == [None]


def command(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})


def test_the_command_chooses_again_and_says_so(place, tmp_path):
    run = decode_all(place, initial="order", max_masks=3)
    before = run.read_results()
    said = command("metrics", run.folder, "--length-norm", "--max-masks", "2", "--resamples", "40")
    assert said.exit_code == 0, said.output
    after = Run(run.folder).read_results()
    assert after["options"] == {"length_norm": True, "max_masks": 2}
    assert "options: length_norm; max_masks 2" in said.output
    assert "factual accuracy, one mask: en " in said.output
    export_run(run.folder, "csv", tmp_path / "run.csv")
    assert "max_masks:2" in (tmp_path / "run.csv").read_text(encoding="utf-8")
    command("metrics", run.folder)
    assert Run(run.folder).read_results() == before


def test_too_many_masks_and_candidates_are_refused(place, tmp_path):
    run = decode_all(place, initial="order")
    with pytest.raises(PolyprobeError, match="--max-masks 5: .*en.parquet has fillings of 4 masks"):
        find_results(run, options=MetricOptions(max_masks=5))
    output = tmp_path / "scored"
    evaluate_model(str(place / "bert"), str(place / "facts"), output=output, languages="en")
    with pytest.raises(PolyprobeError, match="--length-norm is for runs with --scoring xfactr"):
        find_results(Run(output), options=MetricOptions(length_norm=False))
