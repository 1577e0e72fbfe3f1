"""Reads accounts, posts and proposals for a running fork, as batches that fit into edits. Keys are replaced as in the rest of the fork."""

from collections.abc import Iterable, Sequence

from node.fork.accounts import add, read_accounts
from node.fork.demand import Fetched, keys_in
from node.fork.keys import replace_keys
from node.fork.plugins import add_plugin_rows, without_posts
from node.fork.posts import newest_posts, read_posts
from node.fork.source import Source
from node.fork.spec import chunks, reader_of
from node.runtime.errors import NodeError
from rpc.declare.demand import AccountKey, Key, PostKey, PostsKey, ProposalKey
from rpc.log import Log
from state.portable import BATCH_SIZE_MAX, Batch, pack_batch
from state.protocol.spec import ChainSpec

ACCOUNTS_AT_ONCE, POSTS_AT_ONCE = 20, 10
NEWEST_POSTS = 20  # posts that are read of an account whose posts a call lists
FETCH_SIZE_MAX = 8 << 20  # bytes of all batches of one fetch, which become edits of one block
POSTS_SIZE_MAX = 3 << 20  # bytes of posts that are read at once. The newest posts of an account and the account fit into a fetch
OF_COMMENTS = ("comment_contents", "comment_votes")

_log = Log("fork")


class SourceReader:
    """Reads accounts, posts and proposals from a source, for a fork with this spec. `chain_id` is that of the chain that was forked."""

    def __init__(self, source: Source, spec: ChainSpec, chain_id: str) -> None:
        self._source, self._spec, self._chain_id = source, spec, chain_id

    async def read(self, keys: Sequence[Key]) -> Fetched:
        """Read the rows of these keys. Raises NodeError if the source is silent or wrong, or if its rows are too large."""
        source_spec = (await reader_of(self._source)).spec
        if source_spec.chain_id.hex() != self._chain_id:
            raise NodeError(f"{self._source.url} has another chain now (chain id {source_spec.chain_id.hex()})")
        names = [key.name for key in keys if isinstance(key, AccountKey)]
        posts = [(key.author, key.permlink) for key in keys if isinstance(key, PostKey)]
        batches: list[Batch] = []
        later: list[Batch] = []
        for some in chunks(names, ACCOUNTS_AT_ONCE):
            for batch in await self._accounts(list(some)):
                batches.append(batch)
                later.append(without_posts(batch))
        found: set[Key] = set()
        for key in keys:
            if isinstance(key, PostsKey) and (newest := await newest_posts(self._source, key.account, NEWEST_POSTS)):
                posts += newest
                found.add(key)
        for some_posts in chunks(dict.fromkeys(posts), POSTS_AT_ONCE):
            batch = await read_posts(self._source, some_posts)
            await add_plugin_rows(self._source, batch)
            replace_keys(batch, self._spec)
            batches.append(bounded(batch, some_posts))
        proposals = await self._proposals([key.id for key in keys if isinstance(key, ProposalKey)])
        batches += [batch for batch in (proposals, *later) if batch]
        if sum(len(pack_batch(batch)) for batch in batches) > FETCH_SIZE_MAX:
            raise NodeError(f"the rows have more than {FETCH_SIZE_MAX >> 20} MiB together")
        found |= {key for batch in batches for key in keys_in(batch)}
        return Fetched(batches, frozenset(keys) - found)

    async def _accounts(self, names: list[str]) -> list[Batch]:
        """Read accounts, in batches that fit into an edit."""
        batch = await read_accounts(self._source, names)
        await add_plugin_rows(self._source, batch)
        replace_keys(batch, self._spec)
        if fits(batch):
            return [batch]
        if len(names) == 1:
            raise NodeError(f"{names[0]} has more than {BATCH_SIZE_MAX >> 20} MiB of rows")
        middle = len(names) // 2
        return [*await self._accounts(names[:middle]), *await self._accounts(names[middle:])]

    async def _proposals(self, ids: list[int]) -> Batch:
        batch: Batch = {}
        if not ids:
            return batch
        calls = ("database_api.find_proposals", {"proposal_ids": ids}), ("condenser_api.find_proposals", [ids])
        if (found := await self._source.first_of(*calls)) is not None:
            method, reply = found
            reader = await reader_of(self._source)
            for row in reader.rows("proposals", method, reply, "" if method.startswith("condenser_api.") else "proposals"):
                if row["proposal_id"] in ids:
                    add(batch, "proposals", row)
        return batch


def fits(batch: Batch, size_max: int = BATCH_SIZE_MAX) -> bool:
    """Whether a batch fits into one edit, with at most `size_max` bytes."""
    try:
        return len(pack_batch(batch)) <= size_max
    except ValueError:
        return False


def bounded(batch: Batch, wanted: Iterable[tuple[str, str]]) -> Batch:
    """Return a batch of posts, cut to POSTS_SIZE_MAX bytes by leaving out its newest replies.

    The posts `wanted` and those above them stay. Raises NodeError if they don't fit.
    """
    comments = batch.get("comments", [])
    parents = {(row["author"], row["permlink"]): (row["parent_author"], row["parent_permlink"]) for row in comments}
    needed, above = set[tuple[str, str]](), list(wanted)
    while above:
        key = above.pop()
        if key in parents and key not in needed:
            needed.add(key)
            above.append(parents[key])
    rest = [key for key in parents if key not in needed]
    count = len(rest)
    while not fits(batch, POSTS_SIZE_MAX):
        if not count:
            names = ", ".join(f"@{author}/{permlink}" for author, permlink in wanted)
            raise NodeError(f"{names} have more than {POSTS_SIZE_MAX >> 20} MiB of rows")
        count //= 2
        kept = needed.union(rest[:count])
        batch = batch | {"comments": [row for row in comments if (row["author"], row["permlink"]) in kept]}
        for table in OF_COMMENTS:
            batch[table] = [row for row in batch.get(table, ()) if row["comment"] in kept]
    if count < len(rest):
        _log.warning("of long discussions, only the oldest replies were fetched", posts=sorted(needed)[:5], replies=count, of=len(rest))
    return batch
