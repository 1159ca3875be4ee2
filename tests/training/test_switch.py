"""Code-switched sentences: the released sample, names by frequency, rows of a dataset, mistakes."""

import json
import re
import sys
import zipfile
from collections import Counter

import pytest
from scipy.stats import chisquare

from polyprobe.cli import main
from polyprobe.schema.load import load_facts
from polyprobe.system.messages import PolyprobeError
from polyprobe.training.switch import LinkedText, read_corpus, switch_sentences
from tests.making.facts import write_facts

IDS = re.compile(r"\]\]_[xy]_(Q\d+)")
ENGLISH = "X-FACTR-c1938ec7262ebc34ac0b39daff3f446e103e8a87/data/alias/mTRExf/en.txt"


def link(text, *names):
    """Link the first occurrence of each (name, entity) in a text."""
    mentions = [(text.index(x), text.index(x) + len(x), entity) for x, entity in names]
    return text, sorted(mentions)


def write_json(file, *rows):
    lines = (
        json.dumps(
            {
                "text": text,
                "mentions": [
                    dict(zip(("start", "end", "entity"), x, strict=True)) for x in mentions
                ],
            }
        )
        for text, mentions in rows
    )
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def spell(part):
    """Return the names of one half of a pair."""
    return [part["text"][start:end] for start, end in part["mentions"]]


@pytest.fixture
def released(upstream, tmp_path):
    """The released sample of 300 Greek sentences, and English names by entity."""
    with zipfile.ZipFile(upstream.parent / "oracles" / "x-factr-more.zip") as archive:
        (tmp_path / "el.txt").write_bytes(archive.read("data/ds/el_300.txt"))
    [names] = upstream.glob("jzbjyb__X-FACTR@*.zip")
    with zipfile.ZipFile(names) as archive:
        (tmp_path / "en.txt").write_bytes(archive.read(ENGLISH))
    return tmp_path


def test_the_released_sample_is_parsed(released):
    """The expected counts come from a plain search for the ids of the file."""
    lines = (released / "el.txt").read_text(encoding="utf-8").splitlines()
    ids = [IDS.findall(line) for line in lines]
    assert len(lines) == 300
    corpus = read_corpus([f"el={released / 'el.txt'}"], ["el", "en"])
    sentences = corpus.sentences["el"]
    assert [[x[2] for x in mentions] for _, mentions in sentences] == ids
    overlaps = corpus.counts["mentions left out, since they overlap"]
    assert overlaps == sum(line.count("[[ ") for line in lines) - sum(map(len, ids))
    assert overlaps == sum(len(x) == 1 for x in ids)  # a line has two entities, or lost one so
    for line, (text, mentions) in zip(lines, sentences, strict=True):
        plain = re.sub(r"\[\[ | \]\]_[xy]_Q\d+", "", line.partition("\t")[2])
        assert text == plain.rstrip()
        assert all(f"[[ {text[start:end]} ]]_" in line for start, end, _ in mentions)


def test_entities_of_the_sample_with_english_names_are_switched(released):
    rows = (released / "en.txt").read_text(encoding="utf-8").splitlines()
    first = {row.split("\t")[0]: row.split("\t")[1].strip() for row in rows}
    lines = (released / "el.txt").read_text(encoding="utf-8").splitlines()
    ids = [IDS.findall(line) for line in lines]
    labels = [f"en={released / 'en.txt'}"]
    corpus = read_corpus([f"el={released / 'el.txt'}"], ["el", "en"], labels=labels)
    pairs = [*switch_sentences(corpus)]
    named = [[x for x in line if x in first] for line in ids]
    assert [len(pair["raw"]["mentions"]) for pair in pairs] == [len(x) for x in named if x]
    complete = sum(one == both for one, both in zip(named, ids, strict=True))
    assert 0 < complete < 300
    switched = Counter(len(pair["raw"]["mentions"]) for pair in pairs)
    assert switched[2] == sum(len(x) == len(y) == 2 for x, y in zip(named, ids, strict=True))
    # without English sentences every name is the first of its line
    assert [spell(pair["switched"]) for pair in pairs] == [
        [first[x] for x in y] for y in named if y
    ]


def test_names_are_drawn_in_proportion_to_their_counts():
    """Pearson's χ² over 10,000 draws of three forms that occur 6, 3 and 1 times."""
    counts = {"Athens": 6, "City of Athens": 3, "Athína": 1}
    english = [link(f"{x} is old.", (x, "Q1524")) for x, n in counts.items() for _ in range(n)]
    greek = [link("Η Αθήνα.", ("Αθήνα", "Q1524"))] * 10_000
    corpus = LinkedText(
        {"en": english, "el": greek}, {"en": {"Q1524": "a label"}, "el": {}}, Counter()
    )
    pairs = [x for x in switch_sentences(corpus, seed=5) if x["language"] == "el"]
    drawn = Counter(spell(pair["switched"])[0] for pair in pairs)
    assert drawn.keys() == counts.keys()
    expected = [1000 * counts[x] for x in counts]
    assert chisquare([drawn[x] for x in counts], expected).pvalue > 0.001
    uniform = chisquare([drawn[x] for x in counts])
    assert uniform.pvalue < 1e-9
    assert [*switch_sentences(corpus, seed=5)][-10_000:] == pairs  # a seed decides
    assert [x for x in switch_sentences(corpus, seed=6) if x["language"] == "el"] != pairs
    labels = {spell(x["switched"])[0] for x in switch_sentences(corpus, "label")}
    assert labels == {"a label"}  # and English names have no Greek label


def test_text_around_the_names_stays(tmp_path):
    text = "Paris, in France, is Paris."
    english = write_json(tmp_path / "en.jsonl", link(text, ("Paris", "Q90"), ("France", "Q142")))
    greek = write_json(tmp_path / "el.jsonl", link("Το Παρίσι.", ("Παρίσι", "Q90")))
    corpus = read_corpus([f"en={english}", f"el={greek}"], ["en", "el"])
    to_greek, to_english = switch_sentences(corpus)
    assert to_greek == {
        "raw": {"text": text, "mentions": [[0, 5]]},  # France has no Greek name
        "switched": {"text": "Παρίσι, in France, is Paris.", "mentions": [[0, 6]]},
        "language": "en",
        "target": "el",
    }
    assert to_english["switched"] == {"text": "Το Paris.", "mentions": [[3, 8]]}


def test_long_sentences_are_left_out(tmp_path, tokenizer):
    names = ("Paris", "Q90")
    rows = [link("Paris" + " a" * n, names) for n in (126, 127)]
    file = write_json(tmp_path / "en.jsonl", *rows)
    corpus = read_corpus([f"en={file}"], ["en", "el"])
    assert corpus.sentences["en"] == rows[:1]
    assert corpus.counts == {"en, left out: 128 tokens or more": 1}
    sizes = [len(tokenizer(text)["input_ids"]) for text, _ in rows]
    n_short = sum(size < 128 for size in sizes)
    by_tokens = read_corpus([f"en={file}"], ["en", "el"], tokenizer=tokenizer)
    assert len(by_tokens.sentences["en"]) == n_short < 2


def test_rows_of_a_dataset_have_their_names_in_both_languages():
    languages = ["en", "el", "zh"]
    tables = {x: load_facts("geofacts", languages=languages)[x].to_pylist() for x in languages}
    pairs = [*switch_sentences(read_corpus(["geofacts"], languages), "label")]
    directions = Counter((pair["language"], pair["target"]) for pair in pairs)
    assert directions == {pair: 450 for x in languages[1:] for pair in (("en", x), (x, "en"))}
    queues = {x: iter([row for row in pairs if (row["language"], row["target"]) == x])
              for x in directions}  # fmt: skip
    for (language, target), rows in queues.items():
        for pair, own, twin in zip(rows, tables[language], tables[target], strict=True):
            right = own["candidates"][own["answers"][0]]
            assert pair["raw"]["text"] == own["prompt"].replace("[Y]", right)
            assert sorted(spell(pair["raw"])) == sorted([own["subject"], right])
            switched = [twin["subject"], twin["candidates"][twin["answers"][0]]]
            assert sorted(spell(pair["switched"])) == sorted(switched)
            [(a, b), (c, d)] = pair["raw"]["mentions"]
            [(e, f), (g, h)] = pair["switched"]["mentions"]
            texts = [pair[part]["text"] for part in ("raw", "switched")]
            assert [texts[0][x] for x in (slice(a), slice(b, c), slice(d, None))] == [
                texts[1][x] for x in (slice(e), slice(f, g), slice(h, None))
            ]


def test_an_inflected_subject_is_a_mention(tmp_path):
    row = {
        "fact_id": "P36:Q142:Q90",
        "relation": "P36",
        "subject_id": "Q142",
        "candidate_ids": ["Q90", "Q64"],
        "answers": [0],
    }
    texts = {
        "en": ("France", "The capital of France is [Y].", ["Paris", "Berlin"]),
        "el": ("Γαλλία", "Πρωτεύουσα της Γαλλίας είναι το [Y].", ["Παρίσι", "Βερολίνο"]),
    }
    for language, (subject, prompt, candidates) in texts.items():
        line = row | {"subject": subject, "prompt": prompt, "candidates": candidates}
        (tmp_path / f"{language}.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    pairs = [*switch_sentences(read_corpus([str(tmp_path)], ["en", "el"]), "label")]
    assert spell(pairs[1]["raw"]) == ["Γαλλίας", "Παρίσι"]
    assert pairs[1]["switched"]["text"] == "Πρωτεύουσα της France είναι το Paris."


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    """Run `polyprobe switch` in this process; return its status and both outputs."""

    def run(*arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["polyprobe", "switch", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, *capsys.readouterr()

    return run


def test_a_subject_on_both_sides_of_the_answer_is_no_mention(tmp_path):
    """The answer is hidden when the subject is searched: its two words would then be neighbours."""

    def divide(language, made):
        names = {"en": "New York", "ru": "Нью Йорк", "zh_hans": "纽约"}
        subject = names[language]
        prompt = "New [Y] York." if language == "en" else f"{subject}: [Y]."
        return [row._replace(subject=subject, prompt=prompt, subject_id="Q60") for row in made]

    corpus = read_corpus([str(write_facts(tmp_path / "facts", divide))], ["en", "ru"])
    assert {tuple(x[2] for x in mentions) for _, mentions in corpus.sentences["ru"]} == {
        ("Q60", f"T{k}") for k in range(4)
    }
    for pair in switch_sentences(corpus):
        for part, names in (("raw", "language"), ("switched", "target")):
            assert {*spell(pair[part])} <= {*corpus.labels[pair[names]].values()}
        if pair["language"] == "en":
            assert pair["switched"]["text"].startswith("New ")
            assert pair["switched"]["text"].endswith(" York.")


def test_the_command_writes_both_directions(command, tmp_path):
    status, out, _ = command("geofacts", "--languages", "en,el", "--output", "pairs.jsonl")
    assert (status, out.splitlines()) == (
        0,
        ["en to el, pairs: 450", "el to en, pairs: 450", "Wrote pairs.jsonl."],
    )
    written = (tmp_path / "pairs.jsonl").read_text(encoding="utf-8")
    pairs = [json.loads(line) for line in written.splitlines()]
    assert pairs == [*switch_sentences(read_corpus(["geofacts"], ["en", "el"]))]
    command("geofacts", "--languages", "en,el", "--output", "again.jsonl")
    assert (tmp_path / "again.jsonl").read_text(encoding="utf-8") == written


def test_the_command_takes_files_of_both_formats(command, tmp_path):
    (tmp_path / "el.txt").write_text("P36\tΤο [[ Παρίσι ]]_x_Q90 , [[ Γαλλία ]]_y_Q142 .\n")
    write_json(tmp_path / "en.jsonl", link("Paris is old.", ("Paris", "Q90")))
    (tmp_path / "en.tsv").write_text("Q90\tlabel\nQ142\tFrance\tFrench Republic\n")
    line = "el=el.txt en=en.jsonl --languages el,en --labels en=en.tsv --output linked.jsonl"
    status, _, error = command(*line.split())
    assert status == 0, error
    rows = map(json.loads, (tmp_path / "linked.jsonl").read_text(encoding="utf-8").splitlines())
    texts = [[row["raw"]["text"], row["switched"]["text"]] for row in rows]
    assert texts == [
        ["Το Παρίσι , Γαλλία .", "Το Paris , France ."],  # a form, else the label
        ["Paris is old.", "Παρίσι is old."],
    ]


PARIS = {"start": 0, "end": 5, "entity": "Q90"}
PLACE = "a.jsonl, line 2, language 'en': "


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"text": "Paris"', PLACE + "Expecting ',' delimiter"),
        ("[1]", PLACE + "the line is [1]; expected {"),
        ('{"text": "Paris"}', PLACE + "it has no 'mentions'; expected {"),
        (
            json.dumps({"text": "Paris", "mentions": [{"start": 0, "end": 5}]}),
            PLACE + "it has no 'entity'",
        ),
        (
            json.dumps({"text": "Paris", "mentions": [PARIS | {"end": "5"}]}),
            PLACE + "the line.mentions.0.end is '5'",
        ),
        (
            json.dumps({"text": "Paris", "mentions": [PARIS | {"end": 6}]}),
            PLACE + "the mention of Q90 at 0 to 6 is outside the text of 5 characters",
        ),
        (
            json.dumps(
                {"text": "Paris", "mentions": [PARIS, PARIS | {"start": 3, "entity": "Q2"}]}
            ),
            PLACE + "the mention of Q2 at 3 to 5 overlaps the one before; leave one of them out",
        ),
    ],
)
def test_wrong_lines_are_named(line, problem, command, tmp_path):
    write_json(tmp_path / "a.jsonl", link("Paris.", ("Paris", "Q90")))
    with (tmp_path / "a.jsonl").open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    status, _, error = command("en=a.jsonl", "--languages", "en,el", "--output", "pairs.jsonl")
    assert (status, len(error.splitlines())) == (1, 1)
    assert error.startswith(f"error: {problem}")
    assert not (tmp_path / "pairs.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("geofacts --languages en,xx", "unknown language 'xx' in geofacts"),
        ("geofacts --languages en", "--languages: expected at least two codes, such as en,el"),
        ("fr=a.txt --languages en,el", "unknown language 'fr' in --languages"),
        ("en=none.jsonl --languages en,el", "cannot read none.jsonl: No such file or directory"),
        ("en=a.txt --languages en,el", "a.txt, line 1, language 'en': no tab behind 'Paris is"),
        (
            "en=b.txt --languages en,el --labels el=a.txt",
            "--labels a.txt, line 1: expected an entity, a tab and a name",
        ),
        ("en=b.txt --languages en,el --labels a.txt", "expected LANG=FILE, such as en=en.tsv, not"),
        ("en= --languages en,el", "expected LANG=FILE, such as en=en.tsv, not 'en='"),
        ("en=b.txt --languages en,el", "no mention has a name in another language"),
    ],
)
def test_mistakes_are_one_line(arguments, problem, command, tmp_path):
    (tmp_path / "a.txt").write_text("Paris is old\n")
    (tmp_path / "b.txt").write_text("P17\t[[ Paris ]]_x_Q90 is old\n")
    status, _, error = command(*arguments.split(), "--output", "pairs.jsonl")
    assert (status, len(error.splitlines())) == (1, 1)
    assert error.startswith(f"error: {problem}")


def test_a_mention_without_a_name_is_left_out(tmp_path):
    """Else a name would be put where the sentence has none."""
    (tmp_path / "en.txt").write_text("P17\t[[  ]]_x_Q90 is in [[ Italy ]]_y_Q38.")
    (tmp_path / "el.tsv").write_text("Q90\tΠαρίσι\nQ38\tΙταλία", encoding="utf-8")
    labels = [f"el={tmp_path / 'el.tsv'}"]
    corpus = read_corpus([f"en={tmp_path / 'en.txt'}"], ["en", "el"], labels=labels)
    assert corpus.counts["mentions left out, since they are empty"] == 1
    [pair] = switch_sentences(corpus)
    assert pair["switched"]["text"] == " is in Ιταλία."


def test_a_mistake_in_python_is_one_line():
    corpus = LinkedText({"en": [], "el": []}, {"en": {}, "el": {}}, Counter())
    with pytest.raises(PolyprobeError, match="unknown names 'labels'; did you mean 'label'"):
        next(switch_sentences(corpus, "labels"))
    with pytest.raises(PolyprobeError, match="unknown dataset|no dataset"):
        read_corpus(["nowhere"], ["en", "el"])
    with pytest.raises(PolyprobeError, match="expected at least two codes"):
        read_corpus(["geofacts"], ["en", "en"])
