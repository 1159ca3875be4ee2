"""ROME's rank-one edit of one MLP weight of a decoder, and fine-tuning of it as the control.

Source: Meng et al. 2022 (arXiv 2202.05262), section 3.1, with the constants of its released code.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import kl_div
from transformers.pytorch_utils import Conv1D

from polyprobe.schema.columns import SLOT
from polyprobe.scoring.engine import Ids, Input
from polyprobe.scoring.engine.forward import Gathered
from polyprobe.scoring.scorers.causal import CausalScorer
from polyprobe.system.download import MOMENTS, ContentStore, cache_folder
from polyprobe.system.files import hash_json
from polyprobe.system.messages import PolyprobeError, track

# The output projections of MLPs. BLOOM's `mlp` adds the residual inside, so that its output is not
# the value that an edit changes; that of the projection is, in all families.
PLACES = (
    "model.layers.{}.mlp.down_proj",  # llama, qwen, mistral, gemma and others
    "transformer.h.{}.mlp.dense_4h_to_h",  # bloom, falcon
    "transformer.h.{}.mlp.c_proj",  # gpt2, gpt_neo
    "transformer.h.{}.mlp.fc_out",  # gptj
    "gpt_neox.layers.{}.mlp.dense_4h_to_h",
)
LENGTHS, TOP = (5, 10), 5  # tokens of sampled texts; each is one of the most probable TOP
STEPS, RATE, ENOUGH, CLIP = 20, 0.5, 0.05, 4.0
KL_WEIGHT, DECAY = 0.0625, 0.5
TUNE_STEPS, TUNE_RATE, TUNE_NORM = 25, 5e-4, 5e-4
BATCH = 2048  # tokens
ROWS = 1024  # rows of a matrix in one value of the store, which holds at most a gigabyte
SMALLEST = 1e-6  # ratio of pivots; rounding leaves 1e-8 where a matrix is singular


class EditPrompt(NamedTuple):
    """A prompt as the model reads it, with all tokens of its target but the last."""

    ids: Ids
    place: int  # of the subject's last token
    positions: Sequence[int]  # where the target's tokens are predicted
    targets: Sequence[int]


class Update(NamedTuple):
    """A rank-one update: the new weight, of the old one's shape, and what it was made to do."""

    weight: Tensor
    key: Tensor  # k0, the projection's input at the bare prompt's subject, [inputs]
    value: Tensor  # v0 + delta, the output that k0 gets, [outputs]


@contextmanager
def replaced(weight: Tensor) -> Iterator[None]:
    """Restore a weight bit for bit when the context ends, also by an exception or Ctrl-C."""
    copy = weight.detach().clone()
    try:
        yield
    finally:
        weight.data.copy_(copy)


def find_projection(model: Any, layer: int | None) -> tuple[int, Any]:
    """Find the output projection of a layer's MLP (default: the layer after the first third)."""
    for front, back in (place.split(".{}.") for place in PLACES):
        try:
            layers = model.get_submodule(front)
            projections = [part.get_submodule(back) for part in layers]
        except AttributeError:
            continue
        number = len(layers) // 3 if layer is None else layer
        if number >= len(layers):
            raise PolyprobeError(f"--layer {number}: the model's are 0 to {len(layers) - 1}")
        projection, kinds = projections[number], torch.nn.Linear | Conv1D
        if not (isinstance(projection, kinds) and projection.weight.is_floating_point()):
            kind = f"{type(projection).__module__}.{type(projection).__name__}"
            text = f"cannot edit a layer of type {kind}; load it in full precision, or merge"
            raise PolyprobeError(f"{text} the model with its adapter")
        return number, projection
    raise PolyprobeError(
        f"no MLP to edit in a model of the type {model.config.model_type!r}; edit knows those "
        f"with {', '.join(PLACES)}"
    )


class Editor:
    """Find new weights for one layer; the model is as before, but its weights have no gradients.

    Args:
        scorer: a causal scorer of `--scoring object`; an edit has its tokens.
        layer: number of the layer, see `find_projection`.
        starts: texts in front of the prompt, beside the bare prompt.
    """

    def __init__(
        self, scorer: CausalScorer, layer: int | None = None, starts: Sequence[str] = ()
    ) -> None:
        self.scorer, self.starts, self._network = scorer, starts, scorer.engine.network
        self.layer, self.projection = find_projection(scorer.model, layer)
        self.weight: Tensor = self.projection.weight
        self._is_flipped = isinstance(self.projection, Conv1D)  # [inputs, outputs]
        scorer.model.requires_grad_(False)

    def plan(self, prompt: str, subject: str, target: str) -> EditPrompt:
        """Tokenize a prompt with a slot, and the target with the blanks in front of it."""
        [(row, reads)] = self.scorer.prepare([prompt], [[target]]).plan.reads.items()
        text = prompt[: prompt.index(SLOT)].rstrip()
        place = self.find_place(text, subject, row.ids[: reads.positions[0] + 1])
        return EditPrompt(row.ids, place, reads.positions, reads.targets)

    def find_place(self, text: str, subject: str, ids: Ids) -> int:
        """Find the subject's last token among a text's ids, at its last occurrence."""
        encoded = self.scorer.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        start, front = text.rfind(subject), len(ids) - len(encoded["input_ids"])
        end = start + len(subject)
        spans = enumerate(encoded["offset_mapping"])
        places = [k for k, (first, last) in spans if first < end and last > start >= 0]
        if not places or ids[front:] != tuple(encoded["input_ids"]):
            raise PolyprobeError(f"the subject {subject!r} is not in {text!r}")
        return front + places[-1]

    def rome(self, prompt: str, subject: str, target: str) -> Update:
        """Compute W + outer(delta, u) / (k0 u), after `load_moment`.

        The paper has v0 + delta - W k0 in the place of delta, which is equal without a bias.
        """
        queries = [self.plan(start + prompt, subject, target) for start in ("", *self.starts)]
        [ids] = self.scorer.prefixes([f"{subject} is a"])
        place = self.find_place(f"{subject} is a", subject, ids)
        keys, values, _ = self.run([query.ids for query in queries])
        rows, places = range(len(queries)), [query.place for query in queries]
        key, value = keys[0, places[0]].float(), values[0, places[0]].float()
        mean = keys[rows, places].cpu().double().mean(0)
        direction = torch.cholesky_solve(mean[:, None], self._factor)[:, 0]
        direction = (direction / direction.norm()).to(key)
        # The KL divergence is read at the subject itself
        delta = self._find_delta([*queries, EditPrompt(ids, place, [place], [])], value)
        matrix = torch.outer(delta, direction) / (key @ direction)
        weight = self.weight.float() + (matrix.T if self._is_flipped else matrix)
        return Update(weight.to(self.weight.dtype), key, value + delta)

    def _find_delta(self, queries: Sequence[EditPrompt], value: Tensor) -> Tensor:
        """Minimize the loss over the vector that is added to the output at each subject."""
        rows, places = range(len(queries)), [query.place for query in queries]
        delta = torch.zeros_like(value, requires_grad=True)
        optimizer = torch.optim.Adam([delta], lr=RATE)
        before: Tensor | None = None

        def change(output: Tensor) -> Tensor:
            addend = torch.zeros_like(output)
            addend[rows, places] = delta.to(output.dtype)
            return output + addend

        for step in range(STEPS):
            with torch.enable_grad():
                *logs, after = self._predict(queries, change)
                before = after.detach() if before is None else before
                loss = _measure_loss(queries, logs) + DECAY * delta.norm() / value.norm() ** 2
                loss += KL_WEIGHT * kl_div(before, after, reduction="sum", log_target=True)
                if loss < ENOUGH or step == STEPS - 1:  # the last step only evaluates
                    break
                [delta.grad] = torch.autograd.grad(loss, [delta])
            optimizer.step()
            delta.data *= (CLIP * value.norm() / delta.data.norm()).clamp(max=1)
        return delta.detach()

    def tune(self, prompt: str, subject: str, target: str) -> Tensor:
        """Fine-tune the weight on the target alone; no number moves by more than TUNE_NORM."""
        query = self.plan(prompt, subject, target)
        limits = self.weight - TUNE_NORM, self.weight + TUNE_NORM
        optimizer = torch.optim.Adam([self.weight], lr=TUNE_RATE)
        with replaced(self.weight):
            try:
                for _ in range(TUNE_STEPS):
                    with torch.enable_grad():
                        self.weight.requires_grad_(True)
                        loss = _measure_loss([query], self._predict([query]))
                        [self.weight.grad] = torch.autograd.grad(loss, [self.weight])
                    optimizer.step()
                    self.weight.data.clamp_(*limits)
            finally:
                self.weight.requires_grad_(False).grad = None
            return self.weight.clone()

    def _predict(
        self, queries: Sequence[EditPrompt], change: Callable[[Tensor], Tensor] | None = None
    ) -> list[Tensor]:
        """Compute the log-probabilities at the positions of each query, [positions, tokens]."""
        hidden = self.run([query.ids for query in queries], change)[2]
        pairs = [(k, position) for k, query in enumerate(queries) for position in query.positions]
        rows, positions = map(list, zip(*pairs, strict=True))
        logs = self._network.head(hidden[rows, positions]).float().log_softmax(1)
        return [*logs.split([len(query.positions) for query in queries])]

    def run(
        self, rows: Sequence[Ids], change: Callable[[Tensor], Tensor] | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Compute the projection's input, its output and the last states, [rows, tokens, width]."""
        parts: list[Tensor] = []

        def hook(_: Any, inputs: tuple[Tensor], output: Tensor) -> Tensor | None:
            parts.extend((inputs[0], output.clone()))  # falcon adds to its output in place
            return change(output) if change else None

        handle = self.projection.register_forward_hook(hook)
        try:
            states = self._network.run(**self._network.trunk_inputs([*map(Input, rows)]))[0]
        finally:
            handle.remove()
        return parts[0], parts[1], states

    def load_moment(self, identity: Mapping[str, Any], sentences: Sequence[str]) -> Tensor:
        """Take C, the second moment of the projection's input, from the cache, or measure it.

        Args:
            identity: the model, its revision and whatever else the inputs depend on.
            sentences: the texts, over all tokens of which outer(k, k) is averaged.

        Returns:
            C, [inputs, inputs], float64.

        Raises:
            PolyprobeError: C is singular.
        """
        width = self.weight.shape[0 if self._is_flipped else 1]
        name = hash_json({**identity, "layer": self.layer, "sentences": [*sentences]})
        places = {f"{name}:{start}".encode(): start for start in range(0, width, ROWS)}
        store = ContentStore(cache_folder() / f"{MOMENTS}.sqlite", MOMENTS, seal=b"")
        rows = store.find(places)
        if len(rows) < len(places):
            total = self.measure_moment(sentences, width).numpy()
            rows = {key: total[start : start + ROWS].tobytes() for key, start in places.items()}
            store.add(rows)
        content = bytearray(b"".join(rows[key] for key in places))
        moment = torch.frombuffer(content, dtype=torch.float64).view(width, width)
        self._factor, fault = torch.linalg.cholesky_ex(moment)
        pivots = self._factor.diagonal()
        if fault or pivots.min() < SMALLEST * pivots.max():
            raise PolyprobeError(
                f"{len(sentences):,} sentences are too few for the {width:,} inputs of layer "
                f"{self.layer}; give more in a file (--moments)"
            )
        return moment

    def measure_moment(self, sentences: Sequence[str], width: int) -> Tensor:
        """Average outer(k, k) over all tokens, in float64."""
        limit = min(self.scorer.tokenizer.model_max_length, self.scorer.engine.positions)
        inputs = [Input(ids[:limit]) for ids in self.scorer.prefixes(sentences)]
        total = torch.zeros(width, width, dtype=torch.float64)
        for batch in track(Gathered(self._network).batches(inputs, lambda: BATCH), "moments"):
            rows = [row.ids for row in batch]
            keys = self.run(rows)[0][self._network.mask(rows).bool()].cpu().double()
            total += keys.T @ keys
        return total / sum(len(row.ids) for row in inputs)


def _measure_loss(queries: Sequence[EditPrompt], logs: Sequence[Tensor]) -> Tensor:
    """Compute -log P of the targets: the mean over queries of the mean over tokens."""
    rows = zip(queries, logs, strict=False)
    return -torch.stack([log[range(len(x.targets)), x.targets].mean() for x, log in rows]).mean()


@torch.no_grad()
def sample_starts(scorer: CausalScorer, n: int) -> list[str]:
    """Sample n texts each of 5 and 10 tokens behind the BOS, each with a full stop and a blank."""
    tokenizer, generator = scorer.tokenizer, torch.Generator().manual_seed(0)
    first = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    if first is None:
        raise PolyprobeError("the tokenizer has no BOS or EOS to begin a text; use --contexts 0")
    rows = torch.full((len(LENGTHS) * n, 1), first)
    for _ in range(max(LENGTHS)):
        logits = scorer.model(input_ids=rows.to(scorer.engine.network.device)).logits[:, -1]
        top = logits.float().cpu().topk(TOP)
        places = torch.multinomial(top.values.softmax(1), 1, generator=generator)
        rows = torch.cat([rows, top.indices.gather(1, places)], 1)
    ids = [row[1 : 1 + LENGTHS[k // n]] for k, row in enumerate(rows)]
    texts = tokenizer.batch_decode(ids, skip_special_tokens=True)
    return [f"{' '.join(text.split())}. " for text in texts]
