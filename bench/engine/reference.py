"""The released approach: one forward pass for each candidate or sub-word, without sharing.

Rows are converted to token ids by the definitions in appendix B of the BMLAMA paper, independently
of polyprobe's scorers. Batch size 1, `inference_mode`, logits of the whole vocabulary at every
position. Two variants define the quantity that lm-pub-quiz scores. `load_smart` is what a competent
program does instead: it shares what the sentences of a row have in common (`read_row`).
"""

from collections.abc import Callable, Iterator
from functools import partial
from string import ascii_uppercase
from typing import Any, NamedTuple

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
)

SLOT = "[Y]"
SENTENCE_START = "\x02"  # behind a context
SENTINEL = "<extra_id_0>"
BOUNDARY = "▁"

Ids = tuple[int, ...]


class Filling(NamedTuple):
    """One candidate of a prompt: its sub-words, and the prompt's ids around them.

    For encoder-decoders, `before` has the encoder's ids and `after` is empty. For decoder-only
    models, `pieces` has the whole sentence and `before` its context. With letters each order of the
    options has a question, `before`, and `pieces` has the letter of each candidate.
    """

    before: Ids
    pieces: Ids
    after: Ids


def fill_causal(tokenizer: Any, prompt: str, row: list[str]) -> list[Filling]:
    """Return the whole sentences (eq. 10), behind their context if there is one."""
    context, _, sentence = prompt.rpartition(SENTENCE_START)
    before = tuple(tokenizer(context)["input_ids"]) if context else ()
    texts = [context + sentence.replace(SLOT, candidate) for candidate in row]
    return [Filling(before, tuple(x[len(before) :]), ()) for x in tokenizer(texts)["input_ids"]]


def fill_letters(tokenizer: Any, prompt: str, row: list[str]) -> list[Filling]:
    """Return the question with its options in every cyclic order."""
    n, stem = len(row), prompt.replace(SENTENCE_START, "").replace(SLOT, "___")
    letters = [tokenizer(f" {x}", add_special_tokens=False)["input_ids"] for x in ascii_uppercase]
    fillings = []
    for shift in range(n):
        options = [f"{ascii_uppercase[k]}. {row[k - shift]}" for k in range(n)]
        ids = tokenizer("\n".join([stem, *options, "Answer:"]))["input_ids"]
        pieces = tuple(letters[(j + shift) % n][0] for j in range(n))
        fillings.append(Filling(tuple(ids), pieces, ()))
    return fillings


def fill_masked(tokenizer: Any, prompt: str, row: list[str]) -> list[Filling]:
    """Return the prompt before and after its slot, and each candidate's sub-words (eq. 8)."""
    ids = tokenizer(prompt.replace(SLOT, tokenizer.mask_token))["input_ids"]
    at = ids.index(tokenizer.mask_token_id)
    before, after = tuple(ids[:at]), tuple(ids[at + 1 :])
    return [Filling(before, pieces, after) for pieces in _split(tokenizer, prompt, row)]


def fill_seq2seq(tokenizer: Any, prompt: str, row: list[str]) -> list[Filling]:
    """Return the encoder's ids with a sentinel, and each candidate's sub-words (eq. 9)."""
    source = tuple(tokenizer(prompt.replace(SLOT, SENTINEL))["input_ids"])
    return [Filling(source, pieces, ()) for pieces in _split(tokenizer, prompt, row)]


FILL = {
    "causal": fill_causal,
    "letters": fill_letters,
    "masked": fill_masked,
    "seq2seq": fill_seq2seq,
}


def _split(tokenizer: Any, prompt: str, row: list[str]) -> list[Ids]:
    """Return each candidate's sub-words; drop a lone word-boundary piece after a letter."""
    found = [tuple(ids) for ids in tokenizer(row, add_special_tokens=False)["input_ids"]]
    before = prompt[: prompt.index(SLOT)]
    if not before or before[-1].isspace():
        return found
    lone = tokenizer.convert_tokens_to_ids(BOUNDARY)
    return [ids[1:] if len(ids) > 1 and ids[0] == lone else ids for ids in found]


AUTO = {
    "causal": AutoModelForCausalLM,
    "letters": AutoModelForCausalLM,
    "masked": AutoModelForMaskedLM,
    "seq2seq": AutoModelForSeq2SeqLM,
}

Score = Callable[[list[str], list[list[str]]], list[list[float]]]
ScoreRow = Callable[[Any, Any, list[Filling]], list[float]]
# (network, sentences, first place) → log-probabilities of each sentence from that place, except
# those behind its last token, [places, V]
Read = Callable[[Any, list[Ids], int], Iterator[torch.Tensor]]


def load(family: str, model: str, dtype: str) -> Score:
    """Return the scoring function of equations 8 to 10, or of letters."""
    return _load(family, model, dtype, FILL[family], SCORE[family])


def load_smart(family: str, model: str, dtype: str) -> Score:
    """Return the same function of a decoder, by `read_row`."""
    score_row = partial(SCORE[family], read=read_row)
    return _load(family, model, dtype, FILL[family], score_row)


def load_peer_quantity(family: str, model: str, dtype: str) -> Score:
    """Return the scoring function of the quantity that lm-pub-quiz scores.

    Decoder-only: equation 10 after a BOS. Encoder-only: equation 8 on the candidate's sub-words
    inside its sentence.
    """
    fill = fill_behind_bos if family == "causal" else fill_in_context
    return _load(family, model, dtype, fill, SCORE[family])


def _load(
    family: str,
    model: str,
    dtype: str,
    fill: Callable[[Any, str, list[str]], list[Filling]],
    score_row: ScoreRow,
) -> Score:
    tokenizer = AutoTokenizer.from_pretrained(model)
    network = AUTO[family].from_pretrained(model, dtype=getattr(torch, dtype)).eval()

    @torch.inference_mode()
    def score(prompts: list[str], candidates: list[list[str]]) -> list[list[float]]:
        rows = zip(prompts, candidates, strict=True)
        return [score_row(network, tokenizer, fill(tokenizer, *row)) for row in rows]

    return score


def read_sentences(network: Any, sentences: list[Ids], first: int) -> Iterator[torch.Tensor]:
    """Yield the log-probabilities of one sentence at a time, from all its logits."""
    for ids in sentences:
        yield network(torch.tensor([ids])).logits[0, first:-1].float().log_softmax(-1)


def read_row(network: Any, sentences: list[Ids], first: int) -> Iterator[torch.Tensor]:
    """Yield the same, with the common beginning of all sentences run once.

    Its keys and values are repeated for the rest of each sentence, padded in one batch. The last
    token of a sentence is not run, and the head only where something is read.
    """
    sentences = [ids[:-1] for ids in sentences]
    columns = enumerate(zip(*sentences, strict=False))
    differences = (k for k, column in columns if len({*column}) > 1)
    shared = next(differences, min(map(len, sentences)) - 1)
    top, past = torch.empty(0, network.config.vocab_size), None
    if shared:
        front = network.model(torch.tensor([sentences[0][:shared]]), use_cache=True)
        top = network.lm_head(front.last_hidden_state[0, first:]).float().log_softmax(-1)
        past = front.past_key_values
        past.batch_repeat_interleave(len(sentences))
    lengths = [len(ids) - shared for ids in sentences]
    padded = [[*ids[shared:], *[0] * (max(lengths) - len(ids) + shared)] for ids in sentences]
    states = network.model(torch.tensor(padded), past_key_values=past).last_hidden_state
    skipped = max(first - shared, 0)
    rests = [row[skipped:n] for row, n in zip(states, lengths, strict=True)]
    logs = network.lm_head(torch.cat(rests)).float().log_softmax(-1)
    for rest in logs.split([len(x) for x in rests]):
        yield torch.cat([top, rest])


def score_sentences(
    network: Any, tokenizer: Any, fillings: list[Filling], read: Read = read_sentences
) -> list[float]:
    """Return the mean log-probability of all tokens behind the context, or except the first."""
    first = max(len(fillings[0].before), 1)
    sentences = [(*filling.before, *filling.pieces) for filling in fillings]
    logs = read(network, sentences, first - 1)
    return [float(_take(x, ids[first:]).mean()) for x, ids in zip(logs, sentences, strict=True)]


def score_letters(
    network: Any, tokenizer: Any, fillings: list[Filling], read: Read = read_sentences
) -> list[float]:
    """Return the mean over the orders of the log-probability of the candidate among the letters."""
    first = min(len(filling.before) for filling in fillings) - 1
    logs = read(network, [(*filling.before, filling.pieces[0]) for filling in fillings], first)
    pairs = zip(logs, fillings, strict=True)
    return torch.stack([x[-1, list(f.pieces)].log_softmax(-1) for x, f in pairs]).mean(0).tolist()


def score_masked(network: Any, tokenizer: Any, filling: Filling) -> float:
    """Return the mean log-probability of the sub-words, filled in from left to right."""
    before, pieces, after = filling
    found = []
    for i in range(len(pieces)):
        masks = (tokenizer.mask_token_id,) * (len(pieces) - i)
        ids = torch.tensor([(*before, *pieces[:i], *masks, *after)])
        logits = network(ids).logits[0].float()
        found.append(logits.log_softmax(-1)[len(before) + i, pieces[i]])
    return float(torch.stack(found).mean())


def score_seq2seq(network: Any, tokenizer: Any, filling: Filling) -> float:
    """Return the mean log-probability of the sub-words after the sentinel."""
    start = network.config.decoder_start_token_id
    sentinel = tokenizer.convert_tokens_to_ids(SENTINEL)
    decoder = torch.tensor([(start, sentinel, *filling.pieces[:-1])])
    logits = network(torch.tensor([filling.before]), decoder_input_ids=decoder).logits[0].float()
    return float(_take(logits[1:].log_softmax(-1), filling.pieces).mean())


def score_each(
    score_one: Callable[[Any, Any, Filling], float],
    network: Any,
    tokenizer: Any,
    fillings: list[Filling],
) -> list[float]:
    """Score one candidate at a time."""
    return [score_one(network, tokenizer, filling) for filling in fillings]


SCORE: dict[str, Callable[..., list[float]]] = {
    "causal": score_sentences,
    "letters": score_letters,
    "masked": partial(score_each, score_masked),
    "seq2seq": partial(score_each, score_seq2seq),
}


def fill_behind_bos(tokenizer: Any, prompt: str, row: list[str]) -> list[Filling]:
    """Return the whole sentences behind a BOS."""
    bos = tokenizer.bos_token_id
    return [x._replace(before=(bos,)) for x in fill_causal(tokenizer, prompt, row)]


def fill_in_context(tokenizer: Any, prompt: str, row: list[str]) -> list[Filling]:
    """Return the candidates' sub-words as tokenized inside their sentences."""
    start = prompt.index(SLOT)
    found = []
    for candidate in row:
        encoded = tokenizer(prompt.replace(SLOT, candidate))
        places = {encoded.char_to_token(start + k) for k in range(len(candidate))} - {None}
        first, last = min(places), max(places)
        ids = tuple(encoded["input_ids"])
        found.append(Filling(ids[:first], ids[first : last + 1], ids[last + 1 :]))
    return found


def _take(logs: torch.Tensor, targets: Any) -> torch.Tensor:
    at = torch.as_tensor(targets)[:, None]
    return logs.gather(1, at)[:, 0]
