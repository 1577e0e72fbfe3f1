"""Writes the chunks of one range of blocks: aside first, then all of them are given their names, and the manifest names them last.

What a kill interrupts is done again from the beginning of the range. Files are written by a thread, as that is done without the
interpreter's lock.
"""

import shutil
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from node.research.columns.column_buffer import Dataset
from node.research.export.files import ChunkFile, Format
from node.research.export.manifest import Chunk, disk_failed
from node.storage.disk import Disk

ASIDE = ".part"  # the folder in which chunks are written
NUMBER_DIGITS = 10
WRITES_WAITING_MAX = 8  # groups of columns that the thread has not written yet

Result = TypeVar("Result")


def place_of(dataset: Dataset, form: Format, key: str, number: int) -> str:
    """Return the path of a chunk in the folder, as `operations/kind=vote/blocks=0000100000/vote.parquet`."""
    return f"{dataset.folder}/{key}={number:0{NUMBER_DIGITS}}/{dataset.file}.{form}"


class RangeWriter:
    """The chunks that are being written, and the thread that does it. Raises DiskError where the disk fails, maybe at a later call."""

    def __init__(self, folder: Path, form: Format, disk: Disk) -> None:
        self._folder, self._form, self._disk = folder, form, disk
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="export")
        self._written: list[Future[None]] = []
        self._files: dict[str, ChunkFile] = {}

    def add(self, place: str, dataset: Dataset, arrays: list[Any]) -> None:
        """Add columns to the chunk of this path; waits while too much isn't written yet."""
        self._written.append(self._thread.submit(self._add, place, dataset, arrays))
        while len(self._written) > WRITES_WAITING_MAX:
            self._wait_written(self._written.pop(0))

    def finish(self) -> list[Chunk]:
        """Give all chunks their names, for good; returns them in the order of their paths."""
        while self._written:
            self._wait_written(self._written.pop(0))
        return self._wait_written(self._thread.submit(self._finish))

    def close(self) -> None:
        """End the thread, and remove what is left aside."""
        self._thread.shutdown(cancel_futures=True)
        for file in self._files.values():
            with suppress(Exception):  # it is removed as it is
                file.abandon()
        clear(self._folder)

    def _wait_written(self, future: "Future[Result]") -> Result:
        try:
            return future.result()
        except OSError as error:
            raise disk_failed(self._folder, error) from None

    # -------------------------------------------------------------- in the thread

    def _add(self, place: str, dataset: Dataset, arrays: list[Any]) -> None:
        file = self._files.get(place)
        if file is None:
            path = self._folder / ASIDE / place
            path.parent.mkdir(parents=True, exist_ok=True)
            file = self._files[place] = ChunkFile(path, dataset.schema, self._form, dataset.order)
        file.add(arrays)

    def _finish(self) -> list[Chunk]:
        chunks = []
        for place, file in sorted(self._files.items()):
            size, digest = file.close()
            chunks.append(Chunk(place, file.rows, size, digest))
        folders = set[Path]()
        for chunk in chunks:
            path = self._folder / chunk.path
            self._disk.make_folder(path.parent)
            self._disk.replace(self._folder / ASIDE / chunk.path, path)
            inside = path.parent.relative_to(self._folder)
            folders |= {inside, *inside.parents}
        for folder in sorted(folders, key=lambda each: -len(each.parts)):
            self._disk.sync_folder(self._folder / folder)
        self._files.clear()
        clear(self._folder)
        return chunks


def clear(folder: Path) -> None:
    """Remove what an export that was interrupted has left aside."""
    shutil.rmtree(folder / ASIDE, ignore_errors=True)
