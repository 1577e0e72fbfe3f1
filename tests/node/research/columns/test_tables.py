"""Table rows as Arrow batches, for every table of a chain with all plugins."""

from functools import partial

import pyarrow as pa
import pytest

from node.research.columns.names import names_of
from node.research.columns.tables import plugins_for, rows_of
from node.runtime.errors import NodeError
from node.specs.builder import load_spec
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.plugins.registry import PLUGINS, enable
from state.store import Table
from tests.conftest import CASES
from tests.export.comparing import replayed
from tests.helpers.golden import fails

SPEC = load_spec("steem-testnet")


@pytest.fixture(scope="module")
def chain() -> Chain:
    """A chain that has rows in most of its tables."""
    return replayed(CASES / "rewards" / "block_log", SPEC)


@pytest.mark.parametrize("is_flat", [False, True])
def test_every_table_has_rows_of_plain_columns(chain: Chain, is_flat: bool) -> None:
    names = names_of(chain.state)
    assert {"accounts", "comments", "market_buckets", "follow_follows"} <= names.keys()
    for name, table in names.items():
        rows = rows_of(chain.state, name, is_flat=is_flat)
        whole = rows.whole()
        assert whole.num_rows == len(table)
        assert rows.schema.names[0] == "id"
        assert len(set(rows.schema.names)) == len(rows.schema.names)
        assert not is_flat or not any(pa.types.is_nested(field.type) for field in rows.schema), name


def test_amounts_times_and_keys_have_their_own_types(chain: Chain) -> None:
    first = rows_of(chain.state, "accounts").whole().to_pylist()[-1]
    row = list(chain.state.accounts)[-1]
    assert (first["id"], first["name"], first["balance"], first["balance_symbol"]) == (row.id, row.name, row.balance, "TESTS")
    assert first["created"].timestamp() == row.created
    assert first["memo_key"].startswith("TST")
    assert first["reward_steem_balance_symbol"] == "TESTS"  # named as on the chain
    assert first["sbd_seconds"] == str(row.sbd_seconds)


def test_a_field_with_an_id_stays_a_number(chain: Chain) -> None:
    votes = rows_of(chain.state, "comment_votes").whole().to_pylist()
    assert [(vote["voter"], vote["comment"]) for vote in votes] == [(row.voter, row.comment) for row in chain.state.comment_votes]


def test_rows_come_in_batches(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("node.research.columns.tables.BATCH_ROWS", 4)
    sizes = [batch.num_rows for batch in rows_of(chain.state, "accounts").batches()]
    assert sum(sizes) == len(chain.state.accounts)
    assert max(sizes) == 4


def test_a_table_of_a_plugin_needs_its_plugins() -> None:
    assert plugins_for(SPEC, {"accounts"}) == ()
    assert plugins_for(SPEC, {"market_buckets"}) == ("market_history",)
    assert plugins_for(SPEC, {"follow_follows"}) == ("reputation", "follow")
    with fails(NodeError):
        plugins_for(SPEC, {"acounts"})
    with fails(NodeError):
        rows_of(new_state(SPEC), "market_buckets")


def test_every_table_has_a_unique_name() -> None:
    state = new_state(SPEC, partial(enable, names=PLUGINS))
    tables = names_of(state)
    assert len({id(table) for table in tables.values()}) == len(tables)
    assert all(isinstance(table, Table) for table in tables.values())
