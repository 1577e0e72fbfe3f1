"""Snapshots in memory, and chains restored from them, for tests."""

from collections.abc import Iterator

from state.chain.chain import Chain
from state.snapshot.image import SnapshotHeader, head_of, parts_of, restore

Image = tuple[SnapshotHeader, dict[str, list[bytes]]]


def image_of(chain: Chain) -> Image:
    """Take a snapshot of a chain at its last irreversible block. This rewinds the chain to that block."""
    chain.rewind()
    return head_of(chain), {name: list(part.dump()) for name, part in parts_of(chain.state).items()}


def put(chain: Chain, image: Image, older: dict[int, bytes]) -> None:
    """Restore a snapshot into a chain at genesis, and finish loading it. If that fails, the chain is as before."""
    head, sections = image
    now = chain.savepoint()

    def opened(name: str) -> Iterator[bytes]:
        return iter(sections[name])

    try:
        for deferred in restore(chain, head, opened, older.get):
            deferred.finish()
    except BaseException:
        chain.restore(now)
        raise
