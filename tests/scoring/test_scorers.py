"""BMLAMA's scorers: counts of tokens, warnings and refusals."""

import copy
import json

import pytest
import transformers
from tokenizers import Tokenizer

from polyprobe.scoring.scorers import MaskedScorer
from polyprobe.scoring.scorers.causal import CausalScorer
from polyprobe.scoring.scorers.seq2seq import Seq2SeqScorer
from polyprobe.system.messages import PolyprobeError
from tests.making import tiny
from tests.scoring import plain
from tests.scoring.protocols import QUERIES, score


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
        [scored] = scorer.score_counted([prompt], [lone[:1]])
        assert scored.n_tokens == [expected], prompt


def test_unknown_tokens_warn_and_go_on(scorers):
    scorer = scorers("bert")
    with pytest.warns(UserWarning, match="1 candidates are unknown"):
        [row] = scorer.score(["The capital is [Y]."], [["Paris", "𒀀𒀁"]])
    assert len(row) == 2
    lists = [["Paris", "𒀀𒀁"], ["𒀀𒀁", "Paris"], ["Paris"]]
    scored = scorer.score_counted(["The capital is [Y]."] * 3, lists)
    assert [row.unknown for row in scored] == [[1], [0], []]


@pytest.mark.parametrize(
    ("prompt", "candidates", "message"),
    [
        ("[Y].", "Paris", "the candidates of prompt 0 must be a list of texts, got 'Paris'"),
        ("<mask> is [Y].", ["Paris"], "the prompt becomes 2 mask tokens"),
    ],
)
def test_bad_queries_are_refused(prompt, candidates, message, scorers):
    with pytest.raises(PolyprobeError) as error:
        scorers("xlm-roberta").score([prompt], [candidates])
    assert message in str(error.value)


def test_a_single_prompt_is_refused_with_the_right_call(scorers):
    text = r"^the prompts must be a list of texts, got 'It is \[Y\]'"
    with pytest.raises(PolyprobeError, match=text):
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
        tokens = tokenizer.convert_ids_to_tokens(list(scorer._sources([prompt])[0]))
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
