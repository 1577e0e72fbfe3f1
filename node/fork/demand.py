"""Fetches on demand: accounts, posts and proposals that a call names and the chain lacks are imported before the call is answered.

Meanwhile, other calls are answered, and blocks are made. The imported rows are a state edit (`ImportRows`) of the head block, made by a job
of the processor, so they persist as other edits do. They also stay in memory, for a chain that is reverted to a time before the fetch.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol

import trio
from msgspec import Struct

from node.fork.cache import CacheEntry, FetchCache
from node.fork.limits import CALL_SECONDS_MAX, SourceLimits
from node.runtime.errors import NodeError
from rpc.caller import Caller
from rpc.declare.demand import (
    BLOCK_FULL,
    FULL,
    TOO_MANY,
    AccountKey,
    Key,
    NewKey,
    NotFetched,
    NotHere,
    PostKey,
    PostsKey,
    ProposalKey,
    SignerKey,
)
from rpc.fork import Fetch
from rpc.log import Log
from state.chain.chain import Chain
from state.chain.state_edits import ImportRows
from state.plugins.social.plugin import COMMUNITIES
from state.portable import BATCH_SIZE_MAX, Batch, account_level, pack_batch, unpack_batch
from state.protocol.constants import COIN_MAX_SIG_CHECK_DEPTH
from state.protocol.errors import ChainError, require
from state.protocol.transaction import block_number
from state.tables import State

# Keys that are fetched for one call: without and with local rights.
KEYS_MAX, LOCAL_KEYS_MAX = 50, 1_000
RUNNING_MAX = 10_000  # keys that are being fetched or wait for it
FETCHED_SIZE_MAX = 40 << 20  # bytes of all edits, which stay in memory and in the file of edits. Other machines can cause half of them
# Bytes of the edits of one block, which replicas get as one line of at most 16 MiB, each time that an edit is added. A single fetch can
# have more, if it is the first of its block.
BLOCK_SIZE_MAX = 4 << 20
UNKNOWN_MAX, UNKNOWN_BLOCKS = 100_000, 20  # keys that the source doesn't have, and blocks after which it is asked for them again

_log = Log("fork")


class Fetched(Struct, frozen=True):
    """Result of a read: portable rows in batches that fit into an edit each, and the keys that the source doesn't have."""

    batches: list[Batch]
    unknown: frozenset[Key]


class Reader(Protocol):
    """Reads the rows of accounts, posts and proposals from a source."""

    async def read(self, keys: Sequence[Key]) -> Fetched:
        """Read the rows of these keys. Raises NodeError if the source is silent or wrong."""


class _Running(Struct, eq=False):
    """A running fetch of some keys, which several calls can await. `error` is set if it failed."""

    start: float
    done: trio.Event
    error: Exception | None = None


class _Imported(Struct, eq=False):
    """The edits of one fetch, and the id of the block in which they were last made."""

    edits: tuple[ImportRows, ...]
    block_id: bytes = b""


Edit = Callable[[Callable[[], None]], Awaitable[None]]
Clock = Callable[[], float]
Record = Callable[[Fetch], None]


class Demand:
    """Finds missing accounts, posts and proposals, and fetches them. Fetches need `run` as a task.

    `edit` runs a function that changes the chain, as a job. `clock` returns seconds since 1970. `record` gets each finished fetch. Fetched
    rows are stored in `cache`, and used from there. Without a `reader`, only rows in the cache are fetched. Raises FileError if the cache
    can't be used.
    """

    def __init__(
        self,
        chain: Chain,
        reader: Reader | None,
        edit: Edit,
        limits: SourceLimits,
        clock: Clock,
        record: Record,
        cache: FetchCache | None = None,
    ) -> None:
        self.chain, self.reader, self.limits = chain, reader, limits
        self._size = sum(edit_size(edit) for edits in chain.sidecars.edits.values() for edit in edits)
        self._edit, self._clock, self._report = edit, clock, record
        self._running: dict[Key, _Running] = {}
        self._imported: dict[Key, _Imported] = {}
        self._is_restored = False
        self._cache = cache
        self._unknown: OrderedDict[Key, int] = OrderedDict()  # with the block number up to which the source isn't asked again
        for entry in () if cache is None else cache.read():
            self._imported |= dict.fromkeys(entry.keys, _Imported(tuple(map(ImportRows, entry.packed))))
            self._remember_unknown(entry.unknown)
        self._nursery: trio.Nursery | None = None

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run fetches until cancelled."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            task_status.started()
            try:
                await trio.sleep_forever()
            finally:
                self._nursery = None

    # -------------------------------------------------------------- what is missing

    def require(self, keys: Iterable[Key]) -> None:
        """Raise NotHere if one of these keys has to be fetched."""
        given = list(keys)
        missing = tuple(dict.fromkeys(self.missing(given)))
        if missing:
            new = {key.key for key in given if isinstance(key, NewKey)} - set(given)
            raise NotHere(partial(self.fetch, missing, new=frozenset(new)))

    def missing(self, keys: Iterable[Key]) -> Iterator[Key]:
        """Yield the keys, and the accounts in the authorities of signers, that the chain lacks and that can be fetched."""
        for key in keys:
            found = self._of_signer(key.name) if isinstance(key, SignerKey) else (key.key if isinstance(key, NewKey) else key,)
            yield from (one for one in found if not (is_here(self.chain.state, one) or self._is_unknown(one) or self._was_here(one)))

    @property
    def is_needed(self) -> bool:
        """Whether anything can be fetched."""
        return self.reader is not None or bool(self._imported)

    def _was_here(self, key: Key) -> bool:
        """Whether an edit of this chain has imported the rows of a key, or the key was deleted here since the fork."""
        return self._is_made(self._known().get(key)) or is_deleted(self.chain.state, key)

    def _known(self) -> dict[Key, _Imported]:
        """Return the edits of each fetched key. Those of fetches before a restart are found in the chain."""
        if not self._is_restored:
            self._is_restored = True
            made = {
                edit: block_id for block_id, edits in self.chain.sidecars.edits.items() for edit in edits if isinstance(edit, ImportRows)
            }
            for imported in self._imported.values():
                blocks = {made.get(edit, b"") for edit in imported.edits}
                imported.block_id = blocks.pop() if len(blocks) == 1 else b""
            for edit, block_id in made.items():
                of_edit = _Imported((edit,), block_id)
                self._imported |= {key: of_edit for key in keys_in(unpack_batch(edit.packed)) if key not in self._imported}
        return self._imported

    def _of_signer(self, name: str) -> Iterator[AccountKey]:
        """Yield a signer and the accounts in its authorities that checks of signatures read. Authorities that aren't here are skipped."""
        names, authorities = [name], self.chain.state.account_authorities.by_account
        seen = {name}
        for _ in range(COIN_MAX_SIG_CHECK_DEPTH + 1):
            yield from map(AccountKey, names)
            rows = [row for each in names if (row := authorities.get(each)) is not None]
            members = [member for row in rows for role in (row.owner, row.active, row.posting) for member, _ in role.account_auths]
            names = [member for member in dict.fromkeys(members) if member not in seen]
            seen.update(names)

    def _is_unknown(self, key: Key) -> bool:
        if self.reader is None:
            return key not in self._imported
        return self._unknown.get(key, -1) >= self.chain.state.props.head_block_number

    def _is_made(self, imported: _Imported | None) -> bool:
        """Whether the edits of an earlier fetch are part of the current chain."""
        if imported is None or not imported.block_id:
            return False
        block, made = self.chain.block_by_number(block_number(imported.block_id)), self.chain.sidecars.edits_of(imported.block_id)
        return block is not None and block.id == imported.block_id and all(edit in made for edit in imported.edits)

    # -------------------------------------------------------------- fetching

    async def fetch(self, keys: Sequence[Key], caller: Caller, *, new: frozenset[Key] = frozenset()) -> None:
        """Wait until these keys are fetched, or known to be unknown to the source. Calls that need the same key wait for the same fetch.

        Raises NotFetched if the source is silent or wrong, or if a limit is reached. But if only `new` keys are left, they then count as
        unknown to the source.
        """
        try:
            await self._fetch(keys, caller)
        except NotFetched:
            missing = set(self.missing(keys))
            if not new.issuperset(missing) or missing & self._imported.keys():
                raise
            self._remember_unknown(new)

    async def _fetch(self, keys: Sequence[Key], caller: Caller) -> None:
        most = LOCAL_KEYS_MAX if caller.is_local else KEYS_MAX
        if len(keys) > most:
            raise NotFetched(TOO_MANY, condition="missing <= max", n=len(keys), most=most)
        fetches = dict.fromkeys(self._running[key] for key in keys if key in self._running)
        new = [key for key in keys if key not in self._running]
        if new:
            fetches[self._start(new, caller)] = None
        is_late = True
        with trio.move_on_after(CALL_SECONDS_MAX):
            for fetch in fetches:
                await fetch.done.wait()
            is_late = False
        if is_late:
            raise self.limits.unanswered(shown_key(keys[0]), f"it has not answered within {CALL_SECONDS_MAX} s")
        for fetch in fetches:
            if fetch.error is not None:
                raise fetch.error

    def _start(self, keys: list[Key], caller: Caller) -> _Running:
        """Start a fetch. Raises NotFetched if a limit is reached, or if the source was silent just now."""
        if self._nursery is None:
            raise self.limits.unanswered(shown_key(keys[0]), "the node is stopping")
        needed = [key for key in keys if key not in self._imported]
        if needed:
            require(len(self._running) < RUNNING_MAX, "${n} fetches from the source wait already", condition="running < max", n=RUNNING_MAX)
            self.limits.require(caller, len(needed), shown_key(needed[0]))
            self._require_room(needed[0], caller.queue)
        fetch = _Running(self.limits.stopwatch(), trio.Event())
        self._running.update(dict.fromkeys(keys, fetch))
        self._nursery.start_soon(self._run, fetch, keys, needed, caller.queue)
        return fetch

    def _require_room(self, key: Key, address: str) -> None:
        """Raise NotFetched if too much has been fetched for clients at this address ("": with local rights) to fetch more."""
        most = FETCHED_SIZE_MAX // 2 if address else FETCHED_SIZE_MAX
        if self._size >= most:
            raise NotFetched(FULL, condition="size < max", what=shown_key(key), size=most >> 20)

    async def _run(self, fetch: _Running, keys: list[Key], needed: list[Key], address: str) -> None:
        """Read the `needed` ones of these keys from the source, and put all keys into the state."""
        try:
            await self._import([key for key in keys if key in self._imported])
            if needed:
                assert self.reader is not None, "without a source, nothing is needed of it"
                async with self.limits.place(address):
                    self._require_room(needed[0], address)  # again: others were before it
                    fetched = await self.reader.read(needed)
                self._remember_unknown(fetched.unknown)
                edits = tuple(ImportRows(pack_batch(batch)) for batch in fetched.batches if any(batch.values()))
                assert all(len(edit.packed) <= BATCH_SIZE_MAX for edit in edits), "a reader divides what is too large"
                found = [key for key in needed if key not in fetched.unknown]
                self._imported.update(dict.fromkeys(found, _Imported(edits)))
                try:
                    await self._import(found)
                except NotFetched as error:  # what was read is kept for the next block
                    fetch.error = error
                rows, size = sum(len(some) for batch in fetched.batches for some in batch.values()), sum(map(edit_size, edits))
                self._size += size
                unknown = () if address else tuple(fetched.unknown)  # other machines can't fill the cache with names
                if self._cache is not None and (found or unknown):
                    self._cache.append(CacheEntry(tuple(found), tuple(edit.packed for edit in edits), unknown))
                self._record(fetch, needed, rows, size)
        except NotFetched as error:
            fetch.error = error
        except (NodeError, ChainError, ValueError) as error:
            self._fail(fetch, keys, needed, error)
        except Exception as error:
            _log.error("what the source gave could not be used", keys=shown_keys(keys), exc_info=error)
            self._fail(fetch, keys, needed, NodeError("what it gives can't be used (see the log of the node)"))
        except BaseException:
            fetch.error = self.limits.unanswered(shown_key(keys[0]), "the node is stopping")
            raise
        finally:
            for key in keys:
                self._running.pop(key, None)
            fetch.done.set()

    def _fail(self, fetch: _Running, keys: list[Key], needed: list[Key], error: Exception) -> None:
        why = error.message(self.chain.state.spec.spell) if isinstance(error, ChainError) else str(error)
        fetch.error = self.limits.unanswered(shown_key(keys[0]), why)
        for key in keys if self.reader is not None else needed:
            self._imported.pop(key, None)
        self._record(fetch, needed, error=why)
        _log.warning("a fetch from the source has failed", keys=shown_keys(keys), reason=why)

    def _record(self, fetch: _Running, keys: list[Key], rows: int = 0, size: int = 0, error: str = "") -> None:
        milliseconds = round((self.limits.stopwatch() - fetch.start) * 1000)
        self._report(Fetch(int(self._clock()), shown_keys(keys), rows, size, milliseconds, error))

    async def _import(self, keys: Sequence[Key]) -> None:
        """Make the edits of these keys that the chain doesn't have. Raises ValueError or ChainError if the state refuses them, and
        NotFetched if they don't fit into the head block.
        """
        found = {id(imported): (key, imported) for key in keys if not self._is_made(imported := self._imported[key])}

        def make() -> None:
            head = self.chain.state.props
            for key, imported in found.values():
                before = sum(map(edit_size, self.chain.sidecars.edits_of(head.head_block_id)))
                if before and before + sum(map(edit_size, imported.edits)) > BLOCK_SIZE_MAX:
                    values = {"what": shown_key(key), "block": head.head_block_number, "size": f"{before / (1 << 20):.1f}"}
                    raise NotFetched(BLOCK_FULL, condition="size < max", **values)
                for edit in imported.edits:
                    self.chain.edit(edit)
                imported.block_id = self.chain.state.props.head_block_id

        if found:
            await self._edit(make)

    def _remember_unknown(self, keys: Iterable[Key]) -> None:
        until = self.chain.state.props.head_block_number + UNKNOWN_BLOCKS
        for key in keys:
            self._unknown[key] = until
            self._unknown.move_to_end(key)
        while len(self._unknown) > UNKNOWN_MAX:
            self._unknown.popitem(last=False)


def is_here(state: State, key: Key) -> bool:
    """Whether the state has all rows of a key."""
    if isinstance(key, AccountKey):
        return account_level(state, key.name) == "full"
    if isinstance(key, PostKey):
        return state.comments.by_permlink.get(key.author, key.permlink) is not None
    return isinstance(key, ProposalKey) and state.proposals.by_proposal_id.get(key.id) is not None


def is_deleted(state: State, key: Key) -> bool:
    """Whether a post was deleted on this chain, or a proposal removed, here or at the source: a fork begins with all proposals."""
    if isinstance(key, ProposalKey):
        return key.id < state.proposals.next_id
    if not isinstance(key, PostKey) or COMMUNITIES.name not in state.plugins:
        return False
    post = COMMUNITIES.of(state).post(key.author, key.permlink)  # the plugin keeps the rows of deleted posts
    return post is not None and post.is_deleted


def keys_in(batch: Batch) -> Iterator[Key]:
    """Yield the keys of the accounts, posts and proposals in a batch. Light accounts are omitted: they can be fetched in full."""
    yield from (AccountKey(row["name"]) for row in batch.get("accounts", ()) if not row.get("is_light"))
    yield from (PostKey(row["author"], row["permlink"]) for row in batch.get("comments", ()))
    yield from (ProposalKey(row["proposal_id"]) for row in batch.get("proposals", ()))


def edit_size(edit: Any) -> int:
    """Return the size in bytes of an edit that imports rows, 0 for other edits."""
    return len(edit.packed) if isinstance(edit, ImportRows) else 0


def shown_key(key: Key) -> str:
    """Return a key as text: alice, @alice/permlink, or proposal 3."""
    if isinstance(key, PostKey):
        return f"@{key.author}/{key.permlink}"
    if isinstance(key, PostsKey):
        return f"the posts of {key.account}"
    if isinstance(key, NewKey):
        return shown_key(key.key)
    return f"proposal {key.id}" if isinstance(key, ProposalKey) else key.name


def shown_keys(keys: Sequence[Key]) -> str:
    """Return a few keys as text."""
    return ", ".join(map(shown_key, keys[:5])) + (f" and {len(keys) - 5} more" if len(keys) > 5 else "")
