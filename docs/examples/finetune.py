"""Fine-tune geolm on languages that it never saw, and watch RankC with English rise.

    python docs/examples/finetune.py --languages el,ka --control th

The model knows the facts of geofacts in English. It is taught the sentences of four countries in
five in the new languages; the English sentences of all countries are mixed in, or it would forget
them. The other countries are held out of the new languages, and the control language is never
seen. Shown is adjusted RankC with English (0 is chance, 1 agreement), of both parts, and accuracy.
"""

import argparse
import random
from importlib.resources import files
from pathlib import Path

import transformers
from datasets import disable_progress_bars, load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments

from polyprobe.eval import ConsistencyCallback

POLYPROBE = Path(str(files("polyprobe")))


class Table(transformers.TrainerCallback):
    """Print a row at each evaluation, of what the callbacks before it have measured."""

    def __init__(self, languages):
        parts = [f"{x} {part}" for x in languages for part in ("taught", "held-out")]
        known = {"en": f"{parts[0]}/accuracy.en"} | {
            x: f"{x} taught/accuracy.{x}" for x in languages
        }
        self.names = [*(f"{part}/rankc_adjusted" for part in parts), *known.values()]
        print(" step", *(f"{name:>11}" for name in [*parts, *(f"{x} right" for x in known)]))

    def on_evaluate(self, args, state, control, metrics, **kwargs):
        """Print the step and its figures."""
        print(f"{state.global_step:5}", *(f"{metrics[f'eval_{x}']:11.3f}" for x in self.names))


def split_facts(languages, seed, folder):
    """Write the datasets `taught` and `held-out`, and return their rows by language."""
    geofacts = load_dataset(str(POLYPROBE / "datasets" / "geofacts"))
    countries = sorted(set(geofacts["en"]["subject_id"]))
    held_out = set(random.Random(seed).sample(countries, len(countries) // 5))
    parts = {"taught": {}, "held-out": {}}
    for x in languages:
        away = [country in held_out for country in geofacts[x]["subject_id"]]
        for part, wanted in (("taught", False), ("held-out", True)):
            rows = geofacts[x].select([k for k, is_away in enumerate(away) if is_away is wanted])
            rows.to_parquet(folder / part / "data" / f"{x}-00000-of-00001.parquet")
            parts[part][x] = rows
    return parts


def tokenize(tokenizer, rows):
    """Return the right sentence of each row as a Trainer takes it."""
    right = [row["prompt"].replace("[Y]", row["candidates"][row["answers"][0]]) for row in rows]
    return [{"input_ids": ids, "labels": ids} for ids in tokenizer(right)["input_ids"]]


def read_options():
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--languages", default="el,ka", help="those that are taught")
    parser.add_argument("--control", default="th", help="one that is not")
    parser.add_argument("--output", type=Path, default=Path("finetuned"))
    for name, number in {"steps": 750, "every": 150, "sample": 120, "seed": 0}.items():
        parser.add_argument(f"--{name}", type=int, default=number)
    return parser.parse_args()


def main():
    """Train, printing the table."""
    asked = read_options()
    transformers.logging.set_verbosity_error()
    disable_progress_bars()
    transformers.set_seed(asked.seed)
    new = asked.languages.split(",")
    geolm = POLYPROBE / "eval" / "embedded" / "geolm"
    model = AutoModelForCausalLM.from_pretrained(geolm, dtype="float32")
    tokenizer = AutoTokenizer.from_pretrained(geolm)
    parts = split_facts(["en", *new, asked.control], asked.seed, asked.output)
    held_out = tokenize(tokenizer, [row for x in new for row in parts["held-out"][x]])
    taught = tokenize(tokenizer, [row for x in ["en", *new] for row in parts["taught"][x]])
    taught += tokenize(tokenizer, parts["held-out"]["en"])
    arguments = TrainingArguments(
        str(asked.output), max_steps=asked.steps, per_device_train_batch_size=16,
        learning_rate=3e-3, seed=asked.seed, eval_strategy="steps", eval_steps=asked.every,
        eval_on_start=True, report_to=[], use_cpu=True, disable_tqdm=True, save_strategy="no",
    )  # fmt: skip
    collator = transformers.DataCollatorForSeq2Seq(tokenizer)
    trainer = Trainer(model, arguments, collator, taught, held_out, tokenizer)
    for x in (*new, asked.control):
        for part in parts:
            folder = str(asked.output / part)
            trainer.add_callback(ConsistencyCallback(
                trainer, folder, languages=["en", x], sample=asked.sample, prefix=f"{x} {part}"
            ))  # fmt: skip
    trainer.add_callback(Table([*new, asked.control]))
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()
    trainer.save_model(asked.output / "model")


if __name__ == "__main__":
    main()
