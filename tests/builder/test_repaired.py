"""The repaired configurations, compared with the released files and sources independently."""

import csv
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from collections import Counter, defaultdict

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.bmlama_audit import AuditLine, summarize_audit
from polyprobe.builder.audit import audit_tables
from polyprobe.builder.audit.checks import CHECKS
from polyprobe.builder.build import build_dataset
from polyprobe.builder.facts.labels import mend, simplify
from polyprobe.builder.facts.truths import learn
from polyprobe.builder.recipes import bmlama as recipe
from polyprobe.builder.recipes import choose_configs
from polyprobe.builder.recipes.bmlama import (
    READING,
    SECOND,
    VERDICTS,
    read_audit,
    write_traditional,
)
from polyprobe.builder.sources import curated as readers
from polyprobe.builder.sources import mpararel, xfactr
from polyprobe.builder.sources.bmlama import NAMES, PUBLISHED
from polyprobe.metrics.shared.floors import answer_frequency
from polyprobe.schema.columns import REPAIRED, Row, to_table

pytestmark = pytest.mark.slow

KEPT = {"17": 6792 - 5, "53": 3070 - 28}
CHANGED = {"parallel", "subject", "subject_removed", "second_answer", "second_answer_removed",
           "duplicate_label", "filled", "label", "drawn_again"}  # fmt: skip
TEXTS = {"invisible_characters", "mixed_alphabets", "simplified", "label", "template"}
TEXT_FIELDS = ["subject", "prompt", "candidates", "answer_forms"]
FIRST = ("17-repaired-1", "53-repaired-1")
# SHA-256 of the candidates' ids in the first version, and the numbers of rows drawn again
FIRST_IDS = {
    "17": "9a14e689c6c94192bd8b46ba438cdb3c0bdfa8eb5dce70d336f4efb9f7950ed8",
    "53": "117441b68b47cd5070a2c44a06f91b369d0102cbb24519a1996be5fe665b38e0",
}
DRAWN = {"17": 5990, "53": 2790}


@pytest.fixture(scope="module")
def tables(bmlama):
    """{configuration: {language: columns}}, read from the files."""
    return {
        folder.name: {p.stem: pq.read_table(p).to_pydict() for p in sorted(folder.iterdir())}
        for folder in sorted((bmlama / "data").iterdir())
    }


@pytest.fixture(scope="module")
def first(upstream):
    """The first version of the repaired configurations: {configuration: {language: columns}}."""
    return {
        config: {x: table.to_pydict() for x, table in recipe.build(config, upstream).items()}
        for config in choose_configs("bmlama", FIRST)
    }


@pytest.fixture(scope="module")
def tuples(upstream):
    """mParaRel's English facts in the archive, read with the standard library."""
    with zipfile.ZipFile(upstream / mpararel.REPOSITORY.archive) as archive:
        return [
            (name.rpartition("/")[2].removesuffix(".jsonl"), json.loads(line))
            for name in archive.namelist()
            if "/tuples/en/P" in name
            for line in archive.read(name).decode("utf-8").splitlines()
        ]


@pytest.mark.parametrize("config", PUBLISHED)
def test_the_first_version_is_kept_and_the_second_differs_in_its_distractors(tables, first, config):
    old, new = first[f"{config}-repaired-1"], tables[f"{config}-repaired"]
    ids = json.dumps(old["en"]["candidate_ids"]).encode()
    assert hashlib.sha256(ids).hexdigest() == FIRST_IDS[config]
    for language, columns in new.items():
        drawn = 0
        for row, codes in enumerate(columns["repairs"]):
            before, after = (part[language]["candidate_ids"][row] for part in (old, new))
            assert len(before) == len(after)
            ours = {*old[language]["repairs"][row]} ^ {*codes}
            assert ours <= {"drawn_again", "label"}  # other candidates have other damaged labels
            assert ("drawn_again" in codes) == (set(before) != set(after))
            drawn += "drawn_again" in codes
        same = ("fact_id", "subject", "prompt", "answers", "answer_forms", "flags")
        assert all(old[language][name] == columns[name] for name in same)
    assert drawn == DRAWN[config]


@pytest.mark.parametrize(
    ("config", "expected"),
    [("17", 0.339), ("17-repaired-1", 0.396), ("17-repaired", 0.272),
     ("53", 0.315), ("53-repaired-1", 0.389), ("53-repaired", 0.27)],
)  # fmt: skip
def test_frequent_answers_are_guessed_less_often(tables, first, config, expected):
    """The figures before the second draw are those of a reviewer's own code."""
    table = {**tables, **first}[config]["en"]
    names = table["candidate_ids" if "repaired" in config else "candidates"]
    found = answer_frequency(table["relation"], table["fact_id"], names, table["answers"])
    assert found.mean().round(3) == expected
    if config == "17-repaired":
        values = {relation: [] for relation in table["relation"]}
        for relation, value in zip(table["relation"], found, strict=True):
            values[relation].append(value)
        means = sorted(
            ((sum(x) / len(x), relation) for relation, x in values.items()), reverse=True
        )
        assert [(relation, round(mean, 2)) for mean, relation in means[:4]] == [
            ("P264", 0.95), ("P413", 0.95), ("P39", 0.92), ("P463", 0.89)
        ]  # fmt: skip
        assert means[4][0] < 0.6


def test_flags_are_parallel_and_are_those_of_a_regular_expression(tables):
    """Latin and Cyrillic: 7.2% of the rows in English; 876 rows in one of 17 languages."""
    table = tables["17-repaired"]
    english = table["en"]
    expected = {
        row
        for language in ("en", "fr", "ru", "vi")
        for row, (subject, names, [place]) in enumerate(
            zip(*(table[language][x] for x in ("subject", "candidates", "answers")), strict=True)
        )
        if re.search(rf"(?<!\w){re.escape(names[place].casefold())}(?!\w)", subject.casefold())
    }
    flagged = {i for i, flags in enumerate(english["flags"]) if "answer_in_subject" in flags}
    assert expected <= flagged
    assert len(flagged) == 876
    assert all(columns["flags"] == english["flags"] for columns in table.values())
    for relation, flags in zip(english["relation"], english["flags"], strict=True):
        assert ("second_answers" in flags) == (relation == "P530")


def published_rows(tables, config):
    """Yield (index in the published table, index in the repaired one)."""
    for index, row in enumerate(tables[f"{config}-repaired"]["en"]["published_row"]):
        number = int(row.removeprefix(f"{config}:"))
        yield number - 1, index


@pytest.mark.parametrize("config", PUBLISHED)
def test_rows_are_kept_in_their_order(tables, config):
    published, repaired = tables[config], tables[f"{config}-repaired"]
    assert list(published) == list(repaired)
    rows = repaired["en"]["published_row"]
    assert len(set(rows)) == len(rows) == KEPT[config]
    assert rows == sorted(rows)
    assert set(rows) <= set(published["en"]["fact_id"])
    assert len(set(repaired["en"]["fact_id"])) == len(rows)
    shared = ("fact_id", "relation", "subject_id", "object_id", "candidate_ids", "answers")
    for columns in repaired.values():
        assert all(columns[name] == repaired["en"][name] for name in shared)


@pytest.mark.parametrize(("config", "unique"), [("17", 6534), ("53", 2988 - 2)])
def test_ids_are_those_of_the_english_labels_where_these_are_enough(tables, tuples, config, unique):
    """The vote of all languages compared with English only, on the rows counted in FINDINGS."""
    found = defaultdict(set)
    for relation, fact in tuples:
        found[relation, fact["sub_label"], fact["obj_label"]].add(
            (fact["sub_uri"], fact["obj_uri"])
        )
    english, repaired = tables[config]["en"], tables[f"{config}-repaired"]["en"]
    agree = dropped = 0
    linked = dict(published_rows(tables, config))
    for old, forms in enumerate(english["answer_forms"]):
        ids = found[english["relation"][old], english["subject"][old], forms[0]]
        if len(ids) == 1:
            new = linked.get(old)
            dropped += new is None
            agree += new is not None and ids == {
                (repaired["subject_id"][new], repaired["object_id"][new])
            }
    assert agree + dropped == unique
    assert dropped <= len(english["fact_id"]) - KEPT[config]


@pytest.mark.parametrize("config", PUBLISHED)
def test_candidates_bear_published_labels_or_those_of_mpararel_or_ours(tables, upstream, config):
    published, repaired = tables[config], tables[f"{config}-repaired"]
    known = mpararel.read_facts(upstream, list(published)).labels
    spelled = {(language, name): label for language, name, label in known.iter_rows()}
    sources = Counter()
    for language, columns in repaired.items():
        answers = {}
        for old, new in published_rows(tables, config):
            key = columns["relation"][new], columns["object_id"][new]
            [form] = published[language]["answer_forms"][old]
            if columns["answer_forms"][new] != [mend(form, language)]:  # restored
                assert "label" in columns["repairs"][new]
                [form] = columns["answer_forms"][new]
                ours = NAMES.get((language, key[1]))
                assert form == (ours or mend(spelled[language, key[1]], language))
            assert answers.setdefault(key, mend(form, language)) == mend(form, language)
        for relation, ids, labels in zip(
            columns["relation"], columns["candidate_ids"], columns["candidates"], strict=True
        ):
            for name, label in zip(ids, labels, strict=True):
                answer = answers.get((relation, name)) or NAMES.get((language, name))
                sources[answer is not None] += 1
                assert label == (answer or mend(spelled[language, name], language))
    assert sources[True] > 50 * sources[False] > 0


@pytest.mark.parametrize("config", PUBLISHED)
def test_no_distractor_is_true_by_mpararels_english_facts(tables, tuples, config):
    true = defaultdict(set)
    for relation, fact in tuples:
        true[relation, fact["sub_uri"]].add(fact["obj_uri"])
        if relation in ("P530", "P190", "P47"):
            true[relation, fact["obj_uri"]].add(fact["sub_uri"])
    columns = tables[f"{config}-repaired"]["en"]
    for relation, subject, answer, ids in zip(
        *(columns[name] for name in ("relation", "subject_id", "object_id", "candidate_ids")),
        strict=True,
    ):
        assert answer in true[relation, subject] or relation == "P407"
        assert not set(ids) & ((true[relation, subject] | {subject}) - {answer})


@pytest.mark.parametrize("config", PUBLISHED)
def test_what_no_code_tells_of_is_as_published(tables, config):
    unchanged = 0
    for language, columns in tables[f"{config}-repaired"].items():
        published = tables[config][language]
        for old, new in published_rows(tables, config):
            codes = set(columns["repairs"][new])
            before = [mend(label, language) for label in published["candidates"][old]]
            answer = columns["answers"][new][0]
            after = list(columns["candidates"][new])
            assert columns["answer_forms"][new] == [after[answer]]
            assert "label" in codes or before[-1] == after[answer]
            assert ("answer_moved" in codes) == (answer != len(after) - 1)
            after.append(after.pop(answer))
            if not codes & CHANGED:
                assert after == before
                unchanged += 1
            subject = mend(published["subject"][old], language)
            assert "label" in codes or columns["subject"][new] == subject
            if not codes & {"template", "label"}:
                assert columns["prompt"][new] == mend(published["prompt"][old], language)
            if not codes & TEXTS:
                assert columns["prompt"][new] == published["prompt"][old]
            if "second_answer" in codes or "filled" in codes:
                assert after != before
            assert columns["prompt"][new].count("[Y]") == 1
    assert unchanged > 0


@pytest.mark.parametrize(("config", "rows"), [("17", 5_725), ("53", 2_338)])
def test_chinese_is_in_one_script(tables, config, rows):
    """A character of Big5 that GB 2312 lacks is traditional, or rare as well as simplified."""
    rare = set("窣")
    repaired, published = (tables[name]["zh"] for name in (f"{config}-repaired", config))
    assert not set().union(*find_traditional(repaired)) - rare
    assert sum(map(bool, find_traditional(published))) == rows


def find_traditional(columns):
    """Return the traditional characters of each row: those of Big5 that GB 2312 lacks."""
    texts = zip(columns["prompt"], columns["candidates"], strict=True)
    rows = [{c for c in "".join([prompt, *labels]) if c >= "\u4e00"} for prompt, labels in texts]
    return [{c for c in row if encodes(c, "big5") and not encodes(c, "gb2312")} for row in rows]


def encodes(character, encoding):
    return bool(character.encode(encoding, "ignore"))


@pytest.mark.parametrize("config", PUBLISHED)
def test_answers_and_candidates_stay_parallel_for_who_ignores_the_ids(bmlama, config):
    """The dictionary that finds errors in the published files finds none in these."""
    tables = {}
    for path in sorted((bmlama / "data" / f"{config}-repaired").iterdir()):
        table = pq.read_table(path)
        place = table.schema.get_field_index("candidate_ids")
        empty = pa.array([[]] * len(table), table.schema.field(place).type)
        tables[path.stem] = table.set_column(place, "candidate_ids", empty)
    audit = audit_tables(tables, "x")
    assert audit.rows_with_ids == 0
    assert audit.rows_parallel_in_all == audit.rows == KEPT[config]
    assert set(audit.ceiling.random.values()) == {1.0}


@pytest.mark.acceptance
@pytest.mark.parametrize("config", [*PUBLISHED, *(f"{name}-repaired" for name in PUBLISHED)])
def test_the_cards_audit_is_what_the_audit_finds(bmlama, config):
    paths = sorted((bmlama / "data" / config).iterdir())
    audit = audit_tables({p.stem: pq.read_table(p) for p in paths}, f"bmlama/{config}")
    found = summarize_audit(config, audit)
    expected = read_audit().filter(config=config)
    assert found == list(map(AuditLine._make, expected.iter_rows()))
    if config in PUBLISHED:
        return
    for line in found:
        assert (line.rows_not_parallel_to_en, line.rows_with_second_answer) == (0, 0)
        assert (line.rows_with_duplicate_labels, line.rows_with_invisible_characters) == (0, 0)
        assert line.answer_position_p_value > 0.01
    assert set(audit.ceiling.random.values()) | set(audit.ceiling.answer_first.values()) == {1.0}
    assert not any(own[x] for own in audit.languages.values()
                   for x in CHECKS if x != "rows_with_shared_prompt")  # fmt: skip


@pytest.mark.parametrize("config", ["17-repaired", "53-repaired"])
def test_traditional_rows_are_those_of_the_simplified_ones(tables, config):
    """Candidates stay different, and OpenCC leads back to nearly all texts."""
    table = pa.table(tables[config]["zh"], schema=REPAIRED)
    others = to_table(write_traditional([Row(**row) for row in table.to_pylist()]))
    assert others.drop_columns(TEXT_FIELDS) == table.drop_columns(TEXT_FIELDS)
    changed = back = total = 0
    for row, other in zip(table.to_pylist(), others.to_pylist(), strict=True):
        assert len(set(other["candidates"])) == len(row["candidates"]), row["fact_id"]
        for name in ("subject", "prompt"):
            changed += row[name] != other[name]
            back += simplify(other[name], "zh") == row[name]
            total += 1
    assert changed > 0.5 * total
    assert back > 0.98 * total


def test_verdicts_are_on_the_hundred_candidates_that_the_hash_draws(tables, first):
    verdicts = defaultdict(list)
    text = VERDICTS.read_text(encoding="utf-8")
    for row in csv.DictReader(io.StringIO(text)):
        verdicts[row["language"]].append((row["published_row"], row["candidate_id"]))
        assert row["verdict"] in ("right", "wrong")
        assert row["reason"].isascii()
    assert set(verdicts) == {"ru", "el", "ja", "zh", "ar", "fr"}
    for language, judged in verdicts.items():
        repaired, offered = first["17-repaired-1"][language], tables["17"][language]["candidates"]
        new = [
            (repaired["published_row"][index], name)
            for old, index in published_rows(tables, "17")
            for name, label in zip(
                repaired["candidate_ids"][index], repaired["candidates"][index], strict=True
            )
            if label not in {*offered[old], *(simplify(text, language) for text in offered[old])}
            and (language, name) not in NAMES
        ]
        key = {
            (row, name): hashlib.sha256(f"{language}|{row}|{name}".encode()).hexdigest()
            for row, name in new
        }
        assert judged == sorted(new, key=key.get)[:100]


def test_twelve_languages_were_read_and_at_most_a_tenth_is_ungrammatical(tables, bmlama):
    """The rows have no flag; the card has the counts of the committed verdicts."""
    lines = list(csv.DictReader(io.StringIO(READING.read_text(encoding="utf-8"))))
    judged = defaultdict(dict)
    for line in lines:
        judged[line["language"]][line["published_row"]] = line["verdict"]
        assert bool(line["reason"]) == (line["verdict"] != "good")
    assert len(lines) == sum(map(len, judged.values())) == 12 * 120
    english = tables["53-repaired"]["en"]
    rows = dict(zip(english["published_row"], english["flags"], strict=True))
    card = (bmlama / "README.md").read_text(encoding="utf-8")
    for language, verdicts in judged.items():
        assert len(verdicts) == 120
        assert not any(rows[row] for row in verdicts)
        wrong = Counter(verdicts.values())["ungrammatical"]
        assert wrong <= 12
        assert re.search(
            rf"^\| {language} \| 120 \| {wrong} \| {wrong / 120:.1%}, ", card, re.MULTILINE
        )


def test_entries_are_the_same_rows_in_one_form(tables, upstream, tmp_path):
    config = "17-repaired-entries"
    folder = build_dataset("bmlama", [config], upstream, tmp_path / "bmlama")
    form = re.compile(r"^(.+?) ?[(（]([^()（）]+?) ?[:：] ?\[Y\][)）][.。]$", re.DOTALL)
    paths = sorted((folder / "data" / config).iterdir())
    assert len(paths) == 17
    for path in paths:
        found, before = pq.read_table(path).to_pydict(), tables["17-repaired"][path.stem]
        kept = [n for n, x in enumerate(before["relation"]) if x not in ("P361", "P530", "P1376")]
        assert len(kept) == len(found["prompt"]) == 5310
        for name in ("fact_id", "candidates", "candidate_ids", "answers", "subject", "flags"):
            assert found[name] == [before[name][row] for row in kept]
        nouns = defaultdict(set)
        for relation, subject, prompt in zip(
            *(found[name] for name in ("relation", "subject", "prompt")), strict=True
        ):
            assert prompt.startswith(subject)
            _, noun = form.fullmatch(prompt[len(subject) - 1 :]).groups()
            nouns[relation].add(noun)
        assert (len(nouns), {len(x) for x in nouns.values()}) == (38, {1})


def test_the_card_has_the_shares_of_entries(bmlama, tables):
    """Counted with plain loops over the files; a colon in the subject's label does not count."""
    card = (bmlama / "README.md").read_text(encoding="utf-8")
    part = card.partition("## Form of the sentences")[2].partition("\n## ")[0]
    lines = {x.split("`")[1]: x for x in part.splitlines() if re.match(r"\| `\w+` \| [\d–]", x)}
    assert len(lines) == 53
    for language, line in lines.items():
        cells = ["–"] * 4
        for place, config in ((0, "17-repaired"), (2, "53-repaired")):
            if language not in tables[config]:
                continue
            columns = tables[config][language]
            rows = [row for row, flags in enumerate(columns["flags"]) if not flags]
            ours = entries = 0
            for row in rows:
                prompt, subject = columns["prompt"][row], columns["subject"][row]
                head = prompt.replace(subject, "")[: prompt.replace(subject, "").index("[Y]")]
                ours += columns["template_id"][row][:10] == "polyprobe:"
                entries += any(mark in head for mark in ":：՝")
            cells[place : place + 2] = f"{ours / len(rows):.2f}", f"{entries / len(rows):.2f}"
        assert line == f"| `{language}` | {' | '.join(cells)} |"


def test_second_answers_were_sought_in_the_rows_that_the_hash_draws_and_barred(tables, first):
    text = SECOND.read_text(encoding="utf-8")
    verdicts = list(csv.DictReader(io.StringIO(text)))
    published, repaired = tables["17"]["en"], first["17-repaired-1"]["en"]
    asked = zip(published["fact_id"], published["relation"], strict=True)
    rows = [row for row, relation in asked if relation != "P530"]
    rows.sort(key=lambda row: hashlib.sha256(f"read|{row}".encode()).hexdigest())
    assert list(dict.fromkeys(row["published_row"] for row in verdicts)) == rows[:300]
    assert {row["verdict"] for row in verdicts} <= {"right", "arguable", "none"}
    offered = dict(zip(repaired["published_row"], repaired["candidate_ids"], strict=True))
    for row in verdicts:
        assert row["candidate_id"] not in offered.get(row["published_row"], ())
        assert bool(row["candidate_id"]) == (row["verdict"] != "none")


def test_what_readers_found_is_news_and_no_distractor(upstream, tables, first):
    found = set(readers.read_truths().iter_rows())
    sources = {"mpararel": mpararel, "xfactr": xfactr}
    known = learn({x: module.read_truths(upstream) for x, module in sources.items()}).truths
    assert not [fact for fact in found if fact[2] in known.get(fact[:2], ())]
    for config in (*FIRST, "17-repaired", "53-repaired"):
        english = {**tables, **first}[config]["en"]
        columns = (english[name] for name in ("relation", "subject_id", "object_id"))
        for *asked, answer, names in zip(*columns, english["candidate_ids"], strict=True):
            assert not found & {(*asked, name) for name in names if name != answer}


@pytest.mark.acceptance
def test_another_hash_seed_makes_the_same_bytes(bmlama, upstream, tmp_path):
    script = "from pathlib import Path\nfrom polyprobe.builder.build import build_dataset\n" + (
        f"build_dataset('bmlama', ['17-repaired', '53-repaired'], Path({str(upstream)!r}), "
        f"Path({str(tmp_path)!r}))"
    )
    environment = os.environ | {"PYTHONHASHSEED": "1", "POLARS_MAX_THREADS": "2"}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)
    for config in ("17-repaired", "53-repaired"):
        for path in sorted((bmlama / "data" / config).iterdir()):
            assert (tmp_path / "data" / config / path.name).read_bytes() == path.read_bytes()
