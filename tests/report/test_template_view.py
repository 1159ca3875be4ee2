"""The view by template of a run: centred RankC within a language, each template, the split."""

from itertools import combinations, permutations, product
from statistics import fmean

import numpy as np
import pytest
from typer.testing import CliRunner

from polyprobe.analysis.figures.compute import find_results
from polyprobe.analysis.figures.options import MetricOptions
from polyprobe.analysis.options import Bootstrap
from polyprobe.cli import app
from polyprobe.report.findings.run import QUANTITIES, SHARES
from polyprobe.report.page import write_report
from polyprobe.report.page.pictures import draw_each_template, draw_templates
from polyprobe.system.messages import PolyprobeError
from tests.making.browser import open_page
from tests.making.facts import CITIES, rows, write_facts
from tests.making.runs import write_run
from tests.metrics.plain_subject import find_terms, restrict

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
    return [x._replace(relation=f"P{n // (4 * TEMPLATES) % 4}") for n, x in enumerate(rows)]


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


def make_run(folder, noise=(0.7, 0.5), spoil=use_templates, donors=True):
    dataset = write_facts(folder / "facts", spoil, copies=6)
    asked = spoil("en", rows("en", 6)) if spoil else rows("en", 6)
    others = score_facts(asked, noise, 1) if donors else None
    return write_run(folder / "run", dataset, score_facts(asked, noise), donor_scores=others)


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


def list_second(run):
    """Return the rows with a donor as of `plain_subject`, and a label of fact and donor of each."""
    scores, answers, ids, relations = list_columns(run)
    donors = {x: run.read(x)["donor_scores"].to_pylist() for x in CITIES}
    places, names = (run.read("en")[x].to_pylist() for x in ("donor_answers", "donor"))
    found = restrict(scores, donors, answers, places, ids, relations)
    return found, [(row.fact, names[row.place], *places[row.place]) for row in found]


def join(first, a, second, b):
    """Return a row with the ranking of one template in language a, of another in b."""
    subject, donor = ({"a": x[a], "b": y[b]} for x, y in zip(first[3:5], second[3:5], strict=True))
    return first._replace(subject=subject, donor=donor)


def centre(pairs):
    """Compute centred RankC of pairs of rows, joined."""
    terms = [find_terms(row, "a", "b", "softmax", "expected") for row in pairs]
    return fmean(x.interaction for x in terms) / fmean(x.room for x in terms)


def test_rankc_of_templates_equals_loops_over_rows(run, results):
    found, labels = list_second(run)
    following = {}
    for label in set(labels):
        places = [row for row, x in zip(found, labels, strict=True) if x == label]
        if len(places) > 1:
            pairs = zip(places, [*places[1:], places[0]], strict=True)
            following |= {first.place: (first, second) for first, second in pairs}
    pairs = following.values()
    assert 20 < len(pairs) < len(list_columns(run)[2]) == 71
    assert results["left_out"]["rankc_templates"] == 71 - len(pairs)
    own = {x: centre([join(row, x, other, x) for row, other in pairs]) for x in CITIES}
    assert results["rankc_templates"] == pytest.approx(own)
    for x, y in combinations(CITIES, 2):
        ways = [join(row, *of) for row, other in pairs for of in ((x, other, y), (y, other, x))]
        between, pair = centre(ways), f"{x}-{y}"
        assert results["rankc_other_template"][pair] == pytest.approx(between)
        corrected = between / np.sqrt(own[x] * own[y])
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
    """Agreement between languages and templates, by loops over pairs of rows of a fact."""
    found, labels = list_second(run)
    first = lambda scores: max(range(len(scores)), key=scores.__getitem__)  # noqa: E731
    same = {
        "answer": lambda row, x, other, y: first(x) == first(y),
        "right": lambda row, x, other, y: (first(x) in row.right) == (first(y) in other.right),
    }
    for quantity, agree in same.items():
        sums = {}
        for (row, label), (other, name) in permutations(zip(found, labels, strict=True), 2):
            for x, y in product(CITIES, CITIES) if label == name else ():
                about, donor = (row.subject[x], row.donor[x]), (other.subject[y], other.donor[y])
                r, p, p_back, q = (
                    agree(row, *of, y) for of, y in (((i, other), j) for i in about for j in donor)
                )
                cell = sums.setdefault(row.relation, {}).setdefault(x == y, [])
                cell.append((1 - r, 1 - p - p_back + q))
        rows = [[np.mean(x[way], axis=0) for way in (True, False)] for x in sums.values()]
        within, between = np.mean(rows, axis=0)
        split = results["templates"][quantity]
        assert split["n_relations"] == len(sums) == 2
        assert split["room_within"] == pytest.approx(within[1])
        within, between = within[0] / within[1], between[0] / between[1]
        assert split["within"] == pytest.approx(within)
        assert split["between"] == pytest.approx(between)
        assert split["share_templates"] == pytest.approx(within / between)
        assert split["share_languages"] == pytest.approx(1 - within / between)
        low, high = split["share_languages_ci"]
        assert low < split["share_languages"] < high


@pytest.mark.parametrize(
    ("noise", "inside"), [((0.0, 0.8), True), ((2.0, 0.2), False)], ids=["templates", "languages"]
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
    between = results["rankc_other_template"]
    assert results["rankc_disattenuated"] == pytest.approx(between)  # nothing to correct


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


def test_without_donors_a_line_says_what_is_missing(tmp_path):
    run = make_run(tmp_path, donors=False)
    results = find_results(run, FEW, options=ASKED)
    assert not {"rankc_templates", "rankc_other_template", "rankc_disattenuated"} & {*results}
    assert not {*QUANTITIES} & {*results["templates"]}
    assert [*draw_templates(results)] == ["templates"]
    shown = CliRunner().invoke(
        app, ["metrics", str(run.folder), "--by-template"], env={"COLUMNS": "200"}
    )
    assert shown.exit_code == 0, shown.output
    assert shown.output.count("no RankC within a language, no split of the inconsistency: ") == 1
    run.write_results(results)
    write_report([run.folder], tmp_path / "page.html")
    assert "no split of the inconsistency" in (tmp_path / "page.html").read_text("utf-8")


def test_command_prints_and_report_draws(run, results, tmp_path):
    said = CliRunner().invoke(
        app,
        ["metrics", str(run.folder), "--by-template", "--resamples", "100"],
        env={"COLUMNS": "200"},
    )
    assert said.exit_code == 0, said.output
    for text in (
        "P36",
        "centred within",
        "due to languages",
        "inconsistent in one language",
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
    assert page.locator("#split .bars rect").count() == 4
    texts = page.locator("#split text").all_text_contents()
    assert [text for text in texts if text in SHARES.values()] == [*SHARES.values()]
    assert {*QUANTITIES} <= {*texts}
    page.select_option("select[data-label=measure]", "centred RankC")
    tip = page.locator("#rankc_subject [data-pair='en/ru'] title").text_content()
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
