"""The audit of BMLAMA as published, compared with SPEC."""

import zipfile

import pytest

from polyprobe.builder.audit import audit_tables
from polyprobe.builder.recipes.bmlama import build
from polyprobe.builder.sources.bmlama import REPOSITORY, read_raw

pytestmark = pytest.mark.acceptance


def audit(config, mirror, languages=None):
    tables = build(config, mirror)
    return audit_tables({x: tables[x] for x in languages or tables}, f"bmlama/{config}")


@pytest.fixture(scope="module")
def small(upstream):
    return audit("17", upstream)


NOT_PARALLEL = {
    "ar": 1288, "ca": 1182, "el": 1858, "en": 0, "es": 847, "fa": 1742, "fr": 969, "he": 1370,
    "hu": 1407, "ja": 1636, "ko": 1301, "nl": 1301, "ru": 1301, "tr": 1301, "uk": 1407, "vi": 1446,
    "zh": 1407,
}  # fmt: skip


def test_rows_that_are_not_parallel(small):
    assert (small.rows, small.rows_parallel_in_all, small.rows_with_ids) == (6792, 4720, 0)
    assert {
        name: own["rows_not_parallel_to_en"] for name, own in small.languages.items()
    } == NOT_PARALLEL
    strict = {name: own["rows_not_parallel_to_en_strict"] for name, own in small.languages.items()}
    assert (strict["el"], strict["es"]) == (1872, 859)
    assert {own["candidates_not_judged"] for own in small.languages.values()} == {0}


def test_ceiling_against_english(small):
    assert small.ceiling.standard_error < 0.0005
    assert small.ceiling.random["el-en"] == pytest.approx(0.8900, abs=0.0008)
    assert small.ceiling.answer_first["el-en"] == pytest.approx(0.9760, abs=0.0005)
    assert small.ceiling.random["en-es"] == pytest.approx(0.9672, abs=0.0008)
    assert small.ceiling.answer_first["en-es"] == pytest.approx(0.9928, abs=0.0005)
    assert len(small.ceiling.random) == 17 * 16 / 2


def test_answers_are_last_with_second_ones_beside_them(small):
    english = small.languages["en"]
    assert english["rows_with_second_answer"] == 1026
    assert english["answers_last"] == 6792
    assert english["answer_position_p_value"] < 1e-100
    assert small.symmetric == {"P530": 996, "P190": 977, "P47": 642}


def test_the_other_configuration(upstream):
    large = audit("53", upstream, ["ar", "el", "en", "es", "hy", "zh"])
    english = large.languages["en"]
    assert english["rows_with_second_answer"] == 956
    assert english["rows_with_one_candidate"] == 34
    not_parallel = {own["rows_not_parallel_to_en"] for own in large.languages.values()}
    assert not_parallel == {0, 291}  # Georgia, in P47 only
    assert large.rows_parallel_in_all == 3070 - 291


def test_the_released_files_give_the_same(upstream, small, tmp_path):
    root = f"{REPOSITORY.name.partition('/')[2]}-{REPOSITORY.commit}"
    with zipfile.ZipFile(upstream / REPOSITORY.archive) as archive:
        for language in ("en", "el", "zh"):
            path = next(p for p in REPOSITORY.sha256 if p.endswith(f"BMLAMA17/{language}.tsv"))
            (tmp_path / f"{language}.tsv").write_bytes(archive.read(f"{root}/{path}"))
    raw = audit_tables(read_raw(tmp_path), "raw")
    for language, own in raw.languages.items():
        assert own == small.languages[language]
    assert raw.symmetric == small.symmetric  # the relations were recovered
