"""Figures of judged answers equal those counted from the answers in plain loops."""

import random
from statistics import fmean

import pytest

from polyprobe.eval import judge_answers
from polyprobe.schema.load import load_facts
from polyprobe.schema.run.folder import Run
from polyprobe.schema.run.protocol import list_relation_objects
from tests.making.subjects import write_subjects

LANGUAGES = ["en", "ru", "zh_hans"]


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A run of answers that are right, another object's, that of the same subject elsewhere, or no
    object's; and the objects they name by language and row."""
    folder = tmp_path_factory.mktemp("judged")
    tables = load_facts(str(write_subjects(folder / "facts")))
    objects, draw = list_relation_objects(tables["en"]), random.Random(0)
    rows, named = [], {x: [] for x in LANGUAGES}
    for language, table in tables.items():
        for number, row in enumerate(table.to_pylist()):
            relation = row["relation"]
            places = objects.places[relation]
            right = objects.answers[number][0]
            shared = (7 * number) % len(places)
            pick = draw.choices([right, shared, draw.randrange(len(places)), None], [3, 3, 2, 2])[0]
            text = "I cannot say"
            if pick is not None:
                other = draw.choice([language, language, "en"])
                at, index = places[pick]
                text = f"It is {tables[other]['candidates'][at][index].as_py()}."
            rows.append({"language": language, "row": number, "answer": text})
            named[language].append(pick)
    results = judge_answers(rows, str(folder / "facts"), output=folder / "run")
    relations = tables["en"]["relation"].to_pylist()
    sizes = [len(objects.names[x]) for x in relations]
    return Run(folder / "run"), results, named, [x[0] for x in objects.answers], sizes


def test_the_entities_are_those_of_the_answers(judged):
    run, _, named, _, _ = judged
    for language in LANGUAGES:
        for row, pick in zip(run.read(language).to_pylist(), named[language], strict=True):
            assert row["scores"] == [float(k == pick) for k in range(len(row["scores"]))]


def test_centred_rankc_is_r_p_and_q_of_equal_entities(judged):
    run, results, named, _, _ = judged
    facts = {row["fact_id"]: k for k, row in enumerate(run.read("en").to_pylist())}
    donors = [facts.get(row["donor"]) for row in run.read("en").to_pylist()]
    assert donors.count(None) == 1  # the relation of a single subject
    for first, second in (("en", "ru"), ("en", "zh_hans"), ("ru", "zh_hans")):
        a, b = named[first], named[second]

        def equal(x, y):
            return float(x is not None and x == y)

        served = [(k, d) for k, d in enumerate(donors) if d is not None]
        r = fmean(equal(a[k], b[k]) for k, _ in served)
        p = fmean((equal(a[k], b[d]) + equal(a[d], b[k])) / 2 for k, d in served)
        q = fmean(equal(a[d], b[d]) for _, d in served)
        pair = f"{first}-{second}"
        assert results["rankc_donor"][pair] == pytest.approx(p)
        assert results["rankc_interaction"][pair] == pytest.approx(r - 2 * p + q)
        assert results["rankc_room"][pair] == pytest.approx(1 - 2 * p + q)
        expected = (r - 2 * p + q) / (1 - 2 * p + q)
        assert results["rankc_subject"][pair] == pytest.approx(expected)
        assert abs(expected) > 0.05


def test_accuracy_agreement_and_coverlap_are_counts(judged):
    _, results, named, right, sizes = judged
    true = {x: [a == b for a, b in zip(named[x], right, strict=True)] for x in LANGUAGES}
    assert results["accuracy"] == pytest.approx({x: fmean(y) for x, y in true.items()})
    assert results["chance"]["accuracy"] == pytest.approx(fmean(1 / size for size in sizes))
    agreements = []
    for first, second in (("en", "ru"), ("en", "zh_hans"), ("ru", "zh_hans")):
        pairs = [*zip(named[first], named[second], strict=True)]
        equal = fmean(a is not None and a == b for a, b in pairs)
        agreements.append(equal)
        pair = f"{first}-{second}"
        assert results["agreement"][pair] == pytest.approx(equal)
        both = [a and b for a, b in zip(true[first], true[second], strict=True)]
        either = [a or b for a, b in zip(true[first], true[second], strict=True)]
        assert results["coverlap"][pair] == pytest.approx(sum(both) / sum(either))
    chance = fmean(1 / size for size in sizes)
    kappa = (fmean(agreements) - chance) / (1 - chance)
    assert results["kappa"] == pytest.approx(kappa)
