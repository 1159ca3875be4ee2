"""Names of runs that are shown together, the settings that differ, short signatures."""

import hashlib
import shutil

import pytest

from polyprobe.schema.run.folder import Run, describe_differing, name_runs, shorten_signature
from tests.making.facts import write_facts
from tests.making.runs import SCORES, reseal, write_run


@pytest.fixture
def run(tmp_path):
    facts = write_facts(tmp_path / "facts")
    first = write_run(tmp_path / "first", facts, SCORES, model="acme/toy")

    def copy(folder, **changed):
        shutil.copytree(first.folder, tmp_path / folder)
        reseal(tmp_path / folder, **changed)
        return Run(tmp_path / folder)

    return copy


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        ({"a": "acme/toy"}, ["toy"]),
        ({"a": "acme/toy", "b": "acme/other"}, ["toy", "other"]),
        ({"a": "acme/toy", "b": "other/toy"}, ["acme/toy", "other/toy"]),
        ({"a": "acme/toy", "b": "acme/toy"}, ["toy (a)", "toy (b)"]),
        ({"x/run": "acme/toy", "y/run": "acme/toy"}, ["toy (x/run)", "toy (y/run)"]),
        ({"a": "acme/toy", "b": "other", "c": "acme/toy"}, ["toy (a)", "other", "toy (c)"]),
    ],
)
def test_names_are_short_and_unique(run, runs, names):
    assert name_runs([run(folder, model=model) for folder, model in runs.items()]) == names


def test_a_run_given_twice_has_two_names(run):
    twice = [run("a")] * 2
    assert name_runs(twice) == ["toy (a) 1", "toy (a) 2"]


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({}, "equal settings"),
        ({"dtype": "bfloat16"}, "differ in: dtype float32 / bfloat16"),
        (
            {"model": "other", "revision": "r2"},
            "differ in: model acme/toy / other; revision r1 / r2",
        ),
        ({"sample": 3}, "differ in: rows limit=none / sample=3"),
        ({"exclude": ["P36"]}, "differ in: exclude – / P36"),
    ],
)
def test_only_what_differs_is_named(run, changed, line):
    assert describe_differing([run("a"), run("b", **changed)]) == line


def test_languages_of_some_runs_and_changed_rows_are_named(run):
    first, same = run("a"), run("b").settings()
    fewer = run("c", languages=["en"], fingerprint={"en": same.fingerprint["en"]})
    assert describe_differing([first, fewer]) == "differ in: other languages ru, zh_hans / none"
    others = run("e", languages=["en", "x"], fingerprint={"en": same.fingerprint["en"], "x": "1"})
    assert describe_differing([others, run("f", languages=["en"], fingerprint={"en": "2"})]) == (
        f"differ in: other languages x / none; rows of en {same.fingerprint['en'][:6]} / 2"
    )
    prints = {**same.fingerprint, "ru": "abcdef0"}
    line = f"differ in: rows of ru {same.fingerprint['ru'][:6]} / abcdef"
    assert describe_differing([first, run("d", fingerprint=prints)]) == line


def test_a_short_signature_has_a_hash_and_the_main_parts(run):
    signature = run("a").settings().signature
    digest, _, parts = shorten_signature(signature).partition(": ")
    assert digest == hashlib.sha256(signature.encode()).hexdigest()[:8]
    assert parts == (
        "model acme/toy@r1, data facts/default, languages 3, rows limit=none, scoring bmlama, "
        "dtype float32"
    )
