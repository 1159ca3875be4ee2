import csv
import io
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyprobe.builder.annotated.grammar import (
    CASES,
    VALUES,
    Alternatives,
    Article,
    Condition,
    Option,
    Slot,
    Text,
    parse_prompt,
)
from polyprobe.builder.sources import xfactr
from polyprobe.system.download import read_files
from tests.builder.annotated.written import write_node


def write_prompt(nodes):
    return "".join(map(write_node, nodes))


@pytest.mark.parametrize(
    ("prompt", "position"),
    [
        ("[x]", 0),
        ("ab [Х]", 3),  # a Cyrillic letter
        ("[X bad]", 0),
        ("[X.Foo]", 0),  # no case
        ("[X.]", 0),
        ("[Z]", 0),
        ("[X;be.]", 0),
        ("[def;X]", 0),
        ("[DEF;Z]", 0),
        ("[DEF;X.Gender]", 0),
        ("[DEF.Foo;X]", 0),
        ("[a|b]", 0),
        ("[a;X-Gender=MASC|b]", 0),
        ("[a;X-Gender=PL]", 0),
        ("[a;X-Person=1]", 0),
        ("[human: a]", 0),
        ("[]", 0),
        ("a ] b", 2),
        ("ab [X", 3),
        ("a [X [Y]", 2),
        ("[X] and [Y]]", 11),
    ],
)
def test_what_does_not_parse_is_named_with_its_place(prompt, position):
    with pytest.raises(ValueError, match="^prompt P47 in he: ") as caught:
        parse_prompt(prompt, "he", "P47")
    assert str(caught.value) == f"prompt P47 in he: cannot read {prompt[position:]!r}"


plain = st.text(st.characters(exclude_characters="[];|", exclude_categories=["Cs"]), min_size=1)
ends = st.sampled_from("XY")
cases = st.sampled_from(sorted(CASES)).flatmap(lambda case: st.sampled_from([case, case.title()]))
slots = st.builds(Slot, ends, st.just("") | cases, st.just(False)) | st.builds(
    Slot, ends, st.just(""), st.just(True)
)
articles = st.builds(
    Article,
    st.sampled_from(["DEF", "INDEF", "PREPLOC", "PREPDEF-à", "ART"]),
    ends,
    st.just("") | cases,
    st.sampled_from(["", "Fem", "Masc", "Gender"]),
)
conditions = st.sampled_from(
    [(feature, value) for feature in ("Gender", "Number") for value in VALUES[feature]]
).flatmap(lambda pair: st.builds(Condition, ends, st.just(pair[0]), st.just(pair[1])))
options = st.builds(
    Option, plain | st.just(""), st.lists(conditions, min_size=1, max_size=2).map(tuple)
)
by_kind = st.tuples(plain, plain).map(
    lambda forms: Alternatives(
        tuple(
            Option(form, (Condition("X", "Human", value),))
            for form, value in zip(forms, ("YES", "NO"), strict=True)
        )
    )
)
choices = (
    st.lists(options, min_size=1, max_size=3).map(lambda given: Alternatives(tuple(given)))
    | by_kind
)


@st.composite
def trees(draw):
    nodes = draw(st.lists(st.builds(Text, plain) | slots | articles | choices, max_size=6))
    apart = zip([None, *nodes], nodes, strict=False)
    return tuple(
        node for last, node in apart if not (isinstance(last, Text) and isinstance(node, Text))
    )


@given(trees())
def test_any_tree_parses_to_itself(tree):
    assert parse_prompt(write_prompt(tree)) == tree


@given(st.text(st.sampled_from("[]XY;.|-=abDEF+ GenderMASC")))
def test_any_text_is_refused_or_written_back(text):
    try:
        tree = parse_prompt(text)
    except ValueError:
        return
    assert write_prompt(tree) == text


@pytest.fixture(scope="module")
def prompts(upstream):
    """All prompts as {(language, relation): text}."""
    [content] = read_files(xfactr.REPOSITORY, [xfactr.PROMPT_FILE], upstream)
    lines = csv.DictReader(io.StringIO(content.decode("utf-8"), newline=""))
    return {
        (language, line["pid"]): line[language] for line in lines for language in xfactr.LANGUAGES
    }


DEFECTS = {("he", "P47"), ("war", "P449")}


def test_all_prompts_of_the_release_parse_and_are_written_back(prompts):
    assert len(prompts) == 46 * 23
    refused = set()
    for (language, relation), prompt in prompts.items():
        try:
            assert write_prompt(parse_prompt(prompt, language, relation)) == prompt
        except ValueError:
            refused.add((language, relation))
        mended = xfactr.fix_prompt(prompt, language, relation)
        tree = parse_prompt(mended, language, relation)
        assert write_prompt(tree) == mended
        assert sorted(node.end for node in tree if isinstance(node, Slot)) == ["X", "Y"]
    assert refused == DEFECTS


def describe(node):
    """Return the construct of a node, as named in FINDINGS 3 (c)."""
    match node:
        case Slot(end, case, copula):
            return "copula" if copula else f"{end}.case" if case else ""
        case Alternatives(options):
            told = {(each.end, each.feature) for option in options for each in option.conditions}
            return " ".join(f"{end}-{feature}" for end, feature in sorted(told))
        case Article():
            return write_node(node)
    return ""


def test_constructs_of_the_release_are_as_many_as_counted_before(prompts):
    counts = Counter()
    for (language, relation), prompt in prompts.items():
        tree = parse_prompt(xfactr.fix_prompt(prompt, language, relation))
        counts.update((language, name) for node in tree if (name := describe(node)))
        counts.update(
            (language, node.case) for node in tree if isinstance(node, Slot) and node.case
        )
    # the repair exchanges the ends of bn P36: 10 + 1 of X's cases, 28 - 1 of Y's
    expected = {
        "el": "X.case 46 Y.case 36 Nom 42 Acc 25 Gen 15 X-Number 6 [DEF;X] 45 [DEF;Y] 16 "
        "[DEF.Gen;X] 1 [DEF;Y.Fem] 1 [INDEF;Y] 1 [PREPDEF;X] 1 [PREPDEF;Y] 15",
        "ru": "X.case 46 Y.case 46 Nom 48 Gen 17 Ess 15 Ins 6 Acc 4 Dat 2 X-Gender 16 Y-Gender 1",
        "tr": "X.case 6 Y.case 20 Loc 13 Gen 10 Acc 1 Abl 1 Dat 1 copula 6",
        "hu": "X.case 9 Y.case 22 IN+ESS 12 ACC 8 DAT 5 ON+ESS 3 INST 2 IN+ABL 1",
        "bn": "X.case 11 Y.case 27 GEN 21 LOC 17 X-Human 1",
        "mr": "X.case 1 Y.case 2 NOM 1 LOC 2 X-Gender 7",
        "he": "X-Gender 38 Y-Gender 1",
        "fr": "X-Gender 11 Y-Gender 1 [PREPDEF;X] 3 [PREPDEF;Y] 7 [PREPDEF-à;X] 1 [PREPDEF-à;Y] 3 "
        "[PREPLOC;Y] 8 [ARTDEF;X] 8 [ARTDEF;Y] 12 [ARTIND;Y] 2",
        "es": "X-Gender 10 Y-Gender 1 X-Number 3 X-Gender+X-Number 1 [DEF;Y] 2 [ART;X-Gender] 1 "
        "[ART;Y-Gender] 2",
    }
    for language, line in expected.items():
        words = line.split()
        named = dict(zip(words[::2], map(int, words[1::2]), strict=True))
        found = {
            name.replace(" ", "+"): n for (code, name), n in counts.items() if code == language
        }
        assert found == named, language
    assert {language for language, _ in counts} == set(expected)
