"""Translation models from the Hub or a local folder, on this machine.

The languages are part of the input: both for NLLB, M2M100 and mBART-50; the target before the
sentence for OPUS-MT with several targets and MADLAD; the words of its training for T5 (`translate
English to German: `); nothing for OPUS-MT with one pair. The vocabulary shows the kind of model
(`language_tokens.py`). transformers 5 has no translation pipeline, so `generate` is called.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from polyprobe.builder.translators.failures import BrokenAnswerError, NoAnswerError
from polyprobe.builder.translators.pace import Pace
from polyprobe.builder.translators.translator import Terms, Translation, Translator
from polyprobe.system.devices import choose_device, find_dtype, is_out_of_memory
from polyprobe.system.errors import PolyprobeError

from .language_tokens import check_stated, read_languages
from .model_files import identify, load_network, load_settings, place_model

FIXED = ("marian", "fsmt")  # models of one pair, without language tokens


class Transformers(Translator):
    """A sequence-to-sequence model; greedy or beam search, no sampling.

    If memory runs out, this batch and the following ones are halved.
    """

    name = "transformers"
    concurrency = 1
    pace = Pace(tries=1)  # a retry would give the same answer
    _network: Any = None

    def __init__(
        self,
        model: str,
        revision: str | None = None,
        device: str = "auto",
        dtype: str = "float32",
        batch_size: int = 16,
        num_beams: int = 4,
        max_new_tokens: int = 256,
    ) -> None:
        """Read the model's settings and tokenizer; `connect` loads the weights.

        Args:
            model: an id on the Hub or a local folder.
            revision: branch, tag or commit of the Hub.
            device: torch's name, or `auto`: CUDA, else MPS, else the CPU.
            dtype: of the weights, one of DTYPES.
            batch_size: sentences at once.
            num_beams: beams of the search, 1 for greedy search.
            max_new_tokens: a longer translation counts as a broken answer.

        Raises:
            PolyprobeError: an unknown model, not a translation model, invalid settings.
        """
        from transformers import __version__

        self.model, self.batch_size = model, batch_size
        self._device, self._dtype = choose_device(device), find_dtype(dtype)
        self._place = place_model(model, revision)
        self._config, self._tokenizer = load_settings(self._place, model)
        own = getattr(self._tokenizer, "lang_code_to_token", {}).values()  # M2M100's
        special = {*self._tokenizer.get_added_vocab(), *own}
        self._languages = read_languages(special, self._tokenizer.get_vocab())
        tokens = self._languages.tokens.values() if self._languages else ()
        self._language_ids = set(map(self._id, tokens))
        self._settings = {"num_beams": num_beams, "max_new_tokens": max_new_tokens}
        self.signature = (
            f"transformers {__version__}|{identify(self._place, model)}|{dtype}|"
            f"num_beams {num_beams}|max_new_tokens {max_new_tokens}"
        )
        self._fits = batch_size

    def check(self, source: str, target: str) -> tuple[str, str]:
        """Return the tokens of the two languages, or their codes if the model has no tokens."""
        if self._languages:
            return self._languages.find(source, target, self.model)
        self._check_pair(source, target)
        return source, target

    def translate_each(
        self,
        sentences: Sequence[str],
        source: str,
        target: str,
        terms: Sequence[Terms] | None = None,
    ) -> list[Translation]:
        """Return a translation for each sentence; batches have sentences of similar length.

        The longest come first, so that memory runs out at once or never.
        """
        order = sorted(range(len(sentences)), key=lambda place: -len(sentences[place]))
        of_sentences = None if terms is None else [terms[place] for place in order]
        ordered = [sentences[place] for place in order]
        found = super().translate_each(ordered, source, target, of_sentences)
        by_place = dict(zip(order, found, strict=True))
        return [by_place[place] for place in range(len(sentences))]

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[None]:
        """Load the weights, once for all runs."""
        if self._network is None:
            self._network = load_network(self._place, self.model, self._device, self._dtype)
            ends = self._network.generation_config.eos_token_id
            self._ends = set(ends if isinstance(ends, list) else [ends])
        yield

    async def ask(
        self, batch: Sequence[str], source: str, target: str, terms: Sequence[Terms]
    ) -> list[str]:
        """Return the model's translations of a batch, computed in a thread."""
        return await asyncio.to_thread(self._translate, batch, source, target)

    def _translate(self, batch: Sequence[str], source: str, target: str) -> list[str]:
        texts: list[str] = []
        while len(texts) < len(batch):
            part = batch[len(texts) : len(texts) + self._fits]
            try:
                texts += self._generate(part, source, target)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                self._free_memory()
                if len(part) == 1:
                    raise NoAnswerError(f"out of memory on {self._device}") from error
                self._fits = len(part) // 2
        return texts

    def _generate(self, sentences: Sequence[str], source: str, target: str) -> list[str]:
        import torch

        forced = self._languages is not None and self._languages.scheme.forced
        if forced:
            self._tokenizer.src_lang = self._own_code(source)
        texts = [self._prefix(source, target) + sentence for sentence in sentences]
        inputs = self._tokenizer(texts, return_tensors="pt", padding=True)
        self._check_length(int(inputs["attention_mask"].sum(dim=1).max()))
        inputs = {name: inputs[name].to(self._device) for name in ("input_ids", "attention_mask")}
        first = {"forced_bos_token_id": self._id(target)} if forced else {}
        with torch.inference_mode():
            rows = self._network.generate(**inputs, **first, **self._settings, do_sample=False)
        return [self._read(row) for row in rows.tolist()]

    def _read(self, row: list[int]) -> str:
        """Return the text of generated ids, whose first is the decoder's start."""
        most = self._settings["max_new_tokens"]
        if len(row) > most and not self._ends & set(row[1:]):
            raise BrokenAnswerError(f"no end after {most} tokens")
        kept = [number for number in row if number not in self._language_ids]
        return str(self._tokenizer.decode(kept, skip_special_tokens=True))

    def _prefix(self, source: str, target: str) -> str:
        """Return the text before a sentence."""
        if self._languages is None:
            return self._tasks().get(f"translation_{source}_to_{target}", {}).get("prefix", "")
        return "" if self._languages.scheme.forced else f"{target} "

    def _own_code(self, token: str) -> str:
        """Return the tokenizer's code of a token; they differ for M2M100."""
        codes = getattr(self._tokenizer, "lang_code_to_token", {})
        return next((code for code, own in codes.items() if own == token), token)

    def _id(self, token: str) -> int:
        return int(self._tokenizer.convert_tokens_to_ids(token))

    def _tasks(self) -> dict[str, Any]:
        """Return the training tasks of T5, empty for other models."""
        return getattr(self._config, "task_specific_params", None) or {}

    def _check_pair(self, source: str, target: str) -> None:
        """Raise PolyprobeError if a model without language tokens has another pair."""
        if f"translation_{source}_to_{target}" in self._tasks():
            return
        if self._config.model_type not in FIXED:
            has = [task for task in self._tasks() if task.startswith("translation_")]
            raise PolyprobeError(
                f"the model {self.model} ({self._config.model_type}) has no token for a language "
                f"and no prefix for {source} to {target}; it has {', '.join(has) or 'none'}"
            )
        langs = getattr(self._config, "langs", None) or (
            getattr(self._tokenizer, "source_lang", None),
            getattr(self._tokenizer, "target_lang", None),
        )
        check_stated((langs[0], langs[1]), (source, target), self.model)

    def _check_length(self, length: int) -> None:
        places = getattr(self._config, "max_position_embeddings", None)
        if length > (most := min(self._tokenizer.model_max_length, places or length)):
            raise BrokenAnswerError(f"a sentence of {length} tokens; the model takes {most}")

    def _free_memory(self) -> None:
        import torch

        if self._device.type == "cuda":
            torch.cuda.empty_cache()
