"""The figures of second questions and the floors of a run, recomputed with plain loops."""

import shutil
from itertools import combinations
from statistics import fmean

import pyarrow.parquet as pq
import pytest

from polyprobe.analysis.figures.compute import compute_results
from polyprobe.analysis.figures.units import Bootstrap
from polyprobe.eval import evaluate_model
from polyprobe.eval.questions import choose_donors
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import Run
from polyprobe.scoring.load import load_scorer
from polyprobe.system.errors import PolyprobeError
from tests.making import tiny
from tests.making.facts import CITIES, rows, write_facts
from tests.making.runs import SCORES as WRITTEN
from tests.making.runs import write_run
from tests.metrics.definitions import define_weights, enumerate_rankc

COPIES = 6  # 24 facts; those with 2 of the 4 cities as candidates have donors
PAIRS = [*combinations(CITIES, 2)]
SECOND = ("rankc_subject", "rankc_donor", "rankc_difference", "accuracy_donor", "accuracy_gain")


def number(language, made):
    """Make every prompt different: no two facts have the same scores."""
    return [row._replace(prompt=f"{n}. {row.prompt}") for n, row in enumerate(made)]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    tiny.save_model("gpt2", folder / "model")
    write_facts(folder / "facts", spoil=number, copies=COPIES)
    return folder


def evaluate(place, output, **options):
    return evaluate_model(str(place / "model"), str(place / "facts"), output=output, **options)


@pytest.fixture(scope="module")
def done(place):
    """Return a finished run, its results with 20,000 resamples, and its scores by language."""
    evaluate(place, place / "done")
    results = compute_results(Run(place / "done"), Bootstrap(20_000, 0, "none"))
    tables = {
        x: pq.read_table(place / "done" / "scores" / f"{x}.parquet").to_pylist() for x in CITIES
    }
    return place / "done", results, tables


def read(folder):
    return {x: pq.read_table(folder / "scores" / f"{x}.parquet") for x in CITIES}


def rate(row, scores):
    """Return the probability that a row is right, ties in random order."""
    best = [k for k, score in enumerate(scores) if score == max(scores)]
    return fmean(k in row["answers"] for k in best)


def compare(one, other):
    return enumerate_rankc(one, other, "softmax")


def consistency(tables, a, b):
    """Return R and P of the facts with a donor."""
    own, donor = [], []
    for one, two in zip(tables[a], tables[b], strict=True):
        if one["donor"] is not None:
            own.append(compare(one["scores"], two["scores"]))
            ways = (one["scores"], two["donor_scores"]), (one["donor_scores"], two["scores"])
            donor.append(fmean(compare(*way) for way in ways))
    return own, donor


def accuracies(tables, language):
    """Return right and right in the other sentence, of the facts with a donor."""
    asked = [row for row in tables[language] if row["donor"] is not None]
    return [rate(r, r["scores"]) for r in asked], [rate(r, r["donor_scores"]) for r in asked]


def enumerate_signs(values):
    """Return the share of all 2^n flips of signs whose sum is as far from 0."""
    sums = {0.0: 1}
    for value in values:
        flipped: dict[float, int] = {}
        for total, count in sums.items():
            for new in (round(total + value, 12), round(total - value, 12)):
                flipped[new] = flipped.get(new, 0) + count
        sums = flipped
    observed = abs(sum(values)) - 1e-9
    return sum(n for total, n in sums.items() if abs(total) >= observed) / 2 ** len(values)


def test_donor_scores_are_the_scorer_s_in_the_donor_s_sentence(place, done):
    scorer = load_scorer(str(place / "model"))
    for language, table in done[2].items():
        made = number(language, rows(language, COPIES))
        prompts = {row.fact_id: row.prompt for row in made}
        pairs = [(r, m) for r, m in zip(table, made, strict=True) if r["donor"]]
        assert len(pairs) == 4 * COPIES / 2
        want = scorer.score(
            [prompts[r["donor"]] for r, _ in pairs], [m.candidates for _, m in pairs]
        )
        for (row, own), scores in zip(pairs, want, strict=True):
            assert row["donor_scores"] == pytest.approx(scores, abs=1e-5)
            assert row["donor_scores"] != pytest.approx(row["scores"], abs=1e-3)
            donor = next(x for x in made if x.fact_id == row["donor"])
            assert (donor.relation, donor.subject_id) != (own.relation, own.subject_id)
            assert donor.object_id not in own.candidate_ids
        assert all((r["donor"] is None) == (r["donor_scores"] is None) for r in table)
        assert [r["donor"] for r in table] == [r["donor"] for r in done[2]["en"]]


def test_figures_of_pairs(done):
    _, results, tables = done
    means = {name: [] for name in ("rankc_subject", "rankc_donor", "rankc_difference")}
    for a, b in PAIRS:
        own, donor = consistency(tables, a, b)
        r, p = fmean(own), fmean(donor)
        expected = {
            "rankc_subject": (r - p) / (1 - p),
            "rankc_donor": p,
            "rankc_difference": r - p,
        }
        for name, value in expected.items():
            assert results[name][f"{a}-{b}"] == pytest.approx(value, abs=1e-6)
            low, high = results["intervals"][name][f"{a}-{b}"]
            assert low - 1e-9 <= value <= high + 1e-9
            means[name].append(value)
    for name, values in means.items():
        assert results["mean"][name] == pytest.approx(fmean(values), abs=1e-6)
    assert results["left_out"]["rankc_subject"] == 4 * COPIES / 2


def test_figures_of_languages(done):
    _, results, tables = done
    gains = []
    for x in CITIES:
        right, other = map(fmean, accuracies(tables, x))
        assert results["accuracy_donor"][x] == pytest.approx(other)
        assert results["accuracy_gain"][x] == pytest.approx(right - other)
        gains.append(right - other)
    assert len(set(gains)) > 1
    assert results["mean"]["accuracy_gain"] == pytest.approx(fmean(gains))


def test_p_values_are_those_of_all_flips(done):
    """12 facts have 4,096 flips; the standard error of 20,000 is below .0036."""
    _, results, tables = done
    found = results["p_values"]
    columns = []
    for a, b in PAIRS:
        own, donor = consistency(tables, a, b)
        columns.append([r - p for r, p in zip(own, donor, strict=True)])
        expected = enumerate_signs(columns[-1])
        assert found["rankc_difference"][f"{a}-{b}"] == pytest.approx(expected, abs=0.015)
    of_all = enumerate_signs([fmean(values) for values in zip(*columns, strict=True)])
    assert found["rankc_difference"]["mean"] == pytest.approx(of_all, abs=0.015)
    gains = []
    for x in CITIES:
        gains.append([r - d for r, d in zip(*accuracies(tables, x), strict=True)])
        assert found["accuracy_gain"][x] == pytest.approx(enumerate_signs(gains[-1]), abs=0.015)
    of_all = enumerate_signs([fmean(values) for values in zip(*gains, strict=True)])
    assert found["accuracy_gain"]["mean"] == pytest.approx(of_all, abs=0.015)
    assert {name: set(values) for name, values in found.items()} == {
        "rankc_difference": {*(f"{a}-{b}" for a, b in PAIRS), "mean"},
        "accuracy_gain": {*CITIES, "mean"},
    }


def test_subjects_are_flipped_whole(done, tmp_path):
    folder, _, tables = done
    shutil.copytree(folder, tmp_path / "run")
    found = compute_results(Run(tmp_path / "run"), Bootstrap(20_000, clusters="subject"))
    own, donor = consistency(tables, "en", "ru")
    subjects = [r["fact_id"].split(":")[1] for r in tables["en"] if r["donor"] is not None]
    sums = [
        sum(r - p for r, p, s in zip(own, donor, subjects, strict=True) if s == subject)
        for subject in set(subjects)
    ]
    assert len(sums) == 4
    p = found["p_values"]["rankc_difference"]["en-ru"]
    assert p == pytest.approx(enumerate_signs(sums), abs=0.015)


def adjust(values, sizes):
    """Return the mean of (RankC - chance) / (1 - chance); chance is sum_j w_j j / N."""
    levels = [sum(w * j / n for j, w in enumerate(define_weights(n, "softmax"), 1)) for n in sizes]
    return fmean((v - c) / (1 - c) for v, c in zip(values, levels, strict=True))


def check_rankings(floor, values, sizes):
    """Compare a floor with RankC by pair [pairs][facts]."""
    assert floor["rankc"] == pytest.approx(fmean(map(fmean, values)), abs=1e-6)
    expected = fmean(adjust(column, sizes) for column in values)
    assert floor["rankc_adjusted"] == pytest.approx(expected, abs=1e-6)


def test_the_floor_of_another_subject(done):
    _, results, tables = done
    floor = results["floors"]["donor"]
    donor = [consistency(tables, a, b)[1] for a, b in PAIRS]
    sizes = [len(r["scores"]) for r in tables["en"] if r["donor"] is not None]
    check_rankings(floor, donor, sizes)
    expected = fmean(fmean(accuracies(tables, x)[1]) for x in CITIES)
    assert floor["accuracy"] == pytest.approx(expected)
    assert floor.keys() == {"accuracy", "rankc", "rankc_adjusted"}


@pytest.mark.parametrize(
    ("floor", "count"),
    [
        ("length", lambda row, made: [len(text) for text in made.candidates]),
        ("tokens", lambda row, made: row["n_tokens"]),
    ],
)
def test_floors_of_lengths_and_tokens(floor, count, done):
    _, results, tables = done
    scores = {}
    for x, table in tables.items():
        both = zip(table, rows(x, COPIES), strict=True)
        scores[x] = [[-n for n in count(row, made)] for row, made in both]
    assert scores["en"] != scores["ru"]
    values = [
        [compare(one, two) for one, two in zip(scores[a], scores[b], strict=True)] for a, b in PAIRS
    ]
    check_rankings(results["floors"][floor], values, [len(row) for row in scores["en"]])


def test_the_floor_of_frequent_answers(done):
    made, right = rows("en", COPIES), []
    for row in made:
        others = [x for x in made if x.relation == row.relation and x.fact_id != row.fact_id]
        counts = [sum(x.object_id == k for x in others) for k in row.candidate_ids]
        best = [k for k, count in enumerate(counts) if count == max(counts)]
        right.append((row.answers[0] in best) / len(best))
    assert done[1]["floors"]["frequency"] == {"accuracy": pytest.approx(fmean(right))}
    counted = [row["majority"] for rows in done[2].values() for row in rows]
    assert done[1]["floors"]["majority"] == {"accuracy": pytest.approx(fmean(counted))}
    assert 0 < fmean(right) < 1


def test_the_floor_of_independent_languages(done):
    accuracy, values = done[1]["accuracy"], []
    for x, y in PAIRS:
        a, b = accuracy[x], accuracy[y]
        if a + b > 0:
            values.append(a * b / (a + b - a * b))
    assert done[1]["floors"]["independence"] == {"coverlap": pytest.approx(fmean(values))}


def test_without_donors(place, done, tmp_path):
    results = evaluate(place, tmp_path / "run", donor=False)
    assert not {*SECOND} & {*results, *results["mean"], *results["intervals"]}
    assert results["p_values"] == {}
    assert set(results["floors"]) == {
        "frequency", "majority", "length", "tokens", "independence"
    }  # fmt: skip
    assert "rankc_subject" not in results["left_out"]
    assert "|donor:none|" in results["signature"]
    assert "|donor:subject|" in done[1]["signature"]
    for x, table in read(tmp_path / "run").items():
        assert table["donor"].null_count == table["donor_scores"].null_count == len(table)
        whole = pq.read_table(done[0] / "scores" / f"{x}.parquet")
        assert table["scores"] == whole["scores"]
    with pytest.raises(PolyprobeError, match="holds another run \\(donor: False, asked for True"):
        evaluate(place, tmp_path / "run")


@pytest.mark.parametrize(
    "calls", [[["en", "ru"], ["zh_hans"]], [["zh_hans"], ["ru"], ["en"]]], ids=["two", "reverse"]
)
def test_languages_added_later_have_the_same_donors(calls, place, done, tmp_path):
    for languages in calls:
        results = evaluate(place, tmp_path / "run", languages=languages)
    assert read(tmp_path / "run") == read(done[0])
    for name in SECOND:
        assert results["mean"][name] == pytest.approx(done[1]["mean"][name])


def without_ids(language, made):
    """Leave labels and row numbers alone, as in the published BMLAMA."""
    bare = {"relation": "P36", "subject_id": None, "object_id": None, "candidate_ids": []}
    return [row._replace(fact_id=f"17:{n}", **bare) for n, row in enumerate(number(language, made))]


def test_without_ids_the_donors_are_those_of_the_first_language(place, tmp_path):
    facts = write_facts(tmp_path / "facts", spoil=without_ids, copies=COPIES)
    model = str(place / "model")
    evaluate_model(model, str(facts), output=tmp_path / "whole")
    for languages in (["en"], ["zh_hans", "ru"]):
        evaluate_model(model, str(facts), output=tmp_path / "run", languages=languages)
    whole, later = (read(tmp_path / name) for name in ("whole", "run"))
    assert whole == later
    assert whole["ru"]["donor"] == whole["en"]["donor"]
    splits = load_facts(str(facts), None, [*CITIES])
    chosen = {x: choose_donors(table) for x, table in splits.items()}
    assert chosen["ru"] != chosen["en"]  # by labels: a run must not choose for each language


def test_a_sample_has_the_donors_of_the_whole_dataset(place, done, tmp_path):
    evaluate(place, tmp_path / "run", sample=9)
    whole = {row["fact_id"]: row for row in done[2]["ru"]}
    sampled = read(tmp_path / "run")["ru"].to_pylist()
    assert len(sampled) == 9
    for row in sampled:
        for name in ("donor", "baseline", "n_characters"):
            assert row[name] == whole[row["fact_id"]][name]
        if row["donor"]:  # from other batches: equal up to rounding
            assert row["donor_scores"] == pytest.approx(
                whole[row["fact_id"]]["donor_scores"], abs=1e-5
            )
    sampled_ids = {row["fact_id"] for row in sampled}
    assert any(row["donor"] and row["donor"] not in sampled_ids for row in sampled)


def test_a_run_without_second_questions(tmp_path):
    dataset = write_facts(tmp_path / "facts")
    run = write_run(tmp_path / "run", dataset, WRITTEN)
    results = compute_results(Run(run.folder))
    assert set(results["floors"]) == {"tokens", "independence"}
    assert not {*SECOND} & {*results}
    assert results["p_values"] == {}
    assert results["accuracy"]["en"] == 1


def test_one_language_has_a_gain_and_no_pairs(place, done, tmp_path):
    results = evaluate(place, tmp_path / "run", languages=["ru"])
    assert results["accuracy_gain"] == {"ru": pytest.approx(done[1]["accuracy_gain"]["ru"])}
    assert results["rankc_subject"] == {}
    assert results["mean"]["rankc_subject"] is None
    assert results["p_values"]["rankc_difference"] == {}
    assert results["floors"]["donor"].keys() == {"accuracy"}
