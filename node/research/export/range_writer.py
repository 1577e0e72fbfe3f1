"""Writes the chunks of one range of blocks to a temporary folder, then renames all of them. The export updates the manifest after that.

An interrupted export restarts at the beginning of the range. A thread writes the files, since writing releases the interpreter's lock.
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

TEMPORARY = ".part"  # the temporary folder for chunks
NUMBER_DIGITS = 10
WRITES_WAITING_MAX = 8  # batches of columns queued for the thread

Result = TypeVar("Result")


def path_of(dataset: Dataset, form: Format, key: str, number: int) -> str:
    """Return the path of a chunk in the export's folder, for example `operations/kind=vote/blocks=0000100000/vote.parquet`."""
    return f"{dataset.folder}/{key}={number:0{NUMBER_DIGITS}}/{dataset.file}.{form}"


class RangeWriter:
    """Writes the chunks of the current range in a thread. Each method raises DiskError if an earlier write has failed."""

    def __init__(self, folder: Path, form: Format, disk: Disk) -> None:
        self._folder, self._form, self._disk = folder, form, disk
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="export")
        self._written: list[Future[None]] = []
        self._files: dict[str, ChunkFile] = {}

    def add(self, name: str, dataset: Dataset, arrays: list[Any]) -> None:
        """Append columns to the chunk with the path `name`. Blocks while more than WRITES_WAITING_MAX writes are queued."""
        self._written.append(self._thread.submit(self._add, name, dataset, arrays))
        while len(self._written) > WRITES_WAITING_MAX:
            self._wait_written(self._written.pop(0))

    def finish(self) -> list[Chunk]:
        """Rename all chunks to their final paths and sync them. Return them ordered by path."""
        while self._written:
            self._wait_written(self._written.pop(0))
        return self._wait_written(self._thread.submit(self._finish))

    def close(self) -> None:
        """Stop the thread, and remove temporary files."""
        self._thread.shutdown(cancel_futures=True)
        for file in self._files.values():
            with suppress(Exception):  # The file is removed anyway.
                file.abandon()
        clear(self._folder)

    def _wait_written(self, future: "Future[Result]") -> Result:
        try:
            return future.result()
        except OSError as error:
            raise disk_failed(self._folder, error) from None

    # -------------------------------------------------------------- in the thread

    def _add(self, name: str, dataset: Dataset, arrays: list[Any]) -> None:
        file = self._files.get(name)
        if file is None:
            path = self._folder / TEMPORARY / name
            path.parent.mkdir(parents=True, exist_ok=True)
            file = self._files[name] = ChunkFile(path, dataset.schema, self._form, dataset.order)
        file.add(arrays)

    def _finish(self) -> list[Chunk]:
        chunks = []
        for name, file in sorted(self._files.items()):
            size, digest = file.close()
            chunks.append(Chunk(name, file.rows, size, digest))
        folders = set[Path]()
        for chunk in chunks:
            path = self._folder / chunk.path
            self._disk.make_folder(path.parent)
            self._disk.replace(self._folder / TEMPORARY / chunk.path, path)
            inside = path.parent.relative_to(self._folder)
            folders |= {inside, *inside.parents}
        for folder in sorted(folders, key=lambda each: -len(each.parts)):
            self._disk.sync_folder(self._folder / folder)
        self._files.clear()
        clear(self._folder)
        return chunks


def clear(folder: Path) -> None:
    """Remove the temporary files of an interrupted export."""
    shutil.rmtree(folder / TEMPORARY, ignore_errors=True)
