import io
import json
import re
import zipfile
from collections import Counter
from itertools import groupby

import pandas as pd
import pyarrow.parquet as pq
import pytest

from polyprobe.builder.recipes.bmlama import build
from polyprobe.builder.sources import bmlama as bmlama_files
from polyprobe.builder.sources.bmlama import (
    PUBLISHED,
    REPOSITORY,
    Columns,
    parse_columns,
    read_published,
)
from tests.builder.tiny import HEAD, TINY

ROWS = {"17": 6792, "53": 3070}
LANGUAGES = {"17": 17, "53": 53}
RELATIONS = {"17": 41, "53": 30}


def test_tiny_rows_are_as_published(tiny):
    tables = build("53", tiny)
    built = {language: table.to_pylist() for language, table in tables.items()}
    assert list(built) == ["en", "he", "zh"]
    assert built["en"][2] == {
        "fact_id": "53:0003",
        "relation": "P127",
        "subject_id": "",
        "object_id": "",
        "subject": "krone",
        "prompt": "In [Y] they pay in krone.",
        "candidates": ["Chad", "Peru", "Norway"],
        "candidate_ids": [],
        "answers": [2],
        "answer_forms": ["Norway"],
        "template_id": "P127",
    }
    assert [row["relation"] for row in built["he"]] == ["P17", "P17", "P127"]
    assert built["he"][0]["subject"] == 'או"סלו'
    assert built["he"][1]["prompt"] == 'לי"מה ב[Y].'
    assert built["he"][2]["candidates"] == ['צ"אד', "פרו", "נורווגיה"]
    assert built["zh"][1]["prompt"] == "利马 在[Y]\u00a0"  # nothing is stripped


def test_separators_of_other_scripts_end_no_line():
    text = HEAD + "a\u2028b\x85 <mask>\tc\td, c\ta\r\n"
    read = parse_columns(text.encode())
    assert read == Columns(["a\u2028b\x85 [Y]"], ["c"], [("d", "c")], ["a"])


def test_changed_files_fail_loudly(tiny, monkeypatch):
    texts = TINY | {"en": TINY["en"].replace("Lima lies in", "Lima stands in")}
    assert texts != TINY
    contents = [texts[language].encode() for language in sorted(texts)]
    monkeypatch.setattr(bmlama_files, "read_files", lambda *_: iter(contents))
    with pytest.raises(ValueError, match=r"have \[1, 1, 1\] rows, expected \[\('P17', 2\)"):
        read_published("17", tiny)


def read_released(upstream, config, language) -> list[tuple[str, str, str, str]]:
    """Read with pandas' parser, independently of our code."""
    with zipfile.ZipFile(upstream / REPOSITORY.archive) as zipball:
        path = f"1_easyrun/BMLAMA{config}/{language}.tsv"
        content = zipball.read(f"Cross-Lingual-Consistency-{REPOSITORY.commit}/{path}")
    frame = pd.read_csv(
        io.BytesIO(content), sep="\t", header=None, skiprows=1, dtype=str, keep_default_na=False
    )
    return list(frame.itertuples(index=False, name=None))


def read_built(bmlama, config, language) -> list[dict]:
    return pq.read_table(bmlama / "data" / config / f"{language}.parquet").to_pylist()


@pytest.mark.parametrize("config", PUBLISHED)
def test_every_character_is_as_published(bmlama, upstream, config):
    languages = sorted(path.stem for path in (bmlama / "data" / config).glob("*.parquet"))
    assert len(languages) == LANGUAGES[config]
    for language in languages:
        rows = read_built(bmlama, config, language)
        ours = [
            (
                row["prompt"].replace("[Y]", "<mask>"),
                *row["answer_forms"],
                ", ".join(row["candidates"]),
                row["subject"],
            )
            for row in rows
        ]
        assert ours == read_released(upstream, config, language)
        assert len(rows) == ROWS[config]
        assert all(row["answers"] == [len(row["candidates"]) - 1] for row in rows)  # the last
        assert all(row["candidates"][-1:] == row["answer_forms"] for row in rows)


@pytest.mark.parametrize("config", PUBLISHED)
def test_splits_share_what_they_must(bmlama, config):
    columns = ["fact_id", "relation", "answers", "template_id"]
    paths = sorted((bmlama / "data" / config).glob("*.parquet"))
    first, *others = (pq.read_table(path, columns=columns) for path in paths)
    assert all(other.equals(first) for other in others)
    ids = first["fact_id"].to_pylist()
    assert ids == [f"{config}:{number:04}" for number in range(1, ROWS[config] + 1)]


@pytest.mark.parametrize(
    ("config", "mean", "fewest", "single", "quoted"),
    [("17", 9.71, 2, 0, 144), ("53", 9.56, 1, 34, 47)],
)
def test_published_figures(bmlama, upstream, config, mean, fewest, single, quoted):
    rows = read_built(bmlama, config, "en")
    sizes = [len(row["candidates"]) for row in rows]
    assert round(sum(sizes) / len(sizes), 2) == mean
    assert (min(sizes), max(sizes), sizes.count(1)) == (fewest, 10, single)
    hebrew = read_built(bmlama, config, "he")
    fields = (" ".join([row["prompt"], row["subject"], *row["candidates"]]) for row in hebrew)
    assert sum('"' in text for text in fields) == quoted


@pytest.mark.parametrize(("config", "total", "most"), [("17", 1490, 977), ("53", 2733, 970)])
def test_invisible_characters(bmlama, config, total, most):
    """The count of FINDINGS, which includes joiners required by spelling."""
    invisible = re.compile("[\u00a0\u202f\u200b-\u200f\u2060\ufeff]")
    counts = [
        sum(map(bool, map(invisible.search, pq.read_table(path)["prompt"].to_pylist())))
        for path in (bmlama / "data" / config).glob("*.parquet")
    ]
    assert (sum(counts), max(counts)) == (total, most)


def test_skew_of_53(bmlama):
    relations = Counter(row["relation"] for row in read_built(bmlama, "53", "en"))
    symmetric = relations["P530"] + relations["P190"] + relations["P47"]
    assert (symmetric, round(symmetric / 3070, 2)) == (966 + 804 + 423, 0.71)


# Rows of each block that mParaRel's English tuples contain under the block's relation
# (FINDINGS section 3); their sum is 6,543 of 6,792.
MATCHED_17 = {
    "P530": 994, "P190": 919, "P47": 633, "P37": 584, "P36": 318, "P527": 263, "P1376": 205,
    "P361": 261, "P30": 194, "P101": 165, "P279": 113, "P138": 137, "P937": 147, "P103": 128,
    "P140": 115, "P407": 82, "P463": 81, "P1412": 102, "P39": 108, "P178": 73, "P276": 96,
    "P1001": 78, "P17": 63, "P20": 78, "P127": 44, "P159": 46, "P131": 44, "P27": 54, "P176": 28,
    "P106": 46, "P740": 35, "P413": 45, "P495": 30, "P136": 49, "P1303": 45, "P264": 23,
    "P364": 25, "P31": 30, "P19": 35, "P108": 16, "P449": 11,
}  # fmt: skip


@pytest.fixture(scope="session")
def tuples(upstream) -> dict[str, set[tuple[str, str]]]:
    """mParaRel's English (subject label, object label) pairs by relation."""
    with zipfile.ZipFile(upstream / "coastalcph__mpararel@7153b7bdc869.zip") as zipball:
        names = [name for name in zipball.namelist() if "reviewed/tuples/en/P" in name]
        lines = {
            name.rpartition("/")[2].removesuffix(".jsonl"): io.BytesIO(zipball.read(name))
            for name in names
        }
    return {
        relation: {(t["sub_label"], t["obj_label"]) for t in map(json.loads, text)}
        for relation, text in lines.items()
    }


def count_matches(bmlama, tuples, config) -> dict[str, Counter]:
    """Count, for each block, the rows that each relation of mParaRel contains."""
    rows = read_built(bmlama, config, "en")
    counts = {}
    for relation, block in groupby(rows, key=lambda row: row["relation"]):
        assert relation not in counts  # one block per relation
        pairs = [(row["subject"], *row["answer_forms"]) for row in block]
        counts[relation] = Counter(
            {other: sum(pair in known for pair in pairs) for other, known in tuples.items()}
        )
    return counts


@pytest.mark.parametrize("config", PUBLISHED)
def test_mpararel_confirms_the_relation_of_every_block(bmlama, tuples, config):
    counts = count_matches(bmlama, tuples, config)
    assert len(counts) == RELATIONS[config]
    for relation, matches in counts.items():
        (best, most), (_, next_most) = matches.most_common(2)
        assert best == relation
        assert most > 2 * next_most or next_most == 1


def test_matched_rows_are_those_found_before(bmlama, tuples):
    counts = count_matches(bmlama, tuples, "17")
    assert {relation: matches[relation] for relation, matches in counts.items()} == MATCHED_17
    assert sum(MATCHED_17.values()) == 6543
