"""What the bootstrap of a run draws: the units of the rows."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from polyprobe.analysis.options import CLUSTERS, Bootstrap
from polyprobe.metrics.rankc_subject.formulas import link_units
from polyprobe.metrics.shared.intervals import Resampling, choose_resamples, index_labels
from polyprobe.schema.columns import split_fact
from polyprobe.system.messages import PolyprobeError, check_option

ENOUGH_RELATIONS = 8


@dataclass
class Units:
    """What the bootstrap of a run's rows draws: options of figures of all rows, and of others."""

    n_resamples: int = 0  # 0: no intervals
    seed: int = 0
    clusters: list[str] | None = None  # of each row; None: rows are drawn
    within: list[str] | None = None  # for draws within a relation
    of_templates: Sequence[Hashable] | None = None  # for figures of templates
    linked: list[int] | None = None  # for figures of second questions, as `within` for a relation
    linked_within: list[int] | None = None
    average: str = "macro"  # of metric modules

    @classmethod
    def read(cls, table: pa.Table, bootstrap: Bootstrap, average: str = "macro") -> "Units":
        """Read the units of the rows of a run, of resolved options."""
        clusters = read_clusters(table, bootstrap.clusters)
        # To draw facts would leave their templates as they are, and of few relations a bootstrap
        # gives too short intervals.
        relations = table["relation"].to_pylist()
        within = read_clusters(table, bootstrap.clusters, within=True)
        n, kind = bootstrap.n_resamples or 0, bootstrap.clusters
        linked, inside = link_donors(table, kind), link_donors(table, kind, within=True)
        of_templates = relations if len({*relations}) >= ENOUGH_RELATIONS else linked
        return cls(n, bootstrap.seed, clusters, within, of_templates, linked, inside, average)

    def __post_init__(self) -> None:  # once: figures share them
        self.rows = Resampling(n_resamples=self.n_resamples, seed=self.seed, clusters=self.clusters)
        self.relation = self.rows._replace(clusters=self.within)
        self.templates = self.rows._replace(clusters=self.of_templates)
        self.second = self.rows._replace(clusters=self.linked)
        self.second_within = self.rows._replace(clusters=self.linked_within)
        self.modules = self.rows._replace(average=self.average)


def resolve_bootstrap(bootstrap: Bootstrap, table: pa.Table, n_languages: int) -> Bootstrap:
    """Choose the number of resamples and the unit that the rows get."""
    n_resamples = bootstrap.n_resamples
    if n_resamples is None:
        n_pairs = n_languages * (n_languages - 1) // 2
        n_resamples = choose_resamples(len(table), max(n_pairs, 1))
    clusters = resolve_clusters(table, bootstrap.clusters)
    return Bootstrap(n_resamples, bootstrap.seed, clusters)


def resolve_clusters(table: pa.Table, kind: str) -> str:
    """Choose the resampling unit: for `auto` `subject` if all fact ids name one, else `none`."""
    check_option("--cluster", kind, CLUSTERS)
    if kind != "auto":
        return kind
    return "subject" if all(map(split_fact, table["fact_id"].to_pylist())) else "none"


def read_clusters(table: pa.Table, kind: str, within: bool = False) -> list[str] | None:
    """Read the relation of each row, or the subject in its fact id; None for `none`.

    Rows of one fact (its templates) are one cluster even with `none`; `auto` is resolved. `within`
    a relation facts are drawn where the clusters are relations.
    """
    kind = resolve_clusters(table, kind)
    if kind == "none" or (within and kind == "relation"):
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


def link_donors(table: pa.Table, kind: str, within: bool = False) -> list[int] | None:
    """Number the clusters of second questions: facts that are linked by a subject or donor.

    They share sentences. `within` a relation, facts of other relations link nothing. None if a run
    has no donors: the clusters are those of other figures.
    """
    if "donor" not in table.column_names or table["donor"].null_count == len(table):
        return None
    kind = resolve_clusters(table, kind)
    relations = table["relation"].to_pylist()
    if kind == "relation" and not within:
        return index_labels(relations, len(table), "relations")[1].tolist()
    columns = [*zip(*(table[x].to_pylist() for x in ("fact_id", "donor")), relations, strict=True)]

    def name_all(place: int) -> list[tuple[str, str]]:
        facts = [(row[place] or row[0], row[2] if within else "") for row in columns]
        subject = kind == "subject"
        return [((split_fact(x) or (x, x))[1] if subject else x, part) for x, part in facts]

    return link_units(name_all(0), name_all(1))
