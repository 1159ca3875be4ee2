"""The split of the inconsistency against loops over pairs, a jackknife, and known models."""

from itertools import permutations, product

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import t as student

from bench.split import PROCESSES, cover_relations, simulate
from polyprobe.metrics.joint.split import (
    NAMES,
    Asked,
    bound_means,
    choose_first,
    estimate_split,
    measure_split,
    split_inconsistency,
)
from polyprobe.metrics.shared.rows import Rows

F, L, W = 6, 3, 4


def complete(facts=F, wordings=W):
    """Return the fact of each row: every fact in every wording."""
    return np.repeat(np.arange(facts), wordings)


def choose(random, shape, outcomes=4):
    return np.eye(outcomes)[random.integers(outcomes, size=shape)]


def find_values(relations):
    values = estimate_split(np.ones((1, len(relations))), relations)[0][0]
    return dict(zip(NAMES, values.tolist(), strict=True))


def make_incomplete(random):
    """Return answers with missing wordings; some are ties between two candidates."""
    facts = complete()
    facts = facts[random.random(len(facts)) < 0.7]
    about, donor = ([choose(random, len(facts)) for _ in range(L)] for _ in range(2))
    about[0] = (about[0] + choose(random, len(facts))) / 2
    return about, donor, np.unique(facts, return_inverse=True)[1]


def test_terms_are_means_over_pairs():
    about, donor, facts = make_incomplete(np.random.default_rng(2))
    found = {True: [], False: []}
    for (i, j), a, b in product(permutations(range(len(facts)), 2), range(L), range(L)):
        if facts[i] == facts[j]:
            r, q = about[a][i] @ about[b][j], donor[a][i] @ donor[b][j]
            p = (about[a][i] @ donor[b][j] + donor[a][i] @ about[b][j]) / 2
            found[a == b].append((1 - r, 1 - 2 * p + q))
    expected = [*np.mean(found[True], axis=0), *np.mean(found[False], axis=0)]
    assert measure_split(about, donor, facts) == pytest.approx(expected)
    sparse = [[csr_array(part) for part in parts] for parts in (about, donor)]
    assert measure_split(*sparse, facts) == pytest.approx(expected)
    within, between = expected[0] / expected[1], expected[2] / expected[3]
    values = [within, between, 1 - within / between, within / between, expected[1], expected[3]]
    assert [*find_values(np.array([expected])).values()] == pytest.approx(values)


def test_first_candidates_share_a_tie():
    rows = Rows(np.array([2.0, 2.0, 1.0, 5.0, 6.0]), np.array([3, 2]))
    found = choose_first(rows, np.array([0, 1, 2, 2, 0]))  # the second row's are 2 and 0
    assert found.toarray().tolist() == [[0.5, 0.5, 0], [1, 0, 0]]


def ask_latent(random, spread, facts=20, wordings=3, outcomes=5):
    """Return first candidates of latent scores, about subjects and donors; some rows are missing.

    `spread`: scales of fact, language, template (in a language), fact x language and the rest.
    """
    fact = complete(facts, wordings)
    kept = (np.tile(np.arange(wordings), facts) < 2) | (random.random(len(fact)) < 0.7)
    habit = spread[1] * random.normal(size=(1, L, 1, outcomes))
    habit = habit + spread[2] * random.normal(size=(1, L, wordings, outcomes))
    sentences = []
    for _ in range(2):
        scores = habit + spread[0] * random.normal(size=(facts, 1, 1, outcomes))
        scores = scores + spread[3] * random.normal(size=(facts, L, 1, outcomes))
        scores = scores + spread[4] * random.normal(size=(facts, L, wordings, outcomes))
        best = scores.argmax(axis=-1).transpose(1, 0, 2).reshape(L, -1)[:, kept]
        sentences.append([*np.eye(outcomes)[best]])
    return Asked(*sentences, fact[kept])


SPREAD = (1.0, 0.5, 0.5, 0.7, 0.5)


@pytest.mark.parametrize("spread", [(1, 0, 0.7, 0, 0.5), (0, 0.7, 0.7, 0, 0.7)])
def test_templates_and_habits_alone_leave_zero_in_languages_interval(spread):
    random, inside = np.random.default_rng(5), []
    for _ in range(50):
        relations = [ask_latent(random, spread) for _ in range(10)]
        low, high = split_inconsistency(relations, 200)["share_languages_ci"]
        inside.append(low <= 0 <= high)
    assert sum(inside) >= 44  # 95% less two standard errors


def test_habits_alone_are_as_inconsistent_as_answers_to_other_subjects():
    """Each language has its own order: its answers agree with themselves, about any subject."""
    random = np.random.default_rng(6)
    found = split_inconsistency([ask_latent(random, (0, 2, 0.5, 0, 0.5)) for _ in range(40)])
    assert found["within"] == pytest.approx(1, abs=0.05)
    assert found["between"] == pytest.approx(1, abs=0.05)
    blind = split_inconsistency([ask_latent(random, (0, 2, 0, 0, 0)) for _ in range(9)])
    assert (blind["room_within"], blind["within"], blind["share_languages"]) == (0, None, None)


def test_languages_alone_have_the_whole_share():
    random, relations, facts = np.random.default_rng(6), [], complete()
    for _ in range(10):
        sentences = [[choose(random, F)[facts] for _ in range(L)] for _ in range(2)]
        relations.append(Asked(*sentences, facts))  # the same in every wording
    found = split_inconsistency(relations)
    assert (found["within"], found["share_languages"]) == (0, 1)
    assert found["share_languages_ci"] == pytest.approx([1, 1])


def test_a_perfect_model_has_no_inconsistency_to_share():
    facts = complete()
    answers, donor = [np.eye(F + 1)[facts]] * L, [np.eye(F + 1)[[F] * len(facts)]] * L
    found = split_inconsistency([Asked(answers, donor, facts)] * 9)
    names = ("between", "share_languages", "share_languages_ci", "room_between")
    assert [found[x] for x in names] == [0, None, None, 2]


@pytest.mark.parametrize("count", [2, 4])
def test_few_relations_have_students_t(count):
    """The linearised error of a share is that of its residuals over the relations."""
    random = np.random.default_rng(7)
    relations = [ask_latent(random, SPREAD, facts=30) for _ in range(count)]
    found = split_inconsistency(relations)
    terms = np.array([measure_split(*asked) for asked in relations])
    lost, room, lost_between, room_between = terms.T
    within, between = (x.mean() / y.mean() for x, y in ((lost, room), (lost_between, room_between)))
    share = 1 - within / between
    residuals = (
        (lost - within * room) / room.mean()
        - (1 - share) * (lost_between - between * room_between) / room_between.mean()
    ) / between
    half = student.ppf(0.975, count - 1) * residuals.std(ddof=1) / np.sqrt(count)
    assert found["share_languages"] == pytest.approx(share)
    assert found["share_languages_ci"] == pytest.approx([share - half, share + half])
    assert split_inconsistency(relations, n_resamples=0)["share_languages_ci"] is None
    alone = split_inconsistency(relations[:1])
    assert alone["share_languages"] is not None
    assert alone["share_languages_ci"] is None


def test_standard_errors_agree_with_a_jackknife():
    random = np.random.default_rng(8)
    terms = np.array([measure_split(*ask_latent(random, SPREAD)) for _ in range(200)])
    drawn = np.bincount(random.integers(200, size=200), minlength=200)
    for counts in (np.ones(200), drawn):
        error = estimate_split(counts[None], terms)[1][0]
        units = np.repeat(terms, counts.astype(int), axis=0)
        without = estimate_split(1 - np.eye(200), units)[0]
        assert error == pytest.approx(np.sqrt(199 * without.var(axis=0)), rel=0.03)


def test_an_interval_of_the_room_below_the_bound_leaves_a_figure_undefined():
    """Answers of two of twelve relations change with the subject: a room of .167, not firmly."""
    random, facts = np.random.default_rng(10), complete()
    one = [np.eye(4)[[0] * len(facts)]] * L
    blind = Asked(one, one, facts)
    some = [[choose(random, len(facts)) for _ in range(L)] for _ in range(2)]
    found = split_inconsistency([*[Asked(*some, facts)] * 2, *[blind] * 10])
    assert found["room_within"] > 0.1
    assert found["within"] is found["share_languages"] is None
    few = split_inconsistency([Asked(*some, facts), *[blind] * 3])  # no bootstrap: the value counts
    assert few["within"] is not None


def take(asked, rows):
    about, donor = ([part[rows] for part in parts] for parts in asked[:2])
    return Asked(about, donor, asked.facts[rows])


def test_one_language_or_one_wording():
    random = np.random.default_rng(9)
    relations = [ask_latent(random, SPREAD) for _ in range(9)]
    alone = split_inconsistency([Asked(x.outcomes[:1], x.donors[:1], x.facts) for x in relations])
    assert alone["between"] is alone["room_between"] is alone["share_languages"] is None
    assert alone["within_ci"][0] < alone["within"] < alone["within_ci"][1]
    lonely = take(relations[0], np.unique(relations[0].facts, return_index=True)[1])
    found = split_inconsistency([*relations, lonely])
    assert (found["n_relations"], found["n_left_out"]) == (9, 1)
    nothing = split_inconsistency([lonely])
    assert (nothing["within"], nothing["n_relations"], nothing["n_left_out"]) == (None, 0, 1)


@pytest.mark.acceptance
@pytest.mark.parametrize("place", [0, 1, 2])
def test_coverage_under_another_process(place):
    """Latent scores with heavy tails; bench/split.md has the full table."""
    pool = simulate(PROCESSES[place], 700, 0)
    for quantity in range(2):
        bound = lambda x: bound_means(x, 400, 0)  # noqa: E731
        covered = cover_relations(pool[:, quantity], 20, 150, bound)
        for name in ("share_languages", "within"):
            assert 0.90 <= covered[NAMES.index(name)] < 1
