"""Subject-corrected figures of the package compared with the plain loops of `plain_subject`."""

import random
from itertools import combinations
from statistics import fmean

import pyarrow as pa
import pytest

from polyprobe.analysis.figures.compute import summarize_facts
from polyprobe.analysis.figures.facts import ScoredFacts
from polyprobe.analysis.figures.options import RankingOptions
from polyprobe.analysis.figures.units import Units
from polyprobe.analysis.options import Bootstrap
from polyprobe.metrics.rankc_subject.formulas import measure_rankc_subject
from polyprobe.schema.run.folder import SCORES
from tests.metrics.definitions import define_weights
from tests.metrics.plain_subject import compare, find_floors, find_terms, make_cells, restrict
from tests.metrics.plain_units import flip_units, gain, link_units, share_first

LANGUAGES = ("en", "ru", "zh_hans")
PAIRS = [*combinations(LANGUAGES, 2)]
OF_PAIRS = [
    "rankc_subject",
    "rankc_right",
    "rankc_rest",
    "rankc_independent",
    "rankc_beyond",
    "rankc_donor",
    "rankc_difference",
    "rankc_interaction",
    "rankc_room",
]
exactly = {"abs": 1e-12, "rel": 1e-12}


def draw_run(seed, n=90, levels=4, right=(1, 1, 1, 2), pools=(2, 3, 3, 4, 6)):
    """Draw rows with ties, unequal pools, several answers and answers of donors in the pools."""
    rng = random.Random(seed)
    sizes = [rng.choice(pools) for _ in range(n)]
    relations = [rng.choice(("P36", "P36", "P36", "P36", "P37")) for _ in range(n)]
    answers = [sorted(rng.sample(range(k), min(rng.choice(right), k - 1))) for k in sizes]
    wrong = [[i for i in range(k) if i not in a] for k, a in zip(sizes, answers, strict=True)]
    # of the wrong candidates none, one or two; all of them: a single candidate stays
    leaves = [sorted(rng.sample(x, min(len(x), rng.choice((0, 0, 1, 2))))) for x in wrong]
    return {
        "donors": [f"Q{rng.randrange(3 * n // 4)}" for _ in range(n)],
        "facts": [f"Q{rng.randrange(3 * n // 4)}" for _ in range(n)],
        "relations": relations,
        "answers": answers,
        "donor_answers": [None if rng.random() < 0.1 else row for row in leaves],
        "scores": {x: draw_scores(rng, sizes, levels, answers) for x in LANGUAGES},
        "donor_scores": {x: draw_scores(rng, sizes, levels, []) for x in LANGUAGES},
    }


def draw_scores(rng, sizes, levels, answers):
    """Draw scores of few levels; half of the right answers are one level better."""
    rows = [[float(rng.randrange(levels)) for _ in range(k)] for k in sizes]
    for row, right in zip(rows, answers, strict=False):
        for k in right:
            row[k] += rng.randrange(2)
    return rows


def restrict_run(run):
    return restrict(**{name: column for name, column in run.items() if name != "donors"})


def tabulate_run(run, language, **columns):
    """Return a language's scores as a table of a run."""
    n, valid = len(run["facts"]), [x is not None for x in run["donor_answers"]]
    donors = zip(run["donor_scores"][language], valid, strict=True)
    columns = {
        "fact_id": run["facts"],
        "relation": run["relations"],
        "answers": run["answers"],
        "scores": run["scores"][language],
        "donor": [x if y else None for x, y in zip(run["donors"], valid, strict=True)],
        "donor_scores": [row if x else None for row, x in donors],
        "donor_answers": run["donor_answers"],
        "flags": [[]] * n,
        **columns,
    }
    return pa.table({x: columns.get(x, [None] * n) for x in SCORES.names}, schema=SCORES)


def summarize(run, weights="softmax", ties="expected", columns=None, flips=0):
    tables = {x: tabulate_run(run, x, **(columns or {}).get(x, {})) for x in LANGUAGES}
    units = Units.read(tables["en"], Bootstrap(flips, 0, "none"))
    return summarize_facts(ScoredFacts(tables, RankingOptions(weights, ties)), units)


@pytest.mark.parametrize("ties", ["expected", "released"])
@pytest.mark.parametrize("weights", ["softmax", "norm1", "norm2-released"])
@pytest.mark.parametrize("seed", [1, 2])
def test_results_are_those_of_plain_loops(seed, weights, ties):
    run = draw_run(seed)
    rows, results = restrict_run(run), summarize(run, weights, ties)
    expected = {f"{a}-{b}": compare(rows, a, b, weights, ties) for a, b in PAIRS}
    assert 0 < expected["en-ru"]["n_independent"] < len(rows) < len(run["facts"])
    for name in OF_PAIRS:
        values = {pair: figures[name] for pair, figures in expected.items()}
        assert results[name] == pytest.approx(values, **exactly), name
        assert results["mean"][name] == pytest.approx(fmean(values.values()), **exactly)
    for language in LANGUAGES:
        values = gain(rows, language, ties)
        for name in ("accuracy_donor", "accuracy_gain"):
            assert results[name][language] == pytest.approx(values[name], **exactly), name
    left_out = results["left_out"]
    assert left_out["rankc_subject"] == len(run["facts"]) - len(rows)
    assert left_out["rankc_independent"] == len(rows) - expected["en-ru"]["n_independent"]


@pytest.mark.parametrize("ties", ["expected", "released"])
def test_cells_of_ranks_are_those_of_plain_loops(ties):
    """Many rows with few pools: several cells, of expected ranks between two numbers too."""
    run = draw_run(9, n=200, levels=3, pools=(4, 5))
    rows, results = restrict_run(run), summarize(run, ties=ties)
    cells = make_cells(rows, "en", ties).values()
    assert len({len(cell) for cell in cells}) > 5
    for a, b in PAIRS:
        expected = compare(rows, a, b, ties=ties)["rankc_independent"]
        assert results["rankc_independent"][f"{a}-{b}"] == pytest.approx(expected, **exactly)


@pytest.mark.parametrize("ties", ["expected", "released"])
@pytest.mark.parametrize("weights", ["softmax", "norm2"])
def test_the_module_computes_them(weights, ties):
    run = draw_run(3)
    run["facts"], run["relations"] = [f"Q{i}" for i in range(90)], ["P36"] * 90
    run["donor_answers"] = [row or [] for row in run["donor_answers"]]
    expected = compare(restrict_run(run), "en", "ru", weights, ties)
    columns = [run[x][language] for x in ("scores", "donor_scores") for language in ("en", "ru")]
    results = measure_rankc_subject(
        *columns, run["answers"], run["donor_answers"], weights, ties, n_resamples=0
    )
    for name in results.keys() & expected.keys():
        assert results[name] == pytest.approx(expected[name], **exactly), name
    assert {*OF_PAIRS[:5], "rankc", "rankc_donor"} <= results.keys() & expected.keys()


def test_floors_of_names_are_figures_of_their_rankings():
    run, rng = draw_run(4), random.Random(5)
    columns, ranks = {}, {}
    for language in LANGUAGES:

        def draw(*values, language=language):
            return [[rng.choice(values) for _ in row] for row in run["scores"][language]]

        lengths = draw(1, 2, 3, 4)
        bigrams, donor_bigrams = draw(0, 0, 0.25, 0.5), draw(0, 0, 0.25, 0.5)
        initials, donor_initials = draw(True, False, False), draw(True, False, False)
        columns[language] = {
            "n_characters": lengths,
            "bigrams": bigrams,
            "donor_bigrams": donor_bigrams,
            "initials": initials,
            "donor_initials": donor_initials,
        }
        first = [order(*x) for x in zip(initials, lengths, strict=True)]
        second = [order(*x) for x in zip(donor_initials, lengths, strict=True)]
        ranks[language] = {"bigrams": (bigrams, donor_bigrams), "initials": (first, second)}
    floors = summarize(run, columns=columns)["floors"]
    for name in ("bigrams", "initials"):
        scores, donors = ({x: y[name][k] for x, y in ranks.items()} for k in (0, 1))
        ranked = run | {"scores": scores, "donor_scores": donors}
        rows = restrict_run(ranked)
        figures = [compare(rows, a, b)["rankc_subject"] for a, b in PAIRS]
        assert floors[name]["rankc_subject"] == pytest.approx(fmean(figures), **exactly)
        gains = [gain(rows, x)["accuracy_gain"] for x in LANGUAGES]
        assert floors[name]["accuracy_gain"] == pytest.approx(fmean(gains), **exactly)


def test_tests_flip_the_facts_that_share_a_subject_or_donor():
    """20,000 flips of the signs of the units: the standard error is below .0036."""
    run = draw_run(10, n=24, right=(1,), pools=(3,))
    run["relations"], run["donor_answers"] = ["P36"] * 24, [[]] * 24
    run["facts"] = [f"Q{i}" for i in range(24)]
    run["donors"] = [f"Q{i ^ 1}" for i in range(20)] + ["Q0", "Q2", "Q20", "Q21"]
    units = link_units(run["facts"], run["donors"])
    assert sorted(units.count(x) for x in set(units)) == [2] * 8 + [4, 4]
    rows, results = restrict_run(run), summarize(run, flips=20_000)
    for a, b in PAIRS:
        values = [find_terms(row, a, b, "softmax", "expected").interaction for row in rows]
        found = results["p_values"]["rankc_interaction"][f"{a}-{b}"]
        assert found == pytest.approx(flip_units(values, units), abs=0.015)
        floors = find_floors(rows, a, b, "softmax", "expected")
        beyond = [x - floor for x, floor in zip(values, floors, strict=True)]
        found = results["p_values"]["rankc_beyond"][f"{a}-{b}"]
        assert found == pytest.approx(flip_units(beyond, units), abs=0.015)
    for language in LANGUAGES:
        subject, donor = (
            [share_first(getattr(row, x)[language], row.right) for row in rows]
            for x in ("subject", "donor")
        )
        gains = [x - y for x, y in zip(subject, donor, strict=True)]
        found = results["p_values"]["accuracy_gain"][language]
        assert found == pytest.approx(flip_units(gains, units), abs=0.015)
    assert results["donors"]["n_units"] == 10
    assert results["donors"]["effective_units"] == pytest.approx(24**2 / (8 * 4 + 2 * 16))


def order(initials, lengths):
    """Score candidates with the same first letter first, then the shortest."""
    return [100.0 * x - y for x, y in zip(initials, lengths, strict=True)]


def test_the_floor_of_the_part_of_the_right_answer_is_that_of_nonsense():
    """An order for each subject, alike in all languages, has R = Q = 1 and P = chance."""
    run = draw_run(6)
    total = above = 0.0
    for row in restrict_run(run):
        n = len(row.subject["en"])
        chance = sum(w * j / n for j, w in enumerate(define_weights(n, "softmax"), start=1))
        total += 2 - 2 * chance
        above += len(row.right) / n * (2 - 2 * chance)
    assert summarize(run)["floors"]["nonsense"]["rankc_right"] == pytest.approx(above / total)


def test_rows_are_in_the_figures_or_counted():
    """One subject in a relation, all subjects with one answer, one candidate left, no donor."""
    run = draw_run(7, n=12)
    pairs = zip(run["scores"]["en"], run["answers"], strict=True)
    wrong = [[k for k in range(len(row)) if k not in x] for row, x in pairs]
    run["donor_answers"] = [None] * 4 + wrong[4:8] + [[]] * 4
    rows, results = restrict_run(run), summarize(run)
    assert 4 <= len(rows) < 12
    assert results["left_out"]["rankc_subject"] == 12 - len(rows)
    assert results["left_out"]["rankc_independent"] == len(rows)
    assert set(results["rankc_independent"].values()) == {None}
    assert results["mean"]["rankc_independent"] is results["mean"]["rankc_beyond"] is None
    expected = fmean(compare(rows, a, b)["rankc_subject"] for a, b in PAIRS)
    assert results["mean"]["rankc_subject"] == pytest.approx(expected, **exactly)


def test_a_donor_with_the_same_answer_is_refused():
    run = draw_run(8)
    run["donor_answers"] = [[], [], run["answers"][2][:1], *[[]] * 87]
    columns = [run[x][language] for x in ("scores", "donor_scores") for language in ("en", "ru")]
    with pytest.raises(ValueError, match="query 2 and its donor have the same answer"):
        measure_rankc_subject(*columns, run["answers"], run["donor_answers"], n_resamples=0)
