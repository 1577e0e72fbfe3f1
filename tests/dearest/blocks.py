"""Blocks that are expensive to apply: many rows of one kind are due in them, or they contain up to 2 MB of transactions of one kind."""

import time
from collections.abc import Callable
from random import Random
from typing import Any

from msgspec import structs

from state.protocol.constants import COIN_SOFT_MAX_BLOCK_SIZE, TIME_MAX
from state.protocol.errors import ChainError
from state.protocol.values.asset import COIN, Asset
from state.protocol.work import UNITS_MAX
from state.tables.accounts import (
    ChangeRecoveryRequest,
    DeclineVotingRequest,
    DelegationExpiration,
    OwnerHistory,
    RecoveryRequest,
    WithdrawRoute,
)
from state.tables.globals import TransactionRecord
from state.tables.market import ConvertRequest
from state.tables.payments import Escrow, SavingsWithdraw
from tests.dearest.genes import Counting, Part
from tests.dearest.meter import Cost, measured
from tests.dearest.operations import CLASSES, Recipe, Values, first_recipes
from tests.dearest.samples import samples
from tests.dearest.search import TOO_LONG, Found, line
from tests.dearest.world import VOTES, World

ROWS = 20_000
ROUTES = 10  # maximum number for an account
PARTS_SIZE = (130_000, 60_000, 20_000, 5_000, 1_000)  # sizes of the transactions that fill a block, largest first


def due(world: World) -> int:
    """Return the time of the next block, at which the prepared rows become due."""
    return world.state.head_time + 3


def orders(world: World) -> None:
    for row in list(world.state.limit_orders):
        world.state.limit_orders.modify(row, expiration=due(world) - 1)


def conversions(world: World) -> None:
    for i in range(ROWS):
        world.state.convert_requests.insert(ConvertRequest(owner="maker", requestid=i, amount=1, conversion_date=due(world)))


def savings(world: World) -> None:
    names = world.users
    for i in range(ROWS):
        given: Any = {"from_": "maker", "to": names[i % len(names)], "memo": "memo", "request_id": i, "amount": Asset(1, COIN)}
        world.state.savings_withdraws.insert(SavingsWithdraw(complete=due(world), **given))


def escrows(world: World) -> None:
    for i in range(ROWS):
        given: Any = {
            "escrow_id": i,
            "from_": "maker",
            "to": world.users[i % 9],
            "agent": "owner",
            "pending_fee": Asset(1, COIN),
            "coin_balance": 1,
        }
        world.state.escrows.insert(Escrow(ratification_deadline=due(world), escrow_expiration=TIME_MAX, **given))


def delegations(world: World) -> None:
    for i in range(ROWS):
        row = DelegationExpiration(delegator=world.users[i % len(world.users)], vesting_shares=1, expiration=due(world) - 1)
        world.state.delegation_expirations.insert(row)


def routes(world: World) -> None:
    """Make power-downs due. Their routes lead to accounts with the maximum number of witness votes."""
    state = world.state
    for name in world.users[: ROWS // 2 // ROUTES]:
        row = state.account(name)
        withdrawn = {"vesting_withdraw_rate": 10**9, "to_withdraw": 10**11, "withdraw_routes": ROUTES}
        state.accounts.modify(row, next_vesting_withdrawal=due(world), **withdrawn)
        for voter in world.voters:
            state.withdraw_routes.insert(WithdrawRoute(from_account=name, to_account=voter, percent=10_000 // ROUTES, auto_vest=True))


def payouts(world: World) -> None:
    state = world.state
    for fund in state.reward_funds:
        state.reward_funds.modify(fund, reward_balance=10**9, recent_claims=10**18)
    for row in list(state.comments):
        state.comments.modify(row, cashout_time=due(world))


def declined(world: World) -> None:
    state = world.state
    for name in (*world.users, *world.voters):
        state.decline_voting_requests.insert(DeclineVotingRequest(account=name, effective_date=due(world)))


def recoveries(world: World) -> None:
    state = world.state
    for name in world.users:
        state.recovery_requests.insert(RecoveryRequest(account_to_recover=name, expires=due(world)))
        state.change_recovery_requests.insert(
            ChangeRecoveryRequest(account_to_recover=name, recovery_account="star", effective_on=due(world))
        )
        state.owner_histories.insert(OwnerHistory(account=name, last_valid_time=1))


def transactions(world: World) -> None:
    for i in range(ROWS):
        world.state.transactions.insert(TransactionRecord(trx_id=(10**9 + i).to_bytes(20, "big"), expiration=world.state.head_time - 1))


def proposals(world: World) -> None:
    """Make the hourly payments due, which count the votes of all proposals. Half of the proposals have ended."""
    state = world.state
    for i, row in enumerate(list(state.proposals)):
        state.proposals.modify(row, start_date=1, end_date=due(world) if i % 2 else TIME_MAX)
    state.set_props(next_maintenance_time=due(world), sps_fund_percent=1000)


def nothing(world: World) -> None:
    """Prepare nothing, for an empty block."""


DUE: dict[str, Callable[[World], None]] = {
    "nothing is due": nothing,
    f"{ROWS:,} orders expire": orders,
    f"{ROWS:,} conversions": conversions,
    f"{ROWS:,} withdrawals from savings": savings,
    f"{ROWS:,} escrows": escrows,
    f"{ROWS:,} delegations return": delegations,
    f"{ROWS // 2:,} routes of power-downs to accounts with {VOTES} votes": routes,
    "all posts are paid out": payouts,
    "all accounts decline to vote": declined,
    "recoveries of all accounts": recoveries,
    f"{ROWS:,} transactions expire": transactions,
    "proposals are paid": proposals,
}


async def search_blocks(world: World, only: str, most: float = TOO_LONG) -> bool:
    """Measure each kind of block. Return True if all stayed within the time limit."""
    moment = world.chain.savepoint()
    found: list[Found[None]] = []
    begun = time.monotonic()

    async def tried(kind: str, prepare: Callable[[World], int]) -> None:
        size = prepare(world)
        cost = await made(world)
        world.chain.restore(moment)
        found.append(Found(f"{kind}, {size:,} bytes" if size else kind, None, b"", cost, 0))
        if cost.longest > most:
            print(line(found[-1]), flush=True)

    for kind, prepare in DUE.items():
        if only in kind:
            await tried(kind, lambda world, prepare=prepare: prepare(world) or 0)  # type: ignore[misc]
    values = Values(world, Random(1))
    for cls in CLASSES:
        for i, recipe in enumerate(first_recipes(values, cls)[: len(samples(world).get(cls, ()))] if only in cls.NAME else ()):
            await tried(f"{cls.NAME} {i}", lambda world, recipe=recipe: fill(world, recipe))  # type: ignore[misc]
    for one in sorted(found, key=lambda one: -one.cost.longest):
        print(line(one))
    print(f"{len(found)} blocks in {time.monotonic() - begun:.0f} s")
    return all(one.cost.longest <= most for one in found)


async def made(world: World) -> Cost:
    """Return the cost of making the next block as the producer does."""
    return await measured(world, lambda: world.processor.make_block(world.devchain.make_block))


def fill(world: World, recipe: Recipe) -> int:
    """Push as many transactions of a recipe as the largest block can hold. Return their total bytes."""
    state = world.state
    state.set_props(maximum_block_size=COIN_SOFT_MAX_BLOCK_SIZE)
    state.witness_schedules.modify(
        state.schedule, median_props=structs.replace(state.schedule.median_props, maximum_block_size=COIN_SOFT_MAX_BLOCK_SIZE)
    )
    size = number = 0
    for part_size in PARTS_SIZE:
        while size < COIN_SOFT_MAX_BLOCK_SIZE * 3 // 4:
            trx = world.transaction(
                with_offset(structs.replace(recipe, size=part_size), number).transaction(world).operations, lifetime=60 + number
            )
            try:
                world.chain.push_transaction(trx, units_max=UNITS_MAX)
            except ChainError:
                break
            size, number = size + trx.size, number + 1
    return size


def with_offset(recipe: Recipe, number: int) -> Recipe:
    """Return a recipe whose counters start at other values, so that the transactions of a block differ."""
    parts = tuple(
        Part(part.cls, {name: tuple(offset_counter(value, number) for value in gene) for name, gene in part.genes.items()})
        for part in recipe.parts
    )
    return structs.replace(recipe, parts=parts)


def offset_counter(value: object, number: int) -> object:
    """Add an offset to a counter. Return any other value unchanged."""
    if not isinstance(value, Counting):
        return value
    return Counting(value.begin + number * 10_000 if isinstance(value.begin, int) else f"{value.begin}{number}-")
