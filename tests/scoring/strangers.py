"""Unlisted model classes: like known ones, but different where a fast path relies on them.

Each is a known class with a part changed: what surrounds its trunk (`outer`), or the trunk itself
(`inside`). The changes compose by inheritance, as in models with remote code.
"""

from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    BertConfig,
    BertForMaskedLM,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
)

SPAN = 16


class Own:
    """Give the trunk the class that `inside` names."""

    inside: type | None = None

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        if self.inside is not None:
            trunk = self.get_decoder()
            trunk.__class__ = type("Trunk", (self.inside, type(trunk)), {})


class ScalesByPlace:
    """Its head depends on the position."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        output = super().forward(*args, **kwargs)
        places = torch.arange(output.logits.shape[1], device=output.logits.device)
        output.logits = output.logits * (1 + 0.05 * places)[:, None]
        return output


class LooksAtAllBefore:
    """Its head adds its previous outputs, so it needs the whole sentence."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        output = super().forward(*args, **kwargs)
        counts = torch.arange(1, output.logits.shape[1] + 1, device=output.logits.device)
        output.logits = output.logits + output.logits.cumsum(1) / counts[:, None]
        return output


class SeesTheNext:
    """Its head adds the logits of the next token."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        output = super().forward(*args, **kwargs)
        output.logits = output.logits + 0.1 * output.logits.roll(-1, 1)
        return output


class Copies:
    """Its head uses the input token in addition to the state."""

    def forward(self, input_ids: torch.Tensor, **kwargs: Any) -> Any:
        output = super().forward(input_ids, **kwargs)
        width = output.logits.shape[2]
        output.logits = output.logits + 3 * torch.nn.functional.one_hot(input_ids, width)
        return output


class WorksBeforeItsTrunk:
    """It changes the embeddings before the trunk."""

    def forward(self, input_ids: torch.Tensor, **kwargs: Any) -> Any:
        embedded = self.get_input_embeddings()(input_ids)
        kwargs["inputs_embeds"] = embedded + embedded.roll(1, -1)
        return super().forward(**kwargs)


class RunsItsTrunkTwice:
    """The trunk reads its own states again."""

    def forward(self, input_ids: torch.Tensor, **kwargs: Any) -> Any:
        kwargs["inputs_embeds"] = self.get_decoder()(input_ids=input_ids, use_cache=False)[0]
        return super().forward(**kwargs)


class DeafToMasks:
    """It accepts a mask over a trie but attends to all previous tokens."""

    def forward(self, *args: Any, attention_mask: Any = None, **kwargs: Any) -> Any:
        flat = attention_mask is not None and attention_mask.dim() == 2
        return super().forward(*args, attention_mask=attention_mask if flat else None, **kwargs)


class DeafToPositions:
    """It accepts positions but counts its own."""

    def forward(self, *args: Any, position_ids: Any = None, **kwargs: Any) -> Any:
        return super().forward(*args, **kwargs)


class DeafToCaches(DeafToMasks):
    """It accepts and returns a cache, but ignores its content."""

    def forward(self, *args: Any, past_key_values: Any = None, **kwargs: Any) -> Any:
        return super().forward(*args, **kwargs)


class RefusesPositions:
    """It counts positions by itself and declares it."""

    def forward(self, *args: Any, position_ids: Any = None, **kwargs: Any) -> Any:
        if position_ids is not None:
            raise ValueError("position_ids are not for this model")
        return super().forward(*args, **kwargs)


class LooksNoFurtherBack:
    """It has an undeclared attention window; a given mask disables it."""

    def forward(
        self,
        input_ids: Any = None,
        attention_mask: Any = None,
        past_key_values: Any = None,
        **kwargs: Any,
    ) -> Any:
        if attention_mask is None or attention_mask.dim() == 2:
            before = past_key_values.get_seq_length() if past_key_values is not None else 0
            number = torch.arange(before + input_ids.shape[1])
            back = number[before:, None] - number
            seen = ((back >= 0) & (back < SPAN)).expand(len(input_ids), 1, -1, -1)
            if attention_mask is not None:
                seen = seen & attention_mask[:, None, None].bool()
            attention_mask = torch.zeros(seen.shape).masked_fill(~seen, -1e30)
        return super().forward(
            input_ids, attention_mask=attention_mask, past_key_values=past_key_values, **kwargs
        )


class Stranger(NamedTuple):
    """Definition of an unlisted class.

    `of` is the kind of zoo.py with its weights and tokenizer; `differs` is whether its plain scores
    differ from that kind's, so that a path without the change is wrong.
    """

    of: str
    outer: type = object
    inside: type | None = None
    differs: bool = False


STRANGERS = {
    "scales-by-place": Stranger("llama", outer=ScalesByPlace, differs=True),
    "looks-at-all-before": Stranger("llama", outer=LooksAtAllBefore, differs=True),
    "copies": Stranger("llama", outer=Copies, differs=True),
    "works-before-its-trunk": Stranger("llama", outer=WorksBeforeItsTrunk, differs=True),
    "runs-its-trunk-twice": Stranger("llama", outer=RunsItsTrunkTwice, differs=True),
    "deaf-to-masks": Stranger("llama", inside=DeafToMasks),
    "deaf-to-positions": Stranger("llama", inside=DeafToPositions),
    "deaf-to-caches": Stranger("llama", inside=DeafToCaches),
    "refuses-positions": Stranger("llama", inside=RefusesPositions),
    "looks-no-further-back": Stranger("llama", inside=LooksNoFurtherBack, differs=True),
    "masked-scales-by-place": Stranger("bert", outer=ScalesByPlace, differs=True),
    "masked-copies": Stranger("bert", outer=Copies, differs=True),
    "masked-works-before-its-trunk": Stranger("bert", outer=WorksBeforeItsTrunk, differs=True),
    "seq2seq-scales-by-place": Stranger("t5", outer=ScalesByPlace, differs=True),
    "seq2seq-looks-at-all-before": Stranger("t5", outer=LooksAtAllBefore, differs=True),
    "seq2seq-deaf-to-caches": Stranger("t5", inside=DeafToCaches),
}
KIN = {
    "llama": (LlamaConfig, LlamaForCausalLM, AutoModelForCausalLM),
    "bert": (BertConfig, BertForMaskedLM, AutoModelForMaskedLM),
    "t5": (T5Config, T5ForConditionalGeneration, AutoModelForSeq2SeqLM),
}


def make(name: str, known: Any) -> Any:
    """Return the stranger with the weights of its kin, known to the Auto classes by its type."""
    made = STRANGERS[name]
    settings, kin, auto = KIN[made.of]
    title = "".join(map(str.title, name.split("-")))
    own = type(f"{title}Config", (settings,), {"model_type": f"stranger-{name}"})
    bases = (made.outer, Own, kin) if made.outer is not object else (Own, kin)
    network = type(f"{title}{kin.__name__}", bases, {"config_class": own, "inside": made.inside})
    AutoConfig.register(own.model_type, own, exist_ok=True)
    auto.register(own, network, exist_ok=True)
    fields = {k: v for k, v in known.config.to_dict().items() if k != "model_type"}
    model = network(own(**fields))
    model.load_state_dict(known.state_dict())
    return model.eval()


def make_ahead(of: str, known: Any) -> Any:
    """Return a model whose logits also depend on the next token."""

    class Ahead(SeesTheNext, KIN[of][1]):
        pass

    model = Ahead(known.config)
    model.load_state_dict(known.state_dict())
    return model.eval()


def save(name: str, known: Any, folder: Path) -> None:
    """Write the stranger of a known scorer's model, and that one's tokenizer."""
    make(name, known.model).save_pretrained(folder)
    known.tokenizer.save_pretrained(folder)
