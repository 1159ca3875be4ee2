"""Subject-corrected RankC compared with plain loops, enumerated ties and enumerated signs."""

import json
import math
from itertools import combinations, product
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyprobe.metrics.rankc.formulas import rankc_pairs
from polyprobe.metrics.rankc_subject.formulas import (
    find_rankc_subject,
    flip_signs,
    measure_rankc_subject,
    rankc_subject_per_query,
)
from polyprobe.metrics.shared.intervals import estimate_figure
from polyprobe.metrics.shared.ranks import WEIGHTS
from tests.metrics.definitions import draw_pools, enumerate_rankc
from tests.metrics.spaces import compute, import_app, values, write_table


def draw_scores(seed, sizes, levels=6):
    """Draw four lists of rows: two languages, then the donors' scores; few levels, so ties."""
    random = np.random.default_rng(seed)
    return [[random.integers(levels, size=n).tolist() for n in sizes] for _ in range(4)]


@settings(max_examples=60, deadline=None)
@given(pools=draw_pools(largest=3, languages=4), weights=st.sampled_from(sorted(WEIGHTS)))
def test_equals_loops_over_all_orders_of_ties(pools, weights):
    own, donor = [], []
    for one, two, one_donor, two_donor in zip(*pools, strict=True):
        own.append(enumerate_rankc(one, two, weights))
        ways = ((one, two_donor), (one_donor, two))
        donor.append(fmean(enumerate_rankc(*pair, weights) for pair in ways))
    found = measure_rankc_subject(*pools, weights=weights, n_resamples=0)
    r, p = fmean(own), fmean(donor)
    assert found["rankc"] == pytest.approx(r, abs=1e-12)
    assert found["rankc_donor"] == pytest.approx(p, abs=1e-12)
    assert found["difference"] == pytest.approx(r - p, abs=1e-12)
    expected = (r - p) / (1 - p) if p < 1 - 1e-9 else 0
    assert found["rankc_subject"] == pytest.approx(expected, abs=1e-9)
    assert found["n_queries"] == len(own)


def test_released_ties_take_the_first_of_equal_scores():
    tied, last = [[0, 0, 0]], [[1, 2, 3]]
    found = measure_rankc_subject(tied, tied, tied, last, ties="released", n_resamples=0)
    reverse = enumerate_rankc([3, 2, 1], [1, 2, 3], "softmax")
    assert found["rankc"] == pytest.approx(1)
    assert found["rankc_donor"] == pytest.approx((reverse + 1) / 2)


@pytest.mark.parametrize("scores", [[[0, 0, 0], [0, 0]], [[3, 1, 2], [1, 2]]])
def test_rankings_that_ignore_the_subject_have_0(scores):
    """Constant scores, and one order: the second has P = 1."""
    found = measure_rankc_subject(scores, scores, scores, scores, n_resamples=50)
    assert found["rankc_subject"] == pytest.approx(0, abs=1e-12)
    assert found["p_value"] == 1
    assert found["rankc_subject_ci"] == pytest.approx([0, 0], abs=1e-12)
    assert (found["rankc_donor"] == pytest.approx(1)) is (scores[0][0] == 3)


def test_groups_are_averaged_and_tested_as_averaged():
    rows = draw_scores(3, [4] * 12)
    labels = ["P36"] * 9 + ["P37"] * 3
    whole = measure_rankc_subject(*rows, groups=labels, n_resamples=4000)
    parts = [
        measure_rankc_subject(*([x[i] for i in kept] for x in rows), n_resamples=0)
        for kept in (range(9), range(9, 12))
    ]
    for name in ("rankc_subject", "rankc", "rankc_donor", "difference"):
        assert whole[name] == pytest.approx(fmean(part[name] for part in parts))
        assert whole["by_group"]["P36"][name] == pytest.approx(parts[0][name])
        low, high = whole[f"{name}_ci"]
        assert low < whole[name] < high
    assert whole["by_group"]["P37"]["n_queries"] == 3
    micro = measure_rankc_subject(*rows, groups=labels, average="micro", n_resamples=4000)
    alone = measure_rankc_subject(*rows, n_resamples=4000)
    assert micro["p_value"] == alone["p_value"]
    own, donor = rankc_subject_per_query(*rows)
    weights = [1 / 9] * 9 + [1 / 3] * 3
    assert whole["p_value"] == pytest.approx(enumerate_signs((own - donor) * weights), abs=0.03)
    assert alone["p_value"] == pytest.approx(enumerate_signs(own - donor), abs=0.03)


def enumerate_signs(differences):
    """Return the share of all 2^n flips whose sum is as far from 0."""
    observed = abs(sum(differences))
    reached = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True))) >= observed - 1e-12
        for signs in product((1, -1), repeat=len(differences))
    ]
    return fmean(reached)


@pytest.mark.parametrize("shift", [0, 0.3, 1])
def test_p_is_that_of_all_flips(shift):
    """20,000 of 2^10 = 1,024 flips: the standard error is below .0036."""
    columns = np.random.default_rng(5).normal(shift, 1, size=(10, 3))
    expected = [enumerate_signs(column) for column in columns.T.tolist()]
    found = flip_signs(columns, None, 20_000)
    assert found == pytest.approx(expected, abs=0.015)
    assert (found == flip_signs(columns, None, 20_000)).all()
    # equal differences: only all signs alike reach their sum, 2 of 1,024
    assert flip_signs(np.full((10, 1), 0.1), None, 20_000)[0] == pytest.approx(2 / 1024, abs=0.002)


def test_clusters_are_flipped_whole():
    values = np.random.default_rng(6).normal(0.4, 1, size=(24, 1))
    clusters = [f"Q{i % 8}" for i in range(24)]
    sums = [values[i::8].sum() for i in range(8)]
    expected = enumerate_signs(sums)
    assert flip_signs(values, clusters, 20_000)[0] == pytest.approx(expected, abs=0.015)
    # a query repeated five times is no further evidence
    assert flip_signs(np.repeat(values, 5, axis=0), np.repeat(range(24), 5), 999) == flip_signs(
        values, range(24), 999
    )


def test_the_test_keeps_its_level_for_rankings_that_ignore_the_subject():
    """1,000 samples of 40 queries; the standard error of the share is .007 at .05."""
    random = np.random.default_rng(7)
    order = random.normal(size=(40_000, 5))  # of the candidates, whatever the subject
    scores = [order + random.normal(size=order.shape) for _ in range(4)]
    own, donor = rankc_subject_per_query(*scores)
    differences = (own - donor).reshape(1000, 40).T
    assert abs(differences.mean()) < 4 * differences.std() / math.sqrt(differences.size)
    rejected = (flip_signs(differences, None, 1000) < 0.05).mean()
    assert 0.05 - 0.025 < rejected < 0.05 + 0.025


def test_all_pairs_at_once_equal_the_module():
    """Three languages with pools of 1 to 6; the last two facts have no donor."""
    random, sizes = np.random.default_rng(8), [1, 2, 3, 4, 5, 6, 4, 3]
    own, donor = (
        {x: [random.integers(4, size=n).tolist() for n in sizes] for x in ("en", "fr", "ru")}
        for _ in range(2)
    )
    asked = np.arange(len(sizes)) < 6
    first, second = rankc_pairs(own), rankc_pairs(own, second_scores=donor)
    figure = find_rankc_subject([*own], first, second * asked[:, None], asked)
    found = estimate_figure(figure, n_resamples=200)
    whole = []
    for column, (a, b) in enumerate(combinations(own, 2)):
        rows = [own[a], own[b], donor[a], donor[b]]
        alone = rankc_subject_per_query(*rows)
        assert first[:, column] == pytest.approx(alone[0], abs=1e-12)
        assert second[:, column] == pytest.approx(alone[1], abs=1e-12)
        expected = measure_rankc_subject(*(x[:6] for x in rows), n_resamples=0)
        whole.append(expected["rankc_subject"])
        assert found[f"{a}-{b}"] == pytest.approx(expected["rankc_subject"], abs=1e-12)
    assert found["mean"] == pytest.approx(fmean(whole), abs=1e-12)
    nothing = find_rankc_subject([*own], first, second, np.zeros(len(sizes)))
    assert estimate_figure(nothing, n_resamples=0)["mean"] is None


def test_one_query_has_no_interval():
    found = measure_rankc_subject(*([[2, 1]] for _ in range(3)), [[1, 2]])
    assert found["rankc_subject_ci"] is found["rankc_ci"] is None
    assert found["p_value"] == 1
    without = measure_rankc_subject(*([[2, 1]] for _ in range(4)), n_resamples=0)
    assert without["p_value"] is None
    assert "rankc_ci" not in without


ROWS = [[2, 1], [1, 2]]


@pytest.mark.parametrize(
    ("place", "rows", "options", "message"),
    [
        (1, ROWS[:1], {}, "2 queries in 'predictions', 1 in 'references'"),
        (2, ROWS[:1], {}, "2 queries in 'predictions', 1 in 'donor_predictions'"),
        (2, [[2, 1], [1]], {}, "query 1 has 2 candidates in 'predictions', 1 in 'donor_predict"),
        (3, [[2, 1, 3], [1, 2]], {}, "query 0 has 2 candidates in 'predictions', 3 in 'donor_ref"),
        (3, [[2, math.nan], [1, 2]], {}, "NaN among the scores of query 0 in 'donor_references'"),
        (2, [None, [1, 2]], {}, "query 0 of 'donor_predictions' is None; expected a list"),
    ],
)
def test_mistakes_name_the_argument(place, rows, options, message):
    given = [ROWS] * 4
    given[place] = rows
    with pytest.raises(ValueError, match=message):
        measure_rankc_subject(*given, **options)


def write_run(folder, donors):
    """Write scores/en.parquet and es.parquet; `donors` may hold None for a row without one."""
    scores = {"en": [[3, 2, 1], [1, 2], [1, 2]], "es": [[3, 1, 2], [1, 2], [2, 1]]}
    files = []
    for language, rows in scores.items():
        columns = {"fact_id": ["a", "b", "c"], "answers": [[0]] * 3, "scores": rows}
        columns |= {"donor_scores": donors} if donors else {}
        files.append(write_table(folder / f"{language}.parquet", columns))
    return scores, files


def test_the_space_reads_the_files_of_a_run_without_rows_that_have_no_donor(tmp_path):
    donors = [[1.0, 2.0, 3.0], None, [2.0, 1.0]]
    scores, files = write_run(tmp_path, donors)
    rows = [[x[0], x[2]] for x in (*scores.values(), donors, donors)]
    expected = measure_rankc_subject(*rows)
    answer = compute(import_app("rankc_subject"), files=files)
    assert {e.n for e in answer.entries} == {2}
    for entry in answer.entries:
        assert entry.value == pytest.approx(expected[entry.name])
        assert entry.interval == pytest.approx(expected[f"{entry.name}_ci"])
    assert answer.notes == [
        f"Sign-flip test of the mean difference of all pairs: p = {expected['p_value']:.2g}."
    ]


@pytest.mark.parametrize(
    ("donors", "message"),
    [
        ([None] * 3, "no row has 'donor_scores' in every file"),
        (None, "en: no column 'donor_scores'"),
    ],
)
def test_the_space_needs_donors(donors, message, tmp_path):
    _, files = write_run(tmp_path, None)
    if donors:
        for path, rows in zip(files, ([[3, 2, 1]] * 3,) * 2, strict=True):
            columns = {"fact_id": ["a", "b", "c"], "answers": [[0]] * 3, "scores": rows}
            write_table(type(tmp_path)(path), {**columns, "donor_scores": donors})
    with pytest.raises(ValueError, match=message):
        compute(import_app("rankc_subject"), files=files)


def test_a_negative_pair_is_drawn_whole():
    app = import_app("rankc_subject")
    text = "query,candidate,en,en donor,es,es donor\nq,a,1,2,2,2\nq,b,2,1,1,1"
    answer = compute(app, text)
    low = enumerate_rankc([2, 1], [1, 2], "softmax")
    assert answer.entries[0].value == pytest.approx((low - 1) / 2 / (1 - (low + 1) / 2))
    assert app.PAGE.view(answer.entries).ends == (0, 0)  # no limit: the bar is drawn below 0
    blind = compute(app, text.replace("q,a,1", "q,a,3"))
    assert app.PAGE.view(blind.entries).ends == (0, 1)


def test_the_space_reads_json():
    rows = draw_scores(9, [3, 4, 2])
    text = json.dumps(dict(zip(("en", "es", "en donor", "es donor"), rows, strict=True)))
    expected = measure_rankc_subject(*rows, n_resamples=0)
    found = values(compute(import_app("rankc_subject"), text, weights="softmax"))
    assert found["en – es", "rankc_subject"] == pytest.approx(expected["rankc_subject"])
    released = measure_rankc_subject(*rows, ties="released", weights="norm1", n_resamples=0)
    found = values(compute(import_app("rankc_subject"), text, weights="norm1", ties="released"))
    assert found["en – es", "rankc_subject"] == pytest.approx(released["rankc_subject"])
    assert released["rankc_subject"] != pytest.approx(expected["rankc_subject"])
