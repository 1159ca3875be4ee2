"""Rows with a prompt for each candidate, and where the released code of Polyglot or Not reads."""

import json

import datasets
import pytest
import torch

from polyprobe.eval import evaluate_model, load_scorer
from polyprobe.publish.harness import export_dataset
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import Run
from polyprobe.system.messages import PolyprobeError
from tests.making import tiny
from tests.scoring import plain, zoo

STEMS = ["La capitale du [Y].", "La capitale de la [Y].", "La capitale des [Y]."]
ROWS = {
    "fact_id": ["a", "b"],
    "relation": ["P36", "P36"],
    "prompt": [STEMS[0], "Une ville est [Y]."],
    "candidates": [["Portugal", "France", "Indes"], ["Rome", "Paris"]],
    "answers": [[0], [0]],
    "prompts": [STEMS, None],
}
PLAIN = {
    ("bmlama", "gpt2"): plain.causal,
    ("object", "gpt2"): plain.causal_object,
    ("contrastive", "gpt2"): plain.causal_contrastive,
    ("contrastive", "bert"): plain.masked_contrastive,
    ("contrastive", "t5"): plain.seq2seq_contrastive,
}


def in_memory(rows=ROWS, languages=("fr",)):
    return datasets.DatasetDict({x: datasets.Dataset.from_dict(rows) for x in languages})


def stored(scorer, rows, folder, **options):
    evaluate_model(scorer, in_memory(rows), output=folder, **options)
    return Run(folder).read("fr")


@pytest.mark.parametrize(("scoring", "kind"), PLAIN)
def test_each_candidate_is_scored_in_its_own_prompt(scoring, kind, scorers, tmp_path):
    scorer = scorers(kind, scoring)
    table = stored(scorer, ROWS, tmp_path)
    reference = PLAIN[scoring, kind]
    asked = [STEMS, [ROWS["prompt"][1]] * 2]
    for prompts, candidates, scores in zip(
        asked, ROWS["candidates"], table["scores"].to_pylist(), strict=True
    ):
        pairs = zip(prompts, candidates, strict=True)
        want = [reference(scorer.model, scorer.tokenizer, p, c) for p, c in pairs]
        assert scores == pytest.approx(want, abs=1e-4)
    assert [len(row) for row in table["n_tokens"].to_pylist()] == [3, 2]
    assert table["donor"].null_count == 2  # no second question


@pytest.mark.parametrize("kind", ["gpt2", "bert", "t5"])
def test_equal_prompts_give_the_scores_of_one_prompt(kind, scorers, tmp_path):
    candidates = [["Paris", "Paris is", "Rome"]] * 2
    prompts = ["The capital is [Y].", "It is in [Y]."]
    equal = {**ROWS, "prompt": prompts, "candidates": candidates}
    equal |= {"prompts": [[prompt] * 3 for prompt in prompts]}
    one = {**equal, "prompts": [None, None]}
    scorer = scorers(kind, "contrastive")
    found = [
        stored(scorer, rows, tmp_path / name, donor=False)["scores"].to_pylist()
        for name, rows in (("equal", equal), ("one", one))
    ]
    for first, second in zip(*found, strict=True):
        assert first == pytest.approx(second, abs=1e-6)
        assert first[0] == first[1] != first[2]  # equal first sub-words tie


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"prompts": [STEMS[:2], None]},
            "the dataset: language 'fr', row 0 (a): the number of prompts is not that of the "
            "candidates (1 such rows); correct the dataset or rebuild it",
        ),
        (
            {"prompts": [[*STEMS[:2], "La capitale"], None]},
            "the dataset: language 'fr', row 0 (a): each of the prompts must hold the slot [Y] "
            "exactly once (1 such rows); correct the dataset or rebuild it",
        ),
        (
            {"prompts": ["x", "y"]},
            "the dataset: language 'fr': column 'prompts' is string; expected lists of text",
        ),
    ],
)
def test_mistakes_in_prompts_name_language_and_row(changed, message):
    with pytest.raises(PolyprobeError) as error:
        load_facts(in_memory({**ROWS, **changed}))
    assert str(error.value) == message


def test_a_flagged_candidate_may_occur_twice():
    twice = {**ROWS, "candidates": [["Portugal", "France", "France"], ["Rome", "Paris"]]}
    [table] = load_facts(in_memory({**twice, "flags": [["repeated_candidate"], []]})).values()
    assert table.num_rows == 2


@pytest.mark.parametrize(
    ("kind", "scoring"), [("bert", "mpararel"), ("gpt2", "letters"), ("bert", "xfactr")]
)
def test_protocols_with_one_prompt_are_refused(kind, scoring, tmp_path):
    rows = {**ROWS, "subject": ["x", "y"]}
    with pytest.raises(PolyprobeError) as error:
        evaluate_model(tiny.save_model(kind, tmp_path), in_memory(rows), scoring=scoring)
    assert str(error.value).startswith(f"language 'fr': --scoring {scoring}")
    assert "a prompt for each candidate (column 'prompts'); use --scoring contrastive" in str(
        error.value
    )


def test_harnesses_cannot_ask_them(tmp_path):
    folder = tmp_path / "set"
    folder.mkdir()
    lines = [dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)]
    datasets.Dataset.from_list(lines).to_parquet(folder / "fr.parquet")
    with pytest.raises(PolyprobeError, match="tasks of harnesses cannot ask; use `polyprobe eval`"):
        export_dataset(folder, "lm-eval", tmp_path / "out")


def test_prompts_are_part_of_the_fingerprint(scorers, tmp_path):
    stored(scorers("gpt2", "contrastive"), ROWS, tmp_path)
    other = {**ROWS, "prompts": [STEMS[::-1], None]}
    with pytest.raises(PolyprobeError, match="the split 'fr' has changed since"):
        stored(scorers("gpt2", "contrastive"), other, tmp_path)
    assert json.loads((tmp_path / "run.json").read_text())["donor"] is False


STEPS = {"t5": 4, "mt5": 4, "mpt": 4, "falcon-alibi": 3}
ASKED = [
    ("The capital of France is [Y].", ["Paris", "Berlin", "Rome"]),
    ("La capitale de l'[Y] est", ["Italie", "Europe"]),
    ("Столица Франции — [Y].", ["Париж", "Берлин", "Москва"]),
    ("Die Hauptstadt ist [Y]", ["Wien", "Bern"]),
    ("In short: [Y]", ["yes", "no"]),
    ("The river runs through [Y].", ["Köln", "Basel"]),
]


def by_generation(model, tokenizer, prompt, candidate, steps):
    """Return log P(first piece) at the first generated token that is not skipped, else the last."""
    ids = torch.tensor([tokenizer(prompt.split("[Y]")[0].rstrip())["input_ids"]])
    own = model.config.is_encoder_decoder
    options = {"max_new_tokens": steps, "do_sample": False, "eos_token_id": None}
    kept = {"output_logits": True, "return_dict_in_generate": True}
    found = model.generate(ids, attention_mask=torch.ones_like(ids), **options, **kept)
    tokens = found.sequences[0][1 if own else ids.shape[1] :].tolist()
    skipped = (
        {"<extra_id_0>", tokenizer.pad_token, ""} if own else {*tokenizer.all_special_tokens, ""}
    )
    places = [k for k, t in enumerate(tokens) if tokenizer.decode([t]).strip() not in skipped]
    at = min([*places, steps - 1])
    log_p = torch.log_softmax(found.logits[at][0].double(), -1)
    return log_p[plain.first_piece(tokenizer, prompt, candidate)].item(), at


@pytest.mark.parametrize("kind", STEPS)
def test_released_reads_where_generation_says_the_first_word(kind, tmp_path):
    zoo.save_kind(kind, tmp_path)
    scorer = load_scorer(str(tmp_path), scoring="contrastive-released")
    assert scorer.scoring == "contrastive-released"
    head = scorer.model.get_output_embeddings().weight
    tokenizer = scorer.tokenizer
    own = scorer.model.config.is_encoder_decoder
    skipped = "<extra_id_0>" if own else tokenizer.eos_token
    row = tokenizer.convert_tokens_to_ids(skipped)
    kept, places = head[row].clone(), set()
    for factor in (1, 4, -4, 20, -20):  # the skipped token is sometimes the most probable
        with torch.no_grad():
            head[row] = kept * factor
        scores = scorer.score([p for p, _ in ASKED], [c for _, c in ASKED])
        for (prompt, candidates), found in zip(ASKED, scores, strict=True):
            for candidate, score in zip(candidates, found, strict=True):
                want, at = by_generation(scorer.model, tokenizer, prompt, candidate, STEPS[kind])
                assert score == pytest.approx(want, abs=1e-4), (factor, prompt, at)
                places.add(at)
    assert len(places) > 1  # not always the first


def test_released_is_contrastive_where_nothing_is_generated(scorers):
    prompts, candidates = [p for p, _ in ASKED], [c for _, c in ASKED]
    for kind in ("gpt2", "bert", "bloom"):
        own, released = (scorers(kind, s) for s in ("contrastive", "contrastive-released"))
        assert released.score(prompts, candidates) == own.score(prompts, candidates)
