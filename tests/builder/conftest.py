from pathlib import Path

import pytest

from polyprobe.builder.sources import bmlama as bmlama_files
from tests.builder.tiny import TINY, TINY_BLOCKS, place_archive
from tests.builder.upstream_server import server

__all__ = ["server"]


@pytest.fixture
def tiny(monkeypatch, tmp_path) -> Path:
    """A mirror folder with a BMLAMA of three rows as a stand-in."""
    contents = {
        f"1_easyrun/BMLAMA{config}/{language}.tsv": text.encode()
        for config in bmlama_files.PUBLISHED
        for language, text in TINY.items()
    }
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    return place_archive(monkeypatch, mirror, bmlama_files, contents, BLOCKS=TINY_BLOCKS)
