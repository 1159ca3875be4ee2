"""Answer agreement compared with loops over pairs and facts, kappa with statsmodels."""

from itertools import combinations, product
from statistics import fmean

import evaluate
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from polyprobe.metrics.answer_agreement.formulas import (
    agreement_per_query,
    measure_agreement,
)
from polyprobe.metrics.shared.intervals import summarize
from tests.metrics.cases import METRICS
from tests.metrics.definitions import draw_pools

PARTS = (
    *("agree_right", "agree_wrong", "one_right"),
    *("both_wrong_different", "both_right_different"),
)


def name_part(one, other, right):
    """Return the part, of five, of a fact of a pair."""
    if one == other:
        return "agree_right" if one in right else "agree_wrong"
    if one in right and other in right:
        return "both_right_different"
    return "one_right" if one in right or other in right else "both_wrong_different"


def list_parts(chosen, answers, one, other):
    """Return the parts of the facts of two columns."""
    facts = zip(chosen, answers, strict=True)
    return [name_part(row[one], row[other], right) for row, right in facts]


@st.composite
def draw_choices(draw):
    """Draw choices in two to five languages, correct answers (sometimes several) and groups."""
    index = st.sampled_from([0, 1, 2, 700])
    n_languages = draw(st.integers(2, 5))
    row = st.lists(index, min_size=n_languages, max_size=n_languages)
    chosen = draw(st.lists(row, min_size=1, max_size=6))
    n = len(chosen)
    right = st.lists(st.sampled_from([0, 1, 2, 9]), min_size=1, unique=True)
    answers = draw(st.lists(right, min_size=n, max_size=n))
    return chosen, answers, draw(st.lists(st.sampled_from("ab"), min_size=n, max_size=n))


@settings(max_examples=150, deadline=None)
@given(drawn=draw_choices(), average=st.sampled_from(["macro", "micro"]))
def test_equals_a_loop_over_pairs_and_facts(drawn, average):
    chosen, answers, groups = drawn
    columns = list(combinations(range(len(chosen[0])), 2))
    found = {columns: list_parts(chosen, answers, *columns) for columns in columns}

    def share(part, columns):
        hits = [name == part for name in found[columns]]
        if average == "micro":
            return fmean(hits)
        members = ([h for h, own in zip(hits, groups, strict=True) if own == g] for g in "ab")
        return fmean(fmean(group) for group in members if group)

    result = measure_agreement(
        chosen, references=answers, groups=groups, average=average, n_resamples=0
    )
    assert [*result["pairs"]] == [f"{one}-{other}" for one, other in columns]
    for part in PARTS:
        shares = [share(part, pair) for pair in columns]
        assert result[part] == pytest.approx(fmean(shares), abs=1e-12)
        of_pairs = [figures[part] for figures in result["pairs"].values()]
        assert of_pairs == pytest.approx(shares, abs=1e-12)
    for figures in (result, *result["pairs"].values()):
        assert sum(figures[part] for part in PARTS) == pytest.approx(1)
        both = figures["agree_right"] + figures["agree_wrong"]
        assert figures["agreement"] == pytest.approx(both, abs=1e-12)


@pytest.mark.parametrize(("n_languages", "n_indices"), [(2, 2), (5, 10), (17, 4)])
def test_kappa_equals_statsmodels(n_languages, n_indices):
    generator = np.random.default_rng(n_languages)
    chosen = generator.integers(0, n_indices, (200, n_languages))
    chosen[:80] = chosen[:80, :1]
    groups = generator.integers(0, 3, 200).tolist()
    result = measure_agreement(chosen.tolist(), groups=groups, n_resamples=0)
    expected = fleiss_kappa(aggregate_raters(chosen)[0])
    assert result["fleiss_kappa"] == pytest.approx(expected, abs=1e-12)
    for group, figures in result["by_group"].items():
        rows = chosen[np.array(groups) == group]
        expected = fleiss_kappa(aggregate_raters(rows)[0])
        assert figures["fleiss_kappa"] == pytest.approx(expected, abs=1e-12)


def test_kappa_is_none_where_chance_agreement_is_1():
    result = measure_agreement([[4, 4], [4, 4], [4, 5]], groups=["a", "a", "b"], n_resamples=0)
    assert result["by_group"]["a"]["fleiss_kappa"] is None
    assert result["by_group"]["b"]["fleiss_kappa"] == -1  # (0 - 1 / 2) / (1 - 1 / 2)
    # 5 and 1 of 6 choices
    assert result["fleiss_kappa"] == pytest.approx((2 / 3 - 26 / 36) / (1 - 26 / 36))


def test_interval_of_kappa_is_that_of_all_facts():
    generator = np.random.default_rng(2)
    chosen = generator.integers(0, 4, (300, 4))
    chosen[:150] = chosen[:150, :1]
    drawn = [
        fleiss_kappa(aggregate_raters(chosen[generator.integers(300, size=300)])[0])
        for _ in range(500)
    ]
    result = measure_agreement(chosen, groups=[i % 30 for i in range(300)])
    assert result["fleiss_kappa_ci"] == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.02)
    assert result["fleiss_kappa_ci"][0] < result["fleiss_kappa"] < result["fleiss_kappa_ci"][1]


@pytest.mark.parametrize("n_candidates", [3, 8])
def test_kappa_of_equal_pools_is_randolph_s(n_candidates):
    generator = np.random.default_rng(n_candidates)
    chosen = generator.integers(0, 3, (200, 5))
    chosen[:80] = chosen[:80, :1]
    counts = aggregate_raters(chosen, n_cat=n_candidates)[0]
    expected = fleiss_kappa(counts, method="randolph")
    for numbers in (chosen, chosen + 1000 * np.arange(200)[:, None]):  # places, entity numbers
        found = measure_agreement(numbers, n_candidates=[n_candidates] * 200, n_resamples=0)
        assert found["kappa"] == pytest.approx(expected, abs=1e-12)


def test_kappa_is_averaged_over_groups_as_agreement_is():
    chosen, sizes = [[0, 0], [0, 1], [0, 1], [2, 2]], [2, 4, 2, 3]
    options = {"groups": ["a", "a", "b", "b"], "n_candidates": sizes, "n_resamples": 0}
    parts = [((1 + 0) - (1 / 2 + 1 / 4)) / (2 - 3 / 4), ((0 + 1) - (1 / 2 + 1 / 3)) / (2 - 5 / 6)]
    result = measure_agreement(chosen, **options)
    assert [result["by_group"][group]["kappa"] for group in "ab"] == pytest.approx(parts)
    assert result["kappa"] == pytest.approx(fmean(parts))
    whole = measure_agreement(chosen, average="micro", **options)["kappa"]
    assert whole == pytest.approx((2 - 19 / 12) / (4 - 19 / 12))


def test_kappa_of_random_choices_in_unequal_pools_is_0():
    """200 samples: the mean is 0 within four standard errors, and 95% of intervals contain 0."""
    generator = np.random.default_rng(6)
    sizes = generator.integers(1, 11, 120)
    found = [
        measure_agreement(
            generator.integers(sizes[:, None], size=(120, 4)), n_candidates=sizes, n_resamples=1000
        )
        for _ in range(200)
    ]
    kappas = [result["kappa"] for result in found]
    assert abs(fmean(kappas)) < 4 * np.std(kappas) / 200**0.5
    held = fmean(low <= 0 <= high for low, high in (result["kappa_ci"] for result in found))
    assert held == pytest.approx(0.95, abs=4 * (0.95 * 0.05 / 200) ** 0.5)


def test_right_in_all_in_any_and_in_exactly_k():
    chosen = [[0, 0, 0], [0, 1, 2], [1, 1, 1], [1, 0, 0], [2, 2, 1]]
    answers = [[0], [0, 1], [0], [0], [2]]  # correct in 3, 2, 0, 2, 2 languages
    result = measure_agreement(chosen, references=answers, groups=["a", "a", "b", "b", "b"])
    assert result["k_correct"] == [1, 0, 3, 1]
    assert result["right_in_all"] == pytest.approx((1 / 2 + 0 / 3) / 2)
    assert result["right_in_any"] == pytest.approx((2 / 2 + 2 / 3) / 2)
    assert result["by_group"]["a"]["right_in_all"] == 1 / 2
    assert result["by_group"]["b"]["n_queries"] == 3


def test_without_answers_nothing_is_said_of_right_and_wrong():
    result = measure_agreement([[0, 0], [1, 2]], n_resamples=0)
    assert result == {
        "agreement": 0.5,
        "fleiss_kappa": pytest.approx((1 / 2 - 6 / 16) / (1 - 6 / 16)),
        "pairs": {"0-1": {"agreement": 0.5}},
        "n_queries": 2,
        "n_languages": 2,
    }


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("clusters", ["none", "within", "across", "of groups"])
def test_intervals_of_pairs_are_drawn_as_those_of_one_measure(average, clusters):
    """Clusters of 4 facts within a group, of 12 over groups, and of 2 whole groups of 12."""
    generator = np.random.default_rng(5)
    groups = np.repeat(np.arange(20), 12)
    agree = generator.random((240, 2)) < generator.random(20)[groups, None]
    chosen = np.column_stack([np.zeros(240, dtype=int), np.where(agree, 0, [1, 2])])
    labels = {
        "none": None,
        "within": (np.arange(240) // 4).tolist(),
        "across": (np.arange(240) % 20).tolist(),
        "of groups": (groups // 2).tolist(),
    }
    options = {"groups": groups.tolist(), "average": average, "clusters": labels[clusters]}
    result = measure_agreement(chosen, n_resamples=4000, **options)
    for column, name in [(0, "0-1"), (1, "0-2")]:
        alone = summarize({"agreement": agree[:, column]}, n_resamples=4000, seed=1, **options)
        assert result["pairs"][name]["agreement"] == pytest.approx(alone["agreement"])
        width = np.diff(alone["agreement_ci"])[0]
        found = result["pairs"][name]["agreement_ci"]
        assert found == pytest.approx(alone["agreement_ci"], abs=0.07 * width)


def test_a_group_that_is_not_drawn_is_left_out():
    """One of two clusters is resampled; a group without it has no value."""
    chosen = [[0, 0], [0, 1], [0, 0]]
    options = {"groups": ["a", "a", "b"], "clusters": ["x", "y", "y"], "n_resamples": 200}
    result = measure_agreement(chosen, **options)
    # x: a agrees on 1 of 1, the mean is 1; y: a on 0 of 1, b on 1 of 1, the mean is (0 + 1) / 2
    n = (3 / 4 * 1 / 4) / ((1 - 1 / 2) ** 2 / 4)
    for bound in result["agreement_ci"]:  # Wilson's equation, Student's t of one degree of freedom
        score = (3 / 4 - bound) / np.sqrt(bound * (1 - bound) / n)
        assert abs(score) == pytest.approx(stats.t.ppf(0.975, 1), rel=0.02)
    assert result["pairs"]["0-1"]["agreement_ci"] == pytest.approx(result["agreement_ci"])


def test_the_interval_of_a_biased_figure_contains_it():
    """Resamples of four facts overestimate P_e: the percentile interval ends at -0.636."""
    result = measure_agreement([[0, 2], [2, 0], [1, 2], [1, 2]], n_resamples=1000)
    # agreement is 0; of eight choices two are 0, two are 1, four are 2
    chance = (2 / 8) ** 2 + (2 / 8) ** 2 + (4 / 8) ** 2
    assert result["fleiss_kappa"] == pytest.approx((0 - chance) / (1 - chance))
    low, high = result["fleiss_kappa_ci"]
    assert low < high == result["fleiss_kappa"]


@pytest.fixture
def metric(tmp_path, monkeypatch):
    monkeypatch.setattr(evaluate.config, "HF_UPDATE_DOWNLOAD_COUNTS", False)
    return evaluate.load(str(METRICS / "answer_agreement"), cache_dir=str(tmp_path))


NAMES = {
    "Q142": {"en": ["France"], "ru": ["Франция"], "fr": ["France"]},
    "Q41": {"en": "Greece", "ru": "Греция", "fr": "Grèce"},
}


def test_free_answers_are_compared_by_the_entity_that_they_name(metric):
    texts = [
        ["France", "Во Франции", "En Grèce."],  # an inflected form is the same answer
        ["It is Greece", "Не знаю", "Je ne sais pas"],  # refusals are no answer
        ["not France, Greece", "<b>Греции</b>", "Greece"],  # in English, marked up
    ]
    numbers = [[0, 0, 1], [1, 2, 3], [1, 1, 1]]
    options = {"languages": ["en", "ru", "fr"], "n_resamples": 50}
    found = metric.compute(
        predictions=texts, references=["Q142", "Q41", ["Q41", "Q142"]], names=NAMES, **options
    )
    expected = metric.compute(predictions=numbers, references=[[0], [1], [1, 0]], **options)
    assert found == expected
    kappa = metric.compute(predictions=texts, names=NAMES, n_candidates=[2, 2, 2], **options)
    assert kappa["kappa"] == pytest.approx(((1 / 3 + 0 + 1) / 3 - 1 / 2) / (1 - 1 / 2))
    metric.add(prediction=texts[0])
    metric.add_batch(predictions=texts[1:])
    assert metric.compute(names=NAMES, **options)["agreement"] == expected["agreement"]
    assert metric.compute(predictions=numbers, **options)["agreement"] == expected["agreement"]


ERRORS = {
    "one language": ([[0], [1]], {}, "1 languages in 'predictions'; expected two or more"),
    "uneven": ([[0, 1], [0]], {}, "2 languages in query 0 of 'predictions', 1 in query 1"),
    "flat": ([0, 1], {}, "query 0 of 'predictions' is 0; expected a list"),
    "text": (["01", "10"], {}, "query 0 of 'predictions' is '01'; expected a list"),
    "none": ([[0, 1], [0, None]], {}, "None in query 1 of 'predictions'; expected an index"),
    "nan": ([[0, float("nan")]], {}, "nan in query 0 of 'predictions'"),
    "negative": ([[0, 1], [-1, 0]], {}, "query 1 of 'predictions' has -1"),
    "fraction": ([[0, 0.5]], {}, "0.5 in query 0 of 'predictions'"),
    "names": ([[0, 1]], {"languages": ["en"]}, r"\['en'\] in 'languages', 2 columns in"),
    "name as text": ([[0, 1]], {"languages": "en"}, "'en' in 'languages', 2 columns"),
    "same names": ([[0, 1]], {"languages": ["en", "en"]}, "'en' appears twice in 'languages'"),
    "pools": ([[0, 1]] * 2, {"n_candidates": [2]}, "2 queries in 'predictions', 1 in 'n_cand"),
    "one pool": ([[0, 1]], {"n_candidates": 2}, "'n_candidates' is 2; expected a list"),
    "small pool": (
        [[0, 0], [0, 5]],
        {"n_candidates": [1, 1]},
        "query 1 has 1 in 'n_candidates', 2 different choices in 'predictions'; expected the n",
    ),
    "no pool": ([[0, 0]], {"n_candidates": [0]}, "query 0 has 0 in 'n_candidates', 1 different"),
    "texts without names": ([["a", "b"]], {}, "'predictions' has texts; pass names="),
    "texts without languages": (
        [["a", "b"]],
        {"names": NAMES},
        "'languages' is None; expected the language of each column",
    ),
    "one language of two": (
        [["a", "b"]],
        {"names": NAMES, "languages": ["en"]},
        "query 0 has 2 answers, 'languages' 1",
    ),
    "names of indices": (
        [[0, 1]],
        {"names": NAMES, "languages": ["en", "ru"]},
        "query 0 has the answer 0; expected a text",
    ),
    "an entity that is not in the pool": (
        [["a", "b"]],
        {"names": NAMES, "languages": ["en", "ru"], "references": ["Q1"]},
        "query 0 of 'references' has 'Q1', not in 'names'",
    ),
    "pool of text": ([[0, 0]], {"n_candidates": ["3"]}, "query 0 has '3' in 'n_candidates'"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case, metric):
    predictions, options, message = ERRORS[case]
    with pytest.raises(ValueError, match=message) as raised:
        metric.compute(predictions=predictions, **options)
    assert "\n" not in str(raised.value)


# Agreement of all pairs of languages, from choices, and from scores with possible ties.


@settings(max_examples=200, deadline=None)
@given(pools=draw_pools(largest=5, languages=3, levels=3))
def test_expected_agreement_equals_enumeration_of_the_best(pools):
    scores = dict(zip(("en", "fr", "ru"), pools, strict=True))
    values = agreement_per_query(scores)
    for column, (one, other) in enumerate(combinations(scores, 2)):
        for query, rows in enumerate(zip(scores[one], scores[other], strict=True)):
            best = [[i for i, s in enumerate(row) if s == max(row)] for row in rows]
            expected = fmean(a == b for a, b in product(*best))
            assert values[query, column] == pytest.approx(expected, abs=1e-12)


def test_expected_agreement_without_ties_is_a_loop_over_pairs():
    generator = np.random.default_rng(8)
    scores = {name: generator.random((50, 7)) for name in ("en", "fr", "ru", "zh")}
    choices = [rows.argmax(axis=1).tolist() for rows in scores.values()]
    expected = [
        fmean(x == y for x, y in zip(*pair, strict=True)) for pair in combinations(choices, 2)
    ]
    assert agreement_per_query(scores).mean(axis=0) == pytest.approx(expected, abs=1e-12)
