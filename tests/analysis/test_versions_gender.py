"""Feminine verb forms, counted in handwritten documents and by a tagger trained here.

The shared Stanza models have no tagger. The counts are tested on Stanza's own documents, read from
CoNLL-U and handed out by a stand-in pipeline, and the real pipeline on a tokenizer and a tagger
that are trained on sentences of this file (some ten seconds, marked slow).
"""

import json
from itertools import product

import pytest
from scipy import stats
from typer.testing import CliRunner

from polyprobe.analysis.compare.match import find_versions
from polyprobe.analysis.compare.options import WordingOptions
from polyprobe.analysis.compare.sentences import gender as twin_gender
from polyprobe.analysis.compare.sentences.compare import compare_versions
from polyprobe.analysis.compare.sentences.gender import (
    count_feminine,
    load_tagger,
    read_genders,
)
from polyprobe.cli import app
from polyprobe.system.messages import PolyprobeError
from tests.making.versions import write_versions

stanza = pytest.importorskip("stanza")

from stanza.utils.conll import CoNLL  # noqa: E402

FEW = {"n_resamples": 99}


def conllu(*words):
    """Return a sentence of (form, upos, features) in CoNLL-U."""
    lines = (
        f"{i}\t{form}\t{form}\t{upos}\t_\t{features}\t{int(i > 1)}\t{'dep' if i > 1 else 'root'}"
        "\t_\t_"
        for i, (form, upos, features) in enumerate(words, start=1)
    )
    return "\n".join(lines) + "\n\n"


def document(*words):
    return CoNLL.conll2doc(input_str=conllu(*words))


@pytest.mark.parametrize(
    ("upos", "features", "counts"),
    [
        ("VERB", "Gender=Fem|VerbForm=Fin", [1, 1]),
        ("VERB", "Gender=Masc|VerbForm=Fin", [0, 1]),
        ("ADJ", "Gender=Fem|VerbForm=Part", [1, 1]),
        ("AUX", "Gender=Neut|VerbForm=Part", [0, 1]),
        ("VERB", "Gender=Fem,Masc|VerbForm=Part", [1, 1]),
        ("VERB", "Number=Sing|VerbForm=Fin", [0, 0]),
        ("VERB", "Gender=Fem|VerbForm=Ger", [0, 0]),
        ("NOUN", "Gender=Fem", [0, 0]),
        ("VERB", "_", [0, 0]),
    ],
)
def test_what_counts_as_a_verb_form(upos, features, counts):
    found = count_feminine([document(("Анна", "PROPN", "Gender=Fem"), ("x", upos, features))])
    assert found.tolist() == [counts]


class StandIn:
    """Has the interface of stanza.Pipeline; tags the verbs of tests/making/versions.py."""

    def bulk_process(self, docs):
        return [document(*map(self.tag, text.rstrip(".").split())) for text in docs]

    def tag(self, word):
        if word.startswith(("роди", "умер")):
            gender = "Fem" if word.endswith(("сь", "ла")) else "Masc"
            return word, "VERB", f"Gender={gender}|VerbForm=Fin"
        return word, "X", "_"


def only_russian(language, folder):
    if language != "ru":
        raise LookupError("none here")
    return StandIn()


def test_shares_of_female_subjects_alone(tmp_path, gender_file, monkeypatch):
    monkeypatch.setattr(twin_gender, "load_tagger", only_russian)
    versions = find_versions(*reversed(write_versions(tmp_path)))
    found = compare_versions(versions, WordingOptions(gender=gender_file, stanza=tmp_path), **FEW)
    feminine = found.measures["feminine verb forms"]
    [share] = feminine.figures.values()
    # of twelve rows every other one is of a woman, with one verb each
    assert feminine.fields["n_facts"] == 6
    counts = {"sentence_feminine": 6, "sentence": 6, "template_feminine": 0, "template": 6}
    assert feminine.fields["forms"] == {"ru": counts}
    assert feminine.fields["without_tagger"] == {"en": "none here"}
    low = 2 / (2 + stats.t.ppf(0.975, 1) ** 2)  # Wilson's interval of 2 of 2 subjects
    for row in (row for rows in share.values() for row in rows):
        assert (row.first, row.second, row.difference, row.ci) == (1, 0, 1, [1, 1])
        assert row.first_ci == pytest.approx([low, 1])
        assert row.second_ci == pytest.approx([0, 1 - low])
    assert [row.name for row in share["macro"]] == ["ru", "mean"]
    pair = (versions.reference, versions.variant)
    other = compare_versions(
        find_versions(*pair), WordingOptions(gender=gender_file, stanza=tmp_path), **FEW
    ).measures["feminine verb forms"]
    [share] = other.figures.values()
    rows = [row for average in share.values() for row in average]
    assert {(row.first, row.second, row.difference) for row in rows} == {(0, 1, -1)}
    assert other.fields["forms"] == feminine.fields["forms"]
    assert "feminine verb forms: no tagger for 'en' (none here)" in found.notes
    assert found.failures == []


def test_no_female_subject(tmp_path, monkeypatch):
    monkeypatch.setattr(twin_gender, "load_tagger", only_russian)
    file = tmp_path / "gender.txt"
    file.write_text("Q0\tmale\n")
    found = compare_versions(
        find_versions(*reversed(write_versions(tmp_path))),
        WordingOptions(gender=file, stanza=tmp_path),
        **FEW,
    )
    feminine = found.measures["feminine verb forms"]
    assert (feminine.fields["n_facts"], feminine.figures) == (0, {})
    assert any("0 rows have a female subject" in note for note in found.notes)


@pytest.mark.parametrize("text", ["Q1 female\n", "Q1\twoman\n"])
def test_a_gender_file_that_is_none(tmp_path, text):
    file = tmp_path / "gender.txt"
    file.write_text("Q0\tfemale\n" + text)
    assert read_error(file).startswith(f"{file}, line 2: {text.rstrip()!r}; expected an id, a tab")


def read_error(file):
    with pytest.raises(PolyprobeError) as caught:
        read_genders(file)
    return str(caught.value)


def test_a_gender_file_that_is_not_there(tmp_path):
    message = read_error(tmp_path / "nothing")
    assert message == f"cannot read --gender {tmp_path}/nothing: No such file or directory"


def test_a_folder_without_models_is_reported(tmp_path, gender_file):
    versions = find_versions(*reversed(write_versions(tmp_path)))
    found = compare_versions(
        versions, WordingOptions(gender=gender_file, stanza=tmp_path / "models"), **FEW
    )
    reasons = found.measures["feminine verb forms"].fields["without_tagger"]
    assert [*reasons] == ["en", "ru"]
    reason = reasons["ru"]
    assert f"stanza.download('ru', processors='tokenize,mwt,pos', model_dir='{tmp_path}" in reason
    assert "\n" not in reason


NAMES = ["Ольга", "Анна", "Вера", "Иван", "Игорь", "Олег"]
VERBS = {"Fem": ["родилась", "умерла", "жила"], "Masc": ["родился", "умер", "жил"]}
PLACES = ["Москва", "Москве", "Париж", "Париже", "Рим", "Риме"]


def write_treebank(folder):
    """Write sentences as CoNLL-U, as text, and each character's label (1: word ends, 2: all)."""
    trees, texts, labels = [], [], []
    for gender in ("Fem", "Masc"):
        # any name with any verb, as in templates: only the verb shows the gender
        for name, verb, place in product(NAMES, VERBS[gender], PLACES):
            words = [name, verb, "в", place]
            features = f"Gender={gender}|Tense=Past|VerbForm=Fin"
            tags = [("PROPN", "_"), ("VERB", features), ("ADP", "_"), ("PROPN", "_")]
            tagged = [(word, *tag) for word, tag in zip(words, tags, strict=True)]
            trees.append(conllu(*tagged, (".", "PUNCT", "_")))
            texts.append(" ".join(words) + ".")
            marks = " ".join("0" * (len(word) - 1) + "1" for word in words)
            labels.append(marks.replace(" ", "0") + "2")
    (folder / "train.conllu").write_text("".join(trees), encoding="utf-8")
    (folder / "train.txt").write_text("\n\n".join(texts) + "\n", encoding="utf-8")
    (folder / "train.labels").write_text("\n\n".join(labels) + "\n\n", encoding="utf-8")
    (folder / "mwt.json").write_text("[]")


def train_tokenizer(data, folder):
    from stanza.models import tokenizer

    options = (
        f"--txt_file {data}/train.txt --label_file {data}/train.labels "
        f"--dev_txt_file {data}/train.txt --dev_label_file {data}/train.labels "
        f"--dev_conll_gold {data}/train.conllu --mwt_json_file {data}/mwt.json --lang ru "
        "--shorthand ru_tiny --steps 100 --eval_steps 50 --max_seqlen 60 --batch_size 8 --cpu "
        "--hidden_dim 16 --emb_dim 16 --lr0 0.01 --dropout 0.1 --unit_dropout 0.1 "
        f"--save_dir {folder} --save_name tiny.pt"
    )
    tokenizer.main(options.split())


def train_tagger(data, folder):
    from stanza.models import tagger

    options = (
        f"--train_file {data}/train.conllu --eval_file {data}/train.conllu "
        f"--output_file {data}/out.conllu --lang ru --shorthand ru_tiny --no_pretrain --no_char "
        "--cpu --max_steps 60 --eval_interval 20 --batch_size 100 --lr 0.01 --hidden_dim 40 "
        "--deep_biaff_hidden_dim 40 --word_emb_dim 30 --composite_deep_biaff_hidden_dim 20 "
        "--transformed_dim 20 --word_cutoff 0 --dropout 0.1 --word_dropout 0.05 "
        f"--save_dir {folder} --save_name tiny.pt"
    )
    tagger.main(options.split())


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder of Stanza models for Russian: a tokenizer and a tagger, both trained here."""
    data, folder = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("stanza")
    write_treebank(data)
    train_tokenizer(data, folder / "ru" / "tokenize")
    train_tagger(data, folder / "ru" / "pos")
    parts = {"tokenize": "tiny", "pos": "tiny"}
    entries = {name: {"tiny": {}} for name in parts}
    known = {"lang_name": "Russian", "default_processors": parts, "packages": {"default": parts}}
    (folder / "resources.json").write_text(json.dumps({"ru": {**known, **entries}}))
    return folder


@pytest.mark.slow
def test_a_trained_tagger_counts_through_the_command(models, tmp_path, gender_file):
    template, sentence = write_versions(tmp_path)
    file = tmp_path / "c.json"
    arguments = [sentence.folder, template.folder, "--gender", gender_file, "--stanza", models]
    arguments += ["--resamples", 99, "--json", file]
    result = CliRunner().invoke(app, ["compare", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    found = json.loads(file.read_text())["versions"]["feminine_forms"]
    sides = {"sentence_feminine": 6, "sentence": 6, "template_feminine": 0, "template": 6}
    assert found["forms"] == {"ru": sides}
    assert found["micro"]["ru"]["difference"] == 1.0
    assert "feminine verb forms ru: 6 of 6 in sentence, 0 of 6 in template" in result.output


@pytest.mark.slow
def test_the_verb_tells_its_gender_whatever_the_name(models):
    tagger = load_tagger("ru", models)
    found = count_feminine(tagger.bulk_process(["Игорь жила в Риме.", "Вера умер в Риме."]))
    assert found.tolist() == [[1, 1], [0, 1]]
