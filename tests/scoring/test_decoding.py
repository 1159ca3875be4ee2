"""X-FACTR's decoding compared with a plain version of algorithm 1, on small random models."""

import copy
import itertools
import math
import random
from functools import cache

import pytest

from polyprobe.eval import load_scorer
from polyprobe.scoring.decoding import decode
from polyprobe.scoring.options import DecodingOptions
from polyprobe.system.messages import PolyprobeError
from tests.making.stable import save_fixed
from tests.scoring import plain_decoding

INITIAL = ("independent", "order", "confidence")
REFINEMENT = ("none", "order", "confidence")
KINDS = ("xlm-roberta", "bert")
# Slot first, in the middle, last; after a space and after a letter; four scripts.
PROMPTS = [
    "[Y] is the capital of France.", "The capital of France is [Y].", "Столица Франции — [Y]",
    "法国的首都是[Y]。", "عاصمة فرنسا هي [Y].",
]  # fmt: skip
MARGIN = 1e-5  # decisions that rounding may reverse


@pytest.fixture(scope="module")
def scorers(tmp_path_factory):
    @cache
    def get(kind, **options):
        folder = tmp_path_factory.getbasetemp() / f"decoding-{kind}"
        if not folder.exists():
            save_fixed(kind, folder)
        return load_scorer(str(folder), **options)

    return get


@pytest.fixture(scope="module")
def models(scorers):
    return {k: plain_decoding.MaskedModel(scorers(k).model, scorers(k).tokenizer) for k in KINDS}


def compare(scorer, model, max_masks, **options):
    """All fillings, both length norms; no choice may be so close that rounding decides it."""
    found = [plain_decoding.search_all(model, prompt, max_masks, **options) for prompt in PROMPTS]
    for norm in (False, True):
        want = [plain_decoding.highest(*one, length_norm=norm) for one in found]
        got = decode(scorer, PROMPTS, max_masks, DecodingOptions(length_norm=norm, **options))
        for prompt, one, expected in zip(PROMPTS, got, want, strict=True):
            assert expected.margin > MARGIN
            assert one.tokens == expected.tokens, (options, norm, prompt)
            assert one.log_probability == pytest.approx(expected.value, abs=1e-4)
        for one, (sentences, _) in zip(got, found, strict=True):
            assert [h.tokens for h in one.fillings] == [tuple(s.y) for s in sentences]
            for filling, sentence in zip(one.fillings, sentences, strict=True):
                assert filling.logs == pytest.approx(sentence.c, abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("refinement", REFINEMENT)
@pytest.mark.parametrize("initial", INITIAL)
def test_predictions_are_those_of_algorithm_1(initial, refinement, kind, scorers, models):
    for max_masks, recompute, beam in itertools.product((1, 2, 3, 4), (False, True), (1, 3)):
        compare(
            scorers(kind), models[kind], max_masks,
            initial=initial, refinement=refinement, recompute=recompute, beam=beam,
        )  # fmt: skip


@pytest.mark.parametrize("refinement", REFINEMENT[1:])
def test_released_confidences_are_those_of_algorithm_1(refinement, scorers, models):
    for initial, beam in itertools.product(INITIAL, (1, 3)):
        options = {"initial": initial, "refinement": refinement, "beam": beam}
        compare(scorers("bert"), models["bert"], 4, refresh="released", **options)


def test_what_is_compared_differs(scorers):
    """Choices that never mattered on these models would be choices that were never tested."""
    every = {
        (initial, refinement, recompute, norm, beam): decode(
            scorers("bert"), PROMPTS[:3], 4,
            DecodingOptions(initial, refinement, None, norm, recompute, beam),
        )
        for initial, refinement, recompute, norm, beam in itertools.product(
            INITIAL, REFINEMENT, (False, True), (False, True), (1, 3)
        )
    }  # fmt: skip
    for place in range(5):
        pairs = [
            (every[a], every[b])
            for a, b in itertools.combinations(every, 2)
            if all((x != y) == (k == place) for k, (x, y) in enumerate(zip(a, b, strict=True)))
        ]
        assert any([x.tokens for x in a] != [x.tokens for x in b] for a, b in pairs), place
    assert {len(one.tokens) for made in every.values() for one in made} == {1, 2, 3, 4}


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_do_not_depend_on_batch_size_or_company(kind, scorers):
    options = DecodingOptions("confidence", "order", recompute=True, beam=2)
    whole = decode(scorers(kind), PROMPTS, 4, options)
    alone = [decode(scorers(kind, batch_tokens=1), [p], 4, options)[0] for p in PROMPTS]
    order = random.Random(3).sample(range(len(PROMPTS)), len(PROMPTS))
    mixed = decode(scorers(kind, batch_tokens=80), [PROMPTS[k] for k in order], 4, options)
    for k, one in enumerate(whole):
        for other in (alone[k], mixed[order.index(k)]):
            assert one.tokens == other.tokens
            assert one.log_probability == pytest.approx(other.log_probability, abs=1e-5)
    twice = decode(scorers(kind), [PROMPTS[0]] * 2, 4, options)
    assert twice[0] == twice[1]
    assert twice[0].tokens == whole[0].tokens


def test_memory_that_runs_out_halves_the_batch(scorers, monkeypatch):
    options = DecodingOptions("confidence", "confidence")
    want = decode(scorers("bert"), PROMPTS, 3, options)
    scorer = scorers("bert", batch_tokens=512)
    whole = scorer.engine.path.states

    def greedy(plan, batch):
        if len(batch) > 2:
            raise RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate")
        return whole(plan, batch)

    monkeypatch.setattr(scorer.engine.path, "states", greedy)
    got = decode(scorer, PROMPTS, 3, options)
    assert 1 < scorer.engine.batch_tokens < 512
    assert [one.tokens for one in got] == [one.tokens for one in want]


def test_converged_searches_leave_the_batch(scorers, monkeypatch):
    """The longest would ask eight times, for 4 masks and 4 refinements, if it never converged."""
    scorer, run = scorers("xlm-roberta"), []
    whole = scorer.engine.path.states
    monkeypatch.setattr(
        scorer.engine.path,
        "states",
        lambda plan, batch: run.append(len(batch)) or whole(plan, batch),
    )
    decode(scorer, PROMPTS, 4, DecodingOptions("order", "order"))
    assert run == sorted(run, reverse=True)
    assert run[0] == 4 * len(PROMPTS)
    assert run[-1] < run[3]


@pytest.mark.parametrize("norm", [False, True])
def test_ties_go_to_the_lowest_id_and_the_fewest_masks(norm, scorers):
    """Without weights every token has probability 1/V in every slot."""
    scorer = copy.deepcopy(scorers("bert"))
    for weight in scorer.model.parameters():
        weight.data.zero_()
    size = scorer.model.config.vocab_size
    for initial, refinement in itertools.product(INITIAL, REFINEMENT):
        options = DecodingOptions(initial, refinement, length_norm=norm, beam=2)
        [found] = decode(scorer, PROMPTS[:1], 5, options)
        assert found.tokens == (0,)
        assert found.log_probability == pytest.approx(-math.log(size))
    scorer.model.cls.predictions.bias.data[scorer.tokenizer.mask_token_id] = 20.0
    [found] = decode(scorer, PROMPTS[:1], 3, DecodingOptions("order", "order", recompute=True))
    assert set(found.tokens) == {scorer.tokenizer.mask_token_id}  # the whole vocabulary is allowed


def test_damaged_weights_are_reported(scorers):
    scorer = copy.deepcopy(scorers("bert"))
    scorer.model.cls.predictions.bias.data.fill_(float("nan"))
    with pytest.raises(PolyprobeError, match="its weights are damaged"):
        decode(scorer, PROMPTS, 2, DecodingOptions())


def test_a_prompt_that_is_too_long_with_all_masks_is_refused(scorers):
    scorer = scorers("xlm-roberta")
    prompt = "[Y]" + "法" * 185
    length = len(scorer.tokenizer(prompt.replace("[Y]", "<mask>"))["input_ids"])
    assert length < 198 < length + 49
    decode(scorer, [prompt], 198 - length + 1, DecodingOptions())
    with pytest.raises(PolyprobeError, match=f"becomes {length + 49} tokens, the model reads 198"):
        decode(scorer, [prompt], 50, DecodingOptions())
    with pytest.raises(PolyprobeError, match="becomes 0 mask tokens, expected one: 'no slot'"):
        decode(scorer, ["no slot"], 2, DecodingOptions())
