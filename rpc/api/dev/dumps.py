"""Dumps: writing the whole chain to a file, and loading it."""

from typing import Annotated

from rpc.api.dev.head import HeadInfo, head_of
from rpc.declare.arguments import Example, Text, UInt64
from rpc.declare.method import method
from rpc.devchain import DevChain
from rpc.processor import Processor
from state.chain.chain import Chain


class Dump(HeadInfo):
    """A dump: the head of its chain, and the size of the file in bytes."""

    path: str
    size: UInt64


@method("dev_api.dump", loopback_only=True)
async def dump(chain: Chain, devchain: DevChain, processor: Processor, /, path: Annotated[Text, Example("chain.dump")]) -> Dump:
    """Write the chain to a file on the node's machine: blocks, state, pending transactions and clock, without dev snapshots.

    An existing dump is replaced. Any other existing file is refused.
    """
    size = await processor.in_turn(lambda: devchain.dump(path))
    return {**head_of(chain, devchain), "path": path, "size": size}


@method("dev_api.load", loopback_only=True)
async def load(chain: Chain, devchain: DevChain, processor: Processor, /, path: Annotated[Text, Example("chain.dump")]) -> HeadInfo:
    """Replace the chain by a dump of the same chain, and return its head. If the file can't be used, nothing changes.

    The clock has the offset of the dumped chain from the machine's clock. A node with `--data` refuses this: stop it and use
    `coind snapshot load`.
    """
    await processor.in_turn(lambda: devchain.load(path))
    return head_of(chain, devchain)
