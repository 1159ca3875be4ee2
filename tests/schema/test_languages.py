"""The table of languages against CLDR, URIEL and the prompts of a dataset."""

import unicodedata
from collections import Counter
from importlib.metadata import distribution
from pathlib import Path

import langcodes
import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml
from babel import Locale

from polyprobe.schema.languages import (
    find_language,
    list_traits,
    read_languages,
    refuse_languages,
    show_language,
)
from polyprobe.system.messages import PolyprobeError

ROOT = Path(__file__).parents[2]
LANGUAGES = read_languages()
UNICODE = {
    "Arab": "ARABIC", "Cyrl": "CYRILLIC", "Deva": "DEVANAGARI", "Grek": "GREEK", "Hans": "CJK",
    "Hang": "HANGUL", "Hebr": "HEBREW", "Jpan": "CJK HIRAGANA KATAKANA", "Latn": "LATIN",
    "Thai": "THAI", "Beng": "BENGALI", "Geor": "GEORGIAN", "Taml": "TAMIL", "Armn": "ARMENIAN",
}  # fmt: skip


def list_splits():
    for path in (ROOT / "datasets").glob("*/README.md"):
        card = yaml.safe_load(path.read_text(encoding="utf-8").split("---")[1])
        for config in card["configs"]:
            yield from (part["split"] for part in config.get("data_files", ()))


def test_every_language_of_the_cards_is_in_the_table():
    splits = {*list_splits()}
    assert len(splits) > 60
    assert not [split for split in splits if find_language(split) is None]


def test_names_scripts_and_codes_are_those_of_cldr():
    names = Locale("en").languages
    other = {"bn": "Bangla", "ilo": "Iloko"}  # CLDR's names of Bengali and Ilocano
    for code, language in LANGUAGES.items():
        tag = langcodes.Language.get(code)
        if "-" not in code:
            assert other.get(code, language.name) == names[code]
        assert tag.maximize().script == language.script.replace("Hang", "Kore")
        assert langcodes.Language.get(language.iso).language == tag.language


def test_families_are_those_of_uriel():
    path = distribution("lang2vec").locate_file("lang2vec/data/family_features.npz")
    table = np.load(path, allow_pickle=True)
    data = table["data"]  # read from the archive at each access
    names, rows = [*table["feats"]], {name: row for row, name in enumerate(table["langs"])}
    for language in LANGUAGES.values():
        nodes = data[rows[language.iso], :, 0]
        if language.family == "Basque":  # an isolate
            assert not nodes.any()
        else:
            assert nodes[names.index(f"F_{language.family}")] == 1, language


@pytest.mark.parametrize("path", sorted((ROOT / "datasets/geofacts/data").rglob("*.parquet")))
def test_scripts_are_those_of_the_prompts(path):
    prompts = pq.read_table(path, columns=["prompt"])["prompt"].to_pylist()
    letters = Counter(
        unicodedata.name(letter).split()[0]
        for prompt in prompts
        for letter in prompt.replace("[Y]", "")
        if letter.isalpha()
    )
    assert letters.most_common(1)[0][0] in UNICODE[find_language(path.stem).script].split()


def test_splits_with_suffixes_and_unknown_ones():
    assert find_language("zh_hans").script == "Hans"
    assert show_language("pt_br") == "Portuguese"
    assert show_language("tlh") == "tlh"
    assert list_traits(["en", "tlh", "qya"], "family") == {"en": "Indo-European"}


@pytest.mark.parametrize(
    ("languages", "available", "hint"),
    [
        ("cmn,eng", "en,fr,zh", " did you mean 'zh,en'?"),
        ("en,deu", "de,en", " did you mean 'de'?"),
        ("ger", "de,en", " did you mean 'de'?"),
        ("pt-BR", "en,pt", " did you mean 'pt'?"),
        ("zho_Hans", "zh,zh_hans", " did you mean 'zh_hans'?"),
        ("Japanese", "en,ja", " did you mean 'ja'?"),
        ("zh_hant", "en,zh_hans", " did you mean 'zh_hans'?"),
        ("fx", "en,fr", " did you mean 'fr'?"),
        ("sw", "en,sv", ""),  # Swahili, not a slip for Swedish
        ("deu", "en,fr", ""),
    ],
)
def test_other_names_of_a_language_are_suggested(languages, available, hint):
    names, known = languages.split(","), available.split(",")
    first = next(name for name in names if name not in known)
    with pytest.raises(PolyprobeError) as error:
        refuse_languages(names, "it", known)
    expected = f"unknown language '{first}' in it;{hint} available: {', '.join(known)}"
    assert str(error.value) == expected
