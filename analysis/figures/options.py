"""Options of a run's figures and intervals: averages, weights, ties; resamples and their units."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple

import pyarrow as pa

from polyprobe.metrics.shared.intervals import AVERAGES, Resampling, choose_resamples
from polyprobe.metrics.shared.ranks import TIES, WEIGHTS
from polyprobe.schema.identity import split_fact
from polyprobe.system.errors import PolyprobeError, check_option

from . import CLUSTERS, REPEATED_SUBJECTS, TEMPLATES

EVERY = "default"  # in `figures`: those of every run
ENOUGH_RELATIONS = 8


@dataclass(frozen=True)
class RankingOptions:
    """Options of the figures of candidates' scores.

    Attributes:
        weights: weights of the ranks in RankC (`ranks.WEIGHTS`; Qi et al. 2023, equations 5, 11 and
            12); its chance levels, floors and adjusted and corrected values follow.
        ties: `expected`, or `released`: of candidates with equal scores the earlier one ranks
            higher, as in the authors' programs; rank-biased overlap and tau-b stay as they are.
        figures: the only figures to compute, by name or module; `default` are those of every run.
            Empty: `default`.
        by_template: also the accuracy of each template and the split of the inconsistency.
        repeated_subjects: of paraphrase consistency: subjects with several objects in a relation
            are left out by their `id` in the fact id, as in the paper; by `label`, as in the
            released code (see `metrics/shared/subjects.py`); or not (`keep`).
        templates: of paraphrase consistency: `all`, or only those that a person `reviewed`.

    Raises:
        PolyprobeError: unknown names, but for those of figures (see `figures.choose_figures`).
    """

    weights: str = "softmax"
    ties: str = "expected"
    figures: tuple[str, ...] = ()
    by_template: bool = False
    repeated_subjects: str = "id"
    templates: str = "all"

    def __post_init__(self) -> None:
        """Refuse unknown names."""
        check_option("--weights", self.weights, [*WEIGHTS])
        check_option("--ties", self.ties, TIES)
        check_option("--repeated-subjects", self.repeated_subjects, REPEATED_SUBJECTS)
        check_option("--templates", self.templates, TEMPLATES)
        if isinstance(self.figures, str):
            raise PolyprobeError(f"figures={self.figures!r}; expected a list of names")


@dataclass(frozen=True)
class FillingOptions:
    """Options of the figures of free predictions.

    Attributes:
        length_norm: choose the filling that wins by the mean of log c, or by the sum; None: as the
            run did.
        max_masks: only fillings of at most so many masks; 1 is the protocol of earlier work; None:
            all.

    Raises:
        PolyprobeError: no mask at all.
    """

    length_norm: bool | None = None
    max_masks: int | None = None

    def __post_init__(self) -> None:
        """Refuse a number of masks below 1."""
        if self.max_masks is not None and self.max_masks < 1:
            raise PolyprobeError(f"--max-masks must be at least 1, got {self.max_masks}")


@dataclass(frozen=True)
class MetricOptions:
    """Options of the figures of a run; with the defaults results.json is that of a new run.

    Attributes:
        average: of metric modules: `macro`, the unweighted mean over relations, or `micro`, the
            mean over the rows of a language, as in the leaderboard of Polyglot or Not.
        ranking: those of candidates' scores.
        popularity: also the accuracy of each fifth of the facts by the dataset's column
            `popularity`.
        filling: those of free predictions.
    """

    average: str = "macro"
    ranking: RankingOptions = field(default_factory=RankingOptions)
    popularity: bool = False
    filling: FillingOptions = field(default_factory=FillingOptions)

    def __post_init__(self) -> None:
        """Refuse an unknown average."""
        check_option("--average", self.average, AVERAGES)

    @classmethod
    def of(cls, **values: Any) -> "MetricOptions":
        """Make the options of a flat list of values, such as that of the command line."""
        ranking, filling = (
            {x.name: values.pop(x.name) for x in fields(group) if x.name in values}
            for group in (RankingOptions, FillingOptions)
        )
        return cls(ranking=RankingOptions(**ranking), filling=FillingOptions(**filling), **values)

    @classmethod
    def read(cls, results: Mapping[str, Any]) -> "MetricOptions":
        """Read the options that results.json was computed with."""
        values = {**results.get("options", {})}
        return cls.of(**{**values, "figures": tuple(values.get("figures", ()))})

    def as_json(self) -> dict[str, Any]:
        """Make `options` of results.json: those that are not the default."""
        values, default = self._flatten(), MetricOptions()._flatten()
        changed = {name: x for name, x in values.items() if x != default[name]}
        return {name: [*x] if name == "figures" else x for name, x in changed.items()}

    def _flatten(self) -> dict[str, Any]:
        ranking, filling = asdict(self.ranking), asdict(self.filling)
        return {"average": self.average, **ranking, "popularity": self.popularity, **filling}

    @property
    def of_pairs(self) -> tuple[Any, ...]:
        """List what the figures that `compare` tests depend on."""
        return self.ranking.weights, self.ranking.ties, self.filling

    def take_ranking(self, folder: object) -> RankingOptions:
        """Take the options of a run that scores candidates; refuse those of free predictions."""
        if name := _find_change(self.filling):
            raise PolyprobeError(
                f"{name} is for runs with --scoring xfactr; {folder} has scores of candidates: "
                "leave it out"
            )
        return self.ranking

    def take_filling(self, folder: object) -> FillingOptions:
        """Take the options of a run with free predictions; refuse those of rankings."""
        if name := _find_change(self.ranking):
            raise PolyprobeError(
                f"{name} is for runs that score candidates; {folder} holds free predictions: "
                "leave it out"
            )
        return self.filling


def _find_change(options: RankingOptions | FillingOptions) -> str:
    """Find the first option that is not the default, as on the command line; empty for none."""
    default = type(options)()
    names = (
        x.name for x in fields(options) if getattr(options, x.name) != getattr(default, x.name)
    )
    return next((f"--{name.replace('_', '-')}" for name in names), "")


def describe_options(results: Mapping[str, Any]) -> str:
    """Describe the options of results.json; empty for the default ones.

    >>> describe_options({"options": {"weights": "norm1", "figures": ["rankc", "accuracy"]}})
    'weights norm1; figures rankc, accuracy'
    """
    return "; ".join(
        name if x is True else f"{name} {', '.join(x) if isinstance(x, list) else x}"
        for name, x in results.get("options", {}).items()
    )


class Bootstrap(NamedTuple):
    """Options of a run's bootstrap intervals.

    Attributes:
        n_resamples: resamples of the facts, for all languages at once; 0 for no intervals; None:
            `intervals.choose_resamples` of the facts and pairs of languages.
        seed: random seed.
        clusters: resampling unit: `none` (each fact), `relation`, `subject`, or `auto`, see
            `resolve_clusters`.
    """

    n_resamples: int | None = None
    seed: int = 0
    clusters: str = "auto"

    def resolve(self, table: pa.Table, n_languages: int) -> "Bootstrap":
        """Choose the number of resamples and the unit that the rows get."""
        n_resamples, pairs = self.n_resamples, n_languages * (n_languages - 1) // 2
        if n_resamples is None:
            n_resamples = choose_resamples(len(table), max(pairs, 1))
        return Bootstrap(n_resamples, self.seed, resolve_clusters(table, self.clusters))


class Units(NamedTuple):
    """What the bootstrap of a run's rows draws.

    Attributes:
        n_resamples: number of resamples; 0: no intervals.
        seed: seed of the draws.
        clusters: label of each row's unit; None: rows are drawn.
        within: the same for draws within a relation.
        of_templates: the same for figures of templates.
        average: average of metric modules.
    """

    n_resamples: int = 0
    seed: int = 0
    clusters: list[str] | None = None
    within: list[str] | None = None
    of_templates: list[str] | None = None
    average: str = "macro"

    @classmethod
    def read(cls, table: pa.Table, bootstrap: Bootstrap, average: str = "macro") -> "Units":
        """Read the units of the rows of a run, of resolved options."""
        clusters = read_clusters(table, bootstrap.clusters)
        of_templates = _read_template_clusters(table) or clusters
        within = clusters_within(table, bootstrap.clusters)
        n_resamples = bootstrap.n_resamples or 0
        return cls(n_resamples, bootstrap.seed, clusters, within, of_templates, average)

    @property
    def rows(self) -> Resampling:
        """Make the options of a figure of all rows."""
        return Resampling(n_resamples=self.n_resamples, seed=self.seed, clusters=self.clusters)

    @property
    def templates(self) -> Resampling:
        """Make the options of a figure of templates."""
        return self.rows._replace(clusters=self.of_templates)

    @property
    def modules(self) -> Resampling:
        """Make the options of a metric module, without the groups."""
        return self.rows._replace(average=self.average)


def resolve_clusters(table: pa.Table, kind: str) -> str:
    """Choose the resampling unit: for `auto` `subject` if all fact ids name one, else `none`.

    Raises:
        PolyprobeError: an unknown kind.
    """
    check_option("--cluster", kind, CLUSTERS)
    if kind != "auto":
        return kind
    return "subject" if all(map(split_fact, table["fact_id"].to_pylist())) else "none"


def read_clusters(table: pa.Table, kind: str) -> list[str] | None:
    """Read the relation of each row, or the subject in its fact id; None for `none`.

    Rows of one fact (its templates) are one cluster even with `none`; `auto` is resolved.

    Raises:
        PolyprobeError: an unknown kind, or fact ids without a subject (RELATION:SUBJECT:OBJECT).
    """
    kind = resolve_clusters(table, kind)
    if kind == "none":
        facts = table["fact_id"].to_pylist()
        return facts if len(set(facts)) < len(facts) else None
    if kind == "relation":
        return table["relation"].to_pylist()
    subjects = []
    for fact in table["fact_id"].to_pylist():
        parts = split_fact(fact)
        if parts is None:
            raise PolyprobeError(
                f"--cluster subject: the fact id {fact!r} names no subject; use --cluster "
                "relation, or a dataset with ids as P36:Q142:Q90 (17-repaired, 53-repaired)"
            )
        subjects.append(parts[1])
    return subjects


def _read_template_clusters(table: pa.Table) -> list[str] | None:
    """Read the relation of each row, the resampling unit of figures of templates.

    Facts would be drawn with the templates as they are. None for fewer relations than
    `ENOUGH_RELATIONS`, of which a bootstrap gives too short intervals.
    """
    relations: list[str] = table["relation"].to_pylist()
    return relations if len({*relations}) >= ENOUGH_RELATIONS else None


def clusters_within(table: pa.Table, kind: str) -> list[str] | None:
    """Read the clusters that are drawn within a relation: facts, where those are relations."""
    return read_clusters(table, "none" if kind == "relation" else kind)
