"""How `coind run` begins with a fork: with a fork file, with the one in the data folder, or with the present state of a node."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from node.client.urls import is_url, node_url
from node.fork.fetch import ForkRequest, write_new_fork
from node.fork.file import ForkFile, read_fork
from node.fork.source import Source
from node.runtime.errors import NodeError
from node.runtime.progress import StepProgress
from node.runtime.shutdown import run_to_end

FILE_NAME = "fork"


@contextmanager
def begun_fork(fork: str | None, held: Path | None, requests_per_second: float | None) -> Iterator[ForkFile]:
    """Context manager that yields the fork file with which a chain begins. Raises NodeError.

    `fork` is a file or the URL of a node, and `held` the file in the data folder. With a URL and without such a file, a file is made, which
    is removed at the end.
    """
    if requests_per_second is not None and not requests_per_second > 0:
        raise NodeError(f"--requests-per-second {requests_per_second}: expected more than 0")
    if fork is not None and not is_url(fork):
        yield read_fork(Path(fork))
    elif held is not None:
        yield read_fork(held)
    elif fork is not None:
        with TemporaryDirectory(prefix="coind-fork-") as folder:
            path = Path(folder) / FILE_NAME
            run_to_end(partial(_make, node_url(fork), requests_per_second, path))
            yield read_fork(path)


async def _make(url: str, requests_per_second: float | None, path: Path) -> int:
    progress = StepProgress()
    source = Source(url, requests_per_second)
    try:
        await write_new_fork(source, ForkRequest(), path, progress.show)
    finally:
        progress.close()
        await source.close()
    return 0
