"""Pushed datasets and metrics load from an empty cache with the standard clients."""

import pytest

from polyprobe.builder.build import build_dataset
from tests.hub.client import run_client, run_polyprobe
from tests.metrics.cases import CASES, RESULTS
from tests.publish.push.clients import TOKEN, hub_token
from tests.publish.push.folders import ROOT

pytestmark = pytest.mark.acceptance
LOAD_DATASET = """
import pyarrow.parquet as pq
from datasets import get_dataset_config_names, load_dataset

def equal(dataset, file):
    table = pq.read_table(file).replace_schema_metadata(None)
    return dataset.data.table.replace_schema_metadata(None).cast(table.schema).equals(table)

answer = {{}}
for config in get_dataset_config_names("{repo}"):
    loaded = load_dataset("{repo}", config)
    files = "{folder}/data/" + config + "/"
    answer[config] = sorted(s for s in loaded if equal(loaded[s], files + s + ".parquet"))
    split = answer[config][-1]
    stream = load_dataset("{repo}", config, split=split, streaming=True)
    first = pq.read_table(files + split + ".parquet").slice(0, 3).to_pylist()
    assert list(stream.take(3)) == first, config
"""
LOAD_METRICS = """
import sys
from tests.metrics.cases import CASES, RESULTS
from tests.metrics.serve_spaces import Without

sys.meta_path[:] = map(Without, sys.meta_path)
import evaluate
answer = {{}}
for name in {names}:
    answer[name] = evaluate.load("me/" + name).compute(**CASES[name])[RESULTS[name][0]]
"""


def fluent_mlama(request, tmp_path):
    mirror = request.getfixturevalue("upstream")
    return build_dataset("fluent-mlama", ("es", "es-sentence"), mirror, tmp_path / "fluent-mlama")


def geofacts(request, tmp_path):
    return ROOT / "datasets" / "geofacts"


DATASETS = [geofacts, pytest.param(fluent_mlama, marks=pytest.mark.upstream)]


@pytest.mark.slow
@pytest.mark.parametrize("make", DATASETS)
def test_every_dataset(make, hub, request, tmp_path):
    folder = make(request, tmp_path)
    repo = f"me/{folder.name}"
    pushed = push(hub, tmp_path, str(folder), repo, "--despite-license", "unknown")
    assert "files added, 0 changed" in pushed
    code = LOAD_DATASET.format(repo=repo, folder=folder)
    loaded = run_client(code, tmp_path / "empty", hub.url)
    held = {path.name: path for path in (folder / "data").iterdir()}
    assert loaded == {name: sorted(f.stem for f in held[name].iterdir()) for name in held}
    hub.clear()
    assert "nothing to upload" in push(hub, tmp_path, str(folder), repo)
    assert hub.uploaded() == []


@pytest.mark.slow
def test_every_metric(hub, tmp_path):
    for name in CASES:
        push(hub, tmp_path, str(ROOT / "metrics" / name), f"me/{name}")
    code = LOAD_METRICS.format(names=[*CASES])
    loaded = run_client(code, tmp_path / "empty", hub.url, folder=ROOT)
    assert loaded == {name: pytest.approx(RESULTS[name][1]) for name in CASES}
    hub.clear()
    for name in [*CASES][:3]:
        push(hub, tmp_path, str(ROOT / "metrics" / name), f"me/{name}")
    assert hub.uploaded() == []


def push(hub, tmp_path, *arguments):
    hub.tokens[TOKEN] = hub_token("me")
    done = run_polyprobe(
        "push",
        *arguments,
        home=tmp_path / "home",
        folder=tmp_path,
        endpoint=hub.url,
        variables={"HF_TOKEN": TOKEN},
    )
    assert done.returncode == 0, done.stderr
    assert TOKEN not in done.stdout + done.stderr
    return done.stdout


def test_a_private_dataset_needs_the_token(hub, tmp_path):
    push(hub, tmp_path, str(ROOT / "datasets" / "geofacts"), "me/geofacts", "--private")
    code = (
        "from datasets import load_dataset\nanswer = len(load_dataset('me/geofacts', split='el'))"
    )
    home, mine = tmp_path / "empty", {"HF_TOKEN": TOKEN}
    assert run_client(code, home, hub.url, variables=mine) == 450
    with pytest.raises(AssertionError, match="DatasetNotFoundError"):
        run_client(code, tmp_path / "other", hub.url)
