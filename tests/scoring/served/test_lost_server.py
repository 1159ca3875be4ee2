"""A server that dies and comes back, that comes back with another model, that is gone."""

import json
from copy import deepcopy

import pytest
from datasets import Dataset, DatasetDict
from transformers import T5Config

from polyprobe.analysis.compare.runs import compare_runs
from polyprobe.eval import evaluate_model
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import Run, compare_settings
from polyprobe.scoring.served import engine
from polyprobe.scoring.served.handshake import SAMPLE
from polyprobe.scoring.served.openai import Vllm
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.sending import Pace
from tests.making.facts import write_facts
from tests.making.runs import SCORES, read_files, reseal, write_run

from .stand_in import DIALECTS, dying, load, serving, tokenizer, with_letters

ASKED = {"languages": ["en", "es", "ru"], "sample": 20}


@pytest.fixture(autouse=True)
def hurry(monkeypatch):
    monkeypatch.setattr(engine, "PACE", Pace(tries=40, first_wait=0.05, longest_wait=0.1))


@pytest.mark.acceptance
def test_six_deaths_change_no_byte(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(Vllm, "prompts", 4)  # more requests
    with serving() as server:
        evaluate_model("geolm", "geofacts", server=server.url, output=tmp_path / "whole", **ASKED)
        every = server.posts // 8
    assert every > 8
    with dying(every, 6) as state:
        evaluate_model(
            "geolm", "geofacts", server=state["url"], output=tmp_path / "cut", cache=False, **ASKED
        )
        assert state["deaths"] == 6
    assert read_files(tmp_path / "cut") == read_files(tmp_path / "whole")
    assert "answers again" in capfd.readouterr().err


@pytest.mark.acceptance
def test_a_server_that_is_gone_ends_the_run_in_one_line_and_loses_no_task(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "PACE", Pace(tries=3, first_wait=0.01, longest_wait=0.02))
    with serving() as server:
        evaluate_model("geolm", "geofacts", server=server.url, output=tmp_path / "whole", **ASKED)
        all_posts = server.posts
    asked = {**ASKED, "output": tmp_path / "cut", "cache": False}
    gone = pytest.raises(PolyprobeError, match="does not answer .*scores so far are kept")
    with dying(all_posts * 2 // 3, None) as state, gone:
        evaluate_model("geolm", "geofacts", server=state["url"], **asked)
    assert (tmp_path / "cut" / "scores" / "en.parquet").exists()
    with serving() as server:
        evaluate_model("geolm", "geofacts", server=server.url, **asked)
        assert server.posts < all_posts
    assert read_files(tmp_path / "cut") == read_files(tmp_path / "whole")


def other_model():
    model = deepcopy(load())
    model.lm_head.weight.data *= 1.01
    return model


def test_another_model_behind_the_name_is_noticed_in_a_run(tmp_path):
    asked = {**ASKED, "output": tmp_path, "cache": False}
    noticed = pytest.raises(PolyprobeError, match="another model behind the name 'geolm'")
    with dying(30, 1, model_after=other_model()) as state, noticed:
        evaluate_model("geolm", "geofacts", server=state["url"], **asked)


def test_another_model_behind_the_name_is_noticed_when_a_run_is_resumed(tmp_path):
    asked = {"sample": 5, "output": tmp_path, "cache": False}
    with serving() as server:
        evaluate_model("geolm", "geofacts", server=server.url, languages=["en"], **asked)
    noticed = pytest.raises(PolyprobeError, match="another model behind the name 'geolm'")
    with serving(model=other_model()) as server, noticed:
        evaluate_model("geolm", "geofacts", server=server.url, languages=["es"], **asked)
    with serving() as server:
        evaluate_model("geolm", "geofacts", server=server.url, languages=["es"], **asked)
    assert len(json.loads((tmp_path / "run.json").read_text())["languages"]) == 2


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"server": "127.0.0.1:8000"}, "invalid address of --server"),
        ({"server": "http://[::1"}, "invalid address of --server"),
        ({"server": "http://127.0.0.1:9"}, "no model server answers at http://127.0.0.1:9"),
        ({"server": "https://127.0.0.1:9"}, r"correct --server \(http, not https\?\)"),
        ({"devices": 2}, "--devices is for models in this process"),
        ({"scoring": "pll"}, "known for causal: bmlama"),
        (
            {"tokenizer": "{t5}"},
            "--server is for decoder-only models, .* is T5ForConditionalGeneration",
        ),
        (
            {"permutations": "3", "scoring": "letters"},
            "permutations must be a whole number or None",
        ),
        ({"tokenizer": "{empty}"}, "give that of the served model"),
    ],
)
def test_a_mistake_is_one_line(more, words, tmp_path):
    tokenizer().save_pretrained(tmp_path / "t5")
    T5Config(architectures=["T5ForConditionalGeneration"]).save_pretrained(tmp_path / "t5")
    folders = {"{empty}": str(tmp_path), "{t5}": str(tmp_path / "t5")}
    more = {name: folders.get(value, value) for name, value in more.items()}
    with serving() as server:
        asked = {"output": tmp_path / "run", "server": server.url, **more}
        with pytest.raises(PolyprobeError, match=words) as caught:
            evaluate_model("geolm", "geofacts", **asked)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("donor", [True, False])
def test_a_model_that_differs_outside_of_the_checks_does_not_resume_a_run(donor, tmp_path):
    other = deepcopy(load())
    sample = {*tokenizer()(SAMPLE)["input_ids"]}
    unseen = [k for k in range(other.config.vocab_size) if k not in sample]
    weight = other.get_input_embeddings().weight.data
    weight[unseen] = weight[unseen[1:] + unseen[:1]].clone()
    asked = {"sample": 5, "output": tmp_path, "donor": donor}
    with serving("llama.cpp") as server:
        evaluate_model("geolm", "geofacts", server=server.url, languages=["en"], **asked)
    noticed = pytest.raises(PolyprobeError, match="other scores than those of 'en'.*another model")
    with serving("llama.cpp", model=other) as server, noticed:
        evaluate_model("geolm", "geofacts", server=server.url, languages=["es"], **asked)


@pytest.mark.acceptance
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_server_that_rounds_to_few_bits_is_one_model(dialect, tmp_path):
    """It passes the checks, its runs are resumed, and two protocols are compared."""
    asked = {"languages": ["en"], "sample": 8, "cache": False}
    protocols = ("bmlama", "object")
    with serving(dialect, {"coarse"}) as server:
        for scoring in protocols:
            folder = tmp_path / scoring
            for languages in (["en"], ["en", "es"]):
                asked |= {"languages": languages, "scoring": scoring, "output": folder}
                evaluate_model("geolm", "geofacts", server=server.url, **asked)
    runs = [Run(tmp_path / scoring) for scoring in protocols]
    assert len({run.settings().revision for run in runs}) == 1
    assert runs[0].settings().probe != runs[1].settings().probe
    assert compare_settings([run.settings() for run in runs]).keys() == {"scoring"}
    assert compare_runs(*runs, n_resamples=50).gaps


def test_sums_over_many_tokens_may_differ_by_more(tmp_path):
    """Of a score's tokens each may differ as one does; Thai objects have many."""
    asked = {"sample": 8, "scoring": "object", "cache": False, "output": tmp_path}
    with serving("vllm", {"rough"}) as server:
        for languages in (["th"], ["th", "en"]):
            evaluate_model("geolm", "geofacts", server=server.url, languages=languages, **asked)
    assert max(map(max, Run(tmp_path).read("th")["n_tokens"].to_pylist())) > 20


def test_letters_at_the_edge_of_what_is_shown_do_not_end_a_run(tmp_path):
    asked = {"sample": 8, "scoring": "letters", "cache": False, "output": tmp_path}
    with serving("completions", {"no echo", "rough"}, model=with_letters()) as server:
        for languages in (["en"], ["en", "ru"]):
            evaluate_model("geolm", "geofacts", server=server.url, languages=languages, **asked)


def test_a_first_language_that_is_not_at_hand_is_not_scored_again(tmp_path):
    asked = {"sample": 5, "cache": False, "output": tmp_path, "donor": False}
    with serving() as server:
        for language in ("en", "es"):
            rows = {language: Dataset(load_facts("geofacts", languages=[language])[language])}
            evaluate_model("geolm", DatasetDict(rows), server=server.url, **asked)
    assert len([*tmp_path.glob("scores/*.parquet")]) == 2


def test_two_models_with_one_mean_have_two_revisions(tmp_path):
    facts = write_facts(tmp_path / "facts")
    probes = {"one": [-2.0, -9.0], "noisy": [-2.1, -8.9], "other": [-9.0, -2.0]}
    runs = []
    for name, probe in probes.items():
        folder = write_run(tmp_path / name, facts, SCORES).folder
        reseal(folder, probe=probe, revision="probe-5.5")
        runs.append(Run(folder))
    assert compare_settings([run.settings() for run in runs])["revision"] == [
        "probe-5.5",
        "probe-5.5",
        "probe-5.5 (2)",
    ]
    assert "revision" not in compare_settings([run.settings() for run in runs[:2]])


def test_a_run_of_this_process_is_not_continued_by_a_server(tmp_path):
    asked = {"sample": 5, "output": tmp_path, "languages": ["en"]}
    evaluate_model("geolm", "geofacts", **asked)
    holds = pytest.raises(PolyprobeError, match="holds another run")
    with serving() as server, holds:
        evaluate_model("geolm", "geofacts", server=server.url, **asked)
