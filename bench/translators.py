"""Build sentence versions of geofacts with four translators and count what is lost, by reason.

Run `python -m bench translators [STANZA]`; STANZA is a folder with Stanza's models (default:
simplemma alone). It needs Debian's Apertium (tests/builder/translators/apy.py). It prints the table
and writes it to bench/translators.md.

No service is reached. Google and the server with OpenAI's protocol are stand-ins that answer with
geofacts' own sentence in the language; every tenth text is empty, every fifteenth unchanged. The
model of transformers has random weights.
"""

import os
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from polyprobe.builder.build import build_dataset
from polyprobe.builder.objects.lemmatizers import load_lemmatizer
from polyprobe.builder.recipes import sentences
from polyprobe.builder.recipes.requests import SentenceRequest
from polyprobe.builder.recipes.sentences import Base
from polyprobe.builder.translators import Translator, load_translator
from tests.builder.translators.apy import start_apy
from tests.builder.translators.server import serving
from tests.builder.translators.tiny_models import make_nllb

FAMILIAR = ("fi", "tr", "ar", "zh", "he")
PAIRS = ("es", "ca", "gl")  # Debian's packages of Apertium from English; the codes of the model
EMPTY, UNCHANGED = 10, 15  # every tenth sentence, every fifteenth
STATUSES = [x for x in sentences.STATUSES if x != sentences.BAD_SLOT]
HEAD = ("translator", "language", "lemmatizer", "sentences", *STATUSES, "seconds")


def main(argv: Sequence[str] = ()) -> None:
    """Build geofacts, translate it with each engine, write the page."""
    stanza = Path(argv[0]) if argv else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["POLYPROBE_CACHE"] = str(folder / "cache")  # no text of an earlier run
        base = sentences.read_base(build_dataset("geofacts", output=folder / "geofacts"), "default")
        lines = []
        with start_apy() as url:
            lines += [measure(load_translator("apertium", url=url), base, x, stanza) for x in PAIRS]
        model = load_translator("transformers", model=str(make_nllb(folder / "nllb")),
                                max_new_tokens="30", num_beams="1")  # fmt: skip
        model.pace = model.pace._replace(give_up=1000)  # noise has no end: each row is an outcome
        lines += [measure(model, base, x, stanza) for x in PAIRS]
        with serving() as server:
            google = load_translator("googletrans", base_url=server.google, per_second="1000")
            chat = load_translator("openai", base_url=server.openai, model="m")
            for engine in (google, chat):
                for language in FAMILIAR:
                    server.texts = answer(base, language)
                    lines.append(measure(engine, base, language, stanza))
    text = write_page(lines, len(base["en"]))
    print(text)
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")


def answer(base: Base, language: str) -> dict[str, str]:
    """Return {English sentence: the stand-in's text}."""
    pairs = zip(base["en"], base[language], strict=True)
    texts = {sentences.fill_prompt(row): sentences.fill_prompt(target) for row, target in pairs}
    for number, sentence in enumerate(texts):
        if number % EMPTY == 0:
            texts[sentence] = ""
        elif number % UNCHANGED == 0:
            texts[sentence] = sentence
    return texts


def measure(
    engine: Translator, base: Base, language: str, stanza: Path | None
) -> tuple[str | int, ...]:
    """Return one line of the table; the time includes loading a lemmatizer."""
    request = SentenceRequest("geofacts", languages=(language,), stanza_dir=stanza)
    start = time.perf_counter()
    outcomes = sentences.translate(request, base, engine)[language].outcomes
    seconds = round(time.perf_counter() - start)
    counts = Counter(outcome.status for outcome in outcomes)
    lemmatizer = load_lemmatizer("auto", language, stanza).name.partition(" ")[0]
    parts = [counts[status] for status in STATUSES]
    return (engine.name, language, lemmatizer, len(outcomes), *parts, seconds)


def write_page(lines: Sequence[tuple[str | int, ...]], n_rows: int) -> str:
    """Return the page with its table."""
    planned = sum(number % EMPTY == 0 for number in range(n_rows))
    copies = sum(number % UNCHANGED == 0 and number % EMPTY != 0 for number in range(n_rows))
    return "\n".join(
        [
            "# Sentence versions of geofacts with four translators",
            "",
            f"`python -m bench translators STANZA`, {n_rows} sentences of geofacts into each "
            "language. Apertium is the real engine. The model of `transformers` is an NLLB with "
            "random weights: its texts do not end within 30 tokens, so each row is lost as "
            "no-answer. Google and the server with OpenAI's protocol are stand-ins on this "
            "machine that answer with geofacts' own sentence in the language, whose names are "
            f"not inflected; they return {planned} texts empty and {copies} unchanged on purpose. "
            "Their rows check that these and no others are lost; they do not measure a service. "
            "Seconds are for all sentences of a language, without the limit of 20 requests a "
            "minute, on a machine that others used.",
            "",
            f"| {' | '.join(HEAD)} |",
            f"| --- | --- | --- |{' ---: |' * (len(HEAD) - 3)}",
            *(f"| {' | '.join(map(str, line))} |" for line in lines),
            "",
        ]
    )
