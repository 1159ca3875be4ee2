"""The templates on which the released translations of mParaRel agree."""

import hashlib

import pytest

from polyprobe.builder.recipes import RECIPES
from polyprobe.builder.recipes.mpararel import (
    build,
    compare_votes,
    read_wording,
    vote_for_templates,
)
from polyprobe.builder.sources import mpararel
from polyprobe.system.messages import PolyprobeError
from tests.builder.tiny import describe, pack
from tests.builder.tiny_mpararel import PATTERNS, REVIEWED_LINES, ROOT, TUPLES, write_lines

# (translator, relation): its lines, one for each English template.
GIVEN = {
    ("google", "P36"): ["La capitale de [x] est [y].", "[Y] est la capitale de [X]"],
    ("mbart50_en2m", "P36"): ["X a pour capitale Y.", "la  capitale de [ X ] est [Y]"],
    ("opus_mt", "P36"): ["[X], [Y]", "[Y] est [Y] de [X]"],
    ("m2m100_big", "P36"): ["[X], [Y].", "[Y] : capitale de [X]"],
    ("bing", "P30"): ["[X] est en [Y]"],
    ("google", "P31"): ["[X] est un [Y]"],
    ("bing", "P31"): ["[X] est un [Y]"],
}


@pytest.fixture
def mirror(monkeypatch, tmp_path):
    files = {
        f"{mpararel.TRANSLATED_ROOT}/pararel_{translator}/fr/{relation}.jsonl": [
            {"pattern": text, "lemma": "be"} for text in texts
        ]
        for (translator, relation), texts in GIVEN.items()
    }
    files |= {
        f"{ROOT}/patterns/{name}.jsonl": [
            {"pattern": text, "checked-by-human": False} for text in texts
        ]
        for name, texts in {**PATTERNS, "en/P30": ["[X] is in [Y]"]}.items()
    }
    keys = ("sub_uri", "sub_label", "obj_uri", "obj_label")
    files |= {
        f"{ROOT}/tuples/{name}.jsonl": [dict(zip(keys, row, strict=True)) for row in rows]
        for name, rows in TUPLES.items()
    }
    contents = {path: write_lines(records) for path, records in files.items()}
    repository = describe(contents)
    folders: dict[str, str] = {}
    for path in sorted(contents):
        folder, _, name = path.rpartition("/")
        folders[folder + "/"] = (
            folders.get(folder + "/", "") + f"{repository.sha256[path]}  {name}\n"
        )
    sums = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in folders.items()}
    rows = {path: digest for path, digest in repository.sha256.items() if ROOT in path}
    monkeypatch.setattr(mpararel, "REPOSITORY", repository._replace(sha256=rows))
    monkeypatch.setattr(mpararel, "TRANSLATED", repository._replace(sha256=sums))
    pack(tmp_path, repository, contents)
    return tmp_path


def test_two_translators_or_the_trusted_one(mirror):
    assert vote_for_templates(mirror, "fr").drop("reviewed").rows() == [
        ("P30", "mpararel-votes:P30:0", "[X] est en [Y]", ["bing"]),
        (
            *("P36", "mpararel-votes:P36:0", "la capitale de [X] est [Y]"),
            ["google", "mbart50_en2m"],  # given for different templates of the relation
        ),
    ]  # P31 is no relation of English


def test_rows_of_a_translated_configuration(mirror):
    rows = build("fr-translated", mirror)["fr"].to_pylist()
    assert [(row["prompt"], row["reviewed"]) for row in rows] == [
        ("\xa0Tchad est en [Y]", None),
        ("la capitale de Pérou est [Y]", None),
    ]


def test_a_changed_file_of_a_folder_is_refused(mirror, monkeypatch):
    sums = mpararel.TRANSLATED.sha256
    spoiled = {name: "0" if "google" in name else digest for name, digest in sums.items()}
    repository = mpararel.TRANSLATED._replace(sha256=spoiled)
    monkeypatch.setattr(mpararel, "TRANSLATED", repository)
    with pytest.raises(PolyprobeError, match="pararel_google/fr/: expected SHA-256 0, got"):
        mpararel.read_translations(mirror, "fr")


def test_a_missing_folder_is_named(mirror, monkeypatch):
    folder = f"{mpararel.TRANSLATED_ROOT}/pararel_bing/de/"
    repository = mpararel.TRANSLATED._replace(sha256={folder: "0"})
    monkeypatch.setattr(mpararel, "TRANSLATED", repository)
    with pytest.raises(PolyprobeError, match="missing in .*pararel_bing/de/"):
        mpararel.read_translations(mirror, "de")


@pytest.mark.parametrize(
    ("text", "wording"),
    [
        ("[X] IS [y]: a.", "[X] is [Y] a"),
        ("[ x ]は[ Y ]です。", "[X]は[Y]です"),
        ("[X] [Y]", ""),  # no word
        ("[X], 1 [Y]", "[X], 1 [Y]"),
        ("[X] is [Y] or [Y]", ""),
        ("[Х] - это [Y]", ""),  # Cyrillic
    ],
)
def test_read_wording(text, wording):
    assert read_wording(text) == wording


@pytest.fixture(scope="module")
def replay(upstream):
    return {
        language: compare_votes(
            vote_for_templates(upstream, language), mpararel.read_patterns(upstream, language)
        )
        for language in RECIPES["mpararel"].configs
        if language != "en"
    }


@pytest.mark.acceptance
def test_the_replay_gives_the_released_templates(replay):
    unreviewed = [counts for language, counts in replay.items() if language not in REVIEWED_LINES]
    assert len(unreviewed) == 34  # and English, which is not translated
    keys = ("agreed", "common", "released")
    assert [sum(counts[key] for counts in unreviewed) for key in keys] == [10_392, 10_320, 11_451]
    assert [replay["af"][key] for key in keys] == [338, 333, 341]
    assert [replay["zh-hant"][key] for key in keys] == [265, 264, 264]


@pytest.mark.acceptance
def test_share_of_released_templates_that_two_translators_give(replay):
    """The paper's footnote 5 says 60 %: of the translators' templates in its final dataset."""
    unreviewed = [counts for language, counts in replay.items() if language not in REVIEWED_LINES]
    for parts, n, of in ((unreviewed, 6_210, 10_320), ([*replay.values()], 8_475, 13_539)):
        assert sum(counts["by_two"] for counts in parts) == n
        assert sum(counts["common"] for counts in parts) == of
    assert (round(100 * 6_210 / 10_320, 1), round(100 * 8_475 / 13_539, 1)) == (60.2, 62.6)
    assert sum(counts["released"] for counts in replay.values()) == 15_466  # but the 328 English
