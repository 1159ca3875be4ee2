"""Fine-tune geolm on new languages and measure RankC with English during training.

    python docs/examples/finetune.py --languages el,ka --control th

The model knows the facts of geofacts in English. The training data are the sentences of four
countries in five in the new languages, and the English sentences of all countries, so that English
is not forgotten. The other countries are held out of the new languages. The control language is not
trained. The table shows adjusted RankC with English (0 is chance, 1 agreement) for both parts, and
accuracy.
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
    """Print the figures of the callbacks at each evaluation, one row for each."""

    def __init__(self, languages):
        parts = [f"{x} {part}" for x in languages for part in ("trained", "held-out")]
        known = {"en": f"{parts[0]}/accuracy.en"} | {
            x: f"{x} trained/accuracy.{x}" for x in languages
        }
        self.names = [*(f"{part}/rankc_adjusted" for part in parts), *known.values()]
        print(" step", *(f"{name:>12}" for name in [*parts, *(f"{x} accuracy" for x in known)]))

    def on_evaluate(self, args, state, control, metrics, **kwargs):
        """Print the step and its figures."""
        print(f"{state.global_step:5}", *(f"{metrics[f'eval_{x}']:12.3f}" for x in self.names))


def split_facts(languages, seed, folder):
    """Write the datasets `trained` and `held-out`, and return their rows by language."""
    geofacts = load_dataset(str(POLYPROBE / "datasets" / "geofacts"))
    countries = sorted(set(geofacts["en"]["subject_id"]))
    held_out = set(random.Random(seed).sample(countries, len(countries) // 5))
    parts = {"trained": {}, "held-out": {}}
    for x in languages:
        away = [country in held_out for country in geofacts[x]["subject_id"]]
        for part, wanted in (("trained", False), ("held-out", True)):
            rows = geofacts[x].select([k for k, is_away in enumerate(away) if is_away is wanted])
            rows.to_parquet(folder / part / "data" / f"{x}-00000-of-00001.parquet")
            parts[part][x] = rows
    return parts


def tokenize(tokenizer, rows):
    """Return the correct sentence of each row as input for a Trainer."""
    right = [row["prompt"].replace("[Y]", row["candidates"][row["answers"][0]]) for row in rows]
    return [{"input_ids": ids, "labels": ids} for ids in tokenizer(right)["input_ids"]]


def read_options():
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--languages", default="el,ka", help="languages to train")
    parser.add_argument("--control", default="th", help="language without training")
    parser.add_argument("--output", type=Path, default=Path("finetuned"))
    for name, number in {"steps": 750, "every": 150, "sample": 120, "seed": 0}.items():
        parser.add_argument(f"--{name}", type=int, default=number)
    return parser.parse_args()


def main():
    """Train and print the table."""
    asked = read_options()
    transformers.logging.set_verbosity_error()
    disable_progress_bars()
    transformers.set_seed(asked.seed)
    new = asked.languages.split(",")
    geolm = POLYPROBE / "scoring" / "embedded" / "geolm"
    model = AutoModelForCausalLM.from_pretrained(geolm, dtype="float32")
    tokenizer = AutoTokenizer.from_pretrained(geolm)
    parts = split_facts(["en", *new, asked.control], asked.seed, asked.output)
    held_out = tokenize(tokenizer, [row for x in new for row in parts["held-out"][x]])
    trained = tokenize(tokenizer, [row for x in ["en", *new] for row in parts["trained"][x]])
    trained += tokenize(tokenizer, parts["held-out"]["en"])
    arguments = TrainingArguments(
        str(asked.output), max_steps=asked.steps, per_device_train_batch_size=16,
        learning_rate=3e-3, seed=asked.seed, eval_strategy="steps", eval_steps=asked.every,
        eval_on_start=True, report_to=[], use_cpu=True, disable_tqdm=True, save_strategy="no",
    )  # fmt: skip
    collator = transformers.DataCollatorForSeq2Seq(tokenizer)
    trainer = Trainer(model, arguments, collator, trained, held_out, tokenizer)
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
