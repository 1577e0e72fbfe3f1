"""Tables as scripts read them, compared with the state's own tables: rows, indices, Arrow and DataFrames. A script can't change the state
through them.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from node.research.library import ChainAt, MissingLibrary, NotThere, OrderedView, TableView, chain_at
from state.plugins.registry import PLUGINS
from state.store import Table
from tests.helpers.golden import fails
from tests.helpers.nodes import case_log

IMMUTABLE = (int, str, bytes, bool, type(None))


@cache
def chain(case: str = "rewards") -> ChainAt:
    """Return a chain at the end of a recorded test case, with all plugins."""
    ends = {"rewards": 105, "smt_tokens": 44, "market_orders": 62}
    return chain_at(case_log(case), ends[case], "steem-testnet", plugins=PLUGINS)


def tables(case: str = "rewards") -> Iterator[tuple[TableView, Table[Any]]]:
    """Yield the view of each table together with the table."""
    for view in chain(case).tables.values():
        yield view, view._table


def ids(rows: Any) -> list[int]:
    return [row.id for row in rows]


@pytest.mark.parametrize("case", ["rewards", "smt_tokens", "market_orders"])
def test_rows_are_those_of_the_table(case: str) -> None:
    for view, table in tables(case):
        assert len(view) == len(table)
        for copy, row in zip(view, table, strict=True):
            assert [getattr(copy, name) for name in view.fields] == [getattr(row, name) for name in row.__struct_fields__]
            assert view.row(row.id) == copy


@pytest.mark.parametrize("case", ["rewards", "smt_tokens", "market_orders"])
def test_no_value_of_a_row_can_be_changed(case: str) -> None:
    def changeable(value: Any) -> bool:
        if isinstance(value, tuple):
            return any(map(changeable, value))
        if isinstance(value, Struct):
            return not value.__struct_config__.frozen or any(changeable(getattr(value, name)) for name in value.__struct_fields__)
        return not isinstance(value, IMMUTABLE)

    for view, _ in tables(case):
        for row in view:
            assert [name for name in view.fields if changeable(getattr(row, name))] == [], view.name


def test_views_are_read_only() -> None:
    before, accounts = chain().digest, chain().tables["accounts"]
    row = accounts["ada"]
    with pytest.raises(AttributeError):
        setattr(row, "balance", 1)  # noqa: B010
    with pytest.raises(AttributeError):
        delattr(row, "balance")
    for write in ("insert", "modify", "remove"):
        with pytest.raises(AttributeError, match=f"no index {write}"):
            getattr(accounts, write)
    with pytest.raises(TypeError):
        accounts["ada"] = row
    with pytest.raises(TypeError):
        del chain().tables["accounts"]  # type: ignore[attr-defined]
    assert chain().digest == before


@pytest.mark.parametrize("case", ["rewards", "smt_tokens", "market_orders"])
def test_indices_are_those_of_the_table(case: str) -> None:
    for view, table in tables(case):
        for name in view.indices:
            index, own = view.by(name), getattr(table, name)
            if isinstance(index, OrderedView):
                assert ids(index) == ids(own)
                assert ids(reversed(index)) == ids(own)[::-1]
                assert (len(index), getattr(index.first(), "id", None)) == (len(own), getattr(own.first(), "id", None))
            if not isinstance(index, OrderedView) or own.keys is not None:
                for row in table:
                    key = tuple(getattr(row, field) for field in index.fields)
                    assert index[key].id == row.id
                    assert key in index


@given(st.tuples(st.sampled_from(["", "a", "ada", "cat", "dan", "m", "zoe"]), st.sampled_from(["", "ada", "bea", "c", "max", "zz"])))
def test_ranges_of_an_order(bounds: tuple[str, str]) -> None:
    by_name = chain().tables["accounts"].by_name
    low, high = bounds
    names = sorted(row.name for row in chain().tables["accounts"])
    assert [row.name for row in by_name.between(low, high)] == [name for name in names if low <= name < high]
    assert [row.name for row in by_name.starting(low)] == [name for name in names if low <= name]
    assert [row.name for row in by_name.after(low)] == [name for name in names if low < name]
    assert [row.name for row in by_name.before(low)] == [name for name in names if name < low][::-1]
    assert [row.name for row in by_name.equal(low)] == [name for name in names if name == low]


def test_descending_orders_take_plain_values() -> None:
    by_votes = chain().tables["witnesses"].by_vote_name
    votes = [(row.votes, row.owner) for row in by_votes]
    assert votes == sorted(votes, key=lambda each: (-each[0], each[1]))


def test_rows_are_found_by_the_unique_index_with_that_many_fields() -> None:
    tables = chain().tables
    post = next(iter(tables["comments"]))
    assert tables["accounts"]["ada"].name == "ada"
    assert tables["comments"][post.author, post.permlink] == post
    assert (tables["accounts"].get("nobody"), "nobody" in tables["accounts"], "ada" in tables["accounts"]) == (None, False, True)
    for wrong in (
        lambda: tables["accounts"]["nobody"],
        lambda: tables["accounts"]["ada", "bea"],
        lambda: tables["accounts"].by("by_age"),
        lambda: tables["accounts"].by("by_vote_weight")["ada"],
        lambda: tables["acounts"],
        lambda: tables["comments"].get("ada"),
    ):
        with pytest.raises(NotThere):
            wrong()


@pytest.mark.parametrize(("table", "plugin"), [("follow_follows", "follow"), ("market_buckets", "market_history")])
def test_the_error_for_a_missing_plugin_names_it(table: str, plugin: str) -> None:
    with pytest.raises(NotThere, match=f"plugins=.'{plugin}'"):
        chain_at(case_log("rewards"), 1, "steem-testnet", plugins=()).tables[table]
    assert table in chain_at(case_log("rewards"), 1, "steem-testnet", plugins=[plugin]).tables


def test_names_are_those_of_the_chain() -> None:
    row = chain().tables["accounts"]["ada"]
    assert "reward_steem_balance" in row.as_dict()
    assert row.reward_steem_balance == chain()._chain.state.account("ada").reward_coin_balance


@pytest.mark.parametrize("case", ["rewards", "smt_tokens"])
def test_arrow_has_every_row(case: str) -> None:
    for view, table in tables(case):
        assert view.arrow().column("id").to_pylist() == ids(table)
        assert sum(batch.num_rows for batch in view.batches()) == len(table)


def test_frames_keep_integers() -> None:
    frame = chain().tables["accounts"].frame()
    assert list(frame["name"]) == [row.name for row in chain().tables["accounts"]]
    assert frame.set_index("name")["balance"]["ada"] == 100_000
    for view, _ in tables():
        made = view.frame()
        assert len(made) == len(view)
        assert not [name for name in made if made[name].dtype.kind == "f"], view.name


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pandas", None)
    with fails(MissingLibrary):
        chain().tables["accounts"].frame()
