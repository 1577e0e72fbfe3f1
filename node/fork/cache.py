"""The cache of a fork: a file beside the fork file with everything that was fetched on demand, for runs without a network.

The file is a sequence of frames, each with its length, its CRC-32 and a MessagePack value. The first value is the digest of the fork file,
the others are entries. An incomplete last frame, which an interrupted write leaves, is cut off.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from struct import Struct as Layout
from zlib import crc32

import msgspec
from msgspec import Struct

from node.runtime.errors import FileError
from node.storage.disk import Disk, File, SystemDisk
from rpc.declare.demand import Key
from rpc.log import Log

SUFFIX = ".fetched"
CACHE_SIZE_MAX = 64 << 20  # bytes; later fetches aren't stored
FRAME = Layout("<II")  # the length and the CRC-32 of a value
SYSTEM = SystemDisk()

_log = Log("fork")


class CacheEntry(Struct, frozen=True, array_like=True):
    """Result of one fetch: the fetched keys, their packed rows (`ImportRows.packed`), and the keys that the source doesn't have."""

    keys: tuple[Key, ...]
    packed: tuple[bytes, ...]
    unknown: tuple[Key, ...] = ()


_DECODER = msgspec.msgpack.Decoder(CacheEntry)


class FetchCache:
    """The cache of the fork file with this digest. The file is made with the first entry."""

    def __init__(self, path: Path, digest: str, disk: Disk = SYSTEM) -> None:
        self._path, self._digest, self._disk = path, digest, disk
        self._end = 0

    def read(self) -> list[CacheEntry]:
        """Return the entries. Raises FileError if the file belongs to another fork file, or isn't a cache."""
        if not self._disk.exists(self._path):
            return []
        try:
            with closing(self._disk.open_to_read(self._path)) as file:
                values = list(self._values(file.read(min(file.size(), CACHE_SIZE_MAX), 0)))
            if not values:
                return []
            if values[0] != msgspec.msgpack.encode(self._digest):
                raise FileError(f"{self._path}: belongs to another fork file. Remove it, or rename it back.")
            return [_DECODER.decode(value) for value in values[1:]]
        except OSError as error:
            raise FileError(f"{self._path}: can't be read: {error.strerror}") from None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise FileError(f"{self._path}: isn't a cache of a fork: {error}. Remove it; then everything is fetched again.") from None

    def append(self, entry: CacheEntry) -> None:
        """Write an entry, after `read`. A failure is logged. If the file would become too large, the entry isn't written."""
        values = [msgspec.msgpack.encode(entry)] if self._end else [msgspec.msgpack.encode(self._digest), msgspec.msgpack.encode(entry)]
        data = b"".join(FRAME.pack(len(value), crc32(value)) + value for value in values)
        if self._end + len(data) > CACHE_SIZE_MAX:
            _log.warning("the cache of the fork is full", path=str(self._path))
            return
        try:
            with closing(self._opened()) as file:
                file.write(data, self._end)
                file.truncate(self._end + len(data))
        except OSError as error:
            _log.warning("fetched rows can't be stored", path=str(self._path), reason=error.strerror)
        else:
            self._end += len(data)

    def _opened(self) -> File:
        return self._disk.open(self._path, create=True)

    def _values(self, data: bytes) -> Iterator[bytes]:
        """Yield the values of the complete frames."""
        while self._end + FRAME.size <= len(data):
            size, check = FRAME.unpack_from(data, self._end)
            value = data[self._end + FRAME.size : self._end + FRAME.size + size]
            if len(value) < size or crc32(value) != check:
                return
            self._end += FRAME.size + size
            yield value


def cache_of(fork: Path) -> Path:
    """Return the path of the cache of a fork file."""
    return fork.with_name(fork.name + SUFFIX)
