from pathlib import Path

from polyprobe.builder.build import build_dataset

COMMITTED = Path(__file__).parents[2] / "datasets" / "geofacts"


def contents(folder: Path) -> dict[str, bytes]:
    paths = [folder / "README.md", *folder.glob("data/**/*.parquet")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_build_remakes_the_committed_files_bit_for_bit(tmp_path):
    """Valid for the versions of babel and pyarrow in constraints.txt."""
    rebuilt = contents(build_dataset("geofacts", output=tmp_path / "geofacts"))
    committed = contents(COMMITTED)
    assert len(committed) == 1 + 51
    assert sorted(rebuilt) == sorted(committed)
    assert [path for path in committed if rebuilt[path] != committed[path]] == []
