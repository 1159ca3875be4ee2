"""A language model cut in two: the trunk gives hidden states, the head turns some into logits."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from .plan import Input


class Network:
    """A model whose head is asked only for the positions that are read.

    Logits of every position, [inputs, tokens, vocabulary], are most of the work of a small model
    and most of the memory of any. Between trunk and logits classes differ (a transformation, a
    scale, a soft cap), and only their own `forward` knows how: so the head is that `forward` with
    the trunk's answer put in its place.

    Attributes:
        model: a transformers model with a language-model head.
        family: `causal`, `masked` or `seq2seq`.
        pad: what fills up short rows; any id does, since it is masked or comes behind.
        trunk: the part whose first output is the last hidden state; None where none was found, so
            that only `model` itself can be called.
    """

    def __init__(self, model: Any, family: str, pad: int | None) -> None:
        self.model = model
        self.family = family
        self.pad = 0 if pad is None or pad >= self.vocabulary else pad
        self.trunk = _find_trunk(model)
        self._output: Any = None

    @property
    def device(self) -> torch.device:
        """Return where inputs belong."""
        return self.model.device

    @property
    def vocabulary(self) -> int:
        """Return how many token ids the model knows; a tokenizer may have fewer or more."""
        return self.model.get_input_embeddings().weight.shape[0]

    def ids(self, rows: Sequence[Sequence[int]]) -> torch.Tensor:
        """Return token ids padded on the right, [rows, longest]."""
        width = max(map(len, rows))
        padded = [[*row, *[self.pad] * (width - len(row))] for row in rows]
        return torch.tensor(padded, device=self.device)

    def mask(self, rows: Sequence[Sequence[int]]) -> torch.Tensor:
        """Return 1 for the rows' tokens and 0 for their padding, [rows, longest]."""
        lengths = torch.tensor([len(row) for row in rows], device=self.device)
        return (torch.arange(int(lengths.max()), device=self.device) < lengths[:, None]).long()

    def logits(self, batch: Sequence[Input]) -> torch.Tensor:
        """Return the model's own logits at every position, [inputs, tokens, V]."""
        ids = [row.ids for row in batch]
        if self.family == "seq2seq":
            sources = [row.source for row in batch]
            return self.model(
                input_ids=self.ids(sources),
                attention_mask=self.mask(sources),
                decoder_input_ids=self.ids(ids),
                use_cache=False,
            ).logits
        cache = {} if self.family == "masked" else {"use_cache": False}
        return self.model(input_ids=self.ids(ids), attention_mask=self.mask(ids), **cache).logits

    def encode(self, sources: Sequence[Sequence[int]]) -> dict[str, torch.Tensor]:
        """Return what the decoder looks back at: the encoder's states, and their mask."""
        mask = self.mask(sources)
        states = self.model.get_encoder()(input_ids=self.ids(sources), attention_mask=mask)[0]
        return {"encoder_hidden_states": states, "encoder_attention_mask": mask}

    def run(self, **inputs: Any) -> Any:
        """Return the trunk's output."""
        output = self.trunk(**inputs)
        self._output = type(output)
        return output

    def head(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the logits of gathered hidden states, [places, width] → [places, V]."""
        some = torch.zeros((1, len(hidden)), dtype=torch.long, device=hidden.device)
        inputs: dict[str, Any] = {"input_ids": some}
        if self.family == "seq2seq":
            inputs = {"encoder_outputs": (hidden[None],), "decoder_input_ids": some}
        with self._answering(hidden[None]):
            return self.model(**inputs).logits[0]

    @contextmanager
    def _answering(self, hidden: torch.Tensor) -> Iterator[None]:
        """Let the trunk answer with these states, whatever it is asked."""
        answer = self._output(last_hidden_state=hidden)
        own = self.trunk.__dict__.get("forward")
        try:
            self.trunk.forward = lambda *args, **kwargs: answer
            yield
        finally:
            self.trunk.__dict__.pop("forward", None)
            if own is not None:
                self.trunk.forward = own


@torch.inference_mode()
def _find_trunk(model: Any) -> Any:
    """Return the outermost part that the model's `forward` calls and that gives hidden states.

    `base_model` is not always called itself (OPT's is passed over for its decoder), so a forward
    of one token tells which one is.
    """
    if model.config.is_encoder_decoder:
        return model.get_decoder()
    called: list[Any] = []
    parts = [model.base_model, model.get_decoder()]
    parts = [part for part in parts if part is not None and part is not model]
    hooks = [p.register_forward_hook(lambda part, *_: called.append(part)) for p in parts]
    try:
        model(input_ids=torch.zeros((1, 1), dtype=torch.long, device=model.device))
    finally:
        for hook in hooks:
            hook.remove()
    return next((part for part in parts if part in called), None)
