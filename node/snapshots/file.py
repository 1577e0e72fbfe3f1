"""The snapshot file format: sections of compressed chunks, an index with the digest of each, and the digest of the index.

    8 bytes   MAGIC
    4 bytes   the version of the format, little endian
    4 bytes   zeros
    sections  each a sequence of chunks: packed size and size (4 bytes each, little endian), then that many bytes of zstd
    index     JSON: an `Index`
    8 bytes   offset of the index, little endian
    32 bytes  BLAKE2b of the first 16 bytes and of everything from the index on up to here

A chunk is padded with zeros to at least 1/64 of its unpacked size, so the file's size limits the unpacked size.

Sections follow each other without a gap, so a digest covers every byte. The index comes last, because a section's digest is known only
after writing it. So the writer needs just one chunk in memory.
"""

import struct
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from node.runtime.errors import FileError, Status
from node.storage.datafolder import ChainMark, mark_of
from node.storage.disk import Disk, File
from node.storage.spec_copy import decisive
from state.protocol.spec import ChainSpec
from state.snapshot.image import SnapshotHeader

MAGIC, VERSION = b"COINSNAP", 1
START, CHUNK, END = struct.Struct("<8sII"), struct.Struct("<II"), struct.Struct("<Q")
DIGEST_SIZE = 32
LEVEL = 1  # of zstd: 3 takes twice the time for a tenth less
CHUNK_SIZE_MAX = 1 << 31
# Limit of the unpacked bytes: UNPACKED_PER_BYTE times the file's size, plus UNPACKED_FREE.
UNPACKED_PER_BYTE, UNPACKED_FREE = 64, 1 << 20
INDEX_SIZE_MAX = 1 << 26
READ_SIZE = 1 << 20


class SnapshotError(FileError):
    """Error for an unusable snapshot. The message contains the path and the reason."""


class CorruptSnapshot(SnapshotError):
    """The snapshot file is damaged."""


class IncompatibleSnapshot(SnapshotError):
    """The snapshot file is intact but doesn't fit this node: its format, rules, chain or plugins differ. Also raised for a missing file."""

    STATUS = Status.REFUSED


class Unwritable(SnapshotError):
    """The snapshot file or its folder can't be written."""

    STATUS = Status.DISK


class OffChainSnapshot(IncompatibleSnapshot):
    """The snapshot file is intact, but its block is not in the block log."""


class Section(Struct, frozen=True):
    """A section: its start and size in bytes, its digest (BLAKE2b in hex), and a digest of the schema of its rows."""

    name: str
    schema: str
    start: int
    size: int
    digest: str


class Index(Struct, frozen=True, kw_only=True):
    """Index of a snapshot file: its metadata and its sections."""

    program: str  # the version of the program that made it
    chain: ChainMark
    head: SnapshotHeader
    sections: tuple[Section, ...]
    spec: str = ""  # copy of the spec (node/storage/spec_copy.py); empty in old snapshots


class SnapshotWriter:
    """Writes the sections of a snapshot into an empty file, one after the other, then the index (`finish`). Raises OSError."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._sections: list[Section] = []
        import zstandard

        self._packer = zstandard.ZstdCompressor(level=LEVEL, write_content_size=True)
        self._start = START.pack(MAGIC, VERSION, 0)
        file.write(self._start, 0)
        self._at = len(self._start)

    def section(self, name: str, schema: str, chunks: Iterator[bytes]) -> None:
        """Write a section."""
        start, total = self._at, digest_of()
        for chunk in chunks:
            packed = self._packer.compress(chunk)
            packed = packed.ljust(len(chunk) // UNPACKED_PER_BYTE, b"\0")
            framed = CHUNK.pack(len(packed), len(chunk)) + packed
            total.update(framed)
            self._file.write(framed, self._at)
            self._at += len(framed)
        self._sections.append(Section(name, schema_digest(schema), start, self._at - start, total.hexdigest()))

    def finish(self, program: str, spec: ChainSpec, head: SnapshotHeader) -> None:
        """Write the index, which contains the snapshot's metadata."""
        chain, kept = mark_of(spec), decisive(spec).decode()
        index = Index(program=program, chain=chain, head=head, sections=tuple(self._sections), spec=kept)
        end = msgspec.json.encode(index) + END.pack(self._at)
        total = digest_of(self._start + end)
        self._file.write(end + total.digest(), self._at)


class Snapshot:
    """A snapshot file open for reading. The index is read and checked immediately, each section on request.

    `digest` is that of the index, and therefore identifies the whole file. `pause` is called after each READ_SIZE bytes of a section.
    Raises CorruptSnapshot, and IncompatibleSnapshot for another version of the format.
    """

    def __init__(self, path: Path, disk: Disk, pause: Callable[[], None] = lambda: None) -> None:
        self.path, self._pause = path, pause
        self._unpacked_sizes: dict[str, int] = {}
        try:
            self._file = disk.open_to_read(path)
        except (OSError, ValueError) as error:
            raise IncompatibleSnapshot(f"{path}: {getattr(error, 'strerror', None) or error}") from None
        try:
            self.size = self._file.size()
            self.index, self.digest = self._read_index()
            self._by_name = {section.name: section for section in self.index.sections}
        except OSError as error:
            self._file.close()
            raise IncompatibleSnapshot(f"{path}: {error.strerror}") from None
        except SnapshotError:
            self._file.close()
            raise

    @property
    def head(self) -> SnapshotHeader:
        """The block at which the snapshot was taken, and the chain data that is not in tables."""
        return self.index.head

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def has(self, name: str) -> bool:
        """Whether the snapshot has a section with this name."""
        return name in self._by_name

    def check_schema(self, name: str, schema: str) -> None:
        """Raise IncompatibleSnapshot unless the snapshot has a section with this name and schema."""
        section = self._by_name.get(name)
        if section is None:
            raise IncompatibleSnapshot(f"{self.path}: has no {name}")
        if section.schema != schema_digest(schema):
            raise IncompatibleSnapshot(f"{self.path}: {name} has another schema than in this version of the program")

    def chunks(self, name: str) -> Iterator[bytes]:
        """Check the digest of a section, then return an iterator of its chunks. Raises CorruptSnapshot."""
        section, total, pieces = self._by_name[name], digest_of(), list[bytes]()
        end = section.start + section.size
        for at in range(section.start, end, READ_SIZE):
            pieces.append(self._read(min(READ_SIZE, end - at), at))
            total.update(pieces[-1])
            self._pause()
        data = b"".join(pieces)
        if len(data) != section.size or total.hexdigest() != section.digest:
            raise CorruptSnapshot(f"{self.path}: damaged in {name}, bytes {section.start} to {section.start + section.size}")
        return self._unpacked(name, data)

    def check(self, progress: Callable[[int], None] = lambda size: None) -> None:
        """Check the digests of all sections, calling `progress` with the size of each. Raises CorruptSnapshot."""
        for section in self.index.sections:
            self.chunks(section.name)
            progress(section.size)

    def _unpacked(self, name: str, data: bytes) -> Iterator[bytes]:
        import zstandard

        unpacker = zstandard.ZstdDecompressor()
        for packed, size in self._sized(name, data):
            try:
                # zstandard allocates the size given in the frame before it unpacks anything.
                if zstandard.frame_content_size(packed) != size:
                    raise CorruptSnapshot(f"{self.path}: a chunk of {name} has an impossible size")
                chunk = unpacker.decompress(packed, max_output_size=size)
            except zstandard.ZstdError as error:
                raise CorruptSnapshot(f"{self.path}: {name} can't be unpacked: {error}") from None
            if len(chunk) != size:
                raise CorruptSnapshot(f"{self.path}: a chunk of {name} has {len(chunk)} bytes in place of {size}")
            yield chunk

    def _sized(self, name: str, data: bytes) -> list[tuple[memoryview, int]]:
        """Return the packed chunks of a section, each with its unpacked size. Raises CorruptSnapshot, also if all chunks together are too
        large.
        """
        found, at = [], 0
        while at < len(data):
            try:
                packed_size, size = CHUNK.unpack_from(data, at)
            except struct.error as error:
                raise CorruptSnapshot(f"{self.path}: {name} can't be unpacked: {error}") from None
            at += CHUNK.size + packed_size
            if size > CHUNK_SIZE_MAX or at > len(data):
                raise CorruptSnapshot(f"{self.path}: a chunk of {name} has an impossible size")
            found.append((memoryview(data)[at - packed_size : at], size))
        self._unpacked_sizes[name] = sum(size for _, size in found)
        unpacked, most = sum(self._unpacked_sizes.values()), UNPACKED_FREE + UNPACKED_PER_BYTE * self.size
        if unpacked > most:
            raise CorruptSnapshot(
                f"{self.path}: it unpacks to {unpacked:,} bytes or more, and {most:,} are allowed for a file of {self.size:,} bytes"
            )
        return found

    def _read_index(self) -> tuple[Index, str]:
        start = self._read(START.size, 0)
        if len(start) != START.size or not start.startswith(MAGIC):
            raise CorruptSnapshot(f"{self.path}: is neither a snapshot nor a fork file")
        _, version, zeros = START.unpack(start)
        tail = END.size + DIGEST_SIZE
        begin = END.unpack(self._read(END.size, self.size - tail))[0] if self.size >= START.size + tail else 0
        is_sound = START.size <= begin <= self.size - tail and self.size - tail - begin <= INDEX_SIZE_MAX
        end = self._read(self.size - begin, begin) if is_sound else b""
        is_whole = is_sound and digest_of(start + end[:-DIGEST_SIZE]).digest() == end[-DIGEST_SIZE:]
        # A later version of the format can have another end. A flipped bit in the version must not be mistaken for such a version.
        if version != VERSION and (is_whole or not is_sound):
            raise IncompatibleSnapshot(f"{self.path}: has version {version} of the format, this program reads {VERSION}; save it again")
        if not is_whole or zeros:
            raise CorruptSnapshot(f"{self.path}: damaged, or not written to its end")
        try:
            index = msgspec.json.decode(end[:-tail], type=Index)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise IncompatibleSnapshot(f"{self.path}: its index is malformed: {error}") from None
        at = START.size
        for section in index.sections:
            if section.start != at or section.size < 0:
                raise CorruptSnapshot(f"{self.path}: its sections don't follow each other")
            at += section.size
        if at != begin or len({section.name for section in index.sections}) != len(index.sections):
            raise CorruptSnapshot(f"{self.path}: its sections don't follow each other")
        return index, end[-DIGEST_SIZE:].hex()

    def _read(self, size: int, start: int) -> bytes:
        try:
            return self._file.read(size, start)
        except OSError as error:
            raise CorruptSnapshot(f"{self.path}: can't be read at byte {start}: {error.strerror}") from None


def digest_of(data: bytes = b"") -> blake2b:
    """Return a hash object of the kind used for the file's digests, updated with `data`."""
    return blake2b(data, digest_size=DIGEST_SIZE)


def schema_digest(schema: str) -> str:
    """Return a short digest of a schema."""
    return blake2b(schema.encode(), digest_size=8).hexdigest()
