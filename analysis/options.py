"""Options that several analyses share: the rows, and how they are resampled."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyprobe.analysis.figures import CLUSTERS
from polyprobe.system.options import Options, option

if TYPE_CHECKING:  # imports pyarrow
    from polyprobe.analysis.figures.units import Bootstrap
    from polyprobe.schema.run.rows import Choice


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
class SampleOptions(RowOptions):
    """Also in which units rows are resampled."""

    seed: int = option(0, "Random seed.", minimum=0)
    cluster: str = option(
        "auto",
        "Resampling unit: subject, relation, none (each fact), or auto: subject if the fact ids "
        "name it, else none.",
        choices=CLUSTERS,
    )


@dataclass(frozen=True)
class BootstrapOptions(SampleOptions):
    """The bootstrap intervals of an analysis."""

    resamples: int | None = option(
        None,
        "Number of bootstrap resamples for the 95% intervals: 40 or more, or 0 for none (default: "
        "10,000 up to 50,000 facts x pairs of languages, else 1,000).",
        minimum=0,
        maximum=10_000_000,
    )

    @property
    def bootstrap(self) -> "Bootstrap":
        """Combine the options of the intervals."""
        from polyprobe.analysis.figures.units import Bootstrap

        return Bootstrap(self.resamples, self.seed, self.cluster)
