"""Templates translated by several engines: results, counts and requests."""

from collections import Counter
from itertools import product

import polars as pl
import pytest

from polyprobe.builder.facts import TEMPLATES, is_template
from polyprobe.builder.recipes.geofacts import PATTERNS
from polyprobe.builder.sources import mpararel
from polyprobe.builder.translators import Translator, load_translator
from polyprobe.builder.translators.templates import (
    STYLES,
    count_outcomes,
    describe_outcomes,
    fill_missing,
    load_translators,
    put_slots,
    restore_slots,
)
from polyprobe.system.messages import PolyprobeError
from polyprobe.system.sending import NoAnswerError, Pace
from tests.builder.translators.apy import needs_apertium, start_apy

BORN, DIED = "[X] was born in [Y].", "[X] died in [Y]."


class Dictionary(Translator):
    """Translates by a dictionary: empty for missing texts, no answer for None."""

    pace = Pace(tries=1)

    def __init__(self, name, texts, targets=("es", "gl")):
        self.name, self.signature = name, f"dictionary {name}"
        self.texts, self.targets, self.asked = texts, targets, []

    def check(self, source, target):
        if target not in self.targets:
            raise PolyprobeError(f"{self.name} has no {target}")
        return source, target

    async def ask(self, batch, source, target):
        self.asked += [(target, job.sentence) for job in batch]
        if None in (texts := [self.texts.get(job.sentence, "") for job in batch]):
            raise NoAnswerError("HTTP 503")
        return texts


def table(*templates, language="en", relation="P19"):
    rows = [(language, relation, f"ours:{relation}:{n}", text) for n, text in enumerate(templates)]
    return pl.DataFrame(rows, schema=TEMPLATES, orient="row")


def translate_templates(templates, source, targets, translators, trusted=(), **options):
    relations = set(templates["relation"])
    return fill_missing(templates, targets, relations, translators, trusted, source, **options)


def translate(templates, *dictionaries, trusted=(), targets=("es",), **options):
    translators = {translator.name: translator for translator in dictionaries}
    return translate_templates(templates, "en", targets, translators, trusted, **options)


def outcomes(found):
    return {
        (row["translator"], row["template_id"]): row["outcome"]
        for row in found.outcomes.rows(named=True)
    }


@pytest.mark.parametrize(
    ("one", "other", "agreed"),
    [
        ("[X] nació en [Y].", "[X] nació en [Y].", True),
        ("[X] nació en [Y].", "[X]  NACIÓ en [Y] .", True),
        ("[X] nació en [Y]", "[X] nació\u200b en [Y]。", True),
        ("[X] nacio\u0301 en [Y]", "[x] nació en ［Y］", True),
        ("[X] nació en [Y].", "[X] nace en [Y].", False),
        ("[X] nació en [Y].", "[Y] nació en [X].", False),
        ("[X] nació, en [Y].", "[X] nació en [Y].", False),
    ],
)
def test_two_agree_on_what_readers_take_for_one(one, other, agreed):
    found = translate(table(BORN), Dictionary("a", {BORN: one}), Dictionary("b", {BORN: other}))
    assert set(outcomes(found).values()) == {"agreed" if agreed else "alone"}
    assert found.templates.height == agreed
    if agreed:
        assert found.templates.row(0, named=True) == {
            "language": "es", "relation": "P19", "template_id": "translated:P19:0",
            "template": one,
        }  # fmt: skip


def plain(text):
    return text.lower().rstrip(".")


def kept_by_relation(found, size):
    """The templates of each of `size` relations, as far as agreement tells them apart."""
    kept = [[] for _ in range(size)]
    for relation, text in found.templates.select("relation", "template").rows():
        kept[int(relation[1:])].append(plain(text))
    return kept


def test_translators_may_agree_on_a_wording_of_the_relation():
    """As in mParaRel: each wording of the relation has one vote of each engine that gives it."""
    said = ["[X] p [Y]", "[X] q [Y]", "[X] Q [Y].", "nada"]
    cases = [*product(said, repeat=6)][::7]  # two engines, three templates of a relation
    texts = [[f"[X] {word} {n} [Y]" for word in "abc"] for n in range(len(cases))]
    templates = pl.concat(table(*of, relation=f"P{n:04}") for n, of in enumerate(texts))
    for trusted in ((), ("b",)):
        engines = [
            Dictionary(f"{name} {trusted}", {
                text: case[start + k]
                for of, case in zip(texts, cases, strict=True)
                for k, text in enumerate(of)
            })
            for name, start in (("a", 0), ("b", 3))
        ]  # fmt: skip
        for engine in engines:
            engine.batch_size = templates.height
        named = dict(zip("ab", engines, strict=True))
        options = {"agree": "relation", "styles": ["brackets"]}
        found = translate_templates(templates, "en", ["es"], named, trusted, **options)
        for case, kept in zip(cases, kept_by_relation(found, len(cases)), strict=True):
            votes = Counter()
            for name, own in (("a", case[:3]), ("b", case[3:])):
                for wording in {*map(plain, own)} - {"nada"}:
                    votes[wording] += 2 if name in trusted else 1
            assert sorted(kept) == sorted(text for text, count in votes.items() if count > 1)


def test_agreement_for_another_template_names_both_translators():
    one = Dictionary("a", {BORN: "[X] nació en [Y].", DIED: "[X] murió en [Y]."})
    other = Dictionary("b", {BORN: "[X] es de [Y].", DIED: "[X] nació en [Y]."})
    assert not translate(table(BORN, DIED), one, other).templates.height
    found = translate(table(BORN, DIED), one, other, agree="relation")
    assert found.templates["template"].to_list() == ["[X] nació en [Y]."]
    assert outcomes(found) == {
        **{("a", "ours:P19:0"): "agreed", ("b", "ours:P19:1"): "agreed"},
        **{("a", "ours:P19:1"): "alone", ("b", "ours:P19:0"): "alone"},
    }


def test_every_combination_is_kept_as_the_rule_says():
    """All combinations of answers of three engines, compared with the written rule."""
    said = ["[X] nace en [Y].", "[X] Nace en [Y]", "[X] nació en [Y].", "nada"]
    cases = list(product(said, repeat=3))
    templates = pl.concat(table(f"[X] {n} [Y]", relation=f"P{n:02}") for n in range(len(cases)))
    for trusted in ((), ("b",), ("a", "c")):
        engines = [
            Dictionary(
                f"{name} {trusted}", {f"[X] {n} [Y]": case[place] for n, case in enumerate(cases)}
            )
            for place, name in enumerate("abc")
        ]
        for engine in engines:
            engine.batch_size = len(cases)
        named = dict(zip("abc", engines, strict=True))
        found = translate_templates(templates, "en", ["es"], named, trusted, styles=["brackets"])
        for case, kept in zip(cases, kept_by_relation(found, len(cases)), strict=True):
            votes = [*zip("abc", map(plain, case), strict=True)]
            texts = [text for _, text in votes]
            assert {*kept} == {
                text
                for name, text in votes
                if text != "nada" and (name in trusted or texts.count(text) > 1)
            }


def test_a_trusted_one_needs_nobody_and_its_wording_goes_before():
    engines = (
        Dictionary("a", {BORN: "[X] nació en [Y]", DIED: "[X] murió en [Y]"}),
        Dictionary("b", {BORN: "[X] Nació en [Y].", DIED: "[X] falleció en [Y]."}),
    )
    found = translate(table(BORN, DIED), *engines, trusted=["b"])
    assert found.templates["template"].to_list() == ["[X] Nació en [Y].", "[X] falleció en [Y]."]
    assert outcomes(found) == {
        ("a", "ours:P19:0"): "agreed", ("b", "ours:P19:0"): "agreed",
        ("a", "ours:P19:1"): "alone", ("b", "ours:P19:1"): "trusted",
    }  # fmt: skip


def test_equal_translations_become_one_template():
    native, mother = "The native language of [X] is [Y].", "The mother tongue of [X] is [Y]."
    same = "La lengua materna de [X] es [Y]."
    words = {native: same, mother: same.lower(), BORN: "[X] nació en [Y]."}
    engines = Dictionary("a", words), Dictionary("b", words)
    found = translate(table(native, BORN, mother), *engines)
    assert found.templates["template_id"].to_list() == ["translated:P19:0", "translated:P19:1"]
    assert found.templates["template"].to_list() == [same, "[X] nació en [Y]."]
    assert count_outcomes(found.outcomes)["count"].to_list() == [3, 3]


def test_ids_count_within_a_language_and_a_relation():
    words = {BORN: "[X] nació en [Y].", DIED: "[X] murió en [Y]."}
    templates = pl.concat([table(BORN, DIED), table(BORN, relation="P2")])
    found = translate(templates, Dictionary("a", words), trusted=["a"], targets=["gl", "es"])
    ids = ["translated:P19:0", "translated:P19:1", "translated:P2:0"]
    assert found.templates["template_id"].to_list() == ids * 2
    assert found.templates["language"].to_list() == ["gl"] * 3 + ["es"] * 3


def test_another_style_is_asked_for_lost_slots_alone():
    engine = Dictionary("a", {
        BORN: "[X] nació en [Y].",
        DIED: "El señor murió allí.",
        "X died in Y.": "Él murió en Y.",
        "Xarvon died in Yelvik.": "Xarvon murió en Yelvik.",
    })  # fmt: skip
    found = translate(table(BORN, DIED), engine, trusted=["a"])
    assert found.templates["template"].to_list() == ["[X] nació en [Y].", "[X] murió en [Y]."]
    assert found.outcomes["style"].to_list() == ["brackets", "names"]
    sentences = [BORN, DIED, "X died in Y.", "Xarvon died in Yelvik."]
    assert engine.asked == [("es", sentence) for sentence in sentences]


def test_lost_slots_are_counted_by_translator_and_language():
    lost = Dictionary("a", {put_slots(BORN, style): "Nació allí." for style in STYLES})
    good = Dictionary("b", {BORN: "[X] nació en [Y]."})
    found = translate(table(BORN), lost, good, trusted=["b"], targets=["es", "gl"])
    assert count_outcomes(found.outcomes).rows() == [
        ("es", "a", "slots lost", 1),
        ("es", "b", "trusted", 1),
        ("gl", "a", "slots lost", 1),
        ("gl", "b", "trusted", 1),
    ]
    assert found.outcomes["text"].to_list() == ["Nació allí.", "[X] nació en [Y]."] * 2


def test_an_engine_that_does_not_answer_is_not_asked_in_another_style():
    engine = Dictionary("a", {BORN: None})
    found = translate(table(BORN), engine, trusted=["a"])
    assert engine.asked == [("es", BORN)]
    row = found.outcomes.row(0, named=True)
    assert (row["outcome"], row["problem"]) == ("no translation", "no answer: HTTP 503, once")
    assert found.templates.height == 0


def test_what_is_empty_or_unchanged_is_not_a_translation():
    unchanged = {put_slots(BORN, style): put_slots(BORN, style) for style in STYLES}
    found = translate(table(BORN, DIED), Dictionary("a", unchanged), trusted=["a"])
    assert found.outcomes["outcome"].to_list() == ["no translation"] * 2
    assert found.outcomes["problem"].to_list() == ["unchanged", "empty"]


def test_a_pair_that_an_engine_lacks_is_counted_and_others_go_on():
    words = {BORN: "[X] naceu en [Y]."}
    engines = Dictionary("a", words, targets=["es"]), Dictionary("b", words)
    found = translate(table(BORN), *engines, trusted=["b"], targets=["es", "gl"])
    assert outcomes(found)["a", "ours:P19:0"] == "pair not offered"
    assert found.outcomes.filter(outcome="pair not offered")["problem"].to_list() == ["a has no gl"]
    assert found.templates["language"].to_list() == ["es", "gl"]


@pytest.mark.parametrize(
    ("names", "trusted", "targets", "message"),
    [
        ("a", (), ["es"], "templates translated by a alone: two translators must agree"),
        ("", (), ["es"], "translated by nobody alone"),
        ("ab", ("c",), ["es"], "unknown translator 'c' in --trusted; .*available: a, b"),
        ("ab", (), ["sw", "yo"], "a has no sw"),
        ("aa", (), ["es"], "the translators '0' and '1' are one engine .dictionary a.; that it"),
    ],
)
def test_mistakes_are_one_line(names, trusted, targets, message):
    double = len(set(names)) < len(names)
    named = {str(n) if double else name: Dictionary(name, {}) for n, name in enumerate(names)}
    with pytest.raises(PolyprobeError, match=message) as raised:
        translate_templates(table(BORN), "en", targets, named, trusted)
    assert "\n" not in str(raised.value)
    assert not any(translator.asked for translator in named.values())


def test_templates_are_lent_where_they_lack():
    own = pl.concat([
        table(BORN, DIED),
        table("[X] lies in [Y].", relation="P30"),
        table("[X] nació aquí: [Y]", language="es"),
        table("[X] liegt in [Y]", language="de", relation="P36"),
    ])  # fmt: skip
    words = {BORN: "[X] n [Y]", DIED: "[X] m [Y]", "[X] lies in [Y].": "[X] l [Y]"}
    engine = Dictionary("a", words)
    found = fill_missing(own, ["es", "gl", "en"], ["P19", "P30", "P36"], {"a": engine}, ["a"])
    assert found.templates.select("language", "relation", "template").rows() == [
        ("es", "P30", "[X] l [Y]"),
        ("gl", "P19", "[X] n [Y]"),
        ("gl", "P19", "[X] m [Y]"),
        ("gl", "P30", "[X] l [Y]"),
    ]
    lacking = [("es", "[X] lies in [Y]."), *(("gl", text) for text in words)]
    assert engine.asked == lacking


def test_a_line_says_what_became_of_a_language():
    engines = Dictionary("a", {BORN: "[X] nació en [Y]"}), Dictionary("b", {DIED: "[X] m [Y]"})
    found = translate(table(BORN, DIED), *engines, trusted=["b"])
    assert list(describe_outcomes(found)) == [
        "templates translated to es: 1 of 2 kept in 1 wordings "
        "(a 1 alone, a 1 no translation, b 1 no translation, b 1 trusted)"
    ]


def test_translators_are_named_as_on_a_command_line():
    far = "apertium url=http://apy.example?a=b batch_size=7"
    loaded = load_translators(["apertium", far])
    assert list(loaded) == ["apertium", far]
    assert (loaded[far].url, loaded[far].batch_size) == ("http://apy.example?a=b", 7)
    for text, message in (
        ("apertum", "unknown translator 'apertum' in polyprobe; did you mean 'apertium'"),
        ("apertium url", "translator 'apertium url': expected key=value, got 'url'"),
        ("apertium =1", "translator 'apertium =1': expected key=value, got '=1'"),
        ("openai model='x", """translator "openai model='x": no closing quotation"""),
        ("", "unknown translator ''"),
    ):
        with pytest.raises(PolyprobeError, match=message):
            load_translators([text])


@pytest.mark.parametrize(
    ("style", "text", "template"),
    [
        ("brackets", "[x] est né à [ Y ].", "[X] est né à [Y]."),
        ("brackets", "［X］出生于［Y］。", "[X]出生于[Y]。"),
        ("brackets", "【X】は【Y】", "[X]は[Y]"),
        ("brackets", "[Кс] умро у [И]", "[X] умро у [Y]"),
        ("brackets", "[Х] је рођен у [У].", "[X] је рођен у [Y]."),
        ("brackets", "[Икс] родился в [Игрек]", "[X] родился в [Y]"),
        ("brackets", "وُلد [س] في [ص]", "وُلد [X] في [Y]"),
        ("brackets", "[[X]] nació en [Y]", "[X] nació en [Y]"),
        ("brackets", "[X nació en Y].", "[X] nació en [Y]."),
        ("brackets", "X nació en Y", "[X] nació en [Y]"),
        ("brackets", "[X] nació (en [Y])", "[X] nació (en [Y])"),
        ("brackets", "[X] nació en Y", "[X] nació en [Y]"),
        ("brackets", "[X] nació en Madrid", ""),
        ("brackets", "[X] [X] nació en [Y]", ""),
        ("brackets", "[X] y nació", ""),
        ("brackets", "[X] nació] en [Y]", ""),
        ("brackets", "[X] умро у граду", ""),
        ("letters", "X y Y son ciudades", "[X] y [Y] son ciudades"),
        ("letters", "X出生于Y。", "[X]出生于[Y]。"),
        ("letters", "Х родился в У", "[X] родился в [Y]"),
        ("letters", "У X есть столица", ""),
        ("letters", "x nació en y", ""),
        ("letters", "Xavier nació en Y", ""),
        ("names", "Xarvon nació en Yelvik", "[X] nació en [Y]"),
        ("names", "XARVON nació en Yelvik.", "[X] nació en [Y]."),
        ("names", "Xarvon出生于Yelvik", "[X]出生于[Y]"),
        ("names", "Xarvonin isä on Yelvik", ""),
        ("names", "X nació en Y", ""),
    ],
)
def test_slots_are_found_again_or_lost(style, text, template):
    assert restore_slots(text, style) == template


DAMAGES = [
    ("[x]", "[y]"),
    ("[ X ]", "[ Y ]"),
    ("［Ｘ］", "［Ｙ］"),
    ("[Кс]", "[И]"),
    ("(X)", "(Y)"),
]


@pytest.mark.slow
@pytest.mark.acceptance
def test_slots_in_the_templates_of_47_languages(upstream):
    """Every damage is repaired in all templates of mParaRel; styles do not change the template."""
    rows = mpararel.list_repaired_patterns(upstream, mpararel.LANGUAGES, Counter())
    templates = [template for _, _, _, template in rows]
    assert len(templates) > 16_000
    for subject, answer in DAMAGES:
        damaged = [text.replace("[X]", subject).replace("[Y]", answer) for text in templates]
        assert [restore_slots(text, "brackets") for text in damaged] == templates
    for style in STYLES:
        found = [restore_slots(put_slots(text, style), style) for text in templates]
        assert {(one, text) for one, text in zip(found, templates, strict=True) if one != text} == {
            ("", text) for one, text in zip(found, templates, strict=True) if not one
        }
        # a name with a written ending cannot be distinguished from another name
        assert found.count("") < 0.025 * len(templates)


OURS = [
    *("[X] is the capital of [Y].", "The capital of [X] is [Y].", "[X] works for [Y]."),
    *("[X] is located in the continent of [Y].", "[X] is in [Y].", "[X] plays the [Y]."),
    *("The official language of [X] is [Y].", "The currency of [X] is the [Y].", BORN, DIED),
    *("[X] is a member of [Y].", "The native language of [X] is [Y].", "[X] speaks [Y]."),
    *("[X] is owned by [Y].", "The headquarters of [X] are in [Y].", "[X] was founded in [Y]."),
    *("[X] shares a border with [Y].", "[X] and [Y] are twin cities.", "[X] used to work in [Y]."),
    *("[X] is a citizen of [Y].", "[X] is named after [Y].", "[X] was written in [Y]."),
    *("[X] is produced by [Y].", "[X] was released by [Y].", "[X] is part of [Y]."),
    *("[X] believes in the religion of [Y].", "[X] has the position of [Y]."),
    *("[Y] is the mother tongue of [X].", "In [Y], [X] is an official body."),
    "The genre of [X] is [Y].",
]
"""English templates of all the shapes that relations have."""


@pytest.fixture(scope="module")
def apy():
    with start_apy() as address:
        yield address


@needs_apertium
@pytest.mark.parametrize("style", STYLES)
def test_apertium_keeps_slots_in_every_style(style, apy):
    geofacts = list(PATTERNS["en"].values())
    templates = table(*OURS, *geofacts)
    engine = load_translator("apertium", url=apy)
    targets = ["es", "ca", "gl"]
    found = translate_templates(
        templates, "en", targets, {"apertium": engine}, ["apertium"], styles=[style]
    )
    kept = count_outcomes(found.outcomes).filter(outcome="trusted")
    assert dict(kept.select("language", "count").rows()) == dict.fromkeys(targets, len(templates))
    assert all(map(is_template, found.templates["template"]))


def test_each_template_is_asked_with_its_relation():
    class Expert(Dictionary):
        def sign(self, source, target, relation=""):
            return f"{self.signature} {relation}"

        async def ask(self, batch, source, target):
            relations.update({job.sentence: job.relation for job in batch})
            return await super().ask(batch, source, target)

    relations, answers = {}, {BORN: "[X] nació en [Y].", DIED: "[X] murió en [Y]."}
    templates = pl.concat([table(BORN), table(DIED, relation="P20")])
    expert = Expert("expert", answers)
    found = translate(templates, expert, trusted=("expert",), styles=["brackets"])
    assert sorted(found.templates["template"]) == sorted(answers.values())
    assert relations == {BORN: "P19", DIED: "P20"}
    again = translate(table(BORN, relation="P20"), expert, trusted=("expert",), styles=["brackets"])
    assert again.templates["template"].to_list() == [answers[BORN]]
    assert expert.asked == [("es", BORN), ("es", DIED), ("es", BORN)]  # each by its own signature
