"""`polyprobe install` as run by a user: separate processes, an empty cache, other folders."""

import ast
import shutil
from pathlib import Path

import pytest

from tests.hub.client import run_client, run_polyprobe
from tests.hub.samples import write_dataset, write_metric

LOAD = """
from datasets import load_dataset
answer = [load_dataset(*arguments)["fr"][0]["candidates"][1] for arguments in {calls}]
"""
INSTALL = """
from pathlib import Path
from polyprobe import PolyprobeError
from polyprobe.publish.install import install_folder
lines = []
for folder in {folders}:
    try:
        lines.append(install_folder(Path(folder)))
    except PolyprobeError as error:
        lines.append(str(error))
answer = lines
"""
COUNT = "import evaluate\nanswer = evaluate.load('same').compute(predictions=[1], references=[1])"
CONFIGS = [("geo", "small"), ("geo", "large")]


def install(home, folder, *folders, **where):
    result = run_polyprobe("install", *map(str, folders), home=home, folder=folder, **where)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def load(home, calls=CONFIGS, **where):
    return run_client(LOAD.format(calls=calls), home, **{"offline": True} | where)


def count_copies(home):
    copies = Path(home, "huggingface").glob("datasets/geo/*/*/*/dataset_info.json")
    return len(list(copies))


def test_dataset_by_its_bare_name_offline_and_with_a_hub_that_does_not_know_it(hub, tmp_path):
    home = tmp_path / "home"
    write_dataset(tmp_path / "geo")
    lines = install(home, tmp_path, "geo")
    assert lines == [
        f'dataset geo (small, large) from {tmp_path / "geo"}: load_dataset("geo", "large")'
    ]
    shutil.rmtree(tmp_path / "geo")
    assert load(home) == ["Paris", "Paris"]
    code = "from datasets import load_dataset\nanswer = load_dataset('geo').num_rows"
    assert run_client(code, home, offline=True) == {"en": 5, "fr": 5}  # the default configuration
    assert not hub.requests
    assert load(home, endpoint=hub.url, offline=False) == ["Paris", "Paris"]
    assert {request.status for request in hub.asked("/geo/")} == {401}


def test_the_call_that_loads_a_folder_of_any_name_is_python(tmp_path):
    folder = write_dataset(tmp_path / """we ird'"$(id)""")
    (line,) = install(tmp_path / "home", tmp_path, folder)
    (call,) = ast.parse(line.rpartition(": ")[2], mode="eval").body.args[:1]
    assert call.value == folder.name


@pytest.mark.acceptance
def test_installing_again_serves_the_present_content_and_keeps_the_copies(tmp_path):
    home, folder = tmp_path / "home", tmp_path / "geo"
    for answer, copies in [("Paris", 2), ("Lutetia", 4), ("Paris", 4)]:
        write_dataset(folder, answer)
        install(home, tmp_path, folder)
        assert load(home) == [answer, answer]
        assert count_copies(home) == copies


@pytest.mark.acceptance
def test_metric_installed_again_runs_the_present_code(tmp_path):
    home, folder = tmp_path / "home", tmp_path / "same"
    code = INSTALL.format(folders=[str(folder)]) + COUNT + "\nanswer['line'] = lines[0]"
    line = f'metric same from {folder}: evaluate.load("same")'
    # evaluate names a copy by its code up to a #: the third gets the first's name.
    for sign in ("#1", "B", "#2"):
        write_metric(folder, sign)
        assert run_client(code, home) == {"same": 1, "sign": sign, "line": line}


def test_metric_asks_the_hub_first_for_hugging_faces_own_module(hub, tmp_path):
    home = tmp_path / "home"
    code = INSTALL.format(folders=[str(write_metric(tmp_path / "same"))]) + COUNT
    assert run_client(code, home, hub.url)["sign"] == "#1"
    asked = {request.path.split("/")[2] for request in hub.requests}
    assert asked == {"evaluate-metric", "evaluate-comparison", "evaluate-measurement"}
    hub.add("space", "evaluate-metric/same", write_metric(tmp_path / "other" / "same", "theirs"))
    assert run_client(COUNT, home, hub.url)["sign"] == "theirs"


def test_without_folders_everything_at_hand_is_installed_and_the_rest_is_named(tmp_path):
    home = tmp_path / "home"
    write_dataset(tmp_path / "datasets" / "geo")
    (tmp_path / "datasets" / "empty").mkdir()
    result = run_polyprobe("install", home=home, folder=tmp_path)
    assert result.returncode == 0, result.stderr
    kinds = [line.split()[:2] for line in result.stdout.splitlines()]
    apps = (Path(__file__).parents[2] / "metrics").glob("*/app.py")
    metrics = sorted(path.parent.name for path in apps)
    assert len(metrics) == 13
    assert kinds == [
        *(["metric", name] for name in metrics),
        ["dataset", "geofacts"],
        ["dataset", "geo"],
    ]
    assert "skipped datasets/empty: no Parquet in it" in result.stderr
    assert load(home) == ["Paris", "Paris"]


def test_a_folder_of_the_package_is_found_from_anywhere(tmp_path):
    [line] = install(tmp_path / "home", tmp_path, "metrics/rankc")
    assert line.endswith('/metrics/rankc: evaluate.load("rankc")')


def break_dataset(folder):
    file = write_dataset(folder) / "data" / "large" / "fr.parquet"
    file.write_bytes(file.read_bytes()[:-8])


REFUSED = {
    "same": "cannot install {}: ImportError: To be able to use same, you need to install",
    "geo": "cannot install {}: ArrowInvalid: ",
    "empty": "{} is neither a dataset (no Parquet in it; see `polyprobe build`) nor a metric (no",
    "missing": "no such folder: {}",
}


@pytest.mark.acceptance
def test_what_cannot_be_installed_is_reported_in_one_line_and_displaces_nothing(tmp_path):
    home, folder = tmp_path / "home", write_metric(tmp_path / "same")
    install(home, tmp_path, folder)
    (folder / "same.py").write_text("import evaluate\nimport no_such_module\n", encoding="utf-8")
    break_dataset(tmp_path / "geo")
    (tmp_path / "empty").mkdir()
    folders = [str(tmp_path / name) for name in REFUSED]
    code = INSTALL.format(folders=folders) + COUNT + "\nanswer['lines'] = lines"
    answer = run_client(code, home)
    for line, folder, start in zip(answer.pop("lines"), folders, REFUSED.values(), strict=True):
        assert line.startswith(start.format(folder))
        assert len(line.splitlines()) == 1
    assert answer == {"same": 1, "sign": "#1"}


def test_a_half_of_an_installed_metric_is_replaced(tmp_path):
    def read():
        copies = (tmp_path / "home" / "huggingface" / "modules").rglob("*/rankc/**/[!_]*.py")
        other = (tmp_path / "home" / "huggingface" / "modules").rglob("*--rankc/**/[!_]*.py")
        return {file: file.read_bytes() for file in (*copies, *other)}

    install(tmp_path / "home", tmp_path, "metrics/rankc")
    whole = read()
    assert len({file.parent for file in whole}) == 2
    for file, content in whole.items():
        file.write_bytes(content[: len(content) // 2])  # as a killed process leaves it
    install(tmp_path / "home", tmp_path, "metrics/rankc")
    assert read() == whole
