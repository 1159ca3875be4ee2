"""Three wordings beside one reference."""

import json
from io import StringIO

import pytest
from rich.console import Console
from typer.testing import CliRunner

from polyprobe.analysis.compare.sentences.compare import compare_versions
from polyprobe.analysis.compare.sentences.several import compare_several
from polyprobe.analysis.compare.sentences.texts import (
    find_answer_text,
    find_versions,
    split_wording,
)
from polyprobe.analysis.figures.compute import find_results
from polyprobe.analysis.figures.units import Bootstrap
from polyprobe.cli import app
from polyprobe.report.findings.comparison import make_several_finding
from polyprobe.report.show import format_table, render_table
from polyprobe.schema.run.folder import Run
from polyprobe.system.errors import PolyprobeError
from tests.making.runs import reseal
from tests.making.versions import rename, write_versions, write_wordings

FEW = {"n_resamples": 99}


@pytest.fixture
def runs(tmp_path):
    return write_wordings(tmp_path)


@pytest.mark.parametrize(
    ("config", "name", "wording"),
    [
        ("ru", "tiny/ru", "template"),
        ("ru-sentence", "tiny/ru", "sentence"),
        ("ru-chatgpt", "tiny/ru", "chatgpt"),
        ("ru-wide", "tiny/ru-wide", "template"),
        ("ru-sentence-wide", "tiny/ru-wide", "sentence"),
        ("ru-chatgpt-wide", "tiny/ru-wide", "chatgpt"),
    ],
)
def test_a_configuration_is_split_into_name_and_wording(runs, config, name, wording, tmp_path):
    assert split_wording(rename(runs[0], tmp_path / "copy", config)) == (name, wording)


def test_two_of_three_wordings_may_lack_the_template(runs):
    _, sentence, chatgpt = runs
    for pair, sides in (
        ((sentence, chatgpt), ("sentence", "chatgpt")),
        ((chatgpt, sentence), ("chatgpt", "sentence")),
    ):
        versions = find_versions(*pair)
        assert versions == (sentence, chatgpt, sides)
        assert versions.wordings == ("sentence", "chatgpt")


def test_narrow_and_wide_are_not_wordings_of_one_configuration(runs, tmp_path):
    wide = rename(runs[1], tmp_path / "wide", "small-sentence-wide")
    assert find_versions(runs[0], wide) is None


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_each_wording_is_compared_with_the_template(runs, order):
    several = compare_several([runs[k] for k in order], **FEW)
    expected = [compare_versions(find_versions(runs[k], runs[0]), **FEW).ranks for k in (1, 2)]
    assert [found.ranks for found in several.comparisons] == expected
    of = several.as_json()
    assert of["reference"] == "template"
    recall = of["wordings"]["chatgpt"]["ranks"]["recall@1"]["macro"]["mean"]
    assert recall["difference"] == 0  # ChatGPT's scores are copies
    assert recall["template"] == recall["chatgpt"]
    assert of["wordings"]["sentence"]["difference"] == "sentence - template"


def cells_of(table):
    return {name: tuple(cells) for name, *cells in format_table(table)[1]}


def test_one_table_has_the_values_and_one_the_differences(runs):
    several = compare_several(runs, **FEW)
    values, changes = make_several_finding(several).tables
    assert [column.head for column in values.columns[1:]] == ["template", "sentence", "chatgpt"]
    assert [column.head for column in changes.columns[1:]] == [
        "sentence -\ntemplate", "p (holm)", "chatgpt -\ntemplate", "p (holm)",
    ]  # fmt: skip
    sentence, chatgpt = (found.ranks["recall@1"]["macro"][1] for found in several.comparisons)
    shown = (sentence.second, sentence.first, chatgpt.first)
    name = "recall@1 ru (macro)"
    assert cells_of(values)[name] == tuple(f"{value:.3f}" for value in shown)
    difference, _, copied, _ = cells_of(changes)[name]
    assert difference == f"{sentence.first - sentence.second:.3f}" != "0.000"
    assert copied == "0.000"
    assert cells_of(values).keys() == cells_of(changes).keys()


def test_no_number_is_cut_or_folded_at_80_columns(runs):
    several = compare_several(runs, **FEW)
    ranks = several.comparisons[0].ranks
    macro = [
        row._replace(first=12345.678, second=23456.789, difference=-11111.111, p_adjusted=1.2e-12)
        for row in ranks["mean_rank"]["macro"]
    ]
    longer = {**ranks, "a longer name than that of any figure": {"macro": macro, "micro": macro}}
    comparisons = [comparison._replace(ranks=longer) for comparison in several.comparisons]
    several = several._replace(comparisons=comparisons)
    for table in make_several_finding(several).tables:
        console = Console(file=StringIO(), width=80)
        console.print(render_table(table))
        text = console.file.getvalue()
        assert "…" not in text
        assert max(map(len, text.splitlines())) <= 80
        words = {cell.strip() for line in text.splitlines() for cell in line.split("│")}
        for cells in cells_of(table).values():
            assert words.issuperset(cells)


def test_two_runs_name_the_direction_of_their_order(runs, tmp_path):
    """Two runs: the first less the second; the JSON and the table say so."""
    template, sentence, _ = (str(run.folder) for run in runs)
    for pair, direction in (
        ((template, sentence), "template - sentence"),
        ((sentence, template), "sentence - template"),
    ):
        out = tmp_path / "two.json"
        words = ["compare", *pair, "--resamples", "99", "--json", str(out)]
        result = CliRunner().invoke(app, words, env={"COLUMNS": "120"})
        text, (first, second) = " ".join(result.output.split()), direction.split(" - ")
        assert f"difference (Δ): {direction}" in text
        assert f"┃ {first} ┃ {second} ┃ Δ ┃" in text
        for figure in ("recall@1 mean (macro)", "recall@1 mean (micro)", "accuracy mean (micro)"):
            assert figure in text
        found = json.loads(out.read_text())
        assert found["difference"] == " - ".join(found["names"])
        assert found["versions"]["difference"] == direction
        row = found["versions"]["ranks"]["recall@1"]["macro"]["mean"]
        assert row["difference"] == pytest.approx(row[first] - row[second]) != 0
        one, other = (find_results(Run(x), Bootstrap(0))["mean"]["accuracy"] for x in pair)
        assert found["differences"]["accuracy"]["mean"]["difference"] == pytest.approx(one - other)


def test_the_command_takes_three(runs, tmp_path):
    folders = [str(run.folder) for run in runs]
    out = tmp_path / "c.json"
    result = CliRunner().invoke(app, ["compare", *folders, "--resamples", "99", "--json", str(out)])
    assert result.exit_code == 0, result.output
    assert "chatgpt: 12 rows in both" in " ".join(result.output.split())
    assert json.loads(out.read_text())["reference"] == "template"


def test_other_runs_are_refused(runs, tmp_path):
    other = rename(runs[0], tmp_path / "other", "large")
    for wrong in ([*runs[:2], other], [*runs[:2], runs[1]]):
        with pytest.raises(PolyprobeError, match="wordings of one configuration"):
            compare_several(wrong, **FEW)
    folders = [str(run.folder) for run in runs]
    result = CliRunner().invoke(app, ["compare", *folders, "--output", "page.html"])
    assert "--output shows two runs" in str(result.exception)


def test_runs_with_other_rows_are_refused(tmp_path):
    template, sentence = write_versions(tmp_path, skip=(0,))
    chatgpt = rename(template, tmp_path / "copy", "small-chatgpt")
    with pytest.raises(PolyprobeError, match="different rows in common with .*: 11, 12;"):
        compare_several([template, sentence, chatgpt], **FEW)


def test_runs_with_as_many_other_rows_are_refused(tmp_path):
    """Both have eleven rows in common with the template, but not the same ones."""
    template, sentence = write_versions(tmp_path, skip=(0,))
    chatgpt = rename(template, tmp_path / "copy", "small-chatgpt")
    for language in ("en", "ru"):
        chatgpt.write(language, chatgpt.read(language).slice(0, 11))
    with pytest.raises(PolyprobeError, match="different rows in common with .*: 11, 11;"):
        compare_several([template, sentence, chatgpt], **FEW)


def test_three_runs_of_free_predictions_are_refused(runs):
    for run in runs:
        reseal(run.folder, scoring="xfactr-independent-none-m3-b1")
    folders = [str(run.folder) for run in runs]
    with pytest.raises(PolyprobeError, match="free predictions: compare two at a time"):
        CliRunner().invoke(app, ["compare", *folders], catch_exceptions=False)


@pytest.mark.parametrize(
    ("wording", "forms", "answer"),
    [
        ("template", ["Рим", "Риме", "Риму"], "Рим"),
        ("sentence", ["Рим", "Риме", "Риму"], "Риме"),
        ("chatgpt", ["Рим", "Риме", "Риму"], "Риму"),
        ("chatgpt", ["Рим", "Риме"], "Риме"),
        ("sentence", ["Рим"], "Рим"),
    ],
)
def test_the_answer_in_each_wording(wording, forms, answer):
    row = {"candidates": forms, "answers": [*range(len(forms))], "answer_forms": forms}
    assert find_answer_text(row, wording) == answer
