"""What drives the chain, as a whole."""

from rpc.api.dev.head import Head, head_of
from rpc.api.dev.transactions import Impersonated, impersonated_of
from rpc.driver import Driver
from rpc.service.arguments import Int64, UInt32
from rpc.service.method import method
from state.chain.chain import Chain


class Info(Head):
    """The head and the time of the chain, and everything that methods of this group set."""

    chain: str
    chain_id: str
    version: str
    seconds_ahead: Int64
    block_mode: str
    leap: str
    witnesses: UInt32
    pending: UInt32
    snapshots: list[UInt32]
    impersonated: Impersonated


@method("dev_api.get_info", loopback_only=True)
def get_info(chain: Chain, driver: Driver, /) -> Info:
    """Return the head, how far the chain's time runs ahead of the machine's (negative: behind), when blocks are made, what a leap in time
    does, how many witnesses a round has, how many transactions wait, the ids of the moments that are kept, and who is impersonated.
    """
    spec = chain.state.spec
    return {
        **head_of(chain, driver),
        "chain": spec.name,
        "chain_id": spec.chain_id.hex(),
        "version": driver.version,
        "seconds_ahead": driver.seconds_ahead,
        "block_mode": driver.block_mode,
        "leap": driver.leap,
        "witnesses": chain.state.schedule.num_scheduled_witnesses,
        "pending": len(chain.pending),
        "snapshots": driver.snapshots,
        "impersonated": impersonated_of(chain),
    }
