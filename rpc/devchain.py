"""Interface of the node's dev chain, for the methods of dev_api."""

from collections.abc import Generator, Iterator
from typing import Protocol


class DevChain(Protocol):
    """Makes blocks and sets the time of a chain. Call the methods that change the chain in a job of the processor; they raise Refused.

    Iterators change the chain one block per step, so that other calls run in between (`Processor.run_steps`).
    """

    @property
    def time(self) -> int:
        """The time of the chain, in seconds since 1970."""

    @property
    def seconds_ahead(self) -> int:
        """The chain's time minus the machine's, in seconds."""

    @property
    def block_mode(self) -> str:
        """The block mode, in the form of `--blocks`."""

    @property
    def leap(self) -> str:
        """The default for slots skipped by a time jump: `missed` or `produced`."""

    @property
    def version(self) -> str:
        """The version of the node."""

    @property
    def snapshots(self) -> list[int]:
        """The ids of the dev snapshots, oldest first."""

    def mine(self, count: int) -> Iterator[object]:
        """Make blocks: the first in the next slot, or at the chain's time if that is later, the others in consecutive slots."""

    def set_block_mode(self, text: str) -> None:
        """Change the block mode."""

    def advance(self, seconds: int, leap: str) -> Iterator[object]:
        """Move the chain's time forward. Skipped slots are `missed` or `produced`; an empty `leap` means the node's default."""

    def set_next_block_time(self, time: int) -> int:
        """Set the time of the next block, in seconds since 1970. Return it, rounded up to a slot."""

    def snapshot_in_steps(self) -> Generator[None, None, int]:
        """Take a dev snapshot and return its id. The chain must not change between the steps (`Processor.in_steps`)."""

    def revert(self, snapshot_id: int) -> None:
        """Restore the chain to a dev snapshot. Later ones are dropped."""

    def reset(self) -> None:
        """Restart from a fresh chain."""

    def drop_pending(self) -> int:
        """Drop all pending transactions. Return their number."""

    def dump(self, path: str) -> int:
        """Write the chain and its clock to a file. Return the size of the file, in bytes."""

    def load(self, path: str) -> None:
        """Replace the chain and its clock by those of a dump."""
