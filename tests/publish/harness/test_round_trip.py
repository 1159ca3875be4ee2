"""geofacts exported, run by a harness's own command on geolm, and imported: eval's figures."""

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from polyprobe.analysis.figures.results import explain_missing
from polyprobe.eval import evaluate_model, import_scores
from polyprobe.publish.harness import export_dataset
from tests.making.datasets import write_dataset
from tests.publish.harness.harness_rows import load_module

ROOT = Path(__file__).parents[3]
PEERS = load_module(ROOT / "bench" / "harness_peers.py")
LANGUAGES = ["en", "es", "ka"]
# Candidates of Chinese that lm-eval joins to the text before them have no token of their own.
MORE = {("lm-eval", "bmlama"): ["zh"], ("lighteval", "object"): ["zh"]}
CASES = [("lm-eval", "bmlama"), ("lighteval", "object")]
OF_RUNS = {"signature", "sha256"}
OF_DONORS = ("accuracy_gain", "accuracy_donor", "rankc_subject", "donors")
pytestmark = [pytest.mark.slow, pytest.mark.acceptance]


@pytest.fixture(scope="module")
def work(tmp_path_factory) -> Path:
    """A folder with geolm, and with some facts of geofacts.

    Few, so that no two scores of a row differ by less than the harness's differ from ours (1e-4).
    """
    work = tmp_path_factory.mktemp("trip")
    shutil.copytree(ROOT / "scoring/embedded/geolm", work / "geolm")
    files = {x: ROOT / f"datasets/geofacts/data/default/{x}.parquet" for x in [*LANGUAGES, "zh"]}
    rows = {x: pq.read_table(file) for x, file in files.items()}
    some = [*range(0, len(rows["en"]), 9)]
    write_dataset(
        work / "geofacts", {"default": {x: table.take(some) for x, table in rows.items()}}
    )
    return work


def run_harness(harness: str, tasks: Path, stem: str) -> list[Path]:
    """Run both tasks as their head says, and return the files that hold the answers."""
    both, output = f"{stem},{stem}_donor", str(tasks / "answers")
    if harness == "lm-eval":
        own = f"pretrained={tasks.parent / 'geolm'},dtype=float32"
        command = ["lm_eval", "run", "--model", "hf", "--device", "cpu", "--batch_size", "32"]
        command += ["--model_args", own, "--include_path", str(tasks), "--tasks", both]
        PEERS.call(harness, ["-m", *command, "--output_path", output, "--log_samples"], tasks)
        return [path for path in (tasks / "answers").rglob("*.json*") if path.is_file()]
    own = f"model_name=geolm,dtype=float32,batch_size=32,cache_dir={tasks / 'cache'}"
    command = ["lighteval", "accelerate", f"{own},override_chat_template=False", both]
    command += ["--custom-tasks", str(tasks / f"{stem}.py"), "--output-dir", output]
    PEERS.call(harness, ["-m", *command, "--save-details"], tasks.parent)
    paths = (tasks / "answers").rglob("*")
    return [path for path in paths if path.suffix in (".json", ".parquet")]


def compare(ours, theirs, place=""):
    """Yield each place where two results differ in more than 1e-5, or one has nothing."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in {*ours, *theirs} - OF_RUNS:
            if key in ours and key in theirs:
                yield from compare(ours[key], theirs[key], f"{place}.{key}")
            else:
                yield f"{place}.{key} is missing"
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for k, pair in enumerate(zip(ours, theirs, strict=True)):
            yield from compare(*pair, f"{place}[{k}]")
    elif ours != theirs and not (
        isinstance(ours, float) and ours == pytest.approx(theirs, abs=1e-5)
    ):
        yield f"{place}: {ours} / {theirs}"


@pytest.mark.parametrize(("harness", "scoring"), CASES)
def test_all_figures_come_back(harness, scoring, work, capsys):
    if not PEERS.find_python(harness).is_file():
        pytest.skip(f"needs {harness}: `make harness`, or {PEERS.PYTHONS[harness]}")
    languages = [*LANGUAGES, *MORE.get((harness, scoring), ())]
    asked = {"languages": languages, "scoring": scoring}
    own = evaluate_model(str(work / "geolm"), str(work / "geofacts"), cache=False, **asked)
    tasks = work / f"{harness}-{scoring}"
    stem = export_dataset(work / "geofacts", harness, tasks, **asked)[0].stem
    files = run_harness(harness, tasks, stem)
    counted = {"tokenizer": str(work / "geolm")} if harness == "lm-eval" else {}
    found = import_scores(files, str(work / "geofacts"), languages=languages, **counted)
    assert [*compare(own, found)] == []
    assert own["mean"]["rankc_subject"] > 0.1
    bare = [path for path in files if "_donor" not in path.name]
    found = import_scores(bare, str(work / "geofacts"), languages=languages, **counted)
    missing = [*compare(own, found)]
    assert {f".{name} is missing" for name in OF_DONORS} <= {*missing}
    assert "import scores with a donor too" in explain_missing(found)
