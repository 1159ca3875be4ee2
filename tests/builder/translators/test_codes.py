"""Language codes, compared with the lists of the engines."""

import pytest
from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES as M2M100
from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES as NLLB

from polyprobe.builder.sources import bmlama
from polyprobe.builder.translators.codes import check_pair, current, match_code, name_language
from polyprobe.builder.translators.engines.googletrans import _known
from polyprobe.system.messages import PolyprobeError


@pytest.mark.parametrize(
    ("code", "google", "nllb", "m2m100"),
    [
        ("en", "en", "eng_Latn", "en"),
        ("zh", "zh", "zho_Hans", "zh"),
        ("zh-hans", "zh", "zho_Hans", "zh"),
        ("zh_hans", "zh", "zho_Hans", "zh"),
        ("zh-hant", "zh-tw", "zho_Hant", None),
        ("he", "he", "heb_Hebr", "he"),
        ("no", "no", "nob_Latn", "no"),
        ("nn", None, "nno_Latn", None),
        ("sr", "sr", "srp_Cyrl", "sr"),
        ("sh", None, None, None),
        ("tl", "tl", "tgl_Latn", "tl"),
        ("ceb", "ceb", "ceb_Latn", "ceb"),
        ("ar", "ar", "arb_Arab", "ar"),
        ("fa", "fa", "pes_Arab", "fa"),
        ("azb", None, "azb_Arab", None),
        ("sq", "sq", "als_Latn", "sq"),
        ("ko", "ko", "kor_Hang", "ko"),
        ("br", "br", None, "br"),
        ("oc", "oc", "oci_Latn", "oc"),
        ("vo", None, None, None),
    ],
)
def test_codes_of_the_engines(code, google, nllb, m2m100):
    known = _known(), NLLB, M2M100["m2m100"]
    assert tuple(match_code(code, codes) for codes in known) == (google, nllb, m2m100)


def test_google_knows_every_language_of_bmlama_and_each_its_own_code():
    codes = [match_code(code, _known()) for code in bmlama.LANGUAGES]
    assert None not in codes
    assert len(set(codes)) == len(bmlama.LANGUAGES) == 53


@pytest.mark.parametrize(
    ("code", "known", "found"),
    [
        ("he", ["iw", "en"], "iw"),
        ("zh", ["zh-cn", "zh-tw"], "zh-cn"),
        ("zh-hant", ["zh", "zh-cn"], None),
        ("zh-hant", ["zh-TW"], "zh-TW"),
        ("sr", ["srp_Latn", "srp_Cyrl"], "srp_Cyrl"),
        ("sr-latn", ["srp_Cyrl", "sr"], None),
        ("es", ["eng", "spa"], "spa"),
        ("tl", ["fil"], "fil"),
        ("id", ["in"], "in"),
        ("no", ["nn", "nb"], "nb"),
        ("nn", ["nb", "no"], None),
        ("pt", ["por_Latn"], "por_Latn"),
        ("pt-br", ["pt", "por", "por_BR"], "por_BR"),
        ("bs", ["hr", "sr"], None),
        ("simple", ["en", "simple", "nno_e", "ROMANCE"], "simple"),
        ("simple", ["en", "nno_e", "ROMANCE"], None),
        ("en", [], None),
    ],
)
def test_other_spellings(code, known, found):
    assert match_code(code, known) == found


def test_a_pair_that_is_not_there_is_named_with_what_is():
    assert check_pair("e", "en", "he", ["iw", "eng"]) == ("eng", "iw")
    with pytest.raises(PolyprobeError) as caught:
        check_pair("e", "en", "he", ["fr", "en"])
    assert str(caught.value) == (
        "e does not translate from en to he: it has no 'he'; available: en, fr"
    )


def test_names_and_short_codes():
    assert [name_language(code) for code in ("es", "no", "tl", "zh_hant", "pt_br", "sr-cyrl")] == [
        "Spanish", "Norwegian", "Tagalog", "Traditional Chinese", "Brazilian Portuguese", "Serbian"
    ]  # fmt: skip
    assert [current(code) for code in ("bre", "ceb", "fa-af", "es")] == ["br", "ceb", "fa-af", "es"]
    with pytest.raises(PolyprobeError, match="no English name for the language 'qqq'"):
        name_language("qqq")
