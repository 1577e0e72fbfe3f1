"""The declarations of portable rows agree with the records of RPC, and what no method shows doesn't matter to later blocks."""

import pytest

from rpc.records.rows import kinds_of
from state.portable import PORTABLE, Batch, export_rows, import_world, shown_digest
from state.tables import State
from tests.conformance.play import CASES, Player
from tests.helpers.nodes import DEV

# Columns that methods show although no record is read from them: texts, members of views, and lists of names.
SHOWN_OTHERWISE = {
    "account_authorities": {"account"},
    "comment_contents": {"title", "body", "json_metadata"},
    "proposal_votes": {"voter", "proposal_id"},
    "smt_emissions": {"token_unit"},
    "smt_tokens": {"market_maker_token_balance"},
    "withdraw_routes": {"from_account", "to_account", "percent", "auto_vest"},
    "witness_votes": {"witness", "account"},
}
KEPT = ("block_summaries",)  # a chain that begins after a block accepts every reference to an earlier one


def test_every_table_is_declared() -> None:
    assert {name for name in PORTABLE if "/" not in name} == {name for name, _ in State(DEV).tables()}


@pytest.mark.parametrize("name", [name for name, portable in PORTABLE.items() if "/" not in name and not portable.all_hidden])
def test_the_hidden_columns_are_those_that_no_record_shows(name: str) -> None:
    portable = PORTABLE[name]
    shown = set(kinds_of(portable.row)) | set(portable.references) | SHOWN_OTHERWISE.get(name, set())
    unshown = set(portable.columns) - shown | ({"beneficiary_payout_value"} & set(portable.columns))
    assert unshown == set(portable.hidden)


def without_hidden(batch: Batch) -> Batch:
    """A batch as a reader of replies has it."""
    return {
        name: [{column: value for column, value in row.items() if name in KEPT or column not in PORTABLE[name].hidden} for row in rows]
        for name, rows in batch.items()
        if name in KEPT or not PORTABLE[name].all_hidden
    }


@pytest.mark.parametrize(("case", "height"), [("walk_random", 700), ("walk_hardforks", 1900), ("rewards", 60), ("witness_rounds", 300)])
def test_later_blocks_need_nothing_that_is_hidden(case: str, height: int) -> None:
    player, copy = [Player(CASES / case, plugins=()) for _ in range(2)]
    player.advance(height)
    state, head = player.chain.state, player.chain.head
    assert head is not None
    import_world(copy.chain.state, without_hidden(export_rows(state)), is_complete=True, next_proposal_id=state.proposals.next_id)
    copy.chain.state.hardfork_times[:] = state.hardfork_times
    packed = [player.log[start:end] for start, end in player.places]
    copy.chain.start_at(head, lambda number: packed[number - 1], is_changed_by_hand=False, settled_edits=0)
    assert shown_digest(copy.chain.state) == shown_digest(state)
    for end in range(height, len(packed), 50):
        player.advance(end)
        copy.advance(end)
        assert shown_digest(copy.chain.state) == shown_digest(state), end
