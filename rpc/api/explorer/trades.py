"""The last trades of the market with their parties and blocks, which the market's own methods don't show."""

from bisect import bisect_right
from typing import Annotated, TypedDict

from rpc.declare.arguments import MaxValue, UInt32
from rpc.declare.method import method
from state.plugins.market_history import MARKET_HISTORY, recent_trades
from state.protocol.constants import COIN_BLOCK_INTERVAL
from state.protocol.values.text import time_text
from state.tables import State

TRADE_UNITS = 1  # of work per trade
HEADER_UNITS = 1  # of work per block whose time is read

TradesLimit = Annotated[UInt32, MaxValue(100)]


class MarketTrade(TypedDict):
    """A match of two orders: that of the taker was new, that of the maker was open. Both have an owner, a number and the amount paid.

    `time` is the time of the block before the trade. `block_num` is null for a trade of a pending transaction, and for one in a
    block that this chain doesn't have. The owners are "" for a trade that was imported with a fork.
    """

    time: str
    block_num: UInt32 | None
    taker: str
    taker_order: UInt32
    taker_paid: str
    maker: str
    maker_order: UInt32
    maker_paid: str


@method("explorer_api.list_trades", plugin=MARKET_HISTORY)
def list_trades(state: State, /, limit: TradesLimit = 30) -> list[MarketTrade]:
    """Return at most 100 of the last trades, newest first."""
    asset_text, head = state.wire.codecs.symbols.asset_text, state.props.head_block_number
    found: list[MarketTrade] = []
    time, before = -1, head  # of the block before a trade, which several trades can share
    for trade in recent_trades(state, limit):
        state.work.spend(TRADE_UNITS, "trades")
        if trade.time != time:
            time, before = trade.time, find_block(state, trade.time, before)
        operation = trade.operation
        found.append(
            {
                "time": time_text(time),
                "block_num": before + 1 if before < head and state.time_of_block(before) == time else None,
                "taker": operation.current_owner,
                "taker_order": operation.current_orderid,
                "taker_paid": asset_text(operation.current_pays),
                "maker": operation.open_owner,
                "maker_order": operation.open_orderid,
                "maker_paid": asset_text(operation.open_pays),
            }
        )
    return found


def find_block(state: State, time: int, newest: int) -> int:
    """Return the number of the last block up to block `newest` that isn't later than `time`.

    The times of about log2 of the possible blocks are read, and only one if no slot was missed since.
    """

    def read(number: int) -> int:
        state.work.spend(HEADER_UNITS, "times of blocks")
        return state.time_of_block(number) or 0  # blocks that the chain doesn't have are earlier than all others

    # Each slot without a block makes the number larger.
    first = max(0, state.props.head_block_number - (state.head_time - time) // COIN_BLOCK_INTERVAL)
    if first >= newest or read(first) == time:
        return min(first, newest)
    return first + bisect_right(range(first + 1, newest + 1), time, key=read)
