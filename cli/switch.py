"""`polyprobe switch`: write code-switched sentences for training."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from polyprobe.schema.languages import split_list
from polyprobe.system.files import write_text
from polyprobe.system.messages import PolyprobeError, explain_missing_extras
from polyprobe.system.options import Options, option
from polyprobe.training import FREQUENCY, LABEL

from .options import parse_splits, say, take_options


@dataclass(frozen=True)
class SwitchOptions(Options):
    """Which sentences are switched, and which names they get."""

    config: str | None = option(None, "Configuration of the dataset.")
    labels: str | None = option(None, "LANG=FILE,… of labels: lines of entity, tab, name.")
    names: str = option(
        FREQUENCY, "By frequency in the other sentences, or label.", choices=(FREQUENCY, LABEL)
    )
    tokenizer: str | None = option(None, "Model whose tokens are counted (default: words).")
    seed: int = option(0, "Seed of the drawn names.", minimum=0)


@take_options(SwitchOptions)
def switch(
    sources: Annotated[
        list[str], typer.Argument(help="A dataset, or LANG=FILE (.jsonl, or X-FACTR's format).")
    ],
    languages: Annotated[str, typer.Option(help="Codes: the first is paired with each other.")],
    output: Annotated[Path, typer.Option(help="JSON lines of raw and switched sentences.")],
    options: SwitchOptions,
) -> None:
    """Replace the names in linked sentences by those of another language, for training."""
    from polyprobe.training.switch import read_corpus, switch_sentences  # imports pyarrow

    tokenizer = None
    if options.tokenizer:
        with explain_missing_extras("counting tokens"):
            from polyprobe.scoring.weights.places import find_tokenizer, load_tokenizer

            tokenizer = load_tokenizer(find_tokenizer(options.tokenizer))
    splits, labels = parse_splits(languages) or [], split_list(options.labels)
    corpus = read_corpus(sources, splits, options.config, labels, tokenizer)
    pairs = [*switch_sentences(corpus, options.names, options.seed)]
    if not pairs:
        text = "no mention has a name in another language; datasets need ids of subjects and "
        raise PolyprobeError(f"{text}candidates, linked text the same entities or --labels")
    lines = (json.dumps(pair, ensure_ascii=False) + "\n" for pair in pairs)
    write_text(output, "".join(lines), "choose another --output")
    say(*(f"{name}: {n:,}" for name, n in corpus.counts.items()))
    say(f"Wrote {output}.")
