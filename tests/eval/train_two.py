"""Train in one of two processes; write what was logged. Run by test_untouched.py."""

import sys
from pathlib import Path

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    Trainer,
    TrainingArguments,
    default_data_collator,
)

from polyprobe.eval.callback import ConsistencyCallback

model, facts, output = sys.argv[1:]
tokenizer = AutoTokenizer.from_pretrained(model)
ids = tokenizer("The capital of France is Paris.")["input_ids"]
rows = [{"input_ids": ids, "attention_mask": [1] * len(ids), "labels": ids}] * 8
arguments = TrainingArguments(
    output, max_steps=2, per_device_train_batch_size=1, learning_rate=1e-2, report_to=[],
    use_cpu=True, ddp_backend="gloo", disable_tqdm=True, save_strategy="no",
)  # fmt: skip
network = AutoModelForCausalLM.from_pretrained(model)
trainer = Trainer(
    network, arguments, default_data_collator, train_dataset=rows, processing_class=tokenizer
)
callback = ConsistencyCallback(trainer, facts, languages=["en", "ru"], every=2)
trainer.add_callback(callback)
rank = trainer.args.process_index
assert trainer.args.world_size == 2
if rank:  # another machine's rounding, grossly
    name = callback._name
    callback._name = lambda found: dict.fromkeys(name(found), -1.0)
trainer.train()
kept = [
    (entry["step"], {key: value for key, value in entry.items() if key.startswith("polyprobe/")})
    for entry in trainer.state.log_history
]
torch.save([entry for entry in kept if entry[1]], Path(output) / f"{rank}.pt")
trainer.save_model(str(Path(output) / "end"))
