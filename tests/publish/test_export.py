"""Exports in external formats, read by external readers."""

import json
import math
import re
from datetime import UTC, datetime
from itertools import chain, combinations
from pathlib import Path

import pandas as pd
import pytest
import yaml
from huggingface_hub import ModelCard, parse_eval_result_entries

from polyprobe.analysis.board.board import make_board
from polyprobe.analysis.figures.figures import BY_NAME
from polyprobe.publish.export import RUN_FORMATS, export_run
from polyprobe.report.findings.board import write_models
from polyprobe.report.show import escape
from polyprobe.schema.run.folder import Run
from polyprobe.system.messages import PolyprobeError
from tests.making.exports import ID, copy_run, make_run, make_wide, read_results
from tests.making.runs import reseal

GEOFACTS = Path(__file__).parents[2] / "datasets" / "geofacts"
MEANS = ("accuracy", "rankc", "rankc_adjusted", "coverlap")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("export"))


@pytest.fixture
def wide(tmp_path):
    return make_wide(tmp_path, 53)


def parsed(file):
    return parse_eval_result_entries(yaml.safe_load(file.read_text(encoding="utf-8")))


def test_every_format_has_its_place_in_the_run(wide):
    places = {name: export_run(wide, name).relative_to(wide).as_posix() for name in RUN_FORMATS}
    assert places.pop("every-eval-ever").startswith(
        "every-eval-ever/data/someone_facts/someone/model_1/"
    )
    assert places == {
        "eval-results": ".eval_results/polyprobe-facts-17.yaml",
        "model-index": "model-index.yaml",
        "csv": "results.csv",
        "latex": "table.tex",
    }


def test_eval_results_are_read_by_the_hub_client(run):
    entries = parsed(export_run(run, "eval-results", dataset_id=ID))
    mean = read_results(run)["mean"]
    assert [(e.dataset_id, e.task_id, e.value) for e in entries] == [
        (ID, f"default_{figure}", mean[figure]) for figure in MEANS
    ]
    newest = max(file.stat().st_mtime for file in run.glob("scores/*"))
    assert {e.date for e in entries} == {datetime.fromtimestamp(newest, UTC).date().isoformat()}
    for entry in entries:
        assert entry.notes.startswith("en, ru, zh_hans; all rows; scoring bmlama; 95% ")
        assert entry.notes.endswith("; " + Run(run).settings().signature)
        assert (entry.source_url, entry.dataset_revision) == (None, None)


def test_tasks_are_those_that_the_builder_names(tmp_path):
    tasks = yaml.safe_load((GEOFACTS / "eval.yaml").read_text(encoding="utf-8"))["tasks"]
    run = make_wide(tmp_path, 3, dataset=str(GEOFACTS), config=None)
    entries = parsed(export_run(run, "eval-results", dataset_id="someone/geofacts"))
    of_second = ("accuracy_gain", "rankc_subject")  # the run has no donors
    of_run = [task["id"] for task in tasks if task["config"] == "default"]
    once = [name for name in of_run if not name.endswith(of_second)]
    assert [entry.task_id for entry in entries] == once != of_run


@pytest.mark.parametrize("name", RUN_FORMATS)
@pytest.mark.parametrize("limit", [None, 60])
def test_a_partial_run_is_reported_where_the_hub_would_show_it(tmp_path, capsys, name, limit):
    run = make_wide(tmp_path, 3, limit=limit)
    export_run(run, name)
    said = capsys.readouterr()
    assert said.out == ""
    if limit and name in ("eval-results", "model-index"):
        assert said.err.startswith(f"partial: {run} is of the first 60 rows, which ")
        assert said.err.count("\n") == 1
    else:
        assert said.err == ""


def test_the_choice_of_rows_is_in_the_model_index(tmp_path, capsys):
    run = make_wide(tmp_path, 3, relations=["P36", "P37"], left_out={"other relations": 5})
    text = export_run(run, "model-index").read_text(encoding="utf-8")
    (model,) = yaml.safe_load(text)["model-index"]
    found = [metric["args"] for result in model["results"] for metric in result["metrics"]]
    assert {(args["rows"], args["relations"]) for args in found} == {
        ("relations P36, P37", "P36+P37")
    }
    assert "is of relations P36, P37, which only" in capsys.readouterr().err


def test_a_run_of_the_hub_knows_its_dataset(wide):
    assert {entry.dataset_id for entry in parsed(export_run(wide, "eval-results"))} == {ID}
    named = export_run(wide, "eval-results", dataset_id="other/copy")
    assert {entry.dataset_id for entry in parsed(named)} == {"other/copy"}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"limit": 60}, "53 languages; partial: the first 60 rows; "),
        ({"sample": 60}, "53 languages; partial: a sample of 60 rows; "),
        ({"sample": 101}, "53 languages; all rows; "),  # there are 100
        ({}, "53 languages; all rows; "),
        ({"relations": ["P36"]}, "53 languages; partial: relations P36; "),
        (
            {"exclude": ["second_answers"], "left_out": {"second_answers": 1234}},
            "53 languages; all rows but 1,234 with second_answers; ",
        ),
        (
            {"sample": 60, "exclude": ["second_answers"], "left_out": {"second_answers": 9}},
            "53 languages; partial: a sample of 60 rows; without second_answers; ",
        ),
    ],
)
def test_notes_say_first_what_is_partial_and_stay_short(tmp_path, changed, said):
    run = make_wide(tmp_path, 53, **changed)
    for entry in parsed(export_run(run, "eval-results")):
        assert entry.notes.startswith(said + "scoring bmlama-eq10")
        assert len(entry.notes) <= 500
        assert re.search(r"\|languages:53@[0-9a-f]{12}\|", entry.notes)
        assert "model:someone/model_1@0123abcd|data:someone/facts/17|lang" in entry.notes


def test_csv_is_read_by_pandas_with_the_same_floats(run):
    results = read_results(run)
    table = pd.read_csv(export_run(run, "csv"))
    assert list(table) == [
        "figure", "language", "other_language", "value", "low", "high", "chance", "n", "floor",
        "floor_name", "relation", "signature",
    ]  # fmt: skip
    assert set(table.signature) == {results["signature"]}
    assert not table.duplicated(["figure", "language", "other_language", "relation"]).any()
    assert set(table.relation.dropna()) == {"P36", "P37"}
    table = table[table.relation.isna()]
    keyed = table[table.other_language.isna()].set_index(["figure", "language"])
    assert keyed.loc[("accuracy", "ru")].value == results["accuracy"]["ru"]
    for figure in results["mean"]:
        rows = table[(table.figure == figure) & table.other_language.notna()]
        for row in rows.itertuples():
            pair = f"{row.language}-{row.other_language}"
            expected = results[figure][pair]
            bounds = results["intervals"][figure][pair] or [None, None]
            for value, known in zip(
                (row.value, row.low, row.high), (expected, *bounds), strict=True
            ):
                assert math.isnan(value) if known is None else value == known
        assert len(rows) in (0, len(list(combinations(results["languages"], 2))))
    counts = table[table.figure.str.startswith("right_in_exactly_")]
    assert counts.value.tolist() == results["k_correct"]
    shares = table[table.figure.str.startswith("k_share.")]
    assert shares.value.tolist() == results["k_share"]
    recall = keyed.loc[("recall_at_k.recall@5", "en")]
    assert recall.value == results["recall_at_k"]["en"]["recall@5"]
    assert [recall.low, recall.high] == results["recall_at_k"]["en"]["recall@5_ci"]
    assert recall.chance == results["recall_at_k"]["en"]["recall@5_chance"]


def test_csv_holds_every_number_of_the_results(run):
    """Every figure of results.json is in the table."""
    told = set(pd.read_csv(export_run(run, "csv")).figure)
    left = {
        "definition",
        "signature",
        "languages",
        "n_queries",
        "mean",
        "chance",
        "intervals",
        "left_out",
    }
    left |= {"floors", "floors_by_place", "p_values", "by_relation", "subset"}
    for name, value in read_results(run).items():
        if name in left | {"resampling", "k_correct"} or name.endswith("_ci"):
            continue
        known = name in told or any(figure.startswith(f"{name}.") for figure in told)
        assert known, f"{name}: {value}"


def test_model_index_is_read_by_the_hub_client(run):
    results = read_results(run)
    block = export_run(run, "model-index", dataset_id=ID).read_text(encoding="utf-8")
    found = ModelCard(f"---\n{block}---\n# synthetic\n").data.eval_results
    assert {result.dataset_type for result in found} == {ID}
    assert {result.metric_args["scoring"] for result in found} == {"bmlama"}
    values = {(r.dataset_split, r.metric_type): r.metric_value for r in found}
    assert len(values) == len(found) == 4 * (1 + 3)
    assert [values[None, figure] for figure in MEANS] == [results["mean"][f] for f in MEANS]
    for language in results["languages"]:
        assert values[language, "accuracy"] == results["accuracy"][language]
        own = [v for pair, v in results["rankc"].items() if language in pair.split("-")]
        assert values[language, "rankc"] == pytest.approx(sum(own) / 2, rel=1e-12)


def test_undefined_figures_are_left_out_or_empty(run, tmp_path):
    results = read_results(run)
    nothing = dict.fromkeys(results["coverlap"])
    copy = copy_run(
        run, tmp_path, coverlap=nothing, mean={**results["mean"], "coverlap": None},
        intervals={**results["intervals"], "coverlap": nothing,
                   "mean": {**results["intervals"]["mean"], "coverlap": None}}, by_relation={},
    )  # fmt: skip
    assert len(parsed(export_run(copy, "eval-results", dataset_id=ID))) == 3
    block = export_run(copy, "model-index").read_text(encoding="utf-8")
    assert "coverlap" not in block
    table = pd.read_csv(export_run(copy, "csv"))
    assert table[table.figure == "coverlap"].value.isna().all()
    record = json.loads(export_run(copy, "every-eval-ever").read_text(encoding="utf-8"))
    names = {r["evaluation_result_id"] for r in record["evaluation_results"]}
    assert "rankc.mean" in names
    assert "coverlap.mean" not in names
    for file in copy.rglob("*.*"):
        if file.suffix in (".yaml", ".csv", ".json", ".tex") and file.parent != copy / "scores":
            assert not re.search(r"\b(nan|NaN|\.nan|None)\b", file.read_text(encoding="utf-8")), (
                file
            )


def read_tabulars(text):
    """List the rows of cells of each `tabular`; each must fill its columns, with paired braces."""
    tabulars = []
    for sides, body in re.findall(r"\\begin{tabular}{(\w+)}(.*?)\\end{tabular}", text, re.DOTALL):
        lines = [x for x in body.splitlines() if x and not re.fullmatch(r"\\\w+rule", x)]
        assert all(line.endswith(r" \\") for line in lines)
        rows = [re.split(r"(?<!\\)&", line[:-2]) for line in lines]
        assert {len(row) for row in rows} == {len(sides)}
        for cell in chain(*rows):
            assert len(re.findall(r"(?<!\\){", cell)) == len(re.findall(r"(?<!\\)}", cell)), cell
        tabulars.append([[cell.strip() for cell in row] for row in rows])
    return tabulars


def plain(cell):
    return re.sub(r"\\(textbf|scriptsize) ?|\\rlap{.*?}+|[{}]", "", cell)


def test_latex_is_the_table_of_the_board(run):
    results = read_results(run)
    text = export_run(run, "latex").read_text(encoding="utf-8")
    mark, signature, table = text.split("\n", 2)
    assert (mark, signature) == ("% made by `polyprobe export`", f"% {results['signature']}")
    board = make_board([run])
    assert table == write_models(board, ".tex", "facts/default")
    (head, values, ends, floor), (places, accuracies) = read_tabulars(table)
    names = [*board.columns]
    titles = [BY_NAME[name].title for name in names]
    assert head == ["model", *titles, "size"]
    assert [plain(x) for x in values[1:-1]] == [f"{100 * results['mean'][x]:.1f}" for x in names]
    low, high = zip(*(results["intervals"]["mean"][x] for x in names), strict=True)
    bounds = [f"{100 * x:.1f} to {100 * y:.1f}" for x, y in zip(low, high, strict=True)]
    assert [plain(x).replace("$-$", "-") for x in ends[1:-1]] == bounds
    # a dagger where the interval is not above the highest floor; of one run nothing is the best
    floors = [max(x.get(f, -9) for x in results["floors"].values()) for f in names]
    marks = [end <= level for end, level in zip(low, floors, strict=True)]
    assert [r"$^\dagger$" in x for x in values[1:-1]] == marks
    assert any(marks)
    assert floor[0] == "floor"
    assert r"\textbf" not in text
    assert places == ["model", "mean", "en", "ru", r"zh\_hans"]
    shown = [results["mean"]["accuracy"], *results["accuracy"].values()]
    assert [plain(x) for x in accuracies[1:]] == [f"{100 * x:.1f}" for x in shown]
    caption = re.search(r"\\caption{(.*)}", text)[1]
    assert caption.endswith(r". $^\dagger$: not above the highest floor with its 95\% interval.")
    assert len(re.findall(r"\. (?=\S)", caption)) == 1  # two sentences


def test_latex_of_several_runs_is_one_table_with_the_best_in_bold(tmp_path):
    runs = [make_wide(tmp_path / name, 2, model=f"someone/{name}") for name in "ab"]
    results = read_results(runs[1])
    results["mean"] |= {"accuracy": 0.3, "rankc": 0.4}
    Run(runs[1]).write_results(results)
    file = export_run(runs[0], "latex", tmp_path / "t.tex", peers=runs[1:])
    text = file.read_text(encoding="utf-8")
    assert text.count("\\begin{table*}") == 1
    assert text.count("% model:someone/") == 2
    (head, *rows), _ = read_tabulars(text)
    columns = dict(zip(head, zip(*rows, strict=True), strict=True))
    assert columns["model"] == ("b", "a")
    assert columns["accuracy"] == (r"\textbf{30.0}", "25.0")
    assert columns["RankC"] == ("40.0", r"\textbf{50.0}")
    assert columns["adjusted RankC"] == (r"\textbf{50.0}", r"\textbf{50.0}")  # equal
    with pytest.raises(PolyprobeError, match="several runs are for --format latex with --output"):
        export_run(runs[0], "csv", tmp_path / "t.csv", peers=runs[1:])
    other = make_wide(tmp_path / "c", 2, scoring="object")
    with pytest.raises(PolyprobeError, match="cannot be compared: they differ in scoring"):
        export_run(runs[0], "latex", tmp_path / "t.tex", peers=[other])


def test_latex_has_a_minus_and_not_a_hyphen(tmp_path):
    run = make_wide(tmp_path, 3)
    results = read_results(run)
    results["mean"]["rankc_adjusted"] = -0.125
    Run(run).write_results(results)
    (head, values), _ = read_tabulars(export_run(run, "latex").read_text(encoding="utf-8"))
    assert values[head.index("adjusted RankC")] == "$-$12.5"


def test_latex_of_many_languages_goes_on_below(wide):
    text = export_run(wide, "latex").read_text(encoding="utf-8")
    (head, values), *blocks = read_tabulars(text)
    shown = dict(zip(head, values, strict=True))
    assert shown["model"] == r"model\_1"
    assert (shown["RankC"], shown["adjusted RankC"], shown["accuracy"]) == ("50.0", "50.0", "25.0")
    assert [len(names) for names, _ in blocks] == [2 + 17, 2 + 17, 2 + 17, 2 + 2]
    parts = (zip(names[2:], cells[2:], strict=True) for names, cells in blocks)
    assert dict(chain(*parts)) == {f"l{i}": f"{i / 10:.1f}" for i in range(53)}


@pytest.mark.parametrize("char", list(r"&%$#_{}\~^<>|"))
def test_latex_escapes(char):
    escaped = escape(char)
    assert escaped == f"\\{char}" or re.fullmatch(r"\\text[a-z]+\{\}", escaped)


def test_a_signature_of_many_languages_is_short_and_still_tells_the_data_apart(tmp_path):
    runs = [make_wide(tmp_path / name, 11) for name in "abc"]
    results, settings = read_results(runs[2]), Run(runs[2]).settings()
    settings.fingerprint["l3"] = "0123456789ab"
    reseal(runs[2], fingerprint=settings.fingerprint, signature=settings.signature)
    Run(runs[2]).write_results({**results, "signature": settings.signature})
    one, same, third = (pd.read_csv(export_run(run, "csv")).signature[0] for run in runs)
    assert one == same != third
    assert one.startswith("model:someone/model_1@0123abcd|data:someone/facts/17|languages:11@")
