"""Local translation models: real tokenizers and networks, trained on a few sentences."""

import shutil

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from polyprobe.builder.translators import Translation, load_translator
from polyprobe.builder.translators.engines import transformers
from polyprobe.builder.translators.engines.transformers import check_stated, find_languages
from polyprobe.system.messages import PolyprobeError
from tests.builder.translators.tiny_models import (
    CATALAN,
    ENGLISH,
    FEW,
    SPANISH,
    Lesson,
    make_m2m100,
    make_marian,
    make_mbart,
    make_nllb,
    make_t5,
    teach,
)
from tests.hub.client import run_client

ODD = ["Norway has fjords.", "She speaks Italian."]


@pytest.fixture(scope="module")
def nllb(tmp_path_factory):
    """Translates to Spanish and Catalan; in Galician it copies one sentence and omits another."""
    return teach(
        make_nllb(tmp_path_factory.mktemp("models") / "nllb"),
        [
            Lesson(ENGLISH, SPANISH, "eng_Latn", "spa_Latn"),
            Lesson(ENGLISH, CATALAN, "eng_Latn", "cat_Latn"),
            Lesson(ODD, [ODD[0], ""], "eng_Latn", "glg_Latn"),
        ],
    )


@pytest.fixture
def asked(monkeypatch):
    """Calls of `generate`: the shape of each batch and the forced token."""
    calls = []
    load = transformers.load_network

    def load_and_note(*place):
        network = load(*place)
        generate = network.generate

        def note(**given):
            calls.append((*given["input_ids"].shape, given.get("forced_bos_token_id")))
            return generate(**given)

        network.generate = note
        return network

    monkeypatch.setattr(transformers, "load_network", load_and_note)
    return calls


def make(model, **options):
    return load_translator("transformers", model=str(model), device="cpu", **options)


def fine(texts):
    return [Translation(text, "") for text in texts]


@pytest.mark.parametrize(("target", "texts"), [("es", SPANISH), ("ca", CATALAN)])
def test_a_model_that_learnt_two_languages_is_asked_for_the_right_one(target, texts, nllb):
    assert make(nllb).translate_each(ENGLISH, "en", target) == fine(texts)


@pytest.mark.parametrize("beams", [1, 3])
def test_equal_to_one_sentence_at_a_time_in_another_order(beams, nllb):
    unheard = [f"{one} {other}" for one in ENGLISH[:4] for other in ENGLISH[4:]]
    options = {"num_beams": beams, "max_new_tokens": 40}
    tokenizer = AutoTokenizer.from_pretrained(nllb, src_lang="eng_Latn")
    network = AutoModelForSeq2SeqLM.from_pretrained(nllb).eval()
    expected = {}
    for sentence in sorted(unheard):
        [row] = network.generate(
            **tokenizer(sentence, return_tensors="pt"), **options, do_sample=False,
            forced_bos_token_id=tokenizer.convert_tokens_to_ids("spa_Latn"),
        )  # fmt: skip
        expected[sentence] = tokenizer.decode(row, skip_special_tokens=True)
    found = make(nllb, **options, batch_size=5).translate_each(unheard, "en", "es")
    ended = [sentence for sentence, one in zip(unheard, found, strict=True) if not one.problem]
    assert len(ended) > len(unheard) / 2
    assert all(one.text == expected[s] for s, one in zip(unheard, found, strict=True) if s in ended)


@pytest.mark.parametrize("batch_size", [1, 2, 3, 16])
def test_batches_change_no_text_and_go_from_long_to_short(batch_size, nllb, asked):
    found = make(nllb, batch_size=batch_size).translate_each(ENGLISH, "en", "es")
    assert found == fine(SPANISH)
    assert sum(rows for rows, _, _ in asked) == len(ENGLISH)
    assert max(rows for rows, _, _ in asked) == min(batch_size, len(ENGLISH))
    lengths = [length for _, length, _ in asked]
    assert lengths[0] == max(lengths)
    tokenizer = AutoTokenizer.from_pretrained(nllb)
    assert {forced for _, _, forced in asked} == {tokenizer.convert_tokens_to_ids("spa_Latn")}


def test_a_text_is_asked_once_wherever_the_model_lies(nllb, asked, tmp_path):
    make(nllb).translate_each(ENGLISH[:4], "en", "es")
    moved = shutil.copytree(nllb, tmp_path / "moved")
    del asked[:]
    assert make(moved, batch_size=1).translate_each(ENGLISH, "en", "es") == fine(SPANISH)
    assert sum(rows for rows, _, _ in asked) == len(ENGLISH) - 4
    del asked[:]
    make(moved).translate_each(ENGLISH, "en", "es")
    assert asked == []


@pytest.mark.parametrize(
    "options", [{"num_beams": 2}, {"max_new_tokens": 99}, {"dtype": "bfloat16"}]
)
def test_other_settings_are_other_texts(options, nllb):
    assert make(nllb, **options).signature != make(nllb).signature


def test_other_weights_are_other_texts(nllb, tmp_path):
    other = shutil.copytree(nllb, tmp_path / "other")
    AutoModelForSeq2SeqLM.from_pretrained(make_nllb(tmp_path / "new")).save_pretrained(other)
    assert make(other).signature != make(nllb).signature


LEARNT = {
    "m2m100": (make_m2m100, ("en", "es"), ("en", "ca")),
    "mbart": (make_mbart, ("en_XX", "es_XX"), ("en_XX", "gl_ES")),
    "madlad": (lambda folder: make_t5(folder, ("<2es>", "<2ca>")), "<2es> ", "<2ca> "),
    "opus": (lambda folder: make_marian(folder, (">>es<<", ">>cat<<")), ">>es<< ", ">>cat<< "),
    "t5": (
        lambda folder: make_t5(folder, tasks=("es", "ca")),
        "translate to es: ",
        "translate to ca: ",
    ),
}


@pytest.mark.parametrize("family", LEARNT)
def test_each_family_is_asked_for_the_language_in_its_own_way(family, tmp_path):
    write, *ways = LEARNT[family]
    model, few = write(tmp_path / family), ENGLISH[:FEW]
    lessons = [
        Lesson(few, texts[:FEW], *way)
        if isinstance(way, tuple)
        else Lesson([way + sentence for sentence in few], texts[:FEW])
        for way, texts in zip(ways, (SPANISH, CATALAN), strict=True)
    ]
    translator = make(teach(model, lessons, 100))
    assert translator.translate_each(few, "en", "es") == fine(SPANISH[:FEW])
    second = "gl" if family == "mbart" else "ca"  # mBART-50 has no Catalan
    assert translator.translate_each(few, "en", second) == fine(CATALAN[:FEW])


def test_a_model_of_one_pair_is_asked_for_that_alone(tmp_path):
    model = make_marian(tmp_path / "opus", source_lang="en", target_lang="es")
    translator = make(teach(model, [Lesson(ENGLISH[:FEW], SPANISH[:FEW])], 100))
    assert translator.translate_each(ENGLISH[:FEW], "en", "es") == fine(SPANISH[:FEW])
    with pytest.raises(PolyprobeError, match="translates en to es, not en to ca; name a model"):
        translator.translate_each(ENGLISH, "en", "ca")


@pytest.mark.parametrize(
    ("stated", "asked", "good"),
    [
        (("en", "es"), ("en", "es"), True),
        (("eng", "spa"), ("en", "es"), True),
        (("en", "ROMANCE"), ("en", "es"), True),
        (("en", "roa"), ("en", "es"), True),  # a group of ISO 639-5
        ((None, None), ("en", "es"), True),
        (("en", "de"), ("en", "es"), False),
        (("en", "es"), ("es", "en"), False),
        (("deu", "spa"), ("en", "es"), False),
    ],
)
def test_what_a_model_of_one_pair_says_of_itself(stated, asked, good):
    if good:
        check_stated(stated, asked, "m")
    else:
        with pytest.raises(PolyprobeError, match=f"not {asked[0]} to {asked[1]}"):
            check_stated(stated, asked, "m")


@pytest.mark.parametrize(
    ("vocabulary", "target", "token"),
    [
        (["eng_Latn", "zho_Hans", "zho_Hant"], "zh", "zho_Hans"),
        (["eng_Latn", "zho_Hans", "zho_Hant"], "zh-hant", "zho_Hant"),
        (["eng_Latn", "arb_Arab", "arz_Arab"], "ar", "arb_Arab"),
        (["eng_Latn", "srp_Cyrl"], "sr", "srp_Cyrl"),
        (["eng_Latn", "nob_Latn", "nno_Latn"], "no", "nob_Latn"),
        (["__en__", "__he__"], "he", "__he__"),
        (["en_XX", "pt_XX"], "pt", "pt_XX"),
        ([">>es<<", "en"], "es", ">>es<<"),
        (["<2es>", "en"], "es", "<2es>"),
    ],
)
def test_our_codes_are_found_among_the_tokens(vocabulary, target, token):
    assert find_languages(vocabulary, vocabulary).find("en", target, "m")[1] == token


def test_pieces_of_text_are_no_languages():
    assert find_languages(["<s>"], ["<s>", "en_US", "pt_BR", "__de__", "▁the"]) is None


def test_memory_that_does_not_suffice_halves_the_batch(nllb, asked, monkeypatch):
    translator = limit(make(nllb, batch_size=7), most=4, monkeypatch=monkeypatch)
    assert translator.translate_each(ENGLISH, "en", "es") == fine(SPANISH)
    assert [rows for rows, _, _ in asked] == [3, 3, 1]


def test_a_sentence_too_large_for_the_memory_is_a_counted_row(nllb, monkeypatch):
    translator = limit(make(nllb), most=0, monkeypatch=monkeypatch)
    found = translator.translate_each(ENGLISH[:1], "en", "es")
    assert found == [Translation("", "no answer: out of memory on cpu, once")]


def limit(translator, most, monkeypatch):
    generate = translator._generate

    def fail(sentences, source, target):
        if len(sentences) > most:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return generate(sentences, source, target)

    monkeypatch.setattr(translator, "_generate", fail)
    return translator


def test_empty_and_unchanged_texts_are_explained(nllb):
    found = make(nllb).translate_each(ODD, "en", "gl")
    assert found == [Translation(ODD[0], "unchanged"), Translation("", "empty")]


def test_a_text_without_end_spoils_no_other(nllb):
    found = make(nllb, max_new_tokens=25).translate_each(ENGLISH, "en", "es")
    assert found[3] == Translation("", "broken answer: no end after 25 tokens, once")
    assert [found[0], *found[4:]] == fine([SPANISH[0], *SPANISH[4:]])


def test_a_sentence_longer_than_the_model_spoils_no_other(nllb):
    found = make(nllb).translate_each([" ".join(ENGLISH * 3), ENGLISH[0]], "en", "es")
    assert found[0].problem.endswith("tokens; the model takes 64, once")
    assert found[1:] == fine(SPANISH[:1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "int4"}, "unknown --dtype 'int4'; known: float32, bfloat16, float16"),
        ({"device": "abacus"}, "unknown --device 'abacus'; known: auto, cpu, cuda"),
        ({"num_beams": "0"}, "'0' for num_beams"),
        ({"beams": "2"}, "unknown option 'beams' in translator transformers"),
    ],
)
def test_wrong_options_are_one_line(options, message, nllb):
    with pytest.raises(PolyprobeError, match=message) as raised:
        load_translator("transformers", model=str(nllb), **options)
    assert "\n" not in str(raised.value)


def test_a_language_that_the_model_lacks_is_named(nllb):
    with pytest.raises(PolyprobeError, match="no 'sw'; available: cat_Latn, eng_Latn, glg_Latn"):
        make(nllb).translate_each(["a"], "en", "sw")


def test_what_is_not_a_translation_model_is_one_line(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    with pytest.raises(PolyprobeError, match="is not a translation model; expected an encoder"):
        make(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(PolyprobeError, match="cannot load the model in ") as raised:
        make(tmp_path)
    assert "\n" not in str(raised.value)


USE = """
from polyprobe import PolyprobeError
from polyprobe.builder.translators import load_translator
try:
    translator = load_translator("transformers", model={model!r}, device="cpu")
    answer = [translator.signature, translator.translate(["Norway has fjords."], "en", "es")]
except PolyprobeError as error:
    answer = str(error)
"""


@pytest.mark.slow
@pytest.mark.acceptance
def test_a_model_of_the_hub_is_known_by_its_commit_and_used_offline(hub, nllb, cache, tmp_path):
    hub.add("model", "me/nllb", nllb)
    code = USE.format(model="me/nllb")
    online = run_client(code, tmp_path / "home", hub.url)
    signature, texts = online
    assert texts == SPANISH[:1]
    commit = signature.partition("me/nllb@")[2].partition("|")[0]
    assert len(commit) == 40
    (cache / "translations.sqlite").unlink()  # the texts; the model is unchanged
    assert run_client(code, tmp_path / "home", offline=True) == online
    none = run_client(USE.format(model="me/none"), tmp_path / "home", offline=True)
    assert none.startswith("unknown model 'me/none', or the Hub cannot be reached; give an id")
    assert "\n" not in none
