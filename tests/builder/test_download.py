import hashlib
import sys
import zipfile
from concurrent.futures import CancelledError
from threading import Event

import pytest

from polyprobe.builder.build import build_dataset
from polyprobe.builder.sources.bmlama import files as bmlama_files
from polyprobe.builder.sources.bmlama.files import PUBLISHED
from polyprobe.system import download
from polyprobe.system.download import Repository, parse_sums, read_files
from polyprobe.system.errors import PolyprobeError
from polyprobe.tests.builder.tiny import describe, pack

A = bytes(range(256)) * 160  # 40,960 bytes, five chunks
CONTENTS = {"data/a.bin": A, "data/b.txt": "ä\r\n".encode()}
URL = "/someone/things/0123456789abcdef/data/a.bin"


@pytest.fixture
def repository(server, monkeypatch) -> Repository:
    monkeypatch.setattr(download, "RETRIES", 0)  # pooch sleeps between them
    monkeypatch.setattr(download, "THREADS", 1)  # the cuts go to the requests in their order
    for path, content in CONTENTS.items():
        server.contents[f"/someone/things/0123456789abcdef/{path}"] = content
    return describe(CONTENTS)


def read(repository, mirror=None) -> dict[str, bytes]:
    paths = list(repository.sha256)
    return dict(zip(paths, read_files(repository, paths, mirror), strict=True))


def cached(tmp_path) -> dict[str, int]:
    files = (path for path in (tmp_path / "cache").rglob("*") if path.is_file())
    return {path.name: path.stat().st_size for path in files}


def test_parse_sums_reads_what_sha256sum_writes():
    assert parse_sums("00ff  a b.tsv\n11ee  c/d.tsv\n") == {"a b.tsv": "00ff", "c/d.tsv": "11ee"}


def test_download_is_cached(repository, server):
    assert read(repository) == CONTENTS
    assert len(server.requests) == 2
    assert read(repository) == CONTENTS
    assert len(server.requests) == 2


def test_damaged_cache_is_fetched_again(repository, server, tmp_path):
    read(repository)
    next((tmp_path / "cache").rglob("a.bin")).write_bytes(b"rot")
    assert read(repository) == CONTENTS
    assert [path for path, _ in server.requests].count(URL) == 2


def test_cut_download_goes_on_by_itself(repository, server):
    server.cuts = [20_000, 10_000]
    assert read(repository) == CONTENTS
    ranges = [wanted for path, wanted in server.requests if path == URL]
    assert ranges[0] is None
    starts = [int(wanted.removeprefix("bytes=").removesuffix("-")) for wanted in ranges[1:]]
    assert len(starts) == 2
    assert 0 < starts[0] <= 20_000
    assert starts[0] < starts[1] <= starts[0] + 10_000


def test_killed_download_goes_on_in_the_next_run(repository, server, tmp_path):
    server.cuts = [20_000, 0]
    with pytest.raises(PolyprobeError, match="what has come is kept"):
        read(repository)
    kept = cached(tmp_path)["a.bin.part"]
    assert 20_000 - download.CHUNK < kept <= 20_000
    server.requests.clear()
    assert read(repository) == CONTENTS
    assert server.requests[0] == (URL, f"bytes={kept}-")
    assert set(cached(tmp_path)) == {"a.bin", "b.txt"}


class FirstAnsweredLast(dict):
    """Contents of which the first is only given once the last has been asked for."""

    def __init__(self, contents):
        super().__init__(contents)
        [self.first, *_, self.last] = contents
        self.asked = Event()

    def get(self, path):
        if path == self.last:
            self.asked.set()
        if path == self.first and not self.asked.wait(timeout=20):
            return None
        return super().get(path)


def serve_numbers(server, count) -> tuple[Repository, list[bytes]]:
    contents = {f"data/{number:03}.txt": str(number).encode() for number in range(count)}
    prefix = "/someone/things/0123456789abcdef"
    server.contents = {f"{prefix}/{path}": content for path, content in contents.items()}
    return describe(contents), list(contents.values())


def test_downloads_overlap_and_come_in_order(server):
    repository, contents = serve_numbers(server, download.THREADS)
    server.contents = FirstAnsweredLast(server.contents)
    assert list(read_files(repository, repository.sha256)) == contents


def test_downloads_go_no_further_ahead_than_said(server, monkeypatch):
    monkeypatch.setattr(download, "AHEAD", 3)
    repository, contents = serve_numbers(server, 20)
    files = read_files(repository, repository.sha256)
    assert next(files) == contents[0]
    files.close()
    assert 1 <= len(server.requests) <= 1 + 3
    assert list(read_files(repository, repository.sha256)) == contents


def test_stopped_download_ends_with_its_next_bytes(repository, server, tmp_path):
    stop, part = Event(), tmp_path / "a.part"
    stop.set()
    with pytest.raises(CancelledError):
        download._append(f"http://127.0.0.1:{server.server_port}{URL}", part, 0, stop)
    assert part.stat().st_size == download.CHUNK < len(A)


def test_server_without_ranges_starts_over(repository, server):
    server.ranges = False
    server.cuts = [20_000]
    assert read(repository) == CONTENTS


def test_complete_part_needs_nothing_more(repository, server, tmp_path):
    server.cuts = [20_000, 0]
    with pytest.raises(PolyprobeError):
        read(repository)
    next((tmp_path / "cache").rglob("a.bin.part")).write_bytes(A)
    assert read(repository) == CONTENTS
    assert (URL, f"bytes={len(A)}-") in server.requests


def test_wrong_checksum_says_what_was_done(repository, server, tmp_path):
    server.contents[URL] = b"something else"
    with pytest.raises(PolyprobeError) as caught:
        read(repository)
    message = str(caught.value)
    assert f"{server.server_port}{URL}" in message
    assert hashlib.sha256(A).hexdigest() in message
    assert hashlib.sha256(b"something else").hexdigest() in message
    assert "Deleted" in message
    assert "\n" not in message
    assert "a.bin" not in cached(tmp_path)
    server.contents[URL] = A
    assert read(repository) == CONTENTS


def test_no_network_names_the_mirror(repository, monkeypatch):
    monkeypatch.setenv("POLYPROBE_GITHUB_RAW", "http://127.0.0.1:9")
    with pytest.raises(PolyprobeError, match=r"ConnectionError.*@0123456789ab\.zip with --mirror"):
        read(repository)


def test_missing_file_names_the_status(repository, server):
    del server.contents[URL]
    with pytest.raises(PolyprobeError, match=r"a\.bin \(HTTP status 404\)"):
        read(repository)


def test_cache_folder_that_cannot_be_made(repository, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(PolyprobeError, match=r"cannot write to the cache folder .*: Not a dir"):
        read(repository)


@pytest.mark.parametrize("package", ["pooch", "requests"])
def test_missing_extras_are_named(package, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    if package == "requests":  # which pooch needs too
        monkeypatch.delitem(sys.modules, "pooch", raising=False)
    with pytest.raises(PolyprobeError, match=rf"{package}: pip install 'polyprobe\[builder\]'"):
        build_dataset("bmlama", PUBLISHED, output=tmp_path / "out")


def test_bmlama_downloads_what_the_mirror_holds(tiny, server, tmp_path):
    """The same bytes come of the network and of the archive."""
    with zipfile.ZipFile(tiny / bmlama_files.REPOSITORY.archive) as zipball:
        for name in zipball.namelist():
            path = name.partition("/")[2]
            server.contents[f"/someone/things/0123456789abcdef/{path}"] = zipball.read(name)
    server.cuts = [50]
    folders = [tmp_path / "net", tmp_path / "zip"]
    build_dataset("bmlama", PUBLISHED, output=folders[0])
    build_dataset("bmlama", PUBLISHED, mirror=tiny, output=folders[1])
    net, zipped = ({p.relative_to(f): p.read_bytes() for p in f.rglob("*.*t")} for f in folders)
    assert len(net) == 6
    assert net == zipped


def test_mirror_gives_the_contents(tmp_path):
    pack(tmp_path, describe(CONTENTS), CONTENTS)
    assert read(describe(CONTENTS), tmp_path) == CONTENTS


def test_mirror_without_the_archive_names_it(tmp_path):
    with pytest.raises(PolyprobeError, match=r"no archive someone__things@0123456789ab\.zip in"):
        read(describe(CONTENTS), tmp_path)


def test_mirror_with_another_content_gives_both_sums(tmp_path):
    pack(tmp_path, describe(CONTENTS), CONTENTS | {"data/a.bin": b"x"})
    expected, got = (hashlib.sha256(content).hexdigest() for content in (A, b"x"))
    with pytest.raises(PolyprobeError, match=f"expected SHA-256 {expected}, got {got}; nothing"):
        read(describe(CONTENTS), tmp_path)


def test_mirror_whose_archive_lacks_a_file(tmp_path):
    pack(tmp_path, describe(CONTENTS), {"data/a.bin": A})
    with pytest.raises(PolyprobeError, match=r"lacks a file: .*data/b\.txt"):
        read(describe(CONTENTS), tmp_path)


def cut_short(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flip_bits(content: bytes) -> bytes:
    middle = 20_000  # inside the first file
    return content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]


@pytest.mark.parametrize("damage", [cut_short, flip_bits, lambda _: b""])
def test_damaged_archive_is_told(damage, tmp_path):
    archive = pack(tmp_path, describe(CONTENTS), CONTENTS)
    archive.write_bytes(damage(archive.read_bytes()))
    with pytest.raises(PolyprobeError, match="is cut short or corrupt"):
        read(describe(CONTENTS), tmp_path)


@pytest.mark.parametrize("flag", [0x20, 0x01])
def test_damage_in_an_archives_directory_is_told_in_one_line(tmp_path, flag):
    """zipfile raises NotImplementedError and RuntimeError of flags that it does not know."""
    repository = describe({"a.txt": b"content"})
    archive = pack(tmp_path, repository, {"a.txt": b"content"})
    content = bytearray(archive.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= flag
    archive.write_bytes(content)
    with pytest.raises(PolyprobeError, match="is cut short or corrupt"):
        list(read_files(repository, ["a.txt"], tmp_path))
