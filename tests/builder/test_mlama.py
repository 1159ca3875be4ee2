import hashlib
import io
import json
import zipfile

import polars as pl
import pytest

from polyprobe.builder.facts import FACTS, LABELS, TEMPLATES, Facts
from polyprobe.builder.facts.labels import CONTRADICTIONS
from polyprobe.builder.sources import bmlama as bmlama_files
from polyprobe.builder.sources import mlama
from polyprobe.system.messages import PolyprobeError

BIRTH, DEATH = mlama.GOOGLE_RE
# (lineid, sub_uri, sub_label, obj_uri, obj_label) by language and relation; `None`: no such key.
TRIPLES = {
    ("en", "P36"): [(0, "Q419", "Peru", "Q2868", "Lima"), (1, "Q20", "Norway", "Q585", "Oslo")],
    ("fr", "P36"): [(0, "Q419", "Pérou\xa0", "Q2868", "Lima"), (1, "Q20", "", "Q585", "Oslo")],
    ("en", BIRTH): [
        (3, None, "Ann", None, "Rome"),
        (4, None, "Ben", None, "Rome"),
        (5, "/m/05", "Cid", "/m/06", "Lima"),
        (6, None, "Dan", None, "Dan"),
    ],
    ("fr", BIRTH): [
        (3, None, "Anne", None, "Rome"),
        (5, "/m/05", "Cid", "/m/06", "Lima"),
        (6, None, "Dan", None, "Dan"),
        (9, None, "Eve", None, "Nice"),
    ],
    ("en", "P31"): [(0, "Q1", "universe", "Q1", "universe")],  # equal and correct
}
TEMPLATES_GIVEN = {
    "en": [
        ("P36", "The capital of [X] is [Y] ."),
        ("P31", "[X] is one [X] ."),
        (BIRTH, "[X] was born in [Y] ."),
        ("date_of_birth", "[X] (born [Y])."),
    ],
    "fr": [
        ("P36", "[Y] capitale"),
        ("P36", "La capitale de [Х] est [y]."),  # a Cyrillic letter
        (BIRTH, "[X] est né à\xa0[Y] ."),
    ],
}
ROME = "mlama:place_of_birth:Rome"
KEYS = ("lineid", "sub_uri", "sub_label", "obj_uri", "obj_label")


def write_lines(records) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def write_zip(languages=("en", "fr")) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for language in languages:
            given = TEMPLATES_GIVEN[language]
            text = write_lines({"relation": name, "template": text} for name, text in given)
            archive.writestr(f"mlama1.1/{language}/templates.jsonl", text)
            for relation in mlama.RELATIONS:
                rows = [
                    {"uuid": f"{relation}-{row[0]}"} | dict(zip(KEYS, row, strict=True))
                    for row in TRIPLES.get((language, relation), ())
                ]
                rows = [{k: v for k, v in row.items() if v is not None} for row in rows]
                archive.writestr(f"mlama1.1/{language}/{relation}.jsonl", write_lines(rows))
    return content.getvalue()


def use(monkeypatch, content: bytes) -> None:
    monkeypatch.setattr(mlama, "SHA256", hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(mlama, "LANGUAGES", ("en", "fr"))


@pytest.fixture
def mirror(monkeypatch, tmp_path):
    content = write_zip()
    use(monkeypatch, content)
    (tmp_path / "mlama1.1.zip").write_bytes(content)
    return tmp_path


def test_names_are_those_that_bmlama_was_made_of():
    assert len(mlama.LANGUAGES) == 53
    assert len(mlama.RELATIONS) == 41 + 2
    assert set(mlama.RELATIONS) == {relation for relation, *_ in bmlama_files.BLOCKS} | {
        BIRTH,
        DEATH,
    }


def test_facts_have_wikidatas_ids_freebases_or_our_own(mirror):
    facts = mlama.read_facts(mirror).facts
    assert facts.schema == pl.Schema(FACTS)
    assert facts.rows() == [
        ("P31", "Q1", "Q1"),
        ("P36", "Q20", "Q585"),
        ("P36", "Q419", "Q2868"),
        (BIRTH, "mlama:/m/05", "mlama:/m/06"),
        (BIRTH, "mlama:place_of_birth:3", ROME),  # one id for Rome in both rows
        (BIRTH, "mlama:place_of_birth:4", ROME),
    ]


def test_labels_in_each_language(mirror):
    labels = mlama.read_facts(mirror, ["fr"]).labels
    assert labels.schema == pl.Schema(LABELS)
    assert labels.rows() == [
        ("fr", "Q2868", "Lima"),
        ("fr", "Q419", "Pérou"),
        ("fr", "mlama:/m/05", "Cid"),
        ("fr", "mlama:/m/06", "Lima"),
        ("fr", "mlama:place_of_birth:3", "Anne"),
        ("fr", ROME, "Rome"),
    ]


def test_templates_are_repaired(mirror):
    templates = mlama.read_facts(mirror).templates
    assert templates.schema == pl.Schema(TEMPLATES)
    assert templates.rows() == [
        ("en", "P36", "mlama:P36:0", "The capital of [X] is [Y]."),
        ("en", BIRTH, "mlama:place_of_birth:0", "[X] was born in [Y]."),
        ("fr", "P36", "mlama:P36:0", "La capitale de [X] est [Y]."),
        ("fr", BIRTH, "mlama:place_of_birth:0", "[X] est né à [Y]."),
    ]


REPAIRS = {
    mlama.REASONS["untidy"]: 1,  # Pérou
    mlama.REASONS["unlabelled"]: 1,  # Norway in French
    mlama.REASONS["repeated"]: 2,  # Dan, twice
    mlama.REASONS["unknown"]: 1,  # Eve: English has no line 9
    mlama.REASONS["no_id"]: 3 + 2,
    mlama.REASONS["slot_repaired"]: 1,
    mlama.REASONS["slot_lost"]: 1,
    mlama.REASONS["blank"]: 3,  # the capital, and the births
    mlama.REASONS["twice"]: 1,
}


def test_repairs_are_counted(mirror):
    assert mlama.read_facts(mirror).repairs == REPAIRS


def test_contradictory_labels_are_counted(monkeypatch, tmp_path):
    row = TRIPLES["en", "P36"][0]
    again = [(7 + n, *row[1:4], label) for n, label in enumerate(["Lyma", "Lima"])]
    monkeypatch.setitem(TRIPLES, ("en", "P36"), [*TRIPLES["en", "P36"], *again])
    content = write_zip()
    use(monkeypatch, content)
    (tmp_path / "mlama1.1.zip").write_bytes(content)
    facts = mlama.read_facts(tmp_path, ["en"])
    assert facts.repairs[CONTRADICTIONS] == 1
    assert facts.labels.filter(id="Q2868")["label"].to_list() == ["Lima"]  # 2 rows to 1


def same(one: Facts, other: Facts) -> bool:
    tables = [facts._replace(repairs=pl.DataFrame()) for facts in (one, other)]
    return all(a.equals(b) for a, b in zip(*tables, strict=True))


def test_a_mirror_without_the_archive_names_its_address(tmp_path):
    with pytest.raises(PolyprobeError, match="no archive mlama1.1.zip in the mirror folder .*; d"):
        mlama.read_facts(tmp_path)


def test_another_archive_is_refused_with_both_sums(mirror):
    expected = mlama.SHA256
    (mirror / "mlama1.1.zip").write_bytes(b"x")
    with pytest.raises(PolyprobeError, match=f"expected SHA-256 {expected}, got 2d711642b7"):
        mlama.read_facts(mirror)


def test_download_is_cached(server, monkeypatch, mirror):
    content = (mirror / "mlama1.1.zip").read_bytes()
    monkeypatch.setattr(mlama, "URL", f"http://127.0.0.1:{server.server_port}/x/mlama1.1.zip")
    server.contents["/x/mlama1.1.zip"] = content
    assert same(mlama.read_facts(None), mlama.read_facts(mirror))
    mlama.read_facts(None)
    assert server.requests == ["/x/mlama1.1.zip"]


def test_download_with_another_content_is_refused(server, monkeypatch, mirror):
    monkeypatch.setattr(mlama, "URL", f"http://127.0.0.1:{server.server_port}/x/mlama1.1.zip")
    server.contents["/x/mlama1.1.zip"] = b"a page about maintenance"
    with pytest.raises(PolyprobeError, match="mlama1.1.zip: SHA256 hash of downloaded file"):
        mlama.read_facts(None)


def test_home_that_is_not_reached_names_the_mirror(monkeypatch, tmp_path):
    monkeypatch.setattr(mlama, "URL", "http://127.0.0.1:9/mlama/mlama1.1.zip")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(PolyprobeError, match=r"folder with mlama1\.1\.zip as --mirror"):
        mlama.read_facts(None)
