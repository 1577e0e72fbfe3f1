"""Makes forks from a source: reads its world, and the accounts and posts that were asked for."""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, TypeVar

import trio
from msgspec import Struct
from msgspec.structs import replace

from node.fork.accounts import read_accounts
from node.fork.building import build_fork, extend_fork, forked_spec
from node.fork.file import ForkFile, write_fork
from node.fork.plugins import add_plugin_rows, read_plugin_world, without_posts
from node.fork.posts import newest_posts, read_posts
from node.fork.source import Source
from node.fork.spec import chunks, reader_of
from node.fork.world import read_world
from node.runtime.errors import on_one_line
from node.runtime.shutdown import raised_alone
from node.snapshots.base import new_chain
from rpc.fork import ForkOrigin
from state.chain.chain import Chain
from state.plugins.registry import PLUGINS
from state.portable import Batch, CommentKey
from state.protocol.spec import ChainSpec

ACCOUNTS_AT_ONCE, POSTS_AT_ONCE, LISTS_AT_ONCE = 50, 20, 8
NOTES_MAX = 100
# Tables that are counted, each with the name of its rows.
COUNTED = {
    "accounts": "accounts",
    "comments": "posts and comments",
    "comment_votes": "votes on posts",
    "witness_votes": "votes for witnesses",
    "vesting_delegations": "delegations",
    "limit_orders": "orders",
    "convert_requests": "conversions",
    "escrows": "escrows",
    "savings_withdraws": "withdrawals from savings",
    "proposals": "proposals",
    "proposal_votes": "votes for proposals",
}

Item = TypeVar("Item")
Report = Callable[[str], object]


class ForkRequest(Struct, frozen=True, kw_only=True):
    """The accounts and posts that a fork file should have, and the differences of the fork from its source.

    `posts` are the author and permlink of posts, each of which comes with its whole discussion. `newest_posts` is the number of posts of
    each account.
    """

    accounts: tuple[str, ...] = ()
    posts: tuple[CommentKey, ...] = ()
    newest_posts: int = 0
    keys: Literal["derived", "kept"] = "derived"
    witnesses: int = 0
    keeps_chain_id: bool = False


class FetchedRows(Struct):
    """The batches that were read, the number of rows by kind, and notes on missing accounts and posts."""

    batches: list[Batch]
    counts: dict[str, int]
    notes: list[str]


async def make_fork(source: Source, request: ForkRequest, report: Report, spec: ChainSpec | None = None) -> tuple[Chain, ForkOrigin]:
    """Return a chain that begins at the source's present block, and its origin. Raises NodeError.

    `spec` is the source's chain spec; by default it is found out. `report` is called with the progress.
    """
    report("the state of the chain")
    reader = await reader_of(source, spec)
    world = await read_world(source)
    await add_plugin_rows(source, world.batch)
    world.batch |= await read_plugin_world(source)
    fetched = await fetch(source, request, report, without_posts(world.batch))
    forked = forked_spec(world, keeps_keys=request.keys == "kept", witnesses=request.witnesses, keeps_chain_id=request.keeps_chain_id)
    report("building the chain")
    chain = build_fork(forked, world, fetched.batches)
    return chain, origin_of(source, world.spec.chain_id, request, chain, fetched.counts, (*reader.notes.texts, *fetched.notes))


def origin_of(
    source: Source,
    chain_id: bytes,
    request: ForkRequest,
    chain: Chain,
    counts: dict[str, int],
    notes: Iterable[str],
    *,
    is_complete: bool = False,
) -> ForkOrigin:
    """Return the origin of a chain that is at its fork block. `chain_id` is that of the source."""
    props = chain.state.props
    return ForkOrigin(
        source=source.url,
        chain_id=chain_id.hex(),
        number=props.head_block_number,
        block_id=props.head_block_id.hex(),
        time=props.time,
        accounts=request.accounts,
        posts=post_names(request.posts),
        newest_posts=request.newest_posts,
        is_complete=is_complete,
        keys=request.keys,
        witnesses=request.witnesses,
        counts=counts,
        notes=tuple(map(on_one_line, notes))[:NOTES_MAX],
    )


async def write_new_fork(source: Source, request: ForkRequest, path: Path, report: Report) -> None:
    """Make a fork from a source, and write it into a file. Raises NodeError."""
    chain, origin = await make_fork(source, request, report)
    write_fork(chain, path, origin)


async def add_to_fork(source: Source, fork: ForkFile, request: ForkRequest, report: Report) -> tuple[Chain, ForkOrigin]:
    """Return the chain of a fork file with further accounts and posts, as the source has them now, and its origin. Raises NodeError."""
    fetched = await fetch(source, request, report)
    chain = new_chain(fork.spec, fork.path, PLUGINS)
    held = row_counts(chain)
    extend_fork(chain, fetched.batches)
    before = fork.origin
    origin = replace(
        before,
        accounts=tuple(dict.fromkeys((*before.accounts, *request.accounts))),
        posts=tuple(dict.fromkeys((*before.posts, *post_names(request.posts)))),
        newest_posts=max(before.newest_posts, request.newest_posts),
        # Without the rows that were here before.
        counts=dict(Counter(before.counts) + (row_counts(chain) - held)),
        notes=(*before.notes, *fetched.notes)[-NOTES_MAX:],
    )
    return chain, origin


def request_again(fork: ForkFile) -> ForkRequest:
    """Return the request that a fork file came from."""
    origin = fork.origin
    return ForkRequest(
        accounts=origin.accounts,
        posts=tuple((author, permlink) for author, _, permlink in (post[1:].partition("/") for post in origin.posts)),
        newest_posts=origin.newest_posts,
        keys=origin.keys,
        witnesses=origin.witnesses,
        keeps_chain_id=origin.chain_id == fork.spec.chain_id.hex(),
    )


def post_names(posts: Iterable[CommentKey]) -> tuple[str, ...]:
    """Return posts as text, for example @alice/first."""
    return tuple(f"@{author}/{permlink}" for author, permlink in posts)


async def fetch(source: Source, request: ForkRequest, report: Report, of_posts: Batch | None = None) -> FetchedRows:
    """Read accounts and posts. `report` is called with the progress. Raises NodeError.

    The last batch has the rows that refer to posts, first those of `of_posts`.
    """
    batches: list[Batch] = []
    last = of_posts or {}
    notes: list[str] = []
    known: list[str] = []
    for names in chunks(request.accounts, ACCOUNTS_AT_ONCE):
        batch = await read_accounts(source, names)
        await add_plugin_rows(source, batch)
        batches.append(batch)
        add_rows(last, without_posts(batch))
        found = {row["name"] for row in batch.get("accounts", ())}
        known += [name for name in names if name in found]
        notes += [f"the source has no account {name}" for name in names if name not in found]
        report(f"{len(known):,} of {len(request.accounts):,} accounts")
    wanted = dict.fromkeys(request.posts)
    if request.newest_posts:
        wanted |= dict.fromkeys(await newest_posts_of(source, known, request.newest_posts, report))
    count = 0
    for keys in chunks(wanted, POSTS_AT_ONCE):
        batch = await read_posts(source, keys)
        await add_plugin_rows(source, batch)
        batches.append(batch)
        add_rows(last, without_posts(batch))
        posts = {(row["author"], row["permlink"]) for row in batch.get("comments", ())}
        notes += [f"the source has no post @{author}/{permlink}" for author, permlink in keys if (author, permlink) not in posts]
        count += len(keys)
        report(f"{count:,} of {len(wanted):,} posts with their discussions")
    batches.append(last)
    return FetchedRows(batches, counted(batches), notes[:NOTES_MAX])


def add_rows(batch: Batch, more: Batch) -> None:
    """Add the rows of another batch to a batch."""
    for section, rows in more.items():
        batch.setdefault(section, []).extend(rows)


async def newest_posts_of(source: Source, accounts: list[str], count: int, report: Report) -> list[CommentKey]:
    """Return the newest posts of each of the accounts, in the order of the accounts."""
    found: dict[str, list[CommentKey]] = {}
    limiter = trio.CapacityLimiter(LISTS_AT_ONCE)

    async def read(account: str) -> None:
        async with limiter:
            found[account] = await newest_posts(source, account, count)
            report(f"posts of {len(found):,} of {len(accounts):,} accounts")

    with raised_alone():
        async with trio.open_nursery() as nursery:
            for account in accounts:
                nursery.start_soon(read, account)
    return [post for account in accounts for post in found[account]]


def row_counts(chain: Chain) -> Counter[str]:
    """Return the number of rows of a chain by kind."""
    return Counter({kind: len(getattr(chain.state, table)) for table, kind in COUNTED.items()})


def counted(batches: Iterable[Batch]) -> dict[str, int]:
    """Return the number of rows by kind."""
    batches = list(batches)
    counts = {kind: sum(len(batch.get(table, ())) for batch in batches) for table, kind in COUNTED.items()}
    return {kind: count for kind, count in counts.items() if count}
