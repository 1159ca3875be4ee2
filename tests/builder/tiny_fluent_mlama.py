"""A fluent MLAMA of two relations in Danish and Ukrainian, as released."""

import csv
import io
import zipfile

import pytest

from polyprobe.builder.sources import fluent_mlama
from polyprobe.builder.sources.fluent_mlama import ARCHIVE
from tests.builder.tiny import place_archive


def place_of(subject, thing, form, start, aliases="", **chatgpt):
    """A released row about the location of something; `chatgpt` is its prompt and form."""
    return {
        "sub_uri": f"Q{subject}", "obj_uri": f"Q{thing}", "sub_label": subject,
        "obj_label": thing, "en_sub_label": subject, "en_obj_label": thing,
        "template": f"{subject} ligger i {thing}.", "template_prompt": f"{subject} ligger i ",
        "en_template": f"{subject} lies in {thing} .", "gt_translation": start + form + ".",
        "gt_prompt": start, "gt_infl_object": form, "aliases": aliases, **chatgpt,
    }  # fmt: skip


def said(start, form):
    return {"chatgpt_prompt": start, "chatgpt_infl_object": form}


DANISH = [
    place_of("Oslo", "Norge", "Norge", " Oslo findes i ", "Noreg|||Norway"),
    place_of("Lima", "Peru", "Perus", " Lima er ", "Peru|||\xa0Piruw|||"),
    place_of("Bonn", "Berlin", "ERROR", "ERROR", "Lost"),
    place_of("Rom", "Italien", "Italiens", "", "Empty"),
    place_of("Kiel", "Kystens", "Kyst", "Ki ", "Short"),  # a third of the template's 15: 5
    place_of("Bern", "Schweiz", "", " Bern", "Swiss"),
]
UKRAINIAN = [
    place_of("Осло", "Норвегія", "Норвегії", " Осло в ", "Norway", **said("Осло є у ", "Норвегію")),
    place_of("Ліма", "Перу", "Перу", " Ліма є в ", "Peru", **said("Ліма в ", "Перу")),
    place_of("Рим", "Італія", "Італії", " Рим є в ", "Italy", **said("Рим є в ", "")),
    place_of("Берн", "Швейцарія", "", " Берн є в ", "Swiss", **said("Берн є в ", "Швейцарії")),
    place_of("Бонн", "Німеччина", "Німеччині", " Бонн ", "DE", **said("ERROR", "ERROR")),
]
FILES = {
    "fixed_data/da_P36_nogpt.tsv": DANISH,
    "fixed_data/da_P101_nogpt.tsv": DANISH[:1],  # no relation of the paper's in Danish
    "fixed_data/uk_P36_20prompt.tsv": UKRAINIAN,
}


@pytest.fixture
def mirror(monkeypatch, tmp_path):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, rows in FILES.items():
            text = io.StringIO(newline="")
            writer = csv.DictWriter(text, list(rows[0]), delimiter="\t", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
            archive.writestr(name, text.getvalue())
    contents = {ARCHIVE: content.getvalue()}
    return place_archive(monkeypatch, tmp_path, fluent_mlama, contents)
