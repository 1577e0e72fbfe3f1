"""Chains that are put where another one is by a snapshot, in memory, for tests."""

from collections.abc import Iterator

from state.chain.chain import Chain
from state.snapshot.image import SnapshotHeader, head_of, parts_of, restore

Image = tuple[SnapshotHeader, dict[str, list[bytes]]]


def image_of(chain: Chain) -> Image:
    """A snapshot of a chain at its last irreversible block; the chain is rewound to it."""
    chain.rewind()
    return head_of(chain), {name: list(part.dump()) for name, part in parts_of(chain.state).items()}


def put(chain: Chain, image: Image, older: dict[int, bytes]) -> None:
    """Put a chain at genesis where a snapshot was taken, and leave nothing for later."""
    head, sections = image

    def opened(name: str) -> Iterator[bytes]:
        return iter(sections[name])

    for deferred in restore(chain, head, opened, older.get):
        deferred.finish()
