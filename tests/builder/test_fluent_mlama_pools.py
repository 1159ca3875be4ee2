import csv
import hashlib
import io
import re
import zipfile
from ast import literal_eval
from pathlib import Path
from statistics import fmean

import pytest

from polyprobe.builder.build import build_dataset
from polyprobe.builder.recipes import RECIPES
from polyprobe.builder.recipes import fluent_mlama as fluent_mlama_pools
from polyprobe.builder.recipes.fluent_mlama import RELATIONS, build, make_questions
from polyprobe.builder.sources import fluent_mlama
from polyprobe.builder.sources.fluent_mlama import ARCHIVE
from polyprobe.system.download import read_files
from tests.builder.tiny_fluent_mlama import mirror, place_of
from tests.conftest import UPSTREAM

__all__ = ["mirror"]

LOGS = UPSTREAM.parent / "oracles" / "fluent-mlama-logs.zip"
WIDE_LOGS = LOGS.with_name("fluent-mlama-wide-logs.zip")
CONFIGS = RECIPES["fluent-mlama"].configs
CARD = Path(__file__).parents[2] / "datasets" / "fluent-mlama" / "README.md"


def named(rows):
    return {row.subject: row for row in rows}


def number(name):
    return int(hashlib.sha256(name.encode()).hexdigest(), 16)


def test_wordings_of_a_language_differ_in_their_prompts_alone(mirror):
    wordings = [build(f"uk{wording}", mirror)["uk"] for wording in ("", "-sentence", "-chatgpt")]
    for rows in zip(*wordings, strict=True):
        assert len({row.prompt for row in rows}) == 3
        assert len({row.template_id for row in rows}) == 3
        same = [row._replace(prompt="", template_id="") for row in rows]
        assert same[0] == same[1] == same[2]


def test_in_wide_the_aliases_are_correct_and_the_distractors_the_same(mirror):
    for language, wordings in (("da", ("", "-sentence")), ("uk", ("", "-sentence", "-chatgpt"))):
        for wording in wordings:
            narrow, wide = (
                build(f"{language}{wording}{width}", mirror)[language] for width in ("", "-wide")
            )
            for row, other in zip(narrow, wide, strict=True):
                assert {*other.candidates} - {*other.answer_forms} == (
                    {*row.candidates} - {*row.answer_forms}
                )
                assert {other.candidates[k] for k in other.answers} == {*other.answer_forms}
                assert (row.prompt, row.fact_id) == (other.prompt, other.fact_id)
    rows = named(build("da-wide", mirror)["da"])
    assert rows["Oslo"].answer_forms == ["Norge", "Noreg", "Norway"]
    assert rows["Lima"].answer_forms == ["Peru", "Perus", "Piruw"]  # an alias may be the label


def test_configurations_with_aliases_are_built_by_name(mirror, tmp_path):
    folder = build_dataset("fluent-mlama", ["da-wide"], mirror, tmp_path / "out")
    assert (folder / "data" / "da-wide" / "da.parquet").exists()
    assert not [name for name in CONFIGS if name.endswith("-wide")]


def test_ids_are_the_strings_digests(mirror):
    for row in build("da", mirror)["da"]:
        digests = [hashlib.sha256(name.encode()).hexdigest() for name in row.candidates]
        assert row.candidate_ids == [digest[:16] for digest in digests]


@pytest.mark.parametrize(("start", "kept"), [(" Kie ", True), (" Ki ", False)])
def test_a_prompt_of_exactly_a_third_stays(start, kept):
    row = place_of("Kiel", "Kysten", "Kyst", start)
    row["template_prompt"] = "Kiel ligger ved "[:15]
    record = fluent_mlama.Record("da", "P36", **row)
    assert fluent_mlama_pools.has_length(record) == kept
    both = record._replace(chatgpt_prompt="five ", template_prompt="a template of 25 letters ")
    assert fluent_mlama_pools.has_length(both) == kept  # 30 / 6


def test_the_dataset_is_built_and_its_card_written(mirror, tmp_path):
    folder = build_dataset("fluent-mlama", ["da", "da-sentence"], mirror, tmp_path / "out")
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.*"))
    data = ["data/da-sentence/da.parquet", "data/da/da.parquet"]
    assert files == ["README.md", *data, "eval.yaml"]
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "| `da-sentence` | 1 | 3 | 1 | 9.67 | 9 | 10 |" in card


# What is released: the archive's own text, and the authors' logs of LLaMA-2's ranks.

# Table 4 of the paper: facts before the filter by length, in the order of RELATIONS. Its LaTeX is
# in the authors' repository (tables/relation_table_all.tex at 9b8548c).
TABLE_4 = {
    "cs": (396, 458, 51, 246, 214, 240, 248, 418, 453, 181, 355, 99, 54, 205, 256),
    "da": (737, 92, 259, 597, 439, 228, 342, 233),
    "es": (882, 149, 483, 919, 647, 394, 702, 782),
    "hr": (226, 231, 18, 84, 174, 84, 103, 158, 294, 64, 163, 39, 102, 81, 88),
    "id": (334, 52, 221, 194, 428, 183, 287, 160),
    "ru": (605, 736, 91, 402, 217, 450, 493, 679, 614, 373, 583, 242, 151, 414, 416),
    "uk": (396, 445, 52, 258, 216, 303, 193, 342, 617, 212, 404, 96, 130, 240, 214),
    "vi": (269, 46, 93, 86, 361, 71, 193, 78),
    "zh": (554, 162, 465, 272, 538, 319, 223, 275),
}
FEWER = {("cs", "P740"): 1}  # the release has 255 facts
LOGGED = ("da", "ru", "uk", "vi", "zh")
KINDS = {"": "template", "-sentence": "gt", "-chatgpt": "chatgpt"}
# SPEC section 4: recall@1 and mean rank by language and wording.
CELLS = {
    "ru": (0.512, 4.91), "ru-sentence": (0.586, 3.95), "ru-chatgpt": (0.545, 4.65),
    "uk": (0.488, 5.12), "uk-sentence": (0.525, 4.43), "uk-chatgpt": (0.492, 5.00),
    "zh": (0.020, 19.98), "zh-sentence": (0.059, 15.68),
    "vi": (0.587, 4.10), "vi-sentence": (0.765, 2.59),
    "da": (0.568, 4.16), "da-sentence": (0.640, 3.84),
}  # fmt: skip
INFLECTED = ("P101", "P1376", "P159", "P19", "P20", "P407", "P495", "P740")
DELTAS = {"ru": 5.80, "ru-sentence": 8.59, "ru-chatgpt": 7.54,
          "uk": 7.86, "uk-sentence": 9.02, "uk-chatgpt": 9.07}  # fmt: skip


@pytest.fixture(scope="module")
def whole(upstream, tmp_path_factory):
    """The folder built from the real archive, and {configuration: rows} as they were written."""
    make_questions.cache_clear()
    made = {}

    def watch(config, mirror):
        tables = build(config, mirror)
        [made[config]] = tables.values()
        return tables

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fluent_mlama_pools, "build", watch)
        folder = tmp_path_factory.mktemp("whole") / "fluent-mlama"
        return build_dataset("fluent-mlama", (), upstream, folder), made


@pytest.fixture(scope="module")
def rows(whole):
    return whole[1]


@pytest.fixture(scope="module")
def released(upstream):
    """{(language, relation): rows} as in the TSVs."""
    [content] = read_files(fluent_mlama.REPOSITORY, [ARCHIVE], upstream)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {
            (language, relation): read_tsv(archive, f"fixed_data/{language}_{relation}_")
            for language, relations in RELATIONS.items()
            for relation in relations
        }


@pytest.fixture(scope="module")
def logs():
    return read_logs(LOGS, "stats", LOGGED)


def read_logs(file, folder, languages):
    """Return {(language, fact_id): row} of all relations used."""
    if not file.is_file():
        pytest.skip(f"needs the papers' result logs in {file.parent}")
    with zipfile.ZipFile(file) as archive:
        return {
            (language, f"{relation}:{row['sub_uri']}:{row['obj_uri']}"): row
            for language in languages
            for relation in RELATIONS[language]
            for row in read_tsv(archive, f"{folder}/{language}_{relation}_")
        }


def read_tsv(archive, beginning):
    [name] = [name for name in archive.namelist() if name.startswith(beginning)]
    with io.TextIOWrapper(archive.open(name), encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


def is_long(row):
    others = [row["template_prompt"], *filter(None, [row.get("chatgpt_prompt")])]
    return len(row["gt_prompt"]) >= sum(map(len, others)) / (3 * len(others))


def letters(text):
    """A text without spaces, line breaks, soft hyphens and direction marks."""
    return re.sub(r"[\s\u200b\u200f\u00ad]", "", text)


@pytest.mark.acceptance
def test_rows_and_right_forms_are_those_of_the_logs(rows, logs):
    for language in LOGGED:
        built = {row.fact_id: row for row in rows[language]}
        logged = {fact: row for (x, fact), row in logs.items() if x == language and is_long(row)}
        assert built.keys() == logged.keys()
        assert len(built) == len(rows[language])
        for fact, row in logged.items():
            assert set(built[fact].answer_forms) == set(literal_eval(row["gt_true_ranks"]))
            assert built[fact].answer_forms[0] == row["obj_label"]


@pytest.mark.parametrize("config", CELLS)
@pytest.mark.acceptance
def test_logged_ranks_of_these_rows_give_the_published_cells(rows, logs, config):
    ranks = read_ranks(rows, logs, config)
    best = {relation: [min(r.values()) for r in part] for relation, part in ranks.items()}
    recall = fmean(fmean(rank == 1 for rank in part) for part in best.values())
    assert (round(recall, 3), round(fmean(map(fmean, best.values())), 2)) == CELLS[config]


# SPEC-2, M7b: recall@1 and mean rank of templates, Google's and ChatGPT's sentences (table 7).
WIDE_CELLS = {
    "ru": ((0.570, 3.79), (0.633, 3.27), (0.590, 3.76)),
    "uk": ((0.539, 4.04), (0.583, 3.52), (0.540, 4.01)),
}


@pytest.mark.parametrize("language", WIDE_CELLS)
@pytest.mark.acceptance
def test_wide_rows_fit_the_wide_logs(upstream, language):
    """Rows and correct names are those of the logs, and the logged ranks give table 7."""
    logged, cells = read_logs(WIDE_LOGS, "stats_wide", [language]), []
    for wording, kind in KINDS.items():
        best = {}
        built = build(f"{language}{wording}-wide", upstream)[language]
        assert {row.fact_id for row in built} == {f for (_, f), r in logged.items() if is_long(r)}
        for row in built:
            ranks = literal_eval(logged[language, row.fact_id][f"{kind}_true_ranks"])
            assert {*map(letters, ranks)} == {*map(letters, row.answer_forms)}
            assert max(ranks.values()) <= len(row.candidates) <= len(row.answers) + 50
            best.setdefault(row.relation, []).append(min(ranks.values()))
        recall = fmean(fmean(rank == 1 for rank in part) for part in best.values())
        cells.append((round(recall, 3), round(fmean(map(fmean, best.values())), 2)))
    assert tuple(cells) == WIDE_CELLS[language]


@pytest.mark.parametrize("config", DELTAS)
@pytest.mark.acceptance
def test_logged_ranks_of_label_and_form_give_the_published_deltas(rows, logs, config):
    """The first of `answer_forms` is the label; exchanging the two would change the sign."""
    deltas = {relation: [] for relation in INFLECTED}
    for relation, part in read_ranks(rows, logs, config).items():
        for ranks in part:
            if relation in deltas and len(ranks) == 2:
                label, form = ranks.values()
                deltas[relation].append(label - form)
    assert round(fmean(map(fmean, deltas.values())), 2) == DELTAS[config]


def read_ranks(rows, logs, config):
    """{relation: {form: logged rank} of each row}, in the order of `answer_forms`."""
    language, _, wording = config.partition("-")
    kind = KINDS[wording and f"-{wording}"]
    found = {}
    for row in rows[config]:
        logged = literal_eval(logs[language, row.fact_id][f"{kind}_true_ranks"])
        ranks = {form: logged[form] for form in row.answer_forms}
        assert max(ranks.values()) <= len(row.candidates)  # no pool is smaller than the authors'
        found.setdefault(row.relation, []).append(ranks)
    return found


@pytest.mark.acceptance
def test_relations_have_as_many_facts_as_the_papers_table(rows, released):
    """The filter by length removes 225 more facts."""
    for language, relations in RELATIONS.items():
        for relation, size in zip(relations, TABLE_4[language], strict=True):
            found = [row for row in released[language, relation] if is_whole(row)]
            assert len(found) == size - FEWER.get((language, relation), 0)
            kept = [row for row in rows[language] if row.relation == relation]
            assert len(kept) == sum(map(is_long, found))
    whole = [row for part in released.values() for row in part if is_whole(row)]
    assert (len(whole), sum(map(is_long, whole))) == (30_115, 29_890)
    assert {language: len(rows[language]) for language in ("cs", "hr", "ru", "uk")} == {
        "cs": 3831, "hr": 1897, "ru": 6365, "uk": 4067,
    }  # fmt: skip


def is_whole(row):
    if "chatgpt_prompt" not in row:
        return row["gt_prompt"] not in ("", "ERROR")
    texts = [
        row[f"{kind}_{part}"] for kind in ("gt", "chatgpt") for part in ("prompt", "infl_object")
    ]
    return not {"", "ERROR"} & set(texts)


@pytest.mark.acceptance
def test_candidates_are_the_smallest_digests_of_the_pool(rows, released):
    """The same from the released text, with invisible characters."""
    for (language, relation), part in released.items():
        whole = list(filter(is_whole, part))
        pool = sorted(set().union(*map(names, whole)), key=number)
        kept = [row for row in rows[language] if row.relation == relation]
        for row, text in zip(kept, filter(is_long, whole), strict=True):
            own = names(text)
            distractors = [name for name in pool if name not in own][:50]
            assert sorted(row.candidates) == sorted([*forms(text), *distractors])


def forms(row):
    fields = ("obj_label", "gt_infl_object", "chatgpt_infl_object")
    return {row[field] for field in fields if row.get(field)}


def names(row):
    return forms(row) | set(row["aliases"].split("|||")) - {""}


@pytest.mark.acceptance
def test_prompts_are_the_released_ones(rows, released):
    columns = {"": "template_prompt", "-sentence": "gt_prompt", "-chatgpt": "chatgpt_prompt"}
    for config in CONFIGS:
        language, dash, wording = config.partition("-")
        texts = [
            row[columns[dash + wording]]
            for relation in RELATIONS[language]
            for row in filter(is_long, filter(is_whole, released[language, relation]))
        ]
        differ = [
            (row.prompt, text)
            for row, text in zip(rows[config], texts, strict=True)
            if row.prompt != f"{text}[Y]"
        ]
        cleaned = ("hr", "hr-chatgpt", "ru", "ru-sentence", "ru-chatgpt", "uk-chatgpt")
        assert len(differ) == (config in cleaned)
        assert all(letters(prompt) == f"{letters(text)}[Y]" for prompt, text in differ)


@pytest.mark.parametrize("language", RELATIONS)
@pytest.mark.acceptance
def test_the_place_of_the_right_answer_tells_nothing(rows, language):
    """Positions, from 0 to 1, are uniformly distributed: mean 1/2, variance 1/12 by row."""
    places = [row.answers[0] / (len(row.candidates) - 1) for row in rows[language]
              if len(row.answers) == 1]  # fmt: skip
    assert abs(fmean(places) - 0.5) < 4 * (12 * len(places)) ** -0.5


@pytest.mark.acceptance
def test_the_committed_card_is_the_generated_one(whole):
    folder, made = whole
    assert [*made] == [*CONFIGS]
    assert CARD.read_text(encoding="utf-8") == (folder / "README.md").read_text(encoding="utf-8")
