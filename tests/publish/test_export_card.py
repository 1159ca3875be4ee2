"""model-index in a model card: results are added; other metadata and text are unchanged."""

import re

import pytest
import yaml
from huggingface_hub import ModelCard

from polyprobe.publish.export import export_run
from polyprobe.system.messages import PolyprobeError
from tests.making.exports import make_wide

OTHERS = """\
model-index:
- name: theirs  # as they call it
  results:
  - task: {type: text-generation}
    dataset: {type: beans, name: Beans}
    metrics:
    - {type: accuracy, value: 0.9, verified: true}
    source: {name: Board, url: 'https://x.y'}
"""
FRONT = "license: 'mit'   # ours\nlanguage: [en,   ru]\n"
BACK = "# a comment\ntags:\n- a\n"
BODY = "# Model\n\nText --- and\r\n---\nmore, ünïcode\n"
CARDS = {
    "without": f"---\n{FRONT}{BACK}---\n{BODY}",
    "last": f"---\n{FRONT}{OTHERS}---\n{BODY}",
    "first": f"---\n{OTHERS}{FRONT}{BACK}---\n{BODY}",
    "between": f"---\n{FRONT}{OTHERS}\n{BACK}---\n{BODY}",
    "indented": f"---\n{FRONT}model-index:\n  - name: theirs\n    results: []\n{BACK}---\n{BODY}",
    "flow": f"---\n{FRONT}model-index: []\n{BACK}---\n{BODY}",
    "crlf": f"---\n{FRONT}{OTHERS}{BACK}---\n# Model\n".replace("\n", "\r\n"),
    "bom": f"\ufeff---\n{FRONT}{BACK}---\n{BODY}",
    "no metadata": BODY,
    "empty": "",
}


@pytest.fixture
def run(tmp_path):
    return make_wide(tmp_path, 3)


def write(tmp_path, text):
    card = tmp_path / "README.md"
    card.write_bytes(text.encode())
    return card


def split(text):
    found = re.match(r"\ufeff?---\r?\n(.*?)^---\r?\n", text, re.DOTALL | re.MULTILINE)
    return (yaml.safe_load(found[1]) or {}, text[found.end() :]) if found else ({}, text)


@pytest.mark.parametrize("name", CARDS)
def test_nothing_else_of_the_card_changes_the_client_reads_it_and_again_changes_nothing(
    run, tmp_path, name
):
    card = write(tmp_path, CARDS[name])
    assert export_run(run, "model-index", card=card) == card
    text = card.read_bytes().decode()
    before, body = split(CARDS[name])
    after, same = split(text)
    assert same == body
    index = after.pop("model-index")
    old = before.pop("model-index", [])
    assert after == before
    kept = old[0]["results"] if old else []
    assert index[0]["results"][: len(kept)] == kept
    assert len(index[0]["results"]) == len(kept) + 1 + 3
    assert index[0]["name"] == (old[0]["name"] if old else "someone/model_1")
    assert ("\r\n" in text.partition("# Model")[0]) == (name == "crlf")
    assert not re.search(r"(?<!\r)\n", text) or name != "crlf"
    if name != "bom":  # the client cannot read cards with one
        found = ModelCard.load(card).data.eval_results
        ours = [result for result in found if result.dataset_type == "someone/facts"]
        assert len(ours) == 4 * (1 + 3)
        assert {r.metric_value for r in ours if r.metric_type == "rankc"} == {0.5}
        theirs = [result for result in found if result not in ours]
        assert all((r.metric_value, r.source_name) == (0.9, "Board") for r in theirs)
    export_run(run, "model-index", card=card)
    assert card.read_bytes().decode() == text


def test_ours_are_replaced_and_other_scorings_stay(tmp_path):
    card = write(tmp_path, CARDS["between"])
    export_run(make_wide(tmp_path / "a", 3), "model-index", card=card)
    export_run(make_wide(tmp_path / "b", 3, scoring="object"), "model-index", card=card)
    export_run(make_wide(tmp_path / "c", 2), "model-index", card=card)
    found = ModelCard.load(card).data.eval_results
    counts = {"bmlama-eq10": 4 * (1 + 2), "object": 4 * (1 + 3), None: 1}
    scorings = [(r.metric_args or {}).get("scoring") for r in found]
    assert {scoring: scorings.count(scoring) for scoring in counts} == counts
    assert len(found) == sum(counts.values())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("---\nlicense: mit\n", "README.md: its metadata have no closing `---`; add that line"),
        ("---\na: [\n---\n", "README.md: its metadata cannot be read: while parsing"),
        (
            "---\n- a\n---\n",
            "README.md: its metadata cannot be read: repo card metadata block should be",
        ),
        (
            "---\nmodel-index: mine\n---\n",
            "its metadata cannot be read: Invalid `model_index` in metadata",
        ),
        (
            "---\nmodel-index:\n- name: a\n---\n",
            "its metadata cannot be read: Invalid `model_index` in metadata",
        ),
    ],
)
def test_a_card_that_cannot_be_read_stays_as_it_is(run, tmp_path, text, said):
    card = write(tmp_path, text)
    with pytest.raises(PolyprobeError, match=re.escape(said)) as caught:
        export_run(run, "model-index", card=card)
    assert "\n" not in str(caught.value)
    assert card.read_bytes() == text.encode()


def test_a_missing_card_and_one_that_is_not_text(run, tmp_path):
    with pytest.raises(PolyprobeError, match="no model card .*README.md; give an existing one"):
        export_run(run, "model-index", card=tmp_path / "README.md")
    card = tmp_path / "README.md"
    card.write_bytes(b"\xff\xfe---")
    with pytest.raises(
        PolyprobeError, match="README.md: its metadata cannot be read: 'utf-8' codec"
    ):
        export_run(run, "model-index", card=card)
