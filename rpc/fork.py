"""The origin of a chain that begins where the chain of another node (its source) stood, and the fetches from there."""

from collections import deque
from typing import Annotated, Literal

from msgspec import Meta, Struct

from state.protocol.constants import COIN_MAX_WITNESSES

FETCHES_SHOWN_MAX = 50

ChainId = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
BlockId = Annotated[str, Meta(pattern=r"^[0-9a-f]{40}\Z")]
Count = Annotated[int, Meta(ge=0)]
RoundSize = Annotated[int, Meta(ge=0, le=COIN_MAX_WITNESSES)]


class ForkOrigin(Struct, frozen=True, kw_only=True):
    """The origin of a forked chain: the source and its block, and the options with which the fork file was made.

    `chain_id` is that of the source. `accounts` and `posts` (`@author/permlink`) are the names that were requested, and `newest_posts` is
    the number of posts of each account. With `is_complete`, the chain has everything of the source. `counts` are the numbers of fetched
    rows by kind, and `notes` say what could not be fetched.
    """

    source: str
    chain_id: ChainId
    number: Annotated[int, Meta(ge=1)]
    block_id: BlockId
    time: Count
    accounts: tuple[str, ...] = ()
    posts: tuple[str, ...] = ()
    newest_posts: Count = 0
    is_complete: bool = False
    keys: Literal["derived", "kept"] = "derived"
    witnesses: RoundSize = 0  # that make blocks; 0: those of the source's schedule
    counts: dict[str, Count] = {}
    notes: tuple[str, ...] = ()


class Fetch(Struct, frozen=True):
    """A fetch from the source. `time` is that of this machine, in seconds since 1970.

    `what` names the fetched things, for example `alice, @bob/first`. `error` is the reason why the fetch failed, or "".
    """

    time: int
    what: str
    rows: int = 0
    size: int = 0  # bytes of the replies
    milliseconds: int = 0
    error: str = ""


class Fork:
    """The fork that a node runs: its origin, and what was fetched from the source since the start of the node.

    With `is_on_demand`, the node fetches what calls name. `mirrored` counts the operations of the source's later blocks: those that were
    applied, and the others by reason.
    """

    def __init__(self, origin: ForkOrigin) -> None:
        self.origin = origin
        self.is_on_demand = False
        self.mirrored: dict[str, int] = {}
        self.fetches: deque[Fetch] = deque(maxlen=FETCHES_SHOWN_MAX)  # newest first
        self.fetch_count = self.failed_count = self.row_count = self.byte_count = 0

    def record(self, fetch: Fetch) -> None:
        """Add a fetch to the last ones and to the totals."""
        self.fetches.appendleft(fetch)
        self.fetch_count += 1
        self.failed_count += bool(fetch.error)
        self.row_count += fetch.rows
        self.byte_count += fetch.size
