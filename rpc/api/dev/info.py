"""What drives the chain, as a whole."""

from rpc.api.dev.head import HeadInfo, head_of
from rpc.api.dev.transactions import Impersonated, impersonated_of
from rpc.declare.arguments import Int64, UInt32
from rpc.declare.method import method
from rpc.devchain import DevChain
from state.chain.chain import Chain


class Info(HeadInfo):
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
def get_info(chain: Chain, devchain: DevChain, /) -> Info:
    """Return the head, how far the chain's time runs ahead of the machine's (negative: behind), when blocks are made, what a leap in time
    does, how many witnesses a round has, how many transactions wait, the ids of the moments that are kept, and who is impersonated.
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
