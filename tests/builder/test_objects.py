"""Positions of objects: worked examples, edge cases, a property, and the paper's data."""

import csv
import random
import re
import sys
import zipfile
from collections import Counter
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyprobe.builder.objects.find import find_objects
from polyprobe.builder.objects.lemmatizers import load_lemmatizer
from polyprobe.metrics.shared.names import Word, compare_words, fold_word
from polyprobe.system.messages import PolyprobeError


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


@settings(max_examples=200, deadline=None, derandomize=True)
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


# Similarity of two words: high for inflected forms, low for other words with the same ending.

THRESHOLD = 75


def word(form: str, lemma: str | None = None) -> Word:
    return Word(0, len(form), fold_word(form), fold_word(lemma or form))


@pytest.mark.parametrize(
    ("form", "label"),
    [
        ("в", "Франкфурт-на-Майне"), ("итальянский", "испанский"), ("geology", "ecology"),
        ("Iran", "Iraq"), ("Mali", "Malta"), ("Австрія", "Австралія"), ("Rim", "Krim"),
        ("Polsko", "Portugalsko"), ("η", "Κωνσταντινούπολη"), ("Aljir", "Alma"), ("u", "Ur"),
        ("Austria-Hungary", "Austria"), ("פריז", "בריז"), ("Rize", "Rimini"), ("", "Praha"),
    ],
)  # fmt: skip
def test_another_word_is_not_alike(form, label):
    assert compare_words(word(form), word(label)) < THRESHOLD


def test_equal_lemmas_are_the_same_word():
    assert compare_words(word("Praze", "Praha"), word("Praha")) == 100
    assert compare_words(word("lidem", "člověk"), word("člověk")) == 100


def test_a_language_that_does_not_inflect_knows_no_endings():
    assert compare_words(word("Parisa"), word("Paris"), inflected=False) == 0
    assert compare_words(word("Paris"), word("Paris"), inflected=False) == 100


# Words and lemmas: offsets into the text in any Unicode form, and unavailable lemmatisers.


def words(text: str, name: str = "none", language: str = "ru", folder=None) -> list[str]:
    found = load_lemmatizer(name, language, folder).list_words([text])[0]
    return [text[word.start : word.end] for word in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []), ("… — !", []), ("a\n\nb", ["a", "b"]), ("👩‍🚀 Paris.", ["Paris"]),
        ("Orhan İstanbul'da", ["Orhan", "İstanbul'da"]), ("New\u00a0York", ["New", "York"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]), ("Ки\u0301їв", ["Ки\u0301їв"]),
        ("Рей\u00adкья\u00adвик", ["Рей\u00adкья\u00adвик"]), ("می\u200cرود", ["می\u200cرود"]),
        ("Re\u0301kjavi\u0301k", ["Re\u0301kjavi\u0301k"]), ("«Мир» (1)", ["Мир", "1"]),
    ],
)  # fmt: skip
def test_words_are_whole(text, expected):
    assert words(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("é", "e\u0301"), ("İstanbul", "istanbul"), ("Ки\u0301їв", "Київ"), ("Ґданськ", "Гданськ"),
        ("Рей\u00adкьявик", "Рейкьявик"), ("פָּרִיז", "פריז"), ("Straße", "STRASSE"),
    ],
)  # fmt: skip
def test_either_spelling_is_folded_to_one(one, other):
    assert fold_word(one) == fold_word(other)


def test_what_makes_another_word_stays():
    assert fold_word("край") != fold_word("краи")
    assert fold_word("हिन्दी") != fold_word("हन्द")


def test_simplemma_knows_lemmas():
    lemmatizer = load_lemmatizer("simplemma", "cs")
    assert lemmatizer.name.startswith("simplemma ")
    assert [word.lemma for word in lemmatizer.list_words(["v Praze"])[0]] == ["v", "praha"]


def test_a_language_without_inflection_needs_no_lemmas():
    assert load_lemmatizer("stanza", "vi", "/nowhere").name == "none"


def test_auto_takes_the_best_there_is(tmp_path):
    assert load_lemmatizer("auto", "uk", tmp_path).name.startswith("simplemma ")
    assert load_lemmatizer("auto", "xx", tmp_path).name == "none"


@pytest.mark.parametrize(
    ("name", "language", "said"),
    [
        ("spacy", "ru", "spacy"),
        ("simplemma", "xx", "xx"),
        ("stanza", "ru", "has no Stanza model of 'ru'"),
        ("stanza", "xx", "has no Stanza model of 'xx'"),
    ],
)
def test_what_cannot_be_had_is_one_line(name, language, said, tmp_path):
    with pytest.raises(PolyprobeError, match=said) as error:
        load_lemmatizer(name, language, tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("package", ["stanza", "simplemma"])
def test_a_missing_package_is_named_with_its_extra(package, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(PolyprobeError, match=rf"{package}.*polyprobe\[sentences\]"):
        load_lemmatizer(package, "ru", tmp_path)


def test_auto_without_packages_is_plain(monkeypatch, tmp_path):
    for package in ("stanza", "simplemma", "simplemma.strategies.dictionaries.dictionary_factory"):
        monkeypatch.setitem(sys.modules, package, None)
    assert load_lemmatizer("auto", "ru", tmp_path).name == "none"


@pytest.fixture(scope="module")
def models(upstream):
    return upstream.parent / "stanza"


def test_damaged_models_are_one_line(models, tmp_path):
    for part in ("tokenize", "lemma"):
        (tmp_path / "uk" / part).mkdir(parents=True)
        for source in (models / "uk" / part).iterdir():
            (tmp_path / "uk" / part / source.name).write_bytes(source.read_bytes()[:1000])
    (tmp_path / "resources.json").write_bytes((models / "resources.json").read_bytes())
    with pytest.raises(PolyprobeError, match="cannot load the Stanza models of 'uk'") as error:
        load_lemmatizer("stanza", "uk", tmp_path)
    assert "\n" not in str(error.value)


def test_stanza_reads_many_texts_with_blank_lines_at_their_places(models):
    texts = [
        "Praha je město.\n\nBrno je také město.", "  \n Vídeň. Řím!  Paříž?\n", "", "\n\n",
        "👩‍🚀 žije\u00a0v\tPraze", "Re\u0301kjavi\u0301k", "Praha je město.\n\nBrno je také město.",
    ]  # fmt: skip
    lemmatizer = load_lemmatizer("stanza", "cs", models)
    read = lemmatizer.list_words(texts)
    found = [
        [text[word.start : word.end] for word in own] for text, own in zip(texts, read, strict=True)
    ]
    first = ["Praha", "je", "město", "Brno", "je", "také", "město"]
    second, fifth = ["Vídeň", "Řím", "Paříž"], ["žije", "v", "Praze"]
    assert found == [first, second, [], [], fifth, ["Re\u0301kjavi\u0301k"], first]
    assert read[4][2].lemma == "praha"
    assert "cs" in lemmatizer.name


# The judged disagreements with Fluent-mLAMA's objects: consistency of the files.

PATH = Path(__file__).parents[2] / "bench" / "objects_judged.csv"
ALIKE = PATH.with_name("objects_alike.csv")
COLUMNS = [
    "language", "relation", "subject_id", "object_id", "run", "start", "end", "verdict", "reason",
]  # fmt: skip


@pytest.fixture(scope="module")
def lines():
    with PATH.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        assert reader.fieldnames == COLUMNS
        return list(reader)


def test_every_line_is_of_its_kind_and_agrees_with_itself(lines):
    counts = Counter(line["language"] for line in lines)
    assert set(counts) == {"ru", "uk"}
    assert min(counts.values()) >= 50
    kinds = {
        "relation": r"P\d+", "subject_id": r"Q\d+", "object_id": r"Q\d+", "start": r"\d*",
        "end": r"\d*", "run": "stanza|simplemma|none|fuzzy", "verdict": "ours|paper|both|neither",
        "reason": r"[a-z][a-z ;,]{5,79}",
    }  # fmt: skip
    for line in lines:
        for column, kind in kinds.items():
            assert re.fullmatch(kind, line[column]), line
        assert bool(line["start"]) == bool(line["end"])
        assert not line["end"] or int(line["start"]) < int(line["end"])
        assert line["start"] or line["verdict"] in ("paper", "neither"), line
        # a reason against one side alone contradicts a verdict for that side
        reason, verdict = line["reason"], line["verdict"]
        assert not reason.startswith("ours takes") or verdict == "paper", line
        if reason.startswith("paper takes"):
            assert verdict == ("neither" if ";" in reason else "ours"), line
        assert not reason.endswith("keeps the head noun") or verdict == "both", line
    answers = {tuple(line[column] for column in COLUMNS[:4] + COLUMNS[5:7]) for line in lines}
    assert len(answers) == len(lines)


def test_rows_wrong_alike_are_facts_once_with_a_reason():
    with ALIKE.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        assert reader.fieldnames == [*COLUMNS[:4], "reason"]
        rows = list(reader)
    facts = {tuple(row[column] for column in COLUMNS[:4]) for row in rows}
    assert len(facts) == len(rows) > 0
    for language, *ids in facts:
        assert language in ("ru", "uk")
        assert re.fullmatch(r"P\d+ Q\d+ Q\d+", " ".join(ids))
    assert all(re.fullmatch(r"the subject taken, [a-z ]{5,50}", row["reason"]) for row in rows)


def test_no_row_is_wrong_alike_that_stanza_has_otherwise(lines):
    with ALIKE.open(encoding="utf-8", newline="") as file:
        alike = {tuple(row.values())[:4] for row in csv.DictReader(file)}
    stanza = {tuple(line.values())[:4] for line in lines if line["run"] == "stanza"}
    assert not alike & stanza
