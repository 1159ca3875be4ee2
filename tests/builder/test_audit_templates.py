"""`polyprobe audit DATASET --templates`."""

import json
from functools import cache
from statistics import fmean

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from polyprobe.builder.audit.tables import read_template, tally_templates
from polyprobe.builder.build import build_dataset
from polyprobe.cli.analyses import audit
from polyprobe.system.messages import PolyprobeError
from tests.builder.tiny_mpararel import PATTERNS, release


def edit(one: str, other: str) -> int:
    """Levenshtein's distance by its definition."""

    @cache
    def distance(i: int, j: int) -> int:
        if not i or not j:
            return i or j
        change = distance(i - 1, j - 1) + (one[i - 1] != other[j - 1])
        return min(change, distance(i - 1, j) + 1, distance(i, j - 1) + 1)

    return distance(len(one), len(other))


def make_table(rows) -> pa.Table:
    names = ("relation", "template_id", "prompt", "subject")
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows])


ROWS = [
    ("P36", "a", "the capital of Peru is [Y]", "Peru"),
    ("P36", "b", "Peru: [Y]", "Peru"),
    ("P36", "c", "[Y], Peru", "Peru"),
    ("P30", "a", "Peru is in [Y]", "Peru"),
    ("P36", "a", "the capital of the capital is [Y]", "the capital"),
]


def test_counts_by_hand():
    counts = tally_templates(make_table(ROWS), "tiny")
    texts = ("the capital of [X] is [Y]", "[X]: [Y]", "[Y], [X]")
    pairs = [edit(texts[i], texts[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert counts[:-2] == (2, 4, 1, 3, 2.0)  # relations, templates, fewest, most, mean
    assert counts.distance == fmean(pairs)
    assert counts.unread == 0


def test_a_subject_that_is_also_a_word_of_the_template_is_found_by_other_rows():
    pairs = [("is is in [Y]", "is"), ("Ulm is in [Y]", "Ulm")]
    assert read_template(pairs) == "[X] is in [Y]"
    assert read_template(reversed(pairs)) == "[X] is in [Y]"


def test_a_template_without_the_subject_is_counted_as_unread():
    rows = [*ROWS, ("P30", "b", "Перу в [Y]", "Перуы")]
    counts = tally_templates(make_table(rows), "tiny")
    assert (counts.templates, counts.unread) == (5, 1)
    assert counts.distance == tally_templates(make_table(ROWS), "tiny").distance


def test_missing_column_and_rows_are_named():
    table = make_table(ROWS)
    with pytest.raises(PolyprobeError, match="tiny has no column 'subject'"):
        tally_templates(table.drop(["subject"]), "tiny")
    with pytest.raises(PolyprobeError, match="tiny has no rows"):
        tally_templates(table.slice(0, 0), "tiny")


def test_all_configurations_are_counted(monkeypatch, tmp_path, capsys):
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    release(mirror, monkeypatch)
    folder = build_dataset("mpararel", ["en", "fr", "zh-hans"], mirror, tmp_path / "built")
    file = tmp_path / "templates.json"
    audit(dataset=str(folder), templates=True, json_file=file)
    figures = json.loads(file.read_text())
    assert list(figures) == ["en", "fr", "zh_hans", "mean"]
    first, second = PATTERNS["en/P36"]
    assert figures["en"]["distance"] == edit(first, second)
    # 2 of en, 1 + 3 of fr, 1 of zh-hans; relations 1, 2, 1
    assert figures["mean"]["mean"] == 7 / 4
    assert figures["mean"]["relations"] == pytest.approx(4 / 3)
    assert "edit distance" in capsys.readouterr().out
    audit(dataset=str(folder), config="fr", templates=True, json_file=file)
    assert list(json.loads(file.read_text())) == ["fr", "mean"]
    audit(dataset=str(folder), languages="zh-hans,fr", templates=True, json_file=file)
    assert list(json.loads(file.read_text())) == ["fr", "zh_hans", "mean"]
    with pytest.raises(PolyprobeError, match="unknown language 'is' in .*available: en, fr, zh_ha"):
        audit(dataset=str(folder), languages="en,is", templates=True)


def test_splits_are_those_of_the_card(tmp_path, capsys):
    """Files may have the names that `push_to_hub` of datasets gives them."""
    parts = []
    for config in ("a", "b"):
        (tmp_path / "data" / config).mkdir(parents=True)
        file = f"data/{config}/en-00000-of-00001.parquet"
        pq.write_table(make_table(ROWS), tmp_path / file)
        parts.append(f"- config_name: {config}\n  data_files:\n  - split: en\n    path: {file}\n")
    (tmp_path / "README.md").write_text(f"---\nconfigs:\n{''.join(parts)}---\n", encoding="utf-8")
    audit(dataset=str(tmp_path), languages="en", templates=True)
    assert "b en" in capsys.readouterr().out


def test_a_dataset_without_templates_is_refused_not_one_of_its_splits(tmp_path):
    def write(config, rows):
        (tmp_path / "data" / config).mkdir(parents=True, exist_ok=True)
        file = f"data/{config}/en.parquet"
        pq.write_table(make_table(rows), tmp_path / file)
        return f"- config_name: {config}\n  data_files:\n  - split: en\n    path: {file}\n"

    free = [("P36", "a", "Lima is in [Y]", "Peru"), ("P36", "a", "Ulm: [Y]", "Rome")]
    card = f"---\nconfigs:\n{write('free', free)}{write('ours', ROWS)}---\n"
    (tmp_path / "README.md").write_text(card, encoding="utf-8")
    file = tmp_path / "templates.json"
    audit(dataset=str(tmp_path), templates=True, json_file=file)
    assert json.loads(file.read_text())["free en"]["unread"] == 1
    write("ours", free)
    with pytest.raises(PolyprobeError, match="has no templates: no relation's prompts differ only"):
        audit(dataset=str(tmp_path), templates=True)


def test_counts_are_a_page_too(tmp_path):
    audit(dataset="geofacts", config="default", templates=True, page=tmp_path / "page.html")
    assert "edit distance" in (tmp_path / "page.html").read_text(encoding="utf-8")
