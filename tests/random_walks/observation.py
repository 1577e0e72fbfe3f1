"""The observable content of a chain in a comparable form: state, plugin data, blocks and replies."""

import json
from collections.abc import Iterator
from typing import Any

from node.devchain.devchain import DevChain
from node.runtime.clock import ChainClock
from rpc.declare.method import METHODS
from rpc.explorer.supply_history import SupplyHistory
from rpc.jsonrpc.dispatch import Service
from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.chain.invariants import validate_invariants
from state.snapshot.image import parts_of
from tests.helpers.api import StubProcessor

LAST_BLOCKS = 4


def observe(chain: Chain) -> dict[str, Any]:
    """Return all data of a chain that must be equal. This also verifies the tables, and drops the pending transactions."""
    chain.clear_pending()
    state = chain.state
    validate_invariants(state)
    for _, table in state.tables():
        table.check()
    found: dict[str, Any] = {"digest": state_digest(state)}
    found |= {f"part {name}": b"".join(part.dump()) for name, part in parts_of(state).items()}
    for number in range(1, state.props.head_block_number + 1):
        block = chain.block_by_number(number)
        found[f"block {number}"] = None if block is None else state.wire.pack_block(block)
    return found | replies(chain)


def replies(chain: Chain) -> dict[str, Any]:
    """Return the chain's response to each question."""
    state, found = chain.state, dict[str, Any]()
    service = Service(
        METHODS.values(),
        wire=state.wire,
        plugins=None,
        state=state,
        chain=chain,
        processor=StubProcessor(chain),
        devchain=DevChain(chain, ChainClock(lambda: state.head_time * 1000)),
        clock=lambda: state.head_time,
        series=SupplyHistory(chain),
    )
    for method, params in questions(chain):
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        found[f"reply {method} {params}"] = service.answer(json.dumps(request).encode())
    return found


def questions(chain: Chain) -> Iterator[tuple[str, Any]]:
    """Yield calls of read methods with parameters that suit this chain."""
    state = chain.state
    names = sorted(account.name for account in state.accounts)
    head = state.props.head_block_number
    for name in ("get_dynamic_global_properties", "get_witness_schedule", "get_feed_history", "get_hardfork_version", "get_order_book"):
        yield f"condenser_api.{name}", [10] if name == "get_order_book" else []
    yield "condenser_api.get_accounts", [names]
    yield "rc_api.find_rc_accounts", {"accounts": names}
    yield "rc_api.get_resource_pool", {}
    yield "market_history_api.get_recent_trades", {"limit": 100}
    yield "database_api.list_witnesses", {"start": "", "limit": 100, "order": "by_name"}
    yield "database_api.list_votes", {"start": ["", "", ""], "limit": 100, "order": "by_comment_voter"}
    yield "database_api.list_witness_votes", {"start": ["", ""], "limit": 100, "order": "by_account_witness"}
    yield "database_api.list_comments", {"start": ["1970-01-01T00:00:00", "", ""], "limit": 100, "order": "by_cashout_time"}
    yield "tags_api.get_trending_tags", {"start_tag": "", "limit": 100}
    yield "bridge.get_payout_stats", {"limit": 100}
    for sort in ("created", "trending", "hot", "payout", "promoted", "muted"):
        yield "bridge.get_ranked_posts", {"sort": sort, "tag": "", "limit": 20}
    for sort in ("created", "trending", "active", "votes", "cashout", "children", "promoted"):
        yield f"condenser_api.get_discussions_by_{sort}", [{"tag": "life", "limit": 20}]
    for name in names:
        yield "condenser_api.get_account_history", [name, -1, 1000]
        yield "condenser_api.get_followers", [name, "", "blog", 100]
        yield "bridge.account_notifications", {"account": name, "limit": 100}
        yield "condenser_api.get_blog", [name, 0, 100]
        yield "condenser_api.get_feed_entries", [name, 0, 100]
        yield "condenser_api.get_tags_used_by_author", [name]
        for sort in ("blog", "posts", "replies"):
            yield "bridge.get_account_posts", {"sort": sort, "account": name, "limit": 20}
    for comment in sorted(state.comments, key=lambda row: row.id):
        yield "condenser_api.get_reblogged_by", [comment.author, comment.permlink]
        yield "bridge.get_post", {"author": comment.author, "permlink": comment.permlink}
    for number in range(max(1, head - LAST_BLOCKS), head + 1):
        yield "condenser_api.get_ops_in_block", [number, False]
        yield "block_api.get_block", {"block_num": number}
        block = chain.block_by_number(number)
        for trx in () if block is None else block.transactions:
            yield "condenser_api.get_transaction", [trx.id.hex()]
            yield "transaction_status_api.find_transaction", {"transaction_id": trx.id.hex()}


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Return the parts in which two observations differ, with the first difference in each."""
    return [f"{name}: {excerpt(one.get(name), other.get(name))}" for name in one.keys() | other.keys() if one.get(name) != other.get(name)]


def excerpt(one: Any, other: Any) -> str:
    """Return the context of the first difference between two values."""
    if not isinstance(one, bytes) or not isinstance(other, bytes):
        return f"{one!r} and {other!r}"
    place = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    start = max(0, place - 60)
    return f"at {place} {one[start : place + 60]!r} and {other[start : place + 60]!r}"
