"""The scenes of a simulated world: quiet times, load, faults, and ends of the node. Each scene leaves a running node and declares what it
may have disturbed.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from errno import EIO, ENOSPC
from signal import SIGTERM

import trio

from state.protocol.constants import COIN_BLOCK_INTERVAL
from state.protocol.transaction import SignedBlock
from tests.simulation.clients import OK, WIRE, Refusal
from tests.simulation.ledger import demand
from tests.simulation.network import Manner, Unreachable, encoded, encoded_call
from tests.simulation.rivals import damaged_branch, made_branch
from tests.simulation.world import End, World

Scene = Callable[[World], Awaitable[None]]

CLIENTS_MAX = 5
FLOOD_MAX = 600
SECONDS_BETWEEN_CHECKS = 1.7
SECONDS_AFTER_FLOOD = 1.0
LONG = "long_quiet"
LONG_MINUTES = (60, 600)
AFTER_LONG = 0.3  # fraction of long worlds with another scene or a restart at their end
SECONDS_TO_DIE_MAX = 120.0  # thirty disk operations, at one or more for each block
OPERATIONS_AT_END_MAX = 200  # approximate number of disk operations of a snapshot
AT_ONCE = Manner(is_local=True)


@asynccontextmanager
async def clients(world: World, count: int = 0) -> AsyncIterator[None]:
    """Run clients for the duration of the context."""
    async with trio.open_nursery() as nursery:
        for number in range(count or world.draw.randint(1, CLIENTS_MAX)):
            nursery.start_soon(world.client(f"{trio.current_time()} {number}").run)
        nursery.start_soon(check_often, world)
        yield
        nursery.cancel_scope.cancel()


async def check_often(world: World) -> None:
    """Check the node periodically, at least once between any two blocks."""
    while True:
        await trio.sleep(SECONDS_BETWEEN_CHECKS)
        world.check()


async def quiet(world: World) -> None:
    """Do nothing for 2 to 10 minutes."""
    await trio.sleep(world.draw.uniform(2, 10) * 60)


async def long_quiet(world: World) -> None:
    """Wait for hours. Only now and then, send a transaction or a request of /health."""
    client = world.client(f"long {trio.current_time()}")
    until = trio.current_time() + world.draw.triangular(*LONG_MINUTES, LONG_MINUTES[0]) * 60
    while trio.current_time() < until:
        await trio.sleep(world.draw.uniform(1, 30) * 60)
        for _ in range(world.draw.randint(0, 5)):
            await ignoring(client.transact)
        reply = await world.network.request(b"", AT_ONCE, method="GET", path="/health")
        demand(reply.status == OK, f"/health is answered with {reply.status} after a long quiet: {reply.body!r}")
        world.check()


async def busy(world: World) -> None:
    """Run clients for 10 to 40 seconds."""
    async with clients(world):
        await trio.sleep(world.draw.uniform(10, 40))


async def flood(world: World) -> None:
    """Send hundreds of requests at the same time."""
    client = world.client(f"flood {trio.current_time()}")
    asgi_app = world.network.asgi_app
    assert asgi_app is not None
    async with trio.open_nursery() as nursery:
        for _ in range(world.draw.randint(100, FLOOD_MAX)):
            nursery.start_soon(ignoring, client.disturb if world.draw.random() < 0.5 else client.read)
    # The node may detect a moment later that clients have disconnected.
    await trio.sleep(SECONDS_AFTER_FLOOD)
    demand(not any(asgi_app.limiter._used), f"after the flood {asgi_app.limiter._used} are held")


async def ignoring(work: Callable[[], Awaitable[object]]) -> None:
    """Run a client's action, ignoring refusals and missing replies."""
    try:
        await work()
    except (Unreachable, Refusal):
        return


async def pause(world: World) -> None:
    """Stop the process for a while, as the machine's operating system could, while clients send requests."""
    async with clients(world):
        await trio.sleep(world.draw.uniform(1, 10))
        world.clockwork.pause(world.draw.choice((0.3, 2.0, 20.0, 600.0)))
        world.disturb(2 * COIN_BLOCK_INTERVAL)
        await trio.sleep(world.draw.uniform(5, 10))


async def leap(world: World) -> None:
    """Set the machine's clock forward, or slightly back. The chain's time must not go back before its blocks."""
    async with clients(world):
        seconds = world.draw.choice((-3600, -30, -5, -1, 1, 2, 5, 100, 3600, 86_400))
        world.disturb(2 * COIN_BLOCK_INTERVAL)
        world.clockwork.leap(seconds * 1000 + world.draw.randrange(1000))
        await trio.sleep(world.draw.uniform(10, 20))


async def slow(world: World) -> None:
    """Slow down disk syncs and all other work."""
    world.delay = world.draw.choice((0.1, 1.0, 8.0))
    world.delay_max = max(world.delay_max, world.delay)
    world.clockwork.seconds_per_look = world.draw.choice((0.0, 0.0001, 0.05))
    async with clients(world):
        await trio.sleep(world.draw.uniform(20, 40))
    world.delay = world.clockwork.seconds_per_look = 0.0


async def fork(world: World) -> None:
    """Send a branch that is longer than the main one and forks some blocks back."""
    async with clients(world):
        await trio.sleep(world.draw.uniform(1, 10))
        await send_branch(world, is_good=True)
        await trio.sleep(world.draw.uniform(1, 10))


async def bad_fork(world: World) -> None:
    """Send a branch with one invalid block."""
    async with clients(world):
        await trio.sleep(world.draw.uniform(1, 10))
        await send_branch(world, is_good=False)
        await trio.sleep(world.draw.uniform(1, 10))


async def war(world: World) -> None:
    """Switch the node repeatedly between several branches. Some of them extend a branch that was the main one before."""
    async with clients(world):
        for _ in range(world.draw.randint(2, 5)):
            await trio.sleep(world.draw.uniform(0, 10))
            if world.draw.random() < 0.5:
                await send_branch(world, is_good=True)
            else:
                await send_loser(world)


async def send_loser(world: World) -> None:
    """Extend the branch that lost in the last fork switch, until it is the longest one."""
    life = world.life
    if life is None or not life.branch.undone or not life.branch.seen:
        return
    tip, first = life.branch.undone[0], life.branch.undone[-1]
    if first.number <= life.context.chain.irreversible:
        return
    world.disturb(2 * COIN_BLOCK_INTERVAL)
    # The node itself made some of these blocks, long before they become the main branch again.
    world.rivals.update(block.id for block in life.branch.undone)
    branch = made_branch(tip, life.branch.height + 1 - tip.number)
    world.rivals.update(block.id for block in branch)
    await send(world, branch)


async def send_branch(world: World, *, is_good: bool) -> None:
    """Make a competing branch and send it block by block. The last block can make the node switch."""
    life = world.life
    if life is None or not life.branch.seen:
        return
    seen = life.branch.seen
    depth = world.draw.randint(1, max(1, min(len(seen) - 1, 15, life.branch.height - life.context.chain.irreversible - 1)))
    if depth >= len(seen):
        return
    parent = seen[-depth - 1].block
    popped = [trx for each in seen[-depth:] for trx in each.block.transactions]
    transactions = tuple(trx for trx in popped if trx.ref_block_num <= parent.number)
    branch = made_branch(parent, depth + 1, transactions[: world.draw.randint(0, 20)])
    if is_good:
        world.rivals.update(block.id for block in branch)
        # The branch's head can be older than the head that it replaces, by the number of slots that the node has missed.
        world.disturb(2 * COIN_BLOCK_INTERVAL)
    else:
        client = world.client(f"bad {trio.current_time()}")
        head = {"head_block_number": parent.number, "head_block_id": parent.id.hex(), "time": "2020-01-01T00:00:00"}
        bad = client.signed(head, ["transfer", {"from": "alice", "to": "bob", "amount": "900000000.000 COIN", "memo": ""}], "active")
        branch, place, damage = damaged_branch(branch, parent, bad, world.draw)
        world.rivals.update(block.id for block in branch[:place])
        world.forbidden.update(block.id for block in branch[place:])
        world.figures.count(f"damaged: {damage}")
    if not await send(world, branch):
        return
    if not is_good:
        demand(world.life is None or not any(world.life.branch.has(block) for block in world.forbidden), "a damaged block is taken")


async def send(world: World, branch: list[SignedBlock]) -> bool:
    """Send blocks to the node. Return False if the node ended before all replies."""
    for block in branch:
        try:
            shown = WIRE.block_to_json(block, legacy=True)
            reply = await world.network.request(encoded(encoded_call("condenser_api.broadcast_block", [shown])), AT_ONCE)
        except Unreachable:
            return False
        world.note("branch", block.id, reply.body)
        if world.life is not None and b'"result"' in reply.body and world.life.branch.has(block.id):
            world.life.acknowledged.add(block.id)
    return True


# ------------------------------------------------------------------ ends


async def stop(world: World) -> None:
    """Stop the node gracefully while clients work, and start it again."""
    await end_while_busy(world, "stopped")


async def kill(world: World) -> None:
    """Kill the process while clients send requests, but not in the middle of a disk operation."""
    await end_while_busy(world, "killed")


async def cut(world: World) -> None:
    """Cut the power while clients send requests, but not in the middle of a disk operation."""
    await end_while_busy(world, "cut")


async def die(world: World) -> None:
    """Kill the process or cut the power within a write, a sync or a rename, possibly during a fork switch."""
    async with clients(world):
        assert world.life is not None
        if world.draw.random() < 0.4:
            await trio.sleep(world.draw.uniform(10, 30))
            world.life.disk.stop_after(world.draw.randint(0, 40))
            await send_branch(world, is_good=True)
        else:
            world.life.disk.stop_after(world.draw.randint(0, 30))
        # With `--sync never` a block takes two writes.
        await rest_until(world.life.ended, SECONDS_TO_DIE_MAX)
        await recover(world, "died" if world.life.ended.is_set() else "killed")


async def die_at_end(world: World) -> None:
    """Stop the node gracefully, then kill it or cut the power before it has ended, possibly while it saves a snapshot."""
    async with clients(world):
        assert world.life is not None
        await trio.sleep(world.draw.uniform(1, 20))
        world.life.disk.stop_after(world.draw.randint(0, OPERATIONS_AT_END_MAX))
        world.signals.send(SIGTERM)
        await rest_until(world.life.ended, SECONDS_TO_DIE_MAX)
        await recover(world, "died")


async def fail(world: World) -> None:
    """Make the disk refuse every change after a number of operations. The node must shut down with an error message."""
    async with clients(world):
        assert world.life is not None
        world.is_disk_failing = True
        world.disturb(SECONDS_TO_DIE_MAX)
        error = world.draw.choice((ENOSPC, EIO))
        world.life.disk.fail_after(world.draw.randint(0, 30), error, is_once=world.draw.random() < 0.5)
        if world.draw.random() < 0.5:
            await send_branch(world, is_good=True)
        await rest_until(world.life.ended, SECONDS_TO_DIE_MAX)
        demand(world.life.ended.is_set(), "the node goes on without a disk")
        world.is_disk_failing = False
        await recover(world, "failed")


async def rest_until(event: trio.Event, seconds: float) -> None:
    """Wait for an event, at most `seconds`."""
    with trio.move_on_after(seconds):
        await event.wait()


async def end_while_busy(world: World, end: End) -> None:
    """End the node in the given way while clients send requests, and start it again after a while."""
    async with clients(world):
        await trio.sleep(world.draw.uniform(1, 20))
        await recover(world, end)


async def recover(world: World, end: End) -> None:
    """End the node in the given way, and start it again."""
    before = await world.end(end)
    await trio.sleep(world.draw.choice((0.0, 1.0, 60.0)))
    await world.restart(before)
    await trio.sleep(world.draw.uniform(1, 10))


SCENES: dict[str, tuple[int, Scene]] = {
    "quiet": (8, quiet),
    LONG: (1, long_quiet),
    "busy": (3, busy),
    "flood": (1, flood),
    "pause": (1, pause),
    "leap": (1, leap),
    "slow": (1, slow),
    "fork": (2, fork),
    "war": (1, war),
    "bad_fork": (2, bad_fork),
    "stop": (1, stop),
    "kill": (1, kill),
    "cut": (1, cut),
    "die": (2, die),
    "die_at_end": (1, die_at_end),
    "fail": (1, fail),
}


def story(minutes: float, names: list[str], *, is_long: bool = False) -> Callable[[World], Awaitable[None]]:
    """Return a story of at least `minutes` that consists of random scenes. A long story ends with hours of quiet, and possibly one more
    scene.
    """
    weights = [SCENES[name][0] for name in names]

    async def play(world: World, name: str) -> None:
        world.note("scene", name)
        world.figures.count(name)
        await SCENES[name][1](world)
        world.check()

    async def happen(world: World) -> None:
        await world.start()
        while trio.current_time() < minutes * 60:
            await play(world, world.draw.choices(names, weights)[0])
        if is_long:
            await play(world, LONG)
            if world.draw.random() < AFTER_LONG:
                await play(world, world.draw.choices(names, weights)[0])
        # Replaying a long story takes half as long again.
        if not is_long or world.draw.random() < AFTER_LONG:
            await world.restart(await world.end("stopped"))
            world.check()
        await world.end("stopped")

    return happen
