"""Each class of models, loaded as by a user, compared with one plain forward per candidate."""

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM

from polyprobe.eval import load_scorer
from polyprobe.scoring.engine.kernels import has_product
from polyprobe.scoring.options import HALF, PRODUCTS
from polyprobe.scoring.scorers import MaskedScorer
from polyprobe.scoring.scorers.causal import CausalScorer
from polyprobe.scoring.scorers.seq2seq import Seq2SeqScorer
from polyprobe.system.messages import PolyprobeError
from tests.scoring import plain, strangers
from tests.scoring.protocols import PLAIN
from tests.scoring.queries import LONG, QUERIES
from tests.scoring.zoo import ENCODER_DECODERS, ENCODERS, FAMILY, HYBRIDS, RECOUNTED, SMALL

# The allowed paths of each class. For the classes in the issue, the fastest correct path: a trie if
# a mask over it and positions are applied (inputs beyond a window are gathered), else the cache
# after the prompt, else padded batches, as for all encoders. For the others, all correct paths:
# GPT-Neo's own mask counts a window along the row, in which a trie is flat.
TREE = ("llama llama-tied qwen3 mistral mistral-48 mistral-8 gemma2 gemma2-8 gemma3 gemma3-8 gpt2 "
        "opt xglm gpt-neox falcon granite qwen3-moe")  # fmt: skip
CACHED = "gpt-neo gpt-neo-8 xlm-roberta-decoder switch-transformers"
PATHS = {
    **dict.fromkeys(ENCODERS, "gathered"),
    **dict.fromkeys(ENCODER_DECODERS, "prefix"),
    **dict.fromkeys(TREE.split(), "tree"),
    **dict.fromkeys(("bloom", "mpt", "falcon-alibi"), "prefix"),
    **dict.fromkeys(("gpt-oss-8", "llama4-8"), "tree prefix gathered full"),
    **dict.fromkeys(CACHED.split(), "prefix gathered full"),
    **dict.fromkeys(("rwkv", "recurrent-gemma-8", "jamba"), "gathered full"),
    "fnet": "unpadded",
    **dict.fromkeys(RECOUNTED, "gathered full"),
    **dict.fromkeys(HYBRIDS, "tree prefix gathered full"),
    "mamba": "gathered",
    **dict.fromkeys(("qwen3.5", "falcon-h1"), "prefix"),
    "deepseek-v3": "tree",
}

# Each path, and each kind of special tokens at the start and end.
BY_PROTOCOL = {
    "causal": ["opt", "mistral-48", "bloom", "jamba", "llama-tied"],
    "masked": ["xlm-roberta", "distilbert", "deberta-v2"],
    "seq2seq": ["t5", "umt5"],
}
CASES = [(s, kind) for s, of in PLAIN if s != "bmlama" for kind in BY_PROTOCOL[of]]


def by_definition(scorer, definition, queries=QUERIES, **extra):
    """Return the scores of all candidates, each sentence run separately."""
    known = {}
    for prompt, candidates in queries:
        for c in candidates:
            if (prompt, c) not in known:
                known[prompt, c] = definition(scorer.model, scorer.tokenizer, prompt, c, **extra)
    return [[known[prompt, c] for c in candidates] for prompt, candidates in queries]


def score(scorer, queries=QUERIES):
    return scorer.score([prompt for prompt, _ in queries], [c for _, c in queries])


def assert_equal(got, want, queries=QUERIES):
    """Compare scores, and rankings if the plain scores differ by more than rounding."""
    assert len(got) == len(want)
    for (prompt, candidates), row, expected in zip(queries, got, want, strict=True):
        assert row == pytest.approx(expected, abs=1e-4), (prompt, candidates)
        for x, a in zip(row, expected, strict=True):
            assert all((x > y) == (a > b) for y, b in zip(row, expected, strict=True)
                       if abs(a - b) > 2e-4), (prompt, candidates)  # fmt: skip


def told(kind, scoring="bmlama"):
    """Return the options of the plain definition: a BOS is added, an EOS is dropped."""
    if kind == "llama-tied" and scoring != "bmlama":
        return {"appended": 1}
    return {"add_bos": True} if kind == "bloom" else {}


RARE = {*RECOUNTED, *HYBRIDS}
COMMON = [k if k not in RARE else pytest.param(k, marks=pytest.mark.acceptance) for k in FAMILY]


@pytest.mark.parametrize("kind", COMMON)
def test_scores_are_those_of_plain_forwards(kind, kinds):
    scorer = kinds(kind)
    queries = QUERIES[:8] if kind in (*RECOUNTED, *HYBRIDS) else QUERIES
    want = by_definition(scorer, PLAIN["bmlama", FAMILY[kind]], queries, **told(kind))
    chosen = scorer.engine.product
    for product in (x for x in PRODUCTS if x != HALF):
        assert scorer.engine.fix_product(product) == has_product(product, scorer.model)
        assert_equal(score(scorer, queries), want, queries)
    scorer.engine.fix_product(chosen)
    assert len({round(x, 2) for row in want for x in row}) > 15  # not all the same number


@pytest.mark.parametrize(("scoring", "kind"), CASES)
def test_scores_of_other_protocols_are_those_of_plain_forwards(scoring, kind, kinds):
    first_tokens = (scoring, kind) == ("contrastive", "bloom")  # scored with a BOS only
    scorer = kinds(kind, scoring, **({"bos": "always"} if first_tokens else {}))
    want = by_definition(scorer, PLAIN[scoring, FAMILY[kind]], **told(kind, scoring))
    assert_equal(score(scorer), want)


@pytest.mark.parametrize("kind", FAMILY)
def test_each_class_takes_its_fastest_safe_path(kind, kinds):
    assert kinds(kind).path in PATHS[kind].split()


@pytest.mark.parametrize("name", strangers.STRANGERS)
def test_a_class_that_nobody_listed_is_not_trusted(name, kinds, tmp_path):
    stranger = strangers.STRANGERS[name]
    known = kinds(stranger.of)
    if FAMILY[stranger.of] == "seq2seq":  # loaded from its folder it is of no family
        scorer = Seq2SeqScorer(strangers.make(name, known.model), known.tokenizer)
    else:
        strangers.save(name, known, tmp_path)
        scorer = load_scorer(str(tmp_path))
    definition = PLAIN["bmlama", FAMILY[stranger.of]]
    want = by_definition(scorer, definition)
    assert_equal(score(scorer), want)
    differs = max_difference(want, by_definition(known, definition))
    assert (differs > 1e-3) == stranger.differs


def make_random(auto, model_type, **fields):
    torch.manual_seed(3)
    config = AutoConfig.for_model(model_type, vocab_size=400, **fields)
    return auto.from_config(config).eval()


ENCODER = {**SMALL, "pad_token_id": 1}
XLM = ENCODERS["xlm"].fields
AHEAD = "^model '.*' reads in both directions: later tokens change the scores before them"


@pytest.mark.parametrize(
    ("model_type", "fields"), [("xlm", XLM), ("bert", ENCODER), ("roberta", ENCODER)]
)
def test_an_encoder_with_a_causal_head_is_refused(model_type, fields, kinds):
    """Its scores would be near 0: every token is in the input that predicts it."""
    tokenizer = kinds("llama-tied").tokenizer
    both = make_random(AutoModelForCausalLM, model_type, **fields)
    with pytest.raises(PolyprobeError, match=AHEAD) as error:
        CausalScorer(both, tokenizer)
    assert "\n" not in str(error.value)
    left = {"xlm": "causal"}.get(model_type, "is_decoder")
    CausalScorer(make_random(AutoModelForCausalLM, model_type, **fields, **{left: True}), tokenizer)


@pytest.mark.parametrize(("model_type", "left"), [("bert", "is_decoder"), ("xlm", "causal")])
def test_a_decoder_with_a_masked_head_is_refused(model_type, left, kinds):
    tokenizer = kinds("xlm-roberta").tokenizer
    fields = XLM if model_type == "xlm" else ENCODER
    with pytest.raises(PolyprobeError, match="masked head but reads from left to right only"):
        MaskedScorer(
            make_random(AutoModelForMaskedLM, model_type, **fields, **{left: True}), tokenizer
        )
    MaskedScorer(make_random(AutoModelForMaskedLM, model_type, **fields), tokenizer)


@pytest.mark.parametrize("of", ["llama", "t5"])
def test_a_decoder_that_sees_the_next_token_is_refused(of, kinds):
    known = kinds(of)
    model = strangers.make_ahead(of, known.model)
    with pytest.raises(PolyprobeError, match=AHEAD):
        type(known)(model, known.tokenizer)


def max_difference(one, two):
    return max(abs(a - b) for r, t in zip(one, two, strict=True) for a, b in zip(r, t, strict=True))


@pytest.mark.parametrize(
    ("wide", "narrow", "only_long"),
    [("mistral", "mistral-48", True), ("mistral", "mistral-8", False),
     ("gemma3", "gemma3-8", False)],
)  # fmt: skip
def test_sentences_reach_beyond_the_windows(wide, narrow, only_long, kinds):
    """With equal weights only the window differs: if it is applied, scores differ."""
    one, two = (by_definition(kinds(kind), plain.causal) for kind in (wide, narrow))
    for (prompt, _), a, b in zip(QUERIES, one, two, strict=True):
        if prompt == LONG:
            assert max_difference([a], [b]) > 1e-3
        elif only_long:
            assert a == pytest.approx(b, abs=1e-6)
    if not only_long:
        assert sum(max_difference([a], [b]) > 1e-3 for a, b in zip(one, two, strict=True)) > 20


def test_tokenizers_merge_over_the_slot_s_edges(kinds):
    tokenizer = kinds("llama").tokenizer
    merged = []
    for prompt, candidates in QUERIES:
        front = tokenizer(prompt.split("[Y]")[0])["input_ids"]
        sentences = [tokenizer(prompt.replace("[Y]", c))["input_ids"] for c in candidates]
        merged.append(any(ids[: len(front)] != front for ids in sentences))
    assert sum(merged) > 12
    assert any(merged[k] for k, (prompt, _) in enumerate(QUERIES) if "首都" in prompt)
