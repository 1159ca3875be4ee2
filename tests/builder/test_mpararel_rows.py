"""`polyprobe build mpararel`: the rows of the release, and their counts."""

import json
from itertools import product

import pyarrow.parquet as pq
import pytest
from huggingface_hub import DatasetCard

from polyprobe.builder.build import build_dataset
from polyprobe.builder.recipes import RECIPES
from polyprobe.builder.recipes import mpararel as recipe
from polyprobe.builder.recipes.mpararel import build
from polyprobe.builder.sources import mpararel
from polyprobe.cli.analyses import audit as audit_command
from polyprobe.schema.columns import FLAGGED, RELEASED, check
from tests.builder.tiny_mpararel import PATTERNS, REVIEWED_LINES, TUPLES, release


@pytest.fixture
def mirror(monkeypatch, tmp_path):
    folder = tmp_path / "mirror"
    folder.mkdir()
    return release(folder, monkeypatch)


def test_languages_are_those_with_patterns():
    paths = [path.split("/") for path in mpararel.REPOSITORY.sha256]
    assert sorted({path[3] for path in paths if path[2] == "patterns"}) == list(
        RECIPES["mpararel"].configs
    )


@pytest.mark.parametrize("language", ["en", "fr", "zh-hans", "zh-hant"])
def test_every_tuple_in_every_pattern_of_its_relation(mirror, language):
    rows = build(language, mirror)[language].to_pylist()
    expected = [
        (
            f"{relation}:{subject_id}:{object_id}",
            pattern.replace("[X]", subject),
            f"mpararel:{relation}:{number}",
            [answer],
        )
        for relation in ("P30", "P36")
        for (subject_id, subject, object_id, answer), (number, pattern) in product(
            TUPLES.get(f"{language}/{relation}", ()),
            enumerate(PATTERNS.get(f"{language}/{relation}", ())),
        )
    ]
    keys = ("fact_id", "prompt", "template_id", "candidates")
    assert [tuple(row[key] for key in keys) for row in rows] == expected
    assert {tuple(row["answers"]) for row in rows} == {(0,)}


def test_patterns_are_not_repaired_and_reviewed_ones_are_marked(mirror):
    rows = build("fr", mirror)["fr"].to_pylist()
    assert {row["prompt"]: row["reviewed"] for row in rows} == {
        "\xa0Tchad est\u200b en [Y]": False,
        "[ Pérou ] a pour capitale [Y]": False,
        "(y], Pérou [Y]": True,
        "Pérou a pour capitale [Y]": False,
    }
    assert rows[0]["answer_forms"] == rows[0]["candidates"] == ["Afrique"]
    assert rows[0]["candidate_ids"] == [rows[0]["object_id"]] == ["Q6"]


def test_a_subject_may_hold_the_letters_of_a_slot(monkeypatch, tmp_path):
    tuples = {"en/P36": [("Q1", "X $1 [x]", "Q2", "Y")]}
    folder = release(tmp_path, monkeypatch, tuples)
    prompts = build("en", folder)["en"]["prompt"].to_pylist()
    assert prompts == ["the capital of X $1 [x] is [Y]", "[Y] is the capital of X $1 [x]"]


def test_the_folder_has_valid_rows_and_a_card_with_the_counts(mirror, tmp_path):
    folder = build_dataset("mpararel", ["en", "fr", "zh-hant"], mirror, tmp_path / "built")
    for language in ("en", "fr", "zh-hant"):
        path = folder / "data" / language / f"{language.replace('-', '_')}.parquet"
        table = pq.read_table(path)
        check({language: table}, language)
        columns = [field for field in FLAGGED if field.name != "flags"]
        assert list(table.schema) == [*columns, RELEASED.field("reviewed")]
    text = DatasetCard.load(folder / "README.md").text
    assert "| `en` | 1 | 2 | 0 | 2 | 4 | 4 | 100.00 |" in text
    assert "| `fr` | 2 | 4 | 1 | 2 | 4 | 4 | 100.00 |" in text
    assert "| all | – | 9 | 1 | 6 | 12 | 12 | – |" in text  # one template of zh-hant has no tuple
    assert "`unasked`: tuples of relations without templates, which are no rows" in text
    assert "- `stops`: templates that end in a full stop (none)" in text
    assert "| `fr` | 2 | 1 | 1 | 0 |" in text  # brackets, twins, blanks, unasked
    assert "`zh_hant`" not in text


@pytest.fixture(scope="module")
def released(upstream):
    """The counts of all languages, from the tuples and patterns alone."""
    counts = {}
    for language in RECIPES["mpararel"].configs:
        tuples = mpararel.read_tuples(upstream, [language])
        patterns = mpararel.read_patterns(upstream, language)
        sizes = tuples.join(patterns, on="relation").height
        counts[language] = {
            **recipe.count_patterns(patterns),
            **recipe.count_tuples(tuples, patterns),
            "rows": sizes,
        }
    return counts


@pytest.mark.acceptance
def test_counts_of_the_release(released):
    total = {name: sum(own[name] for own in released.values()) for name in released["en"]}
    assert (total["rows"], total["templates"], total["relations"]) == (6_194_163, 15_794, 1_708)
    rows = {language: released[language]["rows"] for language in ("en", "fr", "is")}
    assert (total["kept"], released["en"]["kept"]) == (4_978_623, 236_239)
    assert rows == {"en": 262_583, "fr": 320_635, "is": 52_618}
    assert min(own["rows"] for own in released.values()) == rows["is"]  # 20.04 % of English
    lines = {x: (own["reviewed"], own["templates"]) for x, own in released.items()}
    assert {x: pair for x, pair in lines.items() if pair[0]} == REVIEWED_LINES
    languages = ("en", "fr", "ja", "zh-hans")
    kinds = ("objects_by_label", "objects_by_id", "same_labels")
    assert [[released[x][kind] for x in languages] for kind in kinds] == [
        [3_484, 3_372, 3_133, 2_426],
        [3_235, 3_057, 3_089, 2_394],
        [21, 22, 12, 5],
    ]


@pytest.fixture(scope="module")
def built(upstream, tmp_path_factory):
    """All 46 configurations."""
    return build_dataset("mpararel", (), upstream, tmp_path_factory.mktemp("built") / "mpararel")


@pytest.mark.acceptance
def test_the_committed_card_is_the_generated_one(built):
    ours = mpararel.Path(__file__).parents[2] / "datasets" / "mpararel"
    for name in ("README.md", "eval.yaml"):
        assert (ours / name).read_bytes() == (built / name).read_bytes()


@pytest.mark.acceptance
def test_templates_of_the_release(built, tmp_path):
    """The six figures of table 1; the paper prints 9.2 and 13.9."""
    file = tmp_path / "templates.json"
    audit_command(dataset=str(built), templates=True, json_file=file)
    figures = json.loads(file.read_text())
    assert len(figures) == 46 + 1
    mean = figures["mean"]
    assert (mean["fewest"], mean["most"], mean["unread"]) == (2, 33, 0)
    rounded = {name: round(mean[name], 3) for name in ("relations", "templates", "mean")}
    assert rounded == {"relations": 37.13, "templates": 343.348, "mean": 9.247}
    assert round(mean["distance"], 2) == 13.98
