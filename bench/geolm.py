"""Train a small model on facts of a few languages: that of the demo, `geolm`.

    python -m bench geolm scoring/embedded/geolm

It sees only the correct sentences of geofacts in a few languages, so the correct results are
known: in these languages it knows the facts and is consistent; in others it can only guess, except
for names with the same spelling. The tests train masked and encoder-decoder models in the same way.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from rich.progress import track
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from polyprobe.schema.columns import SLOT
from polyprobe.schema.load import load_facts
from polyprobe.scoring.embedded import TRAINED
from polyprobe.scoring.engine import Input, Plan
from polyprobe.scoring.scorers import FAMILIES, Scorer

_SEED = 20
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<extra_id_0>", "<extra_id_1>"]
_NAMES = {
    "bos_token": "<s>",
    "pad_token": "<pad>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
    "mask_token": "<mask>",
    "additional_special_tokens": SPECIAL[5:],
}


class ModelRecipe(NamedTuple):
    """How a model is built and trained."""

    family: str  # its family, one of `FAMILIES`
    network: Any  # the model's class
    config: Any  # its configuration; the vocabulary's size is filled in
    template: str  # the special tokens around a sentence, in the tokenizer's notation
    vocabulary: int  # the largest number of pieces of the tokenizer
    languages: tuple[str, ...]  # the languages of the training sentences
    epochs: int  # passes over the sentences
    rate: float  # the highest learning rate
    is_split: bool = False  # blanks are pieces, so that a name is the same in a slot and in text


IDS = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}  # by their places in SPECIAL
GEOLM = ModelRecipe(
    "causal",
    LlamaForCausalLM,
    LlamaConfig(
        hidden_size=128,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=384,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        **IDS,
    ),
    template="<s> $A",
    vocabulary=4096,
    languages=TRAINED,
    epochs=30,
    rate=3e-3,
)


def train(recipe: ModelRecipe, output: Path) -> float:
    """Train a model, save it and its tokenizer, and return the loss of the last epoch."""
    # One thread, because the order of sums depends on the number of threads: the same machine and
    # versions give the same bytes
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(_SEED)
    facts = load_facts("geofacts")
    tokenizer = _tokenizer(facts, recipe)
    recipe.config.vocab_size = len(tokenizer)
    scorer = FAMILIES[recipe.family].scorers["bmlama"](recipe.network(recipe.config), tokenizer)
    loss = _fit(scorer, _plan_correct(scorer, facts, recipe.languages), recipe)
    # Half of the size in the repository; the models are loaded in float32.
    scorer.model.half().save_pretrained(output)
    tokenizer.save_pretrained(output)
    return loss


def _tokenizer(facts: dict[str, Any], recipe: ModelRecipe) -> PreTrainedTokenizerFast:
    """Return a byte-level BPE tokenizer trained on all languages, without unknown tokens."""
    tokenizer = Tokenizer(models.BPE())
    # All 256 bytes are in the alphabet, so that no script is unknown.
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if recipe.is_split:
        blanks = pre_tokenizers.Split(" ", "isolated")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([blanks, tokenizer.pre_tokenizer])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=recipe.vocabulary,
        special_tokens=SPECIAL,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_all_text(facts), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=recipe.template, special_tokens=[(t, SPECIAL.index(t)) for t in ("<s>", "</s>")]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=512, **_NAMES)


def _all_text(facts: dict[str, Any]) -> Iterator[str]:
    for _, table in sorted(facts.items()):
        for row in table.to_pylist():
            yield row["prompt"].replace(SLOT, row["candidates"][row["answers"][0]])


def _plan_correct(scorer: Scorer, facts: dict[str, Any], languages: tuple[str, ...]) -> Plan:
    """Return the scorer's plan for the correct answers: the model is trained on its reads."""
    rows = [row for language in languages for row in facts[language].to_pylist()]
    answers = [[row["candidates"][row["answers"][0]]] for row in rows]
    return scorer.prepare([row["prompt"] for row in rows], answers).plan


def _fit(scorer: Scorer, plan: Plan, recipe: ModelRecipe) -> float:
    inputs = list(plan.reads)
    steps = recipe.epochs * -(-len(inputs) // 64)
    optimizer = torch.optim.AdamW(scorer.model.parameters(), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, recipe.rate, total_steps=steps)
    scorer.model.train()
    total = 0.0
    for _ in track(range(recipe.epochs), "training"):
        total = 0.0
        for batch in _batches(inputs):
            loss = torch.nn.functional.cross_entropy(*scorer.engine.read(plan, batch))
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(scorer.model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += loss.item() * len(batch)
    return total / len(inputs)


def _batches(inputs: list[Input], size: int = 64) -> Iterator[list[Input]]:
    """Yield batches of inputs of similar length, in random order."""
    order = [inputs[k] for k in torch.randperm(len(inputs)).tolist()]
    order.sort(key=lambda row: row.length)
    starts = range(0, len(order), size)
    for batch in torch.randperm(len(starts)).tolist():
        yield order[starts[batch] : starts[batch] + size]


def main(argv: Sequence[str]) -> None:
    """Train geolm and write it to a folder."""
    print(f"loss {train(GEOLM, Path(argv[0])):.4f}")
