import csv
import io
import json
from collections import Counter

import polars as pl
import pytest

from polyprobe.builder.facts import FACTS, LABELS, TEMPLATES, is_template
from polyprobe.builder.sources import bmlama as bmlama_files
from polyprobe.builder.sources import mpararel, xfactr
from polyprobe.builder.sources.xfactr import reduce_prompt
from polyprobe.system.download import read_files
from tests.builder.tiny import place_archive

# (subject, its form, object, its form), as in the released files.
TUPLES = {
    "mTREx/sub/P27": [("Q3", "Ada", "Q1", "Peruvian"), ("Q4", "Bo", "Q1", "Peruvian")],
    "mTREx/sub/P36": [("Q1", "Peru", "Q2", "Lima")],
    "mTRExf/sub/P36": [("Q1", "Peru", "Q2", "Lima"), ("Q5", "Chad", "Q6", "Njamena")],
    "mTRExf/sub/P37": [("Q1", "PE", "Q7", "Quechua"), ("Q8", "HE", "Q7", "quechua")],
}
ALIAS_LINES = {
    "TREx/en": "Q1\tPE\tPeru\tRepublic of Peru\nQ9\tOnly here",
    "mTRExf/en": "Q6\tN'Djamena",
    "TREx/fr": "Q1\tPérou\nQ2\tLima\tLima la Grise",
    "mTRExf/yo": "Q1\tPẹrú\nQ2\tLima\tLímà",
    "mTRExf/fr": "Q1\tPérou\nQ5\tTchad\nQ6\tFort-Lamy\nQ6\tN'Djaména",
}
LISTED = "Q1\tPerú\nQ2\tLima\nQ9\tNibi"
PROMPTS = {
    "pid": ["P27", "P36", "P1923"],
    "relation": ["citizenship", "capital", "team"],
    "en": ["[X] is  [Y] .", "The capital of [X] is [Y] .", "[Y] was in [X] . "],
    "fr": [
        "[X] est [né;X-Gender=MASC|née;X-Gender=FEM] [PREPLOC;Y] [Y] .",
        "La capitale [PREPDEF;X] [X] est [Y] .",
        "[Y] [PREPDEF-à;X] [X] .",
    ],
    "pa": ["[X] [Y] ਹੈ", "[X] ਦਾ [Y]", "[X] ਨੇ [Y]"],
    "yo": ["[X] [Y]", "[X bad] ni [Y]", "[X] [Y]"],
}


def write_contents() -> dict[str, bytes]:
    keys = ("sub_uri", "sub_label", "obj_uri", "obj_label")
    contents = {f"data/alias/{name}.txt": text.encode() for name, text in ALIAS_LINES.items()}
    contents[xfactr.name_list("yo")] = LISTED.encode()
    for name, rows in TUPLES.items():
        lines = [json.dumps(dict(zip(keys, row, strict=True)) | {"uuid": "0"}) for row in rows]
        contents[f"data/{name}.jsonl"] = "\n".join(lines).encode()
    table = io.StringIO()
    csv.writer(table).writerows([PROMPTS, *zip(*PROMPTS.values(), strict=True)])
    return contents | {xfactr.PROMPT_FILE: table.getvalue().encode()}


@pytest.fixture
def mirror(monkeypatch, tmp_path):
    languages, fixes = ("en", "fr", "pa", "yo"), {("yo", "P36"): ("[X bad]", "[X]")}
    names = {"LANGUAGES": languages, "FIXES": fixes}
    return place_archive(monkeypatch, tmp_path, xfactr, write_contents(), **names)


def name_all(frame) -> dict[str, str]:
    return dict(frame.select("id", "label").iter_rows())


def test_facts_are_those_of_both_samples_once(mirror):
    for languages in (None, ["yo"]):
        facts = xfactr.read_facts(mirror, languages).facts
        assert facts.rows() == [
            ("P27", "Q3", "Q1"),
            ("P27", "Q4", "Q1"),
            ("P36", "Q1", "Q2"),
            ("P36", "Q5", "Q6"),
            ("P37", "Q1", "Q7"),
            ("P37", "Q8", "Q7"),
        ]
        assert dict(facts.schema) == FACTS


def test_english_label_is_the_only_alias_or_else_the_best_form(mirror):
    facts = xfactr.read_facts(mirror, ["en"])
    assert name_all(facts.labels) == {
        # Peru and PE are aliases, Peruvian is not; Peru is in 1 relation and 2 facts, PE in 1
        "Q1": "Peru",
        "Q2": "Lima",
        "Q3": "Ada",
        "Q4": "Bo",
        "Q5": "Chad",
        "Q6": "N'Djamena",  # the only alias, not the form Njamena
        "Q7": "Quechua",  # as often as quechua: in alphabetical order
        "Q8": "HE",
        "Q9": "Only here",
    }
    assert facts.repairs[xfactr.REASONS["chosen"]] == 2  # Q1 and Q7
    assert xfactr.REASONS["open"] not in facts.repairs
    assert dict(facts.labels.schema) == LABELS


def test_label_elsewhere_is_the_only_alias(mirror):
    facts = xfactr.read_facts(mirror, ["fr"])
    assert name_all(facts.labels) == {"Q1": "Pérou", "Q5": "Tchad"}
    assert facts.repairs[xfactr.REASONS["open"]] == 2  # Q2 and Q6
    aliases = xfactr.parse_aliases(xfactr.read_paths(xfactr.list_source_paths(["fr"]), mirror))
    assert aliases.sort(pl.all()).rows() == [
        ("fr", "Q1", "Pérou"),
        ("fr", "Q2", "Lima"),
        ("fr", "Q2", "Lima la Grise"),
        ("fr", "Q5", "Tchad"),
        ("fr", "Q6", "Fort-Lamy"),
        ("fr", "Q6", "N'Djaména"),
    ]
    assert dict(aliases.schema) == xfactr.ALIASES


def test_listed_labels_serve_entities_without_a_single_alias(mirror):
    facts = xfactr.read_facts(mirror, ["fr", "yo"])
    assert name_all(facts.labels.filter(language="yo")) == {
        "Q1": "Pẹrú",  # the only alias, not the listed Perú
        "Q2": "Lima",  # one of two aliases
        "Q9": "Nibi",  # without an alias
    }
    assert facts.repairs[xfactr.REASONS["open"]] == 2  # in French
    assert xfactr.read_facts(mirror, ["fr"]).labels.height == 2


def test_listed_labels_are_among_the_aliases(upstream):
    """Lists and aliases are two files of the authors."""
    read = xfactr.read_paths(xfactr.list_source_paths(xfactr.LANGUAGES), upstream)
    aliases, lists = xfactr.parse_aliases(read), xfactr.parse_lists(read)
    entity = ["language", "id"]
    assert sorted(lists["language"].unique()) == sorted(xfactr.LISTS)
    assert not lists.select(entity).is_duplicated().any()
    known = lists.join(aliases, on=entity, how="semi")
    found = known.join(aliases.rename({"alias": "label"}), on=[*entity, "label"], how="semi")
    assert (found.height, known.height) == (143_884, 145_564)
    single = known.join(aliases.filter(~aliases.select(entity).is_duplicated()), on=entity)
    assert (single.filter(pl.col("label") == pl.col("alias")).height, single.height) == (
        98_532, 99_352,
    )  # fmt: skip


def test_templates_are_reduced_and_the_repairs_counted(mirror):
    facts = xfactr.read_facts(mirror)
    assert facts.templates.rows() == [
        ("en", "P1923", "xfactr:P1923:0", "[Y] was in [X] ."),
        ("en", "P27", "xfactr:P27:0", "[X] is [Y] ."),
        ("en", "P36", "xfactr:P36:0", "The capital of [X] is [Y] ."),
        ("fr", "P1923", "xfactr:P1923:0", "[Y] à [X] ."),
        ("fr", "P36", "xfactr:P36:0", "La capitale de [X] est [Y] ."),
        ("pa", "P1923", "xfactr:P1923:0", "[Y] ਨੇ [X]"),
        ("pa", "P27", "xfactr:P27:0", "[X] [Y] ਹੈ"),
        ("pa", "P36", "xfactr:P36:0", "[X] ਦਾ [Y]"),
        ("yo", "P1923", "xfactr:P1923:0", "[X] [Y]"),
        ("yo", "P27", "xfactr:P27:0", "[X] [Y]"),
        ("yo", "P36", "xfactr:P36:0", "[X] ni [Y]"),
    ]
    assert dict(facts.templates.schema) == TEMPLATES
    assert facts.repairs == {
        xfactr.REASONS["chosen"]: 2,
        xfactr.REASONS["open"]: 2,
        xfactr.REASONS["blanks"]: 2,  # en P27 and P1923
        xfactr.REASONS["left_out"]: 1,  # fr P27
        xfactr.REASONS["repaired_slots"]: 1,  # yo P36
        xfactr.REASONS["swapped_slots"]: 1,  # pa P1923
        xfactr.REASONS["prepositions"]: 2,  # fr P36 and P1923
    }


CASES, LOCAL = xfactr.REASONS["cases"], xfactr.REASONS["local_cases"]
ARTICLES, PREPOSITIONS = xfactr.REASONS["articles"], xfactr.REASONS["prepositions"]
GENDERS, NUMBERS = xfactr.REASONS["genders"], xfactr.REASONS["numbers"]


@pytest.mark.parametrize(
    ("language", "prompt", "template", "lost"),
    [
        ("en", "[X] a [Y] .", "[X] a [Y] .", []),
        ("ko", "[X]는 [Y]이다.", "[X]는 [Y]이다.", []),
        ("ru", "[X.Nom] a [Y.Ins]", "[X] a [Y]", [CASES, CASES]),
        ("hu", "[X.ACC] [Y.IN+ESS] a", "[X] [Y] a", [CASES, LOCAL]),
        ("tr", "[X.Gen] [Y.Loc]", "[X] [Y]", [CASES, LOCAL]),
        ("tr", "[X] a [Y;be] .", "[X] a [Y] .", [xfactr.REASONS["copulas"]]),
        ("el", "[DEF;X] [X] a [DEF;Y.Fem] [Y]", "[X] a [Y]", [ARTICLES, ARTICLES]),
        ("el", "[X] a [DEF.Gen;X] b [Y]", "[X] a του b [Y]", [ARTICLES]),
        ("el", "[X] a [PREPDEF;Y] [Y]", "[X] a σε [Y]", [PREPOSITIONS]),
        ("fr", "[ARTDEF;X] [X] [PREPDEF;Y] [Y]", "[X] de [Y]", [ARTICLES, PREPOSITIONS]),
        ("fr", "[X] [PREPLOC;Y] [Y]", "[X] [?] [Y]", []),
        ("es", "[X] [ART;X-Gender] a [Y]", "[X] a [Y]", [ARTICLES]),
        ("he", "[X] [a b;X-Gender=MASC|c;X-Gender=FEM] b[Y]", "[X] a b b[Y]", [GENDERS]),
        ("es", "[a;X-Number=SG|b;X-Number=PL] [X] [Y]", "a [X] [Y]", [NUMBERS]),
        ("es", "[X] [a;X-Gender=MASC|b;X-Number=PL] [Y]", "[X] a [Y]", [GENDERS]),
        ("bn", "[X] [human: a ; non-human: b] [Y]", "[X] [?] [Y]", []),
    ],
)
def test_reduction(language, prompt, template, lost):
    assert reduce_prompt(prompt, language) == (template, lost)
    assert is_template(template) == ("[PREPLOC" not in prompt and "human" not in prompt)


@pytest.fixture(scope="module")
def everything(upstream):
    return xfactr.read_facts(upstream)


def test_prompts_of_the_release(upstream, everything):
    [content] = read_files(xfactr.REPOSITORY, [xfactr.PROMPT_FILE], upstream)
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8"), newline="")))
    assert len(rows) == 46
    assert sorted(list(rows[0])[2:]) == list(xfactr.LANGUAGES)
    counts = Counter(everything.templates["language"])
    assert counts == dict.fromkeys(xfactr.LANGUAGES, 46) | {"fr": 46 - 8, "bn": 46 - 1}
    assert all(map(is_template, everything.templates["template"]))
    for language, relation in [*xfactr.FIXES, *xfactr.SWAPPED]:
        found = everything.templates.filter(language=language, relation=relation)
        assert found["template"].item() != {row["pid"]: row for row in rows}[relation][language]


def test_reductions_of_the_release(everything):
    """The marks are those of FINDINGS 3 (c), except those in the 8 excluded French prompts."""
    counts = everything.repairs
    cases = {"el": 82, "ru": 92, "tr": 6 + 20, "hu": 31, "bn": 38, "mr": 3}
    local = {"tr": 13 + 1 + 1, "hu": 12 + 5 + 3 + 2 + 1, "bn": 17, "mr": 2}
    assert counts[LOCAL] == sum(local.values())
    assert counts[CASES] + counts[LOCAL] == sum(cases.values())
    assert counts[xfactr.REASONS["copulas"]] == 6
    assert counts[NUMBERS] == 6 + 3
    assert counts[GENDERS] == 38 + 16 + (11 - 5) + 10 + 7 + 4 + 1
    assert counts[xfactr.REASONS["left_out"]] == 8 + 1
    assert (counts[xfactr.REASONS["repaired_slots"]], counts[xfactr.REASONS["swapped_slots"]]) == (
        4,
        6,
    )


def test_facts_of_the_release(upstream, everything):
    paths = [path for path in xfactr.list_source_paths([]) if "/mTRExf/sub/" in path]
    read = dict(zip(paths, read_files(xfactr.REPOSITORY, paths, upstream), strict=True))
    assert xfactr.list_facts(xfactr.parse_tuples(read)).height == 46_000 == 46 * 1000
    assert everything.facts.height == 2 * 46_000 - 5_072
    assert everything.labels.select("language", "id").is_duplicated().sum() == 0
    assert everything.labels.equals(everything.labels.sort(pl.all()))


def test_chinese_labels_complete_mpararel(upstream, everything):
    """The figures of FINDINGS 3 (a) for BMLAMA's 17 languages: one alias, any alias."""
    languages = list(bmlama_files.list_paths("17"))
    facts = mpararel.read_facts(upstream, languages)
    read = xfactr.read_paths(xfactr.list_source_paths(["zh"]), upstream)
    aliases = xfactr.parse_aliases(read).rename({"alias": "label"})
    for more, expected in ((everything.labels, 6_547), (aliases, 7_147)):
        labels = pl.concat([facts.labels, more.filter(language="zh")]).unique(["language", "id"])
        named = labels.group_by("id").len().filter(len=17)["id"].implode()
        both = pl.col("subject_id").is_in(named) & pl.col("object_id").is_in(named)
        assert facts.facts.filter(both).height == expected


def test_english_labels_against_mpararel(upstream, everything):
    theirs = mpararel.read_facts(upstream, ["en"]).labels
    ours = everything.labels.filter(language="en")
    in_facts = pl.concat([everything.facts["subject_id"], everything.facts["object_id"]]).implode()
    both = ours.join(theirs, on="id").filter(pl.col("id").is_in(in_facts))
    assert both.height == 9_411
    assert both.filter(pl.col("label") == pl.col("label_right")).height / both.height > 0.79
