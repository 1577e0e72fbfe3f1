"""The interface of the node's driver, which moves a chain that is made for tests: what the methods of dev_api ask of it."""

from collections.abc import Generator, Iterator
from typing import Protocol


class DevChain(Protocol):
    """Makes blocks and sets the time of a chain. What changes the chain is called in a job of the processor; refusals are Refused.

    Iterators change the chain step by step, a block a step, so that others are answered in between (`Processor.run_steps`).
    """

    @property
    def time(self) -> int:
        """The time of the chain, in seconds since 1970."""

    @property
    def seconds_ahead(self) -> int:
        """How far the chain's time runs ahead of the machine's; negative when it is behind."""

    @property
    def block_mode(self) -> str:
        """When blocks are made, as `--blocks` takes it."""

    @property
    def leap(self) -> str:
        """What a leap in time does unless it is said: `missed` or `produced`."""

    @property
    def version(self) -> str:
        """The version of the node."""

    @property
    def snapshots(self) -> list[int]:
        """The ids of the moments that are kept, the oldest first."""

    def mine(self, count: int) -> Iterator[object]:
        """Make blocks: the first at the chain's time if that is later than the next slot, the others slot after slot."""

    def set_block_mode(self, text: str) -> None:
        """Make blocks in another way from now on."""

    def advance(self, seconds: int, leap: str) -> Iterator[object]:
        """Let the chain's time leap; the slots in between are `missed`, or `produced`; an empty `leap` is that of the node."""

    def set_next_block_time(self, time: int) -> int:
        """Set the time of the next block, in seconds since 1970, rounded up to a slot; return it."""

    def snapshot_in_steps(self) -> Generator[None, None, int]:
        """Keep this moment of the chain, and return its id; between the steps nothing may move it (`Processor.in_steps`)."""

    def revert(self, moment_id: int) -> None:
        """Return to a moment, which stays; later ones are dropped."""

    def reset(self) -> None:
        """Begin anew, with a fresh chain."""

    def drop_pending(self) -> int:
        """Forget all transactions that wait for a block; return how many there were."""

    def dump(self, path: str) -> int:
        """Write the chain with its clock into a file; return the size of the file."""

    def load(self, path: str) -> None:
        """Put the chain where the one of a dump was, with its clock."""
