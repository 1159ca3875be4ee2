"""Letters of a planted model: its accuracy and its position effects are known."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import log_softmax

from polyprobe.analysis.figures.compute import summarize_facts
from polyprobe.analysis.figures.facts import ScoredFacts
from polyprobe.analysis.figures.units import Units
from polyprobe.eval import load_scorer
from polyprobe.eval.work.fill import as_scores

N, SIZE = 60, 5
NAMES = ["Paris", "Rome", "Berlin", "Madrid", "Athens"]
KNOWS = 0.7  # probability that the model knows a fact
BIAS = np.array([3.0, 1.0, 0.0, 0.0, -1.0])  # nats, by position
MARGIN, NOISE = 1.5, 0.5  # nats: of the model's choice, of each reading
RUNS = 600


class Planted:
    """An engine that reads the questions as text and answers with planted log-probabilities."""

    def __init__(self, permutations):
        self.scorer = load_scorer("geolm", scoring="letters", permutations=permutations)
        prompts = [f"Place {number} is [Y]." for number in range(N)]
        self.prepared = self.scorer.prepare(prompts, [NAMES] * N)
        tokenizer, self.at, self.numbers = self.scorer.tokenizer, [], []
        for row, reads in self.prepared.plan.reads.items():
            question, *options, answer = tokenizer.decode(row.ids[1:]).split("\n")
            assert answer == "Answer:"
            by_letter = dict(option.split(". ") for option in options)
            letters = [tokenizer.decode([token]).strip() for token in reads.targets]
            fact = int(question.split()[1])
            names = [NAMES.index(by_letter[letter]) for letter in letters]
            self.at.append((fact, names, ["ABCDE".index(letter) for letter in letters]))
            self.numbers.append(reads.numbers)
        self.scorer.engine = SimpleNamespace(run=self.run, exact=True)

    def run(self, plan, values, progress):
        facts, names, places = (np.array(part) for part in zip(*self.at, strict=True))
        worth = self.worth[facts[:, None], names] + self.bias[facts[:, None], places]
        worth += self.random.normal(0, NOISE, worth.shape)
        letters = np.log(self.random.uniform(0.05, 1, len(worth)))  # the rest is on other tokens
        read = np.empty(plan.n_reads, np.float32)
        read[np.array(self.numbers)] = log_softmax(worth, axis=1) + letters[:, None]
        return read

    def simulate(self, seed):
        self.random = np.random.default_rng(seed)
        self.bias = BIAS + self.random.normal(0, 0.7, (N, SIZE))  # its own in each question
        answers = self.random.integers(SIZE, size=N)
        other = (answers + self.random.integers(1, SIZE, size=N)) % SIZE
        chosen = np.where(self.random.random(N) < KNOWS, answers, other)
        self.worth = self.random.normal(0, 0.7, (N, SIZE))
        self.worth[np.arange(N), chosen] = self.worth.max(axis=1) + MARGIN
        scored = self.scorer.score_prepared(self.prepared)
        rows = {
            "fact_id": [f"P1:Q{k}:Q{k}" for k in range(N)],
            "relation": ["P1"] * N,
            "answers": pa.array([[k] for k in answers], pa.list_(pa.int32())),
        }
        table = as_scores(pa.table(rows), scored)
        facts = ScoredFacts({"en": table}, scoring="letters")
        return summarize_facts(facts, Units(200, seed))


def cover(permutations):
    """Return the share of intervals with the true accuracy, the mean accuracy, and all results."""
    model = Planted(permutations)
    results = [model.simulate(seed) for seed in range(RUNS)]
    bounds = [found["intervals"]["accuracy"]["en"] for found in results]
    inside = np.mean([low <= KNOWS <= high for low, high in bounds])
    return inside, np.mean([found["accuracy"]["en"] for found in results]), results


@pytest.mark.acceptance
def test_the_true_accuracy_is_in_the_interval_and_the_bias_is_measured():
    inside, accuracy, results = cover(None)
    assert 0.93 <= inside <= 0.97
    assert accuracy == pytest.approx(KNOWS, abs=3 * np.sqrt(KNOWS * (1 - KNOWS) / N / RUNS))
    found = [list(row["position_bias"]["en"]["effects"].values()) for row in results]
    assert np.mean(found, axis=0) == pytest.approx(BIAS - BIAS.mean(), abs=0.02)
    known = [row["position_bias"]["en"]["intervals"]["A"] for row in results]
    assert 0.93 <= np.mean([low <= 3.0 - 0.6 <= high for low, high in known]) <= 0.97


@pytest.mark.acceptance
def test_one_order_is_wrong():
    inside, accuracy, _ = cover(1)
    assert inside < 0.05
    assert accuracy < KNOWS - 0.2


@pytest.mark.acceptance
def test_three_orders_of_five_are_enough_here():
    inside, accuracy, _ = cover(3)
    assert 0.93 <= inside <= 0.97
    assert accuracy == pytest.approx(KNOWS, abs=0.01)
