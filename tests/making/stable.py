"""Small random masked models with a vocabulary that is the same in every process.

The trainers of `tokenizers` break ties at random, so the predictions of a model of tiny.py differ
between processes.
"""

import re
from pathlib import Path

import pytest
import torch
from tokenizers import decoders, models

from tests.making import tiny


def save_fixed(kind: str, folder: Path, text: list[str] = tiny.TEXT) -> Path:
    """Write a model of tiny.py (bert or xlm-roberta) with the letters and words of the text.

    Its predictions are peaked, and depend on the tokens next to the masks.
    """
    auto, make_tokenizer, make_config = tiny.KINDS[kind]
    fix = {"bert": fix_word_piece, "xlm-roberta": fix_unigram}[kind]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(
            tiny.KINDS, kind, (auto, lambda text: fix(make_tokenizer(text), text), make_config)
        )
        tiny.save_model(kind, folder, text)
    model = auto.from_pretrained(folder)
    sharpen(model)
    model.save_pretrained(folder)
    return folder


def fix_word_piece(tokenizer, text):
    letters = sorted({c for line in text for c in line if not c.isspace()})
    words = sorted({word for line in text for word in re.findall(r"\w{2,}", line)})
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    known = list(dict.fromkeys([*special, *letters, *(f"##{c}" for c in letters), *words]))
    vocabulary = {token: k for k, token in enumerate(known)}
    tokenizer.backend_tokenizer.model = models.WordPiece(vocabulary, unk_token="[UNK]")
    tokenizer.backend_tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def fix_unigram(tokenizer, text):
    letters = sorted({c for line in text for c in line if not c.isspace()})
    words = sorted({f"▁{word}" for line in text for word in re.findall(r"\w{2,}", line)})
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    pieces = [(token, 0.0) for token in special] + [("▁", -3.0)]
    pieces += [(c, -5.0) for c in letters] + [(word, -4.0) for word in words]
    tokenizer.backend_tokenizer.model = models.Unigram(pieces, unk_id=3)
    return tokenizer


@torch.no_grad()
def sharpen(model):
    for name, weight in model.named_parameters():
        if name.lower().endswith(("layernorm.weight", "layer_norm.weight")):
            weight.fill_(1.0)
        elif "attention" in name and weight.dim() > 1:
            weight.mul_(2.0)
