"""What scores must be: the equations, one candidate at a time, without batches."""

import math

import torch


@torch.inference_mode()
def _log_softmax(logits):
    return torch.log_softmax(logits.double(), -1)


@torch.inference_mode()
def causal(model, tokenizer, prompt, candidate, add_bos=False):
    """Eq. 10: mean over the tokens of the sentence except the first."""
    ids = tokenizer(prompt.replace("[Y]", candidate))["input_ids"]
    ids = [tokenizer.bos_token_id, *ids] if add_bos else ids
    table = _log_softmax(model(torch.tensor([ids]), use_cache=False).logits[0])
    return sum(table[i - 1, ids[i]].item() for i in range(1, len(ids))) / (len(ids) - 1)


@torch.inference_mode()
def masked(model, tokenizer, prompt, candidate):
    """Eq. 8 on token ids: n masks, filled from left to right."""
    pieces = _pieces(tokenizer, prompt, candidate)
    ids = tokenizer(prompt.replace("[Y]", tokenizer.mask_token))["input_ids"]
    at = ids.index(tokenizer.mask_token_id)
    ids = ids[:at] + [tokenizer.mask_token_id] * len(pieces) + ids[at + 1 :]
    total = 0.0
    for i, piece in enumerate(pieces):
        total += _log_softmax(model(torch.tensor([ids])).logits[0, at + i])[piece].item()
        ids[at + i] = piece
    return total / len(pieces)


@torch.inference_mode()
def seq2seq(model, tokenizer, prompt, candidate):
    """Eq. 9: the decoder reads start, sentinel, pieces; only the pieces count."""
    pieces = _pieces(tokenizer, prompt, candidate)
    sentinel = tokenizer.convert_tokens_to_ids("<extra_id_0>")
    closing = tokenizer.convert_tokens_to_ids("<extra_id_1>")
    source = tokenizer(prompt.replace("[Y]", "<extra_id_0>"))["input_ids"]
    target = [sentinel, *pieces, closing]
    decoder = [model.config.decoder_start_token_id, *target[:-1]]
    logits = model(
        input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([decoder])
    ).logits
    table = _log_softmax(logits[0])
    return sum(table[i, target[i]].item() for i in range(1, len(pieces) + 1)) / len(pieces)


def _pieces(tokenizer, prompt, candidate):
    pieces = tokenizer(candidate, add_special_tokens=False)["input_ids"]
    before = prompt.split("[Y]")[0]
    lone = tokenizer.convert_ids_to_tokens(pieces)[0] == "▁" and len(pieces) > 1
    return pieces[1:] if lone and before and not before[-1].isspace() else pieces


@torch.inference_mode()
def at_all_masks(model, tokenizer, prompt, candidate):
    """Return the logits at n masks, all masked, and the candidate's n pieces (mParaRel)."""
    pieces = _pieces(tokenizer, prompt, candidate)
    ids = tokenizer(prompt.replace("[Y]", tokenizer.mask_token))["input_ids"]
    at = ids.index(tokenizer.mask_token_id)
    ids = ids[:at] + [tokenizer.mask_token_id] * len(pieces) + ids[at + 1 :]
    return model(torch.tensor([ids])).logits[0, at : at + len(pieces)].double(), pieces


def mpararel(model, tokenizer, prompt, candidate):
    """Return the log of the mean probability of the pieces."""
    logits, pieces = at_all_masks(model, tokenizer, prompt, candidate)
    table = torch.softmax(logits, -1)
    return math.log(sum(table[i, p].item() for i, p in enumerate(pieces)) / len(pieces))


def mpararel_released(model, tokenizer, prompt, candidate):
    """Return the mean of the pieces' raw logits."""
    logits, pieces = at_all_masks(model, tokenizer, prompt, candidate)
    return sum(logits[i, p].item() for i, p in enumerate(pieces)) / len(pieces)


def masked_object(model, tokenizer, prompt, candidate):
    """Return the sum in equation 8, not divided."""
    n = len(_pieces(tokenizer, prompt, candidate))
    return n * masked(model, tokenizer, prompt, candidate)


def seq2seq_object(model, tokenizer, prompt, candidate):
    """Return the sum in equation 9, not divided."""
    n = len(_pieces(tokenizer, prompt, candidate))
    return n * seq2seq(model, tokenizer, prompt, candidate)


def causal_object(model, tokenizer, prompt, candidate, add_bos=False, appended=0):
    """Return the sum over the candidate behind the prompt without its blanks, which it takes."""
    before = prompt.split("[Y]")[0]
    front = _prefix(tokenizer, before.rstrip(), add_bos, appended)
    return _read_on(model, front, object_pieces(tokenizer, before, candidate))


def object_pieces(tokenizer, before, candidate):
    """Return the ids of the candidate with the blanks before it, unless it brings its own `▁`."""
    ids = tokenizer(candidate, add_special_tokens=False)["input_ids"]
    if tokenizer.convert_ids_to_tokens(ids[0]).startswith("▁"):
        return ids
    blanks = before[len(before.rstrip()) :]
    return tokenizer(blanks + candidate, add_special_tokens=False)["input_ids"]


def causal_object_released(model, tokenizer, prompt, candidate, add_bos=False, appended=0):
    """Fluent-mLAMA: ids of the prompt up to the slot, then the candidate's own ids."""
    front = _prefix(tokenizer, prompt.split("[Y]")[0], add_bos, appended)
    return _read_on(model, front, tokenizer(candidate, add_special_tokens=False)["input_ids"])


@torch.inference_mode()
def _read_on(model, front, pieces):
    total, ids = 0.0, list(front)
    for piece in pieces:
        total += _log_softmax(model(torch.tensor([ids])).logits[0, -1])[piece].item()
        ids.append(piece)
    return total


@torch.inference_mode()
def causal_contrastive(model, tokenizer, prompt, candidate, add_bos=False, appended=0):
    """Polyglot or Not: the first piece after the stem, including the stem's trailing space."""
    ids = _prefix(tokenizer, prompt.split("[Y]")[0].rstrip(), add_bos, appended)
    table = _log_softmax(model(torch.tensor([ids])).logits[0, -1])
    return table[first_piece(tokenizer, prompt, candidate)].item()


@torch.inference_mode()
def masked_contrastive(model, tokenizer, prompt, candidate):
    """One mask, followed by a full stop if it is last."""
    before, after = prompt.split("[Y]")
    ids = tokenizer(before + tokenizer.mask_token + (after if after.strip() else "."))["input_ids"]
    table = _log_softmax(model(torch.tensor([ids])).logits[0, ids.index(tokenizer.mask_token_id)])
    return table[first_piece(tokenizer, prompt, candidate)].item()


@torch.inference_mode()
def seq2seq_contrastive(model, tokenizer, prompt, candidate):
    """The first piece after the sentinel."""
    source = tokenizer(prompt.replace("[Y]", "<extra_id_0>"))["input_ids"]
    sentinel = tokenizer.convert_tokens_to_ids("<extra_id_0>")
    decoder = [model.config.decoder_start_token_id, sentinel]
    logits = model(
        input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([decoder])
    ).logits
    return _log_softmax(logits[0, 1])[first_piece(tokenizer, prompt, candidate)].item()


def first_piece(tokenizer, prompt, candidate):
    """Return the first piece other than a space; after a space, that of the space and candidate."""
    blank = prompt.split("[Y]")[0][-1:].isspace()
    names = tokenizer.tokenize(f" {candidate}" if blank else candidate)
    return tokenizer.convert_tokens_to_ids(next(n for n in names if n not in ("▁", "Ġ")))


def _prefix(tokenizer, text, add_bos, appended):
    ids = tokenizer(text)["input_ids"]
    ids = ids[: len(ids) - appended]
    return [tokenizer.bos_token_id, *ids] if add_bos else ids


def letters(definition, model, tokenizer, prompt, candidates, orders, **extra):
    """Return log P(letter) over the letters of the options [orders, candidates].

    `definition` reads the first piece behind a prompt; order s has candidate j at position j + s.
    """
    n, table = len(candidates), []
    for shift in orders:
        text = prompt.replace("[Y]", "___")
        for place in range(n):
            text += f"\n{'ABCDEFGHIJ'[place]}. {candidates[place - shift]}"
        text += "\nAnswer: [Y]"
        read = [definition(model, tokenizer, text, "ABCDEFGHIJ"[p], **extra) for p in range(n)]
        total = math.log(math.fsum(map(math.exp, read)))
        table.append([read[(j + shift) % n] - total for j in range(n)])
    return table


def flat(lists):
    """Return the scores of all rows in one list."""
    return [value for row in lists for value in row]
