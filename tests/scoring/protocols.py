"""Queries, and each protocol's plain definition."""

import warnings

from tests.scoring import plain

# Slot in the middle, last, first; after a space, a letter, an apostrophe; ten scripts.
QUERIES = [
    ("The capital of France is [Y].", ["Paris", "Berlin", "the city of Paris", "Rome"]),
    ("The capital of France is [Y]", ["Paris", "Berlin"]),
    ("La capitale de l'[Y] est", ["Italie", "Europe"]),
    ("Столица Франции — [Y].", ["Париж", "Берлин", "Москва"]),
    ("法国的首都是[Y]。", ["巴黎", "北京", "东京都"]),
    ("日本の首都は [Y]です。", ["東京", "北京"]),
    ("عاصمة فرنسا هي [Y].", ["باريس", "برلين"]),
    ("פריז היא בירת [Y].", ["צרפת", "גרמניה"]),
    ("Η πρωτεύουσα είναι το [Y].", ["Παρίσι", "Βερολίνο"]),
    ("프랑스의 수도는 [Y]이다.", ["파리", "베를린"]),
    ("फ़्रांस की राजधानी [Y] है।", ["पेरिस", "बर्लिन"]),
    ("เมืองหลวงคือ[Y]", ["ปารีส", "กรุงเทพ"]),
]
KINDS = {
    "llama": "causal", "gpt2": "causal", "bloom": "causal", "bert": "masked",
    "xlm-roberta": "masked", "t5": "seq2seq", "mt5": "seq2seq",
}  # fmt: skip
PLAIN = {
    ("bmlama", "causal"): plain.causal,
    ("bmlama", "masked"): plain.masked,
    ("bmlama", "seq2seq"): plain.seq2seq,
    ("mpararel", "masked"): plain.mpararel,
    ("mpararel-released", "masked"): plain.mpararel_released,
    ("object", "masked"): plain.masked_object,
    ("object", "seq2seq"): plain.seq2seq_object,
    ("object", "causal"): plain.causal_object,
    ("object-released", "masked"): plain.masked_object,
    ("object-released", "seq2seq"): plain.seq2seq_object,
    ("object-released", "causal"): plain.causal_object_released,
    ("contrastive", "masked"): plain.masked_contrastive,
    ("contrastive", "seq2seq"): plain.seq2seq_contrastive,
    ("contrastive", "causal"): plain.causal_contrastive,
}


def score(scorer, queries):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # WordPiece has no token for some scripts
        return scorer.score([q for q, _ in queries], [c for _, c in queries])


def has_bos(kind, scoring):
    return kind not in ("llama", "gpt2") and (kind, scoring) != ("bloom", "contrastive")
