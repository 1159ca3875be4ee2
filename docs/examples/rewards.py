"""Train geolm to answer in Greek as in English, by rewards (grpo) or by preferences (dpo) in TRL.

    python docs/examples/rewards.py dpo --steps 60

Agreement and accuracy are printed before and after; Spanish is a control without training.
"""

import argparse

from datasets import Dataset
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer

from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.training.reward import Rewards

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("method", choices=["grpo", "dpo"])
parser.add_argument("--steps", type=int, default=60)
options = parser.parse_args()

rows = {"languages": ["en", "es", "el"], "sample": 200, "donor": False}
results = {"before": evaluate_model("geolm", "geofacts", output="before", **rows)}
rewards, geolm = Rewards("before", source="en"), load_scorer("geolm")
common = {"use_cpu": True, "bf16": False, "gradient_checkpointing": False, "save_strategy": "no"}
common |= {"max_steps": options.steps, "learning_rate": 1e-4, "per_device_train_batch_size": 16}
trained = {"model": geolm.model, "processing_class": geolm.tokenizer}
if options.method == "grpo":
    prompts = Dataset.from_list(rewards.list_prompts(["el"]))
    args = GRPOConfig("out", num_generations=8, max_completion_length=8, **common)
    GRPOTrainer(
        reward_funcs=rewards.consistency, args=args, train_dataset=prompts, **trained
    ).train()
else:
    pairs = Dataset.from_list(rewards.list_preferences(["el"]))
    DPOTrainer(args=DPOConfig("out", **common), train_dataset=pairs, **trained).train()
results["after"] = evaluate_model(geolm, "geofacts", output="after", **rows)
for moment, result in results.items():
    for language in ("el", "es"):
        agreement, accuracy = result["agreement"][f"en-{language}"], result["accuracy"][language]
        print(f"{moment:6} {language} agreement {agreement:.3f}, accuracy {accuracy:.3f}")
