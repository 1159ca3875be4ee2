"""Tokens of answers and candidates, against plain calls of the tokenizers."""

import json
import shutil
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from transformers import AutoTokenizer

from polyprobe.analysis.tokens import count_tokens
from polyprobe.cli import main
from polyprobe.eval.work.predictions import predict
from polyprobe.schema.load import load_facts
from polyprobe.scoring.load import load_scorer
from polyprobe.scoring.options import DecodingOptions, check_model_revision
from polyprobe.scoring.weights.places import find_tokenizer, load_tokenizer
from polyprobe.system.messages import PolyprobeError
from tests.making import tiny

ROOT = Path(__file__).parents[2]
GEOLM = ROOT / "scoring" / "embedded" / "geolm"
MASKED = ROOT / "tests" / "data" / "models" / "masked"


def table(*rows):
    return pa.Table.from_pylist(
        [{"prompt": p, "candidates": c, "answers": a} for p, c, a in rows],
        schema=pa.schema([
            ("prompt", pa.string()), ("candidates", pa.list_(pa.string())),
            ("answers", pa.list_(pa.int32())),
        ]),
    )  # fmt: skip


@pytest.mark.parametrize("folder", [GEOLM, MASKED], ids=["geolm", "masked"])
def test_counts_are_those_of_plain_calls(folder):
    plain = AutoTokenizer.from_pretrained(folder)
    tables = load_facts("geofacts", languages=["en", "el", "zh"])
    for texts in ("answers", "candidates"):
        found = count_tokens(load_tokenizer(find_tokenizer(str(folder))), tables, texts)
        for language, rows in tables.items():
            names = [
                name
                for row in rows.to_pylist()
                for place, name in enumerate(row["candidates"])
                if texts == "candidates" or place == row["answers"][0]
            ]
            pieces = [plain.tokenize(name) for name in names]
            made = found[language]
            assert made.n_texts == len(names)
            assert made.counts == Counter(map(len, pieces))
            assert made.n_tokens == sum(map(len, pieces))
            assert made.n_words == len(" ".join(names).split())
            assert made.n_characters == sum(not c.isspace() for name in names for c in name)
            assert made.n_unknown == sum(plain.unk_token in piece for piece in pieces)


def test_shares_and_ratios_by_hand():
    class Letters:
        """A token is a letter, a digit is an unknown token, a blank none."""

        unk_token_id = 0

        def __call__(self, texts, add_special_tokens):
            return {"input_ids": [
                [0 if c.isdigit() else ord(c) for c in text if c != " "] for text in texts
            ]}  # fmt: skip

        def convert_ids_to_tokens(self, ids):
            return chr(ids)

    rows = [
        ("x [Y]", ["abc", "d"], [0]),
        ("x [Y]", ["ab c", "d"], [0]),
        ("x [Y]", ["a", "ab1"], [1, 0]),
    ]
    found = count_tokens(Letters(), {"en": table(*rows)})["en"]
    assert found.counts == {3: 3}
    assert found.as_json() == {
        "n_texts": 3,
        "shares": {"3": 1.0},
        "tokens": 3.0,
        "tokens_per_word": 9 / 4,
        "tokens_per_character": 1.0,
        "unknown": 1 / 3,
    }
    everything = count_tokens(Letters(), {"en": table(*rows)}, "candidates")["en"]
    assert everything.counts == {1: 3, 3: 3}
    assert (everything.share(1, 1), everything.share(2), everything.share(1)) == (0.5, 0.5, 1.0)


def test_a_separate_boundary_counts_only_behind_a_blank():
    tokenizer = tiny.xlmr_tokenizer(["北京 在 中国", "Paris is in France"])
    pieces = tokenizer.tokenize("北京")
    assert pieces[0] == "▁"
    found = count_tokens(
        tokenizer, {"zh": table(("在[Y]", ["北京"], [0]), ("在 [Y]", ["北京"], [0]))}
    )
    assert found["zh"].counts == {len(pieces) - 1: 1, len(pieces): 1}


def test_one_token_is_what_the_free_decoding_calls_single():
    scorer = load_scorer(str(MASKED), scoring="xfactr")
    names = ["a", "Peru", "b", "Chad", "\U0001f1f5", "c"]
    part = load_facts("geofacts", languages=["en"])["en"].slice(0, len(names))
    for column, values in (("candidates", [[x] for x in names]), ("answers", [[0]] * len(names))):
        place = part.column_names.index(column)
        part = part.set_column(place, column, pa.array(values, part.schema.field(column).type))
    single = predict(scorer, part, "en", DecodingOptions(max_masks=1)).table["single_token"]
    found = count_tokens(scorer.tokenizer, {"en": part})["en"]
    assert found.n_unknown == single.null_count
    asked = count_tokens(scorer.tokenizer, {"en": part.filter(single.is_valid())})["en"]
    marks = single.to_pylist()
    assert asked.counts[1] == marks.count(True) > 0
    assert sum(asked.counts.values()) - asked.counts[1] == marks.count(False) > 0


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setattr(sys, "argv", ["polyprobe", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        shown = capsys.readouterr()
        return end.value.code, shown.out.splitlines(), shown.err.strip().splitlines()

    return run


def test_the_command_needs_no_weights(here, tmp_path):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / "own").mkdir(exist_ok=True)
        shutil.copy(GEOLM / name, tmp_path / "own" / name)
    code, lines, _ = here(
        "tokens", "./own", "--dataset", "geofacts", "--languages", "en,el", "--json", "t.json"
    )
    assert code == 0
    assert [line.split()[0] for line in lines[:4]] == ["language", "en", "el", "mean"]
    assert not any("…" in line for line in lines)
    made = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert (made["texts"], list(made["languages"])) == ("answers", ["en", "el"])
    english = made["languages"]["en"]
    assert sum(english["shares"].values()) == pytest.approx(1)
    shown = dict(zip(lines[0].split(), lines[1].split(), strict=True))
    assert float(shown["2"]) == round(100 * english["shares"]["2"], 1)
    assert float(shown["/word"]) == round(english["tokens_per_word"], 2)


def test_the_file_names_model_and_data_as_a_run_does(here, tmp_path):
    asked = ("--dataset", "geofacts", "--languages", "en,el")
    assert here("eval", "geolm", *asked, "--limit", "1", "--output", "run")[0] == 0
    assert here("tokens", "geolm", *asked, "--json", "t.json")[0] == 0
    run, made = (json.loads((tmp_path / x).read_text()) for x in ("run/run.json", "t.json"))
    assert len(made["revision"]) == len("sha256-") + 64
    for name in ("model", "revision", "config", "fingerprint"):
        assert made[name] == run[name]


def test_a_revision_is_of_the_base_of_an_adapter(tmp_path):
    (tmp_path / "adapter_config.json").write_text("{}")
    check_model_revision(str(tmp_path), "main")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("./none",), "error: "),
        (("geolm", "--languages", "en,xx"), "error: unknown language 'xx' in geofacts"),
        (("geolm", "--languages", ""), "error: --languages is empty"),
        (("geolm", "--config", "huge"), "error: unknown configuration 'huge' in geofacts"),
        (("geolm", "--json", "."), "error: "),
        ((MASKED, "--revision", "foo"), f"error: --revision foo: '{MASKED}' is not on the Hub"),
    ],
)
def test_mistakes_are_one_line(here, arguments, message):
    code, _, errors = here("tokens", arguments[0], "--dataset", "geofacts", *arguments[1:])
    assert (code, len(errors)) == (1, 1)
    assert errors[0].startswith(message)


def test_a_folder_without_a_tokenizer_is_named(tmp_path):
    with pytest.raises(PolyprobeError, match="no tokenizer of '.*give a model that"):
        load_tokenizer(find_tokenizer(str(tmp_path)))
