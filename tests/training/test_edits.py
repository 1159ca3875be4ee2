"""`polyprobe edit`: what it measures on geolm, how it resumes, what it refuses."""

import json
import re
from dataclasses import replace
from functools import partial

import datasets
import numpy as np
import peft
import pytest
import torch
from scipy.special import expit

from polyprobe.analysis.edits import summarize_edits
from polyprobe.cli import main
from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.schema.load import load_facts
from polyprobe.system.messages import PolyprobeError
from polyprobe.training import edits
from polyprobe.training.options import EditOptions
from tests.making import tiny
from tests.making.facts import rows, write_facts

OPTIONS = EditOptions(languages="en,es,el", layer=0, contexts=0, facts=4, neighbours=3)


@pytest.fixture(scope="module")
def scorer():
    return load_scorer("geolm", scoring="object")


@pytest.fixture(scope="module")
def run(scorer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "geo"
    evaluate_model(scorer, "geofacts", "default", languages="en,es,el", output=folder)
    return folder


@pytest.fixture
def edit(scorer, run, tmp_path):
    def call(output=tmp_path / "edits", model=scorer, dataset="geofacts", **options):
        options = {"run": run, **options}
        return edits.edit_facts(model, dataset, None, output, replace(OPTIONS, **options))

    return call


def test_what_is_written_is_what_a_scorer_gives(edit, scorer, run, tmp_path):
    result = edit()
    assert result == json.loads((tmp_path / "edits" / "edits.json").read_text())
    results = json.loads((run / "results.json").read_text())
    pairs = results["rankc_subject"]
    assert result["consistency"] == {"es": pairs["en-es"], "el": pairs["en-el"]}
    assert len({fact["fact_id"] for fact in result["facts"]}) == 4
    tables = {x: y.to_pylist() for x, y in load_facts("geofacts", None, ["en", "es"]).items()}
    for fact in result["facts"]:
        place = [row["fact_id"] for row in tables["en"]].index(fact["fact_id"])
        row = tables["en"][place]
        k = row["candidates"].index(fact["target"])
        assert k not in row["answers"]
        assert row["candidates"][row["answers"][0]] == fact["right"]
        for language in ("en", "es"):
            row = tables[language][place]
            [scores] = scorer.score([row["prompt"]], [row["candidates"]])
            before = fact["languages"][language]["before"]
            assert before["target"] == pytest.approx(scores[k], abs=1e-4)
            assert before["right"] == pytest.approx(scores[row["answers"][0]], abs=1e-4)
            assert before["rank"] == sorted(scores, reverse=True).index(scores[k]) + 1
            assert np.shape(fact["languages"][language]["neighbours"]["after"]) == (3, 2)
        before = fact["languages"]["en"]["before"]
        assert expit(before["right"] - before["target"]) > 0.5
    assert "paraphrases" not in result["facts"][0]["languages"]["en"]


@pytest.mark.acceptance
def test_edits_on_geolm_arrive_where_it_was_taught(edit, scorer):
    """English shares fall and most facts flip; languages that geolm does not have stay."""
    before = {name: value.clone() for name, value in scorer.model.state_dict().items()}
    figures = summarize_edits(edit(facts=20))["figures"]
    assert figures["en"]["right_before"] > 0.9
    assert figures["en"]["fall"] > 0.4
    assert figures["en"]["flipped"] >= 0.5
    assert abs(figures["el"]["fall"]) < 0.1
    assert figures["es"]["fall"] < figures["en"]["fall"] / 2
    assert figures["en"]["rank_after"] < figures["en"]["rank_before"]
    assert figures["en"]["neighbours_before"] - figures["en"]["neighbours_after"] < 0.1
    after = scorer.model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_tuning_is_another_edit(edit, tmp_path):
    options = {"facts": 2, "languages": "en,es"}
    rome = edit(**options)["facts"]
    tuned = edit(tmp_path / "tune", method="tune", **options)["facts"]
    for a, b in zip(rome, tuned, strict=True):
        assert a["languages"]["en"]["before"] == b["languages"]["en"]["before"]
        assert a["languages"]["en"]["after"] != b["languages"]["en"]["after"]
        gain = b["languages"]["en"]["after"]["target"] - b["languages"]["en"]["before"]["target"]
        assert gain > 0


def test_an_interrupted_edit_resumes(edit, scorer, tmp_path, monkeypatch):
    whole = edit(tmp_path / "whole")
    weight = scorer.model.model.layers[0].mlp.down_proj.weight
    before, calls, score = weight.clone(), [], edits._score

    def interrupt(scorer, rows, cases):
        calls.append(cases)
        if len(calls) == 4:  # before all edits, and after two
            assert not torch.equal(weight, before)
            raise KeyboardInterrupt
        return score(scorer, rows, cases)

    monkeypatch.setattr(edits, "_score", interrupt)
    with pytest.raises(KeyboardInterrupt):
        edit()
    assert torch.equal(weight, before)
    written = json.loads((tmp_path / "edits" / "edits.json").read_text())["facts"]
    assert len(written) == 2
    monkeypatch.undo()
    resumed = edit()
    assert resumed["facts"][:2] == written
    for a, b in zip(resumed["facts"], whole["facts"], strict=True):
        assert {**a, "seconds": 0, "languages": 0} == {**b, "seconds": 0, "languages": 0}
        for language in a["languages"]:
            for side in ("before", "after"):
                want = b["languages"][language][side]
                assert a["languages"][language][side] == pytest.approx(want, abs=1e-4)
    monkeypatch.setattr(edits, "_edit", None)
    assert edit() == resumed  # nothing is left to do
    (tmp_path / "edits" / "edits.json").unlink()  # as if it was killed before it wrote the file
    assert edit() == resumed == json.loads((tmp_path / "edits" / "edits.json").read_text())


def test_another_setting_is_refused(edit, tmp_path):
    edit(facts=1, languages="en")
    for options, words in [
        ({"facts": 2}, r"with another facts \(1; now 2\); choose another --output"),
        ({"facts": 1, "layer": 1}, r"with another layer \(0; now 1\)"),
        ({"facts": 1, "languages": "en,es"}, r"with another languages"),
    ]:
        with pytest.raises(PolyprobeError, match=words):
            edit(**{"languages": "en", **options})
    file = tmp_path / "edits" / "edits.json"
    for text in ("{", "[]", '{"settings": []}'):
        file.write_text(text)
        with pytest.raises(PolyprobeError, match=r"cannot read .*edits.json .*; delete it"):
            edit(facts=1, languages="en")


def test_templates_of_a_fact_are_paraphrases(edit, tmp_path):
    """The second row of a fact, with another template, is measured and not edited."""

    def write(language, made):
        twice = [
            part
            for row in made
            for part in (row, row._replace(prompt=f"? {row.prompt}", template_id="second"))
        ]
        return [row._replace(candidates=row.candidates) for row in twice]

    folder = write_facts(tmp_path / "facts", write)
    sentences = tmp_path / "sentences.txt"
    sentences.write_text("\n".join(tiny.TEXT * 2 + [x[3:] for x in tiny.TEXT]), "utf-8")
    model = _save_model(tmp_path)
    options = {"languages": "en,ru", "run": None, "moments": sentences, "minimum_share": 0.0}
    result = edit(model=model, dataset=str(folder), **options)
    assert len(result["facts"]) == 4
    for fact in result["facts"]:
        assert np.shape(fact["languages"]["ru"]["paraphrases"]["after"]) == (1, 2)
    assert {*result["consistency"]} == {"ru"}
    assert (tmp_path / "edits" / "run" / "results.json").exists()
    figures = summarize_edits(result)["figures"]["en"]
    assert figures["paraphrases_before"] is not None


def _save_model(folder):
    return str(tiny.save_model("llama", folder / "llama"))


def test_facts_that_cannot_be_edited(edit, tmp_path, capsys):
    def lose(language, made):
        return [row._replace(prompt="A city is [Y].") for row in made[:4]] + [
            row._replace(prompt=f"{number}. {row.prompt}") for number, row in enumerate(made[4:])
        ]

    folder = write_facts(tmp_path / "facts", lose)
    sentences = tmp_path / "sentences.txt"
    sentences.write_text("\n".join(tiny.TEXT * 2 + [x[3:] for x in tiny.TEXT]), "utf-8")
    options = {"languages": "en", "run": None, "moments": sentences, "facts": 9}
    call = partial(edit, model=_save_model(tmp_path), dataset=str(folder), **options)
    result = call(minimum_share=0.0)
    assert len(result["facts"]) == 4
    assert "4 of 8 facts can be edited; 4 have no subject in front" in capsys.readouterr().err
    assert result["consistency"] == {}
    with pytest.raises(PolyprobeError, match="no fact is left to edit; lower --minimum-share"):
        call(tmp_path / "second", minimum_share=1.0)
    sentences.write_text("One.")
    with pytest.raises(PolyprobeError, match=r"1 sentences are too few for the 48 inputs"):
        call(tmp_path / "third", minimum_share=0.0)


def test_prompts_for_each_candidate_are_refused(edit):
    table = [{**row._asdict(), "prompts": [row.prompt] * len(row.candidates)} for row in rows("en")]
    table = [{x: y for x, y in row.items() if x not in ("flags", "repairs")} for row in table]
    with pytest.raises(PolyprobeError, match="a prompt for each candidate, which cannot be edit"):
        edit(dataset={"en": datasets.Dataset.from_list(table)}, languages="en")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"layer": 4}, "--layer 4: the model's are 0 to 3"),
        ({"source": "xx"}, "unknown language 'xx' in geofacts"),
        ({"languages": "en,gr"}, "unknown language 'gr' in geofacts"),
    ],
)
def test_unknown_layers_and_languages(options, words, edit):
    with pytest.raises(PolyprobeError, match=re.escape(words)):
        edit(**options)


@pytest.mark.parametrize("kind", ["bert", "t5"])
def test_models_that_are_not_causal(kind, scorers, edit, tmp_path):
    model = str(tiny.save_model(kind, tmp_path / kind))
    with pytest.raises(PolyprobeError, match=r"edit needs a causal model .* has a \w+ObjectScorer"):
        edit(model=model)
    with pytest.raises(PolyprobeError, match="edit needs a causal model .* has a CausalScorer"):
        edit(model=scorers("llama"))


def test_a_run_of_another_model_is_refused(edit, tmp_path):
    with pytest.raises(PolyprobeError, match="--run .*: it is of another model or dataset"):
        edit(model=_save_model(tmp_path))
    with pytest.raises(PolyprobeError, match="is not a run folder"):
        edit(run=tmp_path)


@pytest.fixture(scope="module")
def adapted(tmp_path_factory):
    """Make a function that makes a folder of an adapter of geolm for some layers."""

    def make(target):
        model = peft.get_peft_model(
            load_scorer("geolm").model, peft.LoraConfig(r=2, target_modules=[target])
        )
        torch.manual_seed(0)
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(weight, std=0.02)
        folder = tmp_path_factory.mktemp("adapters") / target
        model.save_pretrained(folder)
        return str(folder)

    return make


def test_options_of_eval_choose_the_model_and_its_rows(edit, tmp_path, run, adapted):
    """The figures before are those of a scorer with these options."""
    folder = adapted("q_proj")
    asked = {"adapter": folder, "bos": "never", "device": "cpu"}
    options = {"relations": "P36", "languages": "en", "facts": 2}
    result = edit(model="geolm", run=None, **asked, **options)
    assert {fact["relation"] for fact in result["facts"]} == {"P36"}
    assert result["settings"]["relations"] == ["P36"]
    assert result["settings"]["adapter"].startswith("q_proj@")
    scorer = load_scorer("geolm", scoring="object", **asked)
    table = {row["fact_id"]: row for row in load_facts("geofacts")["en"].to_pylist()}
    for fact in result["facts"]:
        row = table[fact["fact_id"]]
        [scores] = scorer.score([row["prompt"]], [row["candidates"]])
        before = fact["languages"]["en"]["before"]
        assert before["right"] == pytest.approx(scores[row["answers"][0]], abs=1e-4)
    with pytest.raises(PolyprobeError, match="another bos .never; now auto"):
        edit(model="geolm", run=None, **{**asked, "bos": "auto"}, **options)
    with pytest.raises(PolyprobeError, match="another adapter .q_proj@.*; now None"):
        edit(model="geolm", run=None, **{**asked, "adapter": None}, **options)
    evaluate_model("geolm", "geofacts", languages="en,es", limit=3, output=tmp_path / "plain")
    with pytest.raises(PolyprobeError, match="--run .*: it is of another model or dataset"):
        edit(tmp_path / "other", model="geolm", run=tmp_path / "plain", **asked, **options)
    with pytest.raises(PolyprobeError, match="unknown relation 'P1' in --relations"):
        edit(tmp_path / "none", relations="P1")


def test_a_layer_with_an_adapter_is_refused(edit, adapted):
    with pytest.raises(PolyprobeError, match=r"cannot edit a layer of .*peft.*Linear.*or merge"):
        edit(model="geolm", run=None, adapter=adapted("down_proj"))


def test_the_command_writes_a_table_and_a_page(run, tmp_path, monkeypatch, capsys):
    words = "edit geolm --dataset geofacts --languages en,es,el --layer 0 --facts 2 --contexts 1 "
    words += f"--run {run} --output {tmp_path / 'edits'}"
    monkeypatch.setattr("sys.argv", ["polyprobe", *words.split()])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 0
    text = capsys.readouterr().out
    assert re.search(r"(?m)^ *en +– +1\.000", text)
    assert f"report: {tmp_path / 'edits' / 'edits.html'}" in text.replace("\n", "")
    assert "<svg" in (tmp_path / "edits" / "edits.html").read_text()
