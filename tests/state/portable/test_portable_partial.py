"""Partial chains under load: random operations of all accounts, while accounts of the source come in one by one."""

from random import Random

import pytest

from state.chain.chain import Chain
from state.chain.invariants import validate_invariants
from state.chain.skip import Skip
from state.chain.slots import scheduled_witness, slot_time
from state.chain.state_edits import ImportRows
from state.portable import account_level, export_rows, pack_batch
from state.protocol.transaction import SignedTransaction
from tests.conformance.play import CASES, Player
from tests.helpers.nodes import SECRET
from tests.helpers.partial import partial_chain, posts_of, rows_of
from tests.random_walks.operations import operations
from tests.random_walks.walk import GAPS, Walk, attempt

BLOCKS = 200
AT_FIRST = 30  # accounts with which a chain begins
SOURCES = (
    ("", 0),
    ("", 1),
    ("walk_random", 900),
    ("walk_hardforks", 1900),
    ("proxies_and_votes", 80),
    ("power_down", 60),
    ("delegations", 70),
)


def source_of(case: str, number: int) -> Chain:
    """A recorded chain at a height, or a random walk."""
    if not case:
        chain = Walk(number).run().chain
        chain.pool.undo()
        return chain
    player = Player(CASES / case, plugins=())
    player.advance(number)
    return player.chain


def load(chain: Chain, draw: Random) -> None:
    """Push some random transactions."""
    state, head = chain.state, chain.head
    assert head is not None
    for _ in range(draw.randint(0, 5)):
        found, name, _ = operations(state, draw)
        if name != "null":  # its VESTS vanish without a change of its votes, since it can't vote
            trx = SignedTransaction(expiration=state.head_time + 60, operations=tuple(found))
            trx.ref_block_num, trx.ref_block_prefix = head.number & 0xFFFF, int.from_bytes(head.id[4:8], "little")
            attempt(chain, lambda trx=state.wire.seal(trx): chain.push_transaction(trx))  # noqa: B008 - called at once


@pytest.mark.parametrize(("case", "number"), SOURCES)
def test_invariants_hold_under_load_while_accounts_come_in(case: str, number: int) -> None:
    draw, source = Random(number), source_of(case, number)
    batch = export_rows(source.state)
    names = [row["name"] for row in batch["accounts"]]
    draw.shuffle(names)
    first = names[: min(AT_FIRST, len(names) // 2)]
    left, light = names[len(first) :], list[str]()
    chain = partial_chain(source, first)
    validate_invariants(chain.state)
    chain.state.impersonated.set((), is_everyone=True)
    gaps, weights = zip(*GAPS, strict=True)
    for _ in range(BLOCKS):
        load(chain, draw)
        slot = draw.choices(gaps, weights)[0] + 1
        witness = scheduled_witness(chain.state, slot)
        chain.generate_block(slot_time(chain.state, slot), witness, SECRET, Skip.WITNESS_SIGNATURE)
        validate_invariants(chain.state)
        if (left or light) and draw.random() < 0.5:
            is_light = bool(left) and draw.random() < 0.5
            name = left.pop() if left else light.pop()
            if is_light:
                light.append(name)
            more = rows_of(batch, [name], is_light=is_light) | ({} if is_light else posts_of(batch, [name]))
            chain.edit(ImportRows(packed=pack_batch(more)))
            validate_invariants(chain.state)
            assert account_level(chain.state, name) == ("light" if is_light else "full")
    assert not left
    assert not light
    for _, table in chain.state.tables():
        table.check()
