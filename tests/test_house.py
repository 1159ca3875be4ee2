"""The layout: packages, tables and folders, file sizes, and the contents of the wheel.

`make lint` checks the imports between rooms ([tool.importlinter] in pyproject.toml).
"""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

from bench.house import ROOMS
from polyprobe.builder.recipes import RECIPES
from polyprobe.builder.sources import FACT_SOURCES, TRUTH_SOURCES
from polyprobe.schema.run.protocol import PROTOCOLS
from polyprobe.scoring.options import ALL, SCORING_NAMES
from polyprobe.scoring.scorers import FAMILIES, SCORINGS

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())


def modules(room):
    return sorted(p for p in (ROOT / room).rglob("*.py") if "__pycache__" not in p.parts)


def test_the_packages_listed_are_the_folders_with_modules():
    """An unlisted folder works in an editable install and is missing from the wheel."""
    folders = {p.parent.relative_to(ROOT) for room in ROOMS for p in modules(room)}
    names = {"polyprobe", *(".".join(["polyprobe", *folder.parts]) for folder in folders)}
    assert set(SETTINGS["tool"]["setuptools"]["packages"]) == names


def test_dataset_folders_hold_no_code():
    assert not list((ROOT / "datasets").rglob("*.py"))


def defining(folder, text):
    parts = [
        p.relative_to(ROOT).with_suffix("").parts for p in modules(folder) if text in p.read_text()
    ]
    return {".".join(["polyprobe", *part]) for part in parts}


def test_the_tables_name_every_file():
    recipes = {f"polyprobe.builder.recipes.{x.replace('-', '_')}.__init__" for x in RECIPES}
    assert recipes == defining("builder/recipes", "\ndef build(")
    sources = defining("builder/sources", "\ndef read_facts(")  # a module or a package
    assert set(FACT_SOURCES.values()) == {x.removesuffix(".__init__") for x in sources}
    truths = defining("builder/sources", "\ndef read_truths(") - {
        "polyprobe.builder.sources.__init__"
    }
    assert set(TRUTH_SOURCES.values()) == truths
    in_scorers = {p.stem for p in modules("scoring/scorers") if "(Scorer):" in p.read_text()}
    assert set(FAMILIES) == in_scorers
    # runs of scores from elsewhere have the other two
    assert {name.partition("-")[0] for name in SCORINGS} == set(PROTOCOLS) - {"scores", "choice"}
    of_all = {name: set(FAMILIES) <= set(of) for name, of in SCORINGS.items()}
    assert {name: models == ALL for name, (models, _) in SCORING_NAMES.items()} == of_all
    for name, family in FAMILIES.items():
        assert family.scorers["bmlama"].__module__ == f"polyprobe.scoring.scorers.{name}"


def test_metric_folders_import_only_polyprobe_metrics():
    """import-linter skips folders without __init__.py, and `evaluate` requires none there."""
    folders = [p for p in modules("metrics") if not (p.parent / "__init__.py").exists()]
    assert len(folders) >= 20
    for path in folders:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or "."] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert not name.startswith("polyprobe") or name.startswith("polyprobe.metrics."), (
                    path
                )


def test_there_is_one_kind_of_console():
    """Another would read `[red]` and `:name:` in values, and pass on commands to the terminal."""
    for path in (p for room in ROOMS for p in modules(room)):
        console = path.relative_to(ROOT) == Path("system/messages.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module in ("rich", "rich.console"):
                names = {alias.name for alias in node.names}
                assert console or not names & {"Console", "get_console", "print"}, path
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                assert name not in ("print", "typer.echo", "sys.stdout.write"), path
                assert name not in ("Text.from_markup", "sys.stderr.write"), path
                if name == "TextColumn":
                    assert "markup=False" in ast.unparse(node), path


def test_no_test_file_imports_another():
    """What several need is in tests/making, or beside them in a module of another name."""
    for path in (ROOT / "tests").rglob("*.py"):
        found = re.search(r"(?m)^ *(?:from|import) tests\.\S*\btest_", path.read_text("utf-8"))
        assert not found, path


@pytest.mark.slow
def test_the_wheel_contains_metrics_dataset_and_model_and_only_polyprobe(tmp_path):
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if tracked.returncode:
        pytest.skip("not a git checkout: the files to build are unknown")
    for name in filter(None, tracked.stdout.split("\0")):
        if (ROOT / name).exists():
            (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / "tree" / name)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"]
    subprocess.run([*pip, str(tmp_path), str(tmp_path / "tree")], check=True)
    [wheel] = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"polyprobe"}
    for part in (
        "datasets/geofacts/README.md", "datasets/geofacts/data/default/zh.parquet",
        "datasets/geofacts/LICENSE-UNICODE.txt", "scoring/embedded/geolm/model.safetensors",
        "metrics/rankc/rankc.py", "metrics/rankc/README.md", "metrics/rankc/app.py",
        "metrics/rankc/space.md", "report/page/report.css",
        "builder/sources/bmlama/bmlama.sha256", "py.typed",
    ):  # fmt: skip
        assert f"polyprobe/{part}" in names
    for name in tracked.stdout.split("\0"):
        if name.split("/")[0] in ROOMS:
            assert f"polyprobe/{name}" in names, name
    assert not [n for n in names if "tests/" in n or "/bench/" in n]
    assert not [n for n in names if "datasets/bmlama" in n]


def test_the_version_is_in_pyproject_alone():
    assert import_module("polyprobe").__version__ == SETTINGS["project"]["version"]
