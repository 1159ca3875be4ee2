"""Groups of a run: by hand, beside results.json, from files; their table, page and pictures."""

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import chi2_contingency
from typer.testing import CliRunner

from polyprobe.analysis.figures.compute import find_results
from polyprobe.analysis.figures.predictions import mark_predictions
from polyprobe.analysis.groups import GroupOptions
from polyprobe.analysis.groups import groups as module
from polyprobe.analysis.groups.groups import MarkedRows, group_facts
from polyprobe.analysis.options import Bootstrap
from polyprobe.cli import app
from polyprobe.eval import evaluate_model
from polyprobe.metrics.pictures.picture import Bars
from polyprobe.metrics.shared.intervals import Resampling
from polyprobe.report.findings.groups import make_groups_finding
from polyprobe.report.show import render
from polyprobe.schema.run.folder import Run
from polyprobe.system.messages import PolyprobeError
from tests.making.browser import open_page
from tests.making.facts import write_facts
from tests.making.relations import write_scores
from tests.making.runs import SCORES, reseal, write_run
from tests.making.tables import make_predictions as predictions

NONE = {"n_resamples": 0}
SHARES = {"en": (8, 0), "ru": (5.5, 2.5), "zh_hans": (2, 6)}  # right and wrong, from runs.PICKS
DRAWN = {"n_resamples": 200}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("groups")
    write_run(folder / "small", write_facts(folder / "facts"), SCORES)
    many = write_scores(folder / "many", write_facts(folder / "more", copies=10), 1)
    many.write_results(find_results(many, Bootstrap(200)))
    return folder


@pytest.fixture(scope="module")
def small(place):
    return Run(place / "small")


@pytest.fixture(scope="module")
def many(place):
    return Run(place / "many")


def group_run(run, by, **options):
    return module.group_run(run, by, GroupOptions(**options))


def counts(found):
    return {group.name: (group.right, group.wrong) for group in found.groups}


def test_scripts_by_hand(small):
    found = group_run(small, "script", **DRAWN).tables["all"]
    assert counts(found) == dict(zip(("Latn", "Cyrl", "Hans"), SHARES.values(), strict=True))
    assert [group.share for group in found.groups] == [1, 5.5 / 8, 2 / 8]
    assert [group.size for group in found.groups] == [1, 1, 1]
    want = chi2_contingency([*SHARES.values()])
    assert found.test.chi2 == pytest.approx(want.statistic)
    assert found.permutation == (1, 6, True)  # each assignment of three to three is alike
    errors, n = 8.5, 24  # 100 (e/E - n/N) / (n/N) of 2.5 errors in 8 rows
    change = 100 * (2.5 / errors - 8 / n) / (8 / n)
    assert found.groups[1].change == pytest.approx(change)
    assert [(row.first, row.second) for row in found.pairs] == [(0, 1), (0, 2), (1, 2)]


def test_relations_are_those_of_the_results(many):
    found = group_run(many, "relation", **DRAWN)
    known = many.read_results()["by_relation"]
    assert [group.name for group in found.tables["all"].groups] == [*known]
    for group in found.tables["all"].groups:
        figures = known[group.name]
        assert group.size == figures["n_queries"]
        assert group.share == pytest.approx(figures["mean"]["accuracy"])
        assert group.rankc == pytest.approx(figures["mean"]["rankc"])
        assert group.rankc_ci == pytest.approx(figures["intervals"]["rankc"])
        assert group.ci == pytest.approx(figures["intervals"]["accuracy"], abs=0.03)
    assert found.unit == "fact"  # C0 has facts of several relations


def test_a_language_alone_is_a_run_of_it(many):
    found = group_run(many, "relation", each_language=True, **DRAWN).tables
    assert [*found] == ["en", "ru", "zh_hans"]
    known = many.read_results()["by_relation"]
    for language, grouped in found.items():
        for group in grouped.groups:
            assert group.share == pytest.approx(known[group.name]["accuracy"][language])
            assert group.rankc is None
    for grouped in found.values():
        table = [[x.right, x.wrong] for x in grouped.groups]
        assert grouped.test.chi2 == pytest.approx(chi2_contingency(table).statistic)


def test_the_unit_is_the_largest_with_one_group(many, tmp_path):
    two = write(tmp_path, "C0\ta", "C1\ta", "C2\tb", "C3\tb")
    assert group_run(many, two, **NONE).unit == "subject"
    found = group_run(many, two, **NONE).tables["all"]
    assert (found.n_units, found.permutation.n, found.permutation.exact) == (4, 6, True)
    assert group_run(many, two, unit="fact", **NONE).tables["all"].n_units == 40
    assert group_run(many, "object", **NONE).unit == "fact"  # each has one fact
    assert group_run(many, "subject", **NONE).unit == "fact"  # each would be a group
    alone = group_run(many, "subject", unit="subject", **NONE).tables["all"]
    assert alone.permutation.p == 1


def test_a_few_subjects_in_several_groups_are_named(many, tmp_path):
    facts = [*dict.fromkeys(many.read("en")["fact_id"].to_pylist())]
    groups = {fact: "a" if ":C0:" in fact or ":C1:" in fact else "b" for fact in facts}
    first = next(fact for fact in facts if ":C0:" in fact)
    own = write(tmp_path, *(f"{x}\t{'b' if x == first else y}" for x, y in groups.items()))
    outcome = group_run(many, own, **NONE)
    assert outcome.unit == "fact"
    caution = "1 of 4 subjects, such as C0, are in several groups: facts are permuted, as if those "
    assert f"{caution}of a subject were independent" in make_groups_finding(outcome).cautions
    plain = write(tmp_path, *(f"{x}\t{y}" for x, y in groups.items()))
    assert group_run(many, plain, **NONE).caution == ""
    assert group_run(many, "relation", **NONE).caution == ""  # by design


def test_rows_of_one_fact_are_one_unit():
    """Two templates of a fact: its label is permuted for both."""
    marks = np.array([[1.0, 0], [1, 1], [0, 0], [1, 0]])
    found = group_facts(
        MarkedRows(marks, [*"aabb"], [*"ffgh"], [*"ffgh"]), Resampling(n_resamples=0)
    )
    assert [group.size for group in found.groups] == [1, 2]
    assert (found.n_units, found.permutation.n) == (3, 3)


def write(folder, *lines):
    file = folder / "labels.tsv"
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(file)


@pytest.mark.parametrize(
    ("lines", "note", "names"),
    [
        (
            ("en\tone", "ru\ttwo", "zh-hans\ttwo", "fr\ttwo"),
            "labels.tsv: 3 of 3 languages, matched by 3 of its 4 ids",
            {"one": 1, "two": 2},
        ),
        (
            ("C0\tWest", "C1\tWest", "C3\tEast"),
            "labels.tsv: 3 of 4 subjects, matched by 3 of its 3 ids",
            {"West": 4, "East": 2},
        ),
        (
            ("P36:C0:0\tx", "P36:C1:1\ty", "P36:C2:2\ty"),
            "labels.tsv: 3 of 8 facts, matched by 3 of its 3 ids",
            {"x": 1, "y": 2},
        ),
        (
            ("0\tx", "7\ty"),  # objects in the ids of facts.py are numbers
            "labels.tsv: 2 of 8 objects, matched by 2 of its 2 ids",
            {"x": 1, "y": 1},
        ),
    ],
    ids=["languages", "subjects", "facts", "objects"],
)
def test_a_file_labels_what_most_of_its_ids_are(small, tmp_path, lines, note, names):
    outcome = group_run(small, write(tmp_path, *lines), **NONE)
    assert outcome.labels.note == note
    assert {group.name: group.size for group in outcome.tables["all"].groups} == names


def test_rows_without_a_group_are_counted(small, tmp_path):
    outcome = group_run(small, write(tmp_path, "C0\tWest", "C1\tEast"), **NONE)
    assert (
        "4 of 8 rows of each language are in no group and left out"
        in make_groups_finding(outcome).notes
    )


def test_gender_of_subjects(small, tmp_path):
    file = tmp_path / "gender.tsv"
    file.write_text("C0\tfemale\nC1\tmale\nC2\tnone\n", encoding="utf-8")
    outcome = group_run(small, "gender", gender=file, **NONE)
    assert counts(outcome.tables["all"]) == {"female": (3, 3), "male": (4.5, 1.5)}
    assert outcome.labels.note == "gender.tsv: 2 of 4 subjects"


def test_chosen_rows(many):
    found = group_run(many, "relation", relations="P36,P19", **DRAWN)
    whole = group_run(many, "relation", **DRAWN)
    assert found.tables["all"].groups[0].share == whole.tables["all"].groups[0].share
    assert found.left_out == {"other relations": 8}
    assert found.as_json()["subset"] == {"relations": ["P19", "P36"], "exclude": []}


def test_contrastive_runs_count_what_is_recalled(place, tmp_path):
    """p(fact) above the mean of the counterfacts: not the same as rank 1."""
    run = write_run(tmp_path / "run", place / "facts", SCORES)
    reseal(run.folder, scoring="contrastive")
    found = group_run(Run(run.folder), "script", **NONE).tables["all"]
    for (name, (right, _)), language in zip(counts(found).items(), SCORES, strict=True):
        want = 0
        for row in run.read(language).to_pylist():
            p = [Fraction(float(np.exp(x))) for x in row["scores"]]
            own = p.pop(row["answers"][0])
            want += own * len(p) > sum(p)
        assert right == want, name


def write_predictions(folder, dataset, tables):
    write_run(folder, dataset, {x: SCORES[x] for x in tables})
    (folder / "predictions").mkdir()
    for language, table in tables.items():
        pq.write_table(table, folder / "predictions" / f"{language}.parquet")
    reseal(folder, scoring="xfactr")
    return Run(folder)


def test_free_predictions(place, tmp_path):
    """Facts that are not asked in a language are no rows."""
    tables = {
        "en": predictions(["gold", "x", "gold", "x"]),
        "ru": predictions(["gold", "x", "x", "gold"], single=(True, None, False, None)),
    }
    run = write_predictions(tmp_path / "run", place / "facts", tables)
    found = group_run(run, "subject", **DRAWN).tables["all"]
    right = mark_predictions({x: run.read(x) for x in tables})
    for n, group in enumerate(found.groups):
        values = [marks[n] for marks in right.values() if not np.isnan(marks[n])]
        assert (group.right, group.wrong) == (sum(values), len(values) - sum(values))
        assert group.rankc is None
    assert {group.right + group.wrong for group in found.groups} == {1, 2}
    outcome = group_run(run, "relation", each_language=True, **NONE)
    assert outcome.left_out == {"not asked in ru": 2}
    assert sum(group.size for group in outcome.tables["ru"].groups) == 2


def test_a_language_that_is_not_asked_is_left_out(place, tmp_path):
    tables = {"en": predictions(["gold"] * 4), "ru": predictions(["x"] * 4, single=[None] * 4)}
    run = write_predictions(tmp_path / "run", place / "facts", tables)
    apart = group_run(run, "subject", each_language=True, **NONE)
    assert ([*apart.tables], apart.left_out) == (["en"], {"not asked in ru": 4})
    assert counts(group_run(run, "script", **NONE).tables["all"]) == {"Latn": (4, 0)}
    own = write(tmp_path, "ru\tx")
    with pytest.raises(PolyprobeError, match="no fact of any group was asked; choose other"):
        group_run(run, own)


def test_a_language_without_a_fact_of_a_group_is_left_out(place, tmp_path):
    asked = [None, True, True, True]
    tables = {"en": predictions(["gold"] * 4), "ru": predictions(["x"] * 4, single=asked)}
    run = write_predictions(tmp_path / "run", place / "facts", tables)
    fact = run.read("en")["fact_id"][0].as_py()
    own = write(tmp_path, f"{fact}\ta")
    found = group_run(run, own, each_language=True, **NONE)
    assert [*found.tables] == ["en"]
    assert found.left_out == {"not asked in ru": 1, "in no group in ru": 3}
    for name in tables:
        tables[name] = predictions(["x"] * 4, single=asked)
    nothing = write_predictions(tmp_path / "nothing", place / "facts", tables)
    with pytest.raises(PolyprobeError, match="no fact of any group was asked"):
        group_run(nothing, own, each_language=True, **NONE)


def test_languages_of_unknown_script_are_in_no_group(place, small, monkeypatch):
    known = {"en": "Latn", "ru": "Cyrl"}
    monkeypatch.setattr(module, "list_traits", lambda splits, trait: known)
    outcome = group_run(small, "script", **NONE)
    assert [group.name for group in outcome.tables["all"].groups] == ["Latn", "Cyrl"]
    assert "1 of 3 languages are in no group and left out" in make_groups_finding(outcome).notes
    known.clear()
    with pytest.raises(PolyprobeError, match="the script of en, ru, zh_hans is unknown; give"):
        group_run(small, "script", **NONE)


def test_all_right_has_no_test(place, tmp_path):
    right = {x: [[float(k == row.index(max(row))) for k in range(len(row))] for row in SCORES["en"]]
             for x in SCORES}  # fmt: skip
    run = write_run(tmp_path / "run", place / "facts", right)
    outcome = group_run(run, "relation", **NONE)
    values = outcome.as_json()["found"]["all"]
    assert (values["chi2"], values["p"], values["permutation"]["p"]) == (None, None, None)
    assert [group["change"] for group in values["groups"]] == [None, None]
    assert "no test: all rows are right, or all wrong" in [*render(make_groups_finding(outcome))]


def test_one_group_has_no_test(many):
    outcome = group_run(many, "relation", relations="P19", **NONE)
    assert "no test: there is one group" in [*render(make_groups_finding(outcome))]


def test_cautions(many):
    notes = [*render(make_groups_finding(group_run(many, "object", **DRAWN)))]
    assert "an expected count is below 5: p of χ² is inexact; use the permuted p" in notes
    assert "labels of pairs are permuted for at most 10 groups" in notes
    assert "95%: bootstrap, 200 resamples of subjects" in notes


MISTAKES = {
    "--by gender": "--by gender and --gender FILE require each other; give both or neither",
    "--by script --gender FILE": "--by gender and --gender FILE require each other",
    "--by continent": "--by continent: more/default has no facts of P30 (continent); give a TSV",
    "--by family --each-language": "--each-language requires groups of facts; --by family groups",
    "--by script --unit fact": "--unit fact: groups of languages cannot be permuted over facts",
    "--by object --unit language": "--unit language: groups of facts cannot be permuted over "
    "languages; omit --unit",
    "--by relation --unit subject": "--unit subject: 'C0' has several groups; use --unit fact",
    "--by NOTHING": "labels.tsv: none of its 1 ids, such as 'x', is one of the run's languages, "
    "facts, subjects, objects (such as 'en', 'P36:C0:0', 'C0', '0'); check the ids",
}


@pytest.mark.parametrize("options", MISTAKES)
def test_mistakes_are_one_line(many, tmp_path, options):
    nothing = write(tmp_path, "x\ty")
    words = [{"NOTHING": nothing, "FILE": nothing}.get(x, x) for x in options.split()]
    done = CliRunner().invoke(app, ["groups", str(many.folder), *words])
    text = done.output if done.exit_code == 2 else str(done.exception)
    assert MISTAKES[options] in " ".join(text.split())
    assert isinstance(done.exception, PolyprobeError | SystemExit)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["C0"], ", line 1: 'C0'; expected an id, a tab and its group"),
        (["C0\t"], ", line 1: 'C0\\t'; expected an id, a tab and its group"),
        (["C0\ta", "C0\tb"], ", line 2: C0 is in 'a' before and in 'b' here; keep one"),
    ],
)
def test_bad_files_are_refused(small, tmp_path, lines, expected):
    file = write(tmp_path, *lines)
    with pytest.raises(PolyprobeError) as error:
        group_run(small, file)
    assert str(error.value) == f"{file}{expected}"


def test_an_empty_file_is_refused(small, tmp_path):
    with pytest.raises(PolyprobeError) as error:
        group_run(small, file := write(tmp_path))
    assert str(error.value) == f"--by {file} is empty"


def test_fact_ids_without_subjects(many, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_bytes((many.folder / "run.json").read_bytes())
    run = Run(folder)
    for language in run.settings().languages:
        table = many.read(language)
        names = pa.array([f"17:{n:04}" for n in range(len(table))])
        (folder / "scores").mkdir(exist_ok=True)
        run.write(language, table.set_column(0, "fact_id", names))
    found = group_run(run, "relation", **NONE)
    assert (found.unit, found.tables["all"].n_units) == ("fact", 40)
    with pytest.raises(
        PolyprobeError, match="the fact id '17:0000' does not name subject and object"
    ):
        group_run(run, "object")
    with pytest.raises(PolyprobeError, match="--unit subject: a fact id names no subject; use"):
        group_run(run, "relation", unit="subject")


def test_the_command_writes_what_it_shows(many, tmp_path):
    options = ["--by", "relation", "--json", str(tmp_path / "g.json"), "--resamples", "200"]
    options += ["--output", str(tmp_path / "g.html"), "--figure", str(tmp_path / "g.svg")]
    done = CliRunner().invoke(app, ["groups", str(many.folder), *options], env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    assert max(map(len, done.output.splitlines()[:4])) <= 80
    values = json.loads((tmp_path / "g.json").read_text(encoding="utf-8"))
    assert values == group_run(many, "relation", **DRAWN).as_json()
    page = (tmp_path / "g.html").read_text(encoding="utf-8")
    assert f"χ²(2) = {values['found']['all']['chi2']:.3f}" in page
    assert "polyprobe: synthetic on more/default by relation" in page
    assert "P530" in (tmp_path / "g.svg").read_text(encoding="utf-8")


def test_pictures(many):
    outcome = group_run(many, "relation", **DRAWN)
    drawn = make_groups_finding(outcome).pictures
    assert [*drawn] == ["all", "rankc"]
    groups = outcome.tables["all"].groups
    assert isinstance(drawn["all"], Bars)
    assert drawn["all"].labels == ["P36", "P19", "P530"]
    assert drawn["all"].series[0].values == [group.share for group in groups]
    assert drawn["rankc"].series[0].bounds == [group.rankc_ci for group in groups]
    apart = group_run(many, "relation", each_language=True, **NONE)
    assert [*make_groups_finding(apart).pictures] == ["en", "ru", "zh_hans"]


@pytest.mark.acceptance
def test_a_browser_draws_a_bar_for_each_group(many, tmp_path, browser):
    page = str(tmp_path / "g.html")
    options = ["--by", "relation", "--each-language", "--output", page, "--resamples", "200"]
    done = CliRunner().invoke(app, ["groups", str(many.folder), *options])
    assert f"report: {page}" in done.output.replace("\n", "")
    shown = open_page(browser, tmp_path / "g.html")
    assert shown.locator(".bars rect").count() == 9
    assert shown.locator("path.whiskers").count() == 3


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    folder = tmp_path_factory.mktemp("geo") / "run"
    languages = ["en", "el"]
    evaluate_model("geolm", "geofacts", output=folder, languages=languages, relations=["P36"])
    return Run(folder)


def test_continents_of_the_embedded_dataset(taught):
    """The model was taught en; el stays near chance, 1 of 10 candidates.

    The run has no facts of P30: continents are read from the dataset.
    """
    outcome = group_run(taught, "continent", each_language=True, **NONE)
    assert outcome.unit == "subject"
    assert {x.name for x in outcome.tables["en"].groups} >= {"Europe", "Africa", "Asia"}
    for language, (low, high) in {"en": (0.95, 1), "el": (0, 0.25)}.items():
        for group in outcome.tables[language].groups:
            assert low <= group.share <= high or group.size < 10
