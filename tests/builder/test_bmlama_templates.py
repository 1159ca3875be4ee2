import re
import unicodedata
from collections import Counter, defaultdict

import pytest

from polyprobe.builder.recipes.bmlama import AUDIT
from polyprobe.builder.sources import bmlama as bmlama_files
from polyprobe.builder.sources import bmlama as names
from polyprobe.builder.sources.bmlama import NAMES, list_paths, list_replacements, turn
from polyprobe.system.download import read_files
from polyprobe.system.files import read_table_rows, read_toml

FILES = ("templates.toml", "uninflected.toml", "uninflected_53.toml", "sentences_53.toml")
# The languages whose sentences of 53-repaired are read; three of them are those of 17 as well.
READ = {"de", "pt", "sv", "it", "nl", "pl", "da", "id", "fr", "es", "cs", "ro"}
OURS = list_replacements("53")
ENTRIES = [
    (relation, language, sentence)
    for relation, sentences in OURS.items()
    for language, sentence in sentences.items()
]
ENDS = {"bn": "।", "hi": "।", "hy": ":", "ja": "。", "th": "[Y]", "ur": "۔", "zh": "。"}
# Format characters, other spaces than U+0020, controls; none of ours needs U+200C or U+200D.
INVISIBLE = {"Cc", "Cf", "Zl", "Zp", "Zs"}

CONFIGS = ("17", "53")  # as published

# The word with the wrong sense, and the rows of 17 and 53 that contained it.
CAPITALS = {
    ("P36", "zh", "大写"): (0, 107),
    ("P1376", "zh", "大写"): (0, 155),
    ("P36", "ja", "大文字"): (336, 107),
    ("P36", "cs", "Kapitál"): (0, 107),
    ("P1376", "cs", "kapitál"): (0, 155),
    ("P36", "sl", "Kapital"): (0, 107),
    ("P1376", "sl", "kapital"): (0, 155),
    ("P36", "bg", "Капитал"): (0, 107),
    ("P36", "nl", "kapitaal"): (336, 107),
    ("P36", "fr", "Le capital "): (336, 107),
    ("P36", "vi", "Vốn"): (336, 107),
    ("P36", "fi", "pääoma "): (0, 107),
    ("P36", "ms", "Modal"): (0, 107),
    ("P36", "ta", "மூலதனம்"): (0, 107),
    ("P1376", "ta", "மூலதனம்"): (0, 155),
}

# What no label fits in its dictionary form, directly before or after a slot, by language: an
# article, a preposition with a case or a contraction, an elision, a suffix, a particle with two
# forms. Each is shown by a published template.
MISFITS = {
    ("ar", "لـ [X]"): r"\bلـ ?\[|\bو \[",
    ("ca", "La llengua oficial de [X] és [Y]."): r"\b(de|del|d'|el|la|un|una) ?\[",
    ("el", "Το [X] βρίσκεται στο [Y]."):
        r"\b(ο|η|το|του|της|τον|την|στο|στον|στη|στην|από|με|σε|για|μια|ένα) \[",
    ("en", "[X] is a [Y] by profession."): r"\b(a|an) \[",
    ("es", "[X] e [Y] son ciudades gemelas."): r"\b(e|y|o|u|el|la|un|una) \[|\] (e|y|o|u) ",
    ("fa", "پایتخت [X] [Y] است."): r"\] \[",  # two names that are not separated
    ("fr", "La langue officielle de [X] est [Y]."):
        r"\b(de|du|des|le|la|les|un|une|à|au|aux|dans|sur|que) \[|['’]\[",
    ("he", "[X] נולד ב- [Y]."): r"- \[",
    ("hu", "[X] az [Y] -ban található."): r"\b(a|az) \[|\] -|\]-",
    ("ja", "[X]は[Y]に生まれました。"): r"\]に(生まれ|亡くなり|設立|放送)",
    ("ko", "[X]는 [Y]와 (과) 국경을 공유합니다."): r"\] ?(은|는|이|가|을|를|와|과|로|으로)\b|\(",
    ("nl", "[X] speelt in de [Y] -positie."): r"\b(de|het) \[|\] -",
    ("ru", "[X] родился в [Y]."):
        r"\b(в|во|на|с|со|из|от|о|об|по|к|у|для|является|название|язык|столица) \[|\] - ",
    ("tr", "[X] [Y] 'da doğdu."): r"\] ?['’]|\] \[",
    ("uk", "[X] народився в [Y]."):
        r"\b(в|у|на|з|із|від|о|об|по|до|для|є|назва|мова|столиця) \[|\] - ",
    ("vi", "[X] được sinh ra trong [Y]."): r"\btrong \[|\btheo nghề",
    ("zh", "[X]位于[Y]中。"): r"\]中",
}  # fmt: skip
# The same in languages of 53 only.
SUFFIXES = r"\] ?[-–] ?\w|\] ?: ?n |\] \[|\] nin\b"
PREPOSITIONS = (
    r"\b(v|ve|s|z|ze|u|w|в|у|з|с|са|ў|ar|su|lui) \[|\b(jazyk|jezik|језик|grad|град|mesto) \["
)
MISFITS_OF_53 = {
    "az": SUFFIXES, "be": PREPOSITIONS, "cs": PREPOSITIONS, "de": "die Grenze mit", "et": SUFFIXES,
    "eu": SUFFIXES, "fi": SUFFIXES, "hr": PREPOSITIONS, "hy": SUFFIXES, "it": r"\bdi \[",
    "ka": SUFFIXES, "lt": PREPOSITIONS, "lv": PREPOSITIONS, "pl": PREPOSITIONS,
    "pt": r"\b(de|em) \[", "ro": PREPOSITIONS, "sk": PREPOSITIONS, "sl": PREPOSITIONS,
    "sr": PREPOSITIONS, "sv": "gränsen till",
}  # fmt: skip
FREQUENT = ("P30", "P131", "P17", "P36", "P37", "P47", "P190", "P530", "P1376")


@pytest.fixture(scope="module")
def published(upstream):
    """{config: {(relation, language): templates, counted}}; a template's subject is [X]."""
    return {config: count_templates(config, upstream) for config in CONFIGS}


def count_templates(config, mirror):
    paths = bmlama_files.list_paths(config)
    contents = read_files(bmlama_files.REPOSITORY, paths.values(), mirror)
    columns = {
        language: bmlama_files.parse_columns(content)
        for language, content in zip(paths, contents, strict=True)
    }
    relations = bmlama_files.recover_relations(columns["en"], config)
    counts = defaultdict(Counter)
    for language, own in columns.items():
        for relation, prompt, subject in zip(relations, own.prompt, own.subject, strict=True):
            template = prompt.replace(subject, "[X]")
            counts[relation, language][template] += 1
    return dict(counts)


def test_relations_and_languages_are_known():
    relations = [relation for relation, *_ in bmlama_files.BLOCKS]
    assert set(OURS) <= set(relations)
    for relation, language, _ in ENTRIES:
        assert language in bmlama_files.list_paths("53"), (relation, language)
    for sentences in list_replacements("17").values():
        assert list(sentences) == sorted(sentences)


def test_17_has_none_of_the_sentences_of_53():
    in_17, of_53 = list_replacements("17"), list_tables(FILES[-1])
    assert set(of_53) == READ | {"zh"}
    assert set(of_53["zh"]) == {"P36", "P1376"}
    for language, sentences in of_53.items():
        for relation, sentence in sentences.items():
            assert OURS[relation][language] == sentence != in_17.get(relation, {}).get(language)
    for relation, table in OURS.items():
        for language in table.keys() - {x for x in of_53 if relation in of_53[x]}:
            assert in_17[relation][language] == table[language]


def test_entries_are_in_languages_with_rows():
    """A language of 53 only has no rows in the eleven relations missing from 53."""
    only_17 = {relation for relation, _, in_53 in bmlama_files.BLOCKS if not in_53}
    assert len(only_17) == 41 - 30
    for relation, language, _ in ENTRIES:
        assert relation not in only_17 or language in bmlama_files.list_paths("17")


@pytest.mark.parametrize(("relation", "language", "sentence"), ENTRIES)
def test_sentence_is_clean(relation, language, sentence):
    assert (sentence.count("[X]"), sentence.count("[Y]")) == (1, 1)
    assert sentence == sentence.strip() == unicodedata.normalize("NFC", sentence)
    assert "  " not in sentence
    assert not [c for c in sentence if c != " " and unicodedata.category(c) in INVISIBLE]
    rest = sentence.replace("[X]", "").replace("[Y]", "")
    assert not set(rest) & set("[]<>{}")
    assert sentence.endswith(ENDS.get(language, "."))


def test_no_sentence_serves_two_relations():
    """P30, P131 and P17 share the published English template and ours; P276 has events as well."""
    same = {"P30", "P131", "P17"}
    found = defaultdict(set)
    for relation, language, sentence in ENTRIES:
        shares = relation in same or (relation, language) == ("P276", "lt")
        found[language, sentence].add("P30" if shares else relation)
    assert {key: relations for key, relations in found.items() if len(relations) > 1} == {}
    assert len({tuple(OURS[relation].items()) for relation in same}) == 1


def list_tables(name):
    """Return the tables of a file, by relation in the first file and by language in the others."""
    return read_toml(bmlama_files.__package__, name)


def list_keys(name):
    """Return the pairs of relation and language in a file."""
    pairs = {(x, y) for x, table in list_tables(name).items() for y in table}
    return pairs if name == FILES[0] else {(relation, language) for language, relation in pairs}


def test_a_template_is_in_one_file_and_53_replaces_those_of_17_alone():
    in_17, in_53 = map(set, map(list_paths, ("17", "53")))
    assert set(list_tables(FILES[1])) == in_17
    assert set(list_tables(FILES[2])) <= in_53 - in_17
    *common, of_53 = map(list_keys, FILES)
    assert sum(map(len, common)) == len(set().union(*common))
    assert {language for _, language in of_53 & set().union(*common)} == READ & in_17


def test_the_card_counts_the_replaced_templates(published):
    card = AUDIT.with_name("card.md").read_text(encoding="utf-8")
    *common, of_53 = map(list_keys, FILES)
    new = of_53.difference(*common)
    numbers = [*map(len, common), len(new), len(of_53 - new)]
    all_templates = len(set(published["17"]) | set(published["53"]))
    assert f"Of {all_templates:,} published templates, {sum(numbers[:4])} are replaced" in card
    assert all(f"{number} " in card for number in numbers)


def test_no_sentence_of_the_languages_read_is_an_entry(published):
    """A slot after a colon is an entry; 53-repaired has no rows of P463."""
    relations = {relation for relation, *_, in_53 in bmlama_files.BLOCKS if in_53} - {"P463"}
    for language in READ:
        for relation in relations:
            [(template, _), *_] = published["53"][relation, language].most_common(1)
            head = OURS.get(relation, {}).get(language, template).partition("[Y]")[0]
            assert ":" not in head, (language, relation)


def test_ours_differ_from_the_published(published):
    for relation, language, sentence in ENTRIES:
        for counts in published.values():
            assert sentence not in counts.get((relation, language), ()), (relation, language)


def test_our_sentences_are_no_other_relation_of_the_language(published):
    relations = {relation for relation, *_ in bmlama_files.BLOCKS}
    for relation, language, sentence in ENTRIES:
        for other in relations - {relation}:
            if other not in OURS or language not in OURS[other]:
                for counts in published.values():
                    assert sentence not in counts.get((other, language), ()), (relation, other)


@pytest.mark.parametrize(("relation", "language", "word"), CAPITALS)
def test_the_wrong_word_is_gone(published, relation, language, word):
    expected = CAPITALS[relation, language, word]
    for config, rows in zip(CONFIGS, expected, strict=True):
        counts = published[config].get((relation, language), {})
        assert sum(n for template, n in counts.items() if word in template) == rows
    assert word not in OURS[relation][language]


def test_17_and_53_differ_in_chinese_capitals_alone(published):
    in_17, in_53 = published["17"], published["53"]
    ours = {(relation, language) for relation, language, _ in ENTRIES} & set(in_17) & set(in_53)
    differing = {key for key in ours if in_17[key].most_common(1)[0][0] not in in_53[key]}
    assert differing == {("P36", "zh"), ("P1376", "zh")}


def test_every_entry_replaces_one_published_template(published):
    """Four have another form: a space is missing, [X] is in `compose` (fr) or inflected (de)."""
    deviant = Counter()
    for relation, language, _ in ENTRIES:
        for counts in published.values():
            templates = counts.get((relation, language), Counter()).most_common()
            deviant[relation, language] += sum(rows for _, rows in templates[1:])
        assert any((relation, language) in counts for counts in published.values())
    assert +deviant == {("P17", "ar"): 1, ("P17", "el"): 1, ("P527", "fr"): 2, ("P36", "de"): 1}


@pytest.mark.parametrize(("language", "example"), MISFITS)
def test_a_misfit_is_found_in_a_published_template(language, example):
    assert re.search(MISFITS[language, example], example)


def test_labels_fit_every_template_of_17(published):
    assert {language for language, _ in MISFITS} == set(bmlama_files.list_paths("17"))
    rules = {language: rule for (language, _), rule in MISFITS.items()}
    misfits = [key for key in published["17"] if find_misfit(published["17"], key, rules)]
    assert not misfits


def test_labels_fit_the_frequent_relations_of_53(published):
    keys = [(relation, language) for relation in FREQUENT for language in MISFITS_OF_53]
    assert not [key for key in keys if find_misfit(published["53"], key, MISFITS_OF_53)]
    raw = {
        language
        for relation, language in keys
        for text in published["53"][relation, language]
        if re.search(MISFITS_OF_53[language], text)
    }
    assert raw == set(MISFITS_OF_53)


def find_misfit(published, key, rules):
    """Return whether the template of a relation and language that is in use breaks the rule."""
    relation, language = key
    template = OURS.get(relation, {}).get(language) or published[key].most_common(1)[0][0]
    return bool(re.search(rules[language], template))


def test_names_are_unique_and_have_reasons():
    lines = read_table_rows(names.__package__, "names.csv")
    assert len({(line["language"], line["id"]) for line in lines}) == len(lines) == 19
    for line in lines:
        assert line["language"] in list_paths("17")
        assert line["reason"].isascii()
        assert line["name"]


def test_a_name_is_for_one_entity_in_one_language():
    assert NAMES["ru", "Q162475"] == "графство Корк"
    assert ("ru", "Q36647") not in NAMES  # the city
    assert ("nl", "Q162475") not in NAMES


@pytest.mark.parametrize(
    ("label", "turned"),
    [
        ("Карузо, Энрико", "Энрико Карузо"),
        ("Штауффенберг, Клаус Шенк фон", "Клаус Шенк фон Штауффенберг"),
        ("Де Росси, Даниеле", "Даниеле Де Росси"),
        # no names with the surname first
        ("Бонэйр, Синт-Эстатиус и Саба", "Бонэйр, Синт-Эстатиус и Саба"),
        ("Уильям Томсон, 1-й барон Кельвин", "Уильям Томсон, 1-й барон Кельвин"),
        ("Виллем-Александр, принц Оранский", "Виллем-Александр, принц Оранский"),
        ("Хороший, плохой, злой", "Хороший, плохой, злой"),
    ],
)
def test_russian_surnames_come_last(label, turned):
    assert turn(label, "ru") == turned
    assert turn(label, "uk") == label
