"""Replays without some operations, compared with replays of all operations."""

from collections import Counter

import pytest

from node.research.library import DataError, Operation, RefusedBlock, chain_at, open_blocks, replayed
from tests.helpers.nodes import case_log

CHAIN = "steem-testnet"


def is_vote(operation: Operation) -> bool:
    return operation.kind == "vote"


@pytest.mark.parametrize("case", ["rewards", "market_orders"])
def test_without_nothing_the_state_is_the_same(case: str) -> None:
    with replayed(case_log(case), CHAIN, has_changes=False, without=lambda _: False) as chain:
        for _ in chain:
            pass
        assert (chain.digest, chain.refused) == (chain_at(case_log(case), chain=CHAIN).digest, {})


def test_nobody_is_paid_without_votes() -> None:
    with replayed(case_log("rewards"), CHAIN, without=is_vote) as chain:
        operations = [operation for step in chain for operation in step.operations]
        kinds = Counter(operation.kind for operation in operations)
        assert {"comment", "transfer"} <= kinds.keys()
        assert not {"vote", "author_reward", "curation_reward"} & kinds.keys()
        assert not any(comment.net_rshares for comment in chain.tables["comments"])
        assert len(chain.tables["comment_votes"]) == 0


def test_transactions_that_depend_on_the_left_out_operations_are_refused() -> None:
    def without(operation: Operation) -> bool:
        return operation.kind == "transfer_to_vesting" and operation.block > 1000

    log = case_log("walk_random")
    with replayed(log, CHAIN, has_changes=False, without=without) as chain:
        left = {operation.trx_id for step in chain for operation in step.operations}
        refused = chain.refused
    every = {operation.trx_id for step in replayed(log, CHAIN, has_changes=False) for operation in step.operations}
    assert refused.keys() <= every - left
    assert any("vesting" in reason for reason in refused.values())


def test_a_block_of_a_witness_that_was_left_out_is_refused() -> None:
    chain = replayed(case_log("walk_random"), CHAIN, has_changes=False, without=lambda operation: operation.kind == "witness_update")
    with pytest.raises(RefusedBlock, match="has no witness"):
        list(chain)


def test_collected_operations_are_those_of_the_steps() -> None:
    def without(operation: Operation) -> bool:
        return operation.kind == "transfer_to_vesting" and operation.block > 1000

    log = case_log("walk_random")
    with replayed(log, CHAIN, has_changes=False, without=without) as chain:
        steps = [(each.place, each.kind) for step in chain for each in step.operations if each.kind in ("fill_order", "vote")]
        assert chain.refused
    found = replayed(log, CHAIN, without=without).collect("fill_order", "vote")
    rows = [(row["block"], row["trx"], row["op"], row["virtual_op"]) for kind in found for row in found[kind].to_pylist()]
    assert sorted(rows) == sorted(place for place, _ in steps)


def test_transactions_that_lose_an_operation_keep_their_ids() -> None:
    log = case_log("rewards")
    transactions = [trx for block in open_blocks(log, CHAIN) for trx in block.transactions]
    assert any(len(trx.operations) > 1 for trx in transactions)
    with replayed(log, CHAIN, has_changes=False, without=lambda operation: operation.op > 0) as chain:
        left = {operation.trx_id for step in chain for operation in step.operations}
        assert (left | chain.refused.keys()) - {None} == {trx.id for trx in transactions}


def test_operations_before_the_first_block_stay() -> None:
    log = case_log("rewards")
    with replayed(log, CHAIN, first=50, last=60, without=is_vote) as chain:
        assert sum(is_vote(operation) for step in chain for operation in step.operations) == 0
        assert len(chain.tables["comment_votes"]) == len(chain_at(log, 49, CHAIN, plugins=()).tables["comment_votes"]) > 0


def test_signatures_cannot_be_checked() -> None:
    with pytest.raises(DataError, match="exclude each other"):
        replayed(case_log("rewards"), CHAIN, is_checked=True, without=is_vote)
