"""Positions of objects: worked examples, edge cases, a property, and the paper's data."""

import csv
import random
import re
import zipfile
from io import BytesIO, TextIOWrapper

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyprobe.builder.objects.find import find_objects
from polyprobe.system.errors import PolyprobeError


def find_form(sentence: str, label: str, language: str, lemmatizer: str = "none", **more):
    """Return the form found in one sentence, after a check of its position."""
    (found,) = find_objects([sentence], [label], language, lemmatizer, **more)
    if found is None:
        return None
    assert sentence[found.start : found.end] == found.form
    assert 75 <= found.score <= 100
    return found.form


EXAMPLES = [
    ("ru", "Он умер в Праге.", "Прага", "Праге"),
    ("ru", "Она живёт в Великобритании.", "Великобритания", "Великобритании"),
    ("ru", "Его родной язык — русский.", "русский язык", "русский"),
    ("ru", "Роман написан на русском языке.", "русский язык", "русском языке"),
    ("ru", "Штаб-квартира находится во Франкфурте-на-Майне.", "Франкфурт-на-Майне",
     "Франкфурте-на-Майне"),
    ("uk", "Він народився у Львові.", "Львів", "Львові"),
    ("uk", "Завод стоїть у Ризі.", "Рига", "Ризі"),
    ("cs", "Zemřel v Praze.", "Praha", "Praze"),
    ("cs", "Žije ve Velké Británii.", "Velká Británie", "Velké Británii"),
    ("cs", "Narodil se ve Frankfurtu nad Mohanem.", "Frankfurt nad Mohanem",
     "Frankfurtu nad Mohanem"),
    ("cs", "Žije ve Spojených státech amerických.", "Spojené státy americké",
     "Spojených státech amerických"),
    ("cs", "Praha je hlavním městem Prahy.", "Praha", "Prahy"),
    ("cs", "V Kodani zemřel dánský princ.", "Kodaň", "Kodani"),
    ("hr", "Živi na Novom Zelandu.", "Novi Zeland", "Novom Zelandu"),
    ("hr", "Umro je u Sjedinjenim Američkim Državama.", "Sjedinjene Američke Države",
     "Sjedinjenim Američkim Državama"),
    ("hr", "Njegov materinji jezik je engleski.", "engleski jezik", "engleski"),
    ("hr", "Grupa je osnovana u Bostonu.", "Boston, Massachusetts", "Bostonu"),
    ("hr", "Serija je emitirana na CBS-u.", "CBS", "CBS-u"),
    ("es", "Su lengua materna es el idioma francés.", "idioma francés", "idioma francés"),
    ("es", "Murió en los Estados Unidos.", "Estados Unidos", "Estados Unidos"),
    ("id", "Bahasa ibunya adalah Inggris.", "bahasa Inggris", "Inggris"),
    ("id", "Buku itu ditulis dalam bahasa Inggris.", "bahasa Inggris", "bahasa Inggris"),
    ("vi", "Anh ấy sinh ra ở Hà Nội.", "Hà Nội", "Hà Nội"),
    ("zh", "他出生于巴黎。", "巴黎", "巴黎"),
    ("zh", "巴黎是巴黎的首都", "巴黎", "巴黎"),
    ("he", "הוא נולד בפריז.", "פריז", "בפריז"),
    ("tr", "Orhan İstanbul'da doğdu.", "istanbul", "İstanbul'da"),
    ("hu", "Párizsban született.", "Párizs", "Párizsban"),
    ("el", "Ζει στην Ολυμπία.", "Ολύμπια", "Ολυμπία"),
    ("hi", "वह हिन्दी बोलता है", "हिन्दी", "हिन्दी"),
    ("th", "เขาเกิดที่ปารีส", "ปารีส", "ปารีส"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "sentence", "label", "form"), EXAMPLES)
def test_found_without_lemmas(language, sentence, label, form):
    assert find_form(sentence, label, language) == form


@pytest.mark.parametrize(
    ("language", "sentence", "label", "form"),
    [
        ("cs", "Narodil se ve Vídni.", "Vídeň", "Vídni"),
        ("cs", "Pracuje s lidmi.", "člověk", "lidmi"),
    ],
)
def test_found_by_simplemma(language, sentence, label, form):
    assert find_form(sentence, label, language, "simplemma") == form


@pytest.mark.parametrize("language", ["cs", "es", "hr", "id", "ru", "uk"])
def test_found_by_stanza_in_one_call(language, upstream):
    rows = [row for row in EXAMPLES if row[0] == language]
    sentences, labels = [row[1] for row in rows], [row[2] for row in rows]
    found = find_objects(sentences, labels, language, "stanza", upstream.parent / "stanza")
    assert [one and one.form for one in found] == [row[3] for row in rows]


@pytest.mark.parametrize(
    ("sentence", "label", "language"),
    [
        ("", "Paris", "en"), ("Paris.", "", "en"), ("Paris — here.", "—", "en"),
        ("Paris", "Paris is a label longer than this", "en"), ("He lives in Rome.", "Paris", "en"),
        ("Живёт в Австрии.", "Австралия", "ru"), ("巴", "巴黎市中心", "zh"), ("巴黎。", "。", "zh"),
        ("", "巴黎", "zh"), ("巴黎", "", "zh"), ("Studies ecology.", "geology", "en"),
    ],
)  # fmt: skip
def test_not_found(sentence, label, language):
    assert find_form(sentence, label, language) is None


@pytest.mark.parametrize(
    ("sentence", "label", "form"),
    [
        ("He lives in Paris (city).", "Paris (city)", "Paris"),
        ("He lives in Paris.", "(Paris)", "Paris"),
        ("👩‍🚀👩‍🚀 lives in Paris.", "Paris", "Paris"),
        ("First.\n\nHe lives\nin New\u00a0York.\n\nLast.", "New York", "New\u00a0York"),
        ("Written in C++ (1.0).", "C++", "C++"),
        ("Owned by Yahoo! now.", "Yahoo!", "Yahoo!"),
        ("About a.b*[c", "a.b*[c", "a.b*[c"),
        ("In Rékjavík.", "Re\u0301kjavi\u0301k", "Rékjavík"),
        ("In Re\u0301kjavi\u0301k.", "Rékjavík", "Re\u0301kjavi\u0301k"),
        ("In Reyk\u00adja\u00advik.", "Reykjavik", "Reyk\u00adja\u00advik"),
        ("so " * 5000 + "in Paris.", "Paris", "Paris"),
    ],
)
def test_found_however_it_is_written(sentence, label, form):
    assert find_form(sentence, label, "en") == form


def test_one_sentence_may_have_several_labels():
    sentence = "Praha leží v Česku."
    found = find_objects([sentence] * 3, ["Praha", "Česko", "Brno"], "cs", "none")
    assert [one and one.form for one in found] == ["Praha", "Česku", None]


def test_a_shared_noun_is_left_out_if_asked():
    sentences = [f"Написан на {name} языке." for name in ("русском", "финском", "датском")]
    labels = ["русский язык", "финский язык", "датский язык"]
    whole = find_objects(sentences, labels, "ru", "none")
    assert [one.form for one in whole] == ["русском языке", "финском языке", "датском языке"]
    bare = find_objects(sentences, labels, "ru", "none", drop_head_noun=True)
    assert [one.form for one in bare] == ["русском", "финском", "датском"]


def test_a_shared_noun_is_not_a_bar_to_a_country_of_that_name():
    labels = [f"{name} jezik" for name in ("engleski", "danski", "finski", "ruski", "češki")]
    sentences = [f"Napisan je na {label[:-6]}m." for label in labels]
    found = find_objects([*sentences, "Živi u Engleskoj."], [*labels, "Engleska"], "hr", "none")
    forms = ["engleskim", "danskim", "finskim", "ruskim", "češkim", "Engleskoj"]
    assert [one and one.form for one in found] == forms


def test_another_label_of_the_call_is_none():
    sentences = ["Живёт в Германии.", "Живёт в Армении."]
    assert find_objects(sentences, ["Германия", "Армения"], "ru", "none")[0].form == "Германии"
    assert find_objects(sentences, ["Армения", "Германия"], "ru", "none") == [None, None]


def test_an_alias_replaces_a_label():
    aliases = {"aliases": [["Майкрософт"]]}
    sentence = "Он работает в компании Майкрософт."
    assert find_form(sentence, "Microsoft", "ru") is None
    assert find_form(sentence, "Microsoft", "ru", **aliases) == "Майкрософт"


def test_a_higher_threshold_finds_less():
    assert find_form("Он умер в Праге.", "Прага", "ru", threshold=90) == "Праге"
    assert find_form("Он умер в Праге.", "Прага", "ru", threshold=91) is None


def test_unequal_numbers():
    with pytest.raises(PolyprobeError, match="2 sentences, 1 labels and 1 lists of aliases"):
        find_objects(["a", "b"], ["a"], "en", "none", aliases=[[]])


NAMES = [
    "Praha", "Новый Орлеан", "Île-de-France", "Côte d’Ivoire", "R\u0301io", "İzmir", "C++",
    "o'Hara", "Frankfurt am Main", "हिन्दी", "ירושלים", "Ki\u00adew", "Сан-Франциско",
    "3M", "AC/DC", "Yahoo!",
]  # fmt: skip
FILLERS = ["je", "в", "de", "und", "—", "(a)", "👩‍🚀", ",", "\n\n", "\u00a0", "Praze", "x-y", "'"]
PIECES = st.lists(st.sampled_from([*FILLERS, *NAMES]), max_size=6).map(" ".join)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(PIECES, st.sampled_from(NAMES), PIECES)
def test_a_label_as_written_is_found_as_whole_words(before, label, behind):
    sentence = f"{before} {label} {behind}"
    (found,) = find_objects([sentence], [label], "xx", "none")
    assert sentence[found.start : found.end] == found.form
    assert found.score == 100
    assert found.start >= len(before) + 1
    assert not re.match(r"\w", sentence[found.end : found.end + 1])
    assert not re.search(r"\w$", sentence[: found.start])


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.text(max_size=12), st.text(max_size=8)), max_size=4))
def test_any_text_is_read(rows):
    sentences, labels = [row[0] for row in rows], [row[1] for row in rows]
    for language in ("ru", "zh"):
        for sentence, found in zip(
            sentences, find_objects(sentences, labels, language, "none"), strict=True
        ):
            assert found is None or sentence[found.start : found.end] == found.form != ""


def read_rows(upstream, language: str, count: int) -> list[dict[str, str]]:
    """Return shuffled rows of Fluent-mLAMA that its authors found the object in."""
    (path,) = upstream.glob("ZurichNLP__Fluent-mLAMA@*.zip")
    with zipfile.ZipFile(path) as outer:
        (inner,) = (name for name in outer.namelist() if name.endswith("/fixed_data.zip"))
        data = BytesIO(outer.read(inner))
    rows: list[dict[str, str]] = []
    with zipfile.ZipFile(data) as archive:
        for name in sorted(archive.namelist()):
            if re.search(rf"(^|/){language}_P\d+_\w+\.tsv$", name):
                text = TextIOWrapper(archive.open(name), "utf-8", newline="")
                relation = re.search(r"P\d+", name)[0]
                reader = csv.DictReader(text, delimiter="\t", strict=True)
                rows += [{"relation": relation, **row} for row in reader]
    rows = [row for row in rows if "ERROR" not in (row["gt_prompt"], row["gt_infl_object"])]
    rows = [row for row in rows if row["gt_infl_object"]]
    return random.Random(1).sample(rows, count)


@pytest.mark.slow
@pytest.mark.parametrize(("language", "inflected"), [("ru", 98.5), ("uk", 99.0)])
@pytest.mark.acceptance
def test_objects_are_those_of_the_paper(upstream, language, inflected):
    rows = read_rows(upstream, language, 1000)
    sentences, labels = zip(
        *((row["gt_translation"], row["obj_label"]) for row in rows), strict=True
    )
    aliases = [[alias for alias in row["aliases"].split("|||") if alias.strip()] for row in rows]
    options = {"stanza_dir": upstream.parent / "stanza", "drop_head_noun": language == "ru"}
    found = find_objects(sentences, labels, language, "stanza", aliases=aliases, **options)
    right: dict[bool, list[bool]] = {True: [], False: []}
    for row, one in zip(rows, found, strict=True):
        sentence = row["gt_translation"]
        same = one is not None and one.form == row["gt_infl_object"]
        same = same and sentence[: one.start] == row["gt_prompt"]
        right[row["obj_label"] in sentence].append(same)
    assert min(map(len, right.values())) >= 400
    assert 100 * sum(right[True]) / len(right[True]) >= 99.5
    assert 100 * sum(right[False]) / len(right[False]) >= inflected
    wrong = find_objects(sentences, draw_others(rows), language, "stanza", **options)
    assert 100 * sum(one is not None for one in wrong) / len(rows) <= 0.5


def draw_others(rows: list[dict[str, str]]) -> list[str]:
    """Return for each row the label of another object of its relation."""
    labels: dict[str, set[str]] = {}
    for row in rows:
        labels.setdefault(row["relation"], set()).add(row["obj_label"])
    draw = random.Random(0)
    others = (sorted(labels[row["relation"]] - {row["obj_label"]}) for row in rows)
    return [draw.choice(own or [""]) for own in others]
