"""Datasets: lookup by name, and one-line errors."""

import errno
import json
import os
from importlib.resources import files
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from polyprobe.publish.install import install_dataset
from polyprobe.schema.columns import check, fingerprint, to_table
from polyprobe.schema.load import find_default, load_facts
from polyprobe.schema.run.rows import choose_rows
from polyprobe.system.messages import PolyprobeError, one_line
from tests.making.facts import CITIES, rows, write_facts
from tests.publish.push.folders import edit, small_dataset


def only(language, number, **changes):
    """Return a function that changes one row of one language."""

    def spoil(name, made):
        if name == language:
            made[number] = made[number]._replace(**changes)
        return made

    return spoil


SPOILED = {
    "no slot": (only("ru", 3, prompt="нет"), "the prompt must hold the slot [Y] exactly once"),
    "two slots": (
        only("ru", 3, prompt="[Y] [Y]"),
        "the prompt must hold the slot [Y] exactly once",
    ),
    "no prompt": (only("ru", 3, prompt=None), "the prompt must hold the slot [Y] exactly once"),
    "no candidates": (only("ru", 3, candidates=[]), "there are no candidates"),
    "empty candidate": (only("ru", 3, candidates=["Рим", " ", "a", "b"]), "a candidate is empty"),
    "invisible candidate": (
        only("ru", 3, candidates=["Рим", "\u200b", "a", "b"]),
        "a candidate is empty",
    ),
    "no list": (only("ru", 3, candidates=None), "a value is missing"),
    "null candidate": (only("ru", 3, candidates=["Рим", None, "a", "b"]), "a value is missing"),
    "null answer": (only("ru", 3, answers=[None]), "a value is missing"),
    "candidate twice": (
        only("ru", 3, candidates=["Рим", "Москва", "Рим", "Париж"]),
        "a candidate occurs twice",
    ),
    "no answer": (only("ru", 3, answers=[]), "there is no right answer"),
    "answer too large": (only("ru", 3, answers=[4]), "an answer is no index into the candidates"),
    "answer negative": (only("ru", 3, answers=[-1]), "an answer is no index into the candidates"),
    "other fact": (only("ru", 3, fact_id="P36:X"), "not parallel: the fact_id differs"),
    "other pool": (only("ru", 3, candidates=list("abcde")), "the number of candidates differs"),
    "other answer": (only("ru", 3, answers=[0]), "not parallel: the right answers differ"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_spoiled_rows_are_named_by_language_row_and_fact(name, tmp_path):
    spoil, problem = SPOILED[name]
    folder = write_facts(tmp_path / "facts", spoil)
    with pytest.raises(PolyprobeError) as error:
        load_facts(str(folder))
    message = str(error.value)
    fact = "P36:X" if name == "other fact" else rows("ru")[3].fact_id
    assert f"language 'ru', row 3 ({fact}): " in message
    assert problem in message
    assert "\n" not in message


@pytest.mark.parametrize(
    "rome", [" Rome", "Rome ", "Rome\u00a0", "\u200bRome", "Rome\n", "Rome\ufeff"]
)
def test_a_blank_at_an_end_of_a_candidate_in_rows_by_hand(rome, tmp_path):
    # With it, the second candidate would win in French: a model reads two blanks.
    rows = [("Paris", "Rome", "Oslo"), ("Lima", "Rome", "Oslo"), ("Paris", rome, "Oslo")]
    for language in ("en", "fr"):
        made = rows if language == "fr" else [*rows[:2], rows[0]]
        lines = [
            {"fact_id": f"P36:{n}", "relation": "P36", "prompt": f"{n}: [Y].",
             "candidates": candidates, "answers": [1]}
            for n, candidates in enumerate(made)
        ]  # fmt: skip
        (tmp_path / f"{language}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(PolyprobeError) as error:
        load_facts(str(tmp_path))
    problem = "a candidate begins or ends with a blank, which belongs to the prompt (1 such rows)"
    assert f"language 'fr', row 2 (P36:2): {problem}; correct the dataset" in str(error.value)


def repeat_fact(language, made):
    """Give row 7 the fact of row 3, which has the same subject and so the same prompt."""
    return [*made[:7], made[7]._replace(fact_id=made[3].fact_id)]


def test_a_row_that_repeats_a_fact_in_the_same_words_is_refused(tmp_path):
    with pytest.raises(PolyprobeError) as error:
        load_facts(str(write_facts(tmp_path / "facts", repeat_fact)))
    problem = "an earlier row has the same fact_id, template_id and prompt (1 such rows)"
    assert f"language 'en', row 7 (P36:C3:3): {problem}; correct the dataset" in str(error.value)


@pytest.mark.parametrize("change", [{"prompt": "[Y]?"}, {"template_id": "b"}, {"fact_id": "a"}])
def test_other_words_templates_and_facts_are_no_repetition(change, tmp_path):
    def spoil(language, made):
        made = repeat_fact(language, made)
        return [*made[:7], made[7]._replace(**change)]

    assert len(load_facts(str(write_facts(tmp_path / "facts", spoil)))["en"]) == 8


def test_repeated_rows_without_template_ids_and_with_the_flag_of_a_release():
    table = to_table(repeat_fact("en", rows("en")))
    with pytest.raises(PolyprobeError, match="row 7"):
        check({"en": table.drop_columns(["template_id"])}, "facts")
    empty = table.set_column(10, "template_id", pa.nulls(8))
    with pytest.raises(PolyprobeError, match="row 7"):
        check({"en": empty}, "facts")
    check({"en": table.slice(0, 0)}, "facts")
    released = pa.array([[]] * 7 + [["repeated_row"]], pa.list_(pa.string()))
    check({"en": table.append_column("flags", released)}, "facts")


def test_rows_that_are_missing_in_a_language(tmp_path):
    folder = write_facts(tmp_path / "facts", lambda name, made: made[: 8 if name == "en" else 7])
    with pytest.raises(PolyprobeError, match="'en' has 8 rows, 'ru' has 7"):
        load_facts(str(folder))
    assert len(load_facts(str(folder), languages=["ru", "zh_hans"])["ru"]) == 7


def test_facts_come_in_the_languages_asked_for(tmp_path):
    folder = str(write_facts(tmp_path / "facts"))
    assert list(load_facts(folder)) == list(CITIES)
    assert list(load_facts(folder, "small", ["ru", "en", "ru"])) == ["ru", "en"]
    assert load_facts(folder)["zh_hans"]["prompt"][0].as_py() == "法国的首都是[Y]。"


@pytest.mark.parametrize(
    ("config", "languages", "message"),
    [
        (None, ["en", "xx"], "unknown language 'xx' in {}; available: en, ru, zh_hans"),
        ("large", None, "unknown configuration 'large' in {}; available: small"),
    ],
)
def test_unknown_names_list_the_known(config, languages, message, tmp_path):
    folder = str(write_facts(tmp_path / "facts"))
    with pytest.raises(PolyprobeError) as error:
        load_facts(folder, config, languages)
    assert str(error.value) == message.format(folder)


def test_an_unknown_dataset_names_those_of_every_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    write_facts(tmp_path / "datasets" / "capitals")
    (tmp_path / "datasets" / "empty").mkdir()
    write_facts(tmp_path / "rivers")
    install_dataset(tmp_path / "rivers")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    datasets.load_dataset("parquet", data_files=str(tmp_path / "a.parquet"))
    here = {path.name for path in (tmp_path / "cache").iterdir() if path.is_dir()}
    assert {"parquet", "rivers"} <= here
    embedded = Path(str(files("polyprobe"))) / "datasets"
    known = {x.name for x in embedded.iterdir() if any(x.rglob("*.parquet"))}
    listed = ", ".join(sorted({"capitals", "rivers"} | known))
    assert "geofacts" in known
    for asked, guess in {
        "geofact": "did you mean 'geofacts'? ",
        "zzz": "",
        "river": "did you mean 'rivers'? ",
    }.items():
        with pytest.raises(PolyprobeError) as error:
            load_facts(asked, "default")
        said = f"no dataset '{asked}' here, under ./datasets or installed; "
        assert str(error.value).startswith(f"{said}{guess}available: {listed}; build it (")
    assert len(load_facts("rivers")["en"]) == 8
    with pytest.raises(PolyprobeError, match="on the Hub; build it"):
        load_facts("me/geofact")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("short\n  and plain.", "short and plain"),
        ("", "ValueError"),
        ("a" * 200, "a" * 200),
        (f"see {'a' * 190} https://x.y/z", f"see {'a' * 190} …"),
        (f"{'a' * 198} b c", f"{'a' * 198} …"),
        (f"{'a' * 199} b", f"{'a' * 199}…"),
        (f"{'a' * 300} b", f"{'a' * 199}…"),
    ],
)
def test_a_long_error_ends_behind_a_word(text, line):
    assert one_line(ValueError(text)) == line
    assert len(line) <= 200


def blank(content):
    return content[:300] + bytes(40) + content[340:]


@pytest.mark.parametrize(
    "damage", [lambda x: x[:200], blank, lambda x: b"PAR1" * 30, lambda x: b""]
)
def test_corrupt_parquet_is_named(damage, tmp_path):
    folder = write_facts(tmp_path / "facts")
    file = folder / "data" / "small" / "ru.parquet"
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(PolyprobeError) as error:
        load_facts(str(folder))
    assert str(error.value).startswith(f"{file} is not readable Parquet")


@pytest.mark.parametrize("number", [errno.EACCES, errno.ENOSPC, errno.EMFILE])
def test_an_error_of_the_machine_is_no_missing_dataset(number, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("datasets.load_dataset", fail)
    with pytest.raises(PolyprobeError, match=f"^me/facts: .*{os.strerror(number)}"):
        load_facts("me/facts")


def put(folder, column, values):
    for file in (folder / "data" / "small").glob("*.parquet"):
        table = pq.read_table(file)
        at = table.column_names.index(column)
        pq.write_table(table.set_column(at, column, pa.array([values] * len(table))), file)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("answers", 0, "'answers' is int64; expected lists of whole numbers"),
        ("answers", ["0"], "expected lists of whole numbers"),
        ("answers", [0.5], "expected lists of whole numbers"),
        ("candidates", "Paris", "'candidates' is string; expected lists of text"),
        ("candidates", [1, 2], "expected lists of text"),
        ("prompt", 1, "'prompt' is int64; expected text"),
        ("fact_id", 1, "'fact_id' is int64; expected text"),
    ],
)
def test_columns_of_another_type_are_named(column, values, message, tmp_path):
    folder = write_facts(tmp_path / "facts")
    put(folder, column, values)
    with pytest.raises(PolyprobeError) as error:
        load_facts(str(folder))
    assert str(error.value).startswith(f"{folder}: language 'en': column ")
    assert message in str(error.value)


def no_rows(folder):
    file = folder / "data" / "small" / "ru.parquet"
    pq.write_table(pq.read_table(file).slice(0, 0), file)


def other_type(folder):
    file = folder / "data" / "small" / "ru.parquet"
    table = pq.read_table(file).drop_columns(["answers"])
    pq.write_table(table.append_column("answers", pa.array([0] * len(table))), file)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (no_rows, "ru.parquet has no rows; build the dataset again"),
        (other_type, "Couldn't cast array of type int64 to List(Value('int32'))"),
        (lambda folder: (folder / "README.md").write_text("---\nconfigs: [\n---\n"), "flow node"),
        (
            lambda folder: edit(folder / "README.md", "data/small/ru.parquet", "/etc/passwd"),
            "are unsupported; correct the files that its card README.md names",
        ),
        (lambda folder: (folder / "facts.py").write_text(""), "scripts are no longer supported"),
    ],
)
def test_folders_that_cannot_be_loaded_end_in_one_line(spoil, message, tmp_path):
    folder = write_facts(tmp_path / "facts")
    spoil(folder)
    with pytest.raises(PolyprobeError) as error:
        load_facts(str(folder))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_fingerprint_changes_with_what_is_scored(tmp_path):
    tables = load_facts(str(write_facts(tmp_path / "a")))
    other = load_facts(str(write_facts(tmp_path / "b", only("ru", 3, prompt="x [Y]."))))
    subject = load_facts(str(write_facts(tmp_path / "c", only("ru", 3, subject="x"))))
    assert fingerprint(tables["en"]) == fingerprint(other["en"]) != fingerprint(tables["ru"])
    assert fingerprint(tables["ru"]) != fingerprint(other["ru"])
    assert fingerprint(tables["ru"]) == fingerprint(subject["ru"])


def test_sample_keeps_the_relations_shares_and_is_the_same_in_every_language(tmp_path):
    tables = load_facts(str(write_facts(tmp_path / "facts", copies=50)))
    for size in (1, 7, 40, 199):
        chosen = choose_rows(tables["en"], sample=size)
        assert len(set(chosen)) == size
        assert chosen == sorted(chosen) == choose_rows(tables["ru"], sample=size)
        relations = tables["en"]["relation"].take(chosen).to_pylist()
        assert abs(relations.count("P36") - size / 2) <= 1
    assert choose_rows(tables["en"], sample=500) == list(range(200))
    assert choose_rows(tables["en"], limit=3) == [0, 1, 2]


def test_sample_does_not_depend_on_the_order_of_rows(tmp_path):
    table = load_facts(str(write_facts(tmp_path / "facts", copies=50)))["en"]
    turned = table.take(list(range(len(table)))[::-1])
    ids = {table["fact_id"][k].as_py() for k in choose_rows(table, sample=20)}
    assert ids == {turned["fact_id"][k].as_py() for k in choose_rows(turned, sample=20)}


def test_a_larger_sample_holds_the_smaller(tmp_path):
    table = load_facts(str(write_facts(tmp_path / "facts", copies=50)))["en"]
    assert set(choose_rows(table, sample=20)) < set(choose_rows(table, sample=21))


def test_a_repaired_dataset_gives_the_published_facts(tmp_path):
    """By `published_row`, independently of new ids; removed rows change no other relation."""

    def repaired(language, made):
        made = [r._replace(published_row=r.fact_id, fact_id=f"new:{r.fact_id}") for r in made]
        return [row for row in made if row.published_row not in gone]

    published = load_facts(str(write_facts(tmp_path / "a", copies=50)))["en"]
    chosen = [published["fact_id"][k].as_py() for k in choose_rows(published, sample=20)]
    gone = [name for name in chosen if published_relation(published, name) == "P37"][:1]
    table = load_facts(str(write_facts(tmp_path / "b", repaired, copies=50)))["en"]
    again = [table["published_row"][k].as_py() for k in choose_rows(table, sample=20)]
    assert len(set(chosen) & set(again)) == 20 - 1


def published_relation(table, name):
    return table["relation"][table["fact_id"].to_pylist().index(name)].as_py()


# Folders without a card: files named by languages are the splits, all others are refused.

NEEDED = ("fact_id", "relation", "prompt", "candidates", "answers")


def write_jsonl(table: pa.Table, path: Path) -> None:
    lines = [json.dumps(row, ensure_ascii=False) for row in table.to_pylist()]
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")


WRITERS = {".parquet": pq.write_table, ".jsonl": write_jsonl}


def write_files(folder: Path, suffix: str, names=tuple(CITIES)) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for language, name in zip(CITIES, names, strict=False):
        WRITERS[suffix](to_table(rows(language)).select(NEEDED), folder / f"{name}{suffix}")
    return folder


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("card", [None, "# Facts\n", "---\nlicense: mit\n---\n# Facts\n"])
def test_files_named_by_languages_are_the_splits(suffix, card, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = write_files(tmp_path / "datasets" / "mine", suffix, ("en", "ru", "zh-hans"))
    if card:
        (folder / "README.md").write_text(card, encoding="utf-8")
    tables = load_facts("mine")
    assert list(tables) == ["en", "ru", "zh_hans"]
    for language, table in tables.items():
        expected = [{name: row._asdict()[name] for name in NEEDED} for row in rows(language)]
        assert table.select(NEEDED).to_pylist() == expected
    assert list(load_facts(str(folder), languages=["ru"])) == ["ru"]


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_card_names_the_files_of_any_format(suffix, tmp_path):
    folder = write_files(tmp_path / "mine", suffix, ("a", "b", "c"))
    lines = [f"  - split: {x}\n    path: {y}{suffix}\n" for x, y in zip(CITIES, "abc", strict=True)]
    card = "---\nconfigs:\n- config_name: default\n  data_files:\n" + "".join(lines) + "---\n"
    (folder / "README.md").write_text(card, encoding="utf-8")
    assert list(load_facts(str(folder))) == list(CITIES)


@pytest.mark.parametrize(
    "names",
    [("train",), ("facts",), ("en", "facts"), ("train", "test"), ("en", "test")],
    ids=" ".join,
)
def test_other_names_are_refused_in_one_line(names, tmp_path):
    folder = write_files(tmp_path / "mine", ".parquet", names)
    with pytest.raises(PolyprobeError, match=r"splits .* instead of one for each .* en\.parquet"):
        load_facts(str(folder))


def test_a_csv_has_no_lists(tmp_path):
    """Hence a CSV of rows is refused by its columns, not read as one language."""
    for language in ("en", "ru"):
        table = pa.table({name: ["[Y]"] for name in NEEDED})
        pyarrow.csv.write_csv(table, tmp_path / f"{language}.csv")
    with pytest.raises(PolyprobeError, match="language 'en': column 'candidates' is .*string;"):
        load_facts(str(tmp_path))


# A card that lists other files than its folder has is refused in one line.


def drop_split(folder):
    edit(folder / "README.md", "  - split: fr\n    path: data/default/fr.parquet\n", "")


def drop_configs(folder):
    edit(folder / "README.md", "configs:\n- config_name", "confids:\n- config_name")


def swap_paths(folder):
    card = folder / "README.md"
    for old, new in (("en.p", "EN.p"), ("fr.p", "en.p"), ("EN.p", "fr.p")):
        edit(card, f"path: data/default/{old}", f"path: data/default/{new}")


def break_yaml(folder):
    edit(folder / "README.md", "configs:", "configs")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (drop_split, "data/default/fr.parquet is in no configuration; build it again"),
        (drop_configs, "data/default/en.parquet is in no configuration; build it again"),
        (swap_paths, "default/en is data/default/fr.parquet, which is the file of another split"),
        (lambda folder: (folder / "data/default/fr.parquet").unlink(), "fr.parquet: no such file"),
        (break_yaml, "README.md: its YAML cannot be read"),
    ],
)
def test_a_card_and_its_files_disagree(spoil, message, tmp_path):
    folder = small_dataset(tmp_path / "small")
    assert [*load_facts(str(folder))] == ["en", "fr"]
    spoil(folder)
    for load in (load_facts, find_default):
        with pytest.raises(PolyprobeError, match=message) as caught:
            load(str(folder))
        assert "\n" not in str(caught.value)


def test_the_command_of_a_card_is_the_remedy(tmp_path):
    folder = small_dataset(tmp_path / "small")
    drop_split(folder)
    edit(
        folder / "README.md", "\n---\n", "\n---\n<!-- made by `polyprobe build small` from x -->\n"
    )
    with pytest.raises(PolyprobeError, match=r"build it again \(polyprobe build small\), or corr"):
        load_facts(str(folder))


@pytest.mark.parametrize(
    "files",
    [
        '  data_files: "data/default/*.parquet"',
        "  data_files:\n  - split: all\n    path: data/*/*.parquet",
        "  data_files:\n  - split: all\n    path:\n    - data/default/en.parquet\n"
        "    - data/default/fr.parquet",
    ],
)
def test_cards_written_by_hand_may_have_patterns(files, tmp_path):
    folder = small_dataset(tmp_path / "small")
    card = f"---\nconfigs:\n- config_name: default\n{files}\n---\n"
    (folder / "README.md").write_text(card, encoding="utf-8")
    assert find_default(str(folder)) == "default"
