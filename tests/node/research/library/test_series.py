"""Series of a table's rows, compared with the state at the same blocks."""

import sys
from datetime import UTC, datetime
from types import ModuleType
from typing import Any

import pytest

from node.research.library import BeyondEnd, DataError, MissingLibrary, NotThere, chain_at, open_blocks, series
from tests.helpers.nodes import case_log

LOG, CHAIN = case_log("walk_random"), "steem-testnet"


def rows_at(found: Any, number: int) -> list[dict[str, Any]]:
    """Return the rows of a series after a block, without the number and the time of the block."""
    return [{name: row[name] for name in row if name not in ("at_block", "time")} for row in found if row["at_block"] == number]


def test_rows_are_those_of_the_state() -> None:
    found = series(LOG, "accounts", 900, CHAIN).arrow().to_pylist()
    assert {row["at_block"] for row in found} == {900, 1800}
    for number in (900, 1800):
        assert rows_at(found, number) == chain_at(LOG, number, CHAIN, plugins=()).tables["accounts"].arrow().to_pylist()


def test_summaries_are_those_of_the_methods() -> None:
    found = series(LOG, every=1000, chain=CHAIN, last=1000).arrow().to_pylist()
    with chain_at(LOG, 1000, CHAIN) as chain:
        accounts = chain.tables["accounts"]
        assert [row["name"] for row in found] == [row.name for row in accounts]
        for row in found:
            account, name = accounts[row["name"]], row["name"]
            count = chain.call("follow_api.get_follow_count", {"account": name})
            assert (row["followers"], row["following"]) == (count["follower_count"], count["following_count"])
            shown = chain.call("reputation_api.get_account_reputations", {"account_lower_bound": name, "limit": 1})["reputations"][0]
            assert (name, row["reputation"]) == (shown["account"], shown["reputation"])
            received, delegated = account.received_vesting_shares, account.delegated_vesting_shares
            assert row["effective_vesting_shares"] == account.vesting_shares + received - delegated
            assert (row["reward_steem_balance"], row["balance_symbol"]) == (account.reward_steem_balance, "TESTS")
        assert any(row["followers"] for row in found)
        assert any(row["reputation"] for row in found)
        (props,) = chain.tables["global_properties"]
        fund, shares = props.total_vesting_fund_steem, props.total_vesting_shares
        assert {row["vests_in_coin"] for row in found} == {row["vesting_shares"] * fund // shares for row in found}


def test_rows_of_each_day_follow_its_first_block() -> None:
    days: dict[Any, tuple[int, datetime]] = {}
    for block in open_blocks(LOG, CHAIN):
        days.setdefault(block.time.date(), (block.number, block.time))
    frame = series(LOG, every="1d", chain=CHAIN, accounts="initminer", columns=["name"]).frame()
    assert list(frame.columns) == ["at_block", "time", "name"]
    assert set(frame["name"]) == {"initminer"}
    assert [(number, time.to_pydatetime().astimezone(UTC)) for number, time in zip(frame["at_block"], frame["time"], strict=True)] == list(
        days.values()
    )


TABLES = ("comment_votes", "vesting_delegations", "follow_follows", "accounts", "global_properties", "tags_counters")


@pytest.mark.parametrize("table", TABLES)
def test_only_rows_of_chosen_accounts_are_taken(table: str) -> None:
    every = series(LOG, table, 2000, CHAIN).arrow().to_pylist()
    with chain_at(LOG, 2000, CHAIN) as chain:
        name = next(row.name for row in chain.tables["accounts"] if row.vesting_shares and row.name not in ("initminer", "null"))
        key = {"comment_votes": chain.tables["accounts"][name].id}.get(table, name)
    found = series(LOG, table, 2000, CHAIN, accounts=[name, "nobody"]).arrow().to_pylist()
    fields = {"comment_votes": ["voter"], "vesting_delegations": ["delegator", "delegatee"], "follow_follows": ["follower", "following"]}
    of_accounts = {**fields, "accounts": ["name"]}.get(table)
    assert found == [row for row in every if of_accounts is None or key in [row[field] for field in of_accounts]]
    assert every


def test_the_range_of_blocks_can_be_bounded() -> None:
    found = series(LOG, "accounts", 100, CHAIN, accounts=["initminer"], first=250, last=500).arrow()
    assert found["at_block"].to_pylist() == [300, 400, 500]
    with pytest.raises(BeyondEnd):
        series(LOG, "accounts", 100, CHAIN, first=10_000)


def test_rows_at_the_end() -> None:
    found = series(LOG, "accounts", None, CHAIN).arrow().to_pylist()
    with chain_at(LOG, chain=CHAIN, plugins=()) as chain:
        assert {(row["at_block"], row["time"]) for row in found} == {(chain.number, chain.time)}
        assert rows_at(found, chain.number) == chain.tables["accounts"].arrow().to_pylist()
    last = series(LOG, "accounts", None, CHAIN, last=900).arrow()
    assert last == series(LOG, "accounts", 900, CHAIN, last=900).arrow()


def test_polars_gets_the_arrow_table(monkeypatch: pytest.MonkeyPatch) -> None:
    polars = ModuleType("polars")
    polars.from_arrow = lambda table: ("polars", table)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "polars", polars)
    found = series(LOG, "accounts", None, CHAIN, columns=["name"])
    assert found.polars() == ("polars", found.arrow())


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong: list[Any] = [0, "5m", "1s", 1.5]
    for every in wrong:
        with pytest.raises(DataError, match="is not an interval"):
            series(LOG, "accounts", every, CHAIN)
    with pytest.raises(DataError, match="accounts"):
        series(LOG, "acounts", 100, CHAIN)
    with pytest.raises(NotThere, match="balance"):
        series(LOG, "accounts", 100, CHAIN, columns=["balanc"])
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingLibrary, match="pip install polars"):
        series(LOG, "accounts", 100, CHAIN, last=1).polars()
