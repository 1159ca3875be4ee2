"""Translation models from the Hub or a local folder, on this machine.

The vocabulary shows the kind of model (SCHEMES), and so how the languages are part of the input.
transformers 5 has no translation pipeline, so `generate` is called.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from polyprobe.scoring.weights.places import Place, locate_model
from polyprobe.system.devices import choose_device, find_dtype, is_out_of_memory
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.sending import BrokenAnswerError, NoAnswerError, Pace

from ..codes import check_pair, match_code
from ..translator import Job, Translator

FIXED = ("marian", "fsmt")  # models of one pair, without language tokens
# Language tokens, whose group is the code, and whether the target's token begins the answer.
SCHEMES = (
    (re.compile(r"([a-z]{3}_[A-Z][a-z]{3})"), True),  # NLLB
    (re.compile(r"__([a-z]{2,3})__"), True),  # M2M100
    (re.compile(r"([a-z]{2})_[A-Z]{2}"), True),  # mBART-50
    (re.compile(r">>([a-z]{2,3}(?:[_-]\w+)?)<<"), False),  # OPUS-MT
    (re.compile(r"<2([a-z]{2,3}(?:[_-]\w+)?)>"), False),  # MADLAD
)


class Languages(NamedTuple):
    """The languages of a model: {code: token}."""

    tokens: dict[str, str]
    forced: bool  # the target's token begins the answer, and does not precede the sentence

    def find(self, source: str, target: str, model: str) -> tuple[str, str]:
        """Return the tokens of a pair; the source is returned unchanged if the model ignores it."""
        codes = self.tokens if self.forced else {*self.tokens, source}
        own_source, own_target = check_pair(f"the model {model}", source, target, codes)
        return self.tokens[own_source] if self.forced else source, self.tokens[own_target]


class Transformers(Translator):
    """A sequence-to-sequence model; greedy or beam search, no sampling."""

    name = "transformers"
    longest_first = True  # so that memory runs out at once or never; then batches are halved
    concurrency = 1
    pace = Pace(tries=1)  # a retry would give the same answer
    _network: Any = None

    def __init__(
        self,
        model: str,  # an id on the Hub or a local folder
        revision: str | None = None,  # branch, tag or commit of the Hub
        device: str = "auto",  # torch's name, or CUDA, else MPS, else the CPU
        dtype: str = "float32",  # of the weights, one of DTYPES
        batch_size: int = 16,  # sentences at once
        num_beams: int = 4,  # of the search, 1 for greedy search
        max_new_tokens: int = 256,  # a longer translation counts as a broken answer
    ) -> None:
        """Read the model's settings and tokenizer; `connect` loads the weights."""
        from transformers import AutoConfig, AutoTokenizer, __version__

        self.model, self.batch_size = model, batch_size
        self._device, self._dtype = choose_device(device), find_dtype(dtype)
        self._place = locate_model(model, revision).pin()
        self._config = self._place.load(AutoConfig.from_pretrained)
        if not self._config.is_encoder_decoder:
            raise PolyprobeError(
                f"the model {model} ({self._config.model_type}) is not a translation model; "
                "expected an encoder with a decoder, such as facebook/nllb-200-distilled-600M"
            )
        self._tokenizer = self._place.load(AutoTokenizer.from_pretrained)
        self._tasks = getattr(self._config, "task_specific_params", None) or {}  # T5's
        name = ("" if self._place.local else f"{model}@") + self._place.exact_revision()
        codes = getattr(self._tokenizer, "lang_code_to_token", {})  # M2M100's
        self._codes = {token: code for code, token in codes.items()}
        special = {*self._tokenizer.get_added_vocab(), *self._codes}
        self._languages = find_languages(special, self._tokenizer.get_vocab())
        tokens = self._languages.tokens.values() if self._languages else ()
        self._language_ids = set(self._tokenizer.convert_tokens_to_ids(list(tokens)))
        self._settings = {"num_beams": num_beams, "max_new_tokens": max_new_tokens}
        search = f"num_beams {num_beams}|max_new_tokens {max_new_tokens}"
        self.signature = f"transformers {__version__}|{name}|{dtype}|{search}"
        self._fits = batch_size

    def check(self, source: str, target: str) -> tuple[str, str]:
        """Return the tokens of the two languages, or their codes if the model has no tokens."""
        if self._languages:
            return self._languages.find(source, target, self.model)
        if f"translation_{source}_to_{target}" in self._tasks:
            return source, target
        if self._config.model_type not in FIXED:
            has = [task for task in self._tasks if task.startswith("translation_")]
            raise PolyprobeError(
                f"the model {self.model} ({self._config.model_type}) has no token for a language "
                f"and no prefix for {source} to {target}; it has {', '.join(has) or 'none'}"
            )
        stated = getattr(self._config, "langs", None) or [
            getattr(self._tokenizer, name, None) for name in ("source_lang", "target_lang")
        ]
        check_stated((stated[0], stated[1]), (source, target), self.model)
        return source, target

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[None]:
        """Load the weights, once for all runs."""
        if self._network is None:
            self._network = load_network(self._place, self._device, self._dtype)
            ends = self._network.generation_config.eos_token_id
            self._ends = set(ends if isinstance(ends, list) else [ends])
        yield

    async def ask(self, batch: Sequence[Job], source: str, target: str) -> list[str]:
        """Return the model's translations of a batch, computed in a thread."""
        sentences = [job.sentence for job in batch]
        return await asyncio.to_thread(self._translate, sentences, source, target)

    def _translate(self, batch: Sequence[str], source: str, target: str) -> list[str]:
        import torch

        texts: list[str] = []
        while len(texts) < len(batch):
            part = batch[len(texts) : len(texts) + self._fits]
            try:
                texts += self._generate(part, source, target)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                if self._device.type == "cuda":
                    torch.cuda.empty_cache()
                if len(part) == 1:
                    raise NoAnswerError(f"out of memory on {self._device}") from error
                self._fits = len(part) // 2
        return texts

    def _generate(self, sentences: Sequence[str], source: str, target: str) -> list[str]:
        import torch

        first, prefix = {}, f"{target} "
        if self._languages is None:
            prefix = self._tasks.get(f"translation_{source}_to_{target}", {}).get("prefix", "")
        elif self._languages.forced:
            self._tokenizer.src_lang = self._codes.get(source, source)
            prefix = ""
            first = {"forced_bos_token_id": self._tokenizer.convert_tokens_to_ids(target)}
        texts = [prefix + sentence for sentence in sentences]
        inputs = self._tokenizer(texts, return_tensors="pt", padding=True)
        length = int(inputs["attention_mask"].sum(dim=1).max())
        places = getattr(self._config, "max_position_embeddings", None)
        if length > (limit := min(self._tokenizer.model_max_length, places or length)):
            raise BrokenAnswerError(f"a sentence of {length} tokens; the model takes {limit}")
        inputs = {name: inputs[name].to(self._device) for name in ("input_ids", "attention_mask")}
        with torch.inference_mode():
            rows = self._network.generate(**inputs, **first, **self._settings, do_sample=False)
        return [self._read(row) for row in rows.tolist()]

    def _read(self, row: list[int]) -> str:
        """Return the text of generated ids, whose first is the decoder's start."""
        limit = self._settings["max_new_tokens"]
        if len(row) > limit and not self._ends & set(row[1:]):
            raise BrokenAnswerError(f"no end after {limit} tokens")
        ids = [number for number in row if number not in self._language_ids]
        return str(self._tokenizer.decode(ids, skip_special_tokens=True))


def find_languages(special: Collection[str], vocabulary: Collection[str]) -> Languages | None:
    """Return the languages of a model, None if it has no language tokens."""
    for pattern, forced in SCHEMES:
        # Forced tokens must be among the special ones: `en_US` may be text in a vocabulary.
        matches = map(pattern.fullmatch, sorted(special if forced else vocabulary))
        if tokens := {code[1]: code[0] for code in matches if code}:
            return Languages(tokens, forced)
    return None


def check_stated(stated: tuple[str | None, str | None], pair: tuple[str, str], model: str) -> None:
    """Raise PolyprobeError if a model states another pair than the requested one."""
    from babel.core import get_global

    # Groups of languages (`ROMANCE`, `gmw`) and models that state no pair are not checked.
    single = {*get_global("likely_subtags"), *get_global("language_aliases")}  # no groups
    for code, language in zip(stated, pair, strict=True):
        if code and code in single and not match_code(language, [code]):
            raise PolyprobeError(
                f"the model {model} translates {stated[0]} to {stated[1]}, not {pair[0]} to "
                f"{pair[1]}; name a model of that pair"
            )


def load_network(place: Place, device: Any, dtype: Any) -> Any:
    """Return the network with its weights on the device, in evaluation mode."""
    from transformers import AutoModelForSeq2SeqLM

    def load(name: str, **options: Any) -> Any:
        options |= {"dtype": dtype, "output_loading_info": True}
        network, info = AutoModelForSeq2SeqLM.from_pretrained(name, **options)
        return network.to(device), info

    network, info = place.load(load)
    if missing := sorted(info.get("missing_keys", ())):
        raise PolyprobeError(
            f"the weights of {place.name} are incomplete: {len(missing)} tensors are missing, "
            f"such as {missing[0]}"
        )
    network.generation_config.max_length = None  # max_new_tokens applies
    return network.eval()
