"""The figures of second questions and the floors of a run, recomputed with plain loops."""

import random
import shutil
from collections import Counter
from itertools import combinations
from statistics import fmean

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from polyprobe.analysis.figures.compute import compute_results, find_results
from polyprobe.analysis.figures.options import MetricOptions
from polyprobe.analysis.options import Bootstrap
from polyprobe.eval import evaluate_model
from polyprobe.eval.donors import deal_donors
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import SCORES, Run
from polyprobe.schema.run.settings import DEFINITION
from polyprobe.scoring.load import load_scorer
from polyprobe.system.messages import PolyprobeError
from tests.making import tiny
from tests.making.facts import write_facts
from tests.making.runs import SCORES as WRITTEN
from tests.making.runs import write_run
from tests.making.subjects import SYLLABLES, make_rows, write_subjects
from tests.metrics.definitions import define_weights, enumerate_rankc
from tests.metrics.plain_subject import compare, find_floors, find_terms, restrict
from tests.metrics.plain_units import (
    flip_units,
    gain,
    link_units,
    rank_by_bigrams,
    rank_by_initials,
    share_first,
)

PAIRS = [*combinations(SYLLABLES, 2)]
OF_PAIRS = (
    *("rankc_subject", "rankc_right", "rankc_rest", "rankc_independent", "rankc_beyond"),
    *("rankc_donor", "rankc_difference", "rankc_interaction", "rankc_room"),
)
SECOND = (*OF_PAIRS, "accuracy_donor", "accuracy_gain")
TESTED = {"rankc_interaction", "rankc_beyond", "accuracy_gain"}
FLIPS = 20_000


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    tiny.save_model("gpt2", folder / "model")
    write_subjects(folder / "facts")
    evaluate(folder, folder / "run")
    return folder


def evaluate(place, output, **options):
    return evaluate_model(str(place / "model"), str(place / "facts"), output=output, **options)


def invent_scores(row, language, name):
    """Invent what a model that knows half of the facts says in a sentence about a subject.

    A score is of a subject and a candidate, so that facts with the same donor share scores.
    """
    if row[name] is None:
        return None
    fact = row["fact_id"] if name == "scores" else row["donor"]
    names = next(x.candidate_ids for x in make_rows("en") if x.fact_id == row["fact_id"])
    scores = []
    for candidate in names:
        draw, common = random.Random(f"{language} {fact} {candidate}"), random.Random(candidate)
        known = candidate == fact.split(":")[2] and random.Random(f"{fact}").random() < 0.6
        scores.append(round(common.random() + draw.random() + 2 * known, 1))
    return scores


@pytest.fixture(scope="module")
def done(place):
    """Return a run with invented scores, its results with 20,000 resamples, and its rows."""
    run = Run(shutil.copytree(place / "run", place / "done"))
    for language in run.settings().languages:
        rows = run.read(language).to_pylist()
        for row in rows:
            for name in ("scores", "donor_scores"):
                row[name] = invent_scores(row, language, name)
        run.write(language, pa.Table.from_pylist(rows, SCORES))
    results = compute_results(run, Bootstrap(FLIPS, 0, "subject"))
    return run, results, {x: run.read(x).to_pylist() for x in SYLLABLES}


def list_rows(tables, scores=None):
    """Restrict the tables to the rows that count, with `scores` of both sentences if given."""
    scores = scores or [
        {x: [row[name] for row in rows] for x, rows in tables.items()}
        for name in ("scores", "donor_scores")
    ]
    names = ("answers", "donor_answers", "fact_id", "relation")
    return restrict(*scores, *([row[name] for row in tables["en"]] for name in names))


def read(folder):
    return {x: pq.read_table(folder / "scores" / f"{x}.parquet") for x in SYLLABLES}


def test_donor_scores_are_the_scorer_s_in_the_donor_s_sentence(place):
    scorer, tables = load_scorer(str(place / "model")), read(place / "run")
    for language, table in tables.items():
        made, table = make_rows(language), table.to_pylist()
        prompts = {row.fact_id: row.prompt for row in made}
        pairs = [(r, m) for r, m in zip(table, made, strict=True) if r["donor"]]
        assert len(pairs) == len(made) - 1
        want = scorer.score(
            [prompts[r["donor"]] for r, _ in pairs], [m.candidates for _, m in pairs]
        )
        for (row, own), scores in zip(pairs, want, strict=True):
            assert row["donor_scores"] == pytest.approx(scores, abs=1e-5)
            assert row["donor_scores"] != pytest.approx(row["scores"], abs=1e-3)
            donor = next(x for x in made if x.fact_id == row["donor"])
            assert (donor.relation, donor.subject_id) != (own.relation, own.subject_id)
            assert donor.object_id != own.object_id
            leaves = [k for k, name in enumerate(own.candidate_ids) if name == donor.object_id]
            assert row["donor_answers"] == leaves
        names = ("donor_scores", "donor_answers", "donor_bigrams", "donor_initials")
        assert all((r["donor"] is None) == (r[x] is None) for r in table for x in names)
        assert [r["donor"] for r in table] == tables["en"]["donor"].to_pylist()


def test_figures_of_pairs(done):
    _, results, tables = done
    rows = list_rows(tables)
    expected = {f"{a}-{b}": compare(rows, a, b) for a, b in PAIRS}
    for name in OF_PAIRS:
        values = {pair: figures[name] for pair, figures in expected.items()}
        assert results[name] == pytest.approx(values), name
        assert results["mean"][name] == pytest.approx(fmean(values.values()))
        for pair, value in values.items():
            low, high = results["intervals"][name][pair]
            assert low - 1e-9 <= value <= high + 1e-9
    for pair, value in results["rankc_subject"].items():
        parts = results["rankc_right"][pair] + results["rankc_rest"][pair]
        assert parts == pytest.approx(value, abs=1e-12)
    of_one = expected["en-ru"]
    assert 10 <= of_one["n_independent"] < of_one["n"] == len(rows) == len(tables["en"]) - 1
    assert results["left_out"]["rankc_subject"] == 1
    assert results["left_out"]["rankc_independent"] == of_one["n"] - of_one["n_independent"]
    assert results["definition"] == DEFINITION == 2


def test_figures_of_languages_are_without_the_donor_s_answers(done):
    _, results, tables = done
    rows, gains = list_rows(tables), []
    for x in SYLLABLES:
        expected = gain(rows, x)
        assert results["accuracy_donor"][x] == pytest.approx(expected["accuracy_donor"])
        assert results["accuracy_gain"][x] == pytest.approx(expected["accuracy_gain"])
        gains.append(expected["accuracy_gain"])
    assert len(set(gains)) > 1
    assert results["mean"]["accuracy_gain"] == pytest.approx(fmean(gains))
    whole = [share_first(row["donor_scores"], row["answers"]) for row in tables["en"][:-1]]
    assert results["accuracy_donor"]["en"] != pytest.approx(fmean(whole), abs=0.01)


def find_tested(rows):
    """Return the tested values of rows by figure, then by pair or language."""
    tested = {name: {} for name in TESTED}
    for a, b in PAIRS:
        values = [find_terms(row, a, b, "softmax", "expected").interaction for row in rows]
        floors = find_floors(rows, a, b, "softmax", "expected")
        tested["rankc_interaction"][f"{a}-{b}"] = values
        tested["rankc_beyond"][f"{a}-{b}"] = [
            0 if floor is None else x - floor for x, floor in zip(values, floors, strict=True)
        ]
    for x in SYLLABLES:
        tested["accuracy_gain"][x] = [
            share_first(row.subject[x], row.right) - share_first(row.donor[x], row.right)
            for row in rows
        ]
    return tested


@pytest.mark.parametrize("clusters", ["subject", "none"])
def test_p_values_are_those_of_all_flips_of_linked_subjects(clusters, done):
    """11 units have 2,048 flips; the standard error of 20,000 is below .0036."""
    run, results, tables = done
    if clusters == "none":  # facts and those of their donors; here each subject has one fact
        results = find_results(run, Bootstrap(FLIPS, 0, clusters))
    rows = list_rows(tables)
    subjects, donors = (
        [tables["en"][row.place][name].split(":")[1] for row in rows]
        for name in ("fact_id", "donor")
    )
    units = link_units(subjects, donors)
    assert Counter(Counter(units).values()) == {2: 10, 3: 1}
    found = results["p_values"]
    for name, columns in find_tested(rows).items():
        columns["mean"] = [fmean(values) for values in zip(*columns.values(), strict=True)]
        expected = {place: flip_units(values, units) for place, values in columns.items()}
        assert found[name] == pytest.approx(expected, abs=0.015), name
    assert {*found} == TESTED
    uses = Counter(tables["en"][row.place]["donor"] for row in rows)
    assert results["donors"] == {
        "n_donors": len(uses),
        "effective_donors": pytest.approx(23**2 / sum(n * n for n in uses.values())),
        "n_units": 11,
        "effective_units": pytest.approx(23**2 / (10 * 4 + 9)),
    }


def test_relations_are_tested_and_drawn_alone(done):
    """The figures of a relation are those of its rows; P38 has none that count."""
    _, results, tables = done
    for relation, figures in results["by_relation"].items():
        rows = [row for row in list_rows(tables) if row.relation == relation]
        mean = figures["mean"]["rankc_subject"]
        if relation == "P38":
            assert not rows
            assert mean is figures["mean"]["accuracy_gain"] is None
            continue
        expected = [compare(rows, a, b)["rankc_subject"] for a, b in PAIRS]
        assert mean is None or mean == pytest.approx(fmean(expected))
        assert relation == "P37" or mean is not None
        gains = [gain(rows, x)["accuracy_gain"] for x in SYLLABLES]
        assert figures["mean"]["accuracy_gain"] == pytest.approx(fmean(gains))


def adjust(values, sizes):
    """Return the mean of (RankC - chance) / (1 - chance); chance is sum_j w_j j / N."""
    levels = [sum(w * j / n for j, w in enumerate(define_weights(n, "softmax"), 1)) for n in sizes]
    return fmean((v - c) / (1 - c) for v, c in zip(values, levels, strict=True))


def check_rankings(floor, scores):
    """Compare a floor with RankC of the rankings by language."""
    values = [
        [enumerate_rankc(*rows, "softmax") for rows in zip(scores[a], scores[b], strict=True)]
        for a, b in PAIRS
    ]
    assert floor["rankc"] == pytest.approx(fmean(map(fmean, values)), abs=1e-6)
    sizes = [len(row) for row in scores["en"]]
    expected = fmean(adjust(column, sizes) for column in values)
    assert floor["rankc_adjusted"] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("floor", "rank"), [("bigrams", rank_by_bigrams), ("initials", rank_by_initials)]
)
def test_floors_of_names_are_a_model_s_that_ranks_by_them(floor, rank, done):
    _, results, tables = done
    scores, donors = {}, {}
    for x, table in tables.items():
        made = make_rows(x)
        names = {row.fact_id: row.subject for row in made}
        scores[x] = [rank(row.subject, row.candidates) for row in made]
        both = zip(table, made, strict=True)
        donors[x] = [r["donor"] and rank(names[r["donor"]], row.candidates) for r, row in both]
    found = results["floors"][floor]
    check_rankings(found, scores)
    rows = list_rows(tables, (scores, donors))
    centred = [compare(rows, a, b)["rankc_subject"] for a, b in PAIRS]
    assert found["rankc_subject"] == pytest.approx(fmean(centred))
    assert found["accuracy_gain"] == pytest.approx(
        fmean(gain(rows, x)["accuracy_gain"] for x in SYLLABLES)
    )
    right = {
        x: [share_first(y, row["answers"]) for y, row in zip(scores[x], tables[x], strict=True)]
        for x in SYLLABLES
    }
    assert found["accuracy"] == pytest.approx(fmean(map(fmean, right.values())))
    overlaps = []
    for a, b in PAIRS:
        both = [p * q for p, q in zip(right[a], right[b], strict=True)]
        overlaps.append(sum(both) / (sum(right[a]) + sum(right[b]) - sum(both)))
    assert found["coverlap"] == pytest.approx(fmean(overlaps))
    assert found["rankc_subject"] > 0.2  # the same names in another script
    assert found.keys() == {
        *("accuracy", "accuracy_gain", "rankc_subject", "rankc", "rankc_adjusted", "coverlap"),
        *("rankc_right", "rankc_beyond"),
    }


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
        both = zip(table, make_rows(x), strict=True)
        scores[x] = [[-n for n in count(row, made)] for row, made in both]
    check_rankings(results["floors"][floor], scores)
    assert results["floors"][floor].keys() == {"rankc", "rankc_adjusted"}


def test_the_floor_of_frequent_answers(done):
    made, right = make_rows("en"), []
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
    _, results, tables = done
    accuracy, values = results["accuracy"], []
    for x, y in PAIRS:
        a, b = accuracy[x], accuracy[y]
        values.append(a * b / (a + b - a * b))
    rows = list_rows(tables)
    centred = [compare(rows, a, b)["rankc_independent"] for a, b in PAIRS]
    assert results["floors"]["independence"] == {
        "coverlap": pytest.approx(fmean(values)),
        "rankc_subject": pytest.approx(fmean(centred)),
    }


def test_the_floor_of_nonsense_is_that_of_a_random_order_of_each_subject(done):
    """An order for each subject has R = Q = 1 and P = chance; each candidate has an equal part."""
    above = total = 0.0
    for row in list_rows(done[2]):
        n = len(row.subject["en"])
        room = 1 - sum(w * j / n for j, w in enumerate(define_weights(n, "softmax"), 1))
        above, total = above + len(row.right) / n * room, total + room
    assert done[1]["floors"]["nonsense"] == {"rankc_right": pytest.approx(above / total)}


def test_options_change_the_figures_of_second_questions(done):
    """The weights, ties as released, and only some figures."""
    run, results, tables = done
    for weights, ties in (("norm1", "released"), ("norm2", "expected")):
        options = MetricOptions(weights=weights, ties=ties)
        found = find_results(run, Bootstrap(0), options=options)
        expected = compare(list_rows(tables), "en", "ru", weights, ties)
        for name in OF_PAIRS:
            assert found[name]["en-ru"] == pytest.approx(expected[name]), name
    named = find_results(run, Bootstrap(0), options=MetricOptions(figures=("rankc_beyond",)))
    assert named["rankc_beyond"] == results["rankc_beyond"]
    assert not {"rankc_subject", "accuracy_gain"} & {*named}


def test_without_donors(place, tmp_path):
    results = evaluate(place, tmp_path / "run", donor=False)
    assert not {*SECOND} & {*results, *results["mean"], *results["intervals"]}
    assert results["p_values"] == {}
    assert "donors" not in results
    assert set(results["floors"]) == {
        "frequency", "majority", "length", "tokens", "independence"
    }  # fmt: skip
    assert "rankc_subject" not in results["left_out"]
    assert "|donor:none|" in results["signature"]
    assert "|donor:subject|" in Run(place / "run").settings().signature
    for x, table in read(tmp_path / "run").items():
        for name in ("donor", "donor_scores", "donor_answers", "bigrams", "donor_bigrams"):
            assert table[name].null_count == len(table)
        scores = zip(table["scores"], read(place / "run")[x]["scores"], strict=True)
        for one, other in scores:  # from other batches
            assert one.as_py() == pytest.approx(other.as_py(), abs=1e-5)
    with pytest.raises(PolyprobeError, match="holds another run \\(donor: False, asked for True"):
        evaluate(place, tmp_path / "run")


@pytest.mark.parametrize(
    "calls", [[["en", "ru"], ["zh_hans"]], [["zh_hans"], ["ru"], ["en"]]], ids=["two", "reverse"]
)
def test_languages_added_later_have_the_same_donors(calls, place, tmp_path):
    for languages in calls:
        results = evaluate(place, tmp_path / "run", languages=languages)
    assert read(tmp_path / "run") == read(place / "run")
    whole = Run(place / "run").read_results()
    for name in ("rankc_donor", "rankc_interaction", "accuracy_gain"):
        assert results["mean"][name] == pytest.approx(whole["mean"][name])


def without_ids(language, made):
    """Leave labels and row numbers alone, as in the published BMLAMA."""
    bare = {"relation": "P36", "subject_id": None, "object_id": None, "candidate_ids": []}
    return [row._replace(fact_id=f"17:{n}", **bare) for n, row in enumerate(made)]


def test_without_ids_the_donors_are_those_of_the_first_language(place, tmp_path):
    facts, model = write_subjects(tmp_path / "facts", without_ids), str(place / "model")
    evaluate_model(model, str(facts), output=tmp_path / "whole")
    for languages in (["en"], ["zh_hans", "ru"]):
        evaluate_model(model, str(facts), output=tmp_path / "run", languages=languages)
    whole, later = (read(tmp_path / name) for name in ("whole", "run"))
    assert whole == later
    assert whole["ru"]["donor"] == whole["en"]["donor"]
    splits = load_facts(str(facts), None, [*SYLLABLES])
    chosen = {x: deal_donors(table).rows for x, table in splits.items()}
    assert chosen["ru"] != chosen["en"]  # by labels: a run must not choose for each language


def test_a_sample_has_the_donors_of_the_whole_dataset(place, tmp_path):
    evaluate(place, tmp_path / "run", sample=9)
    whole = {row["fact_id"]: row for row in read(place / "run")["ru"].to_pylist()}
    sampled = read(tmp_path / "run")["ru"].to_pylist()
    assert len(sampled) == 9
    for row in sampled:
        for name in ("donor", "donor_answers", "donor_bigrams", "baseline", "n_characters"):
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
