"""Interface of the node's dev chain, as the methods of dev_api use it."""

from collections.abc import Generator, Iterator
from typing import Protocol

from rpc.fork import Fork


class DevChain(Protocol):
    """Makes blocks, and controls the time of a chain. Methods that change the chain must be called in a job of the processor. They raise
    Refused if they can't do the change.

    A returned iterator changes the chain by one block per step, so that other calls can run in between (`Processor.run_steps`).
    """

    @property
    def time(self) -> int:
        """The chain's time, in seconds since 1970."""

    @property
    def seconds_ahead(self) -> int:
        """How far the chain's time is ahead of the system time, in seconds."""

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

    @property
    def fork(self) -> Fork | None:
        """The origin of a forked chain, or None."""

    def mine(self, count: int) -> Iterator[object]:
        """Make `count` blocks. The first is in the next slot, or at the chain's time if that is later. The others are in the slots after
        it.
        """

    def set_block_mode(self, text: str) -> None:
        """Set the block mode, a value of `--blocks`."""

    def advance(self, seconds: int, leap: str) -> Iterator[object]:
        """Advance the chain's time. `leap` determines whether skipped slots are `missed` or `produced`. "" selects the node's default."""

    def set_next_block_time(self, time: int) -> int:
        """Set the time of the next block, in seconds since 1970. Return this time, rounded up to a slot."""

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
