"""What servers do to log-probabilities: values that are changed, and answers of another model."""

import math
from copy import deepcopy
from functools import cache

import torch

from polyprobe.scoring.served.handshake import SAMPLE, SHORT

from .stand_in import StandIn, load, tokenizer

# Tokens of frequent candidates, which a server with a bias prefers
BIASED = (
    *("Europe", "Asia", "Africa", "America", "Oceania", "Paris", "London", "Berlin", "Madrid"),
    *("Rome", "Euro", "French", "English", "Spanish", "Russian", "German", "Arabic"),
    *("Ευρώπη", "Ασία", "Αφρική", "Αμερική", "Παρίσι", "Λονδίνο"),
)


@cache
def biased_tokens():
    ids = tokenizer()([f" {word}" for word in BIASED], add_special_tokens=False)["input_ids"]
    return sorted({token for row in ids for token in row})[:45]


@cache
def other_model():
    """Return geolm with other weights: another replica, or another model behind a router."""
    model = deepcopy(load())
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.3 * weight.std() * torch.randn(weight.shape, generator=generator)
    return model


@cache
def probe():
    """Return the prompt of the probe, which a router may know."""
    return tokenizer()(SAMPLE, add_special_tokens=False)["input_ids"][:SHORT]


def penalise(logits, ids):
    """Divide the logits of the tokens of each beginning by 1.3, as Hugging Face's penalty does."""
    logits = logits.clone()
    for k in range(len(ids)):
        seen = sorted({*ids[: k + 1]})
        part = logits[k, seen]
        logits[k, seen] = torch.where(part > 0, part / 1.3, part * 1.3)
    return logits


def present(logits, ids):
    """Subtract 2 from the logits of the tokens of each beginning (`presence_penalty`)."""
    logits = logits.clone()
    for k in range(len(ids)):
        logits[k, sorted({*ids[: k + 1]})] -= 2
    return logits


def bias(logits, ids):
    logits = logits.clone()
    logits[:, biased_tokens()] += 3
    return logits


def keep_best(logits, ids, n):
    """Return the probabilities among the n best tokens alone, and -10,000 outside of them."""
    least = logits.topk(n).values[:, -1:]
    return torch.where(logits < least, -math.inf, logits).log_softmax(1).clamp(min=-10_000)


def keep_bits(rows, n):
    """Round to n bits of mantissa."""
    mantissa, exponent = torch.frexp(rows)
    return torch.ldexp((mantissa * 2 ** (n + 1)).round() / 2 ** (n + 1), exponent)


def outside(rows, n, value=None):
    """Replace the values outside of the n best ones by one value, or by the least of the best."""
    least = rows.topk(n).values[:, -1:]
    return torch.where(rows < least, least if value is None else value, rows)


# Of logits: the probabilities still add up to one
MODELS = {
    "temperature 2": lambda logits, ids: logits / 2,
    "temperature 0.5": lambda logits, ids: logits / 0.5,
    "temperature 1.1": lambda logits, ids: logits / 1.1,
    "repetition penalty": penalise,
    "presence penalty": present,
    "bias": bias,
    "soft cap": lambda logits, ids: 10 * torch.tanh(logits / 10),
    "coarse logits": lambda logits, ids: keep_bits(logits, 3),
}
# Of log-probabilities
VALUES = {
    "base 2": lambda rows: rows / math.log(2),
    "base 10": lambda rows: rows / math.log(10),
    "3 decimals": lambda rows: rows.double().round(decimals=3),
    "2 decimals": lambda rows: rows.double().round(decimals=2),
    "1 decimal": lambda rows: rows.double().round(decimals=1),
    "whole nats": lambda rows: rows.round(),
    "3 bits": lambda rows: keep_bits(rows, 3),
    "bfloat16": lambda rows: rows.bfloat16().float(),
    "float16": lambda rows: rows.half().float(),
    "floor -5": lambda rows: rows.clamp(min=-5),
    "floor -10": lambda rows: rows.clamp(min=-10),
    "floor -15": lambda rows: rows.clamp(min=-15),
    "ceiling -1": lambda rows: rows.clamp(max=-1),
    "-10,000 outside of 50": lambda rows: outside(rows, 50, -10_000.0),
    "least of 20 outside of them": lambda rows: outside(rows, 20),
    "half": lambda rows: rows / 2,
    "minus 1": lambda rows: rows - 1,
    "probabilities": lambda rows: rows.exp(),
    "negated": lambda rows: -rows,
    "sums": lambda rows: rows.cumsum(0),
    "of the next token": lambda rows: rows.roll(-1, 0),
}
# Of logits and log-probabilities
LOGITS = {
    "logits": lambda logits: logits,
    "logits minus 20": lambda logits: logits - 20,
    "logits minus 50": lambda logits: logits - 50,
}
BEST = {"best 50 alone": 50, "best 5 alone": 5}
GENERATED = " of generated tokens"  # behind a lie about these alone
OF_FIVE = " where five tokens are shown"
# Of another model, by the number of HTTP requests or prompts; the probe itself is always honest
OTHERS = {
    "1 of 50 prompts": lambda post, prompt: prompt % 50 == 49,
    "1 of 10 requests": lambda post, prompt: post % 10 == 9,
    "request 12": lambda post, prompt: post == 12,
    "another after 60": lambda post, prompt: prompt >= 60,
    "another after 20": lambda post, prompt: prompt >= 20,
    "another after 120": lambda post, prompt: prompt >= 120,
}
LIES = (
    *("none", *MODELS, *VALUES, *LOGITS, *BEST, "last 32 tokens", "hidden text"),
    "base 2" + OF_FIVE,
    *(name + GENERATED for name in ("repetition penalty", "bias", "temperature 2", "2 decimals")),
    *OTHERS,
    "earlier answers",
)


class Liar(StandIn):
    """A stand-in with one of `LIES`."""

    def __init__(self, dialect, lie):
        super().__init__(dialect)
        self.lie = lie.removesuffix(OF_FIVE)
        self.shown = 20 if self.lie == lie else 5
        self.seen, self.earlier = 0, {}

    def rows(self, ids):
        ids = [*ids]
        number = self.seen
        self.seen += 1
        if self.lie == "last 32 tokens":
            parts = (ids[max(0, k - 31) : k + 1] for k in range(len(ids)))
            return ids, torch.stack([self.honest(x)[-1] for x in parts]).log_softmax(1)
        if self.lie == "hidden text":
            front = tokenizer()("Answer:", add_special_tokens=False)["input_ids"]
            return ids, self.honest([*front, *ids])[len(front) :].log_softmax(1)
        if self.lie == "earlier answers":
            known = self.earlier.setdefault(len(ids), ids)
            ids, answer = (known if number > 60 else ids), ids
            return answer, self.honest(ids).log_softmax(1)
        logits = self.honest(ids, self.choose(ids, number))
        rows = self.change(logits, ids)
        if self.lie.endswith(GENERATED):
            rows = torch.cat([logits[:-1].log_softmax(1).to(rows.dtype), rows[-1:]])
        return ids, rows

    def choose(self, ids, number):
        """Return the model that answers a prompt."""
        other = self.lie in OTHERS and OTHERS[self.lie](self.posts, number)
        return other_model() if other and ids != probe() else self.model

    def honest(self, ids, model=None):
        model = model or self.model
        with self.lock, torch.inference_mode():
            key = (id(model), *ids)
            if key not in self.known:
                self.known[key] = model(torch.tensor([ids])).logits[0].float()
            return self.known[key]

    def change(self, logits, ids):
        lie = self.lie.removesuffix(GENERATED)
        if lie in LOGITS:
            return LOGITS[lie](logits)
        if lie in BEST:
            return keep_best(logits, ids, BEST[lie])
        logits = MODELS[lie](logits, ids) if lie in MODELS else logits
        rows = logits.log_softmax(1)
        return VALUES[lie](rows) if lie in VALUES else rows
