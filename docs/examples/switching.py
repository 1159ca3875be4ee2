"""Train geolm on Greek sentences, with and without names of the other language, and measure both.

    python docs/examples/switching.py

The model knows the facts of geofacts in English. The training data are English sentences of all
countries and Greek sentences of four countries in five. In the second training three sentences in
ten have the names of the other language, so that Greek names of all countries are seen in English
sentences. The table shows accuracy and centred RankC with English, with 95% intervals.
"""

import argparse
from pathlib import Path

import transformers
from finetune import POLYPROBE, split_facts
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments

from polyprobe.eval import evaluate_model
from polyprobe.training.collator import SwitchCollator
from polyprobe.training.switch import read_corpus, switch_sentences

GEOLM = POLYPROBE / "scoring" / "embedded" / "geolm"
PARTS = ("trained", "held-out")


def make_pairs(new, seed, folder):
    """Return pairs of sentences, without those in the new language about held-out countries."""
    parts = split_facts(["en", new], seed, folder)
    held_out = set(parts["held-out"]["en"]["subject_id"])
    corpus = read_corpus(["geofacts"], ["en", new])
    corpus.sentences[new][:] = [
        (text, links)
        for text, links in corpus.sentences[new]
        if held_out.isdisjoint(entity for _, _, entity in links)
    ]
    return [*switch_sentences(corpus, seed=seed)]


def train(pairs, raw_share, asked):
    """Return geolm after the training, with its tokenizer."""
    transformers.set_seed(asked.seed)
    model = AutoModelForCausalLM.from_pretrained(GEOLM, dtype="float32")
    tokenizer = AutoTokenizer.from_pretrained(GEOLM)
    arguments = TrainingArguments(
        str(asked.output), max_steps=asked.steps, per_device_train_batch_size=16,
        learning_rate=3e-3, seed=asked.seed, report_to=[], use_cpu=True, disable_tqdm=True,
        save_strategy="no", logging_strategy="no", remove_unused_columns=False,
    )  # fmt: skip
    trainer = Trainer(model, arguments, SwitchCollator(tokenizer, "causal", raw_share), pairs)
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()
    return model, tokenizer


def measure(name, model, tokenizer, new, folder):
    """Print a row for each part of the facts."""
    for part in PARTS:
        options = {"languages": ["en", new], "tokenizer": tokenizer}
        results = evaluate_model(model, str(folder / part), **options)
        figures = [("accuracy", "en"), ("accuracy", new), ("rankc_subject", f"en-{new}")]
        cells = []
        for figure, key in figures:
            low, high = results["intervals"][figure][key]
            cells.append(f"{results[figure][key]:6.3f} [{low:.3f}, {high:.3f}]")
        print(f"{name:>9} {part:>9}", *cells)


def main():
    """Train twice and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--language", default="el", help="language to train")
    parser.add_argument("--output", type=Path, default=Path("switched"))
    for name, number in {"steps": 750, "seed": 0}.items():
        parser.add_argument(f"--{name}", type=int, default=number)
    asked = parser.parse_args()
    transformers.logging.set_verbosity_error()
    pairs = make_pairs(asked.language, asked.seed, asked.output)
    print(f"{len(pairs)} pairs; accuracy en, accuracy {asked.language}, centred RankC")
    for name, raw_share in {"raw": 1.0, "switched": 0.7}.items():
        model, tokenizer = train(pairs, raw_share, asked)
        measure(name, model, tokenizer, asked.language, asked.output)


if __name__ == "__main__":
    main()
