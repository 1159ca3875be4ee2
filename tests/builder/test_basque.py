"""Basque by a sheet in BMLAMA, KLAR and a balanced set: built, audited, evaluated, pushed."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from polyprobe.builder.audit import audit_tables
from polyprobe.builder.audit.checks import CHECKS
from polyprobe.builder.audit.tables import read_tables
from polyprobe.cli import app
from tests.builder.basque import CONTINENTS, FIVE, LABELS, TEMPLATE, fill_sheet
from tests.hub.client import run_client, run_polyprobe
from tests.publish.push.clients import TOKEN, hub_token

pytestmark = [pytest.mark.acceptance, pytest.mark.upstream, pytest.mark.slow]
BALANCED = "build balanced --source mpararel --languages en,de --relations P30,P36 --candidates 6"


def run(words: str) -> str:
    result = CliRunner().invoke(app, words.split())
    assert result.exception is None, result.output
    return result.output


def add_basque(dataset: str, build: str, templates, mirror: Path) -> str:
    """Write the sheet of a dataset, fill it, and build the dataset with it."""
    source = f"--mirror {mirror}"
    sheet = f"build sheet {dataset} --language eu --output eu.csv {source}"
    run(sheet)
    fill_sheet(Path("eu.csv"), LABELS, {"P30": templates})
    progress = run(sheet)
    return progress + run(f"{build} {source} --labels eu.csv --templates eu.toml")


def check_rows(dataset: str, base: str, config: str, rows: int) -> None:
    """Compare the rows with those of the other languages, and audit them."""
    before, after = read_tables(dataset, base, None), read_tables(dataset, config, None)
    assert list(after) == sorted([*before, "eu"])
    added = {*after["eu"]["fact_id"].to_pylist()}
    facts = next(iter(before.values()))["fact_id"].to_pylist()
    places = [place for place, fact in enumerate(facts) if fact in added]
    places = places[:: len(places) // rows]  # the first template of each fact, or all
    for language, table in before.items():
        assert after[language] == table.take(places)
    for row in after["eu"].to_pylist():
        assert row["candidates"] == [CONTINENTS[x] for x in row["candidate_ids"]]
        assert row["answer_forms"] == [CONTINENTS[row["object_id"]]]
        assert row["subject"] == LABELS[row["subject_id"]]
    audit = audit_tables(after, dataset)
    assert (audit.rows, audit.rows_parallel_in_all, audit.rows_with_ids) == (rows, rows, rows)
    for counts in audit.languages.values():
        assert (counts["rows_not_parallel_to_en_strict"], *(counts[x] for x in CHECKS)) == (0,) * 12


def test_bmlama(upstream, tmp_path, monkeypatch, hub):
    monkeypatch.chdir(tmp_path)
    shown = add_basque("bmlama", "build bmlama", TEMPLATE, upstream)
    assert "18 of 4,017 labels; eu.toml: 1 of 41 relations; 12 of 6,787 rows complete" in shown
    assert "bmlama/17-repaired: 6,575 rows left out, no template: " in shown
    assert "bmlama/17-repaired: 200 rows left out, no label: " in shown
    assert "bmlama/17-repaired-eu: 12 of 6,787 rows" in shown
    check_rows("bmlama", "17-repaired", "17-repaired-eu", 12)
    rows = read_tables("bmlama", "17-repaired-eu", ["eu"])["eu"].to_pylist()
    [germany] = [row for row in rows if row["fact_id"] == "P30:Q183:Q46"]
    assert germany["candidates"] == ["Antartika", "Asia", "Afrika", "Amerika", "Europa", "Ozeania"]
    assert germany["answers"] == [4]
    assert germany["prompt"] == "Herrialdea: Alemania. Kontinentea: [Y]."
    run("eval geolm --dataset bmlama --config 17-repaired-eu --languages en,eu --output run")
    hub.tokens[TOKEN] = hub_token("me")
    words = ["push", str(tmp_path / "datasets" / "bmlama"), "me/bmlama"]
    place = {"home": tmp_path / "home", "folder": tmp_path, "endpoint": hub.url}
    done = run_polyprobe(*words, **place, variables={"HF_TOKEN": TOKEN})
    assert "files added, 0 changed" in done.stdout, done.stderr
    code = (
        "from datasets import load_dataset\n"
        "answer = list(load_dataset('me/bmlama', '17-repaired-eu', split='eu')['prompt'])"
    )
    prompts = run_client(code, tmp_path / "empty", hub.url)
    assert sorted(prompts) == sorted(row["prompt"] for row in rows)
    # a base that has the language, and one without ids
    for config, line in (("53-repaired", "has 'eu' already; choose a"), ("17", "rows without ids")):
        words = f"build bmlama --config {config} --labels eu.csv --templates eu.toml --mirror"
        result = CliRunner().invoke(app, [*words.split(), str(upstream)])
        assert line in str(result.exception)


def test_klar(upstream, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = add_basque("klar", "build klar", FIVE, upstream)
    assert "18 of 2,244 labels; eu.toml: 1 of 18 relations; 60 of 12,225 rows" in shown
    check_rows("klar", "17-repaired", "17-repaired-eu", 60)
    run("eval geolm --dataset klar --config 17-repaired-eu --languages en,eu --output run")


def test_balanced(upstream, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(f"{BALANCED} --mirror {upstream}")
    run("build sheet datasets/balanced --language eu --output eu.csv")
    fill_sheet(Path("eu.csv"), LABELS, {"P30": TEMPLATE})
    # the labels of mParaRel in Basque are not those of the contributor
    more = f"{BALANCED} --mirror {upstream} --labels eu.csv --templates eu.toml --templates 1"
    assert "balanced/mpararel-2-eu: 12 of 1,636 rows" in run(more.replace("en,de", "en,de,eu"))
    check_rows("balanced", "mpararel-2", "mpararel-2-eu", 12)
    run("eval geolm --dataset balanced --config mpararel-2-eu --output run")
    card = Path("datasets/balanced/README.md").read_text(encoding="utf-8")
    assert "--config mpararel-2 --labels eu.csv --templates eu.toml" in card
