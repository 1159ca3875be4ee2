import csv
import io
import zipfile

import polars as pl
import pytest

from polyprobe.builder.facts import FACTS, LABELS, PROMPTS, TEMPLATES
from polyprobe.builder.facts.labels import CONTRADICTIONS
from polyprobe.builder.sources import fluent_mlama
from polyprobe.builder.sources.fluent_mlama import ARCHIVE, read_facts
from tests.builder.tiny import place_archive

HEAD = (
    *("sub_uri", "en_sub_label", "sub_label", "obj_uri", "en_obj_label", "obj_label"),
    *("en_template", "template", "template_prompt", "gt_translation", "gt_prompt"),
    *("gt_infl_object", "aliases"),
)


def row(sub, obj, start, form, sentence, aliases="x", english="The capital of {} is {} ."):
    """A row of the Danish file; `sub` and `obj` are (id, English label, label)."""
    filled = f"Hovedstaden i {sub[2]} er {obj[2]}."
    start_of_filled = filled[: filled.index(obj[2])]
    english = english.format(sub[1], obj[1])
    return (*sub, *obj, english, filled, start_of_filled, sentence, start, form, aliases)


PERU, LIMA = ("Q419", "Peru", "Peru"), ("Q2868", "Lima", "Lima")
CZECHIA, PRAGUE = ("Q213", "Czechia", "Tjekkiet"), ("Q1085", "Prague", "Prag")
NORWAY, OSLO = ("Q20", "Norway", "Norge"), ("Q585", "Oslo", "Oslo")
DANISH = [
    row(PERU, LIMA, ' "Perus" by er ', "Lima", ' "Perus" by er Lima.', "Lima|||La Ciudad"),
    row(CZECHIA, PRAGUE, "", "Prags", "Prags rolle er hovedstad. ", "Praha|||\xa0Prag|||"),
    row(NORWAY, OSLO, "ERROR", "ERROR", " Christiania"),
    row(NORWAY, LIMA, " Norges by er ", "", " Norges by er "),
    row(("Q1", "New York", "New York"), ("Q2", "York", "York"), "Y er ", "Y", "Y er Y\u200b."),
]  # fmt: skip
RUSSIAN = [row(("Q419", "Peru", "Перу"), ("Q2868", "Lima", "Лима"), "В ", "Лиме", "В Лиме.")]


def write_zip(files) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, rows in files.items():
            text = io.StringIO(newline="")
            csv.writer(text, delimiter="\t", lineterminator="\n").writerows([HEAD, *rows])
            archive.writestr(name, text.getvalue())
    return content.getvalue()


FILES = {
    "fixed_data/da_P36_nogpt.tsv": DANISH,
    "fixed_data/ru_P36_20prompt.tsv": RUSSIAN,
    "__MACOSX/fixed_data/._da_P36_nogpt.tsv": [("no", "table")],
}


@pytest.fixture
def mirror(monkeypatch, tmp_path):
    return place_archive(monkeypatch, tmp_path, fluent_mlama, {ARCHIVE: write_zip(FILES)})


def test_prompts_are_googles_with_the_slot_where_the_object_was_found(mirror):
    prompts = read_facts(mirror, ["da"]).prompts
    assert prompts.schema == pl.Schema(PROMPTS)
    assert prompts.rows() == [
        ("da", "P36", "Q1", "Q2", "Y er [Y].", "Y"),
        ("da", "P36", "Q213", "Q1085", "[Y] rolle er hovedstad.", "Prags"),
        ("da", "P36", "Q419", "Q2868", '"Perus" by er [Y].', "Lima"),
    ]


def test_templates_are_got_back_and_english_from_lamas_sentences(mirror):
    templates = read_facts(mirror, ["en", "da"]).templates
    assert templates.schema == pl.Schema(TEMPLATES)
    assert templates.rows() == [
        ("da", "P36", "fluent-mlama:P36:0", "Hovedstaden i [X] er [Y]."),
        ("en", "P36", "fluent-mlama:P36:0", "The capital of [X] is [Y]."),
    ]


def test_facts_labels_and_aliases(mirror):
    found = read_facts(mirror)
    assert found.facts.schema == pl.Schema(FACTS)
    assert found.facts.rows() == [
        ("P36", "Q1", "Q2"),
        ("P36", "Q20", "Q2868"),
        ("P36", "Q20", "Q585"),
        ("P36", "Q213", "Q1085"),
        ("P36", "Q419", "Q2868"),
    ]
    assert found.labels.schema == pl.Schema(LABELS)
    assert found.labels.filter(id="Q1085").rows() == [
        ("da", "Q1085", "Prag"),
        ("en", "Q1085", "Prague"),
    ]
    assert found.labels.filter(language="ru")["label"].to_list() == ["Лима", "Перу"]


def test_repairs_are_counted(mirror):
    assert read_facts(mirror, ["da", "en"]).repairs == {
        fluent_mlama.REASONS["errors"]: 1,
        fluent_mlama.REASONS["no_form"]: 1,
        fluent_mlama.REASONS["blanks"]: 2,  # Lima before, Prague after
        fluent_mlama.REASONS["lists"]: 2,
        fluent_mlama.REASONS["unclear"]: 1 + 1,  # New York in Danish, in English
        fluent_mlama.REASONS["stops"]: 1,
    }


def test_english_alone_is_that_of_all_files(mirror):
    found = read_facts(mirror, ["en"])
    assert found.facts.height == 5
    assert set(found.labels["language"]) == {"en"}
    assert found.prompts.is_empty()


@pytest.fixture(scope="module")
def real(upstream):
    return read_facts(upstream)


def test_real_counts(real, upstream):
    assert real.repairs[fluent_mlama.REASONS["errors"]] == 3_204
    assert real.repairs[fluent_mlama.REASONS["no_form"]] == 40
    assert real.repairs[fluent_mlama.REASONS["lists"]] == 20_301
    assert real.repairs[fluent_mlama.REASONS["stops"]] == 19
    assert CONTRADICTIONS not in real.repairs
    # rows by language, without the two excluded kinds
    assert dict(real.prompts.group_by("language").len().iter_rows()) == {
        "cs": 4269 - 308 - 3,
        "da": 3183 - 256 - 2,
        "es": 5389 - 431,
        "hr": 2152 - 195 - 8,
        "id": 2023 - 163 - 25,
        "ru": 9063 - 617 - 1,
        "uk": 4463 - 287 - 1,
        "vi": 1501 - 304,
        "zh": 3453 - 643,
    }
    assert real.facts.height == 11_307


def test_one_template_for_each_of_the_107_files_and_for_english(real):
    assert real.templates.height == 107 + 19
    relations = {
        language: set(real.templates.filter(language=language)["relation"])
        for language in fluent_mlama.LANGUAGES
    }
    assert len(relations["en"]) == len(relations["ru"]) == 19
    assert {len(relations[language]) for language in ("cs", "hr", "uk")} == {16}
    for language in ("da", "es", "id", "vi", "zh"):
        expected = {"P103", "P108", "P159", "P19", "P36", "P364", "P407", "P740"}
        assert relations[language] == expected
    for slot in ("[X]", "[Y]"):
        assert (real.templates["template"].str.count_matches(slot, literal=True) == 1).all()


def test_filled_templates_come_out_as_released(real, upstream):
    """Each template, filled with the labels, is the released sentence except for doubled labels."""
    records = list(fluent_mlama.read_translations_of(upstream, fluent_mlama.TRANSLATED))
    assert len(records) == 35_496
    templates = {row[:2]: row[3] for row in real.templates.iter_rows()}
    for r in records:
        template = templates[r.language, r.relation]
        assert template.replace("[X]", r.sub_label).replace("[Y]", r.obj_label) == r.template


def test_prompts_are_whole_sentences(real):
    counts = real.prompts["prompt"].str.count_matches("[Y]", literal=True)
    assert (counts == 1).all()
    assert (real.prompts["form"].str.len_chars() > 0).all()
    assert real.prompts.join(real.facts, on=list(FACTS), how="anti").is_empty()
