"""FRS, KTS and X-FaKT compared with loops over cells, and with the published values."""

from collections import defaultdict
from statistics import fmean

import numpy as np
import pytest
from scipy.stats import ttest_ind

from polyprobe.metrics.factual_transfer.formulas import measure_transfer
from tests.metrics.judged import is_right, read_judged

# Countries and languages pair in the order of the authors' program.
OWN = {
    **{"United States": "en", "India": "hi", "China": "zh", "Russia": "ru", "Saudi Arabia": "ar"},
    **{"France": "fr", "Nepal": "ne", "Japan": "ja", "Ukraine": "uk", "Greece": "el"},
    **{"Turkey": "tr", "Kenya": "sw", "Thailand": "th"},
}
PUBLISHED = {  # FRS, KTS, X-FaKT, README of kmrtanmay/X_FaKT
    "gemma-2-9b-it": (0.677, 0.705, 0.691),
    "gemma-2-2b-it": (0.463, 0.473, 0.468),
    "Llama-3.2-3B-Instruct": (0.375, 0.620, 0.467),
    "Llama-3.2-1B-Instruct": (0.247, 0.524, 0.336),
    "Mistral-7B-Instruct-v0.2": (0.424, 0.559, 0.483),
    "Orca-2-7b": (0.295, 0.603, 0.396),
    "Phi-3.5-mini-instruct": (0.208, 0.563, 0.304),
}
NAMES = ("recall", "transfer", "x_fakt")


def loop(right, languages, own, digits):
    """Return FRS, KTS, X-FaKT, and the cells, by loops."""
    wrong = defaultdict(list)
    for row, country in zip(right, own, strict=True):
        for language, hit in zip(languages, row, strict=True):
            wrong[language, country].append(1 - hit)
    cells = {key: fmean(values) for key, values in wrong.items()}
    parts = [
        [
            x if digits is None else round(x, digits)
            for (a, b), x in cells.items()
            if (a == b) == same
        ]
        for same in (True, False)
    ]
    a, n = map(fmean, parts)
    recall, transfer = 1.5 * (1 / (a + n + 1) - 1 / 3), 2 * (1 / (abs(a - n) + 1) - 1 / 2)
    return (recall, transfer, 2 * recall * transfer / (recall + transfer)), cells


@pytest.mark.parametrize("digits", [None, 1])
@pytest.mark.parametrize("n", [2, 4])
def test_equals_a_loop_over_cells(n, digits):
    generator = np.random.default_rng(n)
    languages = ["en", "fr", "ru", "zh"][:n]
    own = [*languages, *generator.choice(languages, 60).tolist()]
    right = generator.integers(0, 2, (len(own), n)).tolist()
    expected, cells = loop(right, languages, own, digits)
    found = measure_transfer(right, languages, own, digits=digits, n_resamples=0)
    assert [found[name] for name in NAMES] == pytest.approx(expected, abs=1e-12)
    same = [x for (a, b), x in cells.items() if a == b]
    test = ttest_ind(same, [x for (a, b), x in cells.items() if a != b])
    assert (found["t"], found["p_value"]) == pytest.approx((test.statistic, test.pvalue))


def test_groups_without_a_country_and_columns_in_another_order():
    right, own = [[1, 0], [0, 1], [1, 1]], ["en", "fr", "en"]
    found = measure_transfer(right, ["en", "fr"], own, groups=["a", "a", "b"], n_resamples=0)
    assert found["by_group"]["b"]["recall"] == 1.5 * (1 - 1 / 3)  # en alone: A = 0, N = 0
    turned = measure_transfer([row[::-1] for row in right], ["fr", "en"], own)
    assert turned == measure_transfer(right, ["en", "fr"], own)


@pytest.mark.parametrize("value", [0, 1])
def test_intervals_of_the_accuracies_have_a_width(value):
    found = measure_transfer([[value] * 2] * 20, ["en", "fr"], ["en", "fr"] * 10)
    assert [found[f"{name}_ci"] for name in NAMES[:2]] == [[value, value], [1, 1]]
    for name in ("associative", "others"):
        assert found[name] == value in found[f"{name}_ci"]
        assert np.diff(found[f"{name}_ci"])[0] > 0.1
    assert (found["t"], found["x_fakt"]) == (None, value)


ERRORS = {
    "no languages": ([[1, 0]], None, ["en"], r"pass languages=\[…\]"),
    "fraction of right": (
        [[1, 2]],
        ["en", "fr"],
        ["en"],
        "query 0 of 'predictions' has 2; expected",
    ),
    "unknown": ([[1, 0]], ["en", "fr"], ["de"], "query 0 of 'references' has 'de', not in 'lang"),
    "no country": ([[1, 0]], ["en", "fr"], ["en"], "'fr' in 'languages' is in no query of"),
    "unequal": ([[1, 0]], ["en", "fr"], [], "1 queries in 'predictions', 0 in 'references'"),
    "names": ([[1, 0]], ["en"], ["en"], r"\['en'\] in 'languages', 2 columns in"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    predictions, languages, references, message = ERRORS[case]
    with pytest.raises(ValueError, match=message):
        measure_transfer(predictions, languages, references)


@pytest.mark.parametrize("digits", [-1, 2.0, True, "2"])
def test_digits_are_an_integer(digits):
    with pytest.raises(ValueError, match=f"digits is {digits!r}; expected an integer from 0 to 15"):
        measure_transfer([[1, 0], [0, 1]], ["en", "fr"], ["en", "fr"], digits=digits)


@pytest.mark.parametrize("model", PUBLISHED)
def test_the_published_values_to_the_third_decimal(model, upstream):
    rows = read_judged(model)
    own = [OWN[row["answers"]] for row in rows["en"]]
    judged = [[int(is_right(row)) for row in table] for table in rows.values()]
    right = [*zip(*judged, strict=True)]
    found = measure_transfer(right, [*rows], own, digits=2, n_resamples=200)
    values = [found[name] for name in NAMES]
    assert values == pytest.approx(loop(right, [*rows], own, 2)[0], abs=1e-12)
    assert [f"{value:.3f}" for value in values] == [f"{value:.3f}" for value in PUBLISHED[model]]
    for name, value in zip(NAMES, values, strict=True):
        low, high = found[f"{name}_ci"]
        assert low < value < high
