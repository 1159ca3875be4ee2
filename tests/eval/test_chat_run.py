"""Runs with a conversation: what is written, what is kept apart, workers, the callback."""

import json

import pytest
from huggingface_hub import ModelCard
from transformers import AutoTokenizer

from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.publish.export import export_run
from polyprobe.report.page import write_report
from polyprobe.schema.run.folder import Run, describe_differing
from polyprobe.system.messages import PolyprobeError
from tests.making import tiny
from tests.making.facts import write_facts
from tests.making.trainers import follow, make_trainer, ours, save_once, saved_figures
from tests.scoring.templates import CASES

HEAD = "<|im_start|>system\n{}<|im_end|>\n<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n"


def write_template(folder, name="yi"):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = CASES[name].template
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(write_template(tiny.save_model("llama", tmp_path_factory.mktemp("chat") / "model")))


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    return str(write_facts(tmp_path_factory.mktemp("facts")))


def scores(folder):
    run = Run(folder)
    return {x: run.read(x)["scores"].to_pylist() for x in run.settings().languages}


def test_a_run_keeps_what_was_said_once(model, facts, tmp_path, cache):
    """Another system message is another run with other scores in another store."""
    options = {"Be brief.": {"system": "Be brief."}, "Be long.": {"system": "Be long."}}
    for name, chosen in options.items():
        evaluate_model(model, facts, output=tmp_path / name, chat=True, **chosen)
        text = (tmp_path / name / "run.json").read_text(encoding="utf-8")
        values = json.loads(text)
        head = HEAD.format(name)
        assert values["chat"] == {"head": head, "system": name, "user": "", "options": {}}
        assert text.count(json.dumps(head)[1:-1]) == 1
        assert name not in values["signature"]
        key = values["further"]["chat"]
        assert f"|chat:{key}|" in values["signature"]
    evaluate_model(model, facts, output=tmp_path / "plain")
    assert "chat" not in Run(tmp_path / "plain").settings().further
    assert Run(tmp_path / "plain").settings().chat is None
    found = [scores(tmp_path / name) for name in (*options, "plain")]
    assert found[0] != found[1] != found[2] != found[0]
    assert len([*(cache / "scores").glob("*.sqlite")]) == 3
    keys = [Run(tmp_path / name).settings().further["chat"] for name in options]
    runs = [Run(tmp_path / name) for name in options]
    for others in (options, ("Be brief.", "plain")):
        write_report([tmp_path / name for name in others], tmp_path / "both.html")
        page = (tmp_path / "both.html").read_text(encoding="utf-8")
        assert "These runs differ in chat:" in page
    assert describe_differing(runs) == f"differ in: chat {keys[0]} / {keys[1]}"


def test_resuming_needs_the_same_conversation(model, facts, tmp_path):
    asked = {"output": tmp_path / "run", "chat": True}
    evaluate_model(model, facts, languages=["en"], system="A", **asked)
    before = scores(tmp_path / "run")
    for other in ({"system": "B"}, {"system": "A", "user": "B"}, {"system": None}):
        with pytest.raises(PolyprobeError, match="holds another run .chat: "):
            evaluate_model(model, facts, **asked, **other)
    with pytest.raises(PolyprobeError, match="holds another run"):
        evaluate_model(model, facts, output=tmp_path / "run")
    evaluate_model(model, facts, languages=["ru"], system="A", **asked)
    assert scores(tmp_path / "run")["en"] == before["en"]
    assert list(scores(tmp_path / "run")) == ["en", "ru"]


def test_exports_name_the_conversation(model, facts, tmp_path):
    """Results with and without it are two entries of a model card."""
    card = tmp_path / "README.md"
    card.write_text("# Model\n")
    for name, chosen in (("plain", {}), ("chat", {"chat": True})):
        evaluate_model(model, facts, output=tmp_path / name, **chosen)
        for _ in range(2):  # the second replaces the first
            export_run(tmp_path / name, "model-index", card=card)
    settings = Run(tmp_path / "chat").settings()
    scoring = f"bmlama-eq10, chat {settings.further['chat']}"
    [results] = [one["results"] for one in ModelCard.load(card).data.to_dict()["model-index"]]
    said = [metric["args"]["scoring"] for result in results for metric in result["metrics"]]
    assert said.count("bmlama-eq10") == said.count(scoring) == len(said) / 2 > 0
    export_run(tmp_path / "chat", "latex")
    table = next((tmp_path / "chat").glob("*.tex")).read_text()
    assert f"% {settings.signature}" in table.splitlines()
    assert f"|chat:{settings.further['chat']}|" in settings.signature


def test_a_template_with_a_date_is_the_same_tomorrow(facts, tmp_path):
    """Two dates that it would write, and the run of the second resumes the first."""
    import transformers.utils.chat_template_utils as templates

    class Tomorrow(templates.datetime):
        @classmethod
        def now(cls):
            return cls(2031, 5, 6)

    folder = str(write_template(tiny.save_model("llama", tmp_path / "model"), "smollm3"))
    run = tmp_path / "run"
    evaluate_model(folder, facts, output=run, languages=["en"], chat=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(templates, "datetime", Tomorrow)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        written = tokenizer.apply_chat_template([{"role": "user", "content": ""}], tokenize=False)
        assert "06 May 2031" in written
        evaluate_model(folder, facts, output=run, languages=["ru"], chat=True)
    assert "26 July 2024" in Run(run).settings().chat["head"]
    assert Run(run).settings().chat["options"] == {"enable_thinking": False}


@pytest.mark.parametrize("scoring", ["object", "contrastive"])
def test_prompts_that_begin_with_the_slot(scoring, model):
    """Without a BOS nothing precedes the object; in a conversation its head does."""
    asked = ["[Y] is a city."], [["Paris", "Rome"]]
    with pytest.raises(PolyprobeError, match="before the slot has no tokens"):
        load_scorer(model, scoring=scoring).score(*asked)
    [[first, second]] = load_scorer(model, scoring=scoring, chat=True).score(*asked)
    assert first != second


@pytest.mark.parametrize("scoring", ["bmlama", "letters"])
def test_the_callback_measures_what_a_run_does(scoring, facts, tmp_path):
    folder = save_once(tmp_path / "models", "gpt2")
    write_template(folder)
    trainer, _ = make_trainer(folder, tmp_path / "out", max_steps=1)
    chosen = {"chat": True, "system": "Be brief.", "scoring": scoring}
    follow(trainer, facts, every=1, **chosen)
    trainer.train()
    [logged] = [ours(logs) for logs in trainer.state.log_history if ours(logs)][:1]
    want = saved_figures(trainer, facts, tmp_path / "saved", **chosen)
    assert {name: logged[name] for name in want} == pytest.approx(want, abs=1e-9)
    assert saved_figures(trainer, facts, tmp_path / "plain", scoring=scoring) != want
    with pytest.raises(PolyprobeError, match="has no such variable"):
        follow(trainer, facts, chat=True, chat_options={"thinking": True})
