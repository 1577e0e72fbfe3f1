"""Control of a test chain: its head and settings, blocks and time, dev snapshots and dumps, impersonation."""

from collections.abc import Generator
from typing import Annotated, TypedDict

from rpc.declare.arguments import AccountName, Bool, Example, Int64, Text, Timestamp, UInt32, UInt64
from rpc.declare.method import method
from rpc.devchain import DevChain
from rpc.processor import Processor
from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.portable import shown_digest
from state.protocol.values.text import time_text


class HeadInfo(TypedDict):
    """The head block, and the chain's current time: the system time plus the clock's offset."""

    head_block_number: UInt32
    head_block_id: str
    head_block_time: str
    last_irreversible_block_num: UInt32
    time: str


def head_of(chain: Chain, devchain: DevChain) -> HeadInfo:
    """Return the head block of a chain, with the chain's current time."""
    props = chain.state.props
    return {
        "head_block_number": props.head_block_number,
        "head_block_id": props.head_block_id.hex(),
        "head_block_time": time_text(props.time),
        "last_irreversible_block_num": props.last_irreversible_block_num,
        "time": time_text(devchain.time),
    }


# ------------------------------------------------------------------ blocks and time


class BlockMode(TypedDict):
    """The block production mode, in the format of the option `--blocks`."""

    block_mode: str


@method("dev_api.mine", loopback_only=True)
async def mine(chain: Chain, devchain: DevChain, processor: Processor, /, count: UInt32 = 1) -> HeadInfo:
    """Produce `count` blocks and return the new head. The first block includes the pending transactions.

    The first block is in the slot of the chain's time, or in the next slot after the head if that is later. If a pending transaction would
    expire by then, the first block is produced in an earlier slot. The other blocks are in the slots after it, and the chain's time
    advances with them. Other requests are answered between the blocks.
    """
    await processor.run_steps(devchain.mine(count))
    return head_of(chain, devchain)


@method("dev_api.set_block_mode", loopback_only=True)
async def set_block_mode(devchain: DevChain, processor: Processor, /, mode: Annotated[Text, Example("instant")]) -> BlockMode:
    """Set the block production mode.

    Modes: `interval` (a block in each slot of 3 s), `interval:SECONDS` (a block every SECONDS of real time), `instant` (a block after each
    accepted transaction, before its reply), `manual` (only on request), `mixed:SECONDS` (like `instant`, and at most SECONDS after the last
    block).
    """
    await processor.in_turn(lambda: devchain.set_block_mode(mode))
    return {"block_mode": devchain.block_mode}


class NextBlock(TypedDict):
    """The time that was set for the next block."""

    next_block_time: str


@method("dev_api.advance_time", loopback_only=True)
async def advance_time(chain: Chain, devchain: DevChain, processor: Processor, /, seconds: UInt32, leap: Text = "") -> HeadInfo:
    """Advance the chain's time by `seconds`, produce a block at the new time, and return the new head.

    If `leap` is `missed`, the slots in between have no block, except one for pending transactions, and in a leap of more than 14 days one
    about every five days: in a longer gap, the claims on the reward fund would wrap below zero. If it is `produced`, each slot has a
    block. The default is the node's option `--leap`. A node that produces blocks continues from the new time.

    Missed slots take no time. A node produces up to 4,000 blocks per second. With a block in each slot, a day takes at least 7 seconds, and
    40 days take 5 minutes. Other requests are answered between the blocks.
    """
    await processor.run_steps(devchain.advance(seconds, leap))
    return head_of(chain, devchain)


@method("dev_api.set_next_block_time", loopback_only=True)
async def set_next_block_time(devchain: DevChain, processor: Processor, /, time: Timestamp) -> NextBlock:
    """Set the time of the next block, and return it. The time is rounded up to a slot, and is at least the next slot.

    If a pending transaction would expire before that time, a block with the pending transactions is produced first.
    """
    return {"next_block_time": time_text(await processor.in_turn(lambda: devchain.set_next_block_time(time)))}


# ------------------------------------------------------------------ dev snapshots and dumps


class SnapshotId(TypedDict):
    """Id of a dev snapshot."""

    id: UInt32


@method("dev_api.snapshot", loopback_only=True)
async def snapshot(devchain: DevChain, processor: Processor, /) -> SnapshotId:
    """Take an in-memory dev snapshot of the chain, its pending transactions and its clock, and return its id. At most 256 can exist."""
    return {"id": await processor.in_steps(devchain.snapshot_in_steps)}


@method("dev_api.revert", loopback_only=True)
async def revert(chain: Chain, devchain: DevChain, processor: Processor, /, id: UInt32) -> HeadInfo:
    """Restore the chain to a dev snapshot, and return its head. The snapshot can be used again. Later snapshots are dropped.

    This also restores the clock's offset from the system time, the block mode, the time of the next block and the impersonated accounts.
    Calls that wait for a transaction that no longer exists are refused.
    """
    await processor.in_turn(lambda: devchain.revert(id))
    return head_of(chain, devchain)


@method("dev_api.reset", loopback_only=True)
async def reset(chain: Chain, devchain: DevChain, processor: Processor, /) -> HeadInfo:
    """Restart the chain from its initial state, and return its head. The chain's time becomes the current time, or the time given by the
    node's option `--time`.

    All data of the chain is deleted, including the files of `--data` and all dev snapshots.
    """
    await processor.in_turn(devchain.reset)
    return head_of(chain, devchain)


@method("dev_api.pop_blocks", loopback_only=True)
async def pop_blocks(chain: Chain, devchain: DevChain, processor: Processor, /, count: UInt32 = 1) -> HeadInfo:
    """Undo the newest `count` blocks, and return the new head.

    As after a fork, the transactions of these blocks become pending again. Call `drop_pending` to drop them. If fewer than `count` blocks
    are reversible, the call is refused and nothing changes.
    """
    await processor.in_turn(lambda: chain.pop_blocks(count))
    return head_of(chain, devchain)


class Dump(HeadInfo):
    """A dump file: the head of the dumped chain, and the file's size in bytes."""

    path: str
    size: UInt64


@method("dev_api.dump", loopback_only=True)
async def dump(chain: Chain, devchain: DevChain, processor: Processor, /, path: Annotated[Text, Example("chain.dump")]) -> Dump:
    """Write the chain to a file on the node's machine. The file contains blocks, state, pending transactions and clock, but no dev
    snapshots.

    An existing dump at that path is replaced. If the path is any other file, the call is refused.
    """

    def dumped() -> tuple[HeadInfo, int]:
        return head_of(chain, devchain), devchain.dump(path)

    head, size = await processor.in_copy(dumped)
    return {**head, "path": path, "size": size}


@method("dev_api.load", loopback_only=True)
async def load(chain: Chain, devchain: DevChain, processor: Processor, /, path: Annotated[Text, Example("chain.dump")]) -> HeadInfo:
    """Replace the chain with a dump of the same chain, and return its head. If the file can't be used, nothing changes.

    The clock gets the offset from the system time that it had when the dump was written. A node with `--data` refuses this call. Stop such
    a node, and use `coind snapshot load`.
    """
    await processor.in_turn(lambda: devchain.load(path))
    return head_of(chain, devchain)


# ------------------------------------------------------------------ transactions


class Impersonated(TypedDict):
    """The accounts whose transactions need no signatures; all accounts if `everyone` is true."""

    accounts: list[str]
    everyone: bool


class Dropped(TypedDict):
    """The number of dropped transactions."""

    dropped: UInt32


def impersonated_of(chain: Chain) -> Impersonated:
    """Return the accounts whose transactions need no signatures."""
    impersonated = chain.state.impersonated
    return {"accounts": sorted(impersonated.accounts), "everyone": impersonated.is_everyone}


@method("dev_api.impersonate", loopback_only=True)
async def impersonate(
    chain: Chain, processor: Processor, /, accounts: list[AccountName] | None = None, everyone: Bool = False
) -> Impersonated:
    """Accept unsigned transactions of `accounts`, or of every account. This replaces the previous set; an empty set ends impersonation.

    Transactions that were accepted without signatures stay valid.
    """
    await processor.in_turn(lambda: chain.impersonate(accounts or (), everyone))
    return impersonated_of(chain)


@method("dev_api.drop_pending", loopback_only=True)
async def drop_pending(devchain: DevChain, processor: Processor, /) -> Dropped:
    """Drop all pending transactions, including those of popped blocks. Calls that wait for one of them are refused."""
    return {"dropped": await processor.in_turn(devchain.drop_pending)}


# ------------------------------------------------------------------ the chain and its settings


class Info(HeadInfo):
    """The chain's head and time, and all settings of dev_api."""

    chain: str
    chain_id: str
    version: str
    seconds_ahead: Int64
    block_mode: str
    leap: str
    witnesses: UInt32
    pending: UInt32
    snapshots: list[UInt32]
    impersonated: Impersonated


@method("dev_api.get_info", loopback_only=True)
def get_info(chain: Chain, devchain: DevChain, /) -> Info:
    """Return the chain's head and settings.

    The settings are the clock's offset from the system time (negative: behind), the block mode, the leap mode, the number of witnesses in a
    round, the number of pending transactions, the ids of dev snapshots, and the impersonated accounts.
    """
    spec = chain.state.spec
    return {
        **head_of(chain, devchain),
        "chain": spec.name,
        "chain_id": spec.chain_id.hex(),
        "version": devchain.version,
        "seconds_ahead": devchain.seconds_ahead,
        "block_mode": devchain.block_mode,
        "leap": devchain.leap,
        "witnesses": chain.state.schedule.num_scheduled_witnesses,
        "pending": len(chain.pending),
        "snapshots": devchain.snapshots,
        "impersonated": impersonated_of(chain),
    }


class StateDigest(TypedDict):
    """A digest of the state. The state includes the effects of the pending transactions, whose number is in `pending`."""

    head_block_number: UInt32
    head_block_id: Text
    pending: UInt32
    digest: Text


@method("dev_api.get_state_digest", loopback_only=True, of_process=True)
async def get_state_digest(chain: Chain, processor: Processor, /, shown: Bool = False) -> StateDigest:
    """Return a hash over all tables of the chain. Nodes with the same head and no pending transactions return the same hash.

    With `shown`, the hash is over what methods show, without ids: all columns of the tables and of the enabled plugins that a method shows.
    A complete copy of a chain has the same hash as the chain.

    The call takes about a second per 100,000 rows, and several seconds with `shown`. No other request is answered during that time.
    """

    def steps() -> Generator[None, None, StateDigest]:
        yield
        props = chain.state.props
        return {
            "head_block_number": props.head_block_number,
            "head_block_id": props.head_block_id.hex(),
            "pending": len(chain.pending),
            "digest": shown_digest(chain.state) if shown else state_digest(chain.state),
        }

    return await processor.in_steps(steps)
