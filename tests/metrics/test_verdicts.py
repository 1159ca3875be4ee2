"""Verdicts on free answers: each rule has an example whose verdict changes without it."""

import re

import pytest

from polyprobe.metrics.shared import names, verdicts
from polyprobe.metrics.shared.verdicts import KINDS, RULES, Containment, Judge

US, LUCIA, INDIA, FRANCE, GREECE, NEPAL = "Q30", "Q760", "Q668", "Q142", "Q41", "Q837"
THAI, RUSSIA, UKRAINE, GUINEA, EQUATORIAL = "Q869", "Q159", "Q212", "Q1006", "Q983"
POOL = {
    US: {"en": ["USA"], "tr": ["ABD"]},
    LUCIA: {"en": ["St. Lucia"]},
    INDIA: {"en": ["India"], "fr": ["Inde"], "ru": ["Индия"], "zh": ["印度"]},
    FRANCE: {"en": ["France"], "fr": ["France"], "ru": ["Франция"], "tr": ["Fransa"]},
    GREECE: {"en": ["Greece", "Greek"], "ru": ["Греция"], "tr": ["Yunanistan"], "zh": ["希腊"]},
    NEPAL: {"en": ["Nepal"], "ne": ["नेपाल"]},
    THAI: {"en": ["Thailand", "Thai"], "ja": ["タイ"], "el": ["Ταϊλάνδη"]},
    RUSSIA: {"en": ["Russia"], "ne": ["रूस"]},
    UKRAINE: {"en": ["Ukraine"], "uk": ["Україна"], "el": ["Ουκρανία"]},
    GUINEA: {"en": ["Guinea"]},
    EQUATORIAL: {"en": ["Equatorial Guinea"]},
}
NEVER = re.compile("(?!)")


def read(language, answer, right, question="?"):
    """Return kind and entity of a verdict."""
    return Judge(POOL, language).read(answer, question, [right])[:2]


NEIGHBOUR = "A neighbour of France?"
TAKEN_AWAY = {  # language, answer, right entity, question; the verdict with the rule and without
    "drop_echoes": [
        (("en", "A neighbour of France: Greece", FRANCE, NEIGHBOUR), "another", "right"),
        # an inexact form of the question, beside other words
        (("ru", "Франции сосед — Греция", FRANCE, "Кто у Франции?"), "another", "right"),
    ],
    "drop_negated": [
        (("en", "Not in France, but in Greece", FRANCE), "another", "right"),
        (("tr", "Fransa değil, Yunanistan", FRANCE), "another", "right"),
        (("en", "It is not France but Greece", FRANCE), "another", "right"),
    ],
    "drop_remarks": [
        (("en", "The question in Greek is about France", GREECE), "another", "right"),
        (("en", "Greek language: France", GREECE), "another", "right"),
        (("en", "Written in Greek. France", GREECE), "another", "right"),
        (("hi", "Greek भाषा में France", GREECE), "another", "right_english"),
    ],
    "drop_lists": [(("en", "France, Greece, Nepal, India", FRANCE), "outside", "right")],
}


def test_every_rule_has_an_example():
    assert [rule.__name__ for rule in RULES] == [*TAKEN_AWAY]


@pytest.mark.parametrize(("rule", "case"), [(r, c) for r, of in TAKEN_AWAY.items() for c in of])
def test_a_rule_takes_names_away(rule, case, monkeypatch):
    asked, kind, without = case
    assert read(*asked)[0] == kind
    rules = tuple(x for x in RULES if x.__name__ != rule)
    monkeypatch.setattr(verdicts, "RULES", rules)
    assert read(*asked)[0] == without


NAMES = {  # what is taken out: language, answer, right entity; verdict with it and without
    "inflection": (names, "UNINFLECTED", ("ru",), ("ru", "В Индии", INDIA), "right", "outside"),
    "clitic": (
        names,
        "_cut_clitic",
        lambda x: x,
        ("fr", "C'est l'Inde", INDIA),
        "right",
        "outside",
    ),
    "clitic before a name in English": (
        *(names, "_cut_clitic", lambda word: word),
        *(("it", "dell'India", INDIA), "right_english", "outside"),
    ),
    "postposition": (names, "POSTPOSITIONS", (), ("ne", "रूसमा", RUSSIA), "right", "outside"),
    "ending behind a mark": (
        *(names, "MARKED_ENDING", NEVER, ("tr", "India'nın", INDIA), "right_english", "outside"),
    ),
    "short ending of a long name of another language": (
        *(names, "LONGER", 0, ("tr", "Thailandlı", THAI), "right_english", "outside"),
    ),
    "romanised": (names, "ROMANISED", 100.0, ("el", "Oυκρανία", UKRAINE), "right", "outside"),
    "a short name has no other ending": (
        *(names, "FEW", 0, ("en", "I think that it was", THAI), "outside", "right"),
    ),
    "Katakana inside a longer run": (
        *(names, "_bound", re.escape, ("ja", "タイムズ", THAI), "outside", "right"),
    ),
    "abbreviation": (
        verdicts,
        "INSIDE",
        NEVER,
        ("en", "It is St. Lucia", LUCIA),
        "right",
        "outside",
    ),
    "the first sentence that names an entity": (
        *(verdicts, "split_sentences", lambda text: [text]),
        *(("en", "Hm. It is India. France is far.", FRANCE), "another", "right"),
    ),
    "thinking": (
        *(verdicts, "CLOSING", NEVER),
        *(("en", "India? No.</think>France", FRANCE), "right", "another"),
    ),
    "thinking without an end": (
        *(verdicts, "THINKING", NEVER, ("en", "<think>It is India", INDIA), "empty", "right"),
    ),
    "tag": (verdicts, "TAG", NEVER, ("en", '<a alt="France">India', FRANCE), "another", "right"),
    "Markdown": (verdicts, "MARKUP", NEVER, ("en", "It is _France_", FRANCE), "right", "outside"),
    "refusal": (verdicts, "REFUSAL", NEVER, ("fr", "Je ne sais pas", FRANCE), "refusal", "outside"),
}


@pytest.mark.parametrize("case", NAMES)
def test_a_rule_of_names_and_texts(case, monkeypatch):
    module, name, value, asked, kind, without = NAMES[case]
    assert read(*asked)[0] == kind
    monkeypatch.setattr(module, name, value)
    assert read(*asked)[0] == without


@pytest.mark.parametrize(
    ("language", "answer"), [("en", "Not France but Greece"), ("tr", "Yunanistan, Fransa değil")]
)
def test_a_negation_reaches_to_the_next_name(language, answer):
    assert read(language, answer, GREECE)[0] == "right"


def test_the_longest_name_is_taken(monkeypatch):
    asked = "en", "It is Equatorial Guinea", GUINEA
    assert read(*asked) == ("another", EQUATORIAL)
    monkeypatch.delitem(POOL, EQUATORIAL)
    assert read(*asked) == ("right", GUINEA)


@pytest.mark.parametrize("answer", ["Greece or France", "France or Greece"])
def test_the_right_name_of_a_sentence_counts_wherever_it_stands(answer):
    assert read("en", answer, FRANCE) == ("right", FRANCE)
    assert read("en", answer, INDIA) == ("another", GREECE if answer[0] == "G" else FRANCE)


def test_a_lemma_finds_a_form_that_no_letters_show():
    lemma = {"лягушатников": "Франция"}
    judges = [Judge(POOL, "ru"), Judge(POOL, "ru", lambda word: lemma.get(word, word))]
    kinds = [judge.read("у лягушатников", "?", [FRANCE]).kind for judge in judges]
    assert kinds == ["outside", "right"]


def test_a_name_of_the_language_asked_goes_before_english():
    assert Judge(POOL, "fr").read("France", "?", [FRANCE]).language == "fr"
    assert Judge(POOL, "de").read("France", "?", [FRANCE]).language == "en"


EVERY_KIND = {
    "right": ("ru", "Во Франции.", FRANCE),
    "right_english": ("ru", "It is France.", FRANCE),
    "right_other": ("ru", "答案是印度。", INDIA),
    "another": ("ru", "В Греции", FRANCE),
    "outside": ("ru", "В Париже", FRANCE),
    "refusal": ("ru", "Я не знаю.", FRANCE),
    "empty": ("ru", "", FRANCE),
}


def test_every_kind_has_an_example():
    assert [*EVERY_KIND] == [*KINDS]
    assert [read(*asked)[0] for asked in EVERY_KIND.values()] == [*KINDS]


BAD = {  # answers, and the kinds of a verdict that a reader could give
    "empty": ("", "empty"),
    "blank": (" \n\t\u3000 ", "empty"),
    "zero width": ("\u200b\u200d\ufeff\u00ad", "empty"),
    "marks": ("?!… --- ***", "empty"),
    "half a tag": ("<" * 50_000, "empty"),
    "many half tags": ("<a" * 50_000, "outside"),
    "thinking, cut": ("<think>" + "France. " * 5_000, "empty"),
    "script": ("<script>raise SystemExit</script><b onload='x()'>France</b>", "right"),
    "format": ("{0.__class__} %s %(x)s \\1 $HOME `id` France", "right"),
    "control characters": ("\x00\x07\x1bFrance\x1b[0m\x7f", "right"),
    "zero width inside": ("Fr\u200ban\u00adce", "right"),
    "bidirectional marks": ("\u202eFrance\u202c \u2066", "right"),
    "decomposed": ("e\u0301e\u0308 France", "right"),
    "surrogate": ("\ud800 France", "right"),
    "mixed scripts": ("Это Frанce 印度", "right"),
    "one letter": ("x" * 100_000, "outside"),
    "accents": ("e" + "\u0301" * 100_000, "outside"),
    "one long line of names": ("France " * 15_000, "right"),
    "apostrophes": ("l'" * 50_000, "outside"),
    "lines": ("x\n" * 50_000, "outside"),
    "behind what is read": ("x " * 50_000 + "France", "outside"),
}


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("case", BAD)
def test_bad_input_has_a_verdict(case, language):
    answer, kind = BAD[case]
    found = Judge(POOL, language).read(answer, "Where?", [FRANCE, THAI])
    assert found.kind.partition("_")[0] == kind
    assert found.text in answer.translate(verdicts.NO_UNSEEN) or kind != "right"


OF_ONE_NAME = [  # language, name of the right entity, answer
    *(
        ("fr", name, name)
        for name in ("Côte d'Ivoire", "N'Djamena", "L'Aquila", "Xi'an", "O'Brien")
    ),
    *(("uk", name, name) for name in ("В'єнтьян", "вʼєтнамська")),
    ("pt", "Brasil", "Fica no Brasil."),  # no English negation
    ("it", "Francia", "Si trova in Francia."),
    *(("he", "צרפת", "בצרפת"), ("he", "סין", "בסין"), ("ar", "مصر", "بمصر")),
    ("zh", "土耳其", "伊斯坦布尔（İstanbul）在土耳其"),  # İ has two letters without case
    *(("zh", "France", "答案是France。"), ("zh", "日本", "日\u200b本")),
    ("ja", "ト\u3099イツ", "ドイツ"),
    ("en", "Peru", "Could be Chile. Hmm.</think>\n\nPeru"),  # the template opened the thinking
    ("en", "Peru", f"<think>{'x ' * 11_000}</think>Peru"),
    ("de", "1879-03-14", "Am 14. März 1879."),
]


@pytest.mark.parametrize(("language", "name", "answer"), OF_ONE_NAME)
def test_a_name_is_found(language, name, answer):
    pool = {"right": {language: [name]}, "other": {"en": ["Chile"]}}
    assert Judge(pool, language).read(answer, "?", ["right"])[:2] == ("right", "right")


@pytest.mark.parametrize(
    ("language", "answer"),
    [
        *(("zh", "希腊！印度"), ("zh", "希腊？印度"), ("zh", "希腊。印度")),
        ("en", "Vitamin C.\nGreece, option B.\nIndia is not relevant"),
    ],
)
def test_the_first_sentence_with_a_name_decides(language, answer):
    assert read(language, answer, INDIA) == ("another", GREECE)


def test_a_name_of_several_entities_is_that_of_the_right_one():
    pool = {"state": {"en": ["Georgia"], "ja": ["ジョージア"]}}
    pool["country"] = pool["state"]
    for language, [name] in pool["state"].items():
        judge = Judge(pool, language)
        assert judge.read(name, "?", ["country"])[:2] == ("right", "country")
        assert judge.read(name, "?", ["other"])[:2] == ("another", "state")


def test_a_loop_of_short_sentences_is_cut_in_linear_time():
    """Quadratic work took 3 seconds for each; the limit of the suite's tests is far less."""
    for _ in range(20):
        assert Judge(POOL, "en").read("a. " * 6600, "?", [FRANCE]).kind == "outside"


def test_a_long_question_costs_no_more_than_a_long_answer():
    """Quadratic work took 23 seconds; the limit of the suite's tests is far less."""
    text = "not France, " * 10_000
    assert Judge(POOL, "en").read(text, text, [FRANCE]).kind == "outside"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("Berlin", "right"),
        ("BERLIN!", "right"),
        ("in Berlin, Germany", "right"),
        ("Berliner", "right"),  # the beginning
        ("in Berlins Mitte", "outside"),
        ("ein_Berlin", "right"),  # a mark is a blank
        ("West-Berlin", "outside"),  # except a hyphen
        ("Paris, not Berlin", "right"),  # the right one goes first
        ("Paris", "another"),
        ("", "empty"),
        ("?!", "empty"),
    ],
)
def test_containment_is_that_of_klar(answer, kind):
    pool = {"Q90": {"de": ["Paris", "Lutetia"]}, "Q64": {"de": ["Berlin"]}, "Q84": {"en": ["x"]}}
    assert Containment(pool, "de").read(answer, "", ["Q64"]).kind == kind
