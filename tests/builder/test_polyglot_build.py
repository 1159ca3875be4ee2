"""The dataset polyglot: the released rows, with a stem for each counterfact."""

import re
import zipfile
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from datasets import load_dataset
from scipy.stats import chi2_contingency

from docs.reproduce.polyglot_errors import (
    N_ROWS,
    TAGS,
    find_accuracies,
    find_groups,
    find_pairs,
    read_english,
    read_errors,
    read_ids,
    read_tags,
)
from polyprobe.builder.build import build_dataset
from polyprobe.builder.sources import polyglot
from polyprobe.schema.languages import find_code, find_language
from polyprobe.schema.load import load_facts
from tests.builder.tiny_polyglot import ENGLISH, ROWS, mirror
from tests.docs.polyglot import ERRORS, built

__all__ = ["built", "mirror"]

CARDS = Path(__file__).parents[2] / "datasets" / "polyglot"


def test_rows_are_the_released_ones_in_their_order(mirror, tmp_path):
    folder = build_dataset("polyglot", ["de", "en"], mirror(), tmp_path / "polyglot")
    german, english = (load_facts(str(folder), x)[x].to_pylist() for x in ("de", "en"))
    assert [row["dataset_id"] for row in german] == ["calinet_3", "rome_1", "calinet_2"]
    assert [row["dataset_id"] for row in english] == [row[0] for row in ENGLISH]
    several, one, inverted = german
    assert several["prompts"] == ["Newshour auf [Y].", "Newshour im [Y]."]
    assert several["prompt"] == several["prompts"][0]
    assert several["fact_id"] == "polyglot:calinet_3"  # Newshour has no id in this relation
    assert one["prompts"] is None
    assert one["prompt"] == "Perus Hauptstadt ist [Y]."
    assert one["candidates"] == ["Lima", "Quito", "Bonn"]
    assert (one["answers"], one["answer_forms"], one["flags"]) == ([0], ["Lima"], [])
    assert one["fact_id"] == inverted["fact_id"] == "P36:Q419:Q2868"
    assert (one["subject"], one["subject_id"], one["object_id"]) == ("Peru", "Q419", "Q2868")
    ends = (inverted["subject"], inverted["subject_id"], inverted["object_id"])
    assert ends == ("Lima", "Q2868", "Q419")  # the entity in the stem, and the one asked for
    assert inverted["flags"] == ["inverted", "ends_in_answer"]
    assert english[2]["flags"] == ["repeated_candidate"]
    assert english[2]["candidates"] == ["BBC", "BBC"]


def test_parallel_has_the_facts_of_all_languages_and_their_flags(mirror, tmp_path):
    folder = build_dataset("polyglot", ["parallel"], mirror(), tmp_path / "polyglot")
    splits = load_dataset(str(folder), "parallel")
    ids = {language: split["dataset_id"] for language, split in splits.items()}
    assert [*ids["de"]] == [*ids["en"]] == ["rome_1", "calinet_2", "calinet_3"]
    flags = [[], ["ends_in_answer", "inverted"], ["repeated_candidate"]]
    assert [*splits["de"]["flags"]] == [*splits["en"]["flags"]] == flags


def read(folder, config, language):
    return pl.from_arrow(pq.read_table(folder / "data" / config / f"{language}.parquet"))


@pytest.mark.acceptance
def test_all_rows_are_as_released(built, upstream):
    """SPEC-2, M1a; the released files are read with polars alone."""
    with zipfile.ZipFile(upstream / polyglot.REPOSITORY.archive) as archive:
        names = [n for n in archive.namelist() if n.endswith(".parquet")]
        rows = {
            re.search(r"/(\w\w)-fact-completion", n)[1]: pl.read_parquet(archive.read(n))
            for n in names
        }
    counts = {language: table.height for language, table in rows.items()}
    assert counts == ROWS
    assert sum(counts.values()) == 303_156
    own = {language: read(built, language, language) for language in rows}
    for language, released in rows.items():
        made = own[language]
        assert made["dataset_id"].to_list() == released["dataset_id"].to_list()
        lists = [[t, *f.split(" <br> ")] for t, f in released.select("true", "false").rows()]
        assert made["candidates"].to_list() == lists
        for stem, prompt, prompts in zip(
            released["stem"], made["prompt"], made["prompts"].to_list(), strict=True
        ):
            several = [f"{part} [Y]." for part in stem.split(" <br> ")]
            assert prompt == several[0]
            assert prompts == (several if len(several) > 1 else None)
    whole = pl.concat(own.values())
    assert whole["prompts"].is_not_null().sum() == 94_851
    assert (whole["candidates"].list.len() > 2).sum() == 93_905
    assert (own["en"]["candidates"].list.len() > 2).sum() == 8_076
    assert whole["flags"].list.contains("inverted").sum() == 20_217
    # counted with plain loops: later rows with the fact and sentence of an earlier one
    asked = [[(*x,) for x in own[y].select("fact_id", "prompt").rows()] for y in own]
    repeated = sum(len(part) - len({*part}) for part in asked)
    assert whole["flags"].list.contains("repeated_row").sum() == repeated == 196
    tables = {language: read(built, "parallel", language) for language in rows}
    assert {table.height for table in tables.values()} == {214}
    [ids] = {tuple(table["dataset_id"]) for table in tables.values()}
    assert {*ids} == set.intersection(*({*table["dataset_id"]} for table in rows.values()))


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("model", "mean", "width"), [("m-bert-base", 62.102, 0.8742), ("bloom-7b", 57.696, 0.8815)]
)
def test_table_2_from_the_lists_of_wrong_rows(built, model, mean, width):
    """Every accuracy and interval that the authors' own metrics.txt prints, and their means."""
    errors = read_errors(ERRORS)[model]
    found = find_accuracies(read_ids(built), errors, model, N_ROWS)
    with zipfile.ZipFile(ERRORS) as archive:
        text = archive.read(f"data/result_logs/{model}/results/metrics.txt").decode()
    printed = re.findall(
        r"language is (\w+)\s+There are (\d+) .*\s+The model got ([\d.]+)%.*\s+.*\+/- ([\d.]+)",
        text,
    )
    assert len(printed) == len(found) == 20
    for name, rows, accuracy, half in printed:
        one = found[find_code(name)]
        assert (one.rows, round(one.accuracy, 3)) == (int(rows), float(accuracy))
        assert one.half_width == pytest.approx(float(half), abs=0.06)  # another bootstrap
    assert round(sum(one.accuracy for one in found.values()) / 20, 3) == mean
    assert sum(one.half_width for one in found.values()) / 20 == pytest.approx(width, abs=0.01)


PLACES = ("P36", "P17", "P30", "P1376", "P131", "P47")
# the pairs that the authors print, of LLaMA-33B: 66.4087, 42.2090, 8.2606
CONTINENTS = {"m-bert-base": [39.2022, 11.0455, 15.3728], "bloom-7b": [4.2619, 5.5118, 2.3643]}
PEOPLE = ("P20", "P1303", "P108", "P103", "P39", "P413", "P937", "P641", "P106", "P101")


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("model", "by", "chi2", "dof"),
    [
        ("m-bert-base", "script", 1625.008, 1),
        ("bloom-7b", "script", 2474.862, 1),
        ("m-bert-base", "branch", 2995.382, 3),
        ("bloom-7b", "branch", 6393.499, 3),
        ("m-bert-base", "location", 780.062, 6),
        ("bloom-7b", "location", 532.916, 6),
        ("m-bert-base", "gender", 111.873, 1),
        ("bloom-7b", "gender", 71.083, 1),
        ("m-bert-base", "relation", 11069.223, 31),
        ("bloom-7b", "relation", 9610.281, 31),
    ],
)
def test_chi_squared_of_groups(built, model, by, chi2, dof):
    """Those of script as published for these models; all from counts of sets of ids."""
    errors, ids = read_errors(ERRORS)[model], read_ids(built)
    tags = read_tags(ERRORS, by) if by in TAGS else {}
    unit, found = find_groups(built, ids, errors, by, N_ROWS, tags)
    assert (round(found.test.chi2, 3), found.test.dof) == (chi2, dof)
    if by == "location":
        names = [group.name for group in found.groups]
        pairs = {(names[x.first], names[x.second]): x.test.chi2 for x in found.pairs}
        values = [pairs["AS", "EU"], pairs["AS", "OC"], pairs["North America", "SA"]]
        assert [round(value, 4) for value in values] == CONTINENTS[model]
        tables = {x.name: [x.right, x.wrong] for x in found.groups}
        for (a, b), value in pairs.items():
            assert value == pytest.approx(chi2_contingency([tables[a], tables[b]]).statistic)
    counts, english = {}, read_english(built)
    labels = dict(
        zip(english["dataset_id"], english["subject" if tags else "relation"], strict=True)
    )
    for language, own in ids.items():
        for row in own:
            label = tags.get(labels[row]) if tags else labels[row]
            label = label if unit != "language" else getattr(find_language(language), by)
            counts.setdefault(label, [0, 0])[row in errors[language]] += 1
    if unit == "language":
        counts["Latn" if by == "script" else "Germanic"][0] -= len(ids["en"]) - N_ROWS["en"]
    counts.pop(None, None)
    assert found.test.chi2 == pytest.approx(chi2_contingency([*counts.values()]).statistic)
    units = {"script": "language", "branch": "language", "relation": "fact"}
    assert unit == units.get(by, "subject")


@pytest.mark.acceptance
@pytest.mark.parametrize(("model", "reached"), [("m-bert-base", 2), ("bloom-7b", 259)])
def test_all_assignments_of_scripts(built, model, reached):
    """How many choices of 4 of the 20 languages have a larger statistic, or that of Cyrillic."""
    errors, ids = read_errors(ERRORS)[model], read_ids(built)
    _, found = find_groups(built, ids, errors, "script", N_ROWS, {})
    rows = np.array([N_ROWS.get(x, len(own)) for x, own in ids.items()])
    wrong = np.array([len(errors[x]) for x in ids])
    table = np.column_stack([rows - wrong, wrong])
    null = []
    for chosen in combinations(range(20), 4):
        one = table[[*chosen]].sum(axis=0)
        null.append(chi2_contingency([one, table.sum(axis=0) - one]).statistic)
    assert sum(value >= found.test.chi2 - 1e-6 for value in null) == reached
    assert found.permutation == (pytest.approx(reached / 4845), 4845, True)


@pytest.mark.acceptance
def test_entities_and_relations_of_the_release(built):
    """23,267 subjects; the tagged ones are all 3,247 places and 1,200 of 7,905 people."""
    english = read_english(built)
    subjects = {
        name: {
            subject
            for subject, relation in zip(english["subject"], english["relation"], strict=True)
            if relation in relations
        }
        for name, relations in (("location", PLACES), ("gender", PEOPLE))
    }
    assert len({*english["subject"]}) == 23_267
    assert {name: len(found) for name, found in subjects.items()} == {
        "location": 3247,
        "gender": 7905,
    }
    places, people = (read_tags(ERRORS, name) for name in ("location", "gender"))
    assert (len(places), len(people)) == (3247 - 34, 1200 - 249)
    assert {*places} <= subjects["location"]
    errors, ids = read_errors(ERRORS)["m-bert-base"], read_ids(built)
    _, found = find_groups(built, ids, errors, "relation", N_ROWS, {})
    groups = {group.name: group for group in found.groups}
    assert len(groups) == 32
    worst = groups["P264"]
    assert (worst.right, worst.wrong, round(100 * worst.share, 2)) == (3108, 6621, 31.78)
    n, e = sum(map(len, ids.values())), sum(group.wrong for group in groups.values())
    assert (n, e) == (303_156, sum(map(len, errors.values())))
    names = zip(english["dataset_id"], english["relation"], strict=True)
    facts = {x for x, name in names if name == "P264"}
    rows = {language: {*own} for language, own in ids.items()}
    parts = [(len(own), len(errors[x]), own & facts, errors[x]) for x, own in rows.items()]
    shares = [1 - len(part & wrong) / len(part) for _, _, part, wrong in parts if part]
    changes = [
        100 * (len(part & wrong) / n_wrong * n / len(part) - 1)
        for n, n_wrong, part, wrong in parts
        if part
    ]
    assert worst.share == pytest.approx(sum(shares) / len(shares))
    assert worst.change == pytest.approx(sum(changes) / len(changes))


@pytest.mark.acceptance
def test_pairs_of_languages_equal_counts_of_sets(built):
    errors, ids = read_errors(ERRORS)["m-bert-base"], read_ids(built)
    found = find_pairs(ids, errors)
    assert len(found) == 20 * 19
    for a, b in (("en", "fr"), ("ru", "uk"), ("hu", "en")):
        shared = {*ids[a]} & {*ids[b]}
        one, other = (shared - errors[x] for x in (a, b))
        counts = (len(one & other), len(one & other), len(one - other))
        sizes = (len(shared), len(other), len(shared))
        want = [n / size for n, size in zip(counts, sizes, strict=True)]
        assert found[f"{a}-{b}"] == pytest.approx(want)


@pytest.mark.acceptance
def test_the_committed_card_is_the_generated_one(built):
    card = (CARDS / "README.md").read_text(encoding="utf-8")
    assert card == (built / "README.md").read_text(encoding="utf-8")
