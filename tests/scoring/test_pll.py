"""Pseudo-log-likelihood compared with one forward per masked token, and the masked tokens."""

import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    CanineTokenizer,
    PreTrainedTokenizerFast,
)

from polyprobe.scoring.engine.forward import Plan
from polyprobe.scoring.scorers.masked import PllScorer, WordPllScorer, number_words
from polyprobe.scoring.scorers.scorer import Queries
from polyprobe.system.messages import PolyprobeError
from tests.making import tiny
from tests.scoring import zoo
from tests.scoring.queries import SCRIPTS

SCORERS = {"pll": PllScorer, "pll-word-l2r": WordPllScorer}
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = [*SPECIAL, "Trond", "##heim", "Os", "##lo", "Rome", "lies", "near", "."]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    made = {}

    def get(kind):
        if kind not in made:
            folder = tmp_path_factory.mktemp(kind)
            zoo.save_kind(kind, folder)
            model = AutoModelForMaskedLM.from_pretrained(folder).eval()
            made[kind] = model, AutoTokenizer.from_pretrained(folder)
        return made[kind]

    return get


@pytest.fixture(scope="module")
def trondheim():
    tokenizer = Tokenizer(
        models.WordPiece({piece: k for k, piece in enumerate(PIECES)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)
    torch.manual_seed(3)
    config = BertConfig(vocab_size=len(PIECES), intermediate_size=48, **tiny.SMALL)
    return BertForMaskedLM(config), fast


@torch.inference_mode()
def brute_force(model, tokenizer, prompt, candidate, whole_words):
    """One forward per token; words begin where WordPiece or `▁` marks their beginning."""
    ids = tokenizer(prompt.replace("[Y]", candidate))["input_ids"]
    names = tokenizer.convert_ids_to_tokens(ids)
    marked = any(name.startswith("▁") for name in names)
    total = 0.0
    for i in range(1, len(ids) - 1):  # all but the two special tokens
        masked = list(ids)
        masked[i] = tokenizer.mask_token_id
        for j in range(i + 1, len(ids) - 1):
            begins = names[j].startswith("▁") if marked else not names[j].startswith("##")
            if begins or not whole_words:
                break
            masked[j] = tokenizer.mask_token_id
        logits = model(torch.tensor([masked])).logits[0, i].double()
        total += torch.log_softmax(logits, -1)[ids[i]].item()
    return total, len(ids) - 2


@pytest.mark.parametrize("scoring", SCORERS)
@pytest.mark.parametrize("kind", ["bert", "xlm-roberta", "distilbert", "modernbert"])
def test_scores_are_those_of_the_definition(kind, scoring, loaded):
    model, tokenizer = loaded(kind)
    scorer = SCORERS[scoring](model, tokenizer)
    assert scorer.scoring == scoring
    scripts = SCRIPTS if kind in ("bert", "xlm-roberta") else SCRIPTS[:3]
    asked = [(prompt, candidates[:2]) for prompts, candidates in scripts for prompt in prompts]
    scored = scorer.score_counted(*zip(*asked, strict=True))
    for (prompt, candidates), row in zip(asked, scored, strict=True):
        whole = scoring == "pll-word-l2r"
        wanted = [brute_force(model, tokenizer, prompt, c, whole) for c in candidates]
        assert row.scores == pytest.approx([score for score, _ in wanted], abs=1e-4), prompt
        assert row.n_tokens == [n for _, n in wanted]
    assert len({round(x, 3) for row in scored for x in row.scores}) > len(asked)


def read_plan(scorer, prompt, candidates):
    """Return the reads: the scored token, and the input with `_` for a mask."""
    plan = Plan()
    scorer.plan(plan, Queries([prompt], [candidates], {}))
    names = scorer.tokenizer.convert_ids_to_tokens
    return [
        (name, " ".join(names(list(row.ids))).replace("[MASK]", "_"))
        for row, reads in plan.reads.items()
        for name in names(reads.targets)
    ]


def test_equal_inputs_of_several_candidates_run_once(trondheim):
    scorer = PllScorer(*trondheim)
    read = read_plan(scorer, "Rome lies near [Y].", ["Rome", "Rome", "near"])
    # Two sentences of five tokens, one of them twice; the slot's mask is one input for both.
    assert len({row for _, row in read}) == 5 + 5 - 1
    assert sum(row == "[CLS] Rome lies near _ . [SEP]" for _, row in read) == 3
    [[one, two, three]] = scorer.score(["Rome lies near [Y]."], [["Rome", "Rome", "near"]])
    assert one == two != three


def test_an_unknown_token_is_a_token_as_any_other(trondheim):
    [scored] = PllScorer(*trondheim).score_counted(["Rome lies near [Y]."], [["Rome", "Ur"]])
    assert scored.n_tokens == [5, 5]
    assert scored.unknown == [1]


def sentence_piece(split):
    tokenizer = zoo.closed(tiny.TEXT)
    pieces = pre_tokenizers.Metaspace(prepend_scheme="always", split=split)
    tokenizer.backend_tokenizer.pre_tokenizer = pieces
    return tokenizer


def gemma():
    """Return a tokenizer like Gemma's: spaces become `▁` first, so nothing is split."""
    tokenizer = zoo.closed(tiny.TEXT)
    tokenizer.backend_tokenizer.normalizer = normalizers.Replace(" ", "▁")
    split = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.backend_tokenizer.pre_tokenizer = split
    return tokenizer


def roberta():
    """Return a byte-level tokenizer whose offsets exclude the initial space, like RoBERTa's."""
    tokenizer = tiny.byte_level(tiny.TEXT)
    tokenizer.backend_tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 1), ("<s>", 0), trim_offsets=True, add_prefix_space=False
    )
    return tokenizer


TOKENIZERS = {
    "WordPiece": lambda: zoo.word_piece(tiny.TEXT),
    "byte-level": lambda: tiny.byte_level(tiny.TEXT),
    "RoBERTa's": roberta,
    "▁": lambda: sentence_piece(True),
    "▁ without splitting": lambda: sentence_piece(False),
    "Gemma's": gemma,
}
LETTERS = ("WordPiece", "byte-level", "RoBERTa's")  # tokenizers that split off punctuation
WORDS = [  # a sentence, its words with separate punctuation, and without
    ("Oslo lies  near Nord-Sud.", "Oslo|lies|near|Nord|-|Sud|.", "Oslo|lies|near|Nord-Sud."),
    ("Париж — столица.", "Париж|—|столица|.", "Париж|—|столица."),
    ("राजधानी पेरिस है।", "राजधानी|पेरिस|है|।", "राजधानी|पेरिस|है।"),
    ("עִבְרִית שפה", "עִבְרִית|שפה", "עִבְרִית|שפה"),
    ("می\u200cشود این", "می\u200cشود|این", "می\u200cشود|این"),
    ("프랑스의 수도", "프랑스의|수도", "프랑스의|수도"),
    ("กรุงปารีส เมือง", "กรุงปารีส|เมือง", "กรุงปารีส|เมือง"),
]


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize(("text", "apart", "together"), WORDS)
def test_words_are_whole(name, text, apart, together):
    [encoding] = TOKENIZERS[name]()([text]).encodings
    ends = {}
    for number, (start, end) in zip(number_words(text, encoding), encoding.offsets, strict=True):
        if number is not None:
            ends[number] = (min(start, ends.get(number, (start,))[0]), end)
    found = [text[start:end].strip() for start, end in ends.values()]
    # byte-level tokenizers make the danda and the vowel sign before it one piece
    words = apart if name in LETTERS and "।" not in text else together
    words = apart if name == "WordPiece" else words
    assert [word for word in found if word] == words.split("|")


@pytest.mark.parametrize(
    ("name", "words"), [("WordPiece", [0, 1, 2, 3, 4, 5, 6, 7]), ("▁", [0] * 9)]
)
def test_without_blanks_han_characters_are_words_of_wordpiece_alone(name, words):
    text = "法国首都巴黎。是"
    [encoding] = TOKENIZERS[name]()([text]).encodings
    assert number_words(text, encoding)[1:-1] == words


def test_a_tokenizer_that_tells_no_words_is_refused(trondheim):
    scorers = [kind(trondheim[0], CanineTokenizer()) for kind in (PllScorer, WordPllScorer)]
    plan = Plan()
    [[numbers]] = scorers[0].plan(plan, Queries(["Rome: [Y]"], [["Oslo"]], {}))
    assert len(numbers) == len("Rome: Oslo")
    with pytest.raises(PolyprobeError, match="pll-word-l2r needs to know .*CanineTokenizer.* pll"):
        scorers[1].plan(Plan(), Queries(["Rome: [Y]"], [["Oslo"]], {}))
