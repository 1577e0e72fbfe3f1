"""The whole chain in one file, and back."""

from typing import Annotated

from rpc.api.dev.head import HeadInfo, head_of
from rpc.declare.arguments import Example, Text, UInt64
from rpc.declare.method import method
from rpc.devchain import DevChain
from rpc.processor import Processor
from state.chain.chain import Chain


class Dump(HeadInfo):
    """A dump: the head of the chain in it, and the size of the file in bytes."""

    path: str
    size: UInt64


@method("dev_api.dump", loopback_only=True)
async def dump(chain: Chain, devchain: DevChain, processor: Processor, /, path: Annotated[Text, Example("chain.dump")]) -> Dump:
    """Write the chain into a file on the node's machine: blocks, state, what waits for a block, and the clock. A dump that is there is
    replaced, any other file refused. Moments that are kept are not in it.
    """
    size = await processor.in_turn(lambda: devchain.dump(path))
    return {**head_of(chain, devchain), "path": path, "size": size}


@method("dev_api.load", loopback_only=True)
async def load(chain: Chain, devchain: DevChain, processor: Processor, /, path: Annotated[Text, Example("chain.dump")]) -> HeadInfo:
    """Go on from a dump of a node of the same chain, in place of everything that is on this one, and return its head. Its clock is as far
    ahead of the machine's as that of the dumped chain was. When the file can't be used, nothing has changed.

    A node with `--data` refuses; there, stop it and use `coind snapshot load`.
    """
    await processor.in_turn(lambda: devchain.load(path))
    return head_of(chain, devchain)
