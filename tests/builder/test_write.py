import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from polyprobe.builder.output.folder import recover, write_config
from polyprobe.schema.columns import SCHEMA, Row
from polyprobe.system.files import locked
from polyprobe.system.messages import PolyprobeError
from tests.making.waiting import PATIENCE


def rows(*subjects: str) -> list[Row]:
    return [
        Row(f"P1:{s}", "P1", s, "o", s, f"{s}: [Y]", ["a", "b"], ["1", "2"], [1], ["b"], "P1")
        for s in subjects
    ]


def snapshot(folder) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_split_is_one_parquet_file(tmp_path):
    write_config(tmp_path, "c", {"en": rows("x", "y"), "zh-hans": rows("x", "y")})
    assert sorted(snapshot(tmp_path)) == ["data/c/en.parquet", "data/c/zh_hans.parquet"]
    file = pq.ParquetFile(tmp_path / "data/c/en.parquet")
    assert file.schema_arrow.equals(SCHEMA)
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    assert [Row(**row) for row in file.read().to_pylist()] == rows("x", "y")


def test_a_configuration_replaces_the_old_one_and_no_other(tmp_path):
    write_config(tmp_path, "c", {"en": rows("x"), "fr": rows("x")})
    write_config(tmp_path, "d", {"en": rows("x")})
    other = (tmp_path / "data/d/en.parquet").read_bytes()
    write_config(tmp_path, "c", {"en": rows("z")})
    assert sorted(snapshot(tmp_path)) == ["data/c/en.parquet", "data/d/en.parquet"]
    assert pq.read_table(tmp_path / "data/c/en.parquet")["subject"].to_pylist() == ["z"]
    assert (tmp_path / "data/d/en.parquet").read_bytes() == other


def test_splits_are_on_disk_before_their_folder_is_renamed(tmp_path, monkeypatch):
    steps = []
    sync, rename = os.fsync, os.rename
    monkeypatch.setattr(os, "fsync", lambda handle: [sync(handle), steps.append("sync")])
    monkeypatch.setattr(os, "rename", lambda *paths: [rename(*paths), steps.append("rename")])
    write_config(tmp_path, "c", {"en": rows("x"), "fr": rows("x")})
    assert steps == ["sync", "sync", "rename"]


def interrupted():
    yield from rows("z")
    raise KeyboardInterrupt


def test_ctrl_c_leaves_the_old(tmp_path):
    write_config(tmp_path, "c", {"en": rows("x")})
    before = snapshot(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        write_config(tmp_path, "c", {"en": rows("z"), "fr": interrupted()})
    assert snapshot(tmp_path) == before


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from polyprobe import PolyprobeError
from polyprobe.builder.output.folder import write_config
from polyprobe.schema.columns import Row
rows = [Row(str(i), "", "", "", str(i), f"{i} [Y]", ["a"], [], [0], ["a"], "") for i in range(9999)]
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    write_config(Path(sys.argv[1]), "c", {"en": rows})
except PolyprobeError as error:
    print(error)
"""


def test_a_disk_that_takes_no_more_leaves_the_old(tmp_path):
    """The system refuses files larger than 4 KiB, which simulates a full disk."""
    write_config(tmp_path, "c", {"en": rows("x")})
    before = snapshot(tmp_path)
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    line = f"cannot write to {tmp_path}: File too large; its old content is unchanged\n"
    assert done.stdout == line
    assert snapshot(tmp_path) == before


def test_what_a_killed_build_left_is_cleared(tmp_path):
    begun = tmp_path / "data/.c.new"
    begun.mkdir(parents=True)
    (begun / "xx.parquet").write_bytes(b"half")
    write_config(tmp_path, "c", {"en": rows("x")})
    assert sorted(snapshot(tmp_path)) == ["data/c/en.parquet"]


def test_a_build_killed_between_its_renames_is_put_right(tmp_path):
    write_config(tmp_path, "c", {"en": rows("x")})
    before = snapshot(tmp_path)
    (tmp_path / "data/c").rename(tmp_path / "data/.c.old")
    recover(tmp_path, "c")
    assert snapshot(tmp_path) == before
    recover(tmp_path, "c")
    assert snapshot(tmp_path) == before


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "data").touch()
    with pytest.raises(PolyprobeError, match=f"cannot write to {tmp_path}: .*unchanged"):
        write_config(tmp_path, "c", {"en": rows("x")})


BUILD_TINY = """
import sys
from pathlib import Path
from polyprobe.system.download import Repository
from polyprobe.builder.build import build_dataset
from polyprobe.builder.sources import bmlama as bmlama_files
bmlama_files.REPOSITORY = Repository("someone/things", "0123456789abcdef", {sums})
bmlama_files.BLOCKS = {blocks}
build_dataset("bmlama", ["17", "53"], Path(sys.argv[1]), Path(sys.argv[2]))
"""


@pytest.mark.acceptance
def test_bytes_do_not_depend_on_the_hash_seed(tiny, tmp_path):
    from polyprobe.builder.sources import bmlama as bmlama_files

    script = BUILD_TINY.format(
        sums=dict(bmlama_files.REPOSITORY.sha256), blocks=bmlama_files.BLOCKS
    )
    built = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        environment = os.environ | {"PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", script, str(tiny), str(folder)]
        subprocess.run(command, check=True, env=environment)
        built.append(snapshot(folder))
    assert len(built[0]) == 2 * 3 + len(["README.md", "eval.yaml"])
    assert built[0] == built[1]


# Builds of one folder at the same time wait for each other.

POLYPROBE = Path(sys.executable).with_name("polyprobe")


def test_a_build_waits_for_the_one_before(tmp_path):
    folder = tmp_path / "geofacts"
    command = [POLYPROBE, "build", "geofacts", "--output", folder]
    with locked(folder), subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr.readline() == (
            f"another process is writing to {folder}; waiting for it\n"
        )
        assert {path.name for path in folder.iterdir()} == {".lock"}
        assert process.poll() is None
        process.kill()


@pytest.mark.acceptance
def test_three_configurations_at_once_are_listed_once(tmp_path):
    """Three processes, each of its own configuration of one dataset."""
    code = (
        "import sys; from pathlib import Path\n"
        "from polyprobe.builder import build\n"
        "from polyprobe.builder.recipes import geofacts as recipe\n"
        "build.list_recipe_configs = lambda name: ('default', 'second', 'third')\n"
        "rows = recipe.build('default', None)\n"
        "recipe.build = lambda config, mirror: {x: rows[x] for x in ('en', 'fr', 'el')}\n"
        "build.choose_configs = lambda name, configs: configs\n"
        "build.build_dataset('geofacts', [sys.argv[1]], None, Path(sys.argv[2]))\n"
    )
    folder = tmp_path / "geofacts"
    run = [sys.executable, "-c", code]
    configs = ("default", "second", "third")
    processes = [subprocess.Popen([*run, config, folder]) for config in configs]
    assert [process.wait(PATIENCE) for process in processes] == [0, 0, 0]
    card = yaml.safe_load((folder / "README.md").read_text(encoding="utf-8").split("---")[1])
    assert [config["config_name"] for config in card["configs"]] == [*configs]
    assert sorted(path.name for path in (folder / "data").iterdir()) == [*configs]
    assert not (folder / ".lock").exists()
