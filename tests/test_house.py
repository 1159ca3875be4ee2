"""The house stands as DESIGN.md draws it: rooms, packages, and what the wheel carries."""

import ast
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

from polyprobe.builder.recipes.table import RECIPES
from polyprobe.builder.sources import FACT_SOURCES, TRUTH_SOURCES
from polyprobe.eval.run.protocol import PROTOCOLS
from polyprobe.eval.scoring.scorers import FAMILIES, SCORINGS

ROOT = Path(__file__).parents[1]
ROOMS = ("builder", "cli", "eval", "metrics")
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())


def modules(room):
    return sorted(p for p in (ROOT / room).rglob("*.py") if "__pycache__" not in p.parts)


def test_the_packages_listed_are_the_folders_that_hold_modules():
    """A forgotten folder works when installed editable and is missing from the wheel."""
    folders = {p.parent.relative_to(ROOT) for room in ROOMS for p in modules(room)}
    names = {"polyprobe", *(".".join(["polyprobe", *folder.parts]) for folder in folders)}
    assert set(SETTINGS["tool"]["setuptools"]["packages"]) == names


def test_dataset_folders_hold_no_code():
    assert not list((ROOT / "datasets").rglob("*.py"))


def test_sources_and_families_name_every_file():
    in_sources = {p.stem for p in modules("builder/sources") if "\ndef build(" in p.read_text()}
    assert {module.rpartition(".")[2] for module in RECIPES.values()} == in_sources
    of_facts = {p.stem for p in modules("builder/sources") if "\ndef read_facts(" in p.read_text()}
    assert {module.rpartition(".")[2] for module in FACT_SOURCES.values()} == of_facts
    of_truths = {
        p.stem for p in modules("builder/sources") if "\ndef read_truths(" in p.read_text()
    }
    assert {module.rpartition(".")[2] for module in TRUTH_SOURCES.values()} == of_truths
    in_scorers = {p.stem for p in modules("eval/scoring/scorers") if "(Scorer):" in p.read_text()}
    assert set(FAMILIES) == in_scorers
    assert {name.partition("-")[0] for name in SCORINGS} == set(PROTOCOLS)
    for name, family in FAMILIES.items():
        assert family.scorers["bmlama"].__module__ == f"polyprobe.eval.scoring.scorers.{name}"


ALLOWED = {"builder": {"builder", "metrics"}, "eval": {"eval", "metrics"}, "metrics": {"metrics"},
           "cli": {"builder", "cli", "eval", "metrics"}}  # fmt: skip


@pytest.mark.parametrize("room", ROOMS)
def test_arrows_between_rooms_run_one_way(room):
    for path in modules(room):
        for node in ast.walk(ast.parse(path.read_text())):
            name = absolute_name(node, path) if isinstance(node, ast.ImportFrom) else ""
            if name.startswith("polyprobe."):
                assert name.split(".")[1] in ALLOWED[room], f"{path}: {name}"


def absolute_name(node, path):
    """What `from ..card import` in a file means, as polyprobe.builder.output.card."""
    package = ["polyprobe", *path.relative_to(ROOT).parent.parts]
    above = package[: len(package) + 1 - node.level] if node.level else []
    return ".".join([*above, *filter(None, [node.module])])


def test_files_have_one_subject():
    for path in (p for room in ROOMS for p in modules(room)):
        assert len(path.read_text().splitlines()) <= 330, path


@pytest.mark.slow
def test_the_wheel_carries_metrics_dataset_and_model_and_nothing_but_polyprobe(tmp_path):
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if tracked.returncode:
        pytest.skip("no git checkout: what would be built is not known")
    for name in filter(None, tracked.stdout.split("\0")):
        if (ROOT / name).exists():
            (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            # links stay links: what the folders of metrics/ share must come out as files
            shutil.copy(ROOT / name, tmp_path / "tree" / name, follow_symlinks=False)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(tmp_path),
    ]
    subprocess.run([*pip, str(tmp_path / "tree")], check=True)
    [wheel] = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"polyprobe"}
    for part in (
        "datasets/geofacts/README.md", "datasets/geofacts/data/default/zh.parquet",
        "datasets/geofacts/LICENSE-UNICODE.txt", "eval/embedded/geolm/model.safetensors",
        "metrics/rankc/rankc.py", "metrics/rankc/README.md", "metrics/rankc/app.py",
        "metrics/rankc/requirements.txt", "eval/report/report.css", "builder/sources/bmlama/bmlama.sha256",
    ):  # fmt: skip
        assert f"polyprobe/{part}" in names
    for name in tracked.stdout.split("\0"):
        if name.split("/")[0] in ROOMS:
            assert f"polyprobe/{name}" in names, name
    shared = [p for p in (ROOT / "metrics").glob("*/*.py") if p.is_symlink()]
    assert len(shared) > 30
    for link in shared:
        packed = zipfile.ZipFile(wheel).read(f"polyprobe/{link.relative_to(ROOT).as_posix()}")
        assert packed == link.read_bytes()
    assert not [n for n in names if "tests/" in n or "bench/" in n]
    assert not [n for n in names if "datasets/bmlama" in n]


def test_the_version_stands_in_pyproject_alone():
    assert import_module("polyprobe").__version__ == SETTINGS["project"]["version"]
