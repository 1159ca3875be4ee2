"""Vocabularies against whole sentences, sets and the tokenizers' plain calls."""

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import pearsonr
from tokenizers import Tokenizer as Fast
from tokenizers import decoders, models, trainers
from tokenizers import normalizers as norm
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from polyprobe.analysis.relate import RelateOptions
from polyprobe.analysis.relate.relate import relate_run
from polyprobe.analysis.relate.vocabularies import (
    Corpus,
    Texts,
    compare_vocabularies,
    find_vocabularies,
    goes_by_words,
    read_tokenizer,
)
from polyprobe.eval.evaluate import evaluate_model
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import Run
from polyprobe.scoring.weights.places import find_tokenizer
from polyprobe.system.messages import PolyprobeError
from tests.making import tiny
from tests.making.runs import make_random_run

DEMO = ["en", "es", "ru", "ar", "zh", "hi", "el", "hy", "ka", "ko", "ta", "th"]
SOME = ["en", "ru", "el", "zh"]
ROWS = 240  # of two relations


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_random_run(tmp_path_factory.mktemp("run"), SOME, rows=ROWS)


def relate(run, *items, **options):
    return relate_run(run, items, RelateOptions(tokenizer="geolm", n_resamples=40, **options))


def test_vocabularies_of_geolm():
    """Counted by plain calls outside this repository: filled prompts, and prompts alone."""
    tables = load_facts("geofacts", languages=["en", "es", "ru", "el"])
    tokenizer = read_tokenizer(find_tokenizer("geolm"))
    for filled, counts, shared in (
        (True, (522, 552, 269, 133), 0.4494),
        (False, (314, 334), 0.4026),
    ):
        texts = {
            x: Texts(
                table["prompt"].to_pylist(),
                table["candidates"].combine_chunks() if filled else None,
            )
            for x, table in tables.items()
        }
        assert goes_by_words(tokenizer, texts)
        found = compare_vocabularies([*tables], Corpus("filled", texts, tokenizer, True))
        assert [*found.details["vocabulary"].values()][: len(counts)] == [*counts]
        assert found.values[0, 1] == pytest.approx(shared, abs=5e-5)


def blankless():
    """Merges across blanks: no pre-tokenizer, and blanks like letters."""
    tokenizer = Fast(models.BPE())
    trainer = trainers.BpeTrainer(vocab_size=400, show_progress=False)
    tokenizer.train_from_iterator(tiny.TEXT * 3, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def like_llama():
    """No pre-tokenizer, but no piece has a mark of a blank behind another character."""
    tokenizer = Fast(models.BPE())
    tokenizer.normalizer = norm.Sequence([norm.Prepend("▁"), norm.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Metaspace()
    words = [word for text in tiny.TEXT for word in text.split(" ")]
    trainer = trainers.BpeTrainer(vocab_size=300, show_progress=False)
    tokenizer.train_from_iterator(words * 3, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


TOKENIZERS = {
    "byte level": lambda: tiny.byte_level(tiny.TEXT),
    "XLM-R": lambda: tiny.xlmr_tokenizer(tiny.TEXT),
    "T5": lambda: tiny.t5_tokenizer(tiny.TEXT),
    "word pieces": lambda: tiny.word_piece(tiny.TEXT),
    "like Llama": like_llama,
    "blankless": blankless,
}


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_words_have_the_tokens_of_the_filled_prompts(kind, tmp_path):
    TOKENIZERS[kind]().save_pretrained(tmp_path)
    plain = AutoTokenizer.from_pretrained(tmp_path)
    splits = load_facts("geofacts", languages=SOME)
    tables = {x: table.slice(150, 60) for x, table in splits.items()}
    texts = {
        x: Texts(table["prompt"].to_pylist(), table["candidates"].combine_chunks())
        for x, table in tables.items()
    }
    tokenizer = read_tokenizer(find_tokenizer(str(tmp_path)))
    by_words = goes_by_words(tokenizer, texts)
    assert by_words == (kind not in ("blankless", "like Llama"))
    found = find_vocabularies(Corpus("filled", texts, tokenizer, by_words))
    for language, table in tables.items():
        filled = {
            row["prompt"].replace("[Y]", name)
            for row in table.select(["prompt", "candidates"]).to_pylist()
            for name in row["candidates"]
        }
        ids = plain([*filled], add_special_tokens=False)["input_ids"]
        assert found[language] == {x for row in ids for x in row} - {*plain.all_special_ids}


def test_each_candidate_in_its_own_prompt_and_double_blanks():
    candidates = pa.array([["Rome", "the  Hague"], ["Paris"]])
    texts = Texts(["in [Y] ?", "[Y] it is"], candidates, [["at [Y]!", "in  [Y]"], None])
    assert texts.fill_all() == {"at Rome!", "in  the  Hague", "Paris it is"}
    assert texts.list_words() == {"at", " Rome!", "in  the  Hague", "Paris", " it", " is"}
    plain = texts._replace(by_candidate=None)
    assert plain.list_words() == {"in", " Rome", " ?", "in the  Hague ?", "Paris", " it", " is"} - {
        "in the  Hague ?"
    } | {" the  Hague"}


def test_overlap_query_by_query_against_sets(run):
    found = relate(run, "subwords", by_query=True).queries
    plain = AutoTokenizer.from_pretrained(find_tokenizer("geolm").path)
    splits = load_facts("geofacts", languages=SOME)
    tables = {x: table.slice(0, ROWS) for x, table in splits.items()}
    ids = []
    for table in tables.values():
        rows = table.select(["prompt", "candidates"]).to_pylist()
        filled = [[r["prompt"].replace("[Y]", name) for name in r["candidates"]] for r in rows]
        calls = [plain(texts, add_special_tokens=False)["input_ids"] for texts in filled]
        ids.append([{x for text in row for x in text} for row in calls])
    overlaps = np.array(
        [
            [len(one & other) / len(one | other) for one, other in combinations(row, 2)]
            for row in zip(*ids, strict=True)
        ]
    )
    rankc = relate(run, "subwords").pairs.facts.rankc
    relations = np.array(next(iter(tables.values()))["relation"].to_pylist())
    within = [table.copy() for table in (overlaps, rankc)]
    for relation in set(relations):
        for table in within:
            table[relations == relation] -= table[relations == relation].mean(axis=0)
    assert (found.n_facts, found.n) == (*overlaps.shape[:1], overlaps.size)
    assert found.overlap == pytest.approx(overlaps.mean())
    assert found.r == pytest.approx(pearsonr(*map(np.ravel, within)).statistic)
    assert found.ci[0] < found.r < found.ci[1]


SENTENCES = {"en": ["The sea.", "A hill"], "ru": ["Море.", "Холм"], "el": ["Η θάλασσα.", "Λόφος"]}


def write_corpus(folder, **changes):
    folder.mkdir(exist_ok=True)
    names = {"en": "eng_Latn.devtest", "ru": "rus_Cyrl.devtest", "el": "el.txt"}
    for language, lines in (SENTENCES | changes).items():
        (folder / names[language]).write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "README.md").write_text("# A corpus\n", encoding="utf-8")
    return str(folder)


def test_a_parallel_corpus_in_files(run, tmp_path):
    corpus = write_corpus(tmp_path / "flores")
    [row] = relate(run, "subwords", corpus=corpus).rows
    plain = AutoTokenizer.from_pretrained(find_tokenizer("geolm").path)
    known = {x: {*plain(" ".join(lines))["input_ids"]} for x, lines in SENTENCES.items()}
    sets = [
        {x for text in SENTENCES[x] for x in plain.encode(text, add_special_tokens=False)}
        for x in known
    ]
    made = [row.similarity.values[i, j] for i, j in ((0, 1), (0, 2), (1, 2))]
    expected = [len(a & b) / len(a | b) for a, b in combinations(sets, 2)]
    assert made == pytest.approx(expected)
    assert row.left_out == {"zh": f"not in {corpus}"}
    (tmp_path / "flores" / "eng_Latn.dev").write_text("More\n", encoding="utf-8")
    with pytest.raises(PolyprobeError, match=r"not parallel: en has 3 sentences, ru 2; align"):
        relate(run, "subwords", corpus=corpus)


def test_lines_end_at_line_feeds_alone(run, tmp_path):
    plain = relate(run, "subwords", corpus=write_corpus(tmp_path / "plain")).rows[0].similarity
    marked = write_corpus(tmp_path / "marked", en=["\ufeffThe\u2028sea.", "A hill"])
    found = relate(run, "subwords", corpus=marked).rows[0].similarity
    assert found.details["vocabulary"]["ru"] == plain.details["vocabulary"]["ru"]
    spaced = write_corpus(tmp_path / "spaced", en=["The\u2028sea.", "A hill"])
    assert (
        relate(run, "subwords", corpus=spaced).rows[0].similarity.details["vocabulary"]
        == (found.details["vocabulary"])
    )


def test_a_parallel_corpus_in_splits(run, tmp_path):
    for language, lines in SENTENCES.items():
        rows = [f'{{"number": {k}, "text": "{line}"}}\n' for k, line in enumerate(lines)]
        (tmp_path / f"{language}.jsonl").write_text("".join(rows), encoding="utf-8")
    [row] = relate(run, "subwords", corpus=str(tmp_path)).rows
    assert row.correlation.n == 3
    assert row.similarity.details["corpus"] == str(tmp_path)
    with pytest.raises(PolyprobeError, match="--by-query requires --corpus filled or prompts"):
        relate(run, "subwords", corpus=str(tmp_path), by_query=True)


def test_a_corpus_without_the_languages_is_refused(run, tmp_path):
    (tmp_path / "xx.txt").write_text("words\n", encoding="utf-8")
    with pytest.raises(PolyprobeError, match=r"has no language of the run: it has xx; name files"):
        relate(run, "subwords", corpus=str(tmp_path))
    (tmp_path / "en.txt").write_bytes(b"\xff")
    with pytest.raises(PolyprobeError, match=r"cannot read .*en.txt as text"):
        relate(run, "subwords", corpus=str(tmp_path))


def test_a_damaged_tokenizer_is_one_line(run, tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(PolyprobeError, match=r"cannot read the tokenizer in .*tokenizer.json"):
        relate_run(run, ["subwords"], RelateOptions(tokenizer=str(tmp_path)))


def test_a_dataset_that_has_changed_is_named(tmp_path):
    from tests.making.facts import write_facts
    from tests.making.runs import SCORES, write_run

    facts = write_facts(tmp_path / "facts")
    small = write_run(tmp_path / "run", facts, SCORES)
    assert relate(small, "subwords").rows[0].correlation.n == 3
    file = facts / "data" / "small" / "ru.parquet"
    import pyarrow.parquet as pq

    table = pq.read_table(file)
    for changed in (table.slice(1), table.drop_columns(["candidates"])):
        pq.write_table(changed, file)
        with pytest.raises(PolyprobeError, match="'ru' of facts/default has changed since the run"):
            relate(small, "subwords")


@pytest.mark.acceptance
def test_agreement_of_geolm_does_not_go_with_subwords(tmp_path):
    """SPEC-2 has .017 and .025 (prompts) of the weights before this model was trained again."""
    evaluate_model("geolm", "geofacts", output=tmp_path, languages=DEMO)
    results = Run(tmp_path).read_results()
    for corpus, r in (("filled", 0.037), ("prompts", 0.033)):
        [row] = relate_run(Run(tmp_path), ["subwords"], RelateOptions(corpus=corpus)).rows
        values = row.similarity.values[np.triu_indices(12, 1)]
        assert row.correlation.r == pytest.approx(r, abs=5e-4)
        assert row.correlation.r == pytest.approx(
            pearsonr(values, [*results["rankc"].values()]).statistic
        )
        assert row.correlation.p_mantel > 0.5
