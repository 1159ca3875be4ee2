"""Verdicts on free answers in results.json, on the page, and the examples behind their shares."""

import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from polyprobe.analysis.figures.compute import find_results
from polyprobe.cli import app
from polyprobe.eval.imports import judge_answers
from polyprobe.metrics.shared.verdicts import KINDS
from polyprobe.publish.export import export_run
from polyprobe.report.findings.run import VERDICTS
from polyprobe.report.page import write_report
from polyprobe.report.page.runs import FREE, LONGEST, collect_examples, cut_answer, read_answers
from polyprobe.schema.run.folder import Run
from polyprobe.system.messages import PolyprobeError
from tests.making.browser import open_page
from tests.making.exports import copy_run
from tests.making.facts import write_facts

SCRIPT = "<script>document.title='pwned'</script> Berlin"  # to facts about Germany
IMAGE = "<img src=x onerror=\"document.title='pwned'\"> Berlin"
LONG = f"Paris {'x' * 100_000}"
# To the facts of France, Germany, Italy and Russia, twice; by language.
ANSWERS = {
    "en": [LONG, SCRIPT, "Paris", "I don't know.", "Paris", IMAGE, "London", ""],
    "ru": ["Париж", "Berlin", "Рим", "Москва", "Париж", "柏林", "لا شيء", "Москва"],
}
COUNTS = {  # by hand
    "en": {"right": 4, "another": 1, "outside": 1, "refusal": 1, "empty": 1},
    "ru": {"right": 5, "right_english": 1, "right_other": 1, "outside": 1},
}


def judge(texts_of, folder, dataset):
    answers = [
        {"language": language, "row": row, "answer": text}
        for language, texts in texts_of.items()
        for row, text in enumerate(texts)
    ]
    judge_answers(answers, dataset, output=folder, languages=[*texts_of])
    return Run(folder)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return str(write_facts(tmp_path_factory.mktemp("facts")))


@pytest.fixture(scope="module")
def judged(tmp_path_factory, dataset):
    return judge(ANSWERS, tmp_path_factory.mktemp("judged") / "run", dataset)


@pytest.fixture(scope="module")
def worse(tmp_path_factory, dataset):
    texts = {"en": ["Paris", *["?"] * 7], "ru": ["Париж", *["?"] * 7]}
    return judge(texts, tmp_path_factory.mktemp("worse") / "run", dataset)


def test_verdicts_are_shares_by_language(judged):
    assert [*VERDICTS] == [*KINDS]
    shares = {x: {kind: COUNTS[x].get(kind, 0) / 8 for kind in KINDS} for x in ANSWERS}
    assert find_results(judged)["verdicts"] == shares
    assert judged.read_results()["verdicts"] == shares
    table = pd.read_csv(export_run(judged.folder, "csv")).set_index(["figure", "language"])
    for language, of_kinds in shares.items():
        assert {x: table.value[f"verdicts.{x}", language] for x in KINDS} == of_kinds


def test_the_hub_knows_answers_as_generated_text(judged):
    card = yaml.safe_load(export_run(judged.folder, "model-index", dataset_id="a/b").read_text())
    types = {result["task"]["type"] for result in card["model-index"][0]["results"]}
    assert types == {"text-generation"}


def test_damaged_verdicts_are_refused_in_one_line(judged, tmp_path):
    run = copy_run(judged.folder, tmp_path, verdicts={"en": {"right": "<b>all</b>"}})
    with pytest.raises(PolyprobeError, match="verdicts"):
        Run(run).read_results()


def test_examples_have_question_answer_verdict_and_entity(judged):
    answers = read_answers(judged, [*ANSWERS])
    examples = collect_examples(judged.settings(), answers, 1_000_000)
    rows = {fact["id"]: [row[4:] for row in fact["rows"]] for fact in examples["facts"]}
    question = "Germany: its capital is ___."
    assert rows["P36:C1:1"] == [
        [question, SCRIPT, "right", "T1"],
        ["Германия: столица — ___.", "Berlin", "right, in English", "T1"],
    ]
    long = rows["P36:C0:0"][0][1]
    cut = len(LONG) - LONGEST
    assert long == f"{LONG[:LONGEST]} … [{cut:,} more characters]"


def test_a_long_prompt_is_cut_before_its_question():
    row = dict.fromkeys(FREE, "") | {"asked": f"{'x' * 10_000}Q?", "verdict": "empty"}
    asked, *rest = cut_answer(row)
    assert asked == f"[9,502 more characters] … {'x' * (LONGEST - 2)}Q?"
    assert rest == ["", "empty", ""]


def test_answers_are_not_said_to_be_ranked(judged, tmp_path):
    mean = judged.read_results()["mean"] | {"rankc_subject": 0.5}
    run = copy_run(judged.folder, tmp_path, mean=mean, rankc_subject={"en-ru": 0.5})
    write_report([run], tmp_path / "report.html")
    lead = (tmp_path / "report.html").read_text().partition("What the figures mean")[0]
    assert "its answers agree between languages with a centred RankC of 0.500" in lead


# Right in any language: (4 + 7) of 16, and 2 of 16.
@pytest.mark.parametrize(
    ("words", "status", "line"),
    [
        (["compare", "RUN", "RUN2"], 0, "accuracy mean"),
        (["compare", "RUN", "RUN2", "--fail-if", "accuracy"], 1, "lost: accuracy: 0.688 → 0.125"),
        (["compare", "RUN2", "RUN", "--fail-if", "accuracy"], 0, "kept: accuracy: 0.125 → 0.688"),
        (["groups", "RUN", "--by", "relation"], 0, "P36"),
        (["board", "RUN", "RUN2", "--output", "BOARD"], 0, "scoring answer"),
        (["metrics", "RUN"], 0, "no object"),
    ],
)
def test_commands_take_runs_of_answers(judged, worse, tmp_path, words, status, line):
    places = {"RUN": judged.folder, "RUN2": worse.folder, "BOARD": tmp_path / "board"}
    words = [str(places.get(word, word)) for word in words]
    result = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
    assert result.exit_code == status, result.output
    assert line in result.output
    assert "ranked" not in result.output


@pytest.mark.acceptance
def test_a_share_leads_to_its_answers_which_are_text(judged, tmp_path, browser):
    write_report([judged.folder], tmp_path / "report.html")
    page = open_page(browser, tmp_path / "report.html")
    shares = page.locator("section", has_text="Verdicts on the answers").locator("td a")
    assert shares.all_inner_texts() == ["50.0", *["12.5"] * 4, "62.5", *["12.5"] * 3]
    answers = page.locator("#examples .side:first-child blockquote")
    texts_of = {2: ["London"], 3: ["I don't know."], 8: ["لا شيء"], 6: ["Berlin"]}
    for place, texts in texts_of.items():
        shares.nth(place).click()
        assert answers.all_inner_texts() == texts
        direction = answers.evaluate("x => getComputedStyle(x).direction")
        assert direction == ("rtl" if place == 8 else "ltr")
    page.fill("#words", "onerror")
    assert page.locator("#examples blockquote").all_inner_texts() == ["柏林", IMAGE]
    page.fill("#words", "pwned")
    assert {SCRIPT, IMAGE} <= {*page.locator("#examples blockquote").all_inner_texts()}
    page.fill("#words", "refusal")
    assert page.locator("#examples .fact").count() == 1
    assert page.locator("#examples").locator("script, img").count() == 0
    assert page.title().startswith("polyprobe: ")
    page.close()
