"""`polyprobe board`: rows, means, trends against other programs, refusals, tables."""

import csv
import io
import json
import re
import shutil

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import linregress
from typer.testing import CliRunner

from polyprobe.analysis.board import check_output
from polyprobe.analysis.board.board import (
    fit_doublings,
    make_board,
)
from polyprobe.cli import app
from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.report.findings.board import (
    list_models,
    list_trends,
    make_board_finding,
    write_models,
)
from polyprobe.report.show import format_table
from polyprobe.schema.run.folder import Run
from polyprobe.system.files import part_of
from polyprobe.system.messages import PolyprobeError
from tests.making.boards import BLOOM, TABLE_5, write_table_5, write_typed
from tests.making.facts import write_facts
from tests.making.runs import SCORES, reseal, write_run

SEVERAL = {"accuracy": {"en": 0.5, "fr": 0.25}, "rankc": {"en-fr": 0.4}}


@pytest.fixture
def bmlama_board(tmp_path):
    return make_board(write_table_5(tmp_path))


def test_table_5_of_bmlama_gives_its_slopes(bmlama_board):
    """Published: +.0087 and +.0186 per doubling over the five BLOOM."""
    _, rows = format_table(list_trends(bmlama_board))
    found = {row[0]: row[1:] for row in rows}
    assert found["RankC"][0] == "+0.0087"
    assert found["accuracy"][0] == "+0.0186"
    assert [row[3] for row in found.values()] == ["5", "5"]
    assert [entry.name for entry in bmlama_board.entries][:2] == ["mT5-large", "RoBERTa"]


def test_slopes_are_those_of_other_programs(bmlama_board):
    x = np.log2([*BLOOM.values()])
    clc, accuracy = np.array([TABLE_5[f"BLOOM-{size}"] for size in BLOOM]).T / 100
    for name, y in (("rankc", clc), ("accuracy", accuracy)):
        found, other = bmlama_board.fit_slope(name), linregress(x, y)
        fitted = sm.OLS(y, sm.add_constant(x)).fit()
        assert (found.low, found.high) == pytest.approx(fitted.conf_int(0.05)[1])
        assert found.slope == pytest.approx(other.slope)
        assert (found.intercept, found.r, found.p) == pytest.approx(
            (other.intercept, other.rvalue, other.pvalue)
        )


def test_centred_rankc_sorts_and_floors_mark(tmp_path):
    floors = {"bigrams": {"rankc_subject": 0.3, "accuracy": 0.2}, "frequency": {"accuracy": 0.25}}
    runs = []
    for name, accuracy, centred, ends in (
        ("letters", 0.9, 0.3, [0.25, 0.35]),
        ("blind", 0.3, None, None),
        ("knows", 0.5, 0.6, [0.5, 0.7]),
    ):
        bounds = {"mean": {"accuracy": [accuracy - 0.1, 1], "rankc_subject": ends}}
        figures = {"accuracy": {"en": accuracy, "fr": accuracy}, "rankc_subject": centred}
        more = {"floors": floors, "intervals": bounds}
        runs.append(write_typed(tmp_path / name, name, figures, more))
    board = make_board(runs)
    assert [entry.name for entry in board.entries] == ["knows", "letters", "blind"]
    table = list_models(board, board.columns)
    assert table.rows[-1][0] == "floor"
    assert [cell.value for cell in table.rows[-1][2:4]] == [0.25, 0.3]
    assert [[(cell.bold, cell.low) for cell in row[2:4]] for row in table.rows[:-1]] == [
        [(False, False), (True, False)],
        [(True, False), (False, True)],
        [(False, True), (False, False)],
    ]  # fmt: skip
    assert "0.300 †" in write_models(board, ".md")
    notes = make_board_finding(board).notes
    assert "†: not above the highest floor with its 95% interval" in notes
    assert "bold: best" in notes
    text = write_models(board, ".tex")
    assert r" & 50.0 & \textbf{60.0} & -- \\" in text
    assert r" & \textbf{90.0} & 30.0\rlap{$^\dagger$} & -- \\" in text
    assert text.count("\\caption{") == 1
    assert "Bold: best; $^\\dagger$: not above the highest floor" in text
    figures = board.as_json()["models"][1]["figures"]
    assert (figures["accuracy"]["floor"], figures["accuracy"]["floor_name"]) == (0.25, "frequency")


def test_centred_rankc_is_marked_where_accuracy_is(tmp_path):
    """As in the table of a run: the headline is above its floor, its accuracy is not."""
    bounds = {"mean": {"accuracy": [0.2, 0.4], "rankc_subject": [0.5, 0.7]}}
    floors = {"bigrams": {"rankc_subject": 0.3, "accuracy": 0.25}}
    figures = {"accuracy": {"en": 0.3, "fr": 0.3}, "rankc_subject": 0.6}
    more = {"floors": floors, "intervals": bounds}
    board = make_board([write_typed(tmp_path / "luck", "luck", figures, more)])
    [entry] = board.entries
    assert "mean" in entry.values["accuracy"].low
    assert "mean" in entry.values["rankc_subject"].low
    assert "bold" not in "".join(make_board_finding(board).notes)  # of one model


def test_the_best_is_that_of_runs_with_the_same_settings(tmp_path):
    """Of four models, two on other facts; equal as printed counts as equal."""
    values = {"a": 0.5, "b": 0.6, "c": 0.7, "d": 0.7001}
    runs = []
    for name, accuracy in values.items():
        more = {"n_queries": 7} if name in "cd" else {}
        runs.append(write_typed(tmp_path / name, name, {"accuracy": {"en": accuracy}}, more))
    board = make_board(runs, sort="name", despite=True)
    assert [*board.differing] == ["facts"]
    assert board.mark_best("accuracy") == [False, True, True, True]
    assert board.mark_best("accuracy", "en") == [False, True, True, True]
    assert "bold: best of runs with the same settings" in make_board_finding(board).notes


def test_a_run_of_the_earlier_definition_is_refused_in_one_line(tmp_path):
    run = write_typed(tmp_path / "run", "a", SEVERAL)
    reseal(run, definition=1)
    with pytest.raises(PolyprobeError, match="definition 1, which cannot be compared") as error:
        make_board([run])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("sizes", "values", "n"),
    [
        ([1e9, 2e9], [0.1, 0.2], None),  # two points have no interval
        ([1e9, 1e9, 1e9], [0.1, 0.2, 0.3], None),  # one size
        ([1e9, None, 2e9, 4e9, 8e9], [0.1, 0.2, 0.2, None, 0.4], 3),
    ],
)
def test_slopes_need_three_models_of_different_size(sizes, values, n):
    found = fit_doublings(sizes, values)
    assert (found and found.n) == n
    if n:
        assert found.slope == pytest.approx(0.1)
        assert (found.low, found.high) == pytest.approx((0.1, 0.1))


def test_equal_values_have_a_slope_of_zero_and_no_correlation_with_size():
    found = fit_doublings([1e9, 2e9, 4e9], [0.5, 0.5, 0.5])
    assert (found.slope, found.low, found.high, found.r, found.p) == (0, 0, 0, None, None)


def test_means_intervals_and_languages_are_those_of_results_json(tmp_path):
    run = write_run(tmp_path / "run", write_facts(tmp_path / "facts"), SCORES)
    results = run.read_results()
    [entry] = make_board([run.folder]).entries
    for name, mean in results["mean"].items():
        value, bounds = entry.values[name], results["intervals"][name].values()
        assert (value.mean, value.interval) == (mean, results["intervals"]["mean"][name])
        widths = [high - low for low, high in filter(None, bounds)]
        if widths:
            assert value.plus_minus == pytest.approx(np.mean(widths) / 2)
    rankc = results["rankc"]
    expected = (rankc["en-ru"] + rankc["ru-zh_hans"]) / 2
    assert entry.values["rankc"].languages["ru"] == pytest.approx(expected)
    assert entry.values["accuracy"].languages == results["accuracy"]
    assert entry.values["kappa"].mean == results["kappa"]
    recall = results["recall_at_k"]
    mean = np.mean([recall[x]["recall@5"] for x in recall])
    assert entry.values["recall_at_k.recall@5"].mean == pytest.approx(mean)


def test_runs_of_one_language_each_are_one_row(tmp_path):
    def write(model, language, value, half):
        bounds = {language: [value - half, value + half]}
        return write_typed(
            tmp_path / f"{model}-{language}",
            model,
            {"accuracy": {language: value}},
            {"intervals": {"accuracy": bounds, "mean": {"accuracy": bounds[language]}}},
            config=language,
        )

    runs = [
        write("a", "en", 0.6, 0.01),
        write("b", "fr", 0.5, 0.05),
        write("a", "fr", 0.4, 0.03),
        write("b", "en", 0.3, 0.01),
    ]
    board = make_board(runs)
    assert [entry.name for entry in board.entries] == ["a", "b"]
    value = board.entries[0].values["accuracy"]
    assert (value.mean, value.interval) == (pytest.approx(0.5), None)
    assert value.plus_minus == pytest.approx((0.01 + 0.03) / 2)
    assert value.languages == {"en": 0.6, "fr": 0.4}
    assert board.data == "someone/facts/en+fr"
    with pytest.raises(PolyprobeError, match=r"differ in data someone/facts/en\+fr \(a\)"):
        make_board(runs[:3])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"scoring": "object"}, "scoring bmlama (a) / object (b)"),
        ({"dataset": "someone/other"}, "data someone/facts/17 (a) / someone/other/17 (b)"),
        ({"config": "53"}, "data someone/facts/17 (a) / someone/facts/53 (b)"),
        ({"limit": 50}, "rows limit=none (a) / limit=50 (b)"),
        ({"relations": ["P36"]}, "relations – (a) / P36 (b)"),
        ({"bos": "never"}, "bos auto (a) / never (b)"),
        ({"donor": True}, "donor none (a) / subject (b)"),
        ({"chat": {"system": "Be brief", "user": None}, "further": {"chat": "0"}}, "chat none"),
        ({"fingerprint": {"en": "en-facts", "fr": "other"}}, "rows of fr fr-fac (a) / other (b)"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(tmp_path, changes, said):
    runs = [
        write_typed(tmp_path / "a", "a", SEVERAL),
        write_typed(tmp_path / "b", "b", SEVERAL, **changes),
    ]
    with pytest.raises(PolyprobeError) as error:
        make_board(runs)
    text = str(error.value)
    assert said in text
    assert "--despite-differences" in text
    assert "\n" not in text
    board = make_board(runs, despite=True)
    head, rows = format_table(list_models(board, board.columns))
    name = said.partition(" (")[0].rpartition(" ")[0].partition(" –")[0]
    assert any(name.startswith(x) for x in board.differing)
    assert next(iter(board.differing)) in head
    assert rows[0] != rows[1]
    assert any(
        line.startswith("not comparable: the runs differ in")
        for line in make_board_finding(board).cautions
    )


def test_a_copy_of_a_run_is_refused(tmp_path):
    run = write_run(tmp_path / "run", write_facts(tmp_path / "facts"), SCORES)
    copy = shutil.copytree(run.folder, tmp_path / "copy")
    with pytest.raises(PolyprobeError) as error:
        make_board([run.folder, copy])
    assert str(error.value) == f"{copy} is a copy of {run.folder}; give one of them"


def test_texts_of_a_board_hold_no_path_and_no_html(tmp_path):
    facts = write_facts(tmp_path / "facts")
    model = str(tmp_path / "models" / "a<b")
    board = make_board([write_run(tmp_path / "run", facts, SCORES, model=model).folder])
    assert board.as_json()["models"][0]["model"] == "a<b"
    assert str(tmp_path) not in write_models(board, ".csv")
    assert "| a&lt;b |" in write_models(board, ".md")


def test_rows_of_one_and_of_several_runs_have_the_same_facts(tmp_path):
    figures = {"en": {"accuracy": {"en": 0.5}}, "fr": {"accuracy": {"fr": 0.5}}}
    parts = [write_typed(tmp_path / x, "a", of) for x, of in figures.items()]
    whole = write_typed(tmp_path / "whole", "b", {"accuracy": {"en": 0.5, "fr": 0.5}})
    board = make_board([whole, *parts])
    assert [entry.name for entry in board.entries] == ["b", "a"]
    assert not board.differing


def test_options_choices_and_facts_must_agree_too(tmp_path):
    more = {
        "options": {"options": {"weights": "norm1"}},
        "part": {"subset": {"relations": ["P36"], "exclude": []}},
        "facts": {"n_queries": 99},
        "languages": {},
    }
    first = write_typed(tmp_path / "a", "a", SEVERAL)
    for name, values in more.items():
        figures = {"accuracy": {"en": 0.5}} if name == "languages" else SEVERAL
        other = write_typed(tmp_path / name, "b", figures, values)
        with pytest.raises(PolyprobeError, match=f"they differ in {name} "):
            make_board([first, other])


def test_what_belongs_to_a_model_may_differ_and_is_noted(tmp_path):
    """Equations of other families, and the BOS that only causal models have."""
    runs = [
        write_typed(tmp_path / "a", "a", SEVERAL),
        write_typed(tmp_path / "b", "b", SEVERAL, scoring="bmlama-eq8", bos=None, dtype="float16"),
    ]
    board = make_board(runs)
    assert board.differing == {}
    assert board.loading == ["dtype: float32, float16"]
    contrasts = [
        write_typed(tmp_path / "c", "c", SEVERAL, scoring="contrastive", bos=None),
        write_typed(tmp_path / "d", "d", SEVERAL, scoring="contrastive-released", bos="never"),
        write_typed(tmp_path / "e", "e", SEVERAL, scoring="contrastive-released"),
    ]
    assert make_board(contrasts).differing == {}


def test_rows_are_sorted_and_undefined_ones_are_last(tmp_path):
    runs = [
        write_typed(tmp_path / name, name, {"accuracy": {"en": value}}, more, parameters=size)
        for name, value, size, more in (
            ("low", 0.1, 300, {"recall_at_k": {"en": {"mean_rank": 5.0}}}),
            ("Top", 0.9, None, {"recall_at_k": {"en": {"mean_rank": 1.5}}}),
            ("mid", 0.5, 100, {"recall_at_k": {"en": {"mean_rank": None}}}),
        )
    ]

    def order(**options):
        return [entry.name for entry in make_board(runs, **options).entries]

    assert order() == ["Top", "mid", "low"]
    assert order(sort="name") == ["low", "mid", "Top"]
    assert order(sort="parameters") == ["mid", "low", "Top"]
    assert order(sort="recall_at_k.mean_rank") == ["Top", "low", "mid"]
    with pytest.raises(PolyprobeError, match="unknown --sort 'acuracy'; did you mean 'accuracy'"):
        order(sort="acuracy")
    with pytest.raises(PolyprobeError, match="unknown --figures 'rankc'"):
        order(figures=["rankc"])


def test_figures_without_a_value_in_any_run_are_no_columns(tmp_path):
    facts = write_facts(tmp_path / "facts")
    run = write_run(tmp_path / "r", facts, {"en": SCORES["en"]})
    assert "rankc" in run.read_results()["mean"]
    board = make_board([run.folder], sort="recall_at_k.recall@5")
    assert not {"rankc", "coverlap"} & {*board.figures}
    assert board.columns == ["accuracy", "recall_at_k.recall@5"]  # with the figure of the order


def test_figures_that_a_run_lacks_are_no_columns(tmp_path):
    one = write_typed(tmp_path / "a", "a", SEVERAL)
    other = write_typed(tmp_path / "b", "b", {"accuracy": SEVERAL["accuracy"]})
    assert [*make_board([one, other]).figures] == ["accuracy"]
    only = write_typed(tmp_path / "c", "c", {"coverlap": 0.5}, languages=["en", "fr"])
    with pytest.raises(PolyprobeError, match="no figure in common; run `polyprobe metrics`"):
        make_board([one, only])


def test_free_predictions_have_a_board_of_their_accuracy(tmp_path):
    found = {x: {"all": v, "all_ci": [v - 0.1, v + 0.1]} for x, v in SEVERAL["accuracy"].items()}
    figures = {"accuracy": SEVERAL["accuracy"], "coverlap": {"en-fr": 0.2}}
    runs = [
        write_typed(tmp_path / x, x, figures, {"factual_accuracy": found}, scoring="xfactr")
        for x in "ab"
    ]
    board = make_board(runs)
    assert board.figures["accuracy"].title == "factual accuracy"
    assert board.columns == ["accuracy", "coverlap"]


def test_the_parameters_of_a_run_are_on_the_board(tmp_path):
    evaluate_model("geolm", "geofacts", limit=3, output=tmp_path, languages="en")
    model = load_scorer("geolm").model
    count = sum({id(x): x.numel() for x in model.parameters()}.values())
    assert Run(tmp_path).settings().parameters == count
    assert make_board([tmp_path]).list_values("parameters") == [count]


def test_missing_and_stale_results_name_the_folder_and_the_command(tmp_path):
    folder = write_typed(tmp_path / "run", "a", SEVERAL)
    results = folder / "results.json"
    for spoil, said in (
        (lambda: reseal(folder, device="cuda"), "was computed from another state of the run"),
        (lambda: results.write_text("{}"), "was changed after it was written"),
        (results.unlink, "has no results.json"),
    ):
        spoil()
        with pytest.raises(PolyprobeError) as error:
            make_board([folder])
        assert f"{folder}" in str(error.value)
        assert said in str(error.value)
    run = write_run(tmp_path / "whole", write_facts(tmp_path / "facts"), SCORES)
    (run.folder / "results.json").unlink()
    with pytest.raises(PolyprobeError, match=f"make it with `polyprobe metrics {run.folder}`"):
        make_board([run.folder])
    Run(run.folder).write_results({"languages": ["en"], "mean": None})
    with pytest.raises(PolyprobeError, match=r"results.json: mean is None; make it with"):
        make_board([run.folder])


def test_a_killed_start_is_no_strangers_folder(tmp_path):
    part_of(tmp_path / "board.json").write_text("{")
    check_output(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(PolyprobeError, match="is not empty and holds no board.json"):
        check_output(tmp_path)


def test_csv_json_markdown_and_latex_have_the_same_figures(bmlama_board):
    rows = {
        row["model"]: row for row in csv.DictReader(io.StringIO(write_models(bmlama_board, ".csv")))
    }
    found = {entry["name"]: entry for entry in bmlama_board.as_json()["models"]}
    for model, (clc, accuracy) in TABLE_5.items():
        assert float(rows[model]["rankc"]) == found[model]["figures"]["rankc"]["mean"] == clc / 100
        latex = re.search(
            rf"^{re.escape(model)} & (.*) \\\\$", write_models(bmlama_board, ".tex"), re.M
        )
        cells = [re.sub(r"\\textbf{(.*)}", r"\1", cell) for cell in latex[1].split(" & ")[:2]]
        assert cells == [f"{accuracy:.1f}", f"{clc:.1f}"]
    assert rows["BLOOM-560m"]["parameters"] == "560000000"
    assert rows["RoBERTa"]["parameters"] == ""
    assert json.loads(json.dumps(bmlama_board.as_json()))["slopes"]["rankc"]["n"] == 5


def test_pictures_have_slopes_and_intervals(bmlama_board, tmp_path):
    pictures = make_board_finding(bmlama_board).pictures
    assert next(iter(pictures)) == "accuracy-size"
    over = pictures["rankc-size"]
    assert over.log2
    clc = [TABLE_5[f"BLOOM-{size}"][0] / 100 for size in BLOOM]
    assert over.line == pytest.approx(linregress(np.log2([*BLOOM.values()]), clc)[:2])
    assert [point.label for point in over.points] == [
        f"BLOOM-{size}" for size in ("7.1b", "3b", "1.7b", "1.1b", "560m")
    ]
    assert "+0.0087 per doubling" in over.title
    assert len(pictures["rankc-accuracy"].points) == len(TABLE_5)
    assert pictures["accuracy"].labels[0] == "mT5-large"
    file = tmp_path / "figure.svg"
    command = ["board", *map(str, write_table_5(tmp_path)), "--figure", str(file)]
    done = CliRunner().invoke(app, [*command, "--draw", "rankc-size"])
    assert done.exit_code == 0, done.output
    assert "BLOOM-1.7b" in file.read_text(encoding="utf-8")


def test_the_command_writes_its_files(tmp_path):
    runs = [*map(str, write_table_5(tmp_path / "runs"))]
    files = [tmp_path / name for name in ("table.md", "table.tex", "table.CSV", "board.json")]
    for file in files:
        option = "--json" if file.suffix == ".json" else "--table"
        done = CliRunner().invoke(app, ["board", *runs, option, str(file)])
        assert done.exit_code == 0, done.output
        assert "BLOOM-560m" in file.read_text(encoding="utf-8")
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("all")
    for output, said in (
        (other, "is not empty and holds no board.json"),
        (tmp_path / "b.HTML", "expected a folder for index.html"),
    ):
        done = CliRunner().invoke(app, ["board", *runs, "--output", str(output)])
        assert said in str(done.exception)
