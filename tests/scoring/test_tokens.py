"""Ids of many texts: those of the tokenizer's own call, for every kind of tokenizer."""

import copy
import random
from io import BytesIO

import pytest
from sentencepiece import SentencePieceTrainer
from sentencepiece.sentencepiece_model_pb2 import ModelProto
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, processors, trainers
from tokenizers import pre_tokenizers as pre
from transformers import PreTrainedTokenizerFast

from polyprobe.scoring.engine.tokens import list_ids, splits_at_blanks
from tests.making import tiny

# The patterns of Llama 3, GPT-4, GPT-4o and DeepSeek V3, and BLOOM's, which joins signs and blanks.
LLAMA = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
GPT4 = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)
GPT4O = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"
XLMR = normalizers.Sequence(
    [
        normalizers.NFKC(),
        normalizers.Strip(left=False, right=True),
        normalizers.Replace(Regex(" {2,}"), "▁"),
    ]
)
WORDS = [
    *{w: 0 for text in tiny.TEXT for w in text.split()},
    "it's",
    "10,000",
    "1234567",
    "(Paris)",
]
WORDS += [
    "<m>",
    "<s>",
    "Paris.",
    "ab",
    "▁",
    "_",
    "京",
    "ﷺ",
    "¨",
    "‾",
    "é",
    "a\u0301",
    "❤\ufe0f",
    "😀",
    "\ufffd",
    "\u200d\u0301",
]
GAPS = [" "] * 20 + ["  ", "\n", " \n", "\n ", "\t", " \t ", "\u3000", "\xa0", "\u200b", "", "-"]
GAPS += ["\n\n", " \u0301", "\u0301 ", "\u0600 ", " \u0301 ", "¨ ", " ¨", "   ", " \ufe0f ", "▁ "]


BPE = (models.BPE(), trainers.BpeTrainer(initial_alphabet=pre.ByteLevel.alphabet(), vocab_size=700))
UNIGRAM = (models.Unigram(), trainers.UnigramTrainer(unk_token="<unk>", vocab_size=500))
WORD_PIECE = (models.WordPiece(unk_token="<unk>"), trainers.WordPieceTrainer(vocab_size=500))


def train(steps, normalizer=None, kind=BPE, post="$A", added=()):
    """Return a tokenizer that splits texts by the steps, trained on a few lines."""
    model, trainer = map(copy.copy, kind)
    trainer.special_tokens, trainer.show_progress = ["<s>", "</s>", "<unk>"], False
    backend = Tokenizer(model)
    backend.pre_tokenizer = pre.Sequence(steps)
    if normalizer:
        backend.normalizer = normalizer
    backend.train_from_iterator([*tiny.TEXT, "It's 10 and 1000 (years)...\n ab  \n"] * 4, trainer)
    specials = [("<s>", 0), ("</s>", 1)]
    backend.post_processor = processors.TemplateProcessing(single=post, special_tokens=specials)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>")
    tokenizer.add_tokens([*added])
    return tokenizer


def make_nmt():
    """Return SentencePiece's own normalizer, which makes blanks of `▁` and U+FFFD."""
    trained, options = BytesIO(), {"hard_vocab_limit": False, "minloglevel": 2}
    SentencePieceTrainer.train(sentence_iterator=iter(tiny.TEXT), model_writer=trained, **options)
    rules = ModelProto.FromString(trained.getvalue()).normalizer_spec.precompiled_charsmap
    blanks = normalizers.Replace(Regex(" {2,}"), " ")
    return normalizers.Sequence([normalizers.Precompiled(rules), blanks])


def split(pattern, **options):
    return pre.Split(Regex(pattern), **{"behavior": "isolated", **options})


def bytewise(pattern, **options):
    return [split(pattern, **options), pre.ByteLevel(add_prefix_space=False, use_regex=False)]


GPT2 = pre.ByteLevel(add_prefix_space=False)
# Whether words are tokenized once, and the tokenizer
KINDS = {
    "GPT-2": (True, lambda: train([GPT2])),
    "a blank in front": (True, lambda: train([pre.ByteLevel()], post="<s> $A </s>")),
    "Llama 3": (True, lambda: train(bytewise(LLAMA), post="<s> $A")),
    "Qwen": (True, lambda: train(bytewise(LLAMA.replace("{1,3}", "")), normalizers.NFC())),
    "GPT-4": (True, lambda: train(bytewise(GPT4, behavior="removed", invert=True))),
    "GPT-4o": (True, lambda: train(bytewise(GPT4O))),
    "DeepSeek": (True, lambda: train([split(r"\p{N}{1,3}"), *bytewise(DEEPSEEK)])),
    "SmolLM": (True, lambda: train([pre.Digits(individual_digits=True), GPT2])),
    "Falcon": (False, lambda: train([pre.Punctuation("contiguous"), GPT2, split("[0-9][0-9]")])),
    "XLM-R": (True, lambda: train([pre.WhitespaceSplit(), pre.Metaspace()], XLMR, UNIGRAM)),
    "T5": (True, lambda: train([pre.Metaspace()], XLMR, UNIGRAM, "$A </s>")),
    "first": (True, lambda: train([pre.Metaspace(prepend_scheme="first")], XLMR, UNIGRAM)),
    "BERT": (
        True,
        lambda: train([pre.BertPreTokenizer()], normalizers.BertNormalizer(), WORD_PIECE, "<s> $A"),
    ),
    "added": (
        True,
        lambda: train(
            [GPT2], added=[AddedToken("<m>", lstrip=True), AddedToken("ab", single_word=True)]
        ),
    ),
    "mT5": (True, lambda: train([pre.Metaspace()], make_nmt(), UNIGRAM, "$A </s>")),
    "signs between blanks": (False, lambda: train([GPT2], normalizers.BertNormalizer())),
    "twice": (True, lambda: train([GPT2], post="<s> $A $A")),
    "a blank behind": (False, lambda: train([GPT2], added=[AddedToken("<m>", rstrip=True)])),
    "a blank inside": (False, lambda: train([GPT2], added=["of France"])),
    "BLOOM": (False, lambda: train(bytewise(BLOOM))),
    "a look ahead": (False, lambda: train(bytewise(r"\p{L}+(?= \p{L})|\s+"))),
    "marks, then words": (
        False,
        lambda: train([pre.Metaspace(split=False), pre.WhitespaceSplit()], None, UNIGRAM),
    ),
    "lines": (False, lambda: train(bytewise(r"[^\n]+|\s+"))),
    "no words": (False, lambda: train([pre.Metaspace(split=False)], XLMR, UNIGRAM)),
    "Gemma": (
        False,
        lambda: train([pre.Split(" ", "merged_with_previous")], normalizers.Replace(" ", "▁")),
    ),
}


def draw_texts(n):
    """Draw texts of few words, and some with a long beginning in common."""
    draw = random.Random(8)

    def write(k):
        return "".join(draw.choice(WORDS) + draw.choice(GAPS) for _ in range(k))

    fronts = [" ".join([*draw.choices(WORDS, k=400), ""]) for _ in range(3)] + [write(500)]
    return [write(draw.choice((1, 2, 6))) for _ in range(n)] + [
        front + write(3) for front in fronts for _ in range(6)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_those_of_the_tokenizer_s_own_call(kind):
    words, make = KINDS[kind]
    tokenizer, texts = make(), draw_texts(1000)
    assert splits_at_blanks(tokenizer.backend_tokenizer) == words
    for special in (True, False):
        expected = tokenizer(texts, add_special_tokens=special)["input_ids"]
        for n in (len(texts), 5):
            assert list_ids(tokenizer, texts[:n], special) == [*map(tuple, expected[:n])]


def test_a_setting_of_the_backend_that_each_call_takes_back_does_not_count():
    tokenizer, texts = train([GPT2]), draw_texts(50)
    expected = [*map(tuple, tokenizer(texts)["input_ids"])]
    tokenizer.backend_tokenizer.enable_truncation(2)
    tokenizer.backend_tokenizer.enable_padding(length=9)
    assert list_ids(tokenizer, texts) == expected
    tokenizer.split_special_tokens = True
    found = list_ids(tokenizer, texts)
    assert found == [*map(tuple, tokenizer(texts)["input_ids"])] != expected


def test_a_class_with_its_own_call_is_called():
    class Shouting(PreTrainedTokenizerFast):
        def _encode_plus(self, text, **options):
            return super()._encode_plus([x.upper() for x in text], **options)

    tokenizer, texts = train([GPT2]), draw_texts(50)
    shouting = Shouting(tokenizer_object=copy.deepcopy(tokenizer.backend_tokenizer))
    assert list_ids(shouting, texts) == list_ids(tokenizer, [*map(str.upper, texts)])
