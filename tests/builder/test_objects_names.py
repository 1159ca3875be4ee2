"""Inflected names and other names that begin with them: examples of the rules, held-out rows.

`names.tsv` has rows in 28 languages, written by a language model that had not seen the rules:
label, form in the sentence (empty if another name begins with the label) and sentence.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from bench.objects_names import count, read_names
from polyprobe.builder.objects.find import find_objects

INFLECTED = [
    ("fi", "Hän edusti USA:n joukkuetta.", "USA", "USA:n"),
    ("fi", "Juna kulkee Seinäjoelle.", "Seinäjoki", "Seinäjoelle"),
    ("eu", "UNESCOren egoitza Frantzian dago.", "UNESCO", "UNESCOren"),
    ("cy", "Symudodd i Gaerfyrddin.", "Caerfyrddin", "Gaerfyrddin"),
    ("ar", "تعلم في القاهره.", "القاهرة", "القاهره"),
    ("ko", "그 열차는 부산에서부터 달린다.", "부산", "부산에서부터"),
    ("is", "Hún ólst upp á Akranesi.", "Akranes", "Akranesi"),
    ("he", 'היא נולדה אחרי שארה"ב הוקמה.', 'ארה"ב', 'שארה"ב'),
    ("ro", "Studenții NASA-ului au plecat.", "NASA", "NASA-ului"),
    ("tr", "Konyadan gelen tren durdu.", "Konya", "Konyadan"),
    ("kk", "Ол Қарағандыдағы мектепте оқыды.", "Қарағанды", "Қарағандыдағы"),
    ("ta", "அவர் மதுரையிலிருந்து வந்தார்.", "மதுரை", "மதுரையிலிருந்து"),
]
OTHERS = [
    ("hr", "Nagradu je dobio Petrović.", "Petro"),
    ("fi", "Hän muutti Romaniaan.", "Roma"),
    ("is", "Skáldið fór til Frakklands.", "Frakk"),
    ("tr", "Yarışı Nigeryalı atlet kazandı.", "Niger"),
    ("pl", "Książkę napisał Martinez.", "Martin"),
    ("lv", "Viņa dzimusi Rumānijā.", "Rum"),
]
ENOUGH = 60  # rows with a name
LEAST = {"ta": 0.95, "": 0.97}  # share of exact spans, by language


@pytest.mark.parametrize(("language", "sentence", "label", "form"), INFLECTED)
def test_a_form_by_rule(language, sentence, label, form):
    [span] = find_objects([sentence], [label], language, "none")
    assert span
    assert span.form == form


@pytest.mark.parametrize(("language", "sentence", "label"), OTHERS)
def test_another_name_that_begins_with_the_label(language, sentence, label):
    assert find_objects([sentence], [label], language, "none") == [None]


def find_forms(rows: Sequence[Mapping[str, str]], language: str, **options) -> list[str]:
    """Find the form in each row, empty without one."""
    texts, labels = ([row[name] for row in rows] for name in ("text", "label"))
    return [x.form if x else "" for x in find_objects(texts, labels, language, **options)]


def test_rows_of_28_languages():
    head, *lines = Path(__file__).with_name("names.tsv").read_text("utf-8").splitlines()
    rows = defaultdict(list)
    for line in lines:
        row = dict(zip(head.split("\t"), line.split("\t"), strict=True))
        rows[row["language"]].append(row)
    counts = Counter()
    for language, part in rows.items():
        names, others = ([x for x in part if bool(x["form"]) is named] for named in (True, False))
        forms = find_forms(names, language, lemmatizer="none")
        counts["exact"] += sum(x == row["form"] for x, row in zip(forms, names, strict=True))
        counts["others"] += sum(map(bool, find_forms(others, language, lemmatizer="none")))
        counts["names"] += len(names)
        counts["all others"] += len(others)
    assert (len(rows), counts["names"], counts["all others"]) == (28, 448, 168)
    assert counts["exact"] / counts["names"] >= 0.96
    assert counts["others"] / counts["all others"] <= 0.2


@pytest.mark.acceptance
def test_names_of_universal_dependencies(upstream):
    archive = upstream.parent / "oracles" / "ud-names.zip"
    counts = Counter()
    for language, rows in read_names(archive).items():
        part = count(rows, language, "auto", upstream.parent / "stanza")
        exact = [x for half in part.halves for x in half]
        if len(exact) >= ENOUGH:
            share = sum(exact) / len(exact)
            assert share >= LEAST.get(language, LEAST[""]), (language, share)
        for kind in ("wrong", "others"):
            answers = getattr(part, kind)
            counts.update({kind: len(answers), f"{kind} found": sum(answers)})
    assert counts["wrong"] > 1_900
    assert counts["others"] == 243
    assert counts["wrong found"] / counts["wrong"] <= 0.01
    assert counts["others found"] / counts["others"] <= 0.15
