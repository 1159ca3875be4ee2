"""An X-FACTR of two relations in English and French, as released."""

import csv
import io
import json

import pytest

from polyprobe.builder.annotated.entities import list_trait_paths
from polyprobe.builder.recipes import xfactr as recipe
from polyprobe.builder.sources import mpararel, xfactr
from tests.builder.tiny import place_archive
from tests.builder.tiny_mpararel import ROOT

# (relation, subject, its form, object, its form, count), in the released order
FACTS = [
    ("P36", "Q5", "Chad", "Q6", "Njamena", 3),
    ("P36", "Q1", "Peru", "Q2", "Lima", 9),
    ("P37", "Q1", "Peru", "Q7", "Quechua", 2),
    ("P37", "Q1", "Peru", "Q8", "Spanish", 1),
    ("P37", "Q9", "Fiji", "Q8", "Spanish", 1),
]
FILES = {
    "data/alias/mTRExf/en.txt": "Q1\tPeru\tRepublic of Peru\nQ6\tN'Djamena\nQ7\tKichwa\tQuechua",
    "data/alias/mTRExf/fr.txt": "Q1\tPérou\nQ2\tLima\tLima la Grise\nQ5\tTchad\nQ6\tDjamena\tN'D\n"
    "Q7\tquechua\u200b\nQ8\tcastillan\tespagnol\nQ10\taymara",
    "data/french/TREx_french.txt": "Q1\tautre\nQ2\tLima",
    "data/mTRExf_multi_rel.txt": "Q1\tP37\tQ8 Q10 Q7\nQ1\tP36\tQ2\nQ5\tP36\tQ6\nQ9\tP37\tQ8",
    **dict.fromkeys(list_trait_paths("gender"), "Q2\tnone"),
    **dict.fromkeys(list_trait_paths("instanceof"), "Q1\tQ6256,country"),
}  # fmt: skip
PROMPTS = [
    ("pid", "relation", "en", "fr"),
    ("P36", "capital", "The capital of [X] is [Y] .", "La capitale [PREPDEF;X] [X] est [Y] ."),
    ("P37", "language", "People in [X] speak [Y] .", "[X] parle [Y] ."),
]
LENT = [("Q1", "Pérou bis", "Q8", "espagnol")]  # mParaRel has French labels of two entities


def write_release() -> dict[str, bytes]:
    keys = ("predicate_id", "sub_uri", "sub_label", "obj_uri", "obj_label", "count")
    lines = [
        json.dumps({"uuid": f"u{number}", **dict(zip(keys, fact, strict=True))})
        for number, fact in enumerate(FACTS)
    ]
    table = io.StringIO()
    csv.writer(table).writerows(PROMPTS)
    contents = {path: text.encode() for path, text in FILES.items()}
    contents["data/mTRExf/sub/P36.jsonl"] = "\n".join(lines[:2]).encode()
    contents["data/mTRExf/sub/P37.jsonl"] = "\n".join(lines[2:]).encode()
    return contents | {xfactr.PROMPT_FILE: table.getvalue().encode()}


def write_mpararel() -> dict[str, bytes]:
    keys = ("lineid", "sub_uri", "sub_label", "obj_uri", "obj_label")
    tuples = "\n".join(json.dumps(dict(zip(keys, (0, *row), strict=True))) for row in LENT)
    pattern = json.dumps({"pattern": "[X] [Y]", "checked-by-human": True})
    return {
        f"{ROOT}/{kind}/{language}/P37.jsonl": text.encode()
        for kind, text in (("tuples", tuples), ("patterns", pattern))
        for language in ("en", "fr")
    }


@pytest.fixture
def mirror(monkeypatch, tmp_path):
    for module, contents in ((xfactr, write_release()), (mpararel, write_mpararel())):
        name = f"some/{module.__name__[-6:]}"
        place_archive(monkeypatch, tmp_path, module, contents, name, LANGUAGES=("en", "fr"))
    recipe.read_release.cache_clear()
    yield tmp_path
    recipe.read_release.cache_clear()
