"""The HTML page of versions: no external resources, complete results, plots in a browser."""

from typer.testing import CliRunner

from polyprobe.analysis.compare.folders import compare_folders
from polyprobe.analysis.compare.options import ComparisonOptions
from polyprobe.cli import app
from polyprobe.report.findings.versions import make_versions_finding
from polyprobe.report.page.page import write_finding
from tests.making.browser import open_page
from tests.making.reader import Reader
from tests.making.versions import write_versions

OPTIONS = ComparisonOptions(n_resamples=99, clusters="none")


def write(folder, runs):
    [outcome] = compare_folders([*reversed(runs)], OPTIONS)
    write_finding(make_versions_finding(outcome), folder / "page.html")
    return outcome.wording, Reader((folder / "page.html").read_text(encoding="utf-8"))


def test_the_pictures_have_the_values_of_the_page(tmp_path):
    [outcome] = compare_folders([*reversed(write_versions(tmp_path, two_forms=True))], OPTIONS)
    finding, values = make_versions_finding(outcome), outcome.wording.as_json()
    pictures, mean = finding.pictures, values["ranks"]["recall@1"]["macro"]["mean"]
    assert f"{100 * mean['sentence']:.1f}% of the sentences" in " ".join(finding.lead.split())
    for language in ("mean", "en", "ru"):
        rows = [values["ranks"][f"recall@{k}"]["macro"][language] for k in range(1, 5)]
        assert [(p.group, p.x, p.y, p.y_bounds) for p in pictures[f"recall-{language}"].points] == [
            (side, k, row[side], row[f"{side}_ci"])
            for side in outcome.wording.versions.sides
            for k, row in enumerate(rows, start=1)
        ]
    for series in pictures["ranks"].series:
        expected = [values["boxes"][language][series.name] for language in ("en", "ru")]
        assert [box._asdict() for box in series.boxes] == expected
        assert series.values == [box["median"] for box in expected]
    part = values["by_relation"]["en"]["figures"]
    name = next(name for name in part if name != "recall@1")
    points = pictures[f"changes-en+{name}"].points
    assert [(p.label, p.x, p.y) for p in points] == [
        (relation, x, part["recall@1"][relation]) for relation, x in part[name].items()
    ]


def test_the_command_saves_page_and_picture_of_two_wordings(tmp_path):
    runs = [str(run.folder) for run in write_versions(tmp_path)]
    options = ["--resamples", "99", "--figure", str(tmp_path / "p.svg"), "--draw"]
    page = tmp_path / "p.html"
    result = CliRunner().invoke(app, ["compare", *runs, *options, "recall-ru", "--output", page])
    assert f"report: {page}" in result.output.replace("\n", "")
    assert "chrF signature: nrefs:1" in page.read_text(encoding="utf-8")
    assert f"figure: {tmp_path / 'p.svg'} (recall-ru)" in result.output.replace("\n", "")
    result = CliRunner().invoke(app, ["compare", *runs, *options, "recall"])
    assert "unknown --draw 'recall'; did you mean" in str(result.exception)


def test_a_browser_draws_all_pictures(tmp_path, browser):
    write(tmp_path, write_versions(tmp_path))
    page = open_page(browser, tmp_path / "page.html")
    assert page.locator("#ranks .box").count() == 4  # two languages, two wordings
    assert page.locator(".figure:visible").count() == 3
    assert page.locator("#recall-mean path.curve").count() == 2
    assert page.locator("[id^=changes]:visible .points circle").count() == 2  # P19 and P20
    page.locator("section", has_text="Recall@k").locator("select").first.select_option("ru")
    assert page.locator("#recall-ru").is_visible()
    assert not page.locator("#recall-mean").is_visible()
