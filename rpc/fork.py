"""A chain that begins where the chain of another node (its source) stood: what came from the source, for /health and the explorer."""

from collections import deque
from collections.abc import Iterable

from msgspec import Struct

FETCHES_SHOWN_MAX = 50


class Fetch(Struct, frozen=True):
    """A fetch from the source. `time` is that of this machine, in seconds since 1970.

    `what` names what was asked for, for example `account alice`. `error` is the reason why the fetch failed, or "".
    """

    time: int
    what: str
    rows: int = 0
    size: int = 0  # bytes of the replies
    milliseconds: int = 0
    error: str = ""


class Fork:
    """The origin of a forked chain, and the fetches from its source since the start of the node.

    `source` is an address, and `chain_id` the id of the source's chain. `accounts` and `posts` are those that the fork was made with,
    `newest_posts` the number of posts of each account. `counts` are rows by kind, and `notes` say what could not be read. If
    `is_complete`, the chain has everything of the source. If `is_on_demand`, what is asked for is fetched. `mirrored` counts the operations
    of the source's later blocks: those that were applied, and the others by the reason.
    """

    def __init__(
        self,
        *,
        source: str,
        chain_id: str,
        number: int,
        block_id: str,
        time: int,
        is_complete: bool = False,
        is_on_demand: bool = False,
        keys: str = "derived",
        accounts: Iterable[str] = (),
        posts: Iterable[str] = (),
        newest_posts: int = 0,
        counts: dict[str, int] | None = None,
        notes: Iterable[str] = (),
    ) -> None:
        self.source, self.chain_id = source, chain_id
        self.number, self.block_id, self.time = number, block_id, time
        self.is_complete, self.is_on_demand, self.keys = is_complete, is_on_demand, keys
        self.accounts, self.posts, self.newest_posts = tuple(accounts), tuple(posts), newest_posts
        self.counts, self.notes = dict(counts or {}), tuple(notes)
        self.mirrored: dict[str, int] = {}
        self.fetches: deque[Fetch] = deque(maxlen=FETCHES_SHOWN_MAX)  # the last ones, newest first
        self.fetch_count = self.failed_count = self.row_count = self.byte_count = 0

    def record(self, fetch: Fetch) -> None:
        """Add a fetch to the last ones and to the totals."""
        self.fetches.appendleft(fetch)
        self.fetch_count += 1
        self.failed_count += bool(fetch.error)
        self.row_count += fetch.rows
        self.byte_count += fetch.size
