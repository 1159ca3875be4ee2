"""Hungarian sentences of a translator that answers from a table."""

import sys
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from polyprobe.builder import recipes as table
from polyprobe.builder.build import build_sentences
from polyprobe.builder.output import folder as card
from polyprobe.builder.recipes.sentences import OUTCOMES
from polyprobe.builder.translators import Translation, Translator
from polyprobe.schema.columns import Row

# Hungarian, where "in" is an ending: -ban, -en. Row 3 has an entity of which the other rows know
# the form as well.
NAMES = {
    "en": {"FR": "France", "HU": "Hungary", "UK": "Britain", "p": "Paris", "b": "Budapest",
           "l": "London"},
    "hu": {"FR": "Franciaország", "HU": "Magyarország", "UK": "Anglia", "p": "Párizs",
           "b": "Budapest", "l": "London"},
    "ga": {"FR": "An Fhrainc", "HU": "An Ungáir", "UK": "An Bhreatain", "p": "Páras",
           "b": "Búdaipeist", "l": "Londain"},
}  # fmt: skip
TEMPLATES = {
    "en": "Who rules {} sits in [Y].",
    "hu": "{}: [Y].",
    "ga": "{}: [Y].",
}
PROSE = """\
---
pretty_name: tiny
relations:
  P36: capital
---
# tiny<!-- sentences -->

of its own: <!-- own -->

<!-- columns -->
"""
FACTS = (("FR", "p"), ("HU", "b"), ("UK", "l"), ("HU", "l"))


def make_rows(language: str) -> list[Row]:
    names = NAMES[language]
    return [
        Row(
            *(f"P36:{subject}:{answer}", "P36", subject, answer, names[subject]),
            prompt=TEMPLATES[language].format(names[subject]),
            candidates=[names[e] for e in "pbl"],
            candidate_ids=list("pbl"),
            answers=["pbl".index(answer)],
            answer_forms=[names[answer]],
            template_id="t",
        )
        for subject, answer in FACTS
    ]


TINY = "polyprobe.builder.recipes.tiny"


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """A dataset `tiny` of four facts in three languages; the folder to build it in."""
    module = SimpleNamespace(
        DEFAULT_CONFIG="default",
        build=lambda config, mirror=None: {language: make_rows(language) for language in NAMES},
        describe=lambda configs: {"own": ", ".join(config.name for config in configs)},
    )
    recipe = table.Recipe("tiny", ("default", "more"))
    monkeypatch.setitem(table.RECIPES, "tiny", recipe)
    monkeypatch.setitem(sys.modules, TINY, module)
    monkeypatch.setattr(card, "read_prose", lambda name: PROSE)
    return tmp_path / "tiny"


class Phrasebook(Translator):
    """A translator with fixed answers: {(language, sentence): text or problem}."""

    name = "phrasebook"
    signature = "phrasebook|1"

    def __init__(self, texts):
        self.texts = texts
        self.asked = []

    async def ask(self, batch, source, target):
        self.asked += [job.sentence for job in batch]
        return [self.texts[target, job.sentence] for job in batch]


class Told(Phrasebook):
    """The same, with problems returned as given, without disk and without retries."""

    def translate_each(self, sentences, source, target, terms=None, relations=None):
        self.asked += [(sentence, dict(t)) for sentence, t in zip(sentences, terms, strict=True)]
        return [
            found if isinstance(found, Translation) else Translation(found, "")
            for found in (self.texts[target, sentence] for sentence in sentences)
        ]


SENTENCE = {
    (subject, answer): f"Who rules {NAMES['en'][subject]} sits in {NAMES['en'][answer]}."
    for subject, answer in FACTS
}
HU = [
    "Franciaország ura Párizsban ül.",
    "Magyarország ura Budapesten ül.",
    "Anglia ura itt ül: London.",
    "Magyarország ura Londonban ül.",
]


def phrasebook(kind=Told, hu=HU, **ga):
    """Translates to Hungarian, and to Irish the rows given in `ga` (`r0`); no answer otherwise."""
    told = dict(zip([("hu", s) for s in SENTENCE.values()], hu, strict=True))
    for number, sentence in enumerate(SENTENCE.values()):
        unanswered = Translation("", "no answer: HTTP 500 five times")
        told["ga", sentence] = ga.get(f"r{number}", unanswered)
    return kind(told)


def build(folder, translator, languages=("hu",), **options):
    options = {"lemmatizer": "none", **options}
    return build_sentences("tiny", "default", translator, languages, output=folder, **options)


def read(folder, language, config="default-sentence"):
    return pq.read_table(folder / "data" / config / f"{language}.parquet").to_pylist()


def read_outcomes(folder, **wanted):
    table = pq.read_table(folder / "sentences" / "default-sentence.parquet")
    assert table.schema.equals(OUTCOMES)
    return [r for r in table.to_pylist() if all(r[key] == wanted[key] for key in wanted)]


def snapshot(folder) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
