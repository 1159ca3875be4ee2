"""Correlates of consistency between languages: shared subwords, kinship, accuracy, any table."""

from dataclasses import dataclass
from pathlib import Path

from polyprobe.analysis.options import BootstrapOptions
from polyprobe.schema.languages import TRAITS
from polyprobe.system.messages import PolyprobeError, check_option, check_path
from polyprobe.system.options import option

SUBWORDS, ACCURACY = "subwords", "accuracy"
ACCURACIES = ("accuracy_min", "accuracy_product", "accuracy_difference")
DISTANCES = ("genetic", "geographic", "phonological", "syntactic", "inventory")  # of URIEL
NAMES = (SUBWORDS, *DISTANCES, *TRAITS, ACCURACY, *ACCURACIES)
FILLED, PROMPTS = "filled", "prompts"  # corpora from the run's own rows


def check_with(item: str, option: str = "--with") -> None:
    """Refuse an item that is neither a name nor a file or folder."""
    if item not in NAMES and not Path(item).exists():
        check_path(option, item)
        check_option(option, item, [*NAMES, "a TSV file", "a run folder"])


def check_control(item: str) -> None:
    """Refuse what cannot be controlled for: an unknown item, or several similarities."""
    check_with(item, "--given")
    if item == ACCURACY:
        raise PolyprobeError(f"--given takes one similarity: {', '.join(ACCURACIES)}")


@dataclass(frozen=True)
class RelateOptions(BootstrapOptions):
    """What is correlated, over which languages, and how it is tested."""

    of: str = option("rankc", "Figure of pairs: rankc, rankc_adjusted, rankc_subject, coverlap, …")
    control: str | None = option(
        None,
        "Also report partial correlations that control for this similarity.",
        flag="--given",
        metavar="WHAT",
        check=check_control,
    )
    languages: str | None = option(None, "Comma-separated language codes (default: all).")
    corpus: str = option(
        FILLED,
        "Corpus for subwords: filled (prompts with each candidate), prompts, a folder with a file "
        "for each language (eng_Latn.devtest), or a dataset with a split for each language.",
    )
    tokenizer: str | None = option(
        None, "Tokenizer for subwords: a model (default: that of the run)."
    )
    by_query: bool = option(False, "Also correlate subword overlap with RankC over single queries.")
    n_resamples: int = option(
        10_000,
        "Number of permutations of the languages, and maximum number of bootstrap resamples.",
        flag="--resamples",
        minimum=1,
        maximum=1_000_000,
    )
    within: str | None = option(
        None,
        f"Permute languages only within the same {', '.join(TRAITS[:-1])} or {TRAITS[-1]}.",
        choices=TRAITS,
    )

    def check(self) -> None:
        """Refuse single queries of another corpus."""
        super().check()
        if self.by_query and self.corpus not in (FILLED, PROMPTS):
            raise PolyprobeError(
                f"--by-query requires --corpus {FILLED} or {PROMPTS}; got {self.corpus}"
            )


DEFAULTS = RelateOptions()
