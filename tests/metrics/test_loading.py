"""`evaluate.load` of every metric: installed under its bare name, and from a ZIP of the repository.

By path: test_modules.py. From the Hub: tests/publish/push/test_push_and_load.py.
"""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.hub.client import run_client, run_polyprobe
from tests.metrics.cases import CASES, RESULTS

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow
EXPECTED = {name: pytest.approx(value) for name, (_, value) in RESULTS.items()}
LOAD = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from cases import CASES, RESULTS
from serve_spaces import Without
{{setup}}
import evaluate
answer = {{{{}}}}
for name in CASES:
    answer[name] = evaluate.load({{place}}).compute(**CASES[name])[RESULTS[name][0]]
"""
WITHOUT = "sys.meta_path[:] = map(Without, sys.meta_path)"
INSTALLED = """
sys.meta_path[:] = [f for f in sys.meta_path if "editable" not in str(f).lower()]
sys.path.insert(0, {site!r})
import polyprobe
assert [*polyprobe.__path__] == [{site!r} + "/polyprobe"], polyprobe.__path__
"""


def test_by_bare_name_after_install(tmp_path):
    home = tmp_path / "home"
    folders = [str(ROOT / "metrics" / name) for name in CASES]
    done = run_polyprobe("install", *folders, home=home, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [line.split()[1] for line in done.stdout.splitlines()] == [*CASES]
    code = LOAD.format(setup=WITHOUT, place="name")
    assert run_client(code, home, variables={"HF_EVALUATE_OFFLINE": "1"}) == EXPECTED


@pytest.mark.acceptance
def test_from_a_zip_of_the_repository_and_after_pip_install_from_it(tmp_path):
    """Python's zipfile, like pip and a download of main.zip on Windows, unpacks no links."""
    archive = tmp_path / "main.zip"
    command = ["git", "archive", "--format=zip", f"--output={archive}", "HEAD"]
    subprocess.run(command, cwd=ROOT, check=True)
    root = tmp_path / "unpacked" / "polyprobe"
    with zipfile.ZipFile(archive) as files:
        files.extractall(root)
    site = str(tmp_path / "site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--target", site, root], cwd=tmp_path, check=True)
    setup = INSTALLED.format(site=site)
    for metrics in (root / "metrics", Path(site, "polyprobe", "metrics")):
        code = LOAD.format(setup=setup, place=f"{str(metrics)!r} + '/' + name")
        assert run_client(code, tmp_path / "home") == EXPECTED
