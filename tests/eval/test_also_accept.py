"""Double evaluation: names of another language are accepted too."""

import json

import pytest

from polyprobe.analysis.comparable import find_differing
from polyprobe.analysis.figures.predictions import mark_predictions
from polyprobe.cli import main
from polyprobe.eval import evaluate_model
from polyprobe.metrics.factual_accuracy.formulas import match
from polyprobe.report.findings.run import list_notes_of_run
from polyprobe.schema.columns import to_table
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.protocol import as_asked
from polyprobe.system.messages import PolyprobeError
from tests.making import tiny
from tests.making.datasets import write_dataset
from tests.making.facts import CITIES, rows, write_facts
from tests.making.stable import save_fixed

OPTIONS = {"scoring": "xfactr", "max_masks": 2, "languages": ["ru"]}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model") / "bert"
    return str(save_fixed("bert", folder, [*tiny.TEXT, *CITIES["en"], *CITIES["ru"]]))


@pytest.fixture(scope="module")
def runs(model, tmp_path_factory):
    """A run with single and one with double evaluation; half of the English forms are predicted."""
    folder = tmp_path_factory.mktemp("double")
    evaluate_model(model, str(write_facts(folder / "facts")), output=folder / "first", **OPTIONS)
    texts = Run(folder / "first").read("ru")["prediction"].to_pylist()

    def predict_half(language, made):
        if language != "en":
            return made
        forms = [["Nowhere", text] if n % 2 else ["Nowhere"] for n, text in enumerate(texts)]
        return [row._replace(answer_forms=x) for row, x in zip(made, forms, strict=True)]

    facts = str(write_facts(folder / "predicted", predict_half))
    evaluate_model(model, facts, output=folder / "single", **OPTIONS)
    evaluate_model(model, facts, output=folder / "double", also_accept="en", **OPTIONS)
    return folder


def test_double_is_never_below_single_and_accepts_the_other_names(runs):
    single, double = (Run(runs / name).read("ru") for name in ("single", "double"))
    assert double["prediction"].equals(single["prediction"])
    english = load_facts(str(runs / "predicted"), languages=["en"])["en"].to_pylist()
    marks = [mark_predictions({"ru": table})["ru"] for table in (single, double)]
    assert (marks[1] >= marks[0]).all()
    assert marks[1].sum() - marks[0].sum() >= 3
    for row, before, twin in zip(double.to_pylist(), single.to_pylist(), english, strict=True):
        label = twin["candidates"][twin["answers"][0]]
        union = {*before["answer_forms"], label, *twin["answer_forms"]}
        assert union <= {*row["answer_forms"]}
        assert len(row["form_lengths"]) == len(row["answer_forms"])
    # by the metric alone, from the forms of the dataset
    russian = load_facts(str(runs / "predicted"), languages=["ru"])["ru"].to_pylist()
    for mark, row, own, twin in zip(marks[1], double.to_pylist(), russian, english, strict=True):
        label = twin["candidates"][twin["answers"][0]]
        accepted = [*own["answer_forms"], label, *twin["answer_forms"]]
        assert not match(row["prediction"], accepted, "ru") or mark


def test_figures_of_double_evaluation_are_not_below_and_are_not_mixed(runs, model):
    results = [json.loads((runs / x / "results.json").read_text()) for x in ("single", "double")]
    for name in ("factual_accuracy", "oracle_length", "single_mask"):
        below, above = (part[name]["ru"] for part in results)
        kinds = [x for x in ("all", "single", "multi") if below[x] is not None]
        assert all(above[x] >= below[x] for x in kinds)
    assert results[1]["accuracy"]["ru"] > results[0]["accuracy"]["ru"]
    settings = [Run(runs / x).settings() for x in ("single", "double")]
    assert settings[1].further["also_accept"].startswith("en@")
    assert "also_accept:en@" in settings[1].signature
    assert "also_accept" not in settings[0].signature
    assert "also_accept" in find_differing(settings, [[x] for x in results])
    with pytest.raises(PolyprobeError, match="holds another run.*also_accept.*another --output"):
        evaluate_model(model, str(runs / "predicted"), output=runs / "double", **OPTIONS)


def test_other_names_of_the_other_language_are_another_run(runs, model):
    with pytest.raises(PolyprobeError, match="holds another run.*also_accept"):
        evaluate_model(
            model, str(runs / "predicted"), output=runs / "double", also_accept="zh_hans", **OPTIONS
        )


def test_a_language_may_be_a_configuration_of_its_own(model, tmp_path, capsys):
    """As in xfactr, whose languages have their own facts: rows are joined by fact."""
    made = {x: [row._replace(relation="P36") for row in rows(x)] for x in ("ru", "en")}
    configs = {"ru": {"ru": made["ru"]}, "en": {"en": made["en"][::-1][:-1]}}
    facts = write_dataset(tmp_path / "facts", configs, default="ru")
    asked = {**OPTIONS, "config": "ru", "also_accept": "en"}
    evaluate_model(model, str(facts), output=tmp_path / "run", **asked)
    assert "--also-accept en: 1 of 8 facts have no name in it" in capsys.readouterr().err
    table = Run(tmp_path / "run").read("ru")
    names = {row.fact_id: [CITIES["en"][int(row.subject_id[1:])]] for row in made["en"][1:]}
    assert table["fact_id"].to_pylist() == [row.fact_id for row in made["ru"]]
    for fact, forms in zip(
        *(table[x].to_pylist() for x in ("fact_id", "answer_forms")), strict=True
    ):
        assert {*names.get(fact, ())} <= {*forms}
    alone = as_asked({"ru": to_table(made["ru"])}, "xfactr")["ru"]["answer_forms"].to_pylist()
    pairs = zip(alone, table["answer_forms"].to_pylist(), strict=True)
    assert all({*single} <= {*double} for single, double in pairs)


@pytest.mark.parametrize("scoring", ["bmlama", "object", "mpararel", "answer"])
def test_scorings_without_forms_refuse_it(model, tmp_path, scoring):
    with pytest.raises(PolyprobeError) as error:
        evaluate_model(model, "geofacts", scoring=scoring, also_accept="en", output=tmp_path / "r")
    assert str(error.value) == (
        "--also-accept is for --scoring xfactr; add that, or leave --also-accept out"
    )


def test_a_language_keeps_its_own_forms(model, tmp_path, monkeypatch, capsys):
    """Of a run with English and Russian the names of English change Russian alone."""
    options = {**OPTIONS, "languages": ["en", "ru"]}
    facts = str(write_facts(tmp_path / "facts", lambda _, made: [_unlabel(row) for row in made]))
    for name, also in (("single", {}), ("double", {"also_accept": "EN"})):
        evaluate_model(model, facts, output=tmp_path / name, **options, **also)
    forms = {
        (x, y): Run(tmp_path / x).read(y)["answer_forms"].to_pylist()
        for x in ("single", "double")
        for y in ("en", "ru")
    }
    assert forms["double", "en"] == forms["single", "en"]
    assert forms["double", "ru"] != forms["single", "ru"]
    settings = Run(tmp_path / "double").settings()
    assert settings.further["also_accept"].startswith("en@")  # however it is spelled
    results = json.loads((tmp_path / "double" / "results.json").read_text())
    line = "names in en are accepted too (double evaluation)"
    assert line in [*list_notes_of_run(results)]
    monkeypatch.setattr("sys.argv", ["polyprobe", "metrics", str(tmp_path / "double")])
    with pytest.raises(SystemExit):
        main()
    assert line in capsys.readouterr().out
    assert line in (tmp_path / "double" / "report.html").read_text(encoding="utf-8")
    results = json.loads((tmp_path / "single" / "results.json").read_text())
    assert line not in [*list_notes_of_run(results)]


def _unlabel(row):
    return row._replace(answer_forms=["Nowhere"])


def test_names_that_cannot_change_a_figure_are_refused(model, runs, tmp_path):
    def lose(language, made):
        return [row._replace(relation="P36") for row in rows(language)]

    made = {x: lose(x, None) for x in ("ru", "en")}
    strange = [row._replace(fact_id=f"{row.fact_id}x") for row in made["en"]]
    apart = {"ru": {"ru": made["ru"]}, "en": {"en": strange}}
    apart = str(write_dataset(tmp_path / "apart", apart, default="ru"))
    facts = str(runs / "facts")
    one = "expected one further language that has names of the run's facts"
    for dataset, config, text, fault in [
        (facts, None, "ru", f"--also-accept ru: {one}"),
        (facts, None, "en,ru", f"--also-accept en,ru: {one}"),
        (facts, None, "", "--also-accept: no languages were named; available in "),
        (apart, "ru", "en", f"--also-accept en: {one}"),
    ]:
        options = {**OPTIONS, "config": config, "also_accept": text, "output": tmp_path / "run"}
        with pytest.raises(PolyprobeError) as error:
            evaluate_model(model, dataset, **options)
        assert str(error.value).startswith(fault)
        assert not (tmp_path / "run").exists()


def test_an_unknown_language_is_one_line(model, runs, tmp_path):
    with pytest.raises(PolyprobeError) as error:
        evaluate_model(
            model, str(runs / "facts"), also_accept="fr", output=tmp_path / "run", **OPTIONS
        )
    assert str(error.value).startswith("--also-accept: unknown language 'fr' in ")
    assert not (tmp_path / "run").exists()
