"""A template run and its sentence version: recognition, matching, ranks, excluded rows."""

import json
import shutil
from itertools import permutations

import numpy as np
import pytest
import sacrebleu
from typer.testing import CliRunner

from polyprobe.analysis.compare.match import find_versions
from polyprobe.analysis.compare.sentences.compare import compare_versions, measure_overlap
from polyprobe.analysis.compare.sentences.deltas import (
    Ranks,
    WordingTest,
    load_texts,
    rank_answers,
    summarize_ranks,
)
from polyprobe.cli import app
from polyprobe.report.findings.comparison import list_notes_of_wording
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.rows import make_choice
from tests.making.runs import reseal
from tests.making.versions import CONFIGS, N, best_ranks, write_dataset, write_run, write_versions

FEW = {"n_resamples": 99}
NO_DELTA = {"macro": None, "micro": None, "n_queries": {"en": 0, "ru": 0}}


@pytest.fixture
def runs(tmp_path):
    return write_versions(tmp_path)


def test_sentence_versions_are_recognised_in_any_order(runs):
    template, sentence = runs
    assert find_versions(sentence, template) == (template, sentence, ("sentence", "template"))
    assert find_versions(template, sentence) == (template, sentence, ("template", "sentence"))
    assert find_versions(template, template) is None


@pytest.mark.parametrize(
    ("config", "dataset", "versions"),
    [
        ("default-sentence", "tiny", True),
        ("default-sentence", "other", False),
        ("x", "tiny", False),
    ],
)
def test_sentence_versions_have_one_dataset_and_the_default_has_one_too(
    tmp_path, runs, config, dataset, versions
):
    made = []
    for name, value in (("one", None), ("two", config)):
        folder = shutil.copytree(runs[0].folder, tmp_path / name)
        place = str(tmp_path / (dataset if name == "two" else "tiny"))
        reseal(folder, config=value, dataset=place)
        made.append(Run(folder))
    assert (find_versions(*made) is not None) == versions


def averages(values, relations):
    groups = [values[[r == relation for r in relations]].mean() for relation in {*relations}]
    return {"macro": np.mean(groups), "micro": values.mean()}


@pytest.mark.parametrize("two_forms", [False, True])
def test_recall_and_mean_rank_by_definition(tmp_path, two_forms):
    template, sentence = write_versions(tmp_path, two_forms=two_forms)
    found = compare_versions(find_versions(sentence, template), **FEW).ranks
    assert list(found) == [f"recall@{k}" for k in range(1, 4 + two_forms)] + ["mean_rank"]
    relations = template.read("en")["relation"].to_pylist()
    for name, by_average in found.items():
        expected = []
        for run in (sentence, template):
            both = []
            for language in ("en", "ru"):
                ranks = best_ranks(run.read(language))
                k = name.rpartition("@")[2]
                share = (ranks <= int(k)).mean(1) if k.isdigit() else ranks.mean(1)
                both.append(averages(share, relations))
            expected.append(both)
        for average, rows in by_average.items():
            for side, both in zip(("first", "second"), expected, strict=True):
                values = [part[average] for part in both]
                got = [getattr(row, side) for row in rows]
                assert got == pytest.approx([*values, np.mean(values)])
            assert all(row.difference == pytest.approx(row.first - row.second) for row in rows)
            assert all(row.ci[0] <= row.difference <= row.ci[1] for row in rows)


def test_micro_recall_at_1_is_the_accuracy_that_compare_gives(runs, tmp_path):
    file = tmp_path / "c.json"
    show(runs[1].folder, runs[0].folder, "--resamples", 99, "--json", file)
    values = json.loads(file.read_text())
    accuracy, recall = values["differences"]["accuracy"], values["versions"]["ranks"]["recall@1"]
    for language in ("en", "ru", "mean"):
        for name in ("difference", "p", "p_adjusted"):
            assert recall["micro"][language][name] == pytest.approx(accuracy[language][name])
        sentence = recall["micro"][language]["sentence"]
        assert sentence == pytest.approx(accuracy[language]["first"])


def test_boxes_are_the_quartiles_of_the_ranks(runs):
    [box] = summarize_ranks(rank_answers({"en": runs[0].read("en")}))
    ranks = best_ranks(runs[0].read("en")).mean(axis=1)
    assert box.mean == pytest.approx(ranks.mean())
    assert box.median == pytest.approx(np.median(ranks))
    assert box.low == ranks.min()
    assert box.high == ranks.max()


def test_whiskers_end_within_one_and_a_half_boxes():
    rank = np.array([[1.0], [2.0], [2.0], [3.0], [3.0], [4.0], [9.0]])
    [box] = summarize_ranks(Ranks(["en"], np.empty(0), rank))
    assert box == (1, 2, 3, 3.5, 4, 24 / 7)


def test_rows_are_chosen_by_relation(runs):
    versions = find_versions(*reversed(runs))
    relations = versions.variant.read("en")["relation"].to_pylist()
    whole = compare_versions(versions, **FEW)
    first = compare_versions(versions, choice=make_choice(relations[:1]), **FEW)
    assert first.n_queries == relations.count(relations[0]) < whole.n_queries == len(relations)
    macro, micro = (first.ranks["recall@1"][average] for average in ("macro", "micro"))
    assert [row.first for row in macro] == [row.first for row in micro]  # of a single relation


def delta(run, language):
    """rank(label) - rank(form), mean over all orders of ties."""
    deltas = []
    for row in run.read(language).to_pylist():
        found = []
        for order in permutations(range(4)):
            ranked = sorted(order, key=lambda k: -row["scores"][k])
            label, form = row["answers"]
            found.append(ranked.index(label) - ranked.index(form))
        deltas.append(np.mean(found))
    return np.array(deltas)


def test_inflection_delta_by_definition(tmp_path):
    template, sentence = write_versions(tmp_path, two_forms=True)
    found = compare_versions(find_versions(sentence, template), **FEW).measures["inflection delta"]
    assert found.fields["n_queries"] == {"en": N, "ru": N}
    relations = template.read("en")["relation"].to_pylist()
    for place, language in enumerate(("en", "ru")):
        for average in ("macro", "micro"):
            row = found.figures["inflection delta"][average][place]
            one, other = (
                averages(delta(run, language), relations)[average] for run in (sentence, template)
            )
            assert (row.first, row.second) == pytest.approx((one, other))
            assert row.difference == pytest.approx(one - other)
            assert row.ci is not None


def test_no_row_with_two_forms(runs):
    found = compare_versions(find_versions(*reversed(runs)), **FEW)
    assert found.measures["inflection delta"].fields == NO_DELTA
    assert "inflection delta: 0 rows have a label and another form" in found.notes[0]


def test_candidates_that_are_not_the_dataset_s_have_no_inflection_delta(tmp_path):
    # under mParaRel's protocol a score's place is that of an object of the relation
    dataset = write_dataset(tmp_path / "tiny", two_forms=True)
    versions = [
        write_run(tmp_path / config, dataset, config, scoring="mpararel") for config in CONFIGS
    ]
    found = compare_versions(find_versions(*reversed(versions)), **FEW)
    assert found.failures == []
    assert found.measures["inflection delta"].fields == NO_DELTA
    assert found.notes[0].startswith("inflection delta: a run's candidates are all objects")


def test_a_language_that_one_lacks_is_named(tmp_path):
    template, _ = write_versions(tmp_path)
    sentence = write_run(tmp_path / "en", tmp_path / "tiny", "small-sentence", ("en",))
    found = compare_versions(find_versions(sentence, template), **FEW)
    assert (found.languages, found.left_out_languages) == (["en"], ["ru"])
    assert found.as_json()["left_out_languages"] == ["ru"]
    assert "excluded (only in one run): languages ru" in list(list_notes_of_wording(found))


TEMPLATES = ["Ольга родился в Москва.", "Иван родился в Париж."]
SENTENCES = ["Ольга родилась в Москве.", "Иван родился в Париже."]


def test_chrf_is_sacrebleu_s_of_the_filled_texts(runs):
    ids = runs[0].read("ru")["fact_id"].to_pylist()[:2]
    texts = load_texts(find_versions(*reversed(runs)), ["ru"], ids)
    assert (texts.reference["ru"], texts.variant["ru"]) == (TEMPLATES, SENTENCES)
    assert texts.english == ["Olga was born in Moscow.", "Ivan was born in Paris."]
    found = measure_overlap(texts, WordingTest([], None, {})).fields
    chrf = found["by_language"]["ru"]
    assert chrf["corpus"] == sacrebleu.corpus_chrf(SENTENCES, [TEMPLATES]).score
    each = [
        sacrebleu.sentence_chrf(one, [other]).score
        for one, other in zip(SENTENCES, TEMPLATES, strict=True)
    ]
    assert chrf["sentences"] == pytest.approx(np.mean(each))
    assert found["signature"].startswith("nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:")


def test_a_dataset_that_is_gone_or_changed_costs_the_texts_alone(tmp_path, runs):
    whole = compare_versions(find_versions(*reversed(runs)), **FEW)
    file = tmp_path / "tiny" / "data" / "small" / "ru.parquet"
    shutil.copy(tmp_path / "tiny" / "data" / "small-sentence" / "ru.parquet", file)
    changed = compare_versions(find_versions(*reversed(runs)), **FEW)
    shutil.rmtree(tmp_path / "tiny")
    gone = compare_versions(find_versions(*reversed(runs)), **FEW)
    for found, reason in ((changed, "'ru' of tiny/small has changed since"), (gone, "no dataset")):
        assert found.ranks == whole.ranks
        assert found.measures == {}
        (line,) = found.failures
        assert line.startswith("inflection delta, chrF: the texts are not at hand: ")
        assert reason in line


def test_what_else_differs_is_said(tmp_path, runs):
    other = write_run(tmp_path / "m", tmp_path / "tiny", "small-sentence", model="another")
    (line, *_) = compare_versions(find_versions(runs[0], other), **FEW).notes
    assert line == "the runs also differ in model: the differences are not of wording alone"


def show(*arguments, status=0):
    result = CliRunner().invoke(app, ["compare", *map(str, arguments)])
    assert result.exit_code == status, result.output
    return " ".join(result.output.split())


def negative(row):
    values = (row.second, row.first, -row.difference)
    return (*values, *(-end for end in reversed(row.ci)), row.p, row.p_adjusted)


def test_the_other_order_has_the_opposite_differences(tmp_path):
    template, sentence = write_versions(tmp_path, two_forms=True, skip=(0,))
    one, other = (
        compare_versions(find_versions(*pair), **FEW)
        for pair in ((sentence, template), (template, sentence))
    )
    assert (one.left_out, other.left_out) == ((0, 1), (1, 0))
    assert other.boxes == {x: boxes[::-1] for x, boxes in one.boxes.items()}
    for mine, swapped in zip(one.figures.items(), other.figures.items(), strict=True):
        assert mine[0] == swapped[0]
        for average, rows in mine[1].items():
            for row, opposite in zip(rows, swapped[1][average], strict=True):
                found = (opposite.first, opposite.second, opposite.difference)
                assert (*found, *opposite.ci, opposite.p, opposite.p_adjusted) == negative(row)
    assert one.as_json()["ranks"]["mean_rank"]["micro"]["en"]["template"] == pytest.approx(
        other.as_json()["ranks"]["mean_rank"]["micro"]["en"]["template"]
    )


@pytest.mark.parametrize("cluster", ["relation", "subject"])
def test_clusters_are_drawn_in_every_figure(tmp_path, cluster):
    versions = find_versions(*reversed(write_versions(tmp_path, two_forms=True)))
    drawn = [compare_versions(versions, clusters=c, **FEW) for c in ("none", cluster)]
    for figure in ("mean_rank", "inflection delta"):
        one, other = (found.figures[figure]["micro"][-1] for found in drawn)
        assert one.difference == other.difference
        assert one.ci != other.ci
    fields = [found.measures["chrF"].fields["by_language"]["ru"] for found in drawn]
    sentences = [of_russian["sentences_ci"] for of_russian in fields]
    assert sentences[0] != sentences[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--gender", "g.tsv"], "--gender: only for two wordings of a conf"),
        (["--comet-model", "m"], "--comet-model is for --comet COMMAND"),
    ],
)
def test_options_of_sentence_versions_are_refused_of_others(runs, arguments, message):
    folder = str(runs[0].folder)
    result = CliRunner().invoke(app, ["compare", folder, folder, *arguments])
    assert message in str(result.exception)
    assert not result.output.strip()
