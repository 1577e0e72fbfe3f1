"""The head of the chain and its time, the result of methods that change them."""

from typing import TypedDict

from rpc.declare.arguments import UInt32
from rpc.devchain import DevChain
from state.chain.chain import Chain
from state.protocol.values.text import time_text


class HeadInfo(TypedDict):
    """The head block, and the time of the chain's clock, which is the real time plus its offset."""

    head_block_number: UInt32
    head_block_id: str
    head_block_time: str
    last_irreversible_block_num: UInt32
    time: str


def head_of(chain: Chain, devchain: DevChain) -> HeadInfo:
    """Return the head of a chain."""
    props = chain.state.props
    return {
        "head_block_number": props.head_block_number,
        "head_block_id": props.head_block_id.hex(),
        "head_block_time": time_text(props.time),
        "last_irreversible_block_num": props.last_irreversible_block_num,
        "time": time_text(devchain.time),
    }
