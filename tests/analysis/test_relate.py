"""`polyprobe relate` on small runs, against plain loops, sets and scipy."""

import json
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import linregress, pearsonr, spearmanr
from typer.testing import CliRunner

from polyprobe.analysis.relate import RelateOptions
from polyprobe.analysis.relate.pairs import find_complete
from polyprobe.analysis.relate.relate import relate_run
from polyprobe.analysis.relate.sources import compare_traits
from polyprobe.cli import app
from polyprobe.metrics.pictures.picture import Heat, Points
from polyprobe.report.findings.relate import make_relate_finding
from polyprobe.schema.run.folder import Run
from polyprobe.system.messages import PolyprobeError
from tests.making.browser import open_page
from tests.making.predictions import write_predictions
from tests.making.reader import Reader
from tests.making.runs import make_random_run

LANGUAGES = ["en", "es", "ru", "uk", "el", "hi"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Scores with a common part for each candidate, in six languages of geofacts."""
    return make_random_run(tmp_path_factory.mktemp("run"), LANGUAGES)


def test_the_correlations_are_those_of_results_json(run):
    results = run.read_results()
    pairs = [*combinations(LANGUAGES, 2)]
    for of in ("rankc", "rankc_adjusted", "coverlap", "agreement"):
        found = relate_run(
            run, ["script", "branch", "accuracy"], RelateOptions(of=of, n_resamples=50)
        )
        y = [results[of]["-".join(pair)] for pair in pairs]
        accuracy = results["accuracy"]
        x = {
            "script": [{*pair} in ({"en", "es"}, {"ru", "uk"}) for pair in pairs],
            "branch": [{*pair} == {"ru", "uk"} for pair in pairs],
            "accuracy_min": [min(accuracy[a], accuracy[b]) for a, b in pairs],
            "accuracy_product": [accuracy[a] * accuracy[b] for a, b in pairs],
            "accuracy_difference": [abs(accuracy[a] - accuracy[b]) for a, b in pairs],
        }
        assert [row.similarity.name for row in found.rows] == [*x]
        for row, values in zip(found.rows, x.values(), strict=True):
            r, rho = pearsonr(values, y), spearmanr(values, y)
            got = row.correlation
            assert (got.n, got.r, got.p) == pytest.approx((15, r.statistic, r.pvalue))
            assert (got.rho, got.p_rho) == pytest.approx((rho.statistic, rho.pvalue))
            assert row.ci[0] < got.r < row.ci[1]


def test_another_run_and_languages_of_both(run, tmp_path):
    other = make_random_run(tmp_path / "other", ["el", "ru", "es", "en", "fr"], seed=1)
    [row] = relate_run(run, [str(other.folder)], RelateOptions(n_resamples=10)).rows
    assert row.left_out == {"uk": "not in synthetic (other)", "hi": "not in synthetic (other)"}
    common = ["en", "es", "ru", "el"]
    one, two = run.read_results()["rankc"], other.read_results()["rankc"]
    values = [
        (one.get(f"{a}-{b}"), two.get(f"{a}-{b}", two.get(f"{b}-{a}")))
        for a, b in combinations(common, 2)
    ]
    assert row.correlation.r == pytest.approx(pearsonr(*zip(*values, strict=True)).statistic)


def test_some_languages_and_rows(run):
    found = relate_run(
        run, ["script"], RelateOptions(relations="P36"), languages=["ru", "en", "uk", "es"]
    )
    assert found.pairs.languages == ["en", "es", "ru", "uk"]
    assert {*found.pairs.table["relation"].to_pylist()} == {"P36"}
    assert found.as_json()["subset"] == {"relations": ["P36"], "exclude": []}
    assert found.rows[0].correlation.n == 6


def test_given_a_third_table(run):
    found = relate_run(
        run, ["branch", "accuracy_min"], RelateOptions(control="script", n_resamples=10)
    )
    for row in found.rows:
        assert row.partial.n == row.correlation.n
        assert row.partial.r != pytest.approx(row.correlation.r)
    with pytest.raises(PolyprobeError, match="--given takes one similarity: accuracy_min, acc"):
        relate_run(run, ["script"], RelateOptions(control="accuracy"))
    with pytest.raises(PolyprobeError, match="--with has accuracy_min twice"):
        relate_run(run, ["accuracy", "accuracy_min"])


def test_languages_with_missing_pairs_are_left_out_the_worst_first():
    table = np.ones((5, 5))
    table[0, 1] = table[1, 0] = table[0, 2] = table[2, 0] = np.nan
    other = np.ones((5, 5))
    other[3, 4] = other[4, 3] = np.nan
    assert find_complete([np.ones((5, 5))]) == [0, 1, 2, 3, 4]
    assert find_complete([table]) == [1, 2, 3, 4]
    assert find_complete([table, other]) == [1, 2, 3]


def test_a_language_that_is_not_known_is_left_out(run):
    found = compare_traits("script", ["en", "tlh", "ru"])
    assert found.missing == {"tlh": "no ISO 639-3 code is known"}
    assert np.isnan(found.values[1]).all()
    assert (found.values[0, 0], found.values[0, 2]) == (1, 0)


def test_two_languages_with_values_are_refused(run, tmp_path):
    (tmp_path / "two.tsv").write_text("en\t1\nes\t2\n")
    with pytest.raises(PolyprobeError, match="--with two: .* requires 3 languages .* ru: not in"):
        relate_run(run, [str(tmp_path / "two.tsv")], RelateOptions(n_resamples=10))


def write(file, *lines):
    file.write_text("".join("\t".join(map(str, line)) + "\n" for line in lines), encoding="utf-8")
    return str(file)


NUMBERS = {"en": 6.5, "es": 1.8, "ru": 1.7, "uk": 1.1, "el": 0.2, "hi": 0.15}


def test_numbers_of_languages(run, tmp_path):
    """Named by code, ISO code, name in FLORES-200 and English name; other languages are ignored."""
    names = ["EN", "spa", "rus_Cyrl", "Ukrainian", "el", "hi"]
    lines = [*zip(names, NUMBERS.values(), strict=True), ("xx", 3)]
    file = write(tmp_path / "size.tsv", ("language", "articles"), *lines)
    [row] = relate_run(run, [file], RelateOptions(n_resamples=10)).rows
    results, pairs = run.read_results(), [*combinations(LANGUAGES, 2)]
    x = [min(NUMBERS[a], NUMBERS[b]) for a, b in pairs]
    y = [results["rankc"]["-".join(pair)] for pair in pairs]
    assert (row.similarity.name, row.left_out) == ("size", {})
    assert row.correlation.r == pytest.approx(pearsonr(x, y).statistic)
    accuracy = [results["accuracy"][x] for x in LANGUAGES]
    plain, ranked = row.of_languages
    r, rho = (of([*NUMBERS.values()], accuracy) for of in (pearsonr, spearmanr))
    assert (plain.n, plain.r, plain.p) == pytest.approx((6, r.statistic, r.pvalue))
    bounds = r.confidence_interval()
    assert plain.ci == pytest.approx([bounds.low, bounds.high])
    assert (ranked.r, ranked.p) == pytest.approx((rho.statistic, rho.pvalue))


def test_numbers_of_pairs(run, tmp_path):
    pairs = [*combinations(LANGUAGES[:5], 2)]
    lines = [(b, a, k * k) for k, (a, b) in enumerate(pairs)]
    file = write(tmp_path / "trade.tsv", *lines, ("es", "en", 0))
    [row] = relate_run(run, [file], RelateOptions(n_resamples=10)).rows
    y = [run.read_results()["rankc"]["-".join(pair)] for pair in pairs]
    assert row.left_out == {"hi": "not in trade.tsv"}
    assert row.correlation.r == pytest.approx(pearsonr([k * k for k in range(10)], y).statistic)
    assert row.of_languages is None


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([("en", 1), ("es", "many")], ", line 2: 'es many'; expected a language and a number"),
        ([("en", 1), ("es", "nan")], ", line 2: 'es nan'; expected a language and a number"),
        ([("en", 1), ("es", "ru", "uk", 2)], ", line 2: 'es ru uk 2'; expected a language"),
        ([("en", 1), ("", 2)], ", line 2: ' 2'; expected a language and a number"),
        ([("en", 1), ("es", "ru", 2)], ": lines of both kinds, or no lines; expected a language"),
        ([("en", "1,234"), ("es", 1)], ", line 1: 'en 1,234'; expected a language and a number"),
        ([('"en', "x"), ("es", "1"), ('"ru', "y")], ", line 3: '\"ru y'; expected a language"),
        ([("en", 1), ("es", "1e308")], ", line 2: 'es 1e308'; expected a language and a number"),
        ([("language", "n")], ": lines of both kinds, or no lines; expected a language"),
        ([("en", 1), ("en", 2)], ": two values of en; keep one"),
        ([("en", "es", 1), ("es", "en", 2)], ": two values of es and en; keep one"),
        ([("fr", 1), ("de", 2)], " has no language of the run: it has de, fr, the run en, es"),
    ],
)
def test_wrong_tables_are_refused(run, tmp_path, lines, message):
    file = write(tmp_path / "own.tsv", *lines)
    with pytest.raises(PolyprobeError) as error:
        relate_run(run, [file])
    assert str(error.value).startswith(f"{file}{message}")


def test_a_file_that_is_no_text_is_refused(run, tmp_path):
    (tmp_path / "own.tsv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PolyprobeError, match="--with .*own.tsv, line 1: not UTF-8"):
        relate_run(run, [str(tmp_path / "own.tsv")])


def test_another_run_needs_three_common_languages(run, tmp_path):
    other = make_random_run(tmp_path / "other", ["en", "es", "de"])
    with pytest.raises(PolyprobeError) as error:
        relate_run(run, [str(other.folder)])
    expected = f"in common with {run.folder}: en, es, de / {', '.join(LANGUAGES)}"
    assert expected in str(error.value)


def call(*arguments):
    found = CliRunner().invoke(app, ["relate", *map(str, arguments)])
    if isinstance(found.exception, PolyprobeError):
        assert len(str(found.exception).splitlines()) == 1
        return str(found.exception)
    assert found.exit_code == 0, found.exception
    return found.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--with", "scripts"], "unknown --with 'scripts'; did you mean 'script'? known: subwords"),
        (["--with", ","], "--with is empty; name one or more of subwords"),
        (["--with", "script", "--given", "sript"], "unknown --given 'sript'; did you mean"),
        (["--with", "script", "--of", "rank"], "unknown --of 'rank'; did you mean 'rankc'?"),
        (["--with", "script", "--languages", "en,xx"], "unknown language 'xx' in "),
        (["--with", "script", "--languages", "en,es"], "requires 3 languages or more; got en, es"),
        (["--with", "script", "--by-query"], "--by-query requires --with subwords"),
        (["--with", "subwords", "--by-query", "--corpus", "x"], "requires --corpus filled or"),
        (["--with", "script", "--given", "accuracy"], "takes one similarity: accuracy_min, "),
        (["--with", "RUN"], "unknown --with 'RUN'; "),
        (["--with", "runs/b"], "--with runs/b: no such file or folder"),
        (["--with", "subwords"], "; give the run's tokenizer with --tokenizer"),
        (["--with", "subwords", "--tokenizer", "geoml"], "unknown model 'geoml'; did you mean"),
        (["--with", "script", "--of", "rankc_subject"], "--of rankc_subject needs a question"),
        (["--with", "."], ". is not a run folder: it has no run.json"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(run, arguments, message):
    assert message in call(run.folder, *arguments)


def test_the_command_writes_json_page_and_picture(run, tmp_path):
    arguments = ["--with", "script,accuracy_min", "--given", "branch", "--resamples", 100]
    paths = [tmp_path / name for name in ("found.json", "page.html", "map.svg")]
    files = [
        x for pair in zip(("--json", "--output", "--figure"), paths, strict=True) for x in pair
    ]
    shown = call(run.folder, *arguments, *files, "--draw", "script-map", "--order", "family")
    assert "partial: controls for branch; residuals are permuted" in shown
    made = json.loads(paths[0].read_text(encoding="utf-8"))
    found = relate_run(
        Run(run.folder),
        ["script", "accuracy_min"],
        RelateOptions(control="branch", n_resamples=100),
    )
    assert made == json.loads(json.dumps(found.as_json()))
    assert made["similarities"]["script"]["partial"]["r"] is not None
    drawn = json.loads(Reader(paths[1].read_text(encoding="utf-8")).scripts[0])
    heats = drawn["heats"]
    assert [*heats["rankc-map"]["names"]] == LANGUAGES
    [view] = heats["rankc-map"]["views"]
    assert view["values"] == pytest.approx([*made["values"].values()], abs=1e-4)
    views = heats["script-map"]["views"]
    assert [view["measure"] for view in views] == ["script", "accuracy_min"]
    orders = [*heats["script-map"]["orders"].values(), *(view["similarity"] for view in views)]
    assert {*map(tuple, map(sorted, orders))} == {tuple(range(6))}
    assert paths[2].read_text(encoding="utf-8").startswith("<?xml")


def test_pictures_are_the_values(run):
    found = relate_run(run, ["script", "accuracy_min"], RelateOptions(n_resamples=10))
    pictures = make_relate_finding(found).pictures
    assert [*pictures] == ["script", "accuracy_min", "script-map", "accuracy_min-map", "rankc-map"]
    points, heat = pictures["accuracy_min"], pictures["script-map"]
    assert isinstance(points, Points)
    assert isinstance(heat, Heat)
    results = run.read_results()
    assert [point.label for point in points.points] == [*results["rankc"]]
    assert [point.y for point in points.points] == pytest.approx([*results["rankc"].values()])
    line = linregress([p.x for p in points.points], [p.y for p in points.points])
    assert points.line == pytest.approx((line.slope, line.intercept))
    assert heat.values[0, 1] == 1
    np.testing.assert_array_equal(heat.similar, found.pairs.values)


@pytest.mark.acceptance
def test_a_browser_draws_all_pictures(run, tmp_path, browser):
    page = tmp_path / "page.html"
    call(run.folder, "--with", "script,accuracy_min", "--resamples", 10, "--output", page)
    shown = open_page(browser, page)
    counts = {".points circle": 15, ".cells path": 2 * 36, ".fitted": 1}

    def count():
        return {selector: shown.locator(f"{selector}:visible").count() for selector in counts}

    assert count() == counts
    fills = "all => all.map(x => x.getAttribute('fill'))"
    cells = shown.locator("#script-map .cells path")
    before = cells.evaluate_all(fills)
    shown.select_option("select[data-label=similarity]", "accuracy_min")
    assert count() == counts
    assert cells.evaluate_all(fills) != before


def test_free_predictions_have_coverlap_alone(tmp_path):
    right = {"en": {0, 1, 2}, "es": {0, 1}, "ru": {1, 2, 4}, "el": {2, 3}}
    said = {x: ["gold" if k in own else "x" for k in range(6)] for x, own in right.items()}
    run = write_predictions(tmp_path, said)
    y = [len(a & b) / len(a | b) for a, b in combinations(right.values(), 2)]
    [row] = relate_run(run, ["script"], RelateOptions(of="coverlap", n_resamples=10)).rows
    assert row.correlation.r == pytest.approx(pearsonr([1, 0, 0, 0, 0, 0], y).statistic)
    found = relate_run(run, ["accuracy_min"], RelateOptions(of="coverlap", n_resamples=10))
    assert [*found.pairs.accuracy] == pytest.approx([3 / 6, 2 / 6, 3 / 6, 2 / 6])
    with pytest.raises(PolyprobeError, match="free predictions, which have no rankc; use --of cov"):
        relate_run(run, ["script"])
