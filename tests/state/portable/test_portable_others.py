"""All others: no operation can name the account, it holds exactly what the rest holds, and accounts come in as they are at the source."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from state.chain.chain import Chain
from state.chain.invariants import validate_invariants
from state.portable import ALL_OTHERS, Batch, account_level, export_rows, import_rows
from state.portable.arrivals import AMOUNTS
from state.protocol.errors import ChainError
from state.protocol.transaction import SignedTransaction
from state.tables.accounts import Account
from tests.conformance.play import CASES, Player
from tests.helpers.operations import CODECS, KIND, SAMPLES
from tests.helpers.partial import partial_chain, posts_of, rows_of

# Texts without a meaning for the chain, which can contain any words.
FREE = {("comment", "title"), ("transfer", "memo"), ("witness_update", "url"), ("custom_json", "id")} | {
    (name, "memo") for name in ("transfer_to_savings", "transfer_from_savings")
}


@pytest.fixture(scope="module")
def source() -> Chain:
    """A recorded chain with many kinds of rows."""
    player = Player(CASES / "walk_random", plugins=())
    player.advance(1500)
    return player.chain


@pytest.fixture(scope="module")
def batch(source: Chain) -> Batch:
    """All rows of the source."""
    return export_rows(source.state)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of all strings in a JSON value."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))
    if isinstance(value, str):
        yield path


def replaced(value: Any, path: tuple[Any, ...], text: str) -> Any:
    """Return a copy of a JSON value with another string at a place."""
    found = at = copy.deepcopy(value)
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = text
    return found


def test_no_operation_can_name_all_others(source: Chain) -> None:
    chain = partial_chain(source, [account.name for account in source.state.accounts])
    chain.state.impersonated.set([account.name for account in chain.state.accounts if account.name != ALL_OTHERS], is_everyone=False)
    accepted, tried = set(), 0
    for name, vector in SAMPLES.items():
        sample = vector["input"]["json"]
        for path in places(sample["value"]):
            try:
                operation = CODECS.parser(KIND)({"type": sample["type"], "value": replaced(sample["value"], path, ALL_OTHERS)})
                trx = SignedTransaction(expiration=chain.state.head_time + 60, operations=(operation,))
                tried += 1
                chain.push_transaction(chain.state.wire.seal(trx))
            except ChainError:
                continue
            accepted.add((name, path[-1]))
    assert tried > 150
    assert accepted == FREE
    validate_invariants(chain.state)


def without_id(account: Account) -> dict[str, Any]:
    """The columns of an account, except its id."""
    return {field: getattr(account, field) for field in account.__struct_fields__ if field != "id"}


@pytest.mark.parametrize("step", [1, 3, 40])
def test_accounts_come_in_as_they_are(source: Chain, batch: Batch, step: int) -> None:
    """Also if they come in portions, so that delegations and proxies are first towards others."""
    names = [account.name for account in source.state.accounts]
    state = partial_chain(source, ()).state
    outside = {row.witness: row.weight for row in state.outside_witness_votes if row.weight}
    assert outside == {row.owner: row.votes for row in source.state.witnesses if row.votes}
    for begin in range(0, len(names), step):
        portion = names[begin : begin + step]
        import_rows(state, rows_of(batch, portion) | posts_of(batch, portion))
        validate_invariants(state)
        for name in portion:
            assert without_id(state.account(name)) == without_id(source.state.account(name))
            assert account_level(state, name) == "full"
    assert export_rows(state)["comments"] != []
    rest = state.account(ALL_OTHERS)
    assert {column: getattr(rest, column) for column in AMOUNTS if getattr(rest, column)} == {}
    assert rest.witness_vote_weight == 0
    assert not any(row.weight for row in (*state.outside_witness_votes, *state.outside_proposal_votes))
    assert len(state.partial_accounts) == 0
    assert len(state.accounts) == len(names) + 1
    assert {name: rows for name, rows in sorted_rows(export_rows(state)).items() if name in BELONGING} == {
        name: rows for name, rows in sorted_rows(batch).items() if name in BELONGING
    }


BELONGING = (
    "witness_votes", "witnesses", "vesting_delegations", "delegation_expirations", "withdraw_routes", "limit_orders", "convert_requests",
    "escrows", "savings_withdraws", "comments", "comment_contents", "comment_votes", "proposals", "proposal_votes", "owner_histories",
)  # fmt: skip


def sorted_rows(batch: Batch) -> Batch:
    """The rows of a batch in an order that depends only on their values, without rows of `all others`."""
    return {name: sorted((row for row in rows if ALL_OTHERS not in row.values()), key=repr) for name, rows in batch.items()}


def test_replies_come_in_only_with_the_posts_above_them(source: Chain, batch: Batch) -> None:
    reply = max(batch["comments"], key=lambda row: row["depth"])
    discussion = [row for row in batch["comments"] if row["root_comment"] == reply["root_comment"]]
    assert reply["depth"] > 1
    state = partial_chain(source, ()).state
    import_rows(state, {"comments": [row for row in discussion if row["depth"]]})
    assert len(state.comments) == 0
    import_rows(state, {"comments": [row | {"depth": row["depth"] and row["depth"] + 1} for row in discussion]})
    assert [row.depth for row in state.comments] == [0]
    state.comments.modify(state.comments.by_permlink.find(*reply["root_comment"]), children=0)
    import_rows(state, {"comments": discussion})
    assert len(state.comments) == len(discussion)
    assert [row.children for row in state.comments] == [row["children"] for row in discussion]
    validate_invariants(state)
