"""Figures of judged answers equal those counted from the answers in plain loops."""

import random
from collections import Counter
from itertools import combinations
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
    agreed = [0.0] * len(sizes)
    for first, second in (("en", "ru"), ("en", "zh_hans"), ("ru", "zh_hans")):
        pairs = [*zip(named[first], named[second], strict=True)]
        same = [a is not None and a == b for a, b in pairs]
        agreed = [x + y / 3 for x, y in zip(agreed, same, strict=True)]
        pair = f"{first}-{second}"
        assert results["agreement"][pair] == pytest.approx(fmean(same))
        both = [a and b for a, b in zip(true[first], true[second], strict=True)]
        either = [a or b for a, b in zip(true[first], true[second], strict=True)]
        assert results["coverlap"][pair] == pytest.approx(sum(both) / sum(either))
    chance = sum(1 - 1 / size for size in sizes)
    kappa = sum(x - 1 / size for x, size in zip(agreed, sizes, strict=True) if size > 1) / chance
    assert results["kappa"] == pytest.approx(kappa)


def answer(rows, column):
    """Return what a rule answers to each row: the candidates with the highest value, or none."""
    best = [[k for k, x in enumerate(row[column]) if x == max(row[column])] for row in rows]
    return [
        {k: 1 / len(of) for k in of} if len(of) < len(row[column]) or len(of) == 1 else {}
        for of, row in zip(best, rows, strict=True)
    ]


def share(first, second):
    return sum(value * second.get(k, 0) for k, value in first.items())


def test_the_parts_of_centred_rankc_are_those_of_equal_answers(judged):
    """Right answers alone, and languages that know the facts of the relation independently."""
    run, results, named, right, _ = judged
    table = run.read("en").to_pylist()
    places = {row["fact_id"]: k for k, row in enumerate(table)}
    donors = {k: places[row["donor"]] for k, row in enumerate(table) if row["donor"]}
    large = [k for k in donors if table[k]["relation"] == "P36"]  # P37 has too few facts
    for pair in combinations(LANGUAGES, 2):
        said = [[{} if x is None else {x: 1.0} for x in named[language]] for language in pair]
        terms, parts, independent = {}, [], []
        for k, d in donors.items():
            (a, x), (b, y) = ((of[k], of[d]) for of in said)
            r, p, q = share(a, b), (share(a, y) + share(x, b)) / 2, share(x, y)
            terms[k] = (r - 2 * p + q, 1 - 2 * p + q)
            changes = [of[k].get(right[k], 0) - of[d].get(right[k], 0) for of in said]
            parts.append(changes[0] * changes[1])
            if k not in large:
                continue
            moved = []
            for language, of in zip(pair, said, strict=True):
                known = fmean(named[language][j] == right[j] for j in large if j != k)
                other = {i: 1 - known for i in of[d] if i != right[k]}
                moved.append({right[k]: known, **other})
            sums = [
                share(a, moved[1]) - share(a, y) - share(x, moved[1]) + share(x, y),
                share(b, moved[0]) - share(b, x) - share(y, moved[0]) + share(y, x),
            ]
            independent.append(fmean(sums))
        room = fmean(x for _, x in terms.values())
        name = "-".join(pair)
        assert results["rankc_right"][name] == pytest.approx(fmean(parts) / room)
        room = fmean(terms[k][1] for k in large)
        assert results["rankc_independent"][name] == pytest.approx(fmean(independent) / room)


def test_the_floors_are_answers_by_a_rule(judged):
    """The most frequent object, and the object whose name is most like the subject's."""
    run, results, _, right, _ = judged
    tables = {language: run.read(language).to_pylist() for language in LANGUAGES}
    floors = results["floors"]
    rates = []
    for k, row in enumerate(tables["en"]):
        others = [j for j, x in enumerate(tables["en"]) if x["relation"] == row["relation"]]
        counts = Counter(right[j] for j in others if j != k)
        numbers = [counts[i] for i in range(len(row["scores"]))]
        rates.append((numbers[right[k]] == max(numbers)) / numbers.count(max(numbers)))
    assert floors["frequency"]["accuracy"] == pytest.approx(fmean(rates))
    alike = {language: answer(rows, "bigrams") for language, rows in tables.items()}
    known = [fmean(x.get(k, 0) for x, k in zip(y, right, strict=True)) for y in alike.values()]
    assert floors["bigrams"]["accuracy"] == pytest.approx(fmean(known))
    served = [k for k, row in enumerate(tables["en"]) if row["donor"]]
    of_donors = {
        language: answer([rows[k] for k in served], "donor_bigrams")
        for language, rows in tables.items()
    }
    values = []
    for first, second in combinations(LANGUAGES, 2):
        x, y = of_donors[first], of_donors[second]
        a, b = ([alike[language][k] for k in served] for language in (first, second))
        r, q = fmean(map(share, a, b)), fmean(map(share, x, y))
        p = (fmean(map(share, a, y)) + fmean(map(share, x, b))) / 2
        values.append((r - 2 * p + q) / (1 - 2 * p + q))
    assert floors["bigrams"]["rankc_subject"] == pytest.approx(fmean(values))
