"""Letters: options in cyclic orders, compared with plain forwards, dummies and planted models."""

import json
from itertools import pairwise

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.report.page import write_report
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import Run
from polyprobe.scoring.scorers.part import FLOOR, choose_shifts, separate
from polyprobe.system.messages import PolyprobeError
from tests.making import tiny
from tests.making.facts import write_facts
from tests.scoring import plain
from tests.scoring.protocols import KINDS, PLAIN, QUERIES, has_bos

ASKED = [*QUERIES[:9], ("Paris is [Y].", ["here"]), ("[Y]!", ["Rome", "Paris", "Rome"])]
OPTIONS = " ".join(f"{letter}. Answer: {letter}" for letter in "ABCDEFGHIJ")


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    made = {}

    def get(kind):
        if kind not in made:
            folder = tmp_path_factory.mktemp("letters") / kind
            made[kind] = tiny.save_model(kind, folder, [*tiny.TEXT, OPTIONS, "___"])
        return str(made[kind])

    return get


def by_hand(scorer, kind, prompt, candidates, orders):
    extra = {"add_bos": True} if kind == "bloom" else {}
    first = PLAIN["contrastive", KINDS[kind]]
    table = plain.letters(
        first, scorer.model, scorer.tokenizer, prompt, candidates, orders, **extra
    )
    return np.array(table).T


def solve(table, shifts):
    """Return candidates' and positions' effects by least squares with a dummy for each effect."""
    n, k = table.shape
    rows = np.zeros((n, k, 2 * n + k))
    for j in range(n):
        for i, shift in enumerate(shifts):
            rows[j, i, [j, n + (j + shift) % n, 2 * n + i]] = 1
    dummies = rows.reshape(n * k, -1)
    assert np.linalg.matrix_rank(dummies) == 2 * n + k - 2  # nothing but two means is free
    found = np.linalg.lstsq(dummies, table.ravel(), rcond=None)[0]
    candidates, positions = found[:n], found[n : 2 * n]
    return candidates - candidates.mean() + table.mean(), positions - positions.mean()


@pytest.mark.parametrize("kind", ["llama", "bloom", "xlm-roberta", "bert", "t5"])
def test_scores_are_means_over_all_orders_of_plain_forwards(kind, folders):
    scorer = load_scorer(folders(kind), scoring="letters")
    assert scorer.scoring == "letters"
    queries = [q for q in ASKED if has_bos(kind, "letters") or not q[0].startswith("[Y]")]
    scored = scorer.score_counted([q for q, _ in queries], [c for _, c in queries])
    for k, (prompt, candidates) in enumerate(queries):
        n = len(candidates)
        table = by_hand(scorer, kind, prompt, candidates, range(n))
        assert scored[k].scores == pytest.approx(table.mean(axis=1), abs=1e-4), prompt
        places = [[table[p - s, s] for s in range(n)] for p in range(n)]
        effects = [sum(row) / n - table.mean() for row in places] if n > 1 else []
        assert scored[k].effects == pytest.approx(effects, abs=1e-4)
        assert scored[k].n_tokens == [n] * n
    assert len({round(x, 4) for row in scored for x in row.scores}) > 10


def test_fewer_orders_are_least_squares_and_one_is_left_as_read(folders):
    prompt, candidates = "The city of [Y].", ["Paris", "Rome", "Berlin", "Europe", "France"]
    for k in (1, 2, 3, 4, 5, 9):
        scorer = load_scorer(folders("llama"), scoring="letters", permutations=k)
        assert scorer.scoring == f"letters-k{k}"
        [scored] = scorer.score_counted([prompt], [candidates])
        shifts = choose_shifts(5, k)
        table = by_hand(scorer, "llama", prompt, candidates, shifts)
        if k == 1:
            want, effects = table[:, 0], []
        else:
            want, effects = solve(table, shifts)
        assert scored.scores == pytest.approx(want, abs=1e-4)
        assert scored.effects == pytest.approx(effects, abs=1e-4)
        assert scored.n_tokens == [min(k, 5)] * 5


@pytest.mark.parametrize("n", range(2, 27))
def test_any_two_orders_or_more_separate_candidates_from_positions(n):
    for k in range(2, n + 1):
        shifts = choose_shifts(n, k)
        assert shifts[0] == 0
        assert all(a < b for a, b in pairwise([*shifts, n]))
        table = np.random.default_rng(n).normal(size=(n, k))
        logs = table - np.log(np.exp(table).sum(axis=0))
        scores, effects = separate(table, shifts)
        want = solve(logs, shifts)
        assert scores == pytest.approx(want[0], abs=1e-9)
        assert effects == pytest.approx(want[1], abs=1e-9)


@given(st.integers(2, 10), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_effects_of_positions_and_orders_cancel_whatever_they_are(n, seed):
    generator = np.random.default_rng(seed)
    shifts = choose_shifts(n, int(generator.integers(2, n + 1)))
    worth = generator.normal(size=n)
    positions = generator.normal(0, 9, n)
    orders = generator.normal(0, 9, len(shifts))  # the probability of other tokens
    places = (np.arange(n)[:, None] + shifts) % n
    scores, effects = separate(worth[:, None] + positions[places] + orders, shifts)
    assert scores - scores.mean() == pytest.approx(worth - worth.mean(), abs=1e-6)
    assert effects == pytest.approx(positions - positions.mean(), abs=1e-6)


def test_letters_that_were_not_reported_count_as_less_than_all_others():
    whole = np.log([[0.6, 0.4, 0.2], [0.3, 0.1, 0.5], [0.1, 0.5, 0.05]])
    for lost in ([(2, 2)], [(2, 0), (2, 2), (1, 1)]):
        table, filled = whole.copy(), whole.copy()
        for cell in lost:
            table[cell] = np.nan
        for cell in lost:
            filled[cell] = np.nanmin(table) - FLOOR
        for got, want in zip(separate(table, [0, 1, 2]), separate(filled, [0, 1, 2]), strict=True):
            assert got == pytest.approx(want)
    scores, effects = separate(np.full((4, 4), np.nan), range(4))
    assert scores == pytest.approx([np.log(1 / 4)] * 4)
    assert effects == pytest.approx([0] * 4)


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ([f"c{k}" for k in range(27)], "has 26 letters, a list has 27 candidates; use another"),
        (["Rome", "in [Y]"], "holds the slot [Y] 2 times"),
    ],
)
def test_what_has_no_letters_is_refused(candidates, message, folders):
    scorer = load_scorer(folders("llama"), scoring="letters")
    with pytest.raises(PolyprobeError) as error:
        scorer.score(["The city of [Y]."], [candidates])
    assert message in str(error.value)
    assert "\n" not in str(error.value).replace("\\n", "")


def test_a_tokenizer_without_a_letter_is_refused(tmp_path):
    folder = tiny.save_model("xlm-roberta", tmp_path / "model", ["no such letters, only these"] * 3)
    with pytest.raises(PolyprobeError, match="has none for the letter A; use another scoring"):
        load_scorer(str(folder), scoring="letters").score(["only [Y]"], [["these", "such"]])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "geo"
    options = {"languages": ["en", "el"], "sample": 8, "scoring": "letters"}
    evaluate_model("geolm", "geofacts", output=folder, **options)
    return folder, load_scorer("geolm", scoring="letters")


def test_a_run_has_plain_scores_and_reports_the_positions(run):
    folder, scorer = run
    tables = load_facts("geofacts", None, ["en", "el"])
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    for language, texts in tables.items():
        asked = {row["fact_id"]: row for row in texts.to_pylist()}
        rows = pq.read_table(folder / "scores" / f"{language}.parquet").to_pylist()
        effects = [row["position_effects"] for row in rows]
        row = next(row for row in rows if row["donor"])
        names = asked[row["fact_id"]]["candidates"]
        shifts = range(len(names))
        prompts = [asked[row[name]]["prompt"] for name in ("fact_id", "donor")]
        own, donor = (by_hand(scorer, "llama", prompt, names, shifts) for prompt in prompts)
        assert row["scores"] == pytest.approx(own.mean(axis=1), abs=1e-4)
        assert row["donor_scores"] == pytest.approx(donor.mean(axis=1), abs=1e-4)
        assert row["n_tokens"] == [len(names)] * len(names)
        places = np.array([[own[p - s, s] for s in shifts] for p in shifts])
        expected = places.mean(axis=1) - own.mean()
        assert row["position_effects"] == pytest.approx(expected, abs=1e-4)
        bias = results["position_bias"][language]
        assert bias["n_queries"] + bias["n_left_out"] == 8
        sized = [row for row in effects if len(row) == bias["n_candidates"]]
        assert len(sized) == bias["n_queries"] > 1
        means = np.mean(sized, axis=0)
        assert list(bias["effects"].values()) == pytest.approx(means)
        assert bias["range"] == pytest.approx(means.max() - means.min())
        assert list(bias["prior"].values()) == pytest.approx(np.exp(means) / np.exp(means).sum())
        for name, (low, high) in bias["intervals"].items():
            assert low < bias["effects"][name] < high
    assert "|scoring:letters|" in results["signature"]
    write_report([folder], folder / "report.html")
    ranges = {x: f"{values['range']:.3f}" for x, values in results["position_bias"].items()}
    note = f"position bias in nats: en {ranges['en']}, el {ranges['el']}."
    assert note in (folder / "report.html").read_text(encoding="utf-8")


def test_one_order_has_no_effects_to_report(folders, tmp_path):
    facts = str(write_facts(tmp_path / "facts"))
    options = {"scoring": "letters", "permutations": 1, "languages": ["en"], "cache": False}
    results = evaluate_model(folders("llama"), facts, output=tmp_path / "run", **options)
    assert "position_bias" not in results
    assert Run(tmp_path / "run").read("en")["position_effects"].null_count == 8
