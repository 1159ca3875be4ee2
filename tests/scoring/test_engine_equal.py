"""Scores do not depend on the batch, its order, other queries, or exhausted memory."""

import random
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from polyprobe.schema.columns import SENTENCE_START
from polyprobe.scoring.engine.prefix import Beginning
from polyprobe.system.messages import PolyprobeError
from tests.scoring import plain
from tests.scoring.queries import LONG, QUERIES, TEXT
from tests.scoring.zoo import FAMILY

# One or two per path: tree, tree and gathered beyond the window, prefix, gathered; encoders whose
# positions are learned and relative; encoder-decoders with a tied and with an own head.
KINDS = ["gpt2", "mistral-48", "bloom", "mamba", "bert", "xlm-roberta", "deberta-v2", "t5", "umt5"]
PROMPTS, CANDIDATES = [prompt for prompt, _ in QUERIES], [row for _, row in QUERIES]


@pytest.fixture(scope="session")
def wanted(kinds):
    """Return a kind's scores at the default budget."""
    known = {}

    def get(kind):
        if kind not in known:
            known[kind] = kinds(kind).score(PROMPTS, CANDIDATES)
        return known[kind]

    return get


def assert_same(got, want):
    for prompt, row, expected in zip(PROMPTS, got, want, strict=True):
        assert row == pytest.approx(expected, abs=1e-5), prompt


@pytest.mark.parametrize("budget", [16, 64, 512])
@pytest.mark.parametrize("kind", KINDS)
def test_the_budget_does_not_change_scores(kind, budget, kinds, wanted):
    scorer = kinds(kind, batch_tokens=budget)
    assert_same(scorer.score(PROMPTS, CANDIDATES), wanted(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_rows_and_candidates_does_not_change_scores(kind, kinds, wanted):
    order = random.Random(3).sample(range(len(PROMPTS)), len(PROMPTS))
    mixed = kinds(kind).score([PROMPTS[k] for k in order], [CANDIDATES[k][::-1] for k in order])
    back = {k: row[::-1] for k, row in zip(order, mixed, strict=True)}
    assert_same([back[k] for k in range(len(PROMPTS))], wanted(kind))


@pytest.mark.parametrize("budget", [16, None])
@pytest.mark.parametrize("kind", KINDS)
def test_equal_token_ids_tie_to_the_last_bit(kind, budget, kinds):
    """In one row, in another with the same prompt, and in another Unicode form."""
    scorer = kinds(kind, batch_tokens=budget)
    wide = "Ｐａｒｉｓ"  # the same pieces after NFKC
    asked = ["Paris", "Berlin", "Paris is", "Parma", "Paris"]
    if scorer.tokenizer.tokenize(wide) == scorer.tokenizer.tokenize("Paris"):
        asked.append(wide)
    first, *rest = PROMPTS[:3]
    rows = [asked, *CANDIDATES[1:3], asked[::-1], asked[2:]]
    scores = scorer.score([first, *rest, first, first], rows)
    assert len(set(scores[0][::4] + scores[0][5:])) == 1
    assert scores[3] == scores[0][::-1]
    assert scores[4] == scores[0][2:]
    assert len(set(scores[0])) == 4


PIECES = [fragment for fragment in dict.fromkeys(TEXT) if fragment.strip()]
WORDS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join)


@pytest.mark.parametrize("kind", ["mistral-48", "bloom", "jamba", "xlm-roberta", "t5"])
@settings(max_examples=12, deadline=None, derandomize=True, database=None)
@given(st.lists(st.tuples(WORDS, st.lists(WORDS, min_size=1, max_size=5), WORDS), max_size=4))
def test_any_text_has_the_scores_of_plain_forwards(kind, kinds, asked):
    scorer = kinds(kind)
    definition = getattr(plain, FAMILY[kind])
    extra = {"add_bos": True} if kind == "bloom" else {}
    prompts = [f"{before}[Y]{after}" for before, _, after in asked]
    got = scorer.score(prompts, [row for _, row, _ in asked])
    for prompt, (_, row, _), scores in zip(prompts, asked, got, strict=True):
        want = [definition(scorer.model, scorer.tokenizer, prompt, c, **extra) for c in row]
        assert scores == pytest.approx(want, abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_bfloat16_is_near_and_its_log_softmax_in_float32(kind, kinds, wanted):
    half = kinds(kind, dtype="bfloat16")
    got = half.score(PROMPTS, CANDIDATES)
    for row, expected in zip(got, wanted(kind), strict=True):
        assert row == pytest.approx(expected, rel=0.1)
    assert got != wanted(kind)
    # A score read at a single position would be a bfloat16 if the log-softmax were.
    first = kinds(kind, "contrastive", dtype="bfloat16").score(PROMPTS[1:3], CANDIDATES[1:3])
    read = torch.tensor([x for row in first for x in row])
    assert (read != read.bfloat16().float()).any()


def limit(monkeypatch, model, most):

    def greedy(whole, ids):
        if ids.numel() > most:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate")
        return whole(ids)

    size = model.get_input_embeddings().weight.shape[0]
    tables = [m for m in model.modules() if isinstance(m, torch.nn.Embedding)]
    for table in (t for t in tables if t.num_embeddings == size):  # T5 has one for each half
        monkeypatch.setattr(table, "forward", partial(greedy, table.forward))


@pytest.mark.parametrize("kind", KINDS)
def test_memory_that_runs_out_halves_the_budget_and_changes_no_score(
    kind, kinds, wanted, monkeypatch
):
    scorer = kinds(kind, batch_tokens=300)
    longest = max(len(scorer.tokenizer(LONG.replace("[Y]", c))["input_ids"]) for c in CANDIDATES[5])
    limit(monkeypatch, scorer.model, longest + 8)
    before = scorer.engine.batch_tokens
    assert_same(scorer.score(PROMPTS, CANDIDATES), wanted(kind))
    assert 8 < scorer.engine.batch_tokens <= before / 2


@pytest.mark.parametrize("kind", ["gpt2", "bloom", "mamba", "bert", "t5"])
def test_a_sentence_that_fits_in_no_batch_is_reported(kind, kinds, monkeypatch):
    scorer = kinds(kind, batch_tokens=301)
    limit(monkeypatch, scorer.model, 4)
    with pytest.raises(PolyprobeError, match="out of memory with a single sentence of .* tokens"):
        scorer.score(PROMPTS, CANDIDATES)


USUAL = ("llama", "gemma3-8", "mistral-48", "gpt2", "bloom", "qwen3.5", "jamba")
RARE = [kind for kind, family in FAMILY.items() if family == "causal" and kind not in USUAL]
FIRST, SECOND = " ".join(TEXT)[:160], " ".join(TEXT[::-1])[:120]
CONTEXTS = ([FIRST], [FIRST, FIRST + SECOND], ["", SECOND, FIRST])


def read_plainly(model, plan):
    """Return the value of each read, each input run alone."""
    values = torch.empty(plan.n_reads)
    with torch.inference_mode():
        for row, reads in plan.reads.items():
            logs = model(torch.tensor([row.ids]), use_cache=False).logits[0].double().log_softmax(1)
            values[reads.numbers] = logs[reads.positions, reads.targets].float()
    return values.numpy()


@pytest.mark.parametrize(
    ("kind", "contexts"),
    [(kind, contexts) for kind in USUAL for contexts in CONTEXTS]
    + [pytest.param(kind, CONTEXTS[2], marks=pytest.mark.acceptance) for kind in RARE],
)
def test_a_context_changes_no_score_and_tasks_share_it(kind, contexts, kinds, monkeypatch):
    monkeypatch.setattr(Beginning, "piece", 8)
    scorer = kinds(kind, batch_tokens=40)
    alone, shared = [], []
    for shares, values in ((False, alone), (True, shared)):
        scorer.engine.shares = shares
        for number in (0, 6, 6):
            rows = [*zip(PROMPTS, CANDIDATES, strict=True)][number : number + 3]
            prompts = [f"{x}\n{SENTENCE_START}{p}" if x else p for p, _ in rows for x in contexts]
            plan = scorer.prepare(prompts, [row for _, row in rows for _ in contexts]).plan
            values.append(scorer.engine.run(plan, scorer.values, lambda *_: None))
            if not shares:
                assert values[-1] == pytest.approx(read_plainly(scorer.model, plan), abs=2e-5)
    scorer.engine.shares = False
    scorer.engine.path.forget()
    assert [x.tobytes() for x in alone] == [x.tobytes() for x in shared]
