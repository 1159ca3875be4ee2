"""The view by template of a run: RankC within a language, each template, the split."""

from itertools import combinations, permutations
from statistics import fmean

import numpy as np
import pytest
from typer.testing import CliRunner

from polyprobe.analysis.figures.compute import find_results
from polyprobe.analysis.figures.options import MetricOptions
from polyprobe.analysis.figures.units import Bootstrap
from polyprobe.cli import app
from polyprobe.metrics.rankc.formulas import rankc_chance, rankc_per_query
from polyprobe.report.findings.run import QUANTITIES, SHARES
from polyprobe.report.page import write_report
from polyprobe.report.page.pictures import draw_each_template, draw_templates
from polyprobe.system.errors import PolyprobeError
from tests.making.browser import open_page
from tests.making.facts import CITIES, rows, write_facts
from tests.making.runs import write_run

TEMPLATES = 3
ASKED = MetricOptions(by_template=True)
FEW = Bootstrap(200)


def use_templates(language, made):
    """Return each row in three templates; the second fact lacks the last one."""
    return [
        row._replace(
            fact_id=f"P36:S{number}:{row.object_id}",
            prompt=f"{place}: {row.prompt}",
            template_id=f"{row.relation}-{place}",
        )
        for number, row in enumerate(made)
        for place in range(TEMPLATES - (number == 1))
    ]


def use_relations(language, made):
    rows = use_templates(language, made)
    return [x._replace(relation=f"P{n // TEMPLATES % 4}") for n, x in enumerate(rows)]


def score_facts(made, noise, seed=0):
    """Return scores with a common part of each fact, a part of the language and of the template."""
    random = np.random.default_rng(seed)
    common: dict[str, np.ndarray] = {}
    found: dict[str, list[list[float]]] = {}
    for language in CITIES:
        own, found[language] = {}, []
        for row in made:
            size = len(row.candidates)
            facts = common.setdefault(row.fact_id, random.normal(size=size))
            of_language = own.setdefault(row.fact_id, random.normal(size=size))
            parts = noise[0] * of_language + noise[1] * random.normal(size=size)
            found[language].append((facts + parts).tolist())
    return found


def make_run(folder, noise=(1.0, 1.0), spoil=use_templates):
    dataset = write_facts(folder / "facts", spoil, copies=6)
    asked = spoil("en", rows("en", 6)) if spoil else rows("en", 6)
    return write_run(folder / "run", dataset, score_facts(asked, noise))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("templates"))


@pytest.fixture(scope="module")
def results(run):
    return find_results(run, FEW, options=ASKED)


def list_columns(run):
    """Return scores, answers, fact ids and relations as lists."""
    first = run.read("en")
    scores = {x: run.read(x)["scores"].to_pylist() for x in CITIES}
    return scores, *(first[x].to_pylist() for x in ("answers", "fact_id", "relation"))


def test_rankc_of_templates_equals_loops_over_rows(run, results):
    scores, _, ids, _ = list_columns(run)
    following = {}
    for fact in set(ids):
        places = [row for row, x in enumerate(ids) if x == fact]
        following |= dict(zip(places, [*places[1:], places[0]], strict=True))

    def compare(one, other):
        pairs = [(scores[one][row], scores[other][following[row]]) for row in range(len(ids))]
        return [rankc_per_query([x], [y])[0] for x, y in pairs]

    chance = rankc_chance([len(row) for row in scores["en"]])
    level = lambda values: fmean((v - c) / (1 - c) for v, c in zip(values, chance, strict=True))  # noqa: E731
    own = {x: compare(x, x) for x in CITIES}
    for x in CITIES:
        assert results["rankc_templates"][x] == pytest.approx(fmean(own[x]))
    for one, other in combinations(CITIES, 2):
        both = np.mean([compare(one, other), compare(other, one)], axis=0).tolist()
        pair = f"{one}-{other}"
        assert results["rankc_other_template"][pair] == pytest.approx(fmean(both))
        corrected = level(both) / np.sqrt(level(own[one]) * level(own[other]))
        assert results["rankc_disattenuated"][pair] == pytest.approx(corrected)
    low, high = results["intervals"]["mean"]["rankc_templates"]
    assert low < results["mean"]["rankc_templates"] < high


def test_each_template_equals_loops(run, results):
    scores, answers, ids, relations = list_columns(run)
    best = {x: [int(np.argmax(row)) for row in scores[x]] for x in CITIES}
    # candidate names, as in facts.py: the pools of a fact are the same in its templates
    found = {(r["language"], r["relation"], r["template"]): r for r in results["templates"]["rows"]}
    assert len(found) == len(CITIES) * 2 * TEMPLATES
    seen, names = {}, []
    for fact, relation in zip(ids, relations, strict=True):
        seen[fact] = seen.get(fact, -1) + 1
        names.append((relation, f"{relation}-{seen[fact]}"))
    for x in CITIES:
        for relation, template in set(names):
            rows = [row for row, name in enumerate(names) if name == (relation, template)]
            row = found[x, relation, template]
            assert row["n"] == len(rows)
            assert row["accuracy"] == pytest.approx(fmean(best[x][i] in answers[i] for i in rows))
            same = [
                fmean(best[x][i] == best[x][j] for j, fact in enumerate(ids)
                      if fact == ids[i] and j != i)
                for i in rows
            ]  # fmt: skip
            assert row["consistency"] == pytest.approx(fmean(same))
            assert "[X]" in row["text"]
            assert row["text"].startswith(template[-1])


def test_worst_and_best_templates(results):
    rows = results["templates"]["rows"]
    for x, spread in results["templates"]["by_language"].items():
        groups = {}
        for row in rows:
            if row["language"] == x:
                groups.setdefault(row["relation"], []).append(row["accuracy"])
        assert spread["relations"] == len(groups) == 2
        for name, of in (("worst", min), ("mean", fmean), ("best", max)):
            assert spread[name] == pytest.approx(fmean(map(of, groups.values())))


def test_the_split_is_of_the_candidates_by_name(run, results):
    """Disagreement between languages and templates, by loops over pairs of rows of a fact."""
    scores, _, ids, relations = list_columns(run)
    best = {x: [int(np.argmax(row)) for row in scores[x]] for x in CITIES}
    within, between = {}, {}
    for i, j in permutations(range(len(ids)), 2):
        if ids[i] != ids[j]:
            continue
        for x in CITIES:
            within.setdefault(relations[i], []).append(best[x][i] != best[x][j])
            for y in set(CITIES) - {x}:
                between.setdefault(relations[i], []).append(best[x][i] != best[y][j])
    answer = results["templates"]["answer"]
    assert answer["within"] == pytest.approx(fmean(map(fmean, within.values())))
    assert answer["between"] == pytest.approx(fmean(map(fmean, between.values())))
    assert answer["n_relations"] == 2
    low, high = answer["share_languages_ci"]
    assert low < answer["share_languages"] < high


@pytest.mark.parametrize(
    ("noise", "inside"), [((0.0, 1.0), True), ((2.0, 0.2), False)], ids=["templates", "languages"]
)
def test_a_planted_model(tmp_path, noise, inside):
    run = make_run(tmp_path, noise, use_relations)
    results = find_results(run, FEW, options=ASKED)
    low, high = results["templates"]["answer"]["share_languages_ci"]
    assert (low <= 0 <= high) == inside
    if not inside:
        assert low > 0.5


def test_equal_templates_do_not_differ(tmp_path):
    results = find_results(make_run(tmp_path, (1.0, 0.0)), FEW, options=ASKED)
    assert results["templates"]["answer"]["within"] == 0
    assert [*results["rankc_templates"].values()] == pytest.approx([1] * len(CITIES))
    disattenuated, between = results["rankc_disattenuated"], results["rankc_adjusted"]
    assert disattenuated == pytest.approx(between)  # nothing to correct


def test_without_several_templates(tmp_path):
    run = make_run(tmp_path, spoil=None)
    results = find_results(run, FEW)
    assert not {"rankc_templates", "rankc_other_template", "templates"} & {*results}
    assert draw_templates(results) == {}
    with pytest.raises(
        PolyprobeError, match="--by-template needs a dataset with several templates"
    ):
        find_results(run, FEW, options=ASKED)
    with pytest.raises(
        PolyprobeError, match="--figures rankc_templates needs a dataset with sever"
    ):
        find_results(run, FEW, options=MetricOptions(figures=("rankc_templates",)))


def test_command_prints_and_report_draws(run, results, tmp_path):
    said = CliRunner().invoke(
        app,
        ["metrics", str(run.folder), "--by-template", "--resamples", "100"],
        env={"COLUMNS": "200"},
    )
    assert said.exit_code == 0, said.output
    for text in (
        "P36",
        "RankC within",
        "due to languages",
        "– template × fact",
        "split of 2 relations",
    ):
        assert text in said.output
    page = run.folder / "report.html"
    write_report([run.folder], tmp_path / "page.html")
    for text in (page.read_text("utf-8"), (tmp_path / "page.html").read_text("utf-8")):
        assert "<h2>Templates</h2>" in text
        assert text.count("<tr><td>P3") >= 18  # each template
        assert 'id="rankc_disattenuated' in text or "disattenuated" in text


def test_a_browser_finds_the_templates_of_a_relation(tmp_path, browser):
    """Four relations make 36 rows; a table of more than 20 has a filter."""
    run = make_run(tmp_path, spoil=use_relations)
    results = find_results(run, FEW, options=ASKED)
    run.write_results(results)
    write_report([run.folder], tmp_path / "page.html")
    page = open_page(browser, tmp_path / "page.html")
    rows = [x for x in results["templates"]["rows"] if x["relation"] == "P2"]
    page.locator("summary", has_text="each template").click()
    table = page.locator("details", has_text="each template").locator(".table")
    table.locator("input[type=search]").fill("P2 ru")
    shown = table.locator("tbody tr:visible").all_inner_texts()
    expected = [x for x in rows if x["language"] == "ru"]
    assert [text.split("\t")[2] for text in shown] == [x["text"] for x in expected]
    assert f"{expected[0]['accuracy']:.3f}" in shown[0]
    assert page.locator("#split .bars rect").count() == 12
    texts = page.locator("#split text").all_text_contents()
    assert [text for text in texts if text in SHARES.values()] == [*SHARES.values()]
    assert {*QUANTITIES} <= {*texts}
    page.select_option("select[data-label=measure]", "RankC")
    tip = page.locator("#rankc_adjusted [data-pair='en/ru'] title").text_content()
    within = results["rankc_templates"]
    assert f"within over templates: en {within['en']:.3f}, ru {within['ru']:.3f}" in tip


def test_pictures(results):
    pictures = draw_templates(results) | draw_each_template(results)
    assert [*pictures][:4] == ["ceiling", "split", "templates", "templates-en-P36"]
    own, others = pictures["ceiling"].series
    assert [*own.values] == [results["rankc_templates"][x] for x in CITIES]
    pairs = results["rankc_other_template"]
    assert others.values[0] == pytest.approx(fmean([pairs["en-ru"], pairs["en-zh_hans"]]))
    rows = [
        x for x in results["templates"]["rows"] if (x["language"], x["relation"]) == ("en", "P36")
    ]
    assert pictures["templates-en-P36"].series[0].values == [row["accuracy"] for row in rows]
    answer = results["templates"]["answer"]
    assert pictures["split"].series[0].values[0] == answer["share_languages"]
    plain = {name: x for name, x in results.items() if name != "templates"}
    assert [*draw_templates(plain)] == ["ceiling"]


def test_relations_with_templates_of_one_name_have_their_own_sentences(tmp_path):
    def number_templates(language, made):
        return [
            row._replace(prompt=f"{row.relation}, {row.prompt}", template_id=row.template_id[-1])
            for row in use_templates(language, made)
        ]

    found = find_results(make_run(tmp_path, spoil=number_templates), FEW, options=ASKED)
    for row in found["templates"]["rows"]:
        assert row["text"].startswith(f"{row['relation']}, ")
        assert row["template"] in ("0", "1", "2")
