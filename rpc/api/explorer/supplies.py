"""How the supplies and the vesting fund have developed while the node has run."""

from operator import attrgetter
from typing import Annotated, TypedDict

from rpc.declare.arguments import MaxValue, UInt32
from rpc.declare.method import method
from rpc.explorer.supply_history import SAMPLES_MAX, Sample, SupplyHistory
from state.protocol.values.text import time_text

SampleLimit = Annotated[UInt32, MaxValue(SAMPLES_MAX)]


class SeriesColumns(TypedDict):
    """The totals of the chain after some of its blocks, oldest first, a list for each: the first member of all is of one block, and so on.

    Money is in the smallest unit, as text. The blocks are those whose numbers are multiples of `stride`, and the head block.
    """

    stride: UInt32
    block_num: list[UInt32]
    time: list[str]
    current_supply: list[str]
    virtual_supply: list[str]
    current_sbd_supply: list[str]
    total_vesting_fund_coin: list[str]
    total_vesting_shares: list[str]
    accounts: list[UInt32]


@method("explorer_api.get_series")
def get_series(series: SupplyHistory, /, limit: SampleLimit = SAMPLES_MAX) -> SeriesColumns:
    """Return supplies, the vesting fund and the number of accounts over time, since the node has started; with a `limit` the last ones.

    At most some 1,000 blocks are kept. When there would be more, every other one is dropped, so that they always stand for the whole time.
    """
    samples = series.samples[-limit:] if limit else []
    return {
        "stride": series.stride,
        "block_num": [sample.number for sample in samples],
        "time": [time_text(sample.time) for sample in samples],
        "current_supply": texts(samples, "current_supply"),
        "virtual_supply": texts(samples, "virtual_supply"),
        "current_sbd_supply": texts(samples, "current_sbd_supply"),
        "total_vesting_fund_coin": texts(samples, "total_vesting_fund_coin"),
        "total_vesting_shares": texts(samples, "total_vesting_shares"),
        "accounts": [sample.accounts for sample in samples],
    }


def texts(samples: list[Sample], field: str) -> list[str]:
    """Return a number of each sample as text: browsers have no integers of 64 bits in JSON."""
    return list(map(str, map(attrgetter(field), samples)))
