"""Stores the pages of an unfinished copy in a folder beside its file, so that an interrupted copy can resume."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from struct import Struct as Layout
from typing import Any
from zlib import crc32

import msgspec
import zstandard
from msgspec import Struct

from node.runtime.errors import FileError
from state.portable import BATCH_SIZE_MAX, Batch, pack_batch, unpack_batch

FRAME = Layout("<II")  # the size of a page as packed, and its checksum
PAGE_SIZE_MAX = 2 * BATCH_SIZE_MAX
ABOUT = "about.json"


class PageError(FileError):
    """The folder of pages can't be used."""


class About(Struct, frozen=True):
    """The source of the pages, its chain, and the block at which reading began."""

    url: str
    chain_id: str
    number: int
    block_id: str
    version: int = 1


class Page(Struct, frozen=True):
    """Rows as packed by `pack_batch`, the start of the next page, and whether this page is the last one of its table."""

    rows: bytes
    start: tuple[Any, ...]
    is_last: bool = False


ENCODER, DECODER = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(Page)


class PageFolder:
    """The folder with the pages, a file for each table. The files are only appended to, and a damaged end is dropped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._packer = zstandard.ZstdCompressor(level=1)
        self._unpacker = zstandard.ZstdDecompressor()

    def about(self) -> About | None:
        """Return the source of the pages, or None if there are no pages."""
        try:
            return msgspec.json.decode((self.path / ABOUT).read_bytes(), type=About)
        except (OSError, msgspec.MsgspecError):
            return None

    def begin(self, about: About) -> None:
        """Make the folder, without pages."""
        self.remove()
        try:
            self.path.mkdir(parents=True)
            (self.path / ABOUT).write_bytes(msgspec.json.encode(about))
        except OSError as error:
            raise PageError(f"{self.path}: {error.strerror}") from None

    def remove(self) -> None:
        """Remove the folder."""
        if self.about() is not None:
            shutil.rmtree(self.path)

    def append(self, table: str, batch: Batch, start: tuple[Any, ...], *, is_last: bool) -> None:
        """Add a page to a table's file."""
        parts = list(packed_parts(batch))
        frames = b""
        for at, part in enumerate(parts):
            data = self._packer.compress(ENCODER.encode(Page(part, start, is_last and at == len(parts) - 1)))
            frames += FRAME.pack(len(data), crc32(data)) + data
        try:
            with (self.path / table).open("ab") as file:
                file.write(frames)
        except OSError as error:
            raise PageError(f"{self.path / table}: {error.strerror}") from None

    def batches(self, table: str) -> Iterator[Batch]:
        """Yield the rows of a table's pages."""
        for page in self._pages(table):
            try:
                yield unpack_batch(page.rows)
            except ValueError as error:
                raise PageError(f"{self.path / table}: {error}") from None

    def position(self, table: str) -> tuple[tuple[Any, ...] | None, bool]:
        """Return the start of the page after those of a table (None: the first page), and whether all pages of the table are here."""
        start, is_done = None, False
        for page in self._pages(table):
            start, is_done = page.start, page.is_last
        return start, is_done

    def _pages(self, table: str) -> Iterator[Page]:
        path, at = self.path / table, 0
        if not path.exists():
            return
        with path.open("r+b") as file:
            while head := file.read(FRAME.size):
                size, total = FRAME.unpack(head) if len(head) == FRAME.size else (0, 0)
                data = file.read(size) if 0 < size <= PAGE_SIZE_MAX else b""
                if not data or len(data) < size or crc32(data) != total:
                    file.truncate(at)
                    return
                at += len(head) + size
                yield DECODER.decode(self._unpacker.decompress(data, max_output_size=PAGE_SIZE_MAX))


def packed_parts(batch: Batch) -> Iterator[bytes]:
    """Pack a batch, in parts if it is too large for one."""
    data = pack_batch(batch)
    if len(data) <= BATCH_SIZE_MAX:
        yield data
        return
    half = {name: len(rows) // 2 for name, rows in batch.items()}
    assert any(half.values()), "a row is smaller than a batch"
    yield from packed_parts({name: rows[: half[name]] for name, rows in batch.items()})
    yield from packed_parts({name: rows[half[name] :] for name, rows in batch.items()})
