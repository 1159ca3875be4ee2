"""Answers shared by two languages, and the facts shown in the report."""

import json
from collections import Counter
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from polyprobe.builder.output.folder import relations_table
from polyprobe.report.page import runs as module
from polyprobe.report.page.runs import (
    KINDS,
    choose_facts,
    classify_answers,
    collect_examples,
    count_kinds,
    read_answers,
)
from polyprobe.schema.locate import read_relation_names
from tests.making.facts import rows, write_facts
from tests.making.runs import COUNTS, PICKS, SCORES, TIE, scores, write_run


def test_kinds_are_counted_as_by_hand(run):
    counts = count_kinds(classify_answers(read_answers(run, list(PICKS))))
    assert counts.tolist() == [list(COUNTS[pair]) for pair in combinations(PICKS, 2)]


def test_a_shared_best_score_is_never_right(run):
    answers = read_answers(run, list(PICKS))
    assert answers.shared.tolist() == [
        [2 if picks[fact] is TIE else 1 for picks in PICKS.values()] for fact in range(8)
    ]
    # fact 5 in ru: candidates 0 and 1 share the best score and 1 is correct
    assert answers.correct[5].tolist() == [True, False, False]
    assert answers.correct.sum(axis=0).tolist() == [8, 5, 2]


def test_a_tie_with_the_right_answer_is_not_right_either(tmp_path):
    picks = {"en": scores((TIE, *PICKS["en"][1:])), "ru": SCORES["ru"]}  # in fact 0, 0 is correct
    run = write_run(tmp_path / "run", write_facts(tmp_path / "facts"), picks)
    assert read_answers(run, ["en", "ru"]).correct[0].tolist() == [False, True]


def slow_greedy(kinds, examples):
    there = count_kinds(kinds)
    had, chosen = np.zeros_like(there), []
    for wanted in range(1, examples + 1):
        while (had < np.minimum(there, wanted)).any():
            gains = [
                -1
                if fact in chosen
                else sum(
                    had[pair, kind] < min(there[pair, kind], wanted)
                    for pair, kind in enumerate(kinds[fact])
                )
                for fact in range(len(kinds))
            ]
            chosen.append(int(np.argmax(gains)))
            for pair, kind in enumerate(kinds[chosen[-1]]):
                had[pair, kind] += 1
    return chosen


@pytest.mark.parametrize("seed", range(8))
def test_every_pair_gets_its_examples_where_they_exist(seed):
    rng = np.random.default_rng(seed)
    facts, pairs, examples = rng.integers(1, 30), rng.integers(1, 20), int(rng.integers(1, 5))
    kinds = rng.choice(len(KINDS), size=(facts, pairs), p=(0.05, 0.15, 0.2, 0.6)).astype(np.int8)
    chosen = list(choose_facts(kinds, examples))
    assert chosen == slow_greedy(kinds, examples)
    assert len(set(chosen)) == len(chosen)
    wanted = np.minimum(count_kinds(kinds), examples)
    assert (count_kinds(kinds[chosen]) >= wanted).all()


def test_examples_stay_within_their_budget(run):
    answers = read_answers(run, list(PICKS))
    whole = collect_examples(run.settings(), answers, 1_000_000)["facts"]
    sizes = [len(json.dumps(fact, ensure_ascii=False).encode()) for fact in whole]
    cut = collect_examples(run.settings(), answers, sizes[0] + sizes[1])
    assert cut["facts"] == whole[:2]
    assert cut["total"] == 8


def test_examples_have_prompt_answer_and_right_answer(run):
    found = collect_examples(run.settings(), read_answers(run, list(PICKS)), 1_000_000)
    by_id = {fact["id"]: fact for fact in found["facts"]}
    for place, (language, picks) in enumerate(PICKS.items()):
        for row, pick in zip(rows(language), picks, strict=True):
            size = len(row.candidates)
            values = scores([pick], [size])[0]
            order = sorted(range(size), key=lambda k: -values[k])  # stable: ties in their order
            ranking = [[n, k, row.candidates[k], values[k]] for n, k in enumerate(order, start=1)]
            fact = by_id[row.fact_id]
            assert fact["rows"][place] == [row.prompt, ranking, 2 if pick is TIE else 1, 0]
            assert fact["right"] == row.answers


def test_the_right_candidate_is_listed_behind_the_best_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "RANKED", 1)
    run = write_run(tmp_path / "run", write_facts(tmp_path / "facts"), SCORES)
    found = collect_examples(run.settings(), read_answers(run, list(PICKS)), 1_000_000)
    rows = {fact["id"]: fact["rows"] for fact in found["facts"]}["P36:C3:3"]  # the last is right
    ranks = {
        language: [entry[0] for entry in row[1]] for language, row in zip(PICKS, rows, strict=True)
    }
    assert ranks == {"en": [1], "ru": [1, 4], "zh_hans": [1, 4]}
    assert [row[3] for row in rows] == [3, 2, 2]


@pytest.mark.parametrize("name", ["capital", r"[X]|*<Y>* \ &"])
def test_the_card_of_a_dataset_on_the_hub_is_read_from_the_cache(name, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    folder = tmp_path / "datasets--acme--facts"
    (folder / "snapshots" / "r1").mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("r1")
    config = SimpleNamespace(name="small", relations=Counter(["P36"]))
    card = relations_table([config], {"P36": name})
    (folder / "snapshots" / "r1" / "README.md").write_text(card)
    assert read_relation_names("acme/facts") == {"P36": name}
    assert read_relation_names("acme/others") == read_relation_names("/no/such/folder") == {}
