"""Deal the donors: the subject about which each fact is asked a second time.

A subject of the relation with another answer can be a donor. Two facts that share a subject or a
donor share scores, so they are one unit of a test. Donors are therefore dealt in pairs of subjects
that serve each other, the same pair in every relation where both occur: few facts depend on each
other, and each subject serves about equally often.
"""

from collections import Counter, defaultdict
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from scipy.cluster.hierarchy import DisjointSet
from scipy.optimize import linear_sum_assignment

from polyprobe.schema.columns import name_candidates, name_subjects
from polyprobe.system.files import hash_text

Key = tuple[str, int]  # a relation and a part of its subjects
_LARGEST = 1000  # subjects of a part, of which all pairs are compared
# Costs of a pair: none if it can serve, small if it joins two units, less if it cannot serve in
# another relation of its subjects.
_NEVER, _JOIN, _ELSEWHERE = 1000.0, 1.0, 0.2


class Donors(NamedTuple):
    """The donors of a split; None for a row without one."""

    rows: list[int | None]  # the donor's row, whose sentence is asked
    answers: list[list[int] | None]  # places of the donor's answers among the row's candidates
    sizes: list[int]  # candidates of each row; a language with another number has no donor there


class _Dealer:
    """The rows of a split, and who can serve whom."""

    def __init__(self, table: pa.Table) -> None:
        columns = table.select(["relation", "prompt", "answers"]).to_pydict()
        self.prompts, self.subjects = columns["prompt"], name_subjects(table)
        self.templates = [""] * len(table)  # without templates all rows are alike
        if "template_id" in table.column_names:
            self.templates = table["template_id"].to_pylist()
        rows_of: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for row, pair in enumerate(zip(columns["relation"], self.subjects, strict=True)):
            rows_of[pair[0]][pair[1]].append(row)
        # Equal splits have equal donors, whatever the order of their subjects.
        self.rows: dict[Key, dict[str, list[int]]] = defaultdict(dict)
        for relation, members in rows_of.items():
            n_parts = -(-len(members) // _LARGEST)
            for place, subject in enumerate(sorted(members, key=hash_text)):
                key = relation, place * n_parts // len(members)
                self.rows[key][subject] = members[subject]
        self.names = name_candidates(table)
        self.right = [
            frozenset(names[k] for k in answers)
            for names, answers in zip(self.names, columns["answers"], strict=True)
        ]
        self.answers = {
            (key, x): frozenset[str]().union(*(self.right[row] for row in rows))
            for key, of in self.rows.items()
            for x, rows in of.items()
        }
        self.allowed = {key: self._allow(key) for key in self.rows}
        self.units = DisjointSet(self.subjects)  # of subjects that are linked as subject and donor

    def can_serve(self, row: int, key: Key, donor: str, place: int | None) -> bool:
        """Tell whether a subject with another answer and sentence leaves the row two candidates."""
        answers = self.answers[key, donor]
        several = len(answers.union(self.names[row])) - len(answers) > 1
        asks = place is not None and self.prompts[place] != self.prompts[row]
        return asks and donor != self.subjects[row] and several and not answers & self.right[row]

    def _allow(self, key: Key) -> np.ndarray:
        """Mark the pairs of subjects that can serve each other [subjects, subjects]."""
        of = self.rows[key]
        answers = [self.answers[key, x] for x in of]
        number = {name: n for n, name in enumerate(sorted(frozenset[str]().union(*answers)))}
        marks: np.ndarray = np.zeros((len(of), len(number)), dtype=np.float32)
        for place, names in enumerate(answers):
            marks[place, [number[name] for name in names]] = 1
        allowed: np.ndarray = marks @ marks.T == 0
        for place, rows in enumerate(of.values()):
            for row in rows:
                inside = [number[name] for name in self.names[row] if name in number]
                allowed[place] &= len(self.names[row]) - marks[:, inside].sum(axis=1) > 1
        return allowed & allowed.T

    def count_conflicts(self, key: Key) -> np.ndarray:
        """Count the other relations in which each pair of subjects cannot serve each other."""
        subjects = [*self.rows[key]]
        occurrences, pairs = np.zeros(len(subjects)), np.zeros((len(subjects),) * 2)
        for another, of in self.rows.items():
            places = [k for k, x in enumerate(subjects) if x in of]
            if another != key and places:
                number = {x: n for n, x in enumerate(of)}
                inside = [number[subjects[k]] for k in places]
                occurrences[places] += 1
                pairs[np.ix_(places, places)] += self.allowed[another][np.ix_(inside, inside)]
        return occurrences[:, None] + occurrences - 2 * pairs

    def pair_subjects(self, key: Key) -> dict[str, str]:
        """Pair the subjects of a relation; one without a partner has no entry."""
        subjects, allowed = [*self.rows[key]], self.allowed[key]
        units = np.array([self.units[x] for x in subjects])
        cost = _JOIN * (units[:, None] != units) + _ELSEWHERE * self.count_conflicts(key)
        cost = np.where(allowed, cost, _NEVER)
        # The assignment gives each subject one donor; its paths and cycles are cut into pairs.
        links: list[set[int]] = [set() for _ in subjects]
        for first, second in zip(*map(np.ndarray.tolist, linear_sum_assignment(cost)), strict=True):
            if allowed[first, second]:
                links[first].add(second)
                links[second].add(first)
        partners: dict[int, int] = {}
        for start in sorted(range(len(subjects)), key=lambda k: (len(links[k]), k)):
            place: int | None = None if start in partners else start
            while place is not None and (choices := links[place] - partners.keys()):
                partner = min(choices, key=lambda k: (cost[place, k], k))
                partners[place], partners[partner] = partner, place
                place = min(links[partner] - partners.keys(), default=None)
        # Those that are left are paired; the last makes a circle of three with a pair.
        rest = [place for place in range(len(subjects)) if place not in partners]
        for place in (place for place in rest if place not in partners):
            free = [x for x in rest if x not in partners and allowed[place, x]]
            pairs = [x for x, y in partners.items() if partners[y] == x]
            pairs = [x for x in pairs if allowed[place, [x, partners[x]]].all()]
            for first in sorted(free or pairs, key=lambda k: (cost[place, k], k))[:1]:
                partners[place] = first
                partners[partners.get(first, first)] = place
        return {subjects[first]: subjects[second] for first, second in partners.items()}


def deal_donors(table: pa.Table) -> Donors:
    """Deal the rows of a split their donors."""
    # The choice depends on the split alone, not on the rows that a run samples. With ids every
    # split of a dataset gives the same donors; without them labels of the language are compared.
    dealer, nothing = _Dealer(table), [None] * len(table)
    donors = Donors([*nothing], [*nothing], [len(names) for names in dealer.names])
    for key in sorted(dealer.rows, key=lambda key: (-len(dealer.rows[key]), key)):
        _deal_part(dealer, key, donors)
    return donors


def _deal_part(dealer: _Dealer, key: Key, donors: Donors) -> None:
    partners, units = dealer.pair_subjects(key), dealer.units
    uses = Counter(partners.values())
    for pair in partners.items():
        units.merge(*pair)
    # Subjects by template, each with its first row.
    pools: dict[str, dict[str, int]] = defaultdict(dict)
    rows = [(row, subject) for subject, places in dealer.rows[key].items() for row in places]
    for row, subject in rows:
        pools[dealer.templates[row]].setdefault(subject, row)
    for row, subject in rows:
        pool = pools[dealer.templates[row]]
        donor = partners.get(subject)
        if donor is None or not dealer.can_serve(row, key, donor, pool.get(donor)):
            # More subjects have the same answer than can be paired with the others.
            choices = {
                x: (uses[x], not units.connected(subject, x))
                for x, place in pool.items()
                if dealer.can_serve(row, key, x, place)
            }
            if not choices:
                continue
            donor = min(choices, key=choices.__getitem__)
            uses[donor] += 1
            units.merge(subject, donor)
            partners.setdefault(subject, donor)
        donors.rows[row] = pool[donor]
        answers = dealer.answers[key, donor]
        donors.answers[row] = [k for k, name in enumerate(dealer.names[row]) if name in answers]
