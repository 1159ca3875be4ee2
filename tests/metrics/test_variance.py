"""The split of the inconsistency against an analysis of variance, pairs, and known models."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.stats import t as student
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from bench.split import PROCESSES, cover_relations, simulate
from polyprobe.metrics.joint.variance import (
    COMPONENTS,
    NAMES,
    Asked,
    bound_means,
    choose_first,
    find_components,
    measure_disagreement,
    split_inconsistency,
)
from polyprobe.metrics.shared.rows import Rows

F, L, W = 6, 3, 4


def complete(facts=F, wordings=W):
    """Return the codes of rows: every fact in every wording."""
    return np.repeat(np.arange(facts), wordings), np.tile(np.arange(wordings), facts)


def choose(random, shape, outcomes=4):
    return np.eye(outcomes)[random.integers(outcomes, size=shape)]


def name_values(values):
    return dict(zip(NAMES, values, strict=True))


def test_components_equal_an_analysis_of_variance():
    """Facts x languages x wordings, all random; ours add what wordings share to `template`."""
    random = np.random.default_rng(1)
    common = random.normal(size=(F, 1, 1, 4)) + random.normal(size=(1, L, 1, 4))
    best = (common + random.normal(size=(F, L, W, 4))).argmax(axis=-1)
    y = np.eye(4)[best]
    place = pd.MultiIndex.from_product([range(F), range(L), range(W)], names=["f", "l", "w"])
    total = dict.fromkeys(COMPONENTS, 0.0)
    for outcome in range(4):
        data = pd.DataFrame({"y": y[..., outcome].ravel()}, index=place).reset_index()
        found = anova_lm(ols("y ~ (C(f) + C(l) + C(w)) ** 2", data).fit())
        ms = {key.replace("C(", "").replace(")", ""): x for key, x in found["mean_sq"].items()}
        rest = ms["Residual"]
        fl, fw, lw = (ms["f:l"] - rest) / W, (ms["f:w"] - rest) / L, (ms["l:w"] - rest) / F
        total["fact"] += (ms["f"] - ms["f:l"] - ms["f:w"] + rest) / (L * W)
        total["language"] += (ms["l"] - ms["f:l"] - ms["l:w"] + rest) / (F * W)
        total["template"] += (ms["w"] - ms["f:w"] - ms["l:w"] + rest) / (F * L) + lw
        total["fact_language"] += fl
        total["residual"] += fw + rest
    facts, wordings = complete()
    ours = find_components(
        measure_disagreement([y[:, x].reshape(-1, 4) for x in range(L)], facts, wordings)
    )
    assert {x: name_values(ours)[x] for x in COMPONENTS} == pytest.approx(total, abs=1e-12)


def make_incomplete(random, ties=True):
    """Return answers with missing wordings; some are ties between two candidates."""
    facts, wordings = complete()
    kept = random.random(len(facts)) < 0.7
    facts, wordings = facts[kept], wordings[kept]
    outcomes = [choose(random, len(facts)) for _ in range(L)]
    if ties:
        outcomes[0] = (outcomes[0] + choose(random, len(facts))) / 2
    return outcomes, np.unique(facts, return_inverse=True)[1], wordings


def test_disagreements_are_means_over_pairs():
    outcomes, facts, wordings = make_incomplete(np.random.default_rng(2))
    found = {"within": [], "between": [], "alike": [], "apart": [], "others": []}
    questions = [(row, x) for row in range(len(facts)) for x in range(L)]
    for (i, a), (j, b) in combinations(questions, 2):
        fact, wording = facts[i] == facts[j], wordings[i] == wordings[j]
        differ = 1 - outcomes[a][i] @ outcomes[b][j]
        if a == b:
            found["within" if fact else "alike" if wording else "apart"].append(differ)
        elif not wording:
            found["between" if fact else "others"].append(differ)
    expected = [np.mean(values) for values in found.values()]
    assert measure_disagreement(outcomes, facts, wordings) == pytest.approx(expected)
    sparse = [csr_array(part) for part in outcomes]
    assert measure_disagreement(sparse, facts, wordings) == pytest.approx(expected)


def test_components_add_up_to_disagreements():
    values = name_values(
        find_components(measure_disagreement(*make_incomplete(np.random.default_rng(3))))
    )
    assert values["template"] + values["residual"] == pytest.approx(values["within"])
    parts = ("language", "template", "fact_language", "residual")
    assert sum(values[x] for x in parts) == pytest.approx(values["between"])
    assert sum(values[f"share_{x}"] for x in parts) == pytest.approx(1)
    assert values["share_languages"] == pytest.approx(1 - values["within"] / values["between"])
    assert values["share_languages"] + values["share_templates"] == pytest.approx(1)


def test_first_candidates_share_a_tie():
    rows = Rows(np.array([2.0, 2.0, 1.0, 5.0, 6.0]), np.array([3, 2]))
    found = choose_first(rows, np.array([0, 1, 2, 2, 0]))  # the second row's are 2 and 0
    assert found.toarray().tolist() == [[0.5, 0.5, 0], [1, 0, 0]]


def ask_right(random, spread, facts=8, wordings=3):
    """Return whether facts are right: probability .5 plus uniform effects of known variances.

    `spread`: half-widths of fact, language, template (in a language), fact x language and the
    interplay of template and fact. A tenth of the rows is missing.
    """
    fact, wording = complete(facts, wordings)
    kept = (wording < 2) | (random.random(len(fact)) < 0.7)
    fact, wording = fact[kept], wording[kept]
    shapes = ((facts, 1, 1), (1, L, 1), (1, L, wordings), (facts, L, 1), (facts, L, wordings))
    parts = (x * random.uniform(-1, 1, shape) for x, shape in zip(spread, shapes, strict=True))
    right = random.random((facts, L, wordings)) < 0.5 + sum(parts)
    given = right[fact, :, wording]
    return Asked([np.eye(2)[given[:, x].astype(int)] for x in range(L)], fact, wording)


SPREAD = (0.15, 0.1, 0.08, 0.1, 0.05)


def test_estimates_are_unbiased():
    """Twice the variance of a uniform effect; what remains of p (1 - p) is in the residual."""
    random = np.random.default_rng(4)
    values = [
        find_components(measure_disagreement(*ask_right(random, SPREAD)[:3])) for _ in range(1000)
    ]
    mean, error = np.mean(values, axis=0), np.std(values, axis=0) / np.sqrt(len(values))
    variances = [2 * x**2 / 3 for x in SPREAD]
    truth = [*variances[:4], 0.5 - sum(variances[:4])]
    for name, expected in zip(COMPONENTS, truth, strict=True):
        place = NAMES.index(name)
        assert mean[place] == pytest.approx(expected, abs=4 * error[place]), name


def test_template_noise_alone_leaves_zero_in_languages_interval():
    random, inside = np.random.default_rng(5), []
    for _ in range(80):
        relations = [ask_right(random, (0.2, 0, 0.2, 0, 0.1)) for _ in range(10)]
        low, high = split_inconsistency(relations)["share_languages_ci"]
        inside.append(low <= 0 <= high)
    assert np.mean(inside) >= 0.9  # 95% less two standard errors


def test_languages_alone_have_the_whole_share():
    random, relations = np.random.default_rng(6), []
    facts, wordings = complete()
    for _ in range(10):
        answers = [choose(random, F)[facts] for _ in range(L)]  # the same in every wording
        relations.append(Asked(answers, facts, wordings))
    found = split_inconsistency(relations)
    assert (found["within"], found["share_languages"]) == (0, 1)
    assert found["share_languages_ci"] == pytest.approx([1, 1])
    assert found["template"] == pytest.approx(0)


def test_a_perfect_model_has_no_inconsistency_to_share():
    facts, wordings = complete()
    answers = [np.eye(F)[facts]] * L
    found = split_inconsistency([Asked(answers, facts, wordings)] * 9)
    assert (found["between"], found["share_languages"], found["share_languages_ci"]) == (
        0,
        None,
        None,
    )
    assert found["fact"] == 1


@pytest.mark.parametrize("count", [2, 4])
def test_few_relations_have_students_t(count):
    """The linearised error of a share is that of its residuals over the relations."""
    random = np.random.default_rng(7)
    relations = [ask_right(random, SPREAD, facts=30) for _ in range(count)]
    found = split_inconsistency(relations)
    within, between = np.array([measure_disagreement(*asked)[:2] for asked in relations]).T
    share = 1 - within.sum() / between.sum()
    errors = (between - within - share * between) / between.mean()
    half = student.ppf(0.975, count - 1) * errors.std(ddof=1) / np.sqrt(count)
    assert found["share_languages"] == pytest.approx(share)
    assert found["share_languages_ci"] == pytest.approx([share - half, share + half])
    assert split_inconsistency(relations, n_resamples=0)["share_languages_ci"] is None
    alone = split_inconsistency(relations[:1])
    assert alone["share_languages"] is not None
    assert alone["share_languages_ci"] is None


@pytest.mark.parametrize("count", [3, 6])
def test_templates_with_strong_effects_hold_zero_in_few_relations(count):
    """Each template of each language is drawn alone, so that languages have no share."""
    inside = 0
    for seed in range(120):
        random = np.random.default_rng([seed, count])
        relations = []
        for _ in range(count):
            facts, wordings = complete(60, 2)
            scores = random.normal(0, 1.5, (60, 1, 1, 5)) + random.normal(0, 0.7, (60, 2, 2, 5))
            best = (scores + random.normal(size=(1, 2, 2, 5))).argmax(axis=-1)
            answers = [np.eye(5)[best[:, x].ravel()] for x in range(2)]
            relations.append(Asked(answers, facts, wordings))
        low, high = split_inconsistency(relations, 200, seed)["share_languages_ci"]
        inside += low <= 0 <= high
    assert inside >= 106  # of 120: 95% less four standard errors


def take(asked, rows):
    return Asked([part[rows] for part in asked.outcomes], asked.facts[rows], asked.wordings[rows])


def test_one_language_or_one_fact():
    random = np.random.default_rng(9)
    relations = [ask_right(random, SPREAD) for _ in range(9)]
    alone = split_inconsistency([x._replace(outcomes=x.outcomes[:1]) for x in relations])
    assert alone["between"] is alone["language"] is alone["share_languages"] is None
    assert alone["within"] == pytest.approx(alone["template"] + alone["residual"])
    assert alone["within_ci"][0] < alone["within"] < alone["within_ci"][1]
    first = take(relations[0], relations[0].facts == 0)
    found = split_inconsistency([*relations, first])
    assert (found["n_relations"], found["n_left_out"]) == (9, 1)
    lonely = take(relations[0], relations[0].wordings == 0)
    nothing = split_inconsistency([lonely])
    assert (nothing["within"], nothing["n_relations"], nothing["n_left_out"]) == (None, 0, 1)


def test_intervals_of_means_agree_with_students_t_in_normal_samples():
    units = np.random.default_rng(10).normal(1, 0.1, size=(400, 5))
    low, high = bound_means(units, 2_000, 0)[0]
    error = units[:, 0].std(ddof=1) / 20
    assert (high - low) / 2 == pytest.approx(1.966 * error, rel=0.06)
    assert (low + high) / 2 == pytest.approx(units[:, 0].mean(), abs=1e-9)


@pytest.mark.acceptance
@pytest.mark.parametrize("place", [0, 1])
def test_coverage_under_another_process(place):
    """Latent scores with heavy tails; bench/split.md has the full table."""
    pool = simulate(PROCESSES[place], 700, 0)
    for quantity in range(2):
        found = name_values(
            cover_relations(pool[:, quantity], 20, 150, lambda x: bound_means(x, 400, 0))
        )
        assert 0.90 <= found["share_languages"] <= 0.99
        assert 0.90 <= found["share_residual"] <= 0.99
