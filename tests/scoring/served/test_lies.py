"""Servers that change log-probabilities, or have several models, are refused or documented."""

import re
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import torch

from polyprobe.analysis.compare.runs import compare_runs
from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.report.findings.comparison import list_notes
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import Run
from polyprobe.scoring.served.server import Place, find_fault, find_floor, read_place
from polyprobe.system.messages import PolyprobeError

from .lies import GENERATED, LIES, OTHERS, VALUES, Liar
from .stand_in import DIALECTS, running

PAGE = Path(__file__).parents[3] / "docs" / "served.md"
# Of each kind, with a part of the refusal
USUAL = [
    ("base 2", "vllm", "add up to 0.* at most"),
    ("base 10", "llama.cpp", "above one"),
    ("2 decimals", "completions", "more than one|are rounded"),
    ("float16", "llama.cpp", "are rounded"),
    ("floor -15", "completions", "one floor"),
    ("least of 20 outside of them", "vllm", "of a likely one"),
    ("of the next token", "completions", "those of other places"),
    ("another after 60", "completions", "that were sent again|another model behind"),
    ("earlier answers", "vllm", "prompts that were sent again"),
]


@cache
def rows():
    table = load_facts("geofacts", languages=["en"])["en"].slice(0, 10)
    return table["prompt"].to_pylist(), [x[:20] for x in table["candidates"].to_pylist()]


@cache
def own_scores():
    return load_scorer("geolm").score(*rows())


def try_lie(lie, dialect):
    """Return the refusal, `equal` or `silent`."""
    with running(Liar(dialect, lie)) as server:
        try:
            scores = load_scorer("geolm", server=server.url).score(*rows())
        except PolyprobeError as error:
            return str(error)
    pairs = zip(own_scores(), scores, strict=True)
    return "equal" if max(np.abs(np.subtract(*x)).max() for x in pairs) < 1e-3 else "silent"


def read_unnoticed():
    """Return the first column of the table of the page."""
    [section] = re.findall(r"## What the checks cannot notice\n(.*?)\n## ", PAGE.read_text(), re.S)
    cells = re.findall(r"^\| ([^|]+) \|", section, re.M)[1:]
    return {name for cell in cells for name in cell.split(", ") if set(cell) - {"-"}}


@pytest.mark.parametrize(("lie", "dialect", "words"), USUAL)
def test_a_lie_is_refused(lie, dialect, words):
    assert re.search(words, try_lie(lie, dialect))


@pytest.mark.acceptance
@pytest.mark.parametrize("lie", LIES)
def test_each_lie_is_refused_or_harmless_or_on_the_page(lie):
    outcomes = {dialect: try_lie(lie, dialect) for dialect in DIALECTS}
    silent = "silent" in outcomes.values()
    name = re.sub(r"(temperature) .*", r"\1", lie.removesuffix(GENERATED))
    if silent or (lie not in OTHERS and not lie.endswith(GENERATED)):
        assert silent == (name in read_unnoticed()), outcomes
    assert lie != "none" or {*outcomes.values()} == {"equal"}


def test_the_page_names_lies_alone():
    names = {re.sub(r"(temperature) .*", r"\1", lie) for lie in LIES}
    assert read_unnoticed() <= names
    assert len(LIES) > 40


def test_compare_with_a_second_source_shows_the_largest_difference(tmp_path):
    options = {"languages": ["en", "es"], "sample": 4, "cache": False, "donor": False}
    evaluate_model("geolm", "geofacts", output=tmp_path / "own", **options)
    with running(Liar("vllm", "temperature 2")) as server:
        options |= {"server": server.url, "output": tmp_path / "served"}
        evaluate_model("geolm", "geofacts", **options)
    runs = [Run(tmp_path / name) for name in ("own", "served")]
    options = {"n_resamples": 50, "test": "bootstrap", "correction": "holm"}
    comparison = compare_runs(*runs, **options)
    scores = [[run.read(x)["scores"].to_pylist() for x in ("en", "es")] for run in runs]
    gaps = np.abs(np.subtract(*(np.concatenate([*chain(*x)]) for x in scores)))
    assert comparison.score_difference == pytest.approx(gaps.max(), rel=1e-5)
    assert gaps.max() > 0.5
    line = f"scores of a candidate differ by {gaps.max():.3g} nats at most"
    assert line in list_notes(comparison)
    assert compare_runs(runs[0], runs[0], **options).score_difference is None


def make_places(seed, dtype):
    """Return the places of a random model: its logits have the bits of a dtype."""
    generator = torch.Generator().manual_seed(seed)
    size, spread = [(300, 8.0), (4000, 4.0), (30_000, 2.5)][seed % 3]
    logits = spread * torch.randn(150, size, generator=generator) + torch.randint(-30, 30, (1,))
    logits[::3, :3] += 6 * spread  # places at which it is sure
    rows = logits.to(dtype).float().log_softmax(1)
    tokens = torch.randint(size, (150,), generator=generator).tolist()
    tokens[::2] = rows[::2].argmax(1).tolist()
    return rows, tokens


def as_places(rows, tokens):
    best = rows.topk(20)
    places = []
    for row, token, values, ids in zip(rows, tokens, *best, strict=True):
        top = dict(zip(ids.tolist(), values.tolist(), strict=True))
        places.append(read_place(row[token].item(), top | {token: row[token].item()}))
    return places


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_no_model_is_refused_for_the_bits_of_its_logits(dtype):
    for seed in range(60):
        rows, tokens = make_places(seed, dtype)
        assert find_fault(as_places(rows, tokens), rows.shape[1]) == ""
        behind = [Place(None, sorted(row.tolist(), reverse=True)) for row in rows[:3]]
        assert find_fault(behind, rows.shape[1]) == ""


@pytest.mark.parametrize(
    "lie", ["base 10", "2 decimals", "1 decimal", "whole nats", "3 bits", "bfloat16", "float16",
            "floor -10", "ceiling -1", "-10,000 outside of 50", "half", "minus 1"]
)  # fmt: skip
def test_changed_values_of_any_model_are_refused(lie):
    for seed in range(6):
        rows, tokens = make_places(seed, torch.bfloat16)
        assert find_fault(as_places(VALUES[lie](rows), tokens), rows.shape[1])


def test_three_equal_values_are_a_floor():
    assert "all -9.5" in find_floor([-1.0, -9.5, -9.5, -9.5])
    assert (
        find_floor([-1.0, -1.0, -1.0, -9.5, -9.5]) == find_floor([0.0] * 3) == find_floor([]) == ""
    )
