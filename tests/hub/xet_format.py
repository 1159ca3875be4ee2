"""Read the two containers of a Xet upload.

A *xorb* is a sequence of compressed chunks; a *shard* lists the chunks of xorbs that form each
file, and the chunks of every new xorb. Formats: xorb.md and shard.md of the specification,
huggingface.co/docs/xet, version 2 of the shard. All integers are little-endian.
"""

import struct
from typing import NamedTuple

import pyarrow as pa

MAGIC = b"HFRepoMetaData\0" + bytes.fromhex("55 6967456a7b815783a5bdd95ccdd14aa9")
HEADER = struct.Struct("<32sQQ")  # magic, version, size of the footer
ENTRY = struct.Struct("<32s4I")  # every entry of a shard: a hash, four numbers
BOOKEND = b"\xff" * 32 + bytes(16)
VERIFIED, WITH_SHA256 = 1 << 31, 1 << 30  # flags of a file
STORED, LZ4, GROUPED_LZ4 = range(3)


class Term(NamedTuple):
    """Chunks `start` to `stop` of a xorb (stop is not one of them), `size` bytes unpacked."""

    xorb: str
    start: int
    stop: int
    size: int


class File(NamedTuple):
    """One file of a shard: its Xet hash, its SHA-256 and its terms."""

    hash: str
    sha256: str
    terms: list[Term]


class XetError(Exception):
    """A container that cannot be read, or has wrong content."""


def read_hash(digest: bytes) -> str:
    """Return 32 bytes as Xet writes them: four little-endian numbers in hexadecimal.

    >>> read_hash(bytes(range(32)))[:16]
    '0706050403020100'
    """
    return "".join(f"{number:016x}" for number in struct.unpack("<4Q", digest))


def read_xorb(content: bytes) -> list[bytes]:
    """Return the unpacked chunks of a xorb."""
    chunks, position = [], 0
    while position < len(content):
        head = content[position : position + 8]
        packed, size = (int.from_bytes(head[i : i + 3], "little") for i in (1, 5))
        position += 8 + packed
        if head[0] != 0 or position > len(content):
            raise XetError(f"xorb: no chunk of {packed} bytes ends at {position}")
        chunks.append(unpack(head[4], content[position - packed : position], size))
    return chunks


def unpack(scheme: int, packed: bytes, size: int) -> bytes:
    """Return a chunk's `size` bytes; LZ4 is its frame format, which pyarrow reads."""
    if scheme == STORED:
        return packed
    if scheme not in (LZ4, GROUPED_LZ4):
        raise XetError(f"xorb: unknown compression {scheme}")
    try:
        content = pa.decompress(packed, decompressed_size=size, codec="lz4", asbytes=True)
    except OSError as error:
        raise XetError(f"xorb: {error}") from error
    return ungroup(content) if scheme == GROUPED_LZ4 else content


def ungroup(content: bytes) -> bytes:
    """Undo the grouping of every fourth byte; the first groups also have the remainder.

    >>> ungroup(b"aebfcgd")
    b'abcdefg'
    """
    answer, position = bytearray(len(content)), 0
    for first in range(4):
        length = len(range(first, len(content), 4))
        answer[first::4] = content[position : position + length]
        position += length
    return bytes(answer)


def read_files(content: bytes) -> list[File]:
    """Return the files of a shard; the lists of chunks after them are not read."""
    magic, version, _ = HEADER.unpack_from(content)
    if magic != MAGIC or version != 2:
        raise XetError("shard: not one of version 2")
    files, position = [], HEADER.size
    while not content.startswith(BOOKEND, position):
        file, position = read_file(content, position)
        files.append(file)
    return files


def read_file(content: bytes, position: int) -> tuple[File, int]:
    """Return the file whose block begins at the position, and the position after the block."""
    digest, flags, terms, *_ = ENTRY.unpack_from(content, position)
    if not flags & WITH_SHA256:
        raise XetError(f"shard: file {read_hash(digest)} comes without its SHA-256")
    first = position + ENTRY.size
    last = first + ENTRY.size * terms * (2 if flags & VERIFIED else 1)
    parts = [ENTRY.unpack_from(content, first + ENTRY.size * n) for n in range(terms)]
    named = [Term(read_hash(xorb), start, stop, size) for xorb, _, size, start, stop in parts]
    sha256 = read_hash(ENTRY.unpack_from(content, last)[0])
    return File(read_hash(digest), sha256, named), last + ENTRY.size
