"""All configurations of a BMLAMA of three rows, with matching mParaRel and X-FACTR."""

import pyarrow.parquet as pq
import pytest

from polyprobe.builder.build import build_dataset
from polyprobe.builder.recipes import RECIPES
from polyprobe.system.messages import PolyprobeError
from tests.builder.tiny_repaired import sources

__all__ = ["sources"]


def read(folder, config, language):
    return pq.read_table(folder / "data" / config / f"{language}.parquet").to_pylist()


def test_all_configurations_are_built(sources, tmp_path, capsys):
    folder = build_dataset("bmlama", mirror=sources, output=tmp_path / "out")
    assert sorted(p.name for p in (folder / "data").iterdir()) == sorted(RECIPES["bmlama"].configs)
    oslo, krone = read(folder, "17-repaired", "en")
    assert (oslo["fact_id"], oslo["published_row"]) == ("P17:Q585:Q20", "17:0001")
    assert sorted(zip(oslo["candidate_ids"], oslo["candidates"], strict=True)) == [
        ("Q20", "Norway"),
        ("Q419", "Peru"),
    ]
    # Lima has no wrong country left: its row is removed.
    assert (krone["fact_id"], krone["published_row"]) == ("P127:Q1:Q20", "17:0003")
    assert sorted(krone["candidate_ids"]) == ["Q20", "Q419", "Q657"]
    assert "17-repaired: 1 of 3 published rows excluded" in capsys.readouterr().err
    for language, norway in (("en", "Norway"), ("he", "נורווגיה"), ("zh", "挪威")):
        for row in read(folder, "53-repaired", language):
            assert row["candidates"][row["candidate_ids"].index("Q20")] == norway
            assert [row["candidates"][i] for i in row["answers"]] == [norway]
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "| `17-repaired` | 3 | 2 | 2 | 2.50 | 2 | 3 |" in card


def test_entries_have_one_form_in_all_languages(sources, tmp_path):
    folder = build_dataset("bmlama", ["17-repaired-entries"], sources, tmp_path / "out")
    prompts = {
        language: [row["prompt"] for row in read(folder, "17-repaired-entries", language)]
        for language in ("en", "he", "zh")
    }
    assert prompts["en"] == ["Oslo (country: [Y]).", "krone (owner: [Y])."]
    assert prompts["he"] == ['או"סלו (מדינה: [Y]).', "קרונה (בעלים: [Y])."]
    assert prompts["zh"] == ["奥斯陆（国家：[Y]）。", "克朗（所有者：[Y]）。"]
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "| `en` | 1.00 | 1.00 |" in card


def test_a_repaired_configuration_can_be_taken_back(sources, tmp_path):
    folder = build_dataset("bmlama", mirror=sources, output=tmp_path / "out")
    for language in ("en", "he", "zh"):
        published = {row["fact_id"]: row for row in read(folder, "17", language)}
        for row in read(folder, "17-repaired", language):
            before = published[row["published_row"]]
            assert row["answer_forms"] == before["answer_forms"]
            assert row["relation"] == before["relation"]


def test_what_is_missing_is_named_and_what_is_built_stays(sources, tmp_path):
    (sources / "m__p@0123456789ab.zip").unlink()
    with pytest.raises(PolyprobeError, match=r"^no archive m__p@0123456789ab.zip in the mirror"):
        build_dataset("bmlama", mirror=sources, output=tmp_path / "out")
    assert [p.name for p in sorted((tmp_path / "out" / "data").iterdir())] == ["17", "53"]
