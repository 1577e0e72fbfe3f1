"""Interface of the node's dev chain for the methods of dev_api."""

from collections.abc import Generator, Iterator
from typing import Protocol


class DevChain(Protocol):
    """Makes blocks and controls the time of a chain. Methods that change the chain must be called in a job of the processor. They raise
    Refused.

    Iterators change the chain by one block per step, so that other calls can run in between (`Processor.run_steps`).
    """

    @property
    def time(self) -> int:
        """The chain's time, in seconds since 1970."""

    @property
    def seconds_ahead(self) -> int:
        """The difference between the chain's time and the system time, in seconds."""

    @property
    def block_mode(self) -> str:
        """The block mode, as a value of `--blocks`."""

    @property
    def leap(self) -> str:
        """The default treatment of slots that a time jump skips: `missed` or `produced`."""

    @property
    def version(self) -> str:
        """The node's version."""

    @property
    def snapshots(self) -> list[int]:
        """The ids of the dev snapshots, oldest first."""

    def mine(self, count: int) -> Iterator[object]:
        """Make `count` blocks: the first in the next slot, or at the chain's time if that is later, the others in consecutive slots."""

    def set_block_mode(self, text: str) -> None:
        """Set the block mode, a value of `--blocks`."""

    def advance(self, seconds: int, leap: str) -> Iterator[object]:
        """Advance the chain's time. `leap` is the treatment of skipped slots, `missed` or `produced`; "" selects the node's default."""

    def set_next_block_time(self, time: int) -> int:
        """Set the time of the next block, in seconds since 1970. Return the time rounded up to a slot."""

    def snapshot_in_steps(self) -> Generator[None, None, int]:
        """Take a dev snapshot in steps and return its id. The chain must not change between the steps (`Processor.in_steps`)."""

    def revert(self, snapshot_id: int) -> None:
        """Restore the chain to a dev snapshot, and drop later snapshots."""

    def reset(self) -> None:
        """Replace the chain with a new one at genesis."""

    def drop_pending(self) -> int:
        """Drop all pending transactions and return their number."""

    def dump(self, path: str) -> int:
        """Write the chain and its clock to a file. Return the file's size in bytes."""

    def load(self, path: str) -> None:
        """Replace the chain and its clock with those in a dump file."""
