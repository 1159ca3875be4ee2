"""Consistency while a model is trained: which figures, and when."""

import warnings

import pytest
import torch
from transformers import AutoTokenizer, EarlyStoppingCallback, TrainerCallback

from polyprobe.eval.callback import ConsistencyCallback
from polyprobe.schema.load import load_facts
from polyprobe.system.messages import PolyprobeError
from tests.making.flags import write_flagged
from tests.making.trainers import (
    AUTO,
    Adapted,
    follow,
    make_trainer,
    ours,
    saved_figures,
)
from tests.scoring import plain


@pytest.mark.filterwarnings("ignore:.*unknown tokens")
@pytest.mark.parametrize("kind", AUTO)
def test_figures_are_those_of_the_saved_checkpoint(kind, saved, facts, tmp_path):
    trainer, logger = make_trainer(saved(kind), tmp_path, learning_rate=0.1)
    follow(trainer, facts, every=2)
    trainer.train()
    logged = [ours(logs) for _, logs in logger.logged if ours(logs)]
    assert len(logged) == 2
    assert logged[0] != logged[1]  # changed by training
    assert logged[1] == saved_figures(trainer, facts, tmp_path / "end")
    assert set(logged[1]) == {
        "polyprobe/accuracy", "polyprobe/accuracy.en", "polyprobe/accuracy.ru", "polyprobe/rankc",
        "polyprobe/rankc.en-ru", "polyprobe/rankc_adjusted", "polyprobe/accuracy_gain",
        "polyprobe/rankc_subject", "polyprobe/rankc_subject.en-ru",
    }  # fmt: skip
    entries = [entry for entry in trainer.state.log_history if ours(entry)]
    assert [(entry["step"], ours(entry)) for entry in entries] == [(2, logged[0]), (4, logged[1])]


@pytest.mark.parametrize(
    "scoring", [{"scoring": "object-tokens"}, {"scoring": "letters", "permutations": 2}]
)
def test_rows_languages_and_scoring_are_as_asked(scoring, saved, facts, tmp_path):
    asked = {"languages": ["ru", "zh_hans", "en"], "sample": 6, **scoring}
    trainer, _ = make_trainer(saved("gpt2"), tmp_path)
    follow(trainer, facts, prefix="f", **asked)
    metrics = trainer.evaluate()
    wanted = saved_figures(trainer, facts, tmp_path / "end", **asked)
    assert {f"eval_{k.replace('polyprobe', 'f')}": v for k, v in wanted.items()} == ours(
        metrics, "eval_f/"
    )
    assert "eval_f/rankc.ru-zh_hans" in metrics


def test_one_language_has_no_rankc(saved, facts, tmp_path):
    trainer, _ = make_trainer(saved("gpt2"), tmp_path)
    follow(trainer, facts, languages=["en"], limit=4)
    assert set(ours(trainer.evaluate(), "eval_polyprobe/")) == {
        "eval_polyprobe/accuracy",
        "eval_polyprobe/accuracy.en",
        "eval_polyprobe/accuracy_gain",
    }


@pytest.mark.parametrize(
    ("every", "steps", "at_evaluation"), [(None, [3, 6], [3, 6]), (2, [2, 4, 6], [6])]
)
def test_each_step_is_measured_once(
    every, steps, at_evaluation, saved, facts, tmp_path, monkeypatch
):
    trainer, logger = make_trainer(saved("gpt2"), tmp_path, max_steps=6, eval_steps=3)
    evaluated, calls = {}, []
    callback = follow(trainer, facts, every=every)

    class After(TrainerCallback):
        def on_evaluate(self, args, state, control, metrics=None, **kwargs):
            evaluated[state.global_step] = ours(metrics, "eval_polyprobe/")
            assert "eval_epoch" not in metrics

    trainer.add_callback(After())
    measure = callback._measure
    monkeypatch.setattr(callback, "_measure", lambda step: calls.append(step) or measure(step))
    trainer.train()
    assert calls == steps == logger.steps("polyprobe/rankc")
    assert [step for step, figures in evaluated.items() if figures] == at_evaluation
    assert list(evaluated) == [3, 6]
    last = [ours(logs) for _, logs in logger.logged if ours(logs)][-1]
    at_last = evaluated[6]
    assert at_last == {f"eval_{name}": value for name, value in last.items()}
    with torch.no_grad():  # figures measured in training are not used for other weights
        for weight in trainer.model.parameters():
            weight.copy_(torch.randn_like(weight))
    after = trainer.evaluate()
    assert evaluated[6] == ours(after, "eval_polyprobe/") != at_last


@pytest.mark.parametrize("every", [None, 3])
def test_the_best_model_may_be_chosen_by_rankc(every, saved, facts, tmp_path):
    trainer, logger = make_trainer(
        saved("gpt2"), tmp_path / "out", max_steps=8, eval_steps=1, save_steps=1,
        save_strategy="steps", load_best_model_at_end=True, metric_for_best_model="polyprobe/rankc",
    )  # fmt: skip
    follow(trainer, facts, every=every)
    trainer.add_callback(EarlyStoppingCallback(2))
    trainer.train()
    values = [logs["polyprobe/rankc"] for _, logs in logger.logged if "polyprobe/rankc" in logs]
    best = values.index(max(values))
    assert trainer.state.best_metric == max(values) > min(values)
    assert trainer.state.best_model_checkpoint.endswith(f"checkpoint-{best + 1}")
    assert len(values) == min(8, best + 3)  # stopped two evaluations after the best
    figures = saved_figures(trainer, facts, tmp_path / "best")
    assert figures["polyprobe/rankc"] == max(values)


def test_another_model_of_the_trainer_s_is_measured_from_then_on(saved, facts, tmp_path):
    trainer, _ = make_trainer(saved("gpt2"), tmp_path)
    callback = follow(trainer, facts)
    before = callback._measure(0)
    other = AUTO["gpt2"].from_pretrained(saved("gpt2"))
    with torch.no_grad():
        other.transformer.wte.weight.copy_(torch.randn_like(other.transformer.wte.weight))
    trainer.model = other  # as a search over hyperparameters does
    assert before != callback._measure(0) == saved_figures(trainer, facts, tmp_path / "other")


def test_figures_of_several_evaluation_sets_are_measured_once(saved, facts, tmp_path):
    trainer, logger = make_trainer(saved("gpt2"), tmp_path, max_steps=2)
    rows = trainer.eval_dataset
    trainer.eval_dataset = {"one": rows, "two": rows}
    follow(trainer, facts)
    trainer.train()
    assert logger.steps("polyprobe/rankc") == [2]
    assert logger.steps("eval_one_loss") == logger.steps("eval_two_loss") == [2]


def test_unknown_candidates_are_reported(saved, facts, tmp_path):
    trainer, _ = make_trainer(saved("bert"), tmp_path)
    with pytest.warns(UserWarning, match="language 'zh_hans': [0-9]+ candidates are noth"):
        ConsistencyCallback(trainer, facts, languages=["zh_hans"])


def test_a_training_that_measures_nothing_says_so(saved, facts, tmp_path):
    trainer, _ = make_trainer(saved("gpt2"), tmp_path, eval_strategy="no", max_steps=1)
    follow(trainer, facts)
    with pytest.warns(UserWarning, match="measures nothing: give it every=STEPS"):
        trainer.train()
    trainer, logger = make_trainer(saved("gpt2"), tmp_path, eval_strategy="no", max_steps=1)
    follow(trainer, facts, every=1)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "this training")
        trainer.train()
    assert logger.steps("polyprobe/rankc") == [1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"every": 0}, "every must be at least 1, got 0"),
        ({"languages": ["xx"]}, "'xx'.* available: en, ru, zh_hans"),
        (
            {"scoring": "mpararel"},
            "--scoring mpararel is for masked models, .* for causal: bmlama, o",
        ),
        ({"scoring": "xfactr"}, "scoring 'xfactr' cannot follow a training; choose another"),
        ({"scoring": "answer"}, "scoring 'answer' cannot follow a training; choose another"),
    ],
)
def test_mistakes_come_early_in_one_line(options, words, saved, facts, tmp_path):
    trainer, _ = make_trainer(saved("gpt2"), tmp_path)
    with pytest.raises(PolyprobeError, match=words) as error:
        follow(trainer, facts, **options)
    assert "\n" not in str(error.value)


def test_rows_that_cannot_be_scored_are_found_before_training(saved, facts, tmp_path):
    trainer, _ = make_trainer(saved("gpt2"), tmp_path)
    trainer.processing_class.model_max_length = 10
    with pytest.raises(PolyprobeError, match="language 'ru': a sentence becomes .* model reads 10"):
        follow(trainer, facts, languages=["ru"])


def test_the_tokenizer_is_the_trainer_s(saved, facts, tmp_path):
    trainer, _ = make_trainer(saved("gpt2"), tmp_path, tokenizer=False)
    with pytest.raises(PolyprobeError, match=r"no tokenizer; give it Trainer\(processing_class"):
        follow(trainer, facts)

    class Processor:
        tokenizer = AutoTokenizer.from_pretrained(saved("gpt2"))

    trainer.processing_class = Processor()
    follow(trainer, facts)


def test_split_weights_are_refused(saved, facts, tmp_path):
    trainer, _ = make_trainer(saved("gpt2"), tmp_path)
    trainer.is_fsdp_enabled = True
    with pytest.raises(PolyprobeError, match="FSDP.* use `polyprobe eval` on its checkpoints"):
        follow(trainer, facts)


def test_a_model_without_a_configuration_is_refused(saved, facts, tmp_path):
    trainer, _ = make_trainer(saved("gpt2"), tmp_path)
    trainer.model = torch.nn.Linear(2, 2)
    with pytest.raises(PolyprobeError, match="the model is a Linear; expected"):
        follow(trainer, facts)


def test_adapters_are_followed_inside_their_model(saved, facts, tmp_path):
    trainer, _ = make_trainer(saved("gpt2"), tmp_path)
    adapted = trainer.model = Adapted(trainer.model)
    callback = follow(trainer, facts)
    assert callback._scorer.path == "tree"
    [first, *_] = load_facts(facts, languages="en")["en"].to_pylist()
    words = trainer.processing_class
    want = [plain.causal(adapted.eval(), words, first["prompt"], c) for c in first["candidates"]]
    assert callback._score()["en"]["scores"][0].as_py() == pytest.approx(want, abs=1e-5)


def test_rows_are_chosen_as_in_a_run(saved, tmp_path):
    facts = str(write_flagged(tmp_path / "flagged"))
    found = []
    for asked in ({}, {"exclude": []}, {"relations": ["P530"]}, {"exclude": ["P36"]}):
        trainer, _ = make_trainer(saved("gpt2"), tmp_path)
        follow(trainer, facts, **asked)
        metrics = ours(trainer.evaluate(), "eval_polyprobe/")
        wanted = saved_figures(trainer, facts, tmp_path / f"end{len(found)}", **asked)
        assert metrics == {f"eval_{name}": value for name, value in wanted.items()}
        found.append(metrics)
    assert found[0] not in found[1:]
