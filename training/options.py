"""The options of `polyprobe edit`."""

from dataclasses import dataclass
from pathlib import Path

from polyprobe.eval.options import DatasetOptions
from polyprobe.scoring.options import LoadingOptions
from polyprobe.system.options import option

METHODS = ("rome", "tune")


@dataclass(frozen=True)
class EditOptions(DatasetOptions, LoadingOptions):
    """Which facts are edited, how, and where the effect is measured."""

    source: str = option("en", "Language of the edits.")
    method: str = option(
        METHODS[0], "rome (rank one), or tune (fine-tuning of the weight).", choices=METHODS
    )
    layer: int | None = option(
        None, "Number of the layer, from 0 (default: after the first third).", minimum=0
    )
    facts: int = option(100, "Facts to edit, spread over all relations.", minimum=1)
    minimum_share: float = option(
        0.5, "Only facts with p(right) / (p(right) + p(target)) above it.", minimum=0, maximum=1
    )
    neighbours: int = option(10, "Other facts of the relation to measure.", minimum=0)
    contexts: int = option(
        10, "Sampled texts of 5, and of 10, tokens in front of the prompt.", minimum=0, maximum=100
    )
    moments: Path | None = option(
        None, "Text file of sentences for the second moments (default: those of the dataset)."
    )
    run: Path | None = option(
        None, "Run of the model on the dataset, for its consistency (default: make it)."
    )
