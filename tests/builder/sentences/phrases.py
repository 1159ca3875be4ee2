import sys
from types import SimpleNamespace

import pytest

from polyprobe.builder import recipes as table
from polyprobe.builder.output import card
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


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """A dataset `tiny` of four facts in three languages; the folder to build it in."""
    module = SimpleNamespace(
        CONFIGS=("default", "more"),
        DEFAULT_CONFIG="default",
        build=lambda config, mirror=None: {language: make_rows(language) for language in NAMES},
        describe=lambda configs: {"own": ", ".join(config.name for config in configs)},
    )
    recipe = table.Recipe("tiny_source", "tiny", module.CONFIGS)
    monkeypatch.setitem(table.RECIPES, "tiny", recipe)
    monkeypatch.setitem(sys.modules, "tiny_source", module)
    monkeypatch.setattr(card, "read_prose", lambda name: PROSE)
    return tmp_path / "tiny"


class Phrasebook(Translator):
    """A translator with fixed answers: {(language, sentence): text or problem}."""

    name = "phrasebook"
    signature = "phrasebook|1"

    def __init__(self, texts):
        self.texts = texts
        self.asked = []

    async def ask(self, batch, source, target, terms):
        self.asked += batch
        return [self.texts[target, sentence] for sentence in batch]


class Told(Phrasebook):
    """The same, with problems returned as given, without disk and without retries."""

    def translate_each(self, sentences, source, target, terms=None, relations=None):
        self.asked += [(sentence, dict(t)) for sentence, t in zip(sentences, terms, strict=True)]
        return [
            found if isinstance(found, Translation) else Translation(found, "")
            for found in (self.texts[target, sentence] for sentence in sentences)
        ]
