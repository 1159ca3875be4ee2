"""The rows of mParaRel's protocol: bare templates, and every object of the relation."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.report.page import write_report
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.protocol import as_asked, bare_template, list_relation_objects
from polyprobe.system.messages import PolyprobeError
from tests.making import tiny
from tests.making.facts import CITIES, COUNTRIES, write_facts
from tests.scoring import plain

TEMPLATES = [
    ("The capital of St. Lucia is: [Y].", "St. Lucia", "the capital of St. Lucia is [Y]"),
    ("[Y] IS the Capital of France .", "France", "[Y] is the capital of France"),
    ("法国的首都是：[Y]。", "法国", "法国的首都是：[Y]"),
    ("Столица Франции — [Y].", "Франция", "столица франции — [Y]"),  # inflected: not found
    ("Y. was born in [Y].", "Y.", "Y. was born in [Y]"),
    ("The River is [Y].", "", "the river is [Y]"),
    ("The River is [Y].", None, "the river is [Y]"),
    ("Rome, A City: Rome = [Y] . OK", "Rome", "Rome, a city Rome = [Y]  ok"),
]


@pytest.mark.parametrize(("prompt", "subject", "bare"), TEMPLATES)
def test_templates_are_bared_and_labels_are_not(prompt, subject, bare):
    assert bare_template(prompt, subject) == bare


def table(*rows, names=("relation", "subject", "prompt", "candidates", "answers")):
    columns = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    return pa.table({"fact_id": [f"f{k}" for k in range(len(rows))], **columns})


def test_every_object_of_the_relation_becomes_a_candidate_in_every_language():
    """P36 has the objects Rome, Paris, Lyon (first correct in rows 0, 2, 2), P37 has Latin."""
    en = table(
        ("P36", "Italy", "Italy: [Y].", ["Bonn", "Rome"], [1]),
        ("P37", "Rome", "Rome: [Y].", ["Latin"], [0]),
        ("P36", "France", "In France, [Y].", ["Paris", "Rome", "Lyon"], [0, 2]),
        ("P36", "Italia", "Italia: [Y].", ["Rome", "Paris"], [0]),
    )
    de = table(
        ("P36", "Italien", "Italien: [Y].", ["Bonn", "Rom"], [1]),
        ("P37", "Rom", "Rom: [Y].", ["Latein"], [0]),
        ("P36", "Frankreich", "In Frankreich, [Y].", ["Paris", "Rom", "Lyon"], [0, 2]),
        ("P36", "Italia", "Italia: [Y].", ["Roma", "Paris"], [0]),
    )
    got = as_asked({"en": en, "de": de}, "mpararel")
    cities, answers = ["Rome", "Paris", "Lyon"], [[0], [0], [1, 2], [0]]
    assert got["en"]["candidates"].to_pylist() == [cities, ["Latin"], cities, cities]
    cities = ["Rom", "Paris", "Lyon"]  # the label of its first row, not Roma
    assert got["de"]["candidates"].to_pylist() == [cities, ["Latein"], cities, cities]
    assert got["en"]["answers"].to_pylist() == got["de"]["answers"].to_pylist() == answers
    prompts = ["Italien [Y]", "Rom [Y]", "in Frankreich, [Y]", "Italia [Y]"]
    assert got["de"]["prompt"].to_pylist() == prompts
    assert as_asked({"en": en}, "bmlama")["en"] is en


@pytest.mark.parametrize(
    ("names", "ids", "expected"),
    [
        # two homonyms and one renamed: objects are identified by id
        ("candidate_ids", [["Q1"], ["Q2"], ["Q1"]], [[0], [1], [0]]),
        ("object_id", ["Q1", "Q2", "Q1"], [[0], [1], [0]]),
        ("object_id", ["", "", ""], [[0], [0], [1]]),  # BMLAMA as published has none
        ("candidate_ids", [[], [], []], [[0], [0], [1]]),
        ("candidate_ids", [None, ["Q2"], None], [[0], [1], [2]]),
        ("candidate_ids", [["Q1", "Q2"], ["Q3", "Q4"], ["Q1"]], [[0], [0], [1]]),  # of other rows
        ("other", [0, 0, 0], [[0], [0], [1]]),
    ],
)
def test_objects_are_known_by_their_ids_else_by_their_labels(names, ids, expected):
    rows = [("P", "", "[Y]", [label], [0]) for label in ("Georgia", "Georgia", "Sakartvelo")]
    split = table(*rows).append_column(names, pa.array(ids))
    assert list_relation_objects(split).answers == expected


def test_an_object_id_says_nothing_of_a_row_with_several_answers():
    rows = [("P", "", "[Y]", ["a", "b"], [0, 1]), ("P", "", "[Y]", ["b"], [0])]
    split = table(*rows).append_column("object_id", pa.array(["Q1", ""]))
    assert list_relation_objects(split).answers == [[0, 1], [1]]


def test_the_first_language_s_labels_tell_objects_apart():
    en = table(*[("P", "", "[Y]", [x], [0]) for x in ("Lima", "Lyma", "Lima")])
    xx = table(*[("P", "", "[Y]", [x], [0]) for x in ("L1", "L1", "L1")])
    got = as_asked({"xx": xx, "en": en}, "mpararel", first="en")
    assert got["xx"]["candidates"].to_pylist() == [["L1", "L1"]] * 3
    assert got["xx"]["answers"].to_pylist() == got["en"]["answers"].to_pylist() == [[0], [1], [0]]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mpararel")
    words = [w for names in (CITIES, COUNTRIES) for row in names.values() for w in row]
    tiny.save_model("xlm-roberta", folder / "model", tiny.TEXT + words)
    write_facts(folder / "facts", without_ids)
    return folder


def without_ids(language, rows):
    return [row._replace(object_id="", candidate_ids=[]) for row in rows]


def test_a_run_ranks_the_objects_of_the_whole_relation(place):
    """P36 for France and Italy, P37 for Germany and Russia, alternating, each twice."""
    results = evaluate_model(
        str(place / "model"), str(place / "facts"), output=place / "run", limit=3,
        scoring="mpararel",
    )  # fmt: skip
    assert "|scoring:mpararel|" in results["signature"]
    assert json.loads((place / "run" / "run.json").read_text())["scoring"] == "mpararel"
    scorer = load_scorer(str(place / "model"), scoring="mpararel")
    capitals = {"en": ["Paris", "Rome"], "ru": ["Париж", "Рим"], "zh_hans": ["巴黎", "罗马"]}
    others = {"en": ["Berlin", "Moscow"], "ru": ["Берлин", "Москва"], "zh_hans": ["柏林", "莫斯科"]}
    prompts = {
        "en": [f"{x} its capital is [Y]" for x in ("France", "Germany", "Italy")],
        "ru": ["Франция столица — [Y]", "Германия столица — [Y]", "Италия столица — [Y]"],
        "zh_hans": ["法国的首都是[Y]", "德国的首都是[Y]", "意大利的首都是[Y]"],
    }  # fmt: skip
    for language in CITIES:
        scores = Run(place / "run").read(language)
        assert scores["answers"].to_pylist() == [[0], [0], [1]]
        pools = [capitals[language], others[language], capitals[language]]
        for prompt, pool, row in zip(
            prompts[language], pools, scores["scores"].to_pylist(), strict=True
        ):
            want = [plain.mpararel(scorer.model, scorer.tokenizer, prompt, c) for c in pool]
            assert row == pytest.approx(want, abs=1e-4)
    assert results["chance"]["accuracy"] == pytest.approx(1 / 2)


def test_the_report_shows_the_objects_that_were_ranked(place):
    evaluate_model(
        str(place / "model"), str(place / "facts"), output=place / "shown", scoring="mpararel"
    )
    write_report([place / "shown"], place / "report.html")
    page = (place / "report.html").read_text(encoding="utf-8")
    assert '法国的首都是[Y]"' in page
    assert "法国的首都是[Y]。" not in page


def test_languages_added_later_have_the_objects_of_the_first(place, tmp_path):
    """Without ids only labels differ: in zh_hans Paris and Rome are made homonyms here.

    Each row has the answer and the next city, so that none has both homonyms.
    """

    def homonyms(language, rows):
        cities = [*CITIES[language]]
        if language == "zh_hans":
            cities[2] = cities[0]
        pairs = [[cities[n % 4], cities[(n + 1) % 4]] for n in range(len(rows))]
        return [
            r._replace(candidates=pair, answers=[0])
            for r, pair in zip(without_ids(language, rows), pairs, strict=True)
        ]

    data = str(write_facts(tmp_path / "facts", homonyms))
    model = str(place / "model")
    whole = evaluate_model(model, data, output=tmp_path / "whole", scoring="mpararel")
    for languages in (["en"], ["ru"], ["zh_hans", "en"]):
        evaluate_model(
            model, data, output=tmp_path / "parts", languages=languages, scoring="mpararel"
        )
    parts = json.loads((tmp_path / "parts" / "results.json").read_text())
    assert parts["accuracy"] == whole["accuracy"]
    for language in CITIES:
        one, two = (
            pq.read_table(tmp_path / run / "scores" / f"{language}.parquet")
            for run in ("whole", "parts")
        )
        assert one == two
    assert one["answers"].to_pylist()[:4] == [[0], [0], [1], [1]]


def test_going_on_with_another_scoring_is_refused(place, tmp_path):
    model, data = str(place / "model"), str(place / "facts")
    evaluate_model(model, data, output=tmp_path, limit=1, scoring="object")
    with pytest.raises(PolyprobeError, match="scoring: 'object', asked for 'bmlama-eq8'"):
        evaluate_model(model, data, output=tmp_path, limit=1)


def test_a_dataset_without_subjects_is_reported_before_a_folder_is_made(place, tmp_path):
    folder = write_facts(tmp_path / "facts", without_ids)
    for file in folder.glob("data/small/*.parquet"):
        pq.write_table(pq.read_table(file).drop_columns("subject"), file)
    with pytest.raises(PolyprobeError) as error:
        evaluate_model(
            str(place / "model"), str(folder), output=tmp_path / "run", scoring="mpararel"
        )
    assert str(error.value) == (
        "language 'en': --scoring mpararel strips templates, not the subjects in them, and so "
        "needs a column 'subject' of text; it has none"
    )
    assert not (tmp_path / "run").exists()
    evaluate_model(str(place / "model"), str(folder), output=tmp_path / "run", limit=1)


def test_free_predictions_may_give_any_valid_object_of_a_prompt():
    rows = {
        "prompt": ["A: [Y].", "B: [Y].", "A: [Y]."],
        "candidates": [["x", "y"], ["x", "y"], ["x", "y"]],
        "answers": [[0], [0], [1]],
        "answer_forms": [["x", "X"], None, []],
    }
    [table] = as_asked({"en": pa.table(rows)}, "xfactr-order-none-m5/10-b1").values()
    assert table["answer_forms"].to_pylist() == [["x", "X", "y"], ["x"], ["y", "x", "X"]]


def test_namesakes_of_one_relation_keep_their_own_answers():
    names = ("relation", "subject_id", "prompt", "candidates", "answers")
    rows = [
        ("P19", "Q1", "John was born in [Y]", ["Rome"], [0]),
        ("P19", "Q1", "John is from [Y]", ["Italy"], [0]),
        ("P19", "Q2", "John was born in [Y]", ["Oslo"], [0]),
        ("P20", "Q1", "John died in [Y]", ["Bern"], [0]),
        ("P20", None, "It died in [Y]", ["Ulm"], [0]),
        ("P20", None, "It died in [Y]", ["Kyiv"], [0]),
    ]
    asked = as_asked({"en": table(*rows, names=names)}, "xfactr-order-none-m5-b1")["en"]
    assert asked["answer_forms"].to_pylist() == [
        ["Rome", "Italy"],
        ["Italy", "Rome"],
        ["Oslo"],
        ["Bern"],
        ["Ulm", "Kyiv"],
        ["Kyiv", "Ulm"],
    ]


@pytest.mark.parametrize("scoring", ["bmlama-sum", "object-mean", "contrastive", "letters", "pll"])
def test_rows_with_the_right_answer_alone_are_not_ranked(scoring):
    rows = table(
        ("P36", "Peru", "Peru: [Y]", ["Lima"], [0]), ("P36", "Italy", "[Y]", ["Rome"], [0])
    )
    with pytest.raises(PolyprobeError, match="language 'en': --scoring .* use --scoring xfactr or"):
        as_asked({"en": rows}, scoring)
    more = table(("P36", "Peru", "Peru: [Y]", ["Lima", "Rome"], [0]))
    assert as_asked({"en": more}, scoring)["en"] is more


def test_answer_forms_that_are_no_lists_are_named():
    rows = {"prompt": ["A: [Y]."], "candidates": [["x"]], "answers": [[0]], "answer_forms": ["xyz"]}
    with pytest.raises(PolyprobeError, match="language 'en': column 'answer_forms' is string"):
        as_asked({"en": pa.table(rows)}, "xfactr-order-none-m5/10-b1")


def test_a_final_stop_is_asked_and_signed(place, tmp_path):
    """Each prompt ends in the stop; the run is another one, with its own signature."""
    model, facts = str(place / "model"), str(place / "facts")
    options = {"languages": ["en"], "limit": 3, "scoring": "mpararel"}
    without = evaluate_model(model, facts, output=tmp_path / "none", **options)
    found = evaluate_model(model, facts, output=tmp_path / "stop", final_stop=".", **options)
    assert "final_stop" not in without["signature"]
    assert "|final_stop:.|" in found["signature"]
    scorer = load_scorer(model, scoring="mpararel")
    scores = Run(tmp_path / "stop").read("en")["scores"].to_pylist()
    for country, row in zip(("France", "Germany", "Italy"), scores, strict=True):
        pool = ["Berlin", "Moscow"] if country == "Germany" else ["Paris", "Rome"]
        prompt = f"{country} its capital is [Y]."
        want = [plain.mpararel(scorer.model, scorer.tokenizer, prompt, name) for name in pool]
        assert row == pytest.approx(want, abs=1e-5)
    assert scores != Run(tmp_path / "none").read("en")["scores"].to_pylist()
    with pytest.raises(PolyprobeError, match="final_stop"):  # not the same run
        evaluate_model(model, facts, output=tmp_path / "stop", **options)
