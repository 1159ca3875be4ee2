"""Protocols: rows in any company, the BOS, first pieces, lengths, and refusals."""

import copy
import random

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers
from transformers import PreTrainedTokenizerFast
from typer.testing import CliRunner

from polyprobe.cli import app
from polyprobe.eval import load_scorer
from polyprobe.scoring.scorers import FAMILIES, SCORINGS
from polyprobe.scoring.scorers.causal import CausalContrastiveScorer, CausalObjectScorer
from polyprobe.scoring.scorers.part import first_pieces
from polyprobe.scoring.scorers.scorer import Queries
from polyprobe.system.messages import PolyprobeError
from tests.making import tiny
from tests.scoring import plain
from tests.scoring.protocols import KINDS, PLAIN, QUERIES, score

OPENING = [
    ("[Y] is the capital of France.", ["Paris", "Berlin"]),
    ("[Y]は日本の首都です。", ["東京", "北京"]),
]


CASES = [(s, kind) for s, family in PLAIN for kind, of in KINDS.items() if of == family]


@pytest.mark.parametrize(
    ("scoring", "length"),
    [
        ("object-tokens", lambda candidate, n_tokens: n_tokens),
        ("object-characters", lambda candidate, n_tokens: {"Paris": 5, "東京": 2}[candidate]),
        ("object-bytes", lambda candidate, n_tokens: {"Paris": 5, "東京": 6}[candidate]),
    ],
)
@pytest.mark.parametrize("kind", ["llama", "xlm-roberta", "t5"])
def test_the_sum_is_divided_by_the_object_s_length(kind, scoring, length, scorers):
    prompts, candidates = ["La capitale est [Y].", "首都は[Y]です。"], [["Paris", "東京"]] * 2
    sums = scorers(kind, "object").score_counted(prompts, candidates)
    scorer = scorers(kind, scoring)
    assert scorer.scoring == scoring
    for row, total in zip(scorer.score(prompts, candidates), sums, strict=True):
        pairs = zip(total.scores, candidates[0], total.n_tokens, strict=True)
        assert row == pytest.approx([x / length(c, n) for x, c, n in pairs], rel=1e-6)


@pytest.mark.parametrize(("kind", "scoring"), [("xlm-roberta", "bmlama"), ("t5", "bmlama")])
def test_the_object_by_tokens_is_bmlama_s_score_where_nothing_else_counts(kind, scoring, scorers):
    want, got = (score(scorers(kind, s), QUERIES) for s in (scoring, "object-tokens"))
    for one, two in zip(want, got, strict=True):
        assert two == pytest.approx(one, abs=1e-6)


@pytest.mark.parametrize(("scoring", "kind"), [c for c in CASES if c[1] in ("gpt2", "bert", "t5")])
def test_scores_do_not_depend_on_batch_size_or_company(scoring, kind, scorers):
    whole = score(scorers(kind, scoring), QUERIES)
    small = score(scorers(kind, scoring, batch_tokens=1), QUERIES)
    shuffled = random.Random(3).sample(range(len(QUERIES)), len(QUERIES))
    turned = [(QUERIES[k][0], QUERIES[k][1][::-1]) for k in shuffled]
    mixed = score(scorers(kind, scoring), turned)
    for k, row in enumerate(whole):
        assert row == pytest.approx(small[k], abs=1e-4)
        assert row == pytest.approx(mixed[shuffled.index(k)][::-1], abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_equal_first_pieces_tie_to_the_last_bit(kind, scorers):
    scorer = scorers(kind, "contrastive")
    fillers = ["Rome", "Berlin", "Paris is"]
    prompts = ["The capital of France is [Y].", "La capitale est [Y] ici"]
    scored = scorer.score_counted(prompts, [["Paris", *fillers, "Paris"]] * 2)
    for prompt, (row, counts, *_) in zip(prompts, scored, strict=True):
        firsts = [plain.first_piece(scorer.tokenizer, prompt, c) for c in ["Paris", *fillers]]
        assert firsts[0] == firsts[3] != firsts[2]
        assert row[0] == row[3] == row[4] != row[2]
        assert counts == [1] * 5


@pytest.mark.parametrize("scoring", ["object", "contrastive"])
def test_a_decoder_does_not_see_what_is_behind_the_slot(scoring, scorers):
    scorer = scorers("gpt2", scoring)
    long, short, other = score(
        scorer,
        [(f"The capital is [Y]{end}", ["Paris", "Rome"]) for end in (" of France.", "", "!")],
    )
    assert long == short == other


@pytest.mark.parametrize("scoring", ["bmlama", "object", "contrastive"])
def test_bos_is_a_setting_of_causal_models(scoring, scorers):
    for kind, by_default in (("llama", False), ("bloom", scoring != "contrastive")):
        for bos, adds in (("auto", by_default), ("always", True), ("never", False)):
            scorer = scorers(kind, scoring, bos=bos)
            assert scorer.bos == ("never" if (kind, bos, adds) == ("bloom", "auto", False) else bos)
            queries = QUERIES[:4] + (OPENING if adds else [])
            for (prompt, candidates), row in zip(queries, score(scorer, queries), strict=True):
                reference = PLAIN[scoring, "causal"]
                want = [
                    reference(scorer.model, scorer.tokenizer, prompt, c, add_bos=adds)
                    for c in candidates
                ]
                assert row == pytest.approx(want, abs=1e-4), (kind, bos)


@pytest.mark.parametrize(
    ("template", "bos", "front", "appended"),
    [
        ("$A </s>", "auto", 0, 1),
        ("<s> $A </s>", "auto", 1, 1),
        ("<s> $A </s>", "never", 0, 1),
        ("$A </s>", "always", 1, 1),
        ("<s> $A", "auto", 1, 0),
        ("$A", "auto", 0, 0),
    ],
)
@pytest.mark.parametrize("kind", [CausalObjectScorer, CausalContrastiveScorer])
def test_an_eos_that_the_tokenizer_appends_is_not_between(
    kind, template, bos, front, appended, scorers
):
    model = scorers("gpt2", "bmlama").model
    special = ["<s>", "</s>", "<unk>"]
    tokenizer = tiny.unigram(tiny.TEXT, special, template, bos_token="<s>", eos_token="</s>")
    scorer = kind(model, tokenizer, bos=bos)
    prompt, candidates = "The capital of France is [Y].", ["Paris", "the city", "北京"]
    reference = PLAIN[scorer.scoring, "causal"]
    extra = {"add_bos": bos == "always", "appended": appended}
    want = [reference(model, tokenizer, prompt, c, **extra) for c in candidates]
    if bos == "never" and "<s>" in template:
        bare = copy.deepcopy(tokenizer)
        bare.backend_tokenizer.post_processor = tiny.unigram(
            tiny.TEXT, special, "$A"
        ).backend_tokenizer.post_processor
        want = [reference(model, bare, prompt, c) for c in candidates]
    assert scorer.score([prompt], [candidates])[0] == pytest.approx(want, abs=1e-4)
    [prefix] = scorer.prefixes(["The capital"])
    assert prefix.count(1) == 0
    assert prefix.count(0) == front


def encode_pair(tokenizer, context, choice):
    """Return the ids of context and choice: `TemplateLM._encode_pair` of lm-eval 0.4.13."""
    n = len(context) - len(context.rstrip())
    if n:
        context, choice = context[:-n], context[-n:] + choice
    front = tokenizer(context)["input_ids"]
    return front, tokenizer(context + choice)["input_ids"][len(front) :]


@pytest.mark.parametrize("kind", ["gpt2", "bloom", "geolm", "llama 2"])
def test_behind_blanks_the_object_has_the_tokens_of_lm_eval(kind, scorers):
    """For the tokenizers of GPT-2, BLOOM, geolm and Llama 2, which marks words by itself."""
    if kind == "geolm":
        scorer = load_scorer("geolm", scoring="object")
    else:
        scorer = copy.copy(scorers("bloom" if kind == "bloom" else "gpt2", "object", bos="never"))
    asked = [x for x in QUERIES if x[0].partition("[Y]")[0].endswith(" ")]
    asked.append(("The city  [Y]", ["Paris"]))
    if kind == "llama 2":
        scorer.tokenizer, asked = llama_2_like(), [("Paris is [Y]", ["Paris", "is", "is Paris"])]
    prompts, candidates = zip(*asked, strict=True)
    prepared = scorer.prepare(prompts, candidates)
    reads = {
        number: (row.ids[: place + 1], target)
        for row, entry in prepared.plan.reads.items()
        for number, place, target in zip(entry.numbers, entry.positions, entry.targets, strict=True)
    }
    for (prompt, row), numbers in zip(asked, prepared.numbers, strict=True):
        for candidate, own in zip(row, numbers, strict=True):
            front, ids = encode_pair(scorer.tokenizer, prompt.partition("[Y]")[0], candidate)
            want = [((*front, *ids[:k]), ids[k]) for k in range(len(ids))]
            assert [reads[number] for number in own] == want


def test_as_released_the_candidate_is_never_joined_to_the_prompt(scorers):
    """`is` and `Paris` separately, though `isParis` splits elsewhere; the trailing space stays."""
    scorer = scorers("gpt2", "object-released")
    tokenizer = scorer.tokenizer
    prompt = "The capital of France is [Y]."
    assert tokenizer.tokenize("France is Paris")[-1] == "ĠParis"
    assert tokenizer.tokenize("France is ")[-1] == "Ġ"
    [counted] = scorer.score_counted([prompt], [["Paris", "東京"]])
    assert counted.n_tokens == [len(tokenizer.tokenize(c)) for c in ("Paris", "東京")]
    assert scorer.prefixes(["France is "])[0][-1] == tokenizer.convert_tokens_to_ids("Ġ")


def llama_2_like():
    words = [
        "▁Paris",
        "▁is",
        "▁",
        "▁▁",
        "P",
        "a",
        "r",
        "i",
        "s",
        "Pa",
        "Par",
        "Pari",
        "Paris",
        "▁i",
    ]
    vocabulary = {w: k for k, w in enumerate(["<unk>", *words])}
    merges = [("▁", "▁"), ("P", "a"), ("Pa", "r"), ("Par", "i"), ("Pari", "s"), ("▁", "Paris"),
              ("▁", "i"), ("▁i", "s")]  # fmt: skip
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>")


FIRST = [
    (llama_2_like, "is [Y]", "Paris", "▁Paris"),  # with an added space it would be `▁▁`, `Paris`
    (llama_2_like, "is'[Y]", "Paris", "▁Paris"),  # the boundary has merged: it stays
    (llama_2_like, "is [Y]", "s", "s"),  # `▁`, `s`
    (lambda: tiny.byte_level(tiny.TEXT), "is [Y]", "Paris", "ĠParis"),
    (lambda: tiny.byte_level(tiny.TEXT), "is([Y]", "Paris", "Paris"),
    (lambda: tiny.byte_level(tiny.TEXT), "[Y] is", "Paris", "Paris"),
    (lambda: tiny.byte_level(tiny.TEXT), "是 [Y]", "巴黎", "å·´é»İ"),  # `Ġ` alone is skipped
    (lambda: tiny.byte_level(tiny.TEXT), "το [Y]", "Αθήνα", "ĠÎ"),  # half a letter is a piece
    (lambda: tiny.xlmr_tokenizer(tiny.TEXT), "is [Y]", "Paris", "▁Paris"),
    (lambda: tiny.xlmr_tokenizer(tiny.TEXT), "是[Y]", "北京", "北"),  # `▁`, `北`, `京`
    (lambda: tiny.xlmr_tokenizer(tiny.TEXT), "το [Y]", "Θήβα", "<unk>"),
    (lambda: tiny.word_piece(tiny.TEXT), "is [Y]", "Paris", "Paris"),
    (lambda: tiny.word_piece(tiny.TEXT), "— [Y]", "Париж", "П"),
    (lambda: tiny.word_piece(tiny.TEXT), "το [Y]", "Αθήνα", "[UNK]"),
]


@pytest.mark.parametrize(("make", "prompt", "candidate", "piece"), FIRST)
def test_the_first_piece_follows_from_what_the_tokenizer_does(make, prompt, candidate, piece):
    tokenizer = make()
    pieces = {candidate: tuple(tokenizer(candidate, add_special_tokens=False)["input_ids"])}
    [[found]] = first_pieces(Queries([prompt], [[candidate]], pieces), tokenizer)
    assert tokenizer.convert_ids_to_tokens(found) == piece


def test_a_candidate_of_blanks_alone_has_no_first_piece():
    tokenizer = tiny.byte_level(tiny.TEXT)
    tokenizer.add_tokens(["<blank>"])
    pieces = {"x": tuple(tokenizer("  ", add_special_tokens=False)["input_ids"])}
    with pytest.raises(PolyprobeError, match="candidate 'x' is nothing but blanks"):
        first_pieces(Queries(["[Y]"], [["x"]], pieces), tokenizer)


@pytest.mark.parametrize("scoring", ["mpararel", "mpararel-released"])
def test_one_input_a_prompt_and_length_and_one_place_a_mask(scoring, scorers, monkeypatch):
    """400 candidates of lengths L are read in len(L) inputs, at sum(L) places, not at thousands."""
    scorer = scorers("xlm-roberta", scoring)
    names = [
        a + b for a in ("Paris", "Berlin", "Москва", "法国", "Rome") for b in map(str, range(80))
    ]
    counts = [len(scorer.tokenizer.tokenize(name)) for name in names]
    inputs, places = [], []
    run, take = scorer.engine.path.states, type(scorer).values
    monkeypatch.setattr(
        scorer.engine.path, "states", lambda plan, batch: inputs.extend(batch) or run(plan, batch)
    )
    monkeypatch.setattr(
        type(scorer),
        "values",
        lambda self, logits, *which: places.append(len(logits)) or take(self, logits, *which),
    )
    [scored] = scorer.score_counted(["The capital is [Y]."], [names])
    assert scored.n_tokens == counts
    assert len(inputs) == len(set(counts)) < 15
    assert sum(places) == sum(set(counts)) < sum(counts) / 20
    for k in (0, 85, 399):
        want = PLAIN[scoring, "masked"](
            scorer.model, scorer.tokenizer, "The capital is [Y].", names[k]
        )
        assert scored.scores[k] == pytest.approx(want, abs=1e-4)


@pytest.mark.parametrize("scoring", ["object", "contrastive"])
def test_a_slot_that_opens_the_prompt_needs_a_bos(scoring, scorers):
    with pytest.raises(PolyprobeError, match="'' before the slot has no tokens.*--bos always"):
        scorers("llama", scoring).score(["[Y] is a city."], [["Paris"]])


@pytest.mark.parametrize(
    ("prompt", "candidates", "message"),
    [
        ("no slot", ["a"], "prompt 0 holds the slot [Y] 0 times, expected once: 'no slot'"),
        ("[Y].", [], "prompt 0 has no candidates"),
        ("[Y].", ["a", " "], "prompt 0 has an empty candidate"),
        ("is " + "very " * 300 + "[Y]", ["Paris"], "tokens, the model reads"),
    ],
)
@pytest.mark.parametrize("case", [c for c in CASES if c[1] in ("gpt2", "xlm-roberta")])
def test_bad_queries_are_refused(case, prompt, candidates, message, scorers):
    with pytest.raises(PolyprobeError) as error:
        scorers(case[1], case[0]).score([prompt], [candidates])
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("kind", "scoring", "message"),
    [
        ("gpt2", "mpararel", "--scoring mpararel is for masked models, 'X' is causal; known for "
         "causal: bmlama, object, object-released, object-tokens, object-characters, "),
        ("t5", "mpararel-released", "--scoring mpararel-released is for masked models, 'X' is "
         "seq2seq; known for seq2seq: bmlama, object, "),
        ("gpt2", "xfactr", "--scoring xfactr is for masked models, 'X' is causal; "),
    ],
)  # fmt: skip
def test_a_protocol_of_another_family_is_refused(kind, scoring, message, tmp_path):
    folder = str(tiny.save_model(kind, tmp_path / kind))
    with pytest.raises(PolyprobeError) as error:
        load_scorer(folder, scoring=scoring)
    assert str(error.value).startswith(message.replace("X", folder))
    assert "\n" not in str(error.value)


def test_every_scoring_is_tested_here_and_named_by_the_command():
    elsewhere = {("xfactr", "masked"), ("pll", "masked"), ("pll-word-l2r", "masked")}
    elsewhere |= {(s, f) for s in ("letters", "contrastive-released") for f in FAMILIES}
    elsewhere |= {("answer", "causal"), ("answer", "seq2seq")}
    tested = {*PLAIN, *elsewhere}
    tested |= {(f"object-{x}", f) for x in ("tokens", "characters", "bytes") for f in FAMILIES}
    assert {(s, f) for s, families in SCORINGS.items() for f in families} == tested
    shown = CliRunner().invoke(app, ["eval", "--help"], env={"COLUMNS": "200"}).output
    for scoring in SCORINGS:
        assert scoring in shown
