"""The Spaces without their pages: tables, files, figures, pictures, errors."""

import csv
import doctest
import json
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from polyprobe.analysis.figures.compute import summarize_facts
from polyprobe.analysis.figures.facts import ScoredFacts
from polyprobe.analysis.figures.units import Units, resolve_bootstrap
from polyprobe.analysis.options import Bootstrap
from polyprobe.metrics.pictures.svg import draw_svg
from polyprobe.metrics.space import entries, page, sheet
from polyprobe.schema.run.folder import fill_columns
from tests.metrics.spaces import FIRST, NAMES, RUN, compute, import_app, values, write_table


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


def test_every_page_has_figures_worked_out_by_hand():
    assert sorted(FIRST) == NAMES


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_first_example_by_hand(name, delimiter):
    app = import_app(name)
    first = next(iter(app.PAGE.examples.values())).replace(",", delimiter)
    found = values(compute(app, first))
    assert {key: found[key] for key in FIRST[name]} == pytest.approx(FIRST[name])


def test_examples_are_drawn_described_and_written(name):
    app = import_app(name)
    for text in app.PAGE.examples.values():
        found = compute(app, text)
        first = found.entries[0]
        assert entries.write_headline(found).startswith(f"### {first.name} of {first.label}: ")
        header, *rows = csv.reader(entries.write_csv(found.entries).splitlines())
        assert header == ["of", "figure", "value", "low", "high", "chance", "n"]
        assert [row[2] for row in rows] == [
            "" if f.value is None else str(f.value) for f in found.entries
        ]
        svg = ElementTree.fromstring(draw_svg(app.PAGE.view(found.entries), title=False))
        assert {"bars", "cells"} & {x.get("class") for x in svg.iter()}


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".json", ".parquet"])
def test_a_file_gives_what_its_text_does(name, suffix, tmp_path):
    app = import_app(name)
    text = next(iter(app.PAGE.examples.values()))
    table = sheet.read_text(text)
    file = write_table(tmp_path / f"table{suffix}", table)
    assert compute(app, "not looked at", [file]) == compute(app, text)


@pytest.fixture
def run(tmp_path):
    for language, scores in RUN.items():
        columns = {"fact_id": ["a", "b"], "answers": [[0], [0]], "scores": scores}
        write_table(tmp_path / f"{language}.parquet", columns)
    return [str(tmp_path / f"{language}.parquet") for language in RUN]


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("rank_overlap", ("en – es", "top_k_overlap@1"), (1 + 1 / 2) / 2),
        ("coverlap", ("en – es", "coverlap"), 1 / (1 + 1 / 2)),
        ("answer_agreement", ("en – es", "agreement"), (1 + 0) / 2),
        ("answer_agreement", ("all pairs", "kappa"), (1 / 2 - 5 / 12) / (1 - 5 / 12)),
    ],
)
def test_the_scores_of_a_run(name, key, value, run):
    answer = compute(import_app(name), files=run)
    assert values(answer)[key] == pytest.approx(value)
    if name in ("coverlap", "answer_agreement"):
        [note] = answer.notes
        assert note.startswith("1 best scores are shared: ")


def test_pairs_equal_the_module_itself():
    """Figures and intervals of a page are those of `evaluate.load(…).compute`."""
    app = import_app("rankc")
    scores = {"a": [[3, 2, 1], [4, 4]], "b": [[3, 1, 2], [5, 5]], "c": [[1, 2, 3], [1, 0]]}
    module = page.load_formulas(app.__file__, "rankc")
    for ties in ("expected", "released"):
        answer = compute(app, json.dumps(scores), weights="norm1", ties=ties)
        for figure in answer.entries:
            if len(figure.of) == 2:
                one, other = (scores[language] for language in figure.of)
                whole = module.measure_rankc(one, other, weights="norm1", ties=ties)
                assert figure.value == pytest.approx(whole[figure.name])
                assert figure.interval == pytest.approx(whole[f"{figure.name}_ci"])
        of_all, *pairs = [figure.value for figure in answer.entries if figure.name == "rankc"]
        assert of_all == pytest.approx(sum(pairs) / 3)


def test_scores_as_json_with_answers():
    text = json.dumps({**RUN, "answers": [[0], [0]]})
    answer = compute(import_app("accuracy_at_1"), text)
    assert values(answer)["en", "accuracy_at_1"] == (1 + 0) / 2


CONTRAST = "language,stem,fact,counterfacts"
SCORES = "query,candidate,en,fr\nq,a,1,2\nq,b,2,1"


@pytest.mark.parametrize(
    ("folder", "text", "message"),
    [
        ("rankc", " \n", "the table is empty; paste one or choose a file"),
        ("rankc", "query,candidate,en,fr", "has names of columns and no rows"),
        ("rankc", "q,candidate,en\nx,y,1", "no column 'query'; expected query, candidate, got 'q'"),
        ("rankc", "query,candidate,en\nx,y,1", "1 columns of languages; expected two or more"),
        (
            "rankc",
            "query,candidate\nx,y",
            "no column of scores; expected one for each language after",
        ),
        ("rankc", SCORES + "\nq,c,3", "row 3 has 3 cells; expected 4: 'query', 'candidate', 'en'"),
        ("rankc", SCORES + "\nq,c,3,b", "row 3, column 'fr' is 'b'; expected a number"),
        ("rankc", SCORES + "\nq,c,nan,1", "row 3, column 'en' is 'nan'; expected a number"),
        ("rankc", SCORES + "\nq,a,3,1", "row 3: 'a' appears twice under 'q'; expected candidates"),
        ("rankc", "query,candidate,en,en\nx,y,1,2", "'en', 'en'; expected different names"),
        ("rankc", '[{"query": "q"}, 7]', "row 2 is 7; expected the names of row 1"),
        ("rankc", '{"en": [[1, 2]', "line 1 is not JSON: Expecting ',' delimiter"),
        ("rankc", '{"en": [[1], [2]], "fr": [[1]]}', "column 'fr' has 1 rows, 'en' 2"),
        (
            "rankc",
            '{"en": [[1, 2]], "fr": [[1]]}',
            "row 1 has other candidates in 'fr' than in 'en'",
        ),
        ("rankc", '{"en": [[1], 2], "fr": [[1], [2]]}', "row 2 of 'en' is 2; expected a list"),
        ("rankc", '{"en": [[1, "x"]], "fr": [[1, 2]]}', "row 1 of 'en': score row 2, column 'en'"),
        ("coverlap", "query,right,en,fr\nx,,z,z", "row 1, column 'right' is empty"),
        ("coverlap", "query,right,en,fr\nx,y,z,", "row 1, column 'fr' is empty; expected a text"),
        ("coverlap", SCORES, "no column 'right'; expected query, right"),
        ("accuracy_at_1", "query,candidate,right\nx,y,1", "no column of scores; expected one for"),
        ("accuracy_at_1", SCORES, "no column 'right'; expected query, candidate, right"),
        (
            "accuracy_at_1",
            "query,candidate,right,en\nx,y,0,1",
            "no candidate of 'x' is correct",
        ),
        ("accuracy_at_1", "query,candidate,right,en\nx,y,2,1", "row 1, column 'right' is '2'"),
        ("accuracy_at_1", '{"en": [[1, 2]]}', "no 'answers'; expected the right indices"),
        ("inflection_delta", "relation,label\nP19,1", "no column 'inflected'; expected relation"),
        ("inflection_delta", "relation,label,inflected\nP19,-1,2", "row 1, column 'label' is -1"),
        ("paraphrase_consistency", "relation,subject,right,predictions\nP19,x,y,", "is empty"),
        (
            "contrastive_knowledge",
            CONTRAST + "\nen,x,0.5,",
            "row 1, column 'counterfacts' is empty",
        ),
        ("contrastive_knowledge", CONTRAST + "\nen,x,0.5,y", "row 1 has y; expected probabilities"),
        ("contrastive_knowledge", CONTRAST + "\nen,x,.5,.1|nan", "row 1 has nan; expected probabi"),
        (
            "factual_accuracy",
            "relation,prompt,right,single,prediction\nP19,y,z,2,z",
            "row 1, column 'single' is '2'; expected 1 or 0",
        ),
    ],
)
def test_errors_name_the_place(folder, text, message):
    app = import_app(folder)
    with pytest.raises(ValueError, match=message) as error:
        compute(app, text)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 200


def test_errors_of_files_name_the_file(run, tmp_path):
    app = import_app("rankc")

    def fails(files, message):
        with pytest.raises(ValueError, match=message):
            compute(app, files=[str(file) for file in files])

    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    fails([tmp_path / "broken.parquet"], "^broken.parquet cannot be read: Parquet file size is 4")
    (tmp_path / "latin.csv").write_bytes("query,candidate,é".encode("latin-1"))
    fails([tmp_path / "latin.csv"], "latin.csv: byte 16 is not UTF-8")
    (tmp_path / "table.xlsx").write_bytes(b"")
    fails([tmp_path / "table.xlsx"], "table.xlsx: expected a file that ends in .csv, .tsv, ")
    fails([run[0], run[0]], "two files are called en; expected different names")
    plain = write_table(tmp_path / "plain.parquet", {"query": ["a"], "candidate": ["b"]})
    fails([run[0], plain], "plain: no column 'scores'; expected scores, answers, got 'query', 'can")
    other = {"fact_id": ["a", "c"], "answers": [[0], [0]], "scores": RUN["es"]}
    write_table(tmp_path / "fr.parquet", other)
    fails([run[0], tmp_path / "fr.parquet"], "other facts in fr than in en; expected the same")


def test_pairs_are_a_heat_map_of_all_cells():
    app = import_app("rankc")
    for languages in (4, 30):
        scores = {f"l{i}": [[3, 2, 1], [1, i]] for i in range(languages)}
        found = compute(app, json.dumps(scores)).entries
        heat = app.PAGE.view(found)
        assert [*heat.rows] == [*heat.columns] == [*scores]
        pairs = {entry.of: entry.value for entry in found if entry.name == "rankc"}
        for (first, second), value in ((of, x) for of, x in pairs.items() if len(of) == 2):
            i, j = heat.rows.index(first), heat.rows.index(second)
            assert heat.values[i, j] == heat.values[j, i] == value
            assert f"n = {2:,}" in heat.details[i, j]


def test_bars_have_intervals_and_one_or_several_levels_of_chance():
    found = compute(import_app("recall_at_k"), MARKED).entries
    bars = entries.view_bars([entry for entry in found if entry.name != "mean_rank"])
    shown = {entry.label: entry for entry in found if entry.name == "recall@1"}
    first = bars.series[0]
    assert [*first.values] == [shown[label].value for label in bars.labels]
    assert [*first.bounds] == [shown[label].interval for label in bars.labels]
    assert [*first.marks] == [shown[label].chance for label in bars.labels]
    assert bars.levels == []  # each k has its own
    same = entries.view_bars([entry for entry in found if entry.name == "recall@1"])
    assert same.levels == [(f"chance {found[0].chance:.4f}", pytest.approx(found[0].chance))]


MARKED = """\
query,candidate,right,English,Spanish
The Godfather,Italian,1,-1.2,-0.9
The Godfather,English,0,-1.9,-3.5
Kenya,Nairobi,1,-2.4,-0.6
Kenya,Mombasa,0,-2.0,-1.8
"""


@pytest.mark.parametrize(
    ("folder", "key"), [("coverlap", "coverlap"), ("answer_agreement", "agreement")]
)
def test_lines_of_scores_with_marks_are_scores_in_every_space(folder, key):
    """English is correct in the first of two queries, Spanish in both."""
    found = values(compute(import_app(folder), MARKED))
    assert {v for (_, figure), v in found.items() if figure == key} == {1 / 2}


def test_an_empty_answer_between_two_is_an_answer():
    head = "relation,subject,right,predictions\n"
    app = import_app("paraphrase_consistency")
    found = values(compute(app, head + "P19,Einstein,Ulm,x||x\nP19,Bohr,Bern,y|y|y\n"))
    assert found["all relations", "consistency"] == pytest.approx((1 / 3 + 1) / 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answers": [[1], [0]]}, "row 1 has other correct answers in 'es' than in 'en'"),
        ({"scores": [[1.0, 2.0, 3.0], [1.0, 2.0]]}, "row 1 has other candidates in 'es'"),
    ],
)
def test_files_of_a_run_that_do_not_fit(change, message, tmp_path):
    own = {"fact_id": ["a", "b"], "scores": [[1.0, 2.0], [2.0, 1.0]], "answers": [[0], [0]]}
    for name, table in {"en": own, "es": {**own, **change}}.items():
        pq.write_table(pa.table(table), tmp_path / f"{name}.parquet")
    files = [str(tmp_path / f"{name}.parquet") for name in ("en", "es")]
    with pytest.raises(ValueError, match=message):
        compute(import_app("coverlap"), files=files)


# The headline of a page with several languages: their mean, as in results.json.

LANGUAGES = ["en", "es", "ru"]
SPACES = [
    *("accuracy_at_1", "recall_at_k", "rankc", "rankc_subject", "rank_overlap", "coverlap"),
    "answer_agreement",
]


def make_tables(templates, ties):
    """Make a run of 3 languages: two relations of unequal size, pools of 1 to 4 candidates."""
    random = np.random.default_rng(7)
    sizes = [1, *random.integers(2, 5, size=23)]
    facts = [f"P1:Q{i // templates}:Q{i}" for i in range(24)]
    columns = {
        "fact_id": [facts[i - i % templates] for i in range(24)],
        "relation": ["P1"] * 16 + ["P2"] * 8,
        "answers": [[0] for _ in sizes],
        "n_tokens": [[1] * size for size in sizes],
    }
    tables = {}
    for language in LANGUAGES:
        scores = [random.permutation(size).astype(float).tolist() for size in sizes]
        if ties:
            scores = [[min(score, 1.0) for score in row] for row in scores]
            scores[LANGUAGES.index(language) + 1] = [0.0] * sizes[LANGUAGES.index(language) + 1]
        donor = [random.permutation(size).astype(float).tolist() for size in sizes]
        # Each fact and the next one serve each other; some have an answer of the donor.
        scored = {
            "scores": pa.array(scores, pa.list_(pa.float32())),
            "donor": [columns["fact_id"][i ^ templates] for i in range(24)],
            "donor_scores": pa.array(donor, pa.list_(pa.float32())),
            "donor_answers": pa.array(
                [[1] if size > 2 and i % 2 else [] for i, size in enumerate(sizes)],
                pa.list_(pa.int32()),
            ),
        }
        tables[language] = fill_columns(pa.table(columns | scored))
    return tables


def find_in_results(results, figure):
    """Return value and interval of a figure of a page in results.json; None if it has none."""
    name = {"accuracy_at_1": "accuracy"}.get(figure.name, figure.name)
    if name in results["mean"]:
        if figure.of[0].startswith("all "):
            return results["mean"][name], results["intervals"]["mean"][name]
        key = "-".join(figure.of)
        return results[name][key], results["intervals"][name][key]
    recall = results["recall_at_k"].get(figure.of[0], {})
    return (recall[name], recall[f"{name}_ci"]) if name in recall else None


def measure(tables):
    table = next(iter(tables.values()))
    units = Units.read(table, resolve_bootstrap(Bootstrap(), table, len(tables)))
    return summarize_facts(ScoredFacts(tables, scoring="bmlama-eq10"), units)


@pytest.mark.parametrize("templates", [1, 2])
@pytest.mark.parametrize(
    ("name", "ties"),
    # the page of agreement uses the first of tied candidates, as it states
    [
        (name, ties)
        for name in SPACES
        for ties in (False, True)
        if (name, ties) != (SPACES[-1], True)
    ],
)
def test_the_files_of_a_run_give_its_results(name, ties, templates, tmp_path):
    tables = make_tables(templates, ties)
    results = measure(tables)
    app = import_app(name)
    files = [
        write_table(tmp_path / f"{x}.parquet", table.to_pydict()) for x, table in tables.items()
    ]
    choices = {"k": "1, 5, 10"} if name == "recall_at_k" else {}
    figures = compute(app, files=files, **choices).entries
    assert figures[0].of in (("all languages",), ("all pairs",))
    compared = [(f, find_in_results(results, f)) for f in figures]
    compared = [(f, found) for f, found in compared if found is not None]
    assert len(compared) >= 3
    for figure, (value, interval) in compared:
        assert figure.value == pytest.approx(value, abs=1e-9)
        assert figure.interval == pytest.approx(interval, abs=1e-9)


def test_recall_of_all_languages_is_the_mean_of_theirs(tmp_path):
    tables = make_tables(1, True)
    results = measure(tables)["recall_at_k"]
    app = import_app("recall_at_k")
    files = [
        write_table(tmp_path / f"{x}.parquet", table.to_pydict()) for x, table in tables.items()
    ]
    first = compute(app, files=files).entries[0]
    assert (first.label, first.name) == ("all languages", "recall@1")
    assert first.value == pytest.approx(np.mean([results[x]["recall@1"] for x in LANGUAGES]))
    low, high = first.interval
    assert low < first.value < high


def test_tau_of_all_pairs_is_the_mean_of_the_pairs():
    """A query undefined in one pair counts in the other pairs."""
    app = import_app("rank_overlap")
    found = {
        f.label: f
        for f in compute(app, app.PAGE.examples["three languages"]).entries
        if f.name == "kendall_tau_b"
    }
    # Random ties all candidates of the second query
    pairs = [((5 - 1) / 6 + 1) / 2, (2 - 4) / 6, (1 - 5) / 6]
    assert [f.value for f in found.values()] == pytest.approx([sum(pairs) / 3, *pairs])
    assert [f.n for f in found.values()] == [2, 2, 1, 1]
    low, high = found["all pairs"].interval
    assert low < found["all pairs"].value < high


def test_a_pair_without_any_value_is_in_no_mean():
    text = "query,right,en,es,ru\nq,a,a,b,b\nr,a,a,b,b\ns,a,b,b,b"
    app = import_app("coverlap")
    found = {f.label: f for f in compute(app, text).entries}
    assert found["es – ru"].value is None
    assert found["all pairs"].value == 0
    assert found["all pairs"].n == 2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("accuracy_at_1", "query,candidate,right,en\nq,a,1,2\nr,b,1,1"),
        ("recall_at_k", "query,candidate,right,en\nq,a,1,2\nr,b,1,1"),
        ("rankc", "query,candidate,en,es\nq,a,1,2\nr,b,1,1"),
        ("rank_overlap", "query,candidate,en,es\nq,a,1,2\nr,b,1,1"),
        ("coverlap", "query,right,en,es\nq,a,a,b\nr,b,b,b"),
    ],
)
def test_a_single_language_or_pair_is_not_averaged(name, text):
    figures = compute(import_app(name), text).entries
    languages = ("en",) if "right,en\n" in text else ("en", "es")
    assert {f.of for f in figures} == {languages}


def test_the_example_of_means():
    assert doctest.testmod(entries) == (0, 4)
