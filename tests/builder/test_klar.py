"""The dataset klar: on a small release, and the whole one against the released files."""

import json
import re
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from polyprobe.builder.build import build_dataset
from polyprobe.builder.recipes import klar as recipe
from polyprobe.schema.columns import Row, to_table
from polyprobe.system.messages import PolyprobeError
from tests.builder.tiny_klar import NAMES, mirror

__all__ = ["mirror"]

CARD = Path(__file__).parents[2] / "datasets" / "klar"


def test_each_fact_is_asked_in_each_template(mirror):
    rows = {x: table.to_pylist() for x, table in recipe.build("17", mirror).items()}
    assert list(rows) == ["en", "fa", "fr"]
    assert [(r["fact_id"], r["template_id"]) for r in rows["fa"]] == [
        (fact, f"klar:P36:{n}") for fact in ("17:0004", "17:0008") for n in range(5)
    ]
    assert rows["fr"][6] == {
        "fact_id": "17:0008",
        "relation": "P36",
        "subject_id": "",
        "object_id": "",
        "subject": "Pérou 7",
        "prompt": "1 Pérou 7? fr: [Y].",
        "candidates": ["Tchad", "Lima"],
        "candidate_ids": [],
        "answers": [1],
        "answer_forms": ["Lima"],
        "template_id": "klar:P36:1",
    }


def test_without_the_short_languages_all_relations(mirror):
    rows = recipe.build("15", mirror)
    assert list(rows) == ["en", "fr"]
    facts = ["17:0004"] * 5 + ["17:0008"] * 5 + ["17:0001"] * 5
    assert rows["en"]["fact_id"].to_pylist() == facts


def test_repaired_rows_have_the_subjects_and_candidates_of_bmlama(mirror, monkeypatch):
    def repair(config, mirror):
        assert config == "17-repaired"
        row = Row(
            fact_id="P36:Q419:Q2868",
            relation="P36",
            subject_id="Q419",
            object_id="Q2868",
            subject="Perú",
            prompt="",
            candidates=["Lima", "Quito"],
            candidate_ids=["Q2868", "Q2900"],
            answers=[0],
            answer_forms=["Lima"],
            template_id="P36",
            repairs=["template", "label"],
            published_row="17:0008",
        )
        return {key: to_table([row]) for key in NAMES}

    monkeypatch.setattr(recipe.bmlama, "build", repair)
    rows = recipe.build("17-repaired", mirror)["fa"].to_pylist()
    assert [row["prompt"] for row in rows] == [f"{n} Perú? fa: [Y]." for n in range(5)]
    [first, *_] = rows
    assert first["candidates"] == ["Lima", "Quito"]
    assert first["answers"] == [0]
    assert (first["fact_id"], first["published_row"]) == ("P36:Q419:Q2868", "17:0008")
    assert first["repairs"] == ["label"]  # the template is KLAR's


def test_a_changed_file_is_refused(mirror, monkeypatch):
    sums = dict.fromkeys(recipe.REPOSITORY.sha256, "00" * 32)
    monkeypatch.setattr(recipe, "REPOSITORY", recipe.REPOSITORY._replace(sha256=sums))
    with pytest.raises(PolyprobeError, match="data/en/"):
        recipe.build("17", mirror)


@pytest.mark.acceptance
def test_reworded_questions_are_ours_in_two_languages(upstream, released):
    """Every relation has five other questions; the rest of a row is as in the repaired one."""
    repaired, tables = (recipe.build(f"15-{x}", upstream) for x in ("repaired", "reworded"))
    assert list(tables) == list(repaired)
    for language, table in tables.items():
        ours, theirs = table.to_pylist(), repaired[language].to_pylist()
        if language not in ("fr", "ru"):
            assert ours == theirs
            continue
        texts = {x for of in released[language].values() for x in of["prompt_templates"]}
        questions = {}
        for row, base in zip(ours, theirs, strict=True):
            assert row | {"prompt": ""} == base | {"prompt": ""}
            text = row["prompt"].replace(row["subject"], "<subject>", 1).replace("[Y]", "<mask>")
            assert text.count("<mask>") == 1
            assert text not in texts
            questions[row["template_id"]] = text
        assert len(questions) == len({*questions.values()}) == 5 * 20
        # No preposition, article or contraction directly before the subject
        misfits = r"\b(de|du|à|la|le|des|pour|par|в|на|у|для) <subject>|['’]<subject>"
        assert not [x for x in questions.values() if re.search(misfits, x)]
        assert [x for x in texts if re.search(misfits, x)]


@pytest.fixture(scope="session")
def whole(upstream, tmp_path_factory):
    return build_dataset("klar", (), upstream, tmp_path_factory.mktemp("klar") / "klar")


@pytest.fixture(scope="session")
def released(upstream):
    """Return {language: {relation: released JSON}}, read again."""
    (path,) = upstream.glob("jvonrad__Lost-in-Mistranslation@*.zip")
    found: dict[str, dict] = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.endswith(".json") and "/KLAR-CLC/" in name:
                data = json.loads(archive.read(name))
                found.setdefault(name.split("/")[-2], {})[data["relation_id"]] = data
    return found


def read(folder, config, language):
    return pq.read_table(folder / "data" / config / f"{language}.parquet").to_pylist()


@pytest.mark.acceptance
def test_rows_are_the_released_ones(whole, released):
    for config, languages, facts in (("17", 17, 2_445), ("15", 15, 2_619)):
        paths = sorted((whole / "data" / config).glob("*.parquet"))
        assert len(paths) == languages
        for path in paths:
            made = set()
            for row in read(whole, config, path.stem):
                key = (row["relation"], int(row["fact_id"][3:]) - 1, row["subject"])
                text = (row["prompt"], ", ".join(row["candidates"]))
                made.add((*key, *text, row["candidates"][row["answers"][0]]))
            expected = set()
            english = {x["index"] for of in released["en"].values() for x in of["samples"]}
            for relation, data in released[path.stem].items():
                if config == "17" and relation in ("P407", "P740"):
                    continue
                for x in data["samples"]:
                    for template in data["prompt_templates"] if x["index"] in english else ():
                        before, *after = template.split("<subject>")
                        prompt = before + "".join(x["subject"] + part for part in after)
                        text = (prompt.replace("<mask>", "[Y]"), x["object_candidates"])
                        expected.add((relation, x["index"], x["subject"], *text, x["object"]))
            assert made == expected
            assert len(read(whole, config, path.stem)) == 5 * facts


@pytest.mark.acceptance
def test_repaired_rows_are_those_of_bmlama(whole, bmlama):
    for language in ("en", "zh", "fa"):
        own = {row["published_row"]: row for row in read(bmlama, "17-repaired", language)}
        rows = read(whole, "17-repaired", language)
        assert len(rows) == 5 * 2_445
        for row in rows:
            base = own[row["published_row"]]
            same = ("fact_id", "subject", "candidates", "candidate_ids", "answers", "flags")
            assert [row[name] for name in same] == [base[name] for name in same]
            assert row["subject"] in row["prompt"]
            assert row["prompt"].count("[Y]") == 1


@pytest.mark.acceptance
def test_the_defects_on_the_card(released):
    asked = [data["prompt_templates"] for of in released.values() for data in of.values()]
    assert len(asked) == 340
    assert sum(map(len, asked)) == 1_684
    assert sum(len(texts) - len(set(texts)) for texts in asked) == 32
    short = {
        (language, relation)
        for language, of in released.items()
        for relation, data in of.items()
        if len(data["prompt_templates"]) != recipe.N_TEMPLATES
    }
    assert short == {(x, name) for x in recipe.SHORT for name in ("P407", "P740")}
    twice = [text for texts in asked for text in texts if text.count("<subject>") == 2]
    assert len(twice) == 1
    sizes = {x: sum(len(of["samples"]) for of in released[x].values()) for x in ("en", "fa", "he")}
    assert sizes == {"en": 2_619, "fa": 2_619 + 213, "he": 2_619 + 213}


@pytest.mark.acceptance
def test_the_committed_card_is_the_generated_one(whole):
    for name in ("README.md", "eval.yaml"):
        assert (CARD / name).read_bytes() == (whole / name).read_bytes()
