"""The exported tasks in the harnesses' own commands, on the embedded model.

Each row's log-probabilities and credit are compared with polyprobe's own scores of the same rows.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from polyprobe.builder.harness import export_dataset
from polyprobe.eval import load_scorer
from polyprobe.metrics.accuracy_at_1.accuracy_at_1 import right_probability

from .harness_rows import write_dataset

ROOT = Path(__file__).parents[2]
VARIABLES = {"lm-eval": "POLYPROBE_LM_EVAL", "lighteval": "POLYPROBE_LIGHTEVAL"}
LANGUAGES = ["en", "ja", "tr"]
CLOSE = 1e-3  # nats, of a sentence
pytestmark = pytest.mark.slow


def find_python(harness: str) -> str:
    named = os.environ.get(VARIABLES[harness])
    python = Path(named) if named else ROOT / ".harness" / harness / "bin" / "python"
    if not python.is_file():
        pytest.skip(f"needs {harness} in {python}: `make harness`, or name it {VARIABLES[harness]}")
    return str(python)


@pytest.fixture(scope="module")
def work(tmp_path_factory) -> Path:
    """A folder with the embedded model, and with the same model under a tokenizer without BOS."""
    work = tmp_path_factory.mktemp("harness")
    for name in ("geolm", "geolm_bare"):
        shutil.copytree(ROOT / "eval/embedded/geolm", work / name)
    file = work / "geolm_bare" / "tokenizer.json"
    tokenizer = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps({**tokenizer, "post_processor": None}), encoding="utf-8")
    return work


@pytest.fixture(scope="module")
def rows() -> dict[str, list[dict]]:
    """Every 23rd row of geofacts, and one with two right answers, one of them listed twice."""
    names = ["prompt", "candidates", "answers"]
    found = {}
    for language in LANGUAGES:
        file = ROOT / "datasets/geofacts/data/default" / f"{language}.parquet"
        own = pq.read_table(file, columns=names).to_pylist()[::23]
        first = own[0]["candidates"]
        found[language] = [*own, {**own[0], "candidates": [*first, first[0]], "answers": [0, 2]}]
    return found


@pytest.fixture(scope="module")
def dataset(work, rows) -> Path:
    listed = {x: [tuple(row.values()) for row in own] for x, own in rows.items()}
    return write_dataset(work / "geofacts", listed)


def call(harness: str, arguments: list[str], work: Path) -> None:
    own = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(work / "hf"), "OMP_NUM_THREADS": "1"}
    command = [find_python(harness), *arguments]
    done = subprocess.run(
        command, cwd=work, env=os.environ | own, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def read_lm_eval(file: Path) -> list[dict]:
    lines = map(json.loads, file.read_text("utf-8").splitlines())
    ordered = sorted(lines, key=lambda line: line["doc_id"])
    return [{**x, "sums": [float(one[0]) for one in x["filtered_resps"]]} for x in ordered]


def read_lighteval(file: Path) -> list[dict]:
    ordered = sorted(pq.read_table(file).to_pylist(), key=lambda row: int(row["doc"]["id"]))
    return [
        {**row["metric"], "sums": row["model_response"]["logprobs"], **row["doc"]}
        for row in ordered
    ]


def score(model: Path, own: list[dict], **options) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return polyprobe's scores of the rows, and the numbers of tokens they are made of."""
    scorer = load_scorer(str(model), device="cpu", **options)
    asked = ([row[name] for row in own] for name in ("prompt", "candidates"))
    scored = scorer.score_counted(*asked)
    return list(map(np.array, scored.scores)), list(map(np.array, scored.n_tokens))


def credit(scores: list[np.ndarray], own: list[dict]) -> list[float]:
    """Return 1 where the first of the best candidates is right, else 0."""
    answers = [row["answers"] for row in own]
    return right_probability([list(s) for s in scores], answers, "released").tolist()


def assert_close(found: list[dict], sums: list[np.ndarray]) -> None:
    for row, expected in zip(found, sums, strict=True):
        np.testing.assert_allclose(row["sums"][: len(expected)], expected, atol=CLOSE)


def test_lm_eval_ranks_by_the_sums_that_our_means_come_from(work, rows, dataset):
    tasks = work / "lm-eval"
    stems = [
        export_dataset(dataset, "lm-eval", tasks, scoring=scoring)[0].stem
        for scoring in ("bmlama", "object")
    ]
    arguments = ["-m", "lm_eval", "run", "--model", "hf", "--device", "cpu", "--batch_size", "64"]
    arguments += ["--model_args", "pretrained=geolm,dtype=float32", "--include_path", str(tasks)]
    arguments += ["--tasks", ",".join(stems), "--output_path", "answers", "--log_samples"]
    call("lm-eval", arguments, work)
    (file,) = (work / "answers").rglob("results_*.json")
    results = json.loads(file.read_text("utf-8"))
    means = {stem: [] for stem in stems}
    for language, own in rows.items():
        scores, n_tokens = score(work / "geolm", own)
        sums = [mean * n for mean, n in zip(scores, n_tokens, strict=True)]
        found = {
            stem: read_lm_eval(next((work / "answers").rglob(f"samples_{stem}_{language}_2*")))
            for stem in stems
        }
        assert_close(found[stems[0]], sums)
        assert [row["acc"] for row in found[stems[0]]] == credit(sums, own)
        sentences = [[row["prompt"].replace("[Y]", c) for c in row["candidates"]] for row in own]
        for metric, length in (("acc_norm", len), ("acc_bytes", lambda c: len(c.encode()))):
            by = [s / list(map(length, c)) for s, c in zip(sums, sentences, strict=True)]
            assert [row[metric] for row in found[stems[0]]] == credit(by, own)
        for row, asked in zip(found[stems[1]], own, strict=True):
            texts = [row["arguments"][f"gen_args_{k}"] for k in range(len(asked["candidates"]))]
            assert {text["arg_0"] for text in texts} == {asked["prompt"].partition("[Y]")[0]}
            assert [text["arg_1"] for text in texts] == asked["candidates"]
        for stem in stems:
            means[stem].append(np.mean([row["acc"] for row in found[stem]]))
    for stem in stems:
        assert results["groups"][stem]["acc,none"] == pytest.approx(np.mean(means[stem]))


def run_lighteval(work: Path, dataset: Path, model: str, scoring: str, suffix: str = "") -> dict:
    """Return what lighteval says of the rows, by language."""
    tasks = work / "lighteval"
    file = export_dataset(dataset, "lighteval", tasks, scoring=scoring)[0]
    own = f"model_name={model},dtype=float32,batch_size=64,cache_dir={work / 'cache'}"
    stem = f"{file.stem}{suffix}"
    arguments = ["-m", "lighteval", "accelerate", f"{own},override_chat_template=False", stem]
    arguments += ["--custom-tasks", str(file), "--output-dir", model, "--save-details"]
    call("lighteval", arguments, work)
    details = work / model
    return {
        x: read_lighteval(next(details.rglob(f"details_{stem}:{x}|0_*.parquet"))) for x in LANGUAGES
    }


def test_lighteval_has_our_means_behind_a_bos(work, rows, dataset):
    found = run_lighteval(work, dataset, "geolm", "bmlama")
    for language, own in rows.items():
        scores, n_tokens = score(work / "geolm", own)
        sums = [mean * n for mean, n in zip(scores, n_tokens, strict=True)]
        assert_close(found[language], sums)
        assert [row["acc_tokens"] for row in found[language]] == credit(scores, own)
        assert [row["acc"] for row in found[language]] == credit(sums, own)


def test_lighteval_has_our_sums_where_the_first_word_is_one_token(work, rows, dataset):
    found = run_lighteval(work, dataset, "geolm_bare", "bmlama", "_no_bos")
    scorer = load_scorer(str(work / "geolm_bare"), device="cpu")
    same = 0
    for language, own in rows.items():
        scores, n_tokens = score(work / "geolm_bare", own)
        for row, asked, mean, n in zip(found[language], own, scores, n_tokens, strict=True):
            first = scorer.tokenizer.encode(row["query"])
            for k, candidate in enumerate(asked["candidates"]):
                rest = scorer.tokenizer.encode(row["choices"][k])
                whole = scorer.tokenizer.encode(asked["prompt"].replace("[Y]", candidate))
                if len(first) == 1 and first + rest == whole:
                    assert row["sums"][k] == pytest.approx(mean[k] * n[k], abs=CLOSE)
                    same += 1
    assert same > 60


def test_lighteval_has_the_object_behind_the_prompt(work, rows, dataset):
    found = run_lighteval(work, dataset, "geolm", "object")
    compared = 0
    for language, own in rows.items():
        scores, _ = score(work / "geolm", own, scoring="object")
        for row, asked, sums in zip(found[language], own, scores, strict=True):
            if not asked["prompt"].partition("[Y]")[0].endswith(" "):  # a blank is cut otherwise
                assert_close([row], [sums])
                compared += 1
    assert compared >= len(rows["ja"])
