"""The engine's parts (tries, groups, budgets), compared with brute force."""

import copy
from functools import partial
from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from polyprobe.schema.columns import SENTENCE_START
from polyprobe.scoring.engine.engine import Trial, make_probe
from polyprobe.scoring.engine.forward import (
    Full,
    Gathered,
    Input,
    Plan,
    Unpadded,
    count_common,
)
from polyprobe.scoring.engine.prefix import Beginning, Prefix, find_beginning, group_inputs
from polyprobe.scoring.engine.tree import Tree, Trie, count_new, make_mask
from polyprobe.system.devices import is_out_of_memory
from polyprobe.system.messages import PolyprobeError

IDS = st.lists(st.integers(0, 2), min_size=1, max_size=6).map(tuple)
INPUTS = st.sets(IDS, min_size=1, max_size=12).map(lambda ids: [Input(i) for i in ids])
SOURCED = st.sets(st.tuples(IDS, st.sampled_from([(7,), (8, 9)])), min_size=1, max_size=12).map(
    lambda pairs: [Input(*pair) for pair in pairs]
)


@given(INPUTS)
def test_a_trie_has_a_node_a_distinct_beginning_and_its_mask_the_ancestors(inputs):
    rows = sorted(inputs)
    beginnings = sorted({row.ids[: k + 1] for row in rows for k in range(len(row.ids))})
    trie, n = Trie(rows), len(beginnings)
    assert trie.ids.tolist() == [ids[-1] for ids in beginnings]
    assert trie.depths.tolist() == [len(ids) - 1 for ids in beginnings]
    nodes = np.arange(n)
    seen = make_mask(nodes, trie.ends, n, torch.device("cpu"), torch.float32)[0, 0] == 0
    for number, row in enumerate(rows):
        depths = np.arange(len(row.ids))
        path = trie.find(np.full(len(depths), number), depths).tolist()
        assert [beginnings[node] for node in path] == [row.ids[: k + 1] for k in depths]
        for depth, node in enumerate(path):
            assert seen[node].nonzero().flatten().tolist() == path[: depth + 1]
    sizes = dict(count_new(rows))
    assert [*sizes] == rows
    assert [*np.cumsum([*sizes.values()])] == [len(Trie(rows[: k + 1])) for k in range(len(rows))]


@given(IDS, IDS)
def test_shared_counts_the_ids_that_are_equal_at_the_beginning(first, second):
    brute = max(
        k for k in range(7) if first[:k] == second[:k] and k <= min(len(first), len(second))
    )
    assert count_common(first, second) == brute


@given(SOURCED)
def test_groups_hold_every_input_once_and_share_what_they_say(inputs):
    groups = group_inputs(inputs)
    assert sorted(row for one in groups for row in one.rows) == sorted(inputs)
    for one in groups:
        assert len({row.source for row in one.rows}) == 1
        assert len({row.ids[: one.length] for row in one.rows}) == 1
        assert 1 <= one.length <= min(len(row.ids) for row in one.rows)


def test_candidates_of_a_prompt_are_one_group():
    """Sharing a sub-word does not split groups, and sharing only a BOS does not join them."""
    first, second = (0, 1, 2, 3), (0, 4, 5, 6)
    behind = [(7,), (7, 8), (7, 9), (8,), (9, 9, 9)]
    inputs = [Input(front + ids) for front in (first, second) for ids in behind]
    assert [(one.length, len(one.rows)) for one in group_inputs(inputs)] == [(4, 5), (4, 5)]


class Unrun:
    device = torch.device("cpu")


@pytest.mark.parametrize("kind", [Full, Gathered, Tree, Prefix])
@given(inputs=INPUTS, most=st.integers(1, 40))
@example(  # a part split from a group must not be joined with its neighbour
    inputs=[Input(i) for i in ((0, 0), (0, 0, 0), (0,) * 6, (0, 1, 0, 0, 0, 0), (1, 0, 0))], most=12
)
@settings(max_examples=30)
def test_batches_hold_every_input_once_within_the_budget(kind, inputs, most):
    path = kind(Unrun())
    batches = list(path.batches(inputs, lambda: most))
    assert sorted(row for batch in batches for row in batch) == sorted(inputs)
    for k, batch in enumerate(batches):
        size = path.size(batch)
        if kind is Tree:  # tokens of the batch before are cached
            size = path.count(batches[: k + 1])[1] - path.count(batches[:k])[1]
        assert size <= most or len(batch) == 1
    assert kind is not Tree or path.count(batches) == (len(batches), len(Trie(sorted(inputs))))


@given(INPUTS, st.integers(1, 12))
@settings(max_examples=30, deadline=None)
def test_behind_cached_tokens_states_are_those_of_single_sentences(scorers, inputs, most):
    """No token is run twice, whatever the budget."""
    network, plan = scorers("llama").engine.network, Plan()
    for row in inputs:
        plan.read(row, range(len(row.ids)), row.ids)
    path = Tree(network)
    with mock.patch.object(network, "run", wraps=network.run) as run:
        logs = path.read_logs(plan, inputs, budget=most)
    sizes = [call.kwargs["input_ids"].numel() for call in run.call_args_list]
    assert sum(sizes) == len(Trie(sorted(inputs)))
    assert max(sizes) <= most
    want = torch.cat([Unpadded(network).read_logs(plan, [row]) for row in inputs])
    assert (logs - want).abs().max() < 2e-5


def test_a_falling_budget_holds_from_the_next_batch_on():
    budgets = iter([12, 12, 4, 4, 4])
    rows = [Input((k, k, k)) for k in range(6)]
    batches = list(Gathered(Unrun()).batches(rows, lambda: next(budgets)))
    assert [len(batch) for batch in batches] == [3, 1, 1, 1]


@pytest.mark.parametrize("kind", ["llama", "bloom", "xlm-roberta", "t5"])
def test_no_logits_of_all_places_ever_exist(kind, scorers, monkeypatch):
    """The head receives gathered positions, a few at a time."""
    scorer, asked = scorers(kind), []
    monkeypatch.setattr(scorer.engine, "_head_places", 4)
    head = scorer.engine.network.model.get_output_embeddings()
    hook = head.register_forward_hook(lambda *call: asked.append(call[-1].shape[:-1].numel()))
    try:
        scorer.score(["The capital of France is [Y] ."] * 2, [["Paris", "Berlin", "Rome"]] * 2)
    finally:
        hook.remove()
    assert asked
    assert max(asked) <= 4


def test_memory_that_runs_out_in_the_head_halves_its_places(scorers, monkeypatch):
    scorer = scorers("llama", batch_tokens=200)
    asked = (["The capital of France is [Y]."], [["Paris", "Berlin", "Rome", "Москва"]])
    want = scorer.score(*asked)
    head = scorer.engine.network.head

    def greedy(states):
        if len(states) > 3:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate")
        return head(states)

    monkeypatch.setattr(scorer.engine.network, "head", greedy)
    monkeypatch.setattr(scorer.engine, "_head_places", 128)
    assert scorer.score(*asked)[0] == pytest.approx(want[0], abs=1e-5)
    monkeypatch.setattr(scorer.engine.network, "head", lambda _: greedy(range(9)))
    with pytest.raises(PolyprobeError, match="out of memory for a single token"):
        scorer.score(*asked)


def test_an_allocation_that_fails_is_out_of_memory():
    with pytest.raises(RuntimeError) as error:
        torch.empty(2**60)
    assert is_out_of_memory(error.value)


def test_memory_that_is_short_at_the_start_does_not_change_the_path(scorers, monkeypatch):
    whole = Tree.states

    def greedy(self, plan, batch):
        if self.size(batch) > 300:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate")
        return whole(self, plan, batch)

    monkeypatch.setattr(Tree, "states", greedy)
    assert Trial(scorers("llama").engine.network, 4096).fastest().name == "tree"


def test_padding_that_an_encoder_does_not_hide_is_noticed(scorers, monkeypatch):
    network = copy.deepcopy(scorers("t5").engine.network)
    encoder = network.model.get_encoder()
    forward = encoder.forward
    encoder.forward = lambda *args, attention_mask=None, **rest: forward(*args, **rest)
    assert Trial(network, 512).fastest().name == "unpadded"


def test_a_prompt_of_many_candidates_runs_once(scorers):
    """Tokens of the trie: the prompt once, then the additional tokens of each candidate."""
    scorer = scorers("llama")
    names = [f"{a}{b}" for a in ("Paris", "Berlin") for b in range(50)]
    inputs = list(scorer.prepare(["The capital of France is [Y]"], [names]).plan.reads)
    beginnings = {row.ids[: k + 1] for row in inputs for k in range(len(row.ids))}
    assert scorer.engine.path.size(inputs) == len(beginnings)
    assert len(beginnings) < sum(len(row.ids) for row in inputs) / 3


@pytest.mark.parametrize("kind", ["llama", "bloom"])
def test_a_callback_may_run_other_inputs(kind, scorers, monkeypatch):
    scorer = scorers(kind)
    monkeypatch.setattr(scorer.engine, "batch_tokens", 12)
    asked, names = ["Paris is in [Y].", "I am in [Y]."], [["France", "Germany", "Spain"]] * 2
    want, others, inside = scorer.score(asked, names), [asked[:1], names[:1]], []
    prepared = scorer.prepare(asked, names)
    scored = scorer.score_prepared(prepared, lambda *_: inside.extend(scorer.score(*others)))
    assert len(inside) > 2
    together = [*want, *want[:1] * len(inside)]
    scores = [row.scores for row in scored]
    np.testing.assert_allclose([*scores, *inside], together, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["llama", "bloom"])
def test_tasks_with_other_beginnings_have_their_own_scores(kind, scorers, monkeypatch):
    monkeypatch.setattr(Beginning, "piece", 4)
    scorer, plans = scorers(kind), [Plan(), Plan(), Plan()]
    few = (6, 6, 7), (6, 6, 8), (7, 7, 8), (7, 7, 9)
    for plan, front in zip(plans, ((5,) * 9, (5,) * 4, ()), strict=True):
        for ids in few:
            plan.read(Input(front + ids), range(len(front), len(front) + 3), ids)
    run = partial(scorer.engine.run, values=scorer.values, progress=lambda *_: None)
    alone = [run(plan).tobytes() for plan in plans]
    monkeypatch.setattr(scorer.engine, "shares", True)
    together = [run(plan).tobytes() for plan in (*plans, *reversed(plans))]
    scorer.engine.path.forget()
    assert together == [*alone, *reversed(alone)]


def test_long_probes_take_little_memory(scorers, monkeypatch):
    """All logits of a window of 4096 and 256,000 tokens would take 4 GB for each input."""
    network = scorers("llama").engine.network
    reads = make_probe(network, 200).reads
    assert {positions.stop for positions, *_ in reads.values()} == {len(x.ids) for x in reads}
    assert max(len(positions) for positions, *_ in reads.values()) == 70
    monkeypatch.setattr(Full, "tokens", (0, 900))
    with mock.patch.object(Full, "states", wraps=Full(network).states) as states:
        assert Trial(network, 64, 200)._tolerance < 1e-3
    sizes = [Full(network).size(call.args[1]) for call in states.call_args_list]
    assert len(sizes) == 12 + 2  # each input alone, then together
    assert max(sizes) <= 900


@pytest.mark.parametrize("kind", ["mistral-8", "gemma2-8", "gemma3-8", "gpt-oss-8", "bloom"])
def test_a_context_is_run_once(kind, kinds, monkeypatch):
    """Behind a window too, and in a second task only what is new."""
    monkeypatch.setattr(Beginning, "piece", 8)
    scorer = kinds(kind, batch_tokens=64)
    network, context = scorer.engine.network, "a b c d e f g h i j k l m n o p q r s t u v w x y z"
    names = ["Paris", "Rome", "Oslo"]
    prompts = [f"{context}\n{SENTENCE_START}{x} is in [Y]." for x in ("He", "She", "The dog")]
    scorer.score(prompts[:1], [names])  # the windows are tried at their first use
    plans = [scorer.prepare([prompt], [names]).plan for prompt in prompts]
    sizes = []
    for shares in (False, True, True):
        scorer.engine.shares = shares
        with mock.patch.object(network, "run", wraps=network.run) as run:
            scorer.engine.run(plans[len(sizes)], scorer.values, lambda *_: None)
        sizes.append(sum(call.kwargs["input_ids"].numel() for call in run.call_args_list))
    scorer.engine.shares = False
    scorer.engine.path.forget()
    nodes = [len(Trie(sorted(plan.reads))) for plan in plans]
    first, second = (find_beginning(min(plan.reads), max(plan.reads)) for plan in plans[1:])
    shared = count_common(first, second) // 8 * 8
    assert shared > 40
    assert sizes == [nodes[0], nodes[1], nodes[2] - shared]
    if scorer.path == "prefix":
        beginning = find_beginning(min(plans[0].reads), max(plans[0].reads))
        assert scorer.engine.forecast(plans[0]).tokens == sizes[0] - len(beginning)
