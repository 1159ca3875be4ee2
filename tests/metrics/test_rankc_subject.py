"""Centred RankC compared with plain loops, enumerated ties and enumerated signs."""

import json
import math
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyprobe.metrics.rankc_subject.formulas import (
    ROOM,
    compare_questions,
    compare_subjects,
    find_terms,
    flip_signs,
    link_units,
    measure_rankc_subject,
)
from polyprobe.metrics.shared.intervals import estimate_figure
from polyprobe.metrics.shared.ranks import WEIGHTS
from tests.metrics import plain_units
from tests.metrics.definitions import draw_pools, enumerate_rankc
from tests.metrics.plain_subject import compare, restrict
from tests.metrics.spaces import compute, import_app, values, write_table

PARTS = ("rankc_right", "rankc_rest", "rankc_independent", "rankc_beyond")
MEANS = ("rankc", "rankc_donor", "rankc_difference", "rankc_interaction", "rankc_room")


def draw_run(seed, n, sizes=(2, 3, 4, 5), levels=4, languages=("en", "ru")):
    """Draw scores with ties about subjects and donors, the answers, and those of the donors."""
    random = np.random.default_rng(seed)
    pools = random.choice(sizes, size=n).tolist()
    scores, donors = (
        {x: [random.integers(levels, size=k).tolist() for k in pools] for x in languages}
        for _ in range(2)
    )
    answers, leaves = [], []
    for k in pools:
        first, second, *others = random.permutation(k).tolist()
        two = len(others) > 1 and random.random() < 0.2
        answers.append([first, second] if two else [first])
        others += [] if two else [second]
        leaves.append(others[: random.choice([0, 0, 1, 2])])  # one candidate is left at least
    return scores, donors, answers, leaves


def find_plainly(run, weights="softmax", ties="expected", **labels):
    """Return the figures by loops, None where the denominator is not above .005."""
    first, second = run[0]
    found = compare(restrict(*run, **labels), first, second, weights, ties)
    undefined = {"rankc_subject", *PARTS} if found["rankc_room"] <= ROOM else ()
    return found | dict.fromkeys(undefined)


def measure(run, **options):
    scores, donors, answers, leaves = run
    return measure_rankc_subject(*scores.values(), *donors.values(), answers, leaves, **options)


@settings(max_examples=60, deadline=None)
@given(pools=draw_pools(largest=3, languages=4), weights=st.sampled_from(sorted(WEIGHTS)))
def test_equals_loops_over_all_orders_of_ties(pools, weights):
    """Infinite scores and ties; queries with one candidate are not counted."""
    terms = []
    for a, b, a_donor, b_donor in zip(*pools, strict=True):
        ways = (a, b), (a, b_donor), (a_donor, b), (a_donor, b_donor)
        r, *crossed, q = (enumerate_rankc(*pair, weights) for pair in ways)
        if len(a) > 1:
            terms.append((r, fmean(crossed), q))
    found = measure_rankc_subject(*pools, weights=weights, n_resamples=0)
    assert (found["n_queries"], found["n_counted"]) == (len(pools[0]), len(terms))
    if not terms:
        assert {found[name] for name in ("rankc_subject", *MEANS)} == {None}
        return
    r, p, q = map(fmean, zip(*terms, strict=True))
    expected = (r, p, r - p, r - 2 * p + q, 1 - 2 * p + q)
    assert [found[name] for name in MEANS] == pytest.approx(expected, abs=1e-12)
    if 1 - 2 * p + q > ROOM:
        assert found["rankc_subject"] == pytest.approx((r - 2 * p + q) / (1 - 2 * p + q))
    else:
        assert found["rankc_subject"] is None


@pytest.mark.parametrize("ties", ["expected", "released"])
@pytest.mark.parametrize("weights", sorted(WEIGHTS))
def test_equals_plain_loops_with_parts_and_floor(weights, ties):
    """Several right answers, and donors' answers that leave one candidate in some queries."""
    run = draw_run(1, 60, sizes=(2, 3, 4))
    relations = [f"P{i % 2}" for i in range(60)]
    expected = find_plainly(run, weights, ties, relations=relations)
    found = measure(
        run, weights=weights, ties=ties, groups=relations, average="micro", n_resamples=0
    )
    for name in ("rankc_subject", *PARTS, *MEANS):
        assert found[name] == pytest.approx(expected[name], abs=1e-12), name
    assert found["n_counted"] == expected["n"] < 60
    assert expected["n_independent"] < expected["n"]
    total = found["rankc_right"] + found["rankc_rest"]
    assert total == pytest.approx(found["rankc_subject"], abs=1e-12)


def test_without_answers_there_are_no_parts():
    scores, donors, *_ = draw_run(2, 20)
    found = measure_rankc_subject(*scores.values(), *donors.values(), n_resamples=0)
    assert not {*PARTS, "p_beyond"} & {*found}
    assert found["p_value"] is None


@pytest.mark.parametrize(
    ("scores", "defined"), [([[0, 0, 0], [0, 0]], True), ([[3, 1, 2], [1, 2]], False)]
)
def test_rankings_that_ignore_the_subject_have_0(scores, defined):
    """Constant scores, and one order, whose denominator is 0."""
    found = measure_rankc_subject(scores, scores, scores, scores, n_resamples=50)
    assert found["rankc_interaction"] == pytest.approx(0, abs=1e-12)
    assert found["p_value"] == 1
    assert found["rankc_subject"] == (pytest.approx(0, abs=1e-12) if defined else None)
    assert (found["rankc_room"] == pytest.approx(0)) is not defined


@pytest.mark.parametrize("weights", ["softmax", "norm1"])
def test_one_language_that_ignores_the_subject_gives_exactly_0(weights):
    """The other knows all, above the order of the first: R - P is far below 0."""
    order = np.random.default_rng(3).permutation(4)
    blind = np.tile(order, (200, 1)).astype(float)
    right = np.random.default_rng(4).integers(4, size=200)
    knows = blind.copy()
    knows[np.arange(200), right] = 9
    for columns in ((knows, blind, blind, blind), (blind, knows, blind, blind)):
        found = measure_rankc_subject(*columns, n_resamples=200, weights=weights)
        assert found["rankc_interaction"] == pytest.approx(0, abs=1e-15)
        assert found["rankc_subject"] == pytest.approx(0, abs=1e-15)
        assert found["rankc_subject_ci"] == pytest.approx([0, 0], abs=1e-15)
        assert found["p_value"] == 1
        assert found["rankc_difference"] < -0.05


@pytest.mark.parametrize(("moved", "defined"), [(1, False), (60, True)])
def test_a_denominator_that_may_be_small_leaves_the_figure_undefined(moved, defined):
    """Of 100 queries one reacts to the subject: the mean is above ROOM, not its interval."""
    scores, donor = [[2, 1]] * 100, [[1, 2]] * moved + [[2, 1]] * (100 - moved)
    columns = scores, scores, donor, donor
    assert measure_rankc_subject(*columns, n_resamples=0)["rankc_subject"] == pytest.approx(1)
    found = measure_rankc_subject(*columns, n_resamples=1000)
    assert found["rankc_room"] == pytest.approx(moved / 100 * 2 * (1 - 1 / (1 + math.e)))
    assert (found["rankc_room_ci"][0] > ROOM) is defined
    assert found["rankc_subject"] == (pytest.approx(1) if defined else None)
    assert (found["rankc_subject_ci"] is None) is not defined
    assert found["rankc_interaction_ci"] is not None


def take(part, places):
    """Take the rows at some places of a list, or of each language's."""
    return {x: y[places] for x, y in part.items()} if isinstance(part, dict) else part[places]


def test_groups_are_averaged_and_tested_as_averaged():
    """One query of each group has one candidate left; 10 + 4 queries have 2^14 flips."""
    run = draw_run(5, 14, sizes=(4, 5))
    labels = ["P36"] * 10 + ["P37"] * 4
    run[3][0] = [k for k in range(len(run[0]["en"][0])) if k not in run[2][0][:1]]
    run[2][0] = run[2][0][:1]
    whole = measure(run, groups=labels, n_resamples=4000)
    parts = [
        measure(tuple(take(part, places) for part in run), n_resamples=0)
        for places in (slice(0, 10), slice(10, 14))
    ]
    for name in ("rankc_subject", *MEANS):
        assert whole[name] == pytest.approx(fmean(part[name] for part in parts))
        assert whole["by_group"]["P36"][name] == pytest.approx(parts[0][name])
        low, high = whole[f"{name}_ci"]
        assert low < whole[name] < high
    assert whole["by_group"]["P37"]["n_queries"] == 4
    terms = compare_questions(*run)
    assert terms.counted.sum() == 13
    values = terms.interaction[:, 0]
    of_groups = (values * ([1 / 9] * 10 + [1 / 4] * 4)).tolist()
    micro = measure(run, groups=labels, average="micro", n_resamples=4000)
    alone = measure(run, n_resamples=4000)
    assert micro["p_value"] == alone["p_value"]
    for found, tested in ((whole, of_groups), (alone, values.tolist())):
        expected = plain_units.flip_units(tested, range(14))
        assert found["p_value"] == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("shift", [0, 0.3, 1])
def test_p_is_that_of_all_flips(shift):
    """20,000 of 2^10 = 1,024 flips: the standard error is below .0036."""
    columns = np.random.default_rng(5).normal(shift, 1, size=(10, 3))
    expected = [plain_units.flip_units(column, range(10)) for column in columns.T.tolist()]
    found = flip_signs(columns, None, 20_000)
    assert found == pytest.approx(expected, abs=0.015)
    assert (found == flip_signs(columns, None, 20_000)).all()
    # equal differences: only all signs alike reach their sum, 2 of 1,024
    assert flip_signs(np.full((10, 1), 0.1), None, 20_000)[0] == pytest.approx(2 / 1024, abs=0.002)


def test_clusters_are_flipped_whole():
    values = np.random.default_rng(6).normal(0.4, 1, size=(24, 1))
    clusters = [f"Q{i % 8}" for i in range(24)]
    expected = plain_units.flip_units(values[:, 0].tolist(), clusters)
    assert flip_signs(values, clusters, 20_000)[0] == pytest.approx(expected, abs=0.015)
    # a query repeated five times is no further evidence
    assert flip_signs(np.repeat(values, 5, axis=0), np.repeat(range(24), 5), 999) == flip_signs(
        values, range(24), 999
    )


def test_units_are_those_of_plain_loops():
    random = np.random.default_rng(7)
    for n in (1, 5, 40):
        subjects, donors = random.integers(60, size=(2, n)).tolist()
        expected = plain_units.link_units(subjects, donors)
        found = link_units(subjects, donors)
        assert len(set(zip(expected, found, strict=True))) == len(set(expected)) == len(set(found))


@pytest.mark.parametrize("knows", [0.0, 3.0], ids=["both blind", "one knows"])
def test_the_test_keeps_its_level(knows):
    """1,000 samples of 40 queries; the standard error of the share is .007 at .05."""
    random = np.random.default_rng(7)
    order = random.normal(size=(40_000, 5))  # of the candidates, whatever the subject
    scores = [order + random.normal(size=order.shape) for _ in range(4)]
    scores[0][:, 0] += knows  # the right answer, in the first language
    first, second = (dict(zip("ab", pair, strict=True)) for pair in (scores[:2], scores[2:]))
    terms = compare_subjects(first, second, np.tile(np.arange(5) == 0, 40_000))
    tested = terms.interaction.reshape(1000, 40).T
    assert abs(tested.mean()) < 4 * tested.std() / math.sqrt(tested.size)
    rejected = (flip_signs(tested, None, 1000) < 0.05).mean()
    assert 0.05 - 0.025 < rejected < 0.05 + 0.025
    former = float((terms.subject - terms.mixed).mean())
    assert (former < -0.02) is (knows > 0)  # R - P is biased where one language knows


def test_all_pairs_at_once_equal_the_module():
    """Three languages with pools of 2 to 6."""
    scores, donors, answers, _ = draw_run(8, 60, (2, 3, 6), languages=("en", "fr", "ru"))
    terms = compare_questions(scores, donors, answers)
    ratio = estimate_figure(find_terms("rankc_beyond", terms), n_resamples=0)
    mean = estimate_figure(find_terms("rankc_donor", terms), n_resamples=0)
    whole = []
    for a, b in (("en", "fr"), ("en", "ru"), ("fr", "ru")):
        columns = [x[y] for x in (scores, donors) for y in (a, b)]
        expected = measure_rankc_subject(*columns, answers, n_resamples=0)
        whole.append(expected["rankc_beyond"])
        assert ratio[f"{a}-{b}"] == pytest.approx(expected["rankc_beyond"], abs=1e-12)
        assert mean[f"{a}-{b}"] == pytest.approx(expected["rankc_donor"], abs=1e-12)
    assert ratio["mean"] == pytest.approx(fmean(whole), abs=1e-12)
    nothing = find_terms("rankc_subject", terms._replace(counted=np.zeros(60)))
    assert estimate_figure(nothing, n_resamples=50)["mean"] is None


def test_one_query_has_no_interval():
    found = measure_rankc_subject([[2, 1]], [[2, 1]], [[1, 2]], [[1, 2]])
    assert found["rankc_subject_ci"] is found["rankc_ci"] is None
    assert found["rankc_subject"] == pytest.approx(1)
    assert found["p_value"] == 1
    without = measure_rankc_subject(*([[2, 1]] for _ in range(4)), n_resamples=0)
    assert without["p_value"] is None
    assert "rankc_ci" not in without


ROWS = [[2, 1], [1, 2]]


@pytest.mark.parametrize(
    ("place", "rows", "message"),
    [
        (1, ROWS[:1], "2 queries in 'predictions', 1 in 'references'"),
        (2, ROWS[:1], "2 queries in 'predictions', 1 in 'donor_predictions'"),
        (2, [[2, 1], [1]], "query 1 has 2 candidates in 'predictions', 1 in 'donor_predict"),
        (3, [[2, 1, 3], [1, 2]], "query 0 has 2 candidates in 'predictions', 3 in 'donor_ref"),
        (3, [[2, math.nan], [1, 2]], "NaN among the scores of query 0 in 'donor_references'"),
        (2, [None, [1, 2]], "query 0 of 'donor_predictions' is None; expected a list"),
        (4, [[0], []], "query 1 has no correct answer"),
        (5, [[0], []], "query 0 and its donor have the same answer; choose another donor"),
        (5, [[], [0, 1]], "query 1 and its donor have the same answer"),
        (5, [[]], "2 queries in 'predictions', 1 in 'donor_answers'"),
        (5, [[], None], "donor_answers of query 1 are None; expected a list of indices"),
        (5, [[], [2]], "answer 2 of query 1 is out of range"),
        (5, [[], [-1]], "answer -1 is not an index"),
    ],
)
def test_mistakes_name_the_argument(place, rows, message):
    columns = [*[ROWS] * 4, [[0], [0]], [[], []]]
    columns[place] = rows
    with pytest.raises(ValueError, match=message):
        measure_rankc_subject(*columns)


def test_a_donor_whose_answers_are_all_candidates():
    with pytest.raises(ValueError, match="all candidates of query 1 are answers of the donor"):
        measure_rankc_subject(*[ROWS] * 4, donor_answers=[[], [0, 1]])


def write_run(folder, donors, leaves=None):
    """Write scores/en.parquet and es.parquet; `donors` may hold None for a row without one."""
    scores = {"en": [[3, 2, 1], [1, 2], [1, 2]], "es": [[3, 1, 2], [1, 2], [2, 1]]}
    files = []
    for language, rows in scores.items():
        columns = {"fact_id": ["a", "b", "c"], "answers": [[0]] * 3, "scores": rows}
        columns |= {"donor_scores": donors, "donor_answers": leaves} if donors else {}
        columns |= {"donor": ["b", "c", "b"]} if donors else {}
        files.append(write_table(folder / f"{language}.parquet", columns))
    return scores, files


def test_the_space_reads_the_files_of_a_run_without_rows_that_have_no_donor(tmp_path):
    """Rows are linked by their donors: two are one unit, and the figure has no interval."""
    donors, leaves = [[1.0, 2.0, 3.0], None, [2.0, 1.0]], [[1], None, []]
    scores, files = write_run(tmp_path, donors, leaves)
    rows = [[x[0], x[2]] for x in (*scores.values(), donors, donors)]
    expected = measure_rankc_subject(*rows, [[0], [0]], [[1], []], clusters=["ab", "ab"])
    answer = compute(import_app("rankc_subject"), files=files)
    assert {e.n for e in answer.entries if e.value is not None} == {2}
    for entry in answer.entries:
        assert entry.value == (expected[entry.name] and pytest.approx(expected[entry.name]))
        assert entry.interval is expected[f"{entry.name}_ci"] is None
    assert answer.notes[0] == "Sign-flip test of the mean R − 2P + Q of all pairs: p = 1."


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
            columns |= {"donor_scores": donors, "donor_answers": donors}
            write_table(type(tmp_path)(path), columns)
    with pytest.raises(ValueError, match=message):
        compute(import_app("rankc_subject"), files=files)


def test_the_space_leaves_out_answers_of_the_donor():
    app = import_app("rankc_subject")
    text = app.PAGE.examples["an answer of the donor"]
    whole = values(compute(app, text.replace("Rome,0,1,", "Rome,0,0,")))
    found = values(compute(app, text))
    # Rome is second in both languages, first about the donor
    assert whole["English – Spanish", "rankc_subject"] < 1
    assert found["English – Spanish", "rankc_subject"] == pytest.approx(1)


def test_a_negative_pair_is_drawn_whole():
    app = import_app("rankc_subject")
    text = "query,candidate,en,en donor,es,es donor\n" + "\n".join(
        f"q{i},{x}" for i in range(3) for x in ("a,3,2,2,3", "b,2,3,1,2", "c,1,1,3,1")
    )
    answer = compute(app, text)
    orders = {"en": [3, 2, 1], "en donor": [2, 3, 1], "es": [2, 1, 3], "es donor": [3, 2, 1]}
    r, one, two, q = (
        enumerate_rankc(orders[f"en{a}"], orders[f"es{b}"], "softmax")
        for a in ("", " donor")
        for b in ("", " donor")
    )
    expected = (r - one - two + q) / (1 - one - two + q)
    assert answer.entries[0].value == pytest.approx(expected)
    assert answer.entries[0].value < 0
    assert app.PAGE.view(answer.entries).ends == (0, 0)  # no limit: the bar is drawn below 0
    blind = compute(app, app.PAGE.examples["the subject is ignored in Spanish"])
    assert app.PAGE.view(blind.entries).ends == (0, 1)


def test_the_space_reads_json():
    run = draw_run(9, 90, sizes=(3, 4))
    scores, donors, answers, leaves = run
    marks = [
        [int(k in row) for k in range(len(x))] for row, x in zip(leaves, scores["en"], strict=True)
    ]
    names = {f"{x} donor": y for x, y in donors.items()}
    text = json.dumps({**scores, **names, "answers": answers, "right donor": marks})
    found = {}
    for weights, ties in (("softmax", "expected"), ("norm1", "released")):
        found = values(compute(import_app("rankc_subject"), text, weights=weights, ties=ties))
        expected = find_plainly(run, weights, ties)
        for name in ("rankc_subject", *PARTS, *MEANS[1:]):
            assert found["en – ru", name] == pytest.approx(expected[name])
    assert found["en – ru", "rankc_subject"] != pytest.approx(find_plainly(run)["rankc_subject"])
