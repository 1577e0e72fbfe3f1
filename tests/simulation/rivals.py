"""Blocks from producers other than the node: competing branches, valid and invalid.

These blocks are made without a state. On this chain one witness signs every block, so an empty block, or one with previously valid
transactions, needs only a parent.
"""

import random
from typing import Any

from state.protocol.constants import COIN_BLOCK_INTERVAL
from state.protocol.keys.keys import secret_from_seed
from state.protocol.keys.signatures import Canonical, sign
from state.protocol.transaction import SignedBlock, SignedTransaction, merkle_root
from tests.helpers.nodes import SECRET
from tests.simulation.clients import WIRE

WITNESS = "initminer"
STRANGER = secret_from_seed("stranger")
DAMAGES = ("unsigned", "stranger", "witness", "merkle", "time", "transaction")


def made_block(parent: SignedBlock, when: int, transactions: tuple[SignedTransaction, ...] = (), **changed: Any) -> SignedBlock:
    """Return a block on a parent. `changed` contains fields to set before signing. Its entry `secret` is not a field but the signing key
    (None: unsigned).
    """
    secret = changed.pop("secret", SECRET)
    block = SignedBlock(previous=parent.id, timestamp=when, witness=WITNESS, transactions=transactions)
    block.transaction_merkle_root = merkle_root(transactions)
    for name, value in changed.items():
        setattr(block, name, value)
    WIRE.seal_block(block)
    if secret is not None:
        block.witness_signature = sign(secret, block.digest, Canonical.bip_0062)
    return WIRE.seal_block(block)


def made_branch(parent: SignedBlock, count: int, transactions: tuple[SignedTransaction, ...] = ()) -> list[SignedBlock]:
    """Return a branch with a block in each slot after the parent. Its first block contains the transactions."""
    blocks = []
    for place in range(count):
        when = parent.timestamp // COIN_BLOCK_INTERVAL * COIN_BLOCK_INTERVAL + COIN_BLOCK_INTERVAL
        parent = made_block(parent, when, transactions if place == 0 else ())
        blocks.append(parent)
    return blocks


def damaged_branch(
    blocks: list[SignedBlock], parent: SignedBlock, bad: SignedTransaction, draw: random.Random
) -> tuple[list[SignedBlock], int, str]:
    """Return a copy of a branch with one invalid block, the index of that block, and its defect."""
    place, damage = draw.randrange(len(blocks)), draw.choice(DAMAGES)
    before = blocks[place - 1] if place else parent
    when, transactions = blocks[place].timestamp, blocks[place].transactions
    if damage == "unsigned":
        block = made_block(before, when, transactions, secret=None)
    elif damage == "stranger":
        block = made_block(before, when, transactions, secret=STRANGER)
    elif damage == "witness":
        block = made_block(before, when, transactions, witness="alice")
    elif damage == "merkle":
        block = made_block(before, when, transactions, transaction_merkle_root=b"\1" * 20)
    elif damage == "time":
        block = made_block(before, before.timestamp, transactions)
    else:
        block = made_block(before, when, (*transactions, bad))
    rest = made_branch(block, len(blocks) - place - 1)
    return [*blocks[:place], block, *rest], place, damage
