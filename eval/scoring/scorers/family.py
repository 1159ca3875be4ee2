"""A model family: how its models are recognised, loaded, run and scored."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from .scorer import Scorer


class Family(NamedTuple):
    """A family of models; its network class says how they are run.

    Attributes:
        name: the name in tables and messages.
        auto: the transformers class that loads its models.
        architectures: its model types, and the class or classes of each.
        scorers: by protocol the scorer of this family; `bmlama` is required.
        suffixes: endings of class names that transformers does not list.
        old_names: class names in old checkpoints.
        encoder_decoder: whether its configurations say `is_encoder_decoder`.
        encoders: model types that read in both directions without `is_decoder`, so that this
            family cannot score them.
        takes_bos: whether its scorers have the option `bos`.
    """

    name: str
    auto: Any
    architectures: Mapping[str, str | tuple[str, ...]]
    scorers: Mapping[str, type[Scorer]]
    suffixes: tuple[str, ...] = ()
    old_names: tuple[str, ...] = ()
    encoder_decoder: bool = False
    encoders: Collection[str] = ()
    takes_bos: bool = False

    def fits(self, config: Any, names: list[str]) -> bool:
        """Return whether the class names, or without any the model type, are of this family."""
        if config.is_encoder_decoder != self.encoder_decoder:
            return False
        if not names:
            return config.model_type in self.architectures
        classes = self.architectures.get(config.model_type, ())
        classes = (classes,) if isinstance(classes, str) else classes
        return any(name in classes or name in self.old_names for name in names)

    def sees_answers(self, config: Any) -> bool:
        """Return whether the model reads in both directions although its head is causal."""
        return config.model_type in self.encoders and not getattr(config, "is_decoder", True)
