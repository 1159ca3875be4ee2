"""The README's figures equal those of the files; its blocks run in test_blocks.py."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.blocks.pages import read_blocks

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_figures_of_the_table_of_datasets():
    for config in ("default", "large"):
        geofacts = list((ROOT / "datasets" / "geofacts" / "data" / config).glob("*.parquet"))
        rows = pq.read_metadata(geofacts[0]).num_rows
        assert f"`{config}` | {rows:,} × {len(geofacts)} |" in README


def test_the_speed_is_that_of_the_bench():
    table = (ROOT / "bench" / "rankc.md").read_text(encoding="utf-8")
    ratio = int(re.search(r"no ties \|.*\| (\d+) \|", table).group(1))
    said = int(re.search(r"(\d+) times faster per pair", README).group(1))
    assert said <= ratio


def test_the_speed_of_the_engine_is_that_of_the_bench():
    """The least and the greatest ratio of processor time, truncated."""
    table = (ROOT / "bench" / "engine" / "README.md").read_text(encoding="utf-8")
    pattern = r"([\d.]+) to ([\d.]+) times less (?:processor time )?than"
    [line] = [line for line in README.splitlines() if line.startswith("- Speed")]
    ranges = re.findall(pattern, line)
    of_peer = r"^\| .* \| (?:en|ru) \| {} \|[^|]*\|[^|]*\| \**([\d.]+)"
    rows = [of_peer.format(peer) for peer in ("reference", "lm-eval")]
    rows.append(r"^\| none (?:\|[^|]*){6}\| \**([\d.]+)")  # the smart program without a context
    for row, limits in zip(rows, ranges, strict=True):
        ratios = [float(ratio) for ratio in re.findall(row, table, re.MULTILINE)]
        assert len(ratios) >= 2
        for limit, ratio in zip(limits, (min(ratios), max(ratios)), strict=True):
            assert 0 <= ratio - float(limit) < (1 if float(limit) > 9 else 0.1)


@pytest.mark.acceptance
def test_the_lines_of_the_installation_work(tmp_path):
    """In an empty folder with an empty home; pip is replaced, as there is no network."""
    lines = read_blocks("README.md")[1].text.splitlines()
    assert [line.split()[0] for line in lines] == ["python3", "source", "pip"]
    *_, constraints, _, target = lines[2].replace("'", "").split()
    extras = target.removeprefix(".[").removesuffix("]").split(",")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(extras) <= project["optional-dependencies"].keys()
    assert (ROOT / constraints).is_file()
    command = Path(sys.executable).with_name("polyprobe")
    pip = f'pip() {{ ln -s {command} "$VIRTUAL_ENV/bin/"; }}'
    script = "\n".join(["set -e", pip, *lines, "polyprobe --version", "command -v polyprobe"])
    env = {"HOME": str(tmp_path), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == str(tmp_path / ".venv" / "bin" / "polyprobe")


def read_tables(path):
    """Return the tables of a Markdown file, each as rows of {heading: cell}."""
    tables = []
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        if block.startswith("|"):
            lines = [[x.strip() for x in line.split("|")[1:-1]] for line in block.splitlines()]
            tables.append([dict(zip(lines[0], cells, strict=True)) for cells in lines[2:]])
    return tables


def test_the_coverage_is_that_of_the_bench():
    simple, extreme, responses, rejected, _, flips = read_tables(ROOT / "bench" / "coverage.md")
    designs = (ROOT / "bench" / "coverage.py").read_text().count("    lambda: ")
    assert len(simple) + len(extreme) == designs > 25
    shares = [row["coverage"] for row in simple if "too narrow" not in row["figure and sample"]]
    shares += [
        x for row in responses for name, x in row.items() if name.endswith(("unit", "facts"))
    ]
    assert len(shares) == len(simple) - 1 + 3 * len(responses)
    low, *_, high = sorted(float(share.rstrip("%")) for share in shares)
    near = min(float(row["coverage"].rstrip("%")) for row in extreme)
    text = " ".join(README.split())
    assert f"in {low} to {high}% of samples, near 0 and 1 in {near}% or more" in text
    # The least is that of what is beyond independence, of 60 facts: their cells are not drawn.
    assert 91 <= low < high <= 98  # standard error of 500 samples: 1 point
    assert near >= 90
    tests = [*rejected, *flips]
    false = [x for row in tests for name, x in row.items() if name.endswith("by unit")]
    assert all(2.5 < float(share.rstrip("%")) < 6.5 for share in false)
    assert len(false) == 2 * len(rejected) + 4 * len(flips)


def test_the_objects_found_are_those_of_the_bench():
    """Shares of Fluent-mLAMA's rows with Stanza: inflected in four languages, verbatim in two."""
    table = (ROOT / "bench" / "objects.md").read_text(encoding="utf-8")
    text = " ".join(README.split())
    for language in ("ru", "uk", "es", "da"):
        row = re.search(rf"^\| {language} \| stanza \| (.*) \|$", table, re.MULTILINE).group(1)
        _, verbatim, rows, inflected, *_ = row.split(" | ")
        share = round(float(inflected.rstrip("%")), 1)
        assert re.search(rf"{share}% \({language}(, {rows} rows)?\)", text)
        if language in ("ru", "uk"):
            share = round(float(verbatim.rstrip("%")), 1)
            assert re.search(rf"verbatim rows .*\b{share}% ", text)
