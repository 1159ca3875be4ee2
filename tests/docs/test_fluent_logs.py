"""The authors' logs as runs: `polyprobe compare` prints the paper's cells.

Other logs and languages are checked by the same commands, see docs/reproduce/fluent-mlama.md.
The cells are of the paper's tables 1, 2, 3 and 7 and of SPEC-2 (M7, P1); the tests of
tests/metrics/test_fluent_mlama_logs.py read the same logs without runs.
"""

import csv
import io
import json
import zipfile
from ast import literal_eval

import pytest
from typer.testing import CliRunner

from docs.reproduce.fluent_logs import main
from polyprobe.builder.recipes.fluent_mlama import RELATIONS
from polyprobe.cli import app
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import Run
from polyprobe.system.messages import PolyprobeError
from tests.conftest import UPSTREAM

LOGS = UPSTREAM.parent / "oracles" / "fluent-mlama-logs.zip"
WIDE = LOGS.with_name("fluent-mlama-wide-logs.zip")
ENDS = {"template": "", "sentence": "-sentence", "chatgpt": "-chatgpt"}
THREE, TWO = [*ENDS], [*ENDS][:2]

# recall@1 and mean rank of templates, Google's and ChatGPT's sentences
CELLS = {
    "ru": [(0.512, 4.91), (0.586, 3.95), (0.545, 4.65)],
    "uk": [(0.488, 5.12), (0.525, 4.43), (0.492, 5.00)],
    "zh": [(0.020, 19.98), (0.059, 15.68)],
    "vi": [(0.587, 4.10), (0.765, 2.59)],
    "da": [(0.568, 4.16), (0.640, 3.84)],
}
WIDE_CELLS = {
    "ru": [(0.570, 3.79), (0.633, 3.27), (0.590, 3.76)],
    "uk": [(0.539, 4.04), (0.583, 3.52), (0.540, 4.01)],
}
# Figure 3 (SPEC-2, A.004): recall@1 … recall@5 in ru.
CURVES = {
    "template": [0.512, 0.620, 0.682, 0.724, 0.757],
    "sentence": [0.586, 0.700, 0.755, 0.786, 0.809],
    "chatgpt": [0.545, 0.655, 0.713, 0.747, 0.772],
}
FACTS = {"ru": 6365, "uk": 4067}  # figure 4
INFLECTED = "P101,P1376,P159,P19,P20,P407,P495,P740"
DELTAS = {"ru": [5.80, 8.59, 7.54], "uk": [7.86, 9.02, 9.07]}  # table 2


def line(**ranks):
    values = {
        "sub_uri": "Q419", "obj_uri": "Q2868", "sub_label": "Перу", "obj_label": "Лима",
        "gt_infl_object": "Лиме", "template_prompt": "Столица Перу ", "gt_prompt": "Перу в ",
        "en_sub_label": "Peru", "en_obj_label": "Lima", "en_template": "Lima is in Peru: Lima .",
        "template": "Столица Перу Лима.", "gt_translation": "Перу в Лиме живёт.",
    }  # fmt: skip
    for kind, found in ranks.items():
        values |= {f"{kind}_true_ranks": str(found), f"{kind}_prompt_prob": "-12.5"}
    return values


def write_logs(file, rows, language="vi"):
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), delimiter="\t", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    with zipfile.ZipFile(file, "w") as archive:
        for relation in RELATIONS[language]:
            archive.writestr(f"stats/{language}_{relation}_template_gt.tsv", text.getvalue())
    return file


ROWS = [line(template={"Лиме": 4, "Лима": 2}, gt={"Лиме": 1, "Лима": 3})]


def test_logs_become_runs_of_two_wordings(tmp_path, capsys):
    rows = [{**ROWS[0], "gt_prompt_prob": "-inf"}, {**ROWS[0], "sub_uri": "Q1", "gt_prompt": "Пе"}]
    file = write_logs(tmp_path / "logs.zip", rows)
    main([str(file), "--languages", "vi", "--output", str(tmp_path / "out")])
    folders = capsys.readouterr().out.split()
    assert folders == [str(tmp_path / "out" / name) for name in ("vi", "vi-sentence")]
    for folder, scores in zip(folders, ([-2, -4, -1, -3], [-3, -1, -2, -4]), strict=True):
        table = Run(folder).read("vi").to_pylist()
        assert len(table) == len(RELATIONS["vi"])  # the other fact's prompt is short
        assert table[0]["fact_id"] == "P103:Q419:Q2868"
        assert table[0]["scores"] == scores
        assert table[0]["answers"] == [0, 1]
        assert table[0]["prompt_log_probability"] is None  # -inf in the other wording
    texts = load_facts(str(tmp_path / "out" / "data"), "vi-sentence")["vi"]
    assert texts["prompt"][0].as_py() == "Перу в [Y] живёт."
    english = load_facts(str(tmp_path / "out" / "data"), "en")["en"]
    assert english["prompt"][0].as_py() == "Lima is in Peru: [Y] ."
    assert len(english) == len(RELATIONS["vi"])
    with pytest.raises(PolyprobeError, match="out/vi exists; choose another --output"):
        main([str(file), "--languages", "vi", "--output", str(tmp_path / "out")])
    main([str(file), "--languages", "vi,", "--output", str(tmp_path / "all"), "--keep-short"])
    kept = Run(tmp_path / "all" / "vi").read("vi")
    assert kept["prompt_log_probability"].to_pylist() == [None, -12.5] * len(RELATIONS["vi"])


def test_logs_without_a_relation_or_of_another_language_are_refused(tmp_path):
    file = write_logs(tmp_path / "logs.zip", ROWS)
    with pytest.raises(PolyprobeError, match=r"logs\.zip has 0 files named da_P103_….tsv"):
        main([str(file), "--languages", "da", "--output", str(tmp_path)])
    with pytest.raises(PolyprobeError, match="unknown language 'fr' in Fluent-mLAMA's paper;"):
        main([str(file), "--languages", "vi,fr", "--output", str(tmp_path / "out")])
    assert not (tmp_path / "out").exists()  # nor the runs of vi
    for empty in ("", " , "):
        with pytest.raises(PolyprobeError, match="^--languages is empty; give codes such as ru,uk"):
            main([str(file), "--languages", empty])
    (tmp_path / "text.zip").write_text("x")
    for name in ("none.zip", "text.zip"):
        with pytest.raises(PolyprobeError, match=f"cannot read .*{name}: "):
            main([str(tmp_path / name), "--languages", "vi"])


@pytest.mark.parametrize(
    "change",
    [
        {"gt_true_ranks": "{'Лима': 1"},  # cut off
        {"template_true_ranks": "{'Лима': 0}"},
        {"template_prompt_prob": "low"},
    ],
)
def test_a_damaged_row_is_named(tmp_path, change):
    file = write_logs(tmp_path / "logs.zip", [ROWS[0], ROWS[0] | change])
    row = r"vi_P103_template_gt\.tsv, row 2: expected all columns, a log-probability and ranks"
    with pytest.raises(PolyprobeError, match=row):
        main([str(file), "--languages", "vi", "--output", str(tmp_path)])


def test_a_missing_column_or_no_rows_are_named(tmp_path):
    needless = {name: text for name, text in ROWS[0].items() if name != "gt_true_ranks"}
    file = write_logs(tmp_path / "logs.zip", [needless])
    with pytest.raises(PolyprobeError, match=r"vi_P103_template_gt\.tsv lacks gt_true_ranks$"):
        main([str(file), "--languages", "vi"])
    with zipfile.ZipFile(tmp_path / "empty.zip", "w") as archive:
        for relation in RELATIONS["vi"]:
            archive.writestr(f"vi_{relation}_template_gt.tsv", "sub_uri\tobj_uri\n")
    with pytest.raises(PolyprobeError, match=r"vi_P103_template_gt\.tsv has no rows$"):
        main([str(tmp_path / "empty.zip"), "--languages", "vi"])


# Ranks of another fact's forms in one wording, as 19 of 248 rows of a file of the release have.
ODD = [
    {**line(template=ranks, gt={"Лиме": 1, "Лима": 3}), "sub_uri": f"Q{number}"}
    for number, ranks in enumerate(
        [{"Лиме": 4, "Лима": 2}] * 3 + [{"Рим": 1, "Риме": 6, "Рима": 2}]
    )
]


def compare_odd(file, folder, language, monkeypatch):
    """Compare both wordings of a language from another folder than the logs were written in."""
    for name in ("one", "two"):
        (folder / name).mkdir()
    monkeypatch.chdir(folder / "one")
    main([str(file), "--languages", language, "--output", "out"])
    monkeypatch.chdir(folder / "two")
    [compared] = compare(folder / "one" / "out", [language, f"{language}-sentence"]).values()
    assert compared["failures"] == []
    return compared


def test_odd_rows_are_ranked_among_their_own_candidates(tmp_path, monkeypatch):
    found = compare_odd(write_logs(tmp_path / "logs.zip", ODD), tmp_path, "vi", monkeypatch)
    recall = found["ranks"]["recall@1"]["micro"]["mean"]
    assert (recall["template"], recall["sentence"]) == (1 / 4, 1)
    assert found["ranks"]["mean_rank"]["micro"]["mean"]["template"] == (3 * 2 + 1) / 4
    n = len(RELATIONS["vi"])
    assert found["notes"][0].startswith(f"{n} rows have other correct answers or more candidates")
    assert found["inflection_delta"]["n_queries"] == {"vi": 3 * n}
    assert found["inflection_delta"]["micro"]["vi"]["template"] == 2 - 4
    assert found["chrf"]


def test_wordings_that_differ_in_most_rows_are_refused(tmp_path):
    file = write_logs(tmp_path / "logs.zip", [*ODD[2:], ODD[3] | {"sub_uri": "Q9"}])
    main([str(file), "--languages", "vi", "--output", str(tmp_path)])
    folders = [str(tmp_path / name) for name in ("vi", "vi-sentence")]
    result = CliRunner().invoke(app, ["compare", *folders])
    assert "vi, fact P103:Q3:Q2868: other candidates in " in str(result.exception)


@pytest.mark.upstream
def test_exchanged_ranks_of_the_release(tmp_path, monkeypatch):
    """Two of three rows of ru_P19 in each relation: every row's own ranks are scored."""
    if not LOGS.is_file():
        pytest.skip(f"needs the papers' result logs in {LOGS.parent}")
    with zipfile.ZipFile(LOGS) as archive:
        [name] = [n for n in archive.namelist() if "/ru_P19_" in n]
        text = io.TextIOWrapper(archive.open(name), "utf-8", newline="")
        rows = [row for row in csv.DictReader(text, delimiter="\t") if len(row["gt_prompt"]) > 20]
    short = min(rows, key=lambda row: len(literal_eval(row["template_true_ranks"])))
    long = max(rows, key=lambda row: len(literal_eval(row["template_true_ranks"])))
    others = [row for row in rows if row not in (short, long)][:3]
    ranks = "template_true_ranks"
    odd = [short | {ranks: long[ranks]}, long | {ranks: short[ranks]}, *others]
    found = compare_odd(write_logs(tmp_path / "logs.zip", odd, "ru"), tmp_path, "ru", monkeypatch)
    for wording, kind in (("template", "template"), ("sentence", "gt")):
        best = [min(literal_eval(row[f"{kind}_true_ranks"]).values()) for row in odd]
        mean = found["ranks"]["mean_rank"]["micro"]["mean"][wording]
        assert mean == pytest.approx(sum(best) / len(best))
    assert found["notes"][0].startswith(f"{2 * len(RELATIONS['ru'])} rows have other correct")


# SPEC-2, P1: the row of table 5 that is the mean change of recall@1 over relations.
CHANGES = {"ru": [0.073, 0.032], "uk": [0.038, 0.005], "zh": [0.039], "vi": [0.179], "da": [0.072]}
# SPEC-2, M7c and M7d: mean log-probability of the prompts, and its r with recall@1 (Google).
PROMPTS = {"ru": ([-53.83, -58.34, -55.40], -0.61), "uk": ([-56.54, -63.87, -54.68], -0.18)}
# Table 6 (SPEC-2, M7e): number of facts about women; %(F) and R@1(F) by wording.
WOMEN = {
    "ru": (150, [(0.0, 0.373), (80.7, 0.380), (93.3, 0.447)]),
    "uk": (61, [(0.0, 0.311), (90.2, 0.246), (96.7, 0.361)]),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """{logs: folder of the runs of all their languages}."""
    folders = {}
    for logs, languages in ((LOGS, CELLS), (WIDE, WIDE_CELLS)):
        if not logs.is_file():
            pytest.skip(f"needs the papers' result logs in {LOGS.parent}")
        folders[logs] = tmp_path_factory.mktemp("logs")
        main([str(logs), "--languages", ",".join(languages), "--output", str(folders[logs])])
    return folders


def compare(folder, names, *options):
    """Return what `compare` writes, by wording; each has the template's values too."""
    out = folder / "compared.json"
    folders = [str(folder / name) for name in names]
    arguments = ["compare", *folders, "--resamples", "1", "--json", str(out), *options]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    values = json.loads(out.read_text(encoding="utf-8"))
    outcomes = [x["versions"] for x in (values if isinstance(values, list) else [values])]
    # the direction of a pair is `sentence - template` or `template - sentence`
    names = [({*x["difference"].split(" - ")} - {"template"}).pop() for x in outcomes]
    return dict(zip(names, outcomes, strict=True))


def read_cells(compared, figure, digits, average="macro", language="mean"):
    [template] = {
        found["ranks"][figure][average][language]["template"] for found in compared.values()
    }
    others = [found["ranks"][figure][average][language][x] for x, found in compared.items()]
    return [round(value, digits) for value in (template, *others)]


@pytest.mark.upstream
@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("logs", "language"), [*((LOGS, x) for x in CELLS), *((WIDE, x) for x in WIDE_CELLS)]
)
def test_compare_prints_tables_1_3_and_7(written, logs, language):
    expected = (CELLS if logs == LOGS else WIDE_CELLS)[language]
    width = "" if logs == LOGS else "-wide"
    names = [language + end + width for end in [*ENDS.values()][: len(expected)]]
    compared = compare(written[logs], names)
    recall, rank = (read_cells(compared, *cell) for cell in (("recall@1", 3), ("mean_rank", 2)))
    assert [*zip(recall, rank, strict=True)] == expected
    if width:  # aliases are no inflected forms
        assert all(found["inflection_delta"]["macro"] is None for found in compared.values())
    if language in FACTS:
        assert {found["n_queries"] for found in compared.values()} == {FACTS[language]}


@pytest.mark.upstream
@pytest.mark.acceptance
def test_compare_prints_figure_3(written):
    compared = compare(written[LOGS], [f"ru{end}" for end in ENDS.values()])
    curves = zip(*(read_cells(compared, f"recall@{k}", 3) for k in range(1, 6)), strict=True)
    assert dict(zip(ENDS, map(list, curves), strict=True)) == CURVES


@pytest.mark.upstream
@pytest.mark.acceptance
@pytest.mark.parametrize("language", DELTAS)
def test_compare_prints_table_2(written, language):
    names = [language + end for end in ENDS.values()]
    compared = compare(written[LOGS], names, "--relations", INFLECTED)
    deltas = [found["inflection_delta"]["macro"][language] for found in compared.values()]
    values = [deltas[0]["template"], *(d[x] for d, x in zip(deltas, compared, strict=True))]
    assert [round(value, 2) for value in values] == DELTAS[language]


@pytest.mark.upstream
@pytest.mark.acceptance
@pytest.mark.parametrize("language", WOMEN)
def test_compare_prints_table_6(upstream, tmp_path, language):
    """Without the filter by length, and with X-FACTR's genders."""
    if not LOGS.is_file():
        pytest.skip(f"needs the papers' result logs in {LOGS.parent}")
    [archive] = upstream.glob("jzbjyb__X-FACTR@*.zip")
    with zipfile.ZipFile(archive) as content:
        [name] = [n for n in content.namelist() if n.endswith("/TREx_gender.txt")]
        (tmp_path / "gender.txt").write_bytes(content.read(name))
    main([str(LOGS), "--languages", language, "--output", str(tmp_path), "--keep-short"])
    names = [language + end for end in ENDS.values()]
    options = ("--relations", "P19,P20", "--gender", str(tmp_path / "gender.txt"))
    found = [x["verb_forms"] for x in compare(tmp_path, names, *options).values()]
    assert {part["n_facts"]["women"][language] for part in found} == {WOMEN[language][0]}
    forms, recall = (
        [part[f"women: {figure}"]["micro"][language] for part in found]
        for figure in ("verb form", "recall@1")
    )
    cells = [(forms[0]["template"], recall[0]["template"])]
    cells += [(f[x], r[x]) for f, r, x in zip(forms, recall, THREE[1:], strict=True)]
    rounded = [(round(100 * share, 1), round(value, 3)) for share, value in cells]
    assert rounded == WOMEN[language][1]


@pytest.mark.upstream
@pytest.mark.acceptance
@pytest.mark.parametrize("language", CHANGES)
def test_compare_prints_the_changes_of_table_5(written, language):
    expected = CHANGES[language]
    names = [language + end for end in [*ENDS.values()][: len(expected) + 1]]
    compared = compare(written[LOGS], names, "--by-relation", "--chrf-on", "prompt")
    parts = [found["by_relation"][language] for found in compared.values()]
    assert [round(part["means"]["recall@1"], 3) for part in parts] == expected
    assert {len(part["n_queries"]) for part in parts} == {len(RELATIONS[language])}
    if language in PROMPTS:
        levels, r = PROMPTS[language]
        changes = [round(part["means"]["prompt_log_probability"], 2) for part in parts]
        assert changes == pytest.approx([level - levels[0] for level in levels[1:]], abs=0.011)
        assert round(parts[0]["correlations"]["prompt_log_probability"]["r"], 2) == r
    assert all(part["correlations"]["chrF"]["n"] == len(RELATIONS[language]) for part in parts)
