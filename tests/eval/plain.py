"""What scores must be: the equations, one candidate at a time, without batches."""

import torch


@torch.inference_mode()
def _log_softmax(logits):
    return torch.log_softmax(logits.double(), -1)


@torch.inference_mode()
def causal(model, tokenizer, prompt, candidate, add_bos=False):
    """Eq. 10: mean over the whole sentence's tokens but the first of the row."""
    ids = tokenizer(prompt.replace("[Y]", candidate))["input_ids"]
    ids = [tokenizer.bos_token_id, *ids] if add_bos else ids
    table = _log_softmax(model(torch.tensor([ids])).logits[0])
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
