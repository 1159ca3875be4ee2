"""Batches of switched sentences: how often what is drawn, and a Trainer that takes them."""

import copy
import re
import unicodedata

import pytest
import torch
import transformers
from scipy.stats import binomtest

from polyprobe.system.messages import PolyprobeError
from polyprobe.training.collator import SwitchCollator
from tests.making import tiny

PAIR = {
    "raw": {"text": "Paris is a city in France.", "mentions": [[0, 5], [19, 25]]},
    "switched": {"text": "Παρίσι is a city in Γαλλία.", "mentions": [[0, 6], [20, 26]]},
    "language": "en",
    "target": "el",
}


def fits(count, total, share):
    """Tell whether a count is within the two-sided binomial bounds of 99.99%."""
    return binomtest(int(count), int(total), share).pvalue > 1e-4


def collate(tokenizer, n=10_000, seed=0, **options):
    torch.manual_seed(seed)
    return SwitchCollator(tokenizer, **options)([PAIR] * n)


def mark(tokenizer, part):
    """Mark the tokens of the names by their characters, one by one: ids, marks of names."""
    text, mentions = PAIR[part]["text"], PAIR[part]["mentions"]
    code = tokenizer(text, return_offsets_mapping=True)
    inside = {place for start, end in mentions for place in range(start, end)}
    marks = [bool(inside & {*range(a, b)}) for a, b in code["offset_mapping"]]
    return torch.tensor(code["input_ids"]), torch.tensor(marks)


def find_raw(tokenizer, batch):
    """Return the ids before masking, and which rows are raw: by the labels and all else."""
    whole = torch.where(batch["labels"] >= 0, batch["labels"], batch["input_ids"])
    raw, _ = mark(tokenizer, "raw")
    length = min(len(raw), whole.shape[1])
    return whole, (whole[:, :length] == raw[:length]).all(1)


@pytest.mark.parametrize("share", [0.7, 0.0, 1.0])
def test_the_share_of_raw_sentences(tokenizer, share):
    options = {"objective": "causal"} | ({} if share == 0.7 else {"raw_share": share})
    whole, raw = find_raw(tokenizer, collate(tokenizer, **options))
    assert fits(raw.sum(), 10_000, share)
    assert not fits(raw.sum(), 10_000, 0.65)
    switched, _ = mark(tokenizer, "switched")
    assert all(torch.equal(row[: len(switched)], switched) for row in whole[~raw])


@pytest.mark.parametrize("part", ["raw", "switched"])
def test_names_are_masked_more_often_than_other_tokens(tokenizer, part):
    ids, marks = mark(tokenizer, part)
    batch = collate(tokenizer, raw_share=float(part == "raw"))
    n, size = 10_000, len(ids)
    assert batch["labels"].shape == (n, size)
    predicted = batch["labels"] != -100
    assert (batch["labels"][predicted] == ids.expand(n, -1)[predicted]).all()
    assert (batch["input_ids"][~predicted] == ids.expand(n, -1)[~predicted]).all()
    special = torch.tensor([x in tokenizer.all_special_ids for x in ids.tolist()])
    assert special.sum() == 1
    assert not predicted[:, special].any()
    for place in range(1, size):  # behind the special one
        assert fits(predicted[:, place].sum(), n, 0.5 if marks[place] else 0.15)
    assert 0 < marks.sum() < size - 1


def test_of_the_drawn_tokens_80_are_masked_10_random_10_the_same(tokenizer):
    batch = collate(tokenizer)
    predicted = batch["labels"] != -100
    before, after = batch["labels"][predicted], batch["input_ids"][predicted]
    n, words = len(before), len(tokenizer)
    assert n > 10_000
    assert fits((after == tokenizer.mask_token_id).sum(), n, 0.8 + 0.1 / words)
    assert fits((after == before).sum(), n, 0.1 + 0.1 / words)
    others = after[(after != before) & (after != tokenizer.mask_token_id)]
    assert fits(len(others), n, 0.1 - 0.2 / words)
    assert fits((others < words // 2).sum(), len(others), (words // 2) / words)
    assert others.max() > 0.99 * words


def test_probabilities_are_options(tokenizer):
    batch = collate(tokenizer, 100, mask=1, mask_mentions=0, raw_share=1)
    _, marks = mark(tokenizer, "raw")
    predicted = batch["labels"] != -100
    assert (predicted[:, 1:] == ~marks[1:]).all()


def test_a_seed_decides(tokenizer):
    first, again, third = (collate(tokenizer, 50, seed) for seed in (1, 1, 2))
    assert first.keys() == {"input_ids", "attention_mask", "labels"}
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["labels"], third["labels"])


def test_padding_is_never_a_label(tokenizer):
    short = {name: {"text": "Rome.", "mentions": [[0, 4]]} for name in ("raw", "switched")}
    for options in ({"objective": "causal"}, {"mask": 1.0, "mask_mentions": 1.0}):
        batch = SwitchCollator(tokenizer, **options)([PAIR, short])
        padding = batch["attention_mask"] == 0
        assert padding[1].any()
        assert not padding[0].any()
        assert (batch["labels"][padding] == -100).all()
        assert (batch["labels"][~padding][1:] != -100).sum() >= (~padding).sum() - 2
    causal = SwitchCollator(tokenizer, "causal")([PAIR, short])
    kept = causal["attention_mask"] == 1
    assert torch.equal(causal["labels"][kept], causal["input_ids"][kept])


def test_a_long_sentence_is_cut(tokenizer):
    long = {name: {"text": "a " * 400 + "Rome", "mentions": [[800, 804]]} for name in PAIR}
    assert SwitchCollator(tokenizer)([long])["input_ids"].shape == (1, 256)


def test_a_name_behind_the_cut_or_across_it(tokenizer):
    """Only the tokens of a name that are read can be drawn."""
    words = tokenizer.tokenize("a " * 400 + "Rome", add_special_tokens=True)
    assert len(words) > 256
    all_names = {"mask": 0.0, "mask_mentions": 1.0}
    for start, end in ((800, 804), (500, 804)):
        long = {name: {"text": "a " * 400 + "Rome", "mentions": [[start, end]]} for name in PAIR}
        batch = SwitchCollator(tokenizer, **all_names)([long])
        spans = tokenizer(long["raw"]["text"], return_offsets_mapping=True)["offset_mapping"]
        read = [b > start for _, b in spans][:255]
        assert (batch["labels"][0, :255] != -100).tolist() == read
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.model_max_length = 9  # of a model with fewer positions
    assert SwitchCollator(tokenizer)([long])["input_ids"].shape == (1, 9)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_names_are_marked_by_characters_whatever_their_composition(tokenizer, form):
    """The plain search for the name's characters is that of Python."""
    text = unicodedata.normalize(form, "Ένα café: Παρίσι, क्षेत्र, 𐎠 é Αθήνα.")
    name = unicodedata.normalize(form, "Παρίσι")
    start = text.index(name)
    pair = {part: {"text": text, "mentions": [[start, start + len(name)]]} for part in PAIR}
    batch = SwitchCollator(tokenizer, mask=0.0, mask_mentions=1.0)([pair])
    code = tokenizer(text, return_offsets_mapping=True)["offset_mapping"]
    inside = {*range(start, start + len(name))}
    assert (batch["labels"][0] != -100).tolist() == [bool(inside & {*range(*x)}) for x in code]
    assert (batch["labels"] != -100).any()


def test_an_empty_sentence_has_no_labels_beside_others(tokenizer):
    empty = {name: {"text": "", "mentions": []} for name in ("raw", "switched")}
    batch = SwitchCollator(tokenizer, mask=1.0, mask_mentions=1.0)([PAIR, empty])
    assert (batch["labels"][0] != -100).any()
    assert (batch["labels"][1] == -100).all()


def test_a_trainer_takes_the_pairs(tmp_path):
    tiny.save_model("bert", tmp_path / "bert")
    model = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path / "bert")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "bert")
    arguments = transformers.TrainingArguments(
        str(tmp_path / "out"),
        max_steps=30,
        learning_rate=5e-3,
        remove_unused_columns=False,
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
        save_strategy="no",
        logging_steps=10,
    )
    trainer = transformers.Trainer(model, arguments, SwitchCollator(tokenizer), [PAIR] * 64)
    trainer.train()
    losses = [row["loss"] for row in trainer.state.log_history if "loss" in row]
    assert losses[-1] < losses[0] - 0.5


@pytest.mark.parametrize(
    ("pairs", "fault"),
    [
        ([], "index out of range"),
        ([{}], "'raw'"),  # a Trainer without remove_unused_columns=False
        ([{"raw": {"text": "Rome"}}], "'mentions'"),
        ([{"raw": {"text": None, "mentions": []}}], "text input must be of type"),
        ([{"raw": {"text": "Rome", "mentions": None}}], "not iterable"),
        ([{"raw": {"text": "Rome", "mentions": [[0, 4, "Q220"]]}}], "too many values"),
        ([{"raw": {"text": "Rome", "mentions": [[0, 5]]}}], "no characters 0 to 5 in 'Rome'"),
        ([{"raw": {"text": "Rome", "mentions": [[-4, -1]]}}], "no characters -4 to -1"),
        ([{"raw": {"text": "Rome", "mentions": [[3, 1]]}}], "no characters 3 to 1"),
    ],
)
def test_batches_that_are_no_pairs_are_one_line(tokenizer, pairs, fault):
    with pytest.raises(PolyprobeError) as error:
        SwitchCollator(tokenizer, raw_share=1.0)(pairs)
    assert re.fullmatch(
        rf"SwitchCollator cannot read the batch \(.*{re.escape(fault)}.*\); it needs pairs of "
        "switch_sentences, and the Trainer remove_unused_columns=False",
        str(error.value),
    )


def test_mistakes_are_one_line(tokenizer):
    for share in ({"raw_share": 70}, {"mask": -0.1}, {"mask_mentions": 1.5}):
        with pytest.raises(PolyprobeError, match="a share of SwitchCollator must be 0 to 1, got"):
            SwitchCollator(tokenizer, **share)
    with pytest.raises(PolyprobeError, match="unknown objective 'clm'; did you mean 'mlm'"):
        SwitchCollator(tokenizer, "clm")
    bare = tiny.byte_level(tiny.TEXT)
    needs = "needs a fast tokenizer with mask_token and pad_token"
    with pytest.raises(PolyprobeError, match=f"objective mlm {needs}"):
        SwitchCollator(bare)
    bare.pad_token = bare.eos_token
    SwitchCollator(bare, "causal")
