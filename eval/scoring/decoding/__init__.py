"""Free decoding with masked models (X-FACTR): the model writes the object."""

from .batched import Decoded, decode
from .options import DecodingChoices, DecodingOptions, take_decoding

__all__ = ["Decoded", "DecodingChoices", "DecodingOptions", "decode", "take_decoding"]
