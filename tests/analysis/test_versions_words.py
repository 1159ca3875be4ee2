"""Verb forms from a list, and the ranks of facts about women and men (Fluent-mLAMA, table 6)."""

import csv
import io
import json
import zipfile

import numpy as np
import pytest
from typer.testing import CliRunner

from polyprobe.analysis.compare.match import find_versions
from polyprobe.analysis.compare.options import WordingOptions
from polyprobe.analysis.compare.sentences.compare import compare_versions
from polyprobe.analysis.compare.sentences.gender import has_word, read_genders, read_verb_forms
from polyprobe.builder.sources import fluent_mlama
from polyprobe.cli import app
from polyprobe.system.download import read_files
from polyprobe.system.messages import PolyprobeError
from tests.making.versions import GENDERS, VERBS, best_ranks, write_versions

FEW = {"n_resamples": 99}
SENTENCES = ("template", "gt_translation", "chatgpt_translation")
FOUND = ("gt_prompt", "gt_infl_object", "chatgpt_prompt", "chatgpt_infl_object")


def rows_of(gender):
    """Rows whose subject has the gender: person `number % 4`, twelve rows."""
    return [number for number in range(12) if GENDERS[number % 4] == gender]


def test_facts_about_women_and_men(tmp_path, gender_file):
    template, sentence = write_versions(tmp_path)
    versions = find_versions(sentence, template)
    found = compare_versions(versions, WordingOptions(gender=gender_file), **FEW)
    assert found.measures["verb forms"].fields["n_facts"] == {
        "women": {"en": 0, "ru": 6},
        "men": {"en": 0, "ru": 3},
    }
    # templates use masculine verbs only, sentences those of the person (tests/making/versions.py)
    shares = {"women: verb form": (1, 0), "men: verb form": (1, 1)}
    for group, gender in (("women", "female"), ("men", "male")):
        rows = rows_of(gender)
        ranks = [best_ranks(run.read("ru"))[rows] for run in (sentence, template)]
        expected = {
            f"{group}: recall@1": [np.mean(found == 1) for found in ranks],
            f"{group}: mean_rank": [np.mean(found) for found in ranks],
            f"{group}: verb form": shares[f"{group}: verb form"],
        }
        for name, values in expected.items():
            row = found.figures[name]["micro"][0]
            assert row.name == "ru"
            assert (row.first, row.second) == pytest.approx(tuple(values))
    other = compare_versions(
        find_versions(template, sentence), WordingOptions(gender=gender_file), **FEW
    )
    row = other.figures["women: verb form"]["macro"][0]
    assert (row.first, row.second) == (0, 1)


def test_the_command_prints_shares_and_counts(tmp_path, gender_file):
    template, sentence = write_versions(tmp_path)
    own = tmp_path / "verbs.tsv"
    own.write_text("".join(
        f"{relation}\tru\t{forms['ru'][0]}\t{forms['ru'][1]}\n" for relation, forms in VERBS.items()
    ))  # fmt: skip
    results = []
    for extra in ([], ["--verb-forms", own]):
        out = tmp_path / "c.json"
        arguments = [template.folder, sentence.folder, "--gender", gender_file, *extra]
        arguments += ["--resamples", 99, "--json", out]
        result = CliRunner().invoke(app, ["compare", *map(str, arguments)])
        assert result.exit_code == 0, result.output
        results.append(json.loads(out.read_text())["versions"]["verb_forms"])
        text = " ".join(result.output.split())
        assert "women: facts ru 6" in text
        assert "men: facts ru 3" in text
    assert results[0] == results[1]  # the shipped forms are those of the made rows
    assert results[0]["women: verb form"]["micro"]["ru"]["sentence"] == 1


def test_relations_without_known_forms_are_noted(tmp_path, gender_file):
    own = tmp_path / "verbs.tsv"
    own.write_text("P1\tru\ta\tb\n")
    found = compare_versions(
        find_versions(*write_versions(tmp_path)), WordingOptions(gender_file, own), **FEW
    )
    assert found.measures["verb forms"].figures == {}
    assert any(line.startswith("verb forms: 0 rows have a subject") for line in found.notes)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Анна родилась в Риме.", True),
        ("родилась Анна", True),
        ("Анна родилась, жила", True),
        ("Анна нeродилась в Риме", False),
        ("Анна родился", False),
    ],
)
def test_a_form_is_a_whole_word(text, found):
    assert has_word(text, {"родилась"}) == found


@pytest.mark.parametrize(
    "text", ["P19\tru\tродился\n", "P19 ru родился родилась\n", "P19\tru\t\tб\n"]
)
def test_a_file_of_verb_forms_with_other_columns(tmp_path, text):
    file = tmp_path / "v.tsv"
    file.write_text("P20\tru\tумер\tумерла\n" + text)
    with pytest.raises(PolyprobeError) as caught:
        read_verb_forms(file)
    assert str(caught.value).startswith(
        f"{file}, line 2: {text.rstrip()!r}; expected relation, lang"
    )


def read_error(file):
    with pytest.raises(PolyprobeError) as caught:
        read_genders(file)
    return str(caught.value)


@pytest.mark.parametrize("text", ["Q1 female\n", "Q1\twoman\n"])
def test_a_gender_file_that_is_none(tmp_path, text):
    file = tmp_path / "gender.txt"
    file.write_text("Q0\tfemale\n" + text)
    assert read_error(file).startswith(f"{file}, line 2: {text.rstrip()!r}; expected an id, a tab")


def test_a_gender_file_that_is_not_there(tmp_path):
    message = read_error(tmp_path / "nothing")
    assert message == f"cannot read --gender {tmp_path}/nothing: No such file or directory"


# Table 6, %(F): facts about women; of the templates, Google's and ChatGPT's sentences.
TABLE_6 = {
    "ru": (150, [0.0, 80.7, 93.3]),
    "cs": (88, [0.0, 89.8, 97.7]),
    "uk": (61, [0.0, 90.2, 96.7]),
    "hr": (33, [0.0, 84.8, 97.0]),
}


def test_shipped_forms_give_the_shares_of_table_6(upstream):
    """From the released sentences and X-FACTR's genders; the first of two tests of this table.

    R@1(F) needs the logs: tests/docs/test_fluent_logs.py.
    """
    [archive] = upstream.glob("jzbjyb__X-FACTR@*.zip")
    with zipfile.ZipFile(archive) as content:
        [name] = [n for n in content.namelist() if n.endswith("/TREx_gender.txt")]
        lines = content.read(name).decode().splitlines()
    women = {line.split("\t")[0] for line in lines if line.endswith("\tfemale")}
    [released] = read_files(fluent_mlama.REPOSITORY, [fluent_mlama.ARCHIVE], upstream)
    verbs = read_verb_forms()
    with zipfile.ZipFile(io.BytesIO(released)) as content:
        for language, (size, shares) in TABLE_6.items():
            found = []
            for relation in ("P19", "P20"):
                start = f"fixed_data/{language}_{relation}_"
                [name] = [n for n in content.namelist() if n.startswith(start)]
                with io.TextIOWrapper(content.open(name), "utf-8", newline="") as text:
                    rows = [*csv.DictReader(text, delimiter="\t")]
                forms = verbs[relation, language]["female"]
                found += [
                    [has_word(row[name], forms) for name in SENTENCES]
                    for row in rows
                    if row["sub_uri"] in women and not {"", "ERROR"} & {row[x] for x in FOUND}
                ]
            assert len(found) == size
            assert [round(100 * share, 1) for share in np.mean(found, axis=0)] == shares
