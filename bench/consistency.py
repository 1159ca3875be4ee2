"""Measure what an edit, rewards and code-switched sentences do to the consistency of geolm.

Switched sentences are tried on a masked twin of it too.

    python -m bench consistency [SEEDS] [CASES]        writes bench/consistency.md

Each seed teaches Greek on the facts of four countries in five; no Greek sentence has the facts of
the others, which are held out. Thai is the control: no training data are Thai. The English
sentences of all facts are training data too, so that English is not forgotten. CASES are names of
the table with commas; then no file is written.
"""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import torch
import transformers
from datasets import Dataset, disable_progress_bars
from scipy.stats import t as student

from polyprobe.analysis.edits import summarize_edits
from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.schema.load import load_facts
from polyprobe.training.collator import SwitchCollator
from polyprobe.training.edits import edit_facts
from polyprobe.training.options import EditOptions
from polyprobe.training.reward import Rewards
from polyprobe.training.switch import LinkedText, read_corpus, switch_sentences
from tests.making.trained_models import MODEL_RECIPES

from .geolm import train
from .machine import find_cpu

SOURCE, TAUGHT, CONTROL = "en", "el", "th"
TRAINING = {"causal": (750, 16, 3e-3), "mlm": (2000, 32, 1e-3)}  # steps, sentences of each, rate
PARTS = ("taught", "held out")
FIGURES = ("el-en", "th-en", "en", "el", "th")  # centred RankC of pairs, accuracy of languages
TITLES = ("RankC el–en", "RankC th–en", "accuracy en", "accuracy el", "accuracy th")
EDIT_FIGURES = ("right_before", "right_after", "flipped", "neighbours_before", "neighbours_after")
EDIT = "edit"
OUTPUT = Path(__file__).with_suffix(".md")
HEAD = """# Making a model consistent

`python -m bench consistency`; what it means stands in docs/consistent.md. Means of {n} seeds with
95% intervals by Student's t over the seeds; RankC is centred. {cpu}, one thread."""
Figures = dict[str, float]
EDITED = 30  # facts of each seed
EDIT_LANGUAGES = (SOURCE, "es", TAUGHT, CONTROL)
QUIET = {
    "use_cpu": True,
    "bf16": False,
    "report_to": [],
    "disable_tqdm": True,
    "save_strategy": "no",
    "logging_steps": 10**6,
}


class World(NamedTuple):
    """The facts of a seed, and sentences to train on."""

    seed: int
    folder: Path  # with a dataset for each part
    parts: Mapping[str, Mapping[str, Dataset]]  # by part and language
    corpus: LinkedText  # English of all facts, Greek of those that are taught


class Model(NamedTuple):
    """A network, its tokenizer, and the objective of its training."""

    network: Any
    tokenizer: Any
    objective: str


def open_model(name: str, twin: Path) -> Model:
    """Load what a case begins with: the masked twin, trained once, or geolm."""
    if not name.startswith("twin"):
        scorer = load_scorer("geolm")
        return Model(scorer.model, scorer.tokenizer, "causal")
    if not twin.exists():
        train(MODEL_RECIPES["masked"]._replace(is_split=True), twin)
    network = transformers.AutoModelForMaskedLM.from_pretrained(twin, dtype="float32")
    return Model(network, transformers.AutoTokenizer.from_pretrained(twin), "mlm")


def make_world(seed: int, folder: Path) -> World:
    """Divide the countries, as docs/examples/finetune.py does."""
    tables = load_facts("geofacts", None, [*EDIT_LANGUAGES])
    countries = tables[SOURCE]["subject_id"].to_pylist()
    names = sorted({*countries})
    away = {*random.Random(seed).sample(names, len(names) // 5)}
    held_out = [country in away for country in countries]
    parts = {
        part: {
            language: Dataset(table).select([k for k, x in enumerate(held_out) if x is is_away])
            for language, table in tables.items()
        }
        for part, is_away in zip(PARTS, (False, True), strict=True)
    }
    for part, tables in parts.items():
        for language, rows in tables.items():
            rows.to_parquet(folder / part / "data" / f"{language}-00000-of-00001.parquet")
    corpus = read_corpus(["geofacts"], [SOURCE, TAUGHT])
    greek = zip(corpus.sentences[TAUGHT], held_out, strict=True)
    corpus.sentences[TAUGHT][:] = [sentence for sentence, is_away in greek if not is_away]
    return World(seed, folder, parts, corpus)


def teach(model: Model, world: World, raw_share: float) -> None:
    """Train on raw sentences, or on pairs of them with switched ones."""
    steps, batch, rate = TRAINING[model.objective]
    arguments = transformers.TrainingArguments(
        str(world.folder / "trainer"), max_steps=steps, per_device_train_batch_size=batch,
        learning_rate=rate, remove_unused_columns=False, **QUIET,
    )  # fmt: skip
    collator = SwitchCollator(model.tokenizer, model.objective, raw_share=raw_share)
    pairs = [*switch_sentences(world.corpus, seed=world.seed)]
    trainer = transformers.Trainer(model.network, arguments, collator, pairs)
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()
    model.network.eval()


def prefer(model: Model, world: World, steps: int = 150) -> None:
    """Prefer the answers of English to geolm's own Greek ones, by DPO, on what is taught."""
    from trl import DPOConfig, DPOTrainer

    rows = read_rewards(model, world).list_preferences([TAUGHT])
    arguments = DPOConfig(
        str(world.folder / "dpo"), max_steps=steps, per_device_train_batch_size=16,
        learning_rate=3e-4, **QUIET,
    )  # fmt: skip
    reinforce(DPOTrainer, model, arguments, rows)


def reward(model: Model, world: World, steps: int = 100) -> None:
    """Reward the answers of English, by GRPO, on what is taught in Greek."""
    from trl import GRPOConfig, GRPOTrainer

    rewards = read_rewards(model, world)
    arguments = GRPOConfig(
        str(world.folder / "grpo"), max_steps=steps, per_device_train_batch_size=64,
        num_generations=16, max_completion_length=8, learning_rate=3e-4, beta=0.04, **QUIET,
    )  # fmt: skip
    rows = rewards.list_prompts([TAUGHT])
    reinforce(GRPOTrainer, model, arguments, rows, reward_funcs=rewards.consistency)


def read_rewards(model: Model, world: World) -> Rewards:
    """Evaluate the model on what is taught, for the answers that rewards compare."""
    run = world.folder / "run"
    evaluate_model(
        model.network,
        str(world.folder / PARTS[0]),
        tokenizer=model.tokenizer,
        languages=[SOURCE, TAUGHT],
        output=run,
    )
    return Rewards(run)


def reinforce(trainer: Any, model: Model, arguments: Any, rows: Any, **options: Any) -> None:
    """Train with a trainer of TRL."""
    data = Dataset.from_list([*rows])
    job = trainer(
        model.network, args=arguments, train_dataset=data, processing_class=model.tokenizer,
        **options,
    )  # fmt: skip
    job.remove_callback(transformers.PrinterCallback)
    job.train()
    model.network.eval()


def edit(world: World) -> dict[str, Any]:
    """Edit facts in English, one at a time, and return what it does in each language."""
    options = EditOptions(
        languages=[*EDIT_LANGUAGES], layer=0, contexts=0, facts=EDITED, run=world.folder / "held"
    )
    data = str(world.folder / PARTS[1])
    evaluate_model("geolm", data, languages=[*EDIT_LANGUAGES], output=options.run)
    edits = edit_facts("geolm", data, None, world.folder / "edits", options)
    return dict(summarize_edits(edits)["figures"])


def measure(model: Model, world: World) -> dict[str, Figures]:
    """Return the figures of each part."""
    figures = {}
    for part, tables in world.parts.items():
        results = evaluate_model(model.network, tables, tokenizer=model.tokenizer)
        pairs = results["rankc_subject"]
        values = {"el-en": pairs["en-el"], "th-en": pairs["en-th"], **results["accuracy"]}
        figures[part] = {name: values[name] for name in FIGURES}
    return figures


def describe(values: Sequence[float]) -> str:
    """Write the mean over seeds with its 95% interval by Student's t."""
    if len(values) < 2:
        return f"{fmean(values):.3f}"
    half = student.ppf(0.975, len(values) - 1) * stdev(values) / len(values) ** 0.5
    return f"{fmean(values):.3f} ± {half:.3f}"


def run_cases(world: World, names: Sequence[str]) -> dict[str, dict[str, Figures]]:
    """Return the figures of each case by part."""
    figures = {}
    for name in names:
        start = time.perf_counter()
        model = open_model(name, world.folder.parent / "twin")
        transformers.set_seed(world.seed)
        CASES[name](model, world)
        figures[name] = measure(model, world)
        print(f"seed {world.seed}, {name}: {time.perf_counter() - start:.0f} s, {figures[name]}")
    return figures


CASES: dict[str, Callable[[Model, World], None]] = {
    "geolm": lambda model, world: None,
    "raw": lambda model, world: teach(model, world, 1),
    "switched": lambda model, world: teach(model, world, 0.7),
    "DPO": prefer,
    "GRPO": reward,
    "twin": lambda model, world: None,
    "twin raw": lambda model, world: teach(model, world, 1),
    "twin switched": lambda model, world: teach(model, world, 0.7),
}


def main(argv: Sequence[str]) -> None:
    """Run the cases and write the tables."""
    seeds = range(int(argv[0]) if argv else 3)
    names = argv[1].split(",") if argv[1:] else [*CASES, EDIT]
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    disable_progress_bars()
    runs, edits = [], []
    with TemporaryDirectory() as folder:
        for seed in seeds:
            world = make_world(seed, Path(folder, str(seed)))
            runs.append(run_cases(world, [name for name in names if name != EDIT]))
            if EDIT in names:
                edits.append(edit(world))
    text = "\n\n".join(
        [HEAD.format(n=len(seeds), cpu=find_cpu()), tabulate(runs), tabulate_edits(edits)]
    )
    print(text)
    if not argv[1:]:
        OUTPUT.write_text(f"{text}\n", encoding="utf-8")


def tabulate(runs: Sequence[Mapping[str, Mapping[str, Figures]]]) -> str:
    """Return a table of means over seeds, a row for each case and part."""
    lines = [f"| model | facts | {' | '.join(TITLES)} |", "| --- | --- |" + " ---: |" * len(TITLES)]
    for name in runs[0]:
        for part in PARTS:
            cells = [describe([run[name][part][x] for run in runs]) for x in FIGURES]
            lines.append(f"| {name} | {part} | {' | '.join(cells)} |")
    return "\n".join(lines)


def tabulate_edits(edits: Sequence[Mapping[str, Any]]) -> str:
    """Return a table of means over seeds, a row for each language."""
    lines = [
        "| language | right before | right after | flipped | others before | others after |",
        "| --- |" + " ---: |" * len(EDIT_FIGURES),
    ]
    for x in EDIT_LANGUAGES if edits else ():
        cells = [describe([figures[x][name] for figures in edits]) for name in EDIT_FIGURES]
        lines.append(f"| {x} | {' | '.join(cells)} |")
    return "\n".join(lines)
