"""Free decoding for masked models (X-FACTR): the model writes the object, nothing is ranked."""

from .batched import Decoded, decode
from .options import DecodingChoices, DecodingOptions, take_decoding
from .predict import Predicted, predict

__all__ = [
    "Decoded",
    "DecodingChoices",
    "DecodingOptions",
    "Predicted",
    "decode",
    "predict",
    "take_decoding",
]
