"""Blocks with their row changes and operations, compared with the tables and with the account history plugin."""

from pathlib import Path
from typing import Any

import pytest

from node.research.columns.names import field_name
from node.research.library import BeyondEnd, BlockStep, NotThere, UnreadableBlocks, chain_at, replayed
from state.plugins.registry import PLUGINS
from tests.helpers.golden import fails
from tests.helpers.nodes import case_log, write_as

LOG, LAST = case_log("rewards"), 105
Rows = dict[str, dict[int, dict[str, Any]]]


def copies(state: Any) -> Rows:
    """Return copies of all rows of a state, keyed by table and id. A table that two plugins share is included once."""
    tables = {id(view._table): (name, view) for name, view in reversed(list(state.tables.items()))}
    return {name: {row.id: {k: v for k, v in row.as_dict().items() if k != "id"} for row in view} for name, view in tables.values()}


def apply(rows: Rows, step: BlockStep) -> None:
    """Apply the row changes of a block to copies of the rows. Assert that the old values in the changes equal the current ones."""
    for change in step.changes:
        table = rows[change.table]
        old = table.get(change.id, {})
        assert {name: old[name] for name in change.before} == change.before
        assert (change.kind == "created") == (not old)
        if change.kind == "removed":
            assert change.before == table.pop(change.id)
        else:
            table[change.id] = old | change.after


@pytest.mark.parametrize("case", ["rewards", "market_orders", "smt_tokens", "follows", "proposal_cycles"])
def test_changes_lead_from_each_state_to_the_next(case: str) -> None:
    log = case_log(case)
    rows = copies(chain_at(log, 0, "steem-testnet", plugins=PLUGINS))
    with replayed(log, "steem-testnet", plugins=PLUGINS) as chain:
        for step in chain:
            apply(rows, step)
            assert step.block.number == chain.number
            if chain.number % 25 == 0:
                assert rows == copies(chain)
        assert rows == copies(chain)


@pytest.mark.parametrize("case", ["rewards", "market_orders"])
def test_operations_are_those_of_the_history(case: str) -> None:
    seen = 0
    with replayed(case_log(case), "steem-testnet", plugins=["account_history"], has_changes=False) as chain:
        for step in chain:
            shown = chain.call("account_history_api.get_ops_in_block", {"block_num": chain.number})["ops"]
            # The account history returns each operation once per transaction, and omits operations that impact no account.
            wanted = [(each["trx_in_block"], each["op_in_trx"], each["virtual_op"], each["op"]) for each in shown]
            found = [(each.trx, each.op, each.virtual_op, each.json()) for each in step.operations]
            assert [each for each in found if each in wanted] == wanted
            assert [place for *place, _ in found] == sorted(place for *place, _ in found)
            assert step.virtual_operations == tuple(each for each in step.operations if each.virtual_op)
            real = [each.value for each in step.operations if not each.is_virtual]
            assert real == [operation.value for operation in step.block.operations]
            seen += len(wanted)
    assert seen > LAST


def test_only_the_requested_blocks_are_yielded() -> None:
    whole = list(replayed(LOG, "steem-testnet"))
    part = list(replayed(LOG, "steem-testnet", first=80, last=82))
    assert [step.block.number for step in part] == [80, 81, 82]
    for mine, step in zip(part, whole[79:82], strict=True):
        assert mine.changes == step.changes
        assert [each.json() for each in mine.operations] == [each.json() for each in step.operations]
    assert "author_reward" in {each.kind for each in part[1].operations}


def test_operations_are_collected_as_columns() -> None:
    kinds = ("author_reward", "transfer", "fill_order")
    found = replayed(LOG, "steem-testnet").collect(*kinds)
    for kind in kinds:
        wanted = [each for step in replayed(LOG, "steem-testnet", has_changes=False) for each in step.operations if each.kind == kind]
        rows = found[kind].to_pylist()
        assert [(row["block"], row["trx"], row["op"], row["virtual_op"]) for row in rows] == [each.place for each in wanted]
        assert [row["trx_id"] for row in rows] == [each.trx_id for each in wanted]
    assert next(row["from"] for row in found["transfer"].to_pylist()) == "initminer"
    assert found["author_reward"].num_rows == 17
    (block,) = {
        row["block"] for row in replayed(LOG, "steem-testnet", first=81, last=81).collect("author_reward")["author_reward"].to_pylist()
    }
    assert block == 81
    with fails(NotThere):
        replayed(LOG, "steem-testnet").collect("votes")
    with pytest.raises(NotThere, match=r"did you mean vote\?"):
        replayed(LOG, "steem-testnet").collect("vote_operation")


def test_memory_is_bounded_for_compressed_files(tmp_path: Path) -> None:
    with replayed(write_as(tmp_path / "log.gz", LOG.read_bytes()), "steem-testnet") as chain:
        settled = chain._chain.irreversible_blocks
        most = max(len(settled.blocks_in_memory) for _ in chain)
        assert most <= 1
        assert len(settled) > 50
        with pytest.raises(BeyondEnd):
            chain.block(5)


def test_without_changes_none_are_read() -> None:
    assert not any(step.changes for step in replayed(LOG, "steem-testnet", has_changes=False))


def test_an_unreadable_block_raises_at_its_position(tmp_path: Path) -> None:
    torn = tmp_path / "log"
    torn.write_bytes(LOG.read_bytes()[:-20])
    found = []
    with fails(UnreadableBlocks):
        found += [step.block.number for step in replayed(torn, "steem-testnet", has_changes=False)]
    with pytest.raises(BeyondEnd):
        list(replayed(LOG, "steem-testnet", first=200))


def test_fields_are_named_as_in_columns() -> None:
    spec = chain_at(LOG, 0, "steem-testnet")._chain.state.spec
    assert [field_name(spec, name) for name in ("from_", "reward_coin_balance")] == ["from", "reward_steem_balance"]
