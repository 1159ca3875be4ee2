"""The exported tasks in the harnesses' own commands, on the embedded model.

Each row's log-probabilities and credit are compared with polyprobe's own scores of the same rows.
"""

import json
import shlex
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from polyprobe.eval import load_scorer
from polyprobe.metrics.accuracy_at_1.formulas import right_probability
from polyprobe.publish.harness import export_dataset
from tests.publish.harness.harness_rows import ROWS, load_module, write_dataset

ROOT = Path(__file__).parents[3]
PEERS = load_module(ROOT / "bench" / "harness_peers.py")
LANGUAGES = ["en", "ja", "tr"]
CLOSE = 1e-3  # nats, of a sentence
pytestmark = [pytest.mark.slow, pytest.mark.acceptance]


@pytest.fixture(autouse=True)
def _installed(request) -> None:
    harness = "lm-eval" if "lm_eval" in request.function.__name__ else "lighteval"
    python = PEERS.find_python(harness)
    if not python.is_file():
        name = PEERS.PYTHONS[harness]
        pytest.skip(f"needs {harness} in {python}: `make harness`, or name it {name}")


@pytest.fixture(scope="module")
def work(tmp_path_factory) -> Path:
    """A folder with the embedded model, and with the same model with a tokenizer without BOS."""
    work = tmp_path_factory.mktemp("harness")
    for name in ("geolm", "geolm_bare"):
        shutil.copytree(ROOT / "scoring/embedded/geolm", work / name)
    file = work / "geolm_bare" / "tokenizer.json"
    tokenizer = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps({**tokenizer, "post_processor": None}), encoding="utf-8")
    return work


@pytest.fixture(scope="module")
def rows() -> dict[str, list[dict]]:
    names = ["prompt", "candidates", "answers"]
    found = {}
    for language in LANGUAGES:
        file = ROOT / "datasets/geofacts/data/default" / f"{language}.parquet"
        own = pq.read_table(file, columns=names).to_pylist()[::23]
        difficult = [dict(zip(names, row, strict=True)) for row in ROWS["en"]]
        found[language] = [*own, {**own[0], "answers": [0, 2]}, *difficult]
    return found


@pytest.fixture(scope="module")
def dataset(work, rows) -> Path:
    listed = {x: [tuple(row.values()) for row in own] for x, own in rows.items()}
    return write_dataset(work / "geofacts", listed)


def run_line(harness: str, file: Path, *others: str, model: str) -> None:
    lines = file.read_text("utf-8").replace("\\\n", " ").splitlines()
    (line,) = (x for x in lines if x.removeprefix("# ").startswith(("lm_eval run", "lighteval ac")))
    command = shlex.split(line.removeprefix("# ").replace("MODEL", model))
    PEERS.call(harness, ["-m", *command, *others], file.parent)


def score(model: Path, own: list[dict], **options) -> tuple[list[np.ndarray], list[np.ndarray]]:
    scorer = load_scorer(str(model), device="cpu", **options)
    asked = ([row[name] for row in own] for name in ("prompt", "candidates"))
    scored = scorer.score_counted(*asked)
    return [np.array(x.scores) for x in scored], [np.array(x.n_tokens) for x in scored]


def credit(scores: list[np.ndarray], own: list[dict]) -> list[float]:
    """Return 1 if the first of the best candidates is an answer, else 0."""
    answers = [row["answers"] for row in own]
    return right_probability([list(s) for s in scores], answers, "released").tolist()


def list_credit(found: list, metric: str) -> list[float]:
    return [row.credit[metric] for row in found]


def assert_close(found: list, sums: list[np.ndarray]) -> None:
    for row, expected in zip(found, sums, strict=True):
        np.testing.assert_allclose(row.sums, expected, atol=CLOSE)


def test_lm_eval_ranks_by_the_sums_that_our_means_come_from(work, rows, dataset):
    tasks = work / "lm-eval"
    stem = export_dataset(dataset, "lm-eval", tasks)[0].stem
    answers = PEERS.run_lm_eval(tasks, stem, work / "geolm", LANGUAGES)
    for language, own in rows.items():
        found = answers[language]
        scores, n_tokens = score(work / "geolm", own)
        sums = [mean * n for mean, n in zip(scores, n_tokens, strict=True)]
        assert_close(found, sums)
        assert list_credit(found, "acc") == credit(sums, own)
        sentences = [[row["prompt"].replace("[Y]", c) for c in row["candidates"]] for row in own]
        for metric, length in (("acc_norm", len), ("acc_bytes", lambda c: len(c.encode()))):
            by = [s / list(map(length, c)) for s, c in zip(sums, sentences, strict=True)]
            assert list_credit(found, metric) == credit(by, own)


def test_lm_eval_runs_as_the_head_of_the_group_says(work, rows, dataset):
    file = export_dataset(dataset, "lm-eval", work / "lm-eval-line", scoring="object")[0]
    model = f"{work / 'geolm'},dtype=float32"
    run_line("lm-eval", file, "--output_path", "answers", "--log_samples", model=model)
    answers = file.parent / "answers"
    (results,) = answers.rglob("results_*.json")
    means = []
    for language, own in rows.items():
        found = PEERS.read_lm_eval(next(answers.rglob(f"samples_{file.stem}_{language}_2*")))
        for row, asked in zip(found, own, strict=True):
            assert row.context == asked["prompt"].partition("[Y]")[0]
            assert row.choices == asked["candidates"]
        if language != "ja":  # a token may span the boundary
            assert_close(found, score(work / "geolm", own, scoring="object")[0])
        means.append(np.mean(list_credit(found, "acc")))
    figure = json.loads(results.read_text("utf-8"))["groups"][file.stem]["acc,none"]
    assert figure == pytest.approx(np.mean(means))


def run_lighteval(work: Path, dataset: Path, model: str, suffix: str = "") -> dict[str, list]:
    tasks = work / f"lighteval{suffix}"
    stem = export_dataset(dataset, "lighteval", tasks)[0].stem
    return PEERS.run_lighteval(tasks, f"{stem}{suffix}", work / model, LANGUAGES)


def test_lighteval_has_our_means_behind_a_bos(work, rows, dataset):
    answers = run_lighteval(work, dataset, "geolm")
    for language, own in rows.items():
        scores, n_tokens = score(work / "geolm", own)
        sums = [mean * n for mean, n in zip(scores, n_tokens, strict=True)]
        assert_close(answers[language], sums)
        assert list_credit(answers[language], "acc_tokens") == credit(scores, own)
        assert list_credit(answers[language], "acc") == credit(sums, own)
    assert not list((work / "geolm").glob("**/*.parquet"))


def test_lighteval_has_our_sums_where_the_first_word_is_one_token(work, rows, dataset):
    answers = run_lighteval(work, dataset, "geolm_bare", "_no_bos")
    scorer = load_scorer(str(work / "geolm_bare"), device="cpu")
    same = 0
    for language, own in rows.items():
        scores, n_tokens = score(work / "geolm_bare", own)
        for row, asked, mean, n in zip(answers[language], own, scores, n_tokens, strict=True):
            first = scorer.tokenizer.encode(row.context)
            for k, candidate in enumerate(asked["candidates"]):
                rest = scorer.tokenizer.encode(row.choices[k])
                whole = scorer.tokenizer.encode(asked["prompt"].replace("[Y]", candidate))
                if len(first) == 1 and first + rest == whole:
                    assert row.sums[k] == pytest.approx(mean[k] * n[k], abs=CLOSE)
                    same += 1
    assert same > 60


def test_lighteval_runs_as_the_head_of_the_file_says(work, rows, dataset):
    """The head also states that an absolute path puts lighteval's cache into the model's folder."""
    file = export_dataset(dataset, "lighteval", work / "lighteval-line", scoring="object")[0]
    shutil.copytree(work / "geolm", work / "geolm_absolute")
    model = f"{work / 'geolm_absolute'},cache_dir={work / 'cache'},dtype=float32,batch_size=32"
    run_line("lighteval", file, "--output-dir", "answers", "--save-details", model=model)
    assert list((work / "geolm_absolute").glob("**/*.parquet"))
    assert not list((work / "cache").glob("**/*.parquet"))
    for language, own in rows.items():
        name = f"details_{file.stem}:{language}|0_*.parquet"
        found = PEERS.read_lighteval(next((file.parent / "answers").rglob(name)))
        assert_close(found, score(work / "geolm", own, scoring="object")[0])
