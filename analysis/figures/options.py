"""Options of a run's figures and intervals: averages, weights, ties; resamples and their units."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from polyprobe.metrics.shared.intervals import AVERAGES, choose_resamples
from polyprobe.metrics.shared.ranks import TIES, WEIGHTS
from polyprobe.schema.identity import split_fact
from polyprobe.system.errors import PolyprobeError, check_option

from . import CLUSTERS, REPEATED_SUBJECTS, TEMPLATES

OF_PREDICTIONS = ("length_norm", "max_masks")
EVERY = "default"  # in `figures`: those of every run


class MetricOptions(NamedTuple):
    """Options of the figures of a run; with the defaults results.json is that of a new run.

    Attributes:
        average: of metric modules: `macro`, the unweighted mean over relations, or `micro`, the
            mean over the rows of a language, as in the leaderboard of Polyglot or Not.
        weights: weights of the ranks in RankC (`ranks.WEIGHTS`; Qi et al. 2023, equations 5, 11 and
            12); its chance levels, floors and adjusted and corrected values follow.
        ties: `expected`, or `released`: of candidates with equal scores the earlier one ranks
            higher, as in the authors' programs; rank-biased overlap and tau-b stay as they are.
        figures: the only figures to compute, by name or module; `default` are those of every run.
            Empty: `default`.
        popularity: also the accuracy of each fifth of the facts by the dataset's column
            `popularity`.
        by_template: also the accuracy of each template and the split of the inconsistency.
        length_norm: of free predictions: choose the filling that wins by the mean of log c, or by
            the sum; None: as the run did.
        max_masks: of free predictions: only fillings of at most so many masks; 1 is the protocol
            of earlier work; None: all.
        repeated_subjects: of paraphrase consistency: subjects with several objects in a relation
            are left out by their `id` in the fact id, as in the paper; by `label`, as in the
            released code (see `metrics/shared/subjects.py`); or not (`keep`).
        templates: of paraphrase consistency: `all`, or only those that a person `reviewed`.
    """

    average: str = "macro"
    weights: str = "softmax"
    ties: str = "expected"
    figures: tuple[str, ...] = ()
    popularity: bool = False
    by_template: bool = False
    length_norm: bool | None = None
    max_masks: int | None = None
    repeated_subjects: str = "id"
    templates: str = "all"

    @classmethod
    def read(cls, results: Mapping[str, Any]) -> "MetricOptions":
        """Return the options that results.json was computed with."""
        given = results.get("options", {})
        return cls(**{**given, "figures": tuple(given.get("figures", ()))})

    def as_json(self) -> dict[str, Any]:
        """Return `options` of results.json: those that are not the default."""
        default = DEFAULTS._asdict()
        chosen = {name: x for name, x in self._asdict().items() if x != default[name]}
        return {name: [*x] if name == "figures" else x for name, x in chosen.items()}

    def check(self) -> None:
        """Refuse unknown names, but for those of figures (see `figures.choose_figures`)."""
        check_option("--average", self.average, AVERAGES)
        check_option("--weights", self.weights, [*WEIGHTS])
        check_option("--ties", self.ties, TIES)
        check_option("--repeated-subjects", self.repeated_subjects, REPEATED_SUBJECTS)
        check_option("--templates", self.templates, TEMPLATES)
        if self.max_masks is not None and self.max_masks < 1:
            raise PolyprobeError(f"--max-masks must be at least 1, got {self.max_masks}")
        if isinstance(self.figures, str):
            raise PolyprobeError(f"figures={self.figures!r}; expected a list of names")

    @property
    def of_paraphrases(self) -> list[str]:
        """Return the options of paraphrase consistency that are not the default."""
        chosen = self.as_json()
        names = ("repeated_subjects", "templates")
        return [name.replace("_", "-") for name in names if name in chosen]

    @property
    def of_pairs(self) -> tuple[Any, ...]:
        """Return what the figures that `compare` tests depend on."""
        return self.weights, self.ties, self.length_norm, self.max_masks

    def check_run(self, kind: str, folder: object) -> None:
        """Refuse options of rankings for a run of free predictions, and the other way round."""
        given = [name for name in self.as_json() if name not in ("average", "popularity")]
        free = [name for name in given if name in OF_PREDICTIONS]
        ranked = [name for name in given if name not in OF_PREDICTIONS]
        if kind == "predictions" and ranked:
            raise PolyprobeError(
                f"--{ranked[0].replace('_', '-')} is for runs that score candidates; {folder} "
                "holds free predictions: leave it out"
            )
        if kind == "scores" and free:
            raise PolyprobeError(
                f"--{free[0].replace('_', '-')} is for runs with --scoring xfactr; {folder} has "
                "scores of candidates: leave it out"
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
        """Return the options with the number of resamples and the unit that the rows get."""
        n_resamples, pairs = self.n_resamples, n_languages * (n_languages - 1) // 2
        if n_resamples is None:
            n_resamples = choose_resamples(len(table), max(pairs, 1))
        return Bootstrap(n_resamples, self.seed, resolve_clusters(table, self.clusters))


ENOUGH_RELATIONS = 8
DEFAULTS, BOOTSTRAP = MetricOptions(), Bootstrap()


def describe_options(results: Mapping[str, Any]) -> str:
    """Return the options of results.json in words; empty for the default ones.

    >>> describe_options({"options": {"weights": "norm1", "figures": ["rankc", "accuracy"]}})
    'weights norm1; figures rankc, accuracy'
    """
    given = results.get("options", {})
    return "; ".join(
        name if x is True else f"{name} {', '.join(x) if isinstance(x, list) else x}"
        for name, x in given.items()
    )


def resolve_clusters(table: pa.Table, kind: str) -> str:
    """Return the resampling unit: for `auto` `subject` if all fact ids name one, else `none`.

    Raises:
        PolyprobeError: an unknown kind.
    """
    check_option("--cluster", kind, CLUSTERS)
    if kind != "auto":
        return kind
    return "subject" if all(map(split_fact, table["fact_id"].to_pylist())) else "none"


def read_clusters(table: pa.Table, kind: str) -> list[str] | None:
    """Return the relation of each row, or the subject in its fact id; None for `none`.

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


def read_template_clusters(table: pa.Table) -> list[str] | None:
    """Return the relation of each row, the resampling unit of figures of templates.

    Facts would be drawn with the templates as they are. None for fewer relations than
    `ENOUGH_RELATIONS`, of which a bootstrap gives too short intervals.
    """
    relations: list[str] = table["relation"].to_pylist()
    return relations if len({*relations}) >= ENOUGH_RELATIONS else None


def clusters_within(table: pa.Table, kind: str) -> list[str] | None:
    """Return the clusters that are drawn within a relation: facts, where those are relations."""
    return read_clusters(table, "none" if kind == "relation" else kind)
