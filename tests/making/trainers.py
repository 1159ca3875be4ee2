"""Small trainings with a callback."""

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    default_data_collator,
)

from polyprobe.eval import evaluate_model
from polyprobe.eval.callback import ConsistencyCallback
from tests.scoring import zoo

AUTO = {"gpt2": AutoModelForCausalLM, "bert": AutoModelForMaskedLM, "t5": AutoModelForSeq2SeqLM}
TEXTS = [
    "The capital of France is Paris.",
    "Столица Германии — Берлин.",
    "Rome is in Italy.",
    "Москва — столица России.",
]


def save_once(folder, kind):
    """Return the folder of a model of that kind, written on first use."""
    if not (folder / kind).exists():
        zoo.save_kind(kind, folder / kind)
    return folder / kind


class Logger(TrainerCallback):
    """A target of `report_to` that receives the log."""

    def __init__(self):
        self.logged = []

    def on_log(self, args, state, control, logs=None, **kwargs):
        self.logged.append((state.global_step, dict(logs)))

    def steps(self, name):
        return [step for step, logs in self.logged if name in logs]


def examples(tokenizer):
    rows = []
    for text in TEXTS * 4:
        ids = tokenizer(text)["input_ids"][:12]
        rows.append({"input_ids": ids, "attention_mask": [1] * len(ids), "labels": ids})
    return rows


def make_trainer(folder, output, model=None, tokenizer=True, **options):
    """Return a trainer with one example per step and dropout that logs every loss."""
    words = AutoTokenizer.from_pretrained(folder)
    options = {"max_steps": 4, "eval_strategy": "steps", "eval_steps": 2, **options}
    arguments = TrainingArguments(
        str(output), per_device_train_batch_size=1, per_device_eval_batch_size=1,
        logging_steps=1, report_to=[], use_cpu=True, disable_tqdm=True,
        **{"learning_rate": 1e-2, "save_strategy": "no", **options},
    )  # fmt: skip
    logger = Logger()
    trainer = Trainer(
        AUTO[folder.name].from_pretrained(folder) if model is None else model, arguments,
        default_data_collator, examples(words), examples(words)[:2],
        words if tokenizer else None, callbacks=[logger],
    )  # fmt: skip
    return trainer, logger


def follow(trainer, facts, languages=("en", "ru"), **options):
    callback = ConsistencyCallback(trainer, facts, languages=languages, **options)
    trainer.add_callback(callback)
    return callback


TRAINED = ("accuracy", "accuracy_gain", "rankc_subject", "rankc", "rankc_adjusted")


def figures_of(results):
    """Return the figures of results.json, under the names of the callback."""
    parts = {
        f"polyprobe/{name}.{of}": value
        for name in ("accuracy", "rankc", "rankc_subject")
        for of, value in results.get(name, {}).items()
    }
    means = {f"polyprobe/{x}": results["mean"].get(x) for x in TRAINED}
    return {name: value for name, value in {**parts, **means}.items() if value is not None}


def ours(logs, prefix="polyprobe/"):
    return {name: value for name, value in logs.items() if name.startswith(prefix)}


def saved_figures(trainer, facts, folder, **options):
    """Return the figures of `evaluate_model` for the trainer's model, saved as a checkpoint."""
    trainer.save_model(folder)
    options = {"languages": ["en", "ru"], "device": "cpu", **options}
    return figures_of(evaluate_model(str(folder), facts, output=folder / "run", **options))


class LowRank(torch.nn.Module):
    """A layer of PEFT's LoRA: the layer below, and a product of two narrow matrices."""

    active_adapters = ("default",)
    disable_adapters = False

    def __init__(self, below):
        super().__init__()
        torch.manual_seed(5)
        size = below.weight.shape[0]
        self.below, self.scaling = below, {"default": 2.0}
        self.narrow = torch.nn.Linear(size, 2, bias=False)
        self.wide = torch.nn.Linear(2, below.weight.shape[1], bias=False)

    def forward(self, states):
        return self.below(states) + self.scaling["default"] * self.wide(self.narrow(states))


class Adapted(torch.nn.Module):
    """A model with adapters, with the interface of PEFT's PeftModel."""

    class Kind:
        is_prompt_learning = False

    def __init__(self, model):
        super().__init__()
        for block in model.transformer.h:
            block.attn.c_attn = LowRank(block.attn.c_attn)
        self.model, self.config, self.active_peft_config = model, model.config, self.Kind()

    def get_base_model(self):
        return self.model

    def forward(self, *args, **kwargs):
        return self.model(*args, **kwargs)
