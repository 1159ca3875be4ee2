"""BMLAMA of MuBench: mistakes, links and alignment by hand; BabyLM's rows and baselines."""

import json
import zipfile
from collections import defaultdict
from operator import itemgetter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from docs.reproduce import babylm
from polyprobe.builder.audit.tables import count_parts
from polyprobe.builder.build import build_sourced
from polyprobe.builder.recipes import mubench
from polyprobe.builder.sources.bmlama import read_published
from polyprobe.cli import app
from polyprobe.schema.load import load_facts
from polyprobe.system.messages import PolyprobeError
from tests.blocks.pages import read_blocks
from tests.builder.tiny_mubench import FACTS, ROWS, line, write
from tests.conftest import UPSTREAM
from tests.hub.client import run_client

BABYLM = UPSTREAM.parent / "oracles" / "babylm-bmlama.zip"
COLUMNS = ("fact_id", "relation", "prompt", "candidates", "answers", "flags", "dataset_id")


@pytest.fixture
def known(monkeypatch):
    monkeypatch.setattr(mubench, "read_facts", lambda *_: FACTS)


def read(folder, config, language):
    rows = pq.read_table(folder / "data" / config / f"{language}.parquet").to_pylist()
    return [itemgetter(*COLUMNS)(row) for row in rows]


def test_rows_are_linked_and_aligned_by_what_they_say(known, tmp_path):
    folder = build_sourced("mubench", str(write(tmp_path / "source")), output=tmp_path / "made")
    peru, france = ("17:0001", "P36"), ("17:0002", "P36")
    unlinked, italy = "unlinked", ["Italy", "Peru", "Vatican City"]
    second, seen = "known_second_answer", "prompt_in_train"
    assert read(folder, "en-train", "en") == [
        (*peru, "The capital of Peru is [Y].", ["Rome", "Lima", "Paris"], [1], [], "0"),
        (
            "mubench:en-train-0002",
            unlinked,
            "Rome is the capital of [Y].",
            italy,
            [0],
            [second],
            "1",
        ),
    ]
    assert read(folder, "en-valid", "en")[1] == (
        *("mubench:en-valid-0002", unlinked, "Rome is the capital of [Y].", italy, [2]),
        *([second, seen], "3"),
    )
    assert [row[0] for row in read(folder, "zh-valid", "zh")] == [
        "17:0001",
        "mubench:zh-valid-0002",
    ]
    assert read(folder, "zh-valid", "zh")[1][5] == ["repeated_candidate"]
    # in the order of BMLAMA; the one option with another label is the one that is left
    assert read(folder, "parallel", "zh") == [
        (*peru, "在秘鲁, 首都叫 [Y]", ["巴黎", "罗马城", "利马"], [2], [], "2"),
        (*france, "法國的首都是 [Y] ﹒", ["利馬", "羅馬", "巴黎"], [2], [], "0"),
    ]
    assert [x[3] for x in read(folder, "parallel", "en")] == [
        ["Paris", "Rome", "Lima"],
        ["Lima", "Rome", "Paris"],
    ]
    assert count_parts(str(folder), ["zh"])["zh"] == {
        "rows": 3,
        "rows_with_second_answer": 0,
        "rows_outside_train": 2,
        "rows_with_prompt_of_train": 0,
        "accuracy_of_train_prior": 1
        / 6,  # Paris is wrong in the first row, the second is a tie of three
        "ids_compared_to_en": 2,
        "ids_of_other_facts_than_in_en": 2,
    }
    for config in ("parallel", "en-valid", "zh-valid"):
        load_facts(str(folder), config)


def test_facts_that_several_rows_claim_or_several_facts_fit_are_no_links():
    facts = FACTS["en"].values()
    first, second = (FACTS["en"]["17:0001"]._replace(fact_id=name) for name in ("a", "b"))
    for rows, of, linked in (
        ([first], facts, ["17:0001"]),
        ([first, second], facts, ["a", "b"]),
        ([first, second._replace(candidates=["Rome", "Lima"])], facts, ["17:0001", "b"]),
        ([*facts][:1], [first, second], ["17:0001"]),
        ([first], [second._replace(answer_forms=["Rome"])], ["a"]),
    ):
        assert [row.fact_id for row in mubench.link(rows, of, "en")] == linked


MISTAKES = {  # name of a file: its second line, what is said
    "not JSON": ("{", "line 2: no JSON with idx, sentence and label: Expecting property name"),
    "a list": ("[1]", "line 2: no JSON with idx, sentence and label: "),
    "no label": (
        '{"idx": 1, "sentence": "_\\nA: x"}',
        "line 2: no JSON with idx, sentence and label: ",
    ),
    "letter": (line(1, "Is _.", "C", "Lima", "Rome"), "label 'C' has no option; the last is B"),
    "number": (line(1, "Is _.", 2, "Lima", "Rome"), "line 2: label 2 has no option; the last"),
    "no blank": (line(1, "Is.", "A", "Lima"), "line 2: expected one _ in the sentence, in the"),
    "two blanks": (line(1, "_ is _.", "A", "Lima"), "line 2: expected one _ in the sentence"),
    "no options": (line(1, "Is _.", "A"), "line 2: expected options in lines that begin with A:"),
    "empty option": (line(1, "Is _.", "A", "Lima", " "), "line 2: expected options in lines"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_in_one_line(name, known, tmp_path):
    second, message = MISTAKES[name]
    rows = {"en.valid": [line(0, "The capital of Peru is _.", "A", "Lima", "Rome"), second]}
    arguments = [
        "build",
        "mubench",
        str(write(tmp_path / "s", rows)),
        "--output",
        str(tmp_path / "o"),
    ]
    done = CliRunner().invoke(app, arguments)
    assert isinstance(done.exception, PolyprobeError)
    assert message in str(done.exception)
    assert str(done.exception).startswith(str(tmp_path / "s" / "en" / "bmlama_en.valid.jsonl"))
    assert "\n" not in str(done.exception)


def test_folders_without_rows_or_with_twice_the_same(known, tmp_path):
    write(tmp_path / "source", {"en.valid": [""], "nl.valid": ROWS["en.valid"]})
    write(tmp_path / "source" / "again", {"nl.valid": ROWS["en.valid"]})
    for source, languages, message in (
        (tmp_path, (), "bmlama_nl.valid.jsonl are of the same part; remove one"),
        (tmp_path / "source" / "en", (), "bmlama_en.valid.jsonl has no rows"),
        (tmp_path / "source" / "nl", ("de",), "unknown language 'de'"),
        (
            tmp_path / "nothing",
            (),
            f"no bmlama_LANG.valid.jsonl or rows of MuBench in {tmp_path / 'nothing'}",
        ),
    ):
        with pytest.raises(PolyprobeError, match="^[^\n]*$") as caught:
            build_sourced("mubench", str(source), languages, output=tmp_path / "made")
        assert message in str(caught.value)


HUB = """
from collections import defaultdict
from polyprobe.builder.build import build_sourced
from polyprobe.builder.recipes import mubench
mubench.read_facts = lambda *_: defaultdict(dict)
from polyprobe.schema.load import load_facts
folder = build_sourced("mubench", "aialt/MuBench", ["en", "zh", "nl"], output=FOLDER)
answer = {x: load_facts(str(folder), f"{x}-test")[x].to_pylist() for x in ("en", "zh", "nl")}
"""


def test_mubench_of_the_hub(hub, tmp_path):
    def release(text, *options):  # words before the letters, a number for the label, a last line
        listed = "".join(f"\n选项{letter}：{x}" for letter, x in zip("ABC", options, strict=False))
        return {"_id": "7", "prompt": f"{text}{listed}\n答案：", "choices": ["A", "B"], "label": 1}

    served = tmp_path / "served" / "BMLAMADataset"
    served.mkdir(parents=True)
    malcolm = line("7", "Choose.\nMalcolm X: A Life is about _.", 0, "race", "ice", end="\nAnswer:")
    files = {
        "local_template_en": malcolm,
        "local_template_zh": release("埃斯波的语言是 _。", "芬兰语", "法语"),
        "local_template_de": "not asked",
        "local_template_nl/part": {"prompt": "Lima ligt in __.", "choices": ["Rome", "Peru"]}
        | {"_id": 8, "label": 1},
        "lighteval_en": "another form",
    }
    for name, row in files.items():
        path = served / f"{name}_test.jsonl".replace("part_", "")
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    hub.add("dataset", "aialt/MuBench", tmp_path / "served")
    code = f"FOLDER = {str(tmp_path / 'made')!r}\n{HUB}"
    made = run_client(code, tmp_path / "home", hub.url)
    [english], [chinese], [dutch] = made["en"], made["zh"], made["nl"]
    assert (dutch["prompt"], dutch["candidates"]) == ("Lima ligt in [Y].", ["Rome", "Peru"])
    assert (dutch["answers"], dutch["dataset_id"]) == ([1], "8")
    assert english["prompt"] == "Malcolm X: A Life is about [Y]."
    assert (english["candidates"], english["answers"]) == (["race", "ice"], [0])
    assert (chinese["candidates"], chinese["answers"]) == (["芬兰语", "法语"], [1])
    assert (chinese["fact_id"], chinese["dataset_id"]) == ("mubench:zh-test-0001", "7")


@pytest.fixture(scope="module")
def released(upstream, tmp_path_factory):
    """BabyLM's folder, and the dataset that is built of it."""
    folder = tmp_path_factory.mktemp("babylm")
    zipfile.ZipFile(BABYLM).extractall(folder / "babylm")
    output = folder / "datasets" / "mubench"
    return folder / "babylm", build_sourced("mubench", str(folder / "babylm"), (), upstream, output)


def test_counts_of_babylm(released):
    counts = count_parts(str(released[1]), ["en", "nl"])
    names = ("rows", "rows_with_second_answer", "rows_outside_train", "rows_with_prompt_of_train")
    assert [counts["en"][name] for name in names] == [6061, 746, 1213, 443]
    assert [counts["nl"][name] for name in names] == [6061, 712, 1213, 420]
    assert [round(x["accuracy_of_train_prior"], 3) for x in counts.values()] == [0.308, 0.323]
    ids = counts["nl"]["ids_compared_to_en"], counts["nl"]["ids_of_other_facts_than_in_en"]
    assert ids == (4797, 4797)  # FINDINGS-3: of 3,276 linked rows none is the fact of its idx
    done = CliRunner().invoke(app, ["audit", str(released[1]), "--config", "nl-valid"])
    [output] = (x for x in read_blocks("docs/datasets/mubench.md") if x.language == "text")
    for text in output.text.splitlines():
        assert text in " ".join(done.stdout.split())
    flags = [x for part in ("train", "valid") for x in read(released[1], f"en-{part}", "en")]
    assert sum("known_second_answer" in x[5] for x in flags) == 746
    assert sum("prompt_in_train" in x[5] for x in flags) == 443


def test_links_of_babylm(released, upstream):
    """Each row is in its place, and equal texts are linked, by dictionaries of the texts alone."""
    source, folder = released
    published = read_published("17", upstream)
    for language, exact in (("en", 6061), ("nl", 3157)):
        columns, n_exact, n_linked = published.columns[language], 0, 0
        facts = defaultdict(set)
        for name, prompt, answer in zip(published.ids, columns.prompt, columns.answer, strict=True):
            facts[prompt.replace("[Y]", "_"), answer].add(name)
        for part in ("train", "valid"):
            path = source / f"data/multilingual/{language}/bmlama/bmlama_{language}.{part}.jsonl"
            rows = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
            made = read(folder, f"{language}-{part}", language)
            assert [x[6] for x in made] == [str(row["idx"]) for row in rows]
            for row, (name, relation, _, options, answers, *_) in zip(rows, made, strict=True):
                sentence, *lettered = row["sentence"].split("\n")
                assert options == [text[2:].strip() for text in lettered]  # 18 are padded
                assert ["ABCDEFGHIJ".index(row["label"])] == answers
                same = facts.get((sentence, lettered[answers[0]][3:]), set())
                n_exact, n_linked = n_exact + bool(same), n_linked + (relation != "unlinked")
                assert not same or name in same or (language == "nl" and len(same) > 1)
        assert n_exact == exact
        assert n_linked == {"en": 6061, "nl": 4797}[language]
    parallel = {x: read(folder, "parallel", x) for x in ("en", "nl")}
    for english, dutch in zip(*parallel.values(), strict=True):
        assert english[0] == dutch[0]
        assert (english[4], english[6] != dutch[6]) == (dutch[4], True)


def test_a_fact_of_both_configurations_has_one_id(upstream):
    facts = mubench.read_facts(upstream, {"en", "sv"})
    published = {x: read_published(x, upstream).columns for x in ("17", "53")}
    rows = zip(published["53"]["en"].prompt, published["53"]["sv"].prompt, strict=True)
    pairs, both = {*rows}, facts["en"].keys() & facts["sv"].keys()
    assert len(facts["en"]) == 6792
    assert len(both) > 3000
    assert {(facts["en"][x].prompt, facts["sv"][x].prompt) for x in both} <= pairs


PUBLISHED = {
    "gpt2-baseline-BabyLM-2026-Strict": "0.1126",
    "gpt2-baseline-BabyLM-2026-Strict-Small": "0.1060",
    "gpt2-baseline-babylm-nld": "0.1325",
}
TITLES = ("Strict", "Strict-Small", "nld")


def test_published_accuracies(released, capsys, tmp_path):
    source, folder = released
    babylm.main([str(source), "--dataset", str(folder), "--output", str(tmp_path / "runs")])
    head, *lines = (text.split("\t") for text in capsys.readouterr().out.splitlines())
    found = [dict(zip(head, cells, strict=True)) for cells in lines]
    assert {of["baseline"]: of["accuracy"] for of in found} == PUBLISHED
    assert all(of["accuracy"] == of["published"] and of["rows"] == "1208" for of in found)
    page = Path(babylm.__file__).with_name("mubench.md").read_text(encoding="utf-8")
    for of, title in zip(found, TITLES, strict=True):
        accuracy, published, low, high, *rest = (of[name].removeprefix("0") for name in head[3:])
        cells = (f"GPT-2, {title}", of["language"], accuracy, published, f"{low} to {high}", *rest)
        assert f"| {' | '.join(cells)} |" in page


@pytest.mark.acceptance
def test_parallel_is_asked_in_both(released, tmp_path):
    """As cloze and as letters, and exported with the same rows."""
    dataset = ["--dataset", str(released[1]), "--config", "parallel"]
    for scoring in ("object", "letters"):
        output = tmp_path / scoring
        options = ["--scoring", scoring, "--limit", "8", "--device", "cpu", "--output", str(output)]
        done = CliRunner().invoke(app, ["eval", "geolm", *dataset, *options])
        assert done.exception is None, done.output
        results = json.loads((output / "results.json").read_text(encoding="utf-8"))
        assert results["n_queries"] == 8
        assert set(results["accuracy"]) == {"en", "nl"}
    tasks = ["--format", "lm-eval", "--scoring", "object", "--output", str(tmp_path / "tasks")]
    done = CliRunner().invoke(app, ["export", str(released[1]), "--config", "parallel", *tasks])
    assert done.exception is None, done.output
    assert any((tmp_path / "tasks").rglob("*_en.yaml"))
