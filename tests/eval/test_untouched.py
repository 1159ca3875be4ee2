"""The callback does not change a training, and the figures do not depend on its setup."""

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import TrainerCallback

from polyprobe.eval import evaluate_model
from polyprobe.eval.callback import undisturbed
from polyprobe.scoring.scorers import Scorer
from tests.making.trainers import (
    AUTO,
    examples,
    figures_of,
    follow,
    make_trainer,
    ours,
    saved_figures,
)


def draw(scorer, *prepared):
    torch.rand(3), np.random.rand(3), random.random()
    return scored(scorer, *prepared)


scored = Scorer.score_prepared


@pytest.mark.filterwarnings("ignore:.*unknown tokens")
@pytest.mark.parametrize("kind", AUTO)
def test_training_goes_on_bit_for_bit(kind, saved, facts, tmp_path, monkeypatch):
    monkeypatch.setattr(Scorer, "score_prepared", draw)
    ends = []
    for followed in (False, True):
        trainer, logger = make_trainer(saved(kind), tmp_path / str(followed))
        if followed:
            follow(trainer, facts, every=1)
            assert len(logger.logged) == 0
        torch.manual_seed(11), np.random.seed(11), random.seed(11)
        trainer.train()
        losses = [logs["loss"] for _, logs in logger.logged if "loss" in logs]
        state = torch.rand(1), np.random.rand(), random.random()
        ends.append((trainer.model.state_dict(), losses, logger.steps("eval_loss"), state))
    (weights, *rest), (followed_weights, *followed_rest) = ends
    assert rest == followed_rest
    assert len(rest[0]) == 4  # a loss at each step, also at steps with figures
    assert all(torch.equal(weights[name], followed_weights[name]) for name in weights)


def test_dropout_counts_in_these_trainings(saved, tmp_path):
    trainer, _ = make_trainer(saved("gpt2"), tmp_path)
    ids = torch.tensor([examples(trainer.processing_class)[0]["input_ids"]])
    trainer.model.train()
    assert not torch.equal(trainer.model(ids).logits, trainer.model(ids).logits)


def test_model_is_left_as_it_was(saved, facts, tmp_path):
    trainer, _ = make_trainer(saved("gpt2"), tmp_path)
    model = trainer.model
    callback = follow(trainer, facts)
    model.train()
    model.transformer.h[0].eval()  # frozen by its owner
    model.config.use_cache = True
    trainer.get_eval_dataloader()
    for weight in model.parameters():
        weight.grad = torch.ones_like(weight)
    modes = {name: module.training for name, module in model.named_modules()}
    config = model.config.to_dict()
    callback._measure(1)
    assert {name: module.training for name, module in model.named_modules()} == modes
    assert model.config.to_dict() == config
    assert all((weight.grad == 1).all() and weight.requires_grad for weight in model.parameters())
    model(torch.tensor([[5, 6]]), labels=torch.tensor([[5, 6]])).loss.backward()


def test_mixed_precision_is_not_scored(saved, facts, tmp_path):
    trainer, logger = make_trainer(saved("gpt2"), tmp_path, bf16=True)
    follow(trainer, facts)
    scores = []

    class Watch(TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            scores.append("_original_forward" in vars(trainer.model))

        def on_train_end(self, args, state, control, **kwargs):
            ids = torch.tensor([[5, 6, 7]])
            cast = trainer.model(ids).logits
            with undisturbed(trainer.model):
                own = trainer.model(ids).logits
            scores.append((cast - own).abs().max().item())

    trainer.add_callback(Watch())
    trainer.train()
    assert scores[:-1] == [True] * 4  # accelerate has put casts around the model,
    assert scores[-1] > 0  # and leaves a trace of them in what it answers
    logged = [ours(logs) for _, logs in logger.logged if ours(logs)]
    assert logged[-1] == saved_figures(trainer, facts, tmp_path / "end")


@pytest.mark.slow  # the import of torch's compiler
def test_a_compiled_model_is_scored_without_its_compiled_code(saved, facts, tmp_path):
    graphs = []

    def compile_graph(graph, inputs):
        graphs.append(graph)
        return graph.forward

    plain = AUTO["gpt2"].from_pretrained(saved("gpt2"))
    model = torch.compile(plain, backend=compile_graph)
    trainer, _ = make_trainer(saved("gpt2"), tmp_path, model=model)
    callback = follow(trainer, facts)
    figures = callback._measure(0)
    assert "polyprobe/rankc" in figures
    assert graphs == []
    assert callback._scorer.model is plain


def test_what_cannot_be_measured_does_not_end_the_training(saved, facts, tmp_path):
    trainer, logger = make_trainer(saved("gpt2"), tmp_path, max_steps=4)

    class Damage(TrainerCallback):
        def on_step_end(self, args, state, control, model=None, **kwargs):
            if state.global_step == 3:
                model.transformer.wte.weight.data.fill_(float("nan"))

    trainer.add_callback(Damage())
    follow(trainer, facts)
    with pytest.warns(UserWarning, match="step 4 is not measured: language 'en': .* not finite"):
        trainer.train()
    assert logger.steps("polyprobe/rankc") == [2]
    assert logger.steps("eval_loss") == [2, 4]


@pytest.mark.slow
@pytest.mark.acceptance
def test_all_processes_take_the_figures_of_the_first(saved, facts, tmp_path):
    script = Path(__file__).parent / "train_two.py"
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone"]
    folders = [str(saved("gpt2")), facts, str(tmp_path)]
    subprocess.run([*command, str(script), *folders], check=True, timeout=300)
    first, second = (torch.load(tmp_path / f"{rank}.pt", weights_only=False) for rank in (0, 1))
    assert first == second
    [(step, figures)] = first
    assert step == 2
    results = evaluate_model(
        str(tmp_path / "end"), facts, output=tmp_path / "run", languages=["en", "ru"], device="cpu"
    )
    assert figures == figures_of(results)
