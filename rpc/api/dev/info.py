"""Settings of the test chain."""

from rpc.api.dev.head import HeadInfo, head_of
from rpc.api.dev.transactions import Impersonated, impersonated_of
from rpc.declare.arguments import Int64, UInt32
from rpc.declare.method import method
from rpc.devchain import DevChain
from state.chain.chain import Chain


class Info(HeadInfo):
    """The head and the time of the chain, and all settings of dev_api."""

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
def get_info(chain: Chain, devchain: DevChain, /) -> Info:
    """Return the head and the settings of the chain.

    They are the offset of its clock from the machine's (negative: behind), the block mode, the leap mode, the number of witnesses in a
    round, the number of pending transactions, the ids of dev snapshots, and the impersonated accounts.
    """
    spec = chain.state.spec
    return {
        **head_of(chain, devchain),
        "chain": spec.name,
        "chain_id": spec.chain_id.hex(),
        "version": devchain.version,
        "seconds_ahead": devchain.seconds_ahead,
        "block_mode": devchain.block_mode,
        "leap": devchain.leap,
        "witnesses": chain.state.schedule.num_scheduled_witnesses,
        "pending": len(chain.pending),
        "snapshots": devchain.snapshots,
        "impersonated": impersonated_of(chain),
    }
