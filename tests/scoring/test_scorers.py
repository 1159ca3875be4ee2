"""Scores compared with the definitions, one candidate at a time (tests/scoring/plain.py)."""

import copy
import json
import random
import warnings

import pytest
import transformers
from tokenizers import Tokenizer

from polyprobe.scoring.scorers import CausalScorer, MaskedScorer, Seq2SeqScorer
from polyprobe.system.errors import PolyprobeError
from tests.making import tiny
from tests.scoring import plain

FAMILY = {
    "llama": plain.causal, "gpt2": plain.causal, "bloom": plain.causal, "bert": plain.masked,
    "xlm-roberta": plain.masked, "t5": plain.seq2seq, "mt5": plain.seq2seq,
}  # fmt: skip
# Slot first, in the middle, last; after a space and after a letter; ten scripts.
QUERIES = [
    ("The capital of France is [Y].", ["Paris", "Berlin", "the city of Paris", "Rome"]),
    ("[Y] is the capital of France.", ["Paris", "Berlin"]),
    ("Столица Франции — [Y].", ["Париж", "Берлин", "Москва"]),
    ("法国的首都是[Y]。", ["巴黎", "北京", "东京都"]),
    ("[Y]は日本の首都です。", ["東京", "北京"]),
    ("日本の首都は[Y]です。", ["東京", "北京"]),
    ("عاصمة فرنسا هي [Y].", ["باريس", "برلين"]),
    ("פריז היא בירת [Y].", ["צרפת", "גרמניה"]),
    ("Η πρωτεύουσα είναι το [Y].", ["Παρίσι", "Βερολίνο"]),
    ("프랑스의 수도는 [Y]이다.", ["파리", "베를린"]),
    ("फ़्रांस की राजधानी [Y] है।", ["पेरिस", "बर्लिन"]),
    ("เมืองหลวงคือ[Y]", ["ปารีส", "กรุงเทพ"]),
]


def score(scorer, queries):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # WordPiece has no token for some scripts: its own test
        return scorer.score([q for q, _ in queries], [c for _, c in queries])


def one_by_one(kind, scorer, queries):
    extra = {"add_bos": True} if kind == "bloom" else {}
    return [
        [FAMILY[kind](scorer.model, scorer.tokenizer, q, c, **extra) for c in candidates]
        for q, candidates in queries
    ]


@pytest.mark.parametrize("kind", FAMILY)
def test_scores_are_those_of_the_definition(kind, scorers):
    scorer = scorers(kind)
    got, want = score(scorer, QUERIES), one_by_one(kind, scorer, QUERIES)
    assert [len(row) for row in got] == [len(c) for _, c in QUERIES]
    for row, expected in zip(got, want, strict=True):
        assert row == pytest.approx(expected, abs=1e-5)
    assert len({round(x, 4) for row in got for x in row}) > 15  # not all the same number


@pytest.mark.parametrize("kind", ["llama", "xlm-roberta", "t5"])
def test_scores_do_not_depend_on_batch_size_or_company(kind, scorers):
    whole = score(scorers(kind), QUERIES)
    small = score(scorers(kind, batch_tokens=1), QUERIES)
    shuffled = random.Random(3).sample(range(len(QUERIES)), len(QUERIES))
    mixed = score(scorers(kind), [QUERIES[k] for k in shuffled])
    for k, row in enumerate(whole):
        assert row == pytest.approx(small[k], abs=1e-5)
        assert row == pytest.approx(mixed[shuffled.index(k)], abs=1e-5)


@pytest.mark.parametrize("kind", ["llama", "xlm-roberta", "t5"])
def test_candidates_with_equal_tokens_get_equal_scores_to_the_last_bit(kind, scorers):
    fillers = ["Rome" + "x" * n for n in range(12)]
    row = ["Paris", *fillers, "Paris"]
    [scores] = score(scorers(kind), [("The capital of France is [Y].", row)])
    assert scores[0] == scores[-1]


def test_bos_is_a_setting_of_causal_models(scorers):
    queries = QUERIES[:3]
    for kind, by_default in (("llama", False), ("bloom", True)):
        plain_scorer = scorers(kind)
        for bos, adds in (("auto", by_default), ("always", True), ("never", False)):
            got = score(scorers(kind, bos=bos), queries)
            for (prompt, candidates), row in zip(queries, got, strict=True):
                want = [
                    plain.causal(plain_scorer.model, plain_scorer.tokenizer, prompt, c, adds)
                    for c in candidates
                ]
                assert row == pytest.approx(want, abs=1e-5), (kind, bos)


def test_boundary_piece_is_dropped_behind_a_letter_only(scorers):
    scorer = scorers("xlm-roberta")
    lone = [
        c
        for c in ("巴黎", "北京", "東京", "东京都")
        if scorer.tokenizer.tokenize(c)[0] == "▁" and len(scorer.tokenizer.tokenize(c)) > 1
    ]
    assert lone, "no candidate here starts with a lone boundary piece: the test would show nothing"
    n = len(scorer.tokenizer.tokenize(lone[0]))
    for prompt, expected in (("首都是[Y]。", n - 1), ("[Y]是首都。", n), ("首都是 [Y]。", n)):
        assert scorer.score_counted([prompt], [lone[:1]]).n_tokens == [[expected]], prompt


def test_token_counts_are_what_the_mean_is_over(scorers):
    prompt, candidate = "The capital of France is [Y].", "Paris"
    sentence = prompt.replace("[Y]", candidate)
    for kind, extra in (("llama", -1), ("bloom", 0)):
        scorer = scorers(kind)
        n = len(scorer.tokenizer(sentence)["input_ids"])
        assert scorer.score_counted([prompt], [[candidate]]).n_tokens == [[n + extra]]


def test_unknown_tokens_warn_and_go_on(scorers):
    scorer = scorers("bert")
    with pytest.warns(UserWarning, match="1 candidates are unknown"):
        [row] = scorer.score(["The capital is [Y]."], [["Paris", "𒀀𒀁"]])
    assert len(row) == 2
    assert scorer.score_counted(["The capital is [Y]."], [["Paris", "𒀀𒀁"]]).unknown == [(0, 1)]


@pytest.mark.parametrize(
    ("prompt", "candidates", "message"),
    [
        ("no slot", ["a"], "prompt 0 holds the slot [Y] 0 times, expected once: 'no slot'"),
        ("[Y] and [Y]", ["a"], "prompt 0 holds the slot [Y] 2 times, expected once"),
        ("[Y].", [], "prompt 0 has no candidates"),
        ("[Y].", ["a", " "], "prompt 0 has an empty candidate"),
        ("[Y].", "Paris", "the candidates of prompt 0 are the text 'Paris'; expected a list"),
        ("<mask> is [Y].", ["Paris"], "the prompt becomes 2 mask tokens"),
        ("[Y] is " + "very " * 300, ["Paris"], "the model reads 198"),
    ],
)
def test_bad_queries_are_refused(prompt, candidates, message, scorers):
    with pytest.raises(PolyprobeError) as error:
        scorers("xlm-roberta").score([prompt], [candidates])
    assert message in str(error.value)


def test_a_single_prompt_is_refused_with_the_right_call(scorers):
    with pytest.raises(PolyprobeError, match=r"^the prompts are the text 'It is \[Y\]'; expected"):
        scorers("llama").score("It is [Y]", ["a", "b"])


def test_positions_behind_the_padding_id_end_two_before_the_table(scorers):
    """XLM-R has 514 positions for 512 tokens; the tiny one 200 for 198."""
    scorer = scorers("xlm-roberta")
    pieces = len(scorer.tokenizer.tokenize("法"))
    for n in range(190, 200):
        prompt = "[Y]" + "法" * n
        length = len(scorer.tokenizer(prompt.replace("[Y]", "<mask>"))["input_ids"]) - 1 + pieces
        if length <= 198:
            scorer.score([prompt], [["法"]])
        else:
            with pytest.raises(PolyprobeError, match=f"becomes {length} tokens.* reads 198"):
                scorer.score([prompt], [["法"]])


def test_candidate_without_tokens_is_refused(scorers):
    with pytest.raises(PolyprobeError, match="tokenizes to nothing"):
        scorers("bert").score(["The capital is [Y]."], [["Paris", "\u200b"]])


def test_sentence_of_one_token_is_refused_without_bos(scorers):
    with pytest.raises(PolyprobeError, match="use --bos always"):
        scorers("llama").score(["[Y]"], [["a"]])


def test_memory_that_runs_out_halves_the_batch(scorers, monkeypatch):
    scorer = scorers("llama", batch_tokens=512)
    want = score(scorers("llama"), QUERIES)
    whole = scorer.engine.path.states

    def greedy(plan, batch):
        if len(batch) > 2:
            raise RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate")
        return whole(plan, batch)

    monkeypatch.setattr(scorer.engine.path, "states", greedy)
    got = score(scorer, QUERIES)
    assert 1 < scorer.engine.batch_tokens < 512  # the rest of the batches follow the lower budget
    for row, expected in zip(got, want, strict=True):
        assert row == pytest.approx(expected, abs=1e-5)
    monkeypatch.setattr(scorer.engine.path, "states", lambda *_: (_ for _ in ()).throw(
        RuntimeError("not enough memory")))  # fmt: skip
    with pytest.raises(PolyprobeError, match="out of memory with a single sentence"):
        score(scorer, QUERIES)


def test_mt5_s_sentinel_is_an_ordinary_piece_with_a_blank_of_its_own(scorers):
    """After a letter, at the start and after a space, the source contains it and nothing else."""
    model = scorers("mt5").model
    pieces = tiny.unigram(tiny.TEXT, ["<pad>", "</s>", "<unk>"], "$A </s>").backend_tokenizer
    content = json.loads(pieces.to_str())
    sentinel = len(content["model"]["vocab"])
    content["model"]["vocab"] += [["▁<extra_id_0>", -1.0], ["▁<extra_id_1>", -1.0]]
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(content)), unk_token="<unk>",
        eos_token="</s>", pad_token="<pad>",
    )  # fmt: skip
    model.resize_token_embeddings(len(tokenizer))
    scorer = Seq2SeqScorer(model, tokenizer)
    for prompt, before in (("法国的首都是[Y]。", "是"), ("[Y]は", None), ("the [Y].", "e")):
        [row] = scorer.score([prompt], [["Paris", "巴黎"]])
        assert len(set(row)) == 2
        tokens = tokenizer.convert_ids_to_tokens(list(scorer._source(prompt)))
        assert tokens.count("▁<extra_id_0>") == 1
        at = tokens.index("▁<extra_id_0>")
        assert tokenizer.convert_tokens_to_ids(tokens[at]) == sentinel
        assert (tokens[at - 1] if at else None) == before


def test_a_tokenizer_of_another_model_is_refused(scorers):
    tokenizer = copy.deepcopy(scorers("gpt2").tokenizer)
    tokenizer.add_special_tokens({"pad_token": "[PAD]"})  # unknown to the model, but never read
    scorer = CausalScorer(scorers("gpt2").model, tokenizer)
    assert score(scorer, QUERIES) == score(scorers("gpt2"), QUERIES)
    tokenizer.add_tokens(["Atlantis"])
    with pytest.raises(PolyprobeError, match="gives token 'Atlantis' the id .* the model has"):
        scorer.score(["The capital is [Y]."], [["Rome", "Atlantis"]])
    with pytest.raises(PolyprobeError, match="has no mask token"):
        MaskedScorer(scorers("bert").model, tokenizer)


def test_damaged_weights_are_reported(scorers):
    model = copy.deepcopy(scorers("gpt2").model)
    model.lm_head.weight.data.fill_(float("nan"))
    with pytest.raises(PolyprobeError, match=r"not finite \(torch.float32\); its weights are dam"):
        CausalScorer(model, scorers("gpt2").tokenizer).score(["[Y] is."], [["Paris"]])


def test_settings_of_the_text_part_count_in_models_of_several():
    config = transformers.Gemma3Config(
        text_config={"vocab_size": 600, "hidden_size": 32, "num_hidden_layers": 1,
                     "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8,
                     "intermediate_size": 16, "max_position_embeddings": 20},
        vision_config={"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1,
                       "num_attention_heads": 2, "image_size": 28, "patch_size": 14},
    )  # fmt: skip
    model = transformers.AutoModelForCausalLM.from_config(config)
    scorer = CausalScorer(model, tiny.byte_level(tiny.TEXT))
    [row] = scorer.score(["Its capital is [Y]."], [["Paris"]])
    want = plain.causal(scorer.model, scorer.tokenizer, "Its capital is [Y].", "Paris")
    assert row == pytest.approx([want], abs=1e-5)
    with pytest.raises(PolyprobeError, match="the model reads 20"):
        scorer.score(["[Y]" + " is" * 60], [["Paris"]])
