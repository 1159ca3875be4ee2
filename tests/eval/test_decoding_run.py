"""Free decoding through the runner: predictions on disk, resumed, and one line for a mistake."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tokenizers import decoders

from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.eval.work import predictions
from polyprobe.eval.work.predictions import predict
from polyprobe.schema.run.folder import PREDICTIONS, Run
from polyprobe.scoring.decoding import decode
from polyprobe.scoring.options import DecodingOptions
from polyprobe.system.messages import PolyprobeError
from tests.making import tiny
from tests.making.facts import CITIES, rows, write_facts
from tests.making.runs import read_files
from tests.making.stable import save_fixed

OPTIONS = {"scoring": "xfactr", "initial": "order", "refinement": "order", "max_masks": 3}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with models and a dataset: BERT lacks letters of Chinese answers."""
    folder = tmp_path_factory.mktemp("place")
    save_fixed("bert", folder / "bert", [*tiny.TEXT, *CITIES["en"], *CITIES["ru"]])
    tiny.save_model("gpt2", folder / "gpt2")
    write_facts(folder / "facts")
    return folder


def run_all(place, output, **options):
    asked = {**OPTIONS, **options}
    return evaluate_model(str(place / "bert"), str(place / "facts"), output=output, **asked)


@pytest.fixture
def done(place, tmp_path):
    run_all(place, tmp_path / "run")
    return tmp_path / "run"


def test_predictions_on_disk_are_the_decoder_s_own(place, done):
    scorer = load_scorer(str(place / "bert"))
    options = DecodingOptions("order", "order", max_masks=3)
    assert {str(name) for name in read_files(done)} == {
        "run.json", "results.json", *(f"predictions/{language}.parquet" for language in CITIES)
    }  # fmt: skip
    for language in ("en", "ru"):
        made, table = rows(language), Run(done).read(language)
        want = decode(scorer, [row.prompt for row in made], 3, options)
        assert table.schema == PREDICTIONS
        assert table["fact_id"].to_pylist() == [row.fact_id for row in made]
        assert table["relation"].to_pylist() == [row.relation for row in made]
        assert table["n_masks"].to_pylist() == [len(one.tokens) for one in want]
        texts = [scorer.tokenizer.decode(one.tokens, skip_special_tokens=True) for one in want]
        assert table["prediction"].to_pylist() == [text.strip() for text in texts]
        values = [np.float32(one.log_probability) for one in want]
        assert table["log_probability"].to_pylist() == values


def test_a_gold_label_with_unknown_tokens_is_left_out_and_counted(place, tmp_path, capsys):
    run_all(place, tmp_path / "run")
    tokenizer = load_scorer(str(place / "bert")).tokenizer
    golds = [row.candidates[row.answers[0]] for row in rows("zh_hans")]
    known = [tokenizer.unk_token not in tokenizer.tokenize(gold) for gold in golds]
    assert 0 < sum(known) < len(known)
    table = Run(tmp_path / "run").read("zh_hans").to_pylist()
    for row, asked in zip(table, known, strict=True):
        for name in ("prediction", "n_masks", "log_probability", "single_token"):
            assert (row[name] is not None) == asked
    first = golds[known.index(False)]
    said = " ".join(capsys.readouterr().err.split())
    assert (
        f"warning: language 'zh_hans': {known.count(False)} of 8 facts are excluded: their label "
        f"contains an unknown token (the first is {first!r})" in said
    )
    assert "language 'en'" not in said


def test_single_token_is_what_the_slot_makes_of_the_gold(tmp_path):
    """After a letter a lone boundary piece is dropped: 京 is one token there, two elsewhere."""
    scorer = load_scorer(str(save_fixed("xlm-roberta", tmp_path / "xlmr")))
    pieces = {c: scorer.tokenizer.tokenize(c) for c in ("京", "Paris", "Parisian")}
    assert pieces["京"] == ["▁", "京"]
    prompts = ["首都是[Y]。", "首都是 [Y]。", "[Y]。"]
    labels = [("京", [True, False, False])]
    labels += [(c, [len(pieces[c]) == 1] * 3) for c in ("Paris", "Parisian")]
    for label, expected in labels:
        table = facts_table(prompts, [["x", label]] * 3, [[1, 0]] * 3)
        made = predict(scorer, table, "zh", DecodingOptions(max_masks=1)).table
        assert made["single_token"].to_pylist() == expected, label
    assert [len(pieces[c]) == 1 for c in ("Paris", "Parisian")] == [True, False]


def facts_table(prompts, candidates, answers, **more):
    ids = [f"f{k}" for k in range(len(prompts))]
    columns = {"fact_id": ids, "relation": ["P36"] * len(ids), "prompt": prompts}
    return pa.table({**columns, "candidates": candidates, "answers": answers, **more})


def test_accepted_forms_are_the_dataset_s_or_the_right_labels(place):
    scorer, options = load_scorer(str(place / "bert")), DecodingOptions(max_masks=1)
    asked = (["[Y] is."] * 3, [["Paris", "Berlin", "Europe"]] * 3, [[0, 1], [1], [2]])

    def forms(**more):
        return predict(scorer, facts_table(*asked, **more), "en", options).table[
            "answer_forms"
        ].to_pylist()  # fmt: skip

    scorer.tokenizer.backend_tokenizer.decoder = decoders.WordPiece()
    labels = [["Paris", "Berlin"], ["Berlin"], ["Europe"]]
    assert forms() == labels
    given = pa.array([["Paris", "La Paris"], [], None], pa.list_(pa.string()))
    assert forms(answer_forms=given) == [["Paris", "La Paris"], *labels[1:]]
    with pytest.raises(PolyprobeError, match="'answer_forms' is string; expected lists of text"):
        forms(answer_forms=["Paris"] * 3)


def test_forms_are_accepted_as_the_tokenizer_spells_them(place):
    """BERT's decoder cannot write 北京 without a space: equal tokens must count as correct."""
    scorer = load_scorer(str(place / "bert"))
    backend = scorer.tokenizer.backend_tokenizer
    backend.decoder = decoders.WordPiece(cleanup=False)
    ids = scorer.tokenizer("北京", add_special_tokens=False)["input_ids"]
    assert scorer.tokenizer.decode(ids) == "北 京"
    forms = ["北京", "Paris.", "Paris 𒀀"]  # the last must not make `Paris` correct
    table = facts_table(["[Y]。"], [["北京", "Paris"]], [[0]], answer_forms=[forms])
    made = predict(scorer, table, "zh", DecodingOptions(max_masks=1)).table
    assert made["answer_forms"].to_pylist() == [[*forms, "北 京", "Paris ."]]


NAMES = [
    ({}, "xfactr-independent-none-m5/10-b1"),
    ({"initial": "confidence", "refinement": "order", "max_masks": 10, "length_norm": True,
      "recompute": True}, "xfactr-confidence-order-m10-b1-norm-recompute"),
    ({"refinement": "confidence", "beam": 3, "refresh": "released"},
     "xfactr-independent-confidence-m5/10-b3-refresh-released"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "name"), NAMES)
def test_the_name_says_every_choice(options, name):
    assert DecodingOptions(**options).name == name


def test_four_languages_have_five_masks_and_the_others_ten():
    languages = ("en", "fr", "nl", "es", "ru", "zh_hans")
    assert [DecodingOptions().masks(x) for x in languages] == [5, 5, 5, 5, 10, 10]
    assert [DecodingOptions(max_masks=7).masks(x) for x in languages] == [7] * 6


def test_an_interrupted_run_keeps_whole_languages_and_goes_on(place, done, tmp_path, monkeypatch):
    whole, calls = predictions.predict, []

    def interrupted(scorer, table, language, *rest):
        calls.append(language)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return whole(scorer, table, language, *rest)

    monkeypatch.setattr(predictions, "predict", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_all(place, tmp_path / "again")
    assert {f.name for f in (tmp_path / "again" / "predictions").iterdir()} == {
        "en.parquet", "ru.parquet"
    }  # fmt: skip
    run_all(place, tmp_path / "again")
    assert calls == [*CITIES, "zh_hans"]
    assert read_files(tmp_path / "again") == read_files(done)
    run_all(place, tmp_path / "again")
    assert len(calls) == 4


def test_a_sentence_with_all_masks_must_fit(place, tmp_path):
    copy = Path(shutil.copytree(place, tmp_path / "place"))
    file = copy / "bert" / "tokenizer_config.json"
    settings = json.loads(file.read_text())
    file.write_text(json.dumps({**settings, "model_max_length": 100}))
    message = "language 'en': a sentence becomes 110 tokens, the model reads 100: "
    with pytest.raises(PolyprobeError, match=message):
        run_all(copy, tmp_path / "run", max_masks=100)


def test_left_out_facts_are_not_decoded(place, monkeypatch):
    scorer = load_scorer(str(place / "bert"))
    table = facts_table(["[Y]。"], [["𒀀𒀁", "Paris"]], [[0]])
    monkeypatch.setattr(scorer.engine.path, "states", None)
    made = predict(scorer, table, "zh", DecodingOptions())
    assert made.left_out == ["𒀀𒀁"]
    assert made.table["prediction"].to_pylist() == [None]
    assert made.table["answer_forms"].to_pylist() == [["𒀀𒀁"]]
