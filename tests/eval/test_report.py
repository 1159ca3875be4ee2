"""The HTML report: content, counts, and the view of a pair of languages."""

import json
import shutil
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from polyprobe.cli import app
from polyprobe.eval.report import page, write_report
from polyprobe.eval.report.page import RunPart
from polyprobe.eval.results.figures import HEADLINE_PAIRS
from polyprobe.system.errors import PolyprobeError
from tests.eval.facts import write_facts
from tests.eval.reader import Reader
from tests.eval.runs import COUNTS, SCORES, write_run

MEASURES = {figure.name: figure.title for figure in HEADLINE_PAIRS if not figure.twice}
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture
def facts(tmp_path):
    return write_facts(tmp_path / "facts")


@pytest.fixture
def run(tmp_path, facts):
    return write_run(tmp_path / "run", facts, SCORES)


@pytest.fixture
def light(monkeypatch):
    """Leave plotly's 4.8 MB out of the page."""
    monkeypatch.setattr(page, "read_plotly", lambda: "")


def read_page(file):
    text = file.read_text(encoding="utf-8")
    reader = Reader(text)
    return reader, json.loads(reader.scripts[0])["runs"]


def report(tmp_path, *folders):
    write_report(list(folders), tmp_path / "report.html")
    return read_page(tmp_path / "report.html")


def drawn(run):
    """The results drawn by the page's script."""
    results = run.read_results()
    measures = ("accuracy", *MEASURES)
    intervals = {name: results["intervals"][name] for name in measures}
    figures = {name: results[name] for name in ("languages", "chance", "floors", *measures)}
    return {**figures, "intervals": intervals}


def test_the_real_page_loads_nothing_and_holds_the_results(tmp_path, run):
    pytest.importorskip("plotly")
    reader, runs = report(tmp_path, run.folder)
    assert reader.loaded == []
    assert reader.addresses
    assert all(address.startswith("#") for address in reader.addresses)
    assert "default-src 'none'" in (tmp_path / "report.html").read_text(encoding="utf-8")[:400]
    assert [part["results"] for part in runs] == [drawn(run)]
    assert [part["counts"] for part in runs] == [[list(COUNTS[p]) for p in COUNTS]]
    assert sum("plotly.js v" in script for script in reader.scripts) == 1


@pytest.mark.usefixtures("light")
def test_a_run_of_the_first_rows_shows_those(tmp_path, facts):
    picked = {language: values[:3] for language, values in SCORES.items()}
    run = write_run(tmp_path / "run", facts, picked, rows=3)
    reader, (part,) = report(tmp_path, run.folder)
    assert part["total"] == 3
    assert {fact["id"] for fact in part["facts"]} == {"P36:C0:0", "P36:C1:1", "P36:C2:2"}
    assert "Examples from 3 of 3 facts" in reader.text


@pytest.mark.usefixtures("light")
def test_the_answer_is_at_the_top(tmp_path, run):
    reader, _ = report(tmp_path, run.folder)
    mean = run.read_results()["mean"]
    # ties in expectation: ru 5 + 1/2 correct of 8; zh_hans 2, its tie in fact 2 lacks the answer
    accuracy = (8 / 8 + 5.5 / 8 + 2 / 8) / 3
    chance = (1 / 4 + 1 / 2) / 2
    answer = " ".join(reader.under("answer"))
    assert f"{100 * accuracy:.1f} % of 8 facts right, averaged over 3 languages" in answer
    assert f"(guessing: {100 * chance:.1f} %)" in answer
    assert f"{mean['rankc_adjusted']:.3f}" in answer
    assert reader.under("signature") == [run.settings().signature]


def made_results(languages, values):
    pairs = ["-".join(pair) for pair in combinations(languages, 2)]
    return {
        "signature": "s",
        "languages": list(languages),
        "n_queries": 3,
        "accuracy": dict.fromkeys(languages, 0.5),
        **{key: dict(zip(pairs, values, strict=True)) for key in MEASURES},
        "chance": {"accuracy": 0.25, "rankc": 0.3},
        "mean": dict.fromkeys(("accuracy", *MEASURES), 0.5),
        "left_out": {"rankc_adjusted": 0, "coverlap": 0},
    }


@pytest.mark.parametrize(
    ("languages", "most", "least"),
    [("ab", 1, 0), ("abc", 2, 1), ("abcdef", 8, 7), ("abcdefg", 10, 10)],
)
def test_the_ten_pairs_are_the_sorted_values(run, languages, most, least):
    count = len(languages) * (len(languages) - 1) // 2
    values = [float(v) for v in np.random.default_rng(5).permutation(count) / 100]
    examples = {"facts": [], "total": 3, "note": None}
    part = RunPart("m", run.settings(), made_results(languages, values), examples)
    section = page.make_environment().get_template("run.html")
    reader = Reader(section.render(index=0, part=part, measures=MEASURES))
    shown = {k: [float(x) for x in reader.under(k, "td")[::3]] for k in ("most", "least")}
    assert shown["most"] == sorted(values, reverse=True)[:most]
    assert shown["least"] == sorted(values)[:least]
    names = dict(zip(combinations(languages, 2), values, strict=True))
    assert reader.under("most", "a")[0] == " – ".join(max(names, key=names.get))
    assert "#0/" + "/".join(min(names, key=names.get)) in reader.addresses


@pytest.mark.usefixtures("light")
def test_everything_is_escaped(tmp_path):
    evil = "</script><script>alert(1)</script>"

    def spoil(language, made):
        return [
            row._replace(
                prompt=f"{evil} [Y]",
                candidates=[evil, *"bcd"][: len(row.candidates)],
                relation=evil,
            )
            for row in made
        ]

    facts = write_facts(tmp_path / "facts", spoil)
    run = write_run(tmp_path / "run", facts, SCORES, model=evil)
    reader, (part,) = report(tmp_path, run.folder)
    assert evil not in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert part["facts"][0]["rows"][0][0] == f"{evil} [Y]"
    assert part["name"] == evil
    assert evil in reader.text


@pytest.mark.usefixtures("light")
@pytest.mark.parametrize("how", ["gone", "changed"])
def test_without_the_dataset_there_are_numbers_for_texts(tmp_path, facts, run, how):
    shutil.rmtree(facts)
    if how == "changed":
        write_facts(facts, lambda _, made: [r._replace(prompt=f"! {r.prompt}") for r in made])
    reader, (part,) = report(tmp_path, run.folder)
    assert part["results"] == drawn(run)
    assert {fact["id"]: fact["rows"][1] for fact in part["facts"]}["P36:C3:3"] == (
        [None, 0, "candidate 0", "candidate 3", 0, 1]
    )
    reason = "no dataset" if how == "gone" else "has changed since the run"
    assert any("not at hand" in note and reason in note for note in reader.under("note"))


@pytest.mark.usefixtures("light")
def test_two_runs_are_side_by_side(tmp_path, facts, run):
    other = write_run(tmp_path / "other", facts, {"en": SCORES["zh_hans"], "ru": SCORES["ru"]})
    reader, parts = report(tmp_path, run.folder, other.folder)
    assert [p["results"] for p in parts] == [drawn(r) for r in (run, other)]
    assert [p["name"] for p in parts] == ["synthetic (run)", "synthetic (other)"]
    cells = [text for _, tag, text in reader.texts if tag == "td"]
    all_means = [r.read_results()["mean"] for r in (run, other)]
    means = [[f"{mean[key]:.3f}" for key in ("accuracy", *MEASURES)] for mean in all_means]
    head = next(i for i, (_, tag, _) in enumerate(reader.texts) if tag == "td")
    names = [text for _, tag, text in reader.texts[head - 1 :] if tag == "a"][:2]
    assert names == ["synthetic (run)", "synthetic (other)"]
    # five cells of words and counts less the link, four means, two chances
    assert [cells[4:8], cells[14:18]] == means
    assert means[0] != means[1]
    assert any("differ in languages" in note for note in reader.under("note"))


@pytest.mark.usefixtures("light")
def test_two_runs_that_asked_the_same_are_not_cautioned(tmp_path, facts, run):
    other = write_run(tmp_path / "other", facts, SCORES, model="other")
    reader, _ = report(tmp_path, run.folder, other.folder)
    assert not any("differ" in note for note in reader.under("note"))


@pytest.mark.usefixtures("light")
def test_one_language_has_no_pairs(tmp_path, facts):
    run = write_run(tmp_path / "run", facts, {"en": SCORES["en"]})
    reader, (part,) = report(tmp_path, run.folder)
    assert "100.0 % of 8 facts right, in one language" in " ".join(reader.under("answer"))
    assert part["counts"] == []
    assert reader.under("examples-block") == []


def test_missing_plotly_names_the_extra(tmp_path, run, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(PolyprobeError, match=r"pip install 'polyprobe\[report\]'"):
        write_report([run.folder], tmp_path / "report.html")


def spoil_nothing_there(run):
    shutil.rmtree(run.folder)


def spoil_results(run):
    (run.folder / "results.json").unlink()


def spoil_scores(run):
    (run.folder / "scores" / "ru.parquet").unlink()


@pytest.mark.usefixtures("light")
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoil_nothing_there, "is not a run folder: it has no run.json"),
        (spoil_results, "has no results.json; make it with `polyprobe metrics"),
        (spoil_scores, "ru.parquet is missing; run the same `polyprobe eval` again"),
    ],
)
def test_a_run_that_is_not_whole_is_one_line(tmp_path, run, spoil, message):
    spoil(run)
    with pytest.raises(PolyprobeError, match=message) as caught:
        write_report([run.folder], tmp_path / "report.html")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "report.html").exists()


@pytest.mark.usefixtures("light")
def test_an_output_that_cannot_be_written_is_one_line(tmp_path, run):
    (tmp_path / "file").write_text("")
    with pytest.raises(PolyprobeError, match="cannot write .*; choose another --output"):
        write_report([run.folder], tmp_path / "file" / "report.html")


@pytest.mark.usefixtures("light")
def test_the_command_writes_the_file(tmp_path, run):
    output = tmp_path / "new" / "r.html"
    result = CliRunner().invoke(app, ["report", str(run.folder), "--output", str(output)])
    assert result.exit_code == 0, result.output
    assert f"report: {output}" in result.output.replace("\n", "")
    assert read_page(output)[1][0]["results"] == drawn(run)


def dump_dom(file, fragment, profile):
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    command = [CHROMIUM, *options, "--no-first-run", f"--user-data-dir={profile}"]
    command += ["--virtual-time-budget=5000", "--dump-dom", f"{Path(file).as_uri()}#{fragment}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on the path")
@pytest.mark.acceptance
def test_a_browser_shows_the_pair_of_the_address(tmp_path, run):
    pytest.importorskip("plotly")
    write_report([run.folder], tmp_path / "report.html")
    dom = dump_dom(tmp_path / "report.html", "0/zh_hans/ru", tmp_path / "profile")
    reader = Reader(examples_of(dom))
    rankc = run.read_results()["rankc"]["ru-zh_hans"]
    assert reader.under("values")[0].startswith(f"zh_hans – ru: RankC {rankc:.3f}")
    assert [text for _, tag, text in reader.texts if tag == "h4"] == [
        "Same answer: 4 of 8 facts (2 right, 2 wrong)",
        "Different answers: 2 of 8 facts",
        "Tie for the best score: 2 of 8 facts",
    ]
    shown = [
        *("柏林", "Берлин", "罗马", "Рим"),  # facts 1 and 6: both correct
        *("巴黎", "莫斯科", "Париж", "Москва"),  # fact 3: both wrong, with the answer
        *("柏林", "巴黎", "Берлин", "Париж"),  # fact 4
    ]
    assert sorted(reader.under("agree", "bdi")) == sorted(shown)
    ids = [text for text in reader.under("agree") if text.startswith("P36:")]
    assert set(ids[:2]) == {"P36:C1:1 · P37", "P36:C2:6"}
    assert set(ids[2:]) == {"P36:C3:3 · P37", "P36:C0:4"}
    assert reader.under("tied").count("model: tie between 2 candidates") == 2
    assert dom.count('class="main-svg"') >= 2  # both plots were drawn


def examples_of(dom):
    """Return the examples' element of a page rendered by a browser."""
    start = dom.index('<div class="examples"')
    return dom[start : dom.index("</div></section>", start)]
