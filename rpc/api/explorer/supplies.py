"""History of the supplies and the vesting fund since the start of the node."""

from operator import attrgetter
from typing import Annotated, TypedDict

from rpc.declare.arguments import MaxValue, UInt32
from rpc.declare.method import method
from rpc.explorer.supply_history import SAMPLES_MAX, Sample, SupplyHistory
from state.protocol.values.text import time_text

SampleLimit = Annotated[UInt32, MaxValue(SAMPLES_MAX)]


class SeriesColumns(TypedDict):
    """Samples of the chain's totals as parallel lists, oldest first.

    Amounts are in the smallest unit, as text. A sample is taken at each block whose number is a multiple of `stride`, and at the head
    block.
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
    """Return the newest `limit` samples of supplies, the vesting fund and the number of accounts since the start of the node.

    The node retains about 1,000 samples. When there are more, it drops every second one. The remaining samples always cover the whole time.
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
    """Return a field of each sample as text, since browsers can't parse 64-bit integers from JSON."""
    return list(map(str, map(attrgetter(field), samples)))
