"""Rows chosen by relation and flag: by hand, in eval, resumed, refused."""

import random
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from polyprobe.analysis.figures.compute import compute_results, find_results
from polyprobe.cli import app
from polyprobe.eval import evaluate_model
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.rows import (
    ALL_ROWS,
    apply_choice,
    choose_rows,
    choose_to_score,
    make_choice,
)
from polyprobe.system.messages import PolyprobeError
from tests.making import tiny
from tests.making.facts import CITIES, write_facts
from tests.making.flags import FLAGS, RELATIONS, SCORED, N, write_flagged
from tests.making.runs import SCORES, reseal, write_run


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    tiny.save_model("gpt2", folder / "model")
    write_flagged(folder / "facts")
    return folder


@pytest.fixture(scope="module")
def whole(place):
    """Return a run on all rows; the cache of the session stays empty."""
    evaluate(place, place / "whole", exclude=[], cache=False)
    return place / "whole"


def evaluate(place, output, **options):
    return evaluate_model(str(place / "model"), str(place / "facts"), output=output, **options)


def scored(folder, language="en"):
    return pq.read_table(folder / "scores" / f"{language}.parquet")


def table_of(relations, flags):
    columns = {"relation": relations, "flags": pa.array(flags, pa.list_(pa.string()))}
    return pa.table({"fact_id": [str(i) for i in range(len(relations))], **columns})


def test_rows_are_those_filtered_by_hand():
    draw = random.Random(0)
    names = ["P19", "P36", "P530"]
    marks = ["second_answers", "answer_in_subject"]
    compared = 0
    for _ in range(200):
        relations = [*names, *draw.choices(names, k=9)]
        flags = [marks, *([x for x in marks if draw.random() < 0.3] for _ in range(11))]
        only = draw.choice([None, draw.sample(names, 2)])
        out = draw.sample([*names, *marks], draw.randrange(3))
        kept = [
            row
            for row in range(12)
            if (only is None or relations[row] in only)
            and not {relations[row], *flags[row]} & set(out)
        ]
        if kept:
            found = apply_choice(table_of(relations, flags), make_choice(only, out))
            assert found.rows == kept
            assert sum(found.left_out.values()) == 12 - len(kept)
            assert 0 not in found.left_out.values()
            compared += 1
    assert compared > 100


def test_a_row_counts_for_its_first_reason():
    relations = ["P36", "P19", "P530", "P530", "P36"]
    table = table_of(relations, [["a"], ["a"], ["a", "b"], [], []])
    found = apply_choice(table, make_choice(["P36", "P530"], ["b", "a"]))
    assert found == ([3, 4], {"a": 2, "other relations": 1})
    assert apply_choice(table, make_choice(None, ["P530", "a"])).left_out == {"a": 3, "P530": 1}


def test_the_default_of_scoring():
    flagged = table_of(RELATIONS, FLAGS)
    assert choose_to_score(flagged, None, None) == (None, ("second_answers", "answer_in_subject"))
    assert choose_to_score(flagged, ["P530"], None) == (("P530",), ("answer_in_subject",))
    assert choose_to_score(flagged, ["P530"], []) == (("P530",), ())
    leaking = table_of(["P36", "P36"], [["answer_in_subject"], []])
    assert choose_to_score(leaking, None, None) == (None, ("answer_in_subject",))
    assert choose_to_score(flagged, None, []) == ALL_ROWS
    assert choose_to_score(table_of(["P36"], [[]]), None, None) == ALL_ROWS


def test_tables_without_flags():
    table = table_of(["P36", "P37"], [None, None])
    assert apply_choice(table, make_choice(None, ["P37"])).rows == [0]
    assert apply_choice(table.drop_columns(["flags"]), make_choice(["P37"])).rows == [1]
    with pytest.raises(PolyprobeError, match="unknown relation or flag 'second_answers'"):
        apply_choice(table, make_choice(None, ["second_answers"]))
    assert apply_choice(table, make_choice(None, ["P530"]), names_elsewhere=["P530"]).rows == [0, 1]


def test_a_sample_is_drawn_from_the_rows_left():
    table = table_of(RELATIONS, FLAGS)
    for size in range(1, len(SCORED) + 1):
        within = choose_rows(table.take(SCORED), sample=size)
        expected = [SCORED[row] for row in within]
        assert choose_rows(table, sample=size, among=SCORED) == expected
        assert choose_rows(table, limit=size, among=SCORED) == SCORED[:size]


def test_flagged_rows_are_out_unless_asked_for(place, whole, tmp_path):
    found = evaluate(place, tmp_path / "default")
    for language in CITIES:
        assert scored(tmp_path / "default", language) == scored(whole, language).take(SCORED)
    out = {"answer_in_subject": 3, "second_answers": 5}  # rows 0, 10, 15; row 5 has both
    assert (found["n_queries"], found["left_out"]["rows"]) == (8, out)
    assert "|exclude:second_answers+answer_in_subject|" in found["signature"]
    settings = Run(tmp_path / "default").settings()
    assert (settings.relations, settings.exclude) == (None, [*reversed(out)])
    assert settings.left_out == out
    asked = evaluate(place, tmp_path / "asked", relations=["P530", "P36"])
    assert sorted(asked["by_relation"]) == ["P36", "P530"]
    assert "|relations:P36+P530|" in asked["signature"]
    assert asked["left_out"]["rows"] == {"answer_in_subject": 3, "other relations": 5}
    everything = Run(whole).read_results()
    assert (everything["n_queries"], everything["left_out"]["rows"]) == (N, {})


def test_a_sample_of_the_rows_left_is_scored(place, whole, tmp_path):
    evaluate(place, tmp_path / "run", sample=5, exclude=["P36", "answer_in_subject"])
    ids = scored(tmp_path / "run")["fact_id"].to_pylist()
    rows = [scored(whole)["fact_id"].to_pylist().index(name) for name in ids]
    assert len(rows) == 5
    assert all(RELATIONS[row] != "P36" and "answer_in_subject" not in FLAGS[row] for row in rows)


def test_a_resumed_run_has_the_same_choice(place, tmp_path):
    output = tmp_path / "run"
    evaluate(place, output, languages=["en"], relations=["P37", "P36"])
    files = scored(output)
    again = evaluate(place, output, relations=["P36", "P37"])
    assert again["languages"] == [*CITIES]
    assert scored(output) == files
    for options, said in [
        ({}, r"\(relations: \['P36', 'P37'\], asked for None\)"),
        ({"relations": ["P36"]}, r"asked for \['P36'\]\)"),
        ({"relations": ["P36", "P37"], "exclude": []}, r"\(exclude: \['answer_in_subject'\], "),
    ]:
        with pytest.raises(PolyprobeError, match=said):
            evaluate(place, output, **options)


def test_changed_flags_of_a_dataset_are_noticed(place, tmp_path):
    facts = tmp_path / "facts"
    shutil.copytree(place / "facts", facts)
    given = {"output": tmp_path / "run"}
    evaluate_model(str(place / "model"), str(facts), **given)
    for language in CITIES:
        file = facts / "data" / "small" / f"{language}.parquet"
        table = pq.read_table(file)
        flags = [["second_answers"], *table["flags"].to_pylist()[1:]]
        column = pa.array(flags, pa.list_(pa.string()))
        place_of = table.schema.get_field_index("flags")
        pq.write_table(table.set_column(place_of, "flags", column), file)
    with pytest.raises(PolyprobeError, match="holds another run"):
        evaluate_model(str(place / "model"), str(facts), **given)


def filtered(run, folder, rows):
    """Return a copy of a run whose files hold these rows alone."""
    shutil.copytree(run, folder)
    for language in CITIES:
        file = folder / "scores" / f"{language}.parquet"
        pq.write_table(pq.read_table(file).take(rows), file)
    reseal(folder)
    return Run(folder)


CHOICES = [
    (make_choice(["P37", "P530"]), lambda row: RELATIONS[row] != "P36"),
    (make_choice(None, ["second_answers"]), lambda row: RELATIONS[row] != "P530"),
    (make_choice(None, ["answer_in_subject"]), lambda row: row % 5 != 0),
    (make_choice(["P36"], ["answer_in_subject"]), lambda row: RELATIONS[row] == "P36" and row % 5),
]


@pytest.mark.parametrize(("choice", "keeps"), CHOICES)
def test_figures_are_those_of_a_run_with_these_rows(choice, keeps, whole, tmp_path):
    rows = [row for row in range(N) if keeps(row)]
    expected = compute_results(filtered(whole, tmp_path / "part", rows))
    found = find_results(Run(whole), choice=choice)
    assert found["subset"] == choice.as_json()
    assert sum(found["left_out"].pop("rows").values()) == N - len(rows)
    assert expected["left_out"].pop("rows") == {}
    assert found | {"subset": None} == expected
    assert found["rankc_subject"].keys() == {"en-ru", "en-zh_hans", "ru-zh_hans"}


def test_a_run_may_name_what_it_left_out(place, tmp_path):
    run = tmp_path / "run"
    before = evaluate(place, run)
    after = find_results(Run(run), choice=make_choice(None, ["second_answers"]))
    assert (after["mean"], after["n_queries"]) == (before["mean"], before["n_queries"])
    assert after["left_out"] == before["left_out"]
    fewer = find_results(Run(run), choice=make_choice(["P36"], ["second_answers"]))
    others = sum(RELATIONS[row] == "P37" for row in SCORED)
    assert fewer["left_out"]["rows"] == before["left_out"]["rows"] | {"other relations": others}


def run_command(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})


def test_eval_takes_the_options(place, tmp_path):
    given = ["eval", place / "model", "--dataset", place / "facts", "--languages", "en,ru"]
    every = run_command(*given, "--output", tmp_path / "a", "--exclude", "none")
    assert "16 facts" in every.output
    some = run_command(
        *given,
        "--output",
        tmp_path / "b",
        "--relations",
        "P36,P37",
        "--exclude",
        "answer_in_subject",
    )
    kept = [r for r in range(N) if RELATIONS[r] != "P530" and r % 5]
    assert f"{len(kept)} facts" in some.output
    assert f"{RELATIONS.count('P530')} rows left out: other relations" in some.output
    assert (
        f"{N - RELATIONS.count('P530') - len(kept)} rows left out: answer_in_subject" in some.output
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--relations", "P1"],
            "unknown relation 'P1' in --relations; available: P36, P37",
        ),
        (["--exclude", "x"], "unknown relation or flag 'x' in --exclude; available: P36, P37"),
        (["--exclude", "none,P36"], "unknown relation or flag 'none' in --exclude"),
        (["--relations", ""], "no row is left of 8 (relations none)"),
        (
            ["--relations", "P36", "--exclude", "P36"],
            "no row is left of 8 (relations P36; without P36)",
        ),
    ],
)
@pytest.mark.parametrize("command", ["eval", "metrics"])
def test_mistakes_give_one_line(command, options, said, place, tmp_path):
    facts = write_facts(tmp_path / "plain")
    run = write_run(tmp_path / "run", facts, SCORES).folder
    given = {
        "eval": [place / "model", "--dataset", facts, "--output", tmp_path / "new"],
        "metrics": [run],
    }[command]
    before = (run / "results.json").read_bytes()
    result = run_command(command, *given, *options)
    assert isinstance(result.exception, PolyprobeError)
    assert said in str(result.exception)
    assert "\n" not in str(result.exception)
    assert (run / "results.json").read_bytes() == before
