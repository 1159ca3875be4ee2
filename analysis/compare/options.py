"""The options of a comparison: the tests, the rows, and measures of two wordings."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from polyprobe.analysis.options import BootstrapOptions
from polyprobe.metrics.joint import CORRECTIONS, TESTS
from polyprobe.schema.languages import split_list
from polyprobe.system.messages import check_option
from polyprobe.system.options import Options, option

CHRF_UNITS = ("sentence", "prompt")
REFERENCE_FREE = "Unbabel/wmt22-cometkiwi-da"
_gate = partial(option, panel="Gate (status 0: kept, 1: lost, 2: not decidable)")
_wording = partial(option, panel="Wordings (CONFIG, CONFIG-sentence, CONFIG-chatgpt)")


@dataclass(frozen=True)
class SignificanceOptions(BootstrapOptions):
    """How differences are tested, and over which of the common rows."""

    test: str = option(
        "randomisation", "randomisation (approximate, swaps facts) or bootstrap.", choices=TESTS
    )
    correction: str = option(
        "holm",
        "Over languages or pairs: holm, bh (Benjamini-Hochberg) or none.",
        choices=CORRECTIONS,
    )
    n_resamples: int = option(
        10_000,
        "Number of permutations and bootstrap resamples: 40 or more, or 0 for neither tests nor "
        "intervals.",
        flag="--resamples",
        minimum=0,
        maximum=10_000_000,
    )
    by_relation: bool = option(False, "Also test the means of each relation.")

    @property
    def keywords(self) -> dict[str, Any]:
        """List the keywords of `runs.compare_runs`."""
        names = ("test", "correction", "n_resamples", "seed", "clusters")
        return {"choice": self.choice, **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True)
class WordingOptions(Options):
    """Measures of wordings that need more than the runs and their datasets."""

    gender: Path | None = _wording(
        None,
        "TSV of subject ids and female, male or none: verb forms and recall of facts about women "
        "and men.",
    )
    verb_forms: Path | None = _wording(
        None,
        "TSV of relation, language, masculine and feminine form (default: P19 and P20 in cs, hr, "
        "ru, uk).",
        needs="--gender FILE",
    )
    chrf_on: str = _wording(
        "sentence",
        "chrF of the wording with the template as reference: sentence, or prompt (the text up to "
        "the slot).",
        choices=CHRF_UNITS,
    )
    comet: str | None = _wording(None, "Path of comet-score, which estimates quality.")
    comet_model: str | None = _wording(
        None,
        "Reference-free model on the Hub, or a checkpoint (default: wmt22-cometkiwi-da).",
        needs="--comet COMMAND",
    )

    @property
    def requests(self) -> list[str]:
        """List the measures that were asked for, which are of two wordings only."""
        values = {
            "--gender": self.gender,
            "--comet": self.comet,
            "--chrf-on": self.chrf_on != CHRF_UNITS[0],
        }
        return [flag for flag, value in values.items() if value]


def check_figures(names: str) -> None:
    """Refuse names of figures that `compare` does not test."""
    from polyprobe.analysis.figures.figures import FIGURES

    for name in split_list(names) or [""]:
        check_option("--fail-if", name.partition(".")[0], [x.name for x in FIGURES if x.compared])


@dataclass(frozen=True)
class ComparisonOptions(WordingOptions, SignificanceOptions):
    """All options of a comparison of runs."""

    fail_if: str | None = _gate(
        None,
        "Figures that RUN_B must not lose: their means, or accuracy.fr, rankc.en-fr for one value.",
        metavar="FIGURE[,FIGURE]",
        check=check_figures,
    )
    margin: float = _gate(
        0.0,
        "Loss that is accepted; a figure is lost if its loss is larger with 95% confidence.",
        minimum=0,
        maximum=1,
        needs="--fail-if FIGURES",
    )
    strict: bool = _gate(
        False,
        "Lost also where a loss larger than the margin cannot be excluded with 95% confidence.",
        needs="--fail-if FIGURES",
    )


NO_OPTIONS = WordingOptions()
