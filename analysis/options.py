"""Options that several analyses share: the rows, and how they are resampled."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyprobe.system.options import Options, option

if TYPE_CHECKING:  # imports pyarrow
    from polyprobe.schema.run.rows import Choice

CLUSTERS = ("auto", "none", "relation", "subject")


@dataclass(frozen=True)
class RowOptions(Options):
    """Which rows of a run are analysed."""

    relations: str | None = option(None, "Use only the rows of these relations, comma-separated.")
    exclude: str | None = option(
        None, "Exclude rows of these relations or with these flags (default: none)."
    )

    @property
    def choice(self) -> "Choice":
        """Choose the rows; all by default."""
        from polyprobe.schema.run.rows import make_choice

        return make_choice(self.relations, self.exclude)


@dataclass(frozen=True)
class Bootstrap(Options):
    """How the rows of a run are resampled for intervals, and the seed of other draws."""

    # of the facts, for all languages at once; see `intervals.choose_resamples` for None
    n_resamples: int | None = option(
        None,
        "Number of bootstrap resamples for the 95% intervals: 40 or more, or 0 for none (default: "
        "10,000 up to 50,000 facts x pairs of languages, else 1,000).",
        flag="--resamples",
        minimum=0,
        maximum=10_000_000,
    )
    seed: int = option(0, "Random seed.", minimum=0)
    clusters: str = option(
        "auto",
        "Resampling unit: subject, relation, none (each fact), or auto: subject if the fact ids "
        "name it, else none.",
        flag="--cluster",
        choices=CLUSTERS,
    )


@dataclass(frozen=True)
class BootstrapOptions(Bootstrap, RowOptions):
    """The rows of an analysis, and how they are resampled."""
