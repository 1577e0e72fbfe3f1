"""A fork in this process: its chain, its service, and calls of it. For tests of what a fork does with calls."""

import json
from typing import Any

from node.app.service import new_service
from node.devchain.block_modes import block_mode
from node.devchain.devchain import DevChain
from node.devchain.direct_processor import DirectProcessor
from node.runtime.clock import ChainClock
from rpc.caller import LOCAL, Caller
from rpc.declare.demand import CallGuard
from state.chain.chain import Chain
from state.protocol.keys.keys import secret_from_wif


class ForkedNode:
    """A node of a chain, with manual blocks. `serve` starts its service."""

    def __init__(self, chain: Chain) -> None:
        self.chain, self.state = chain, chain.state
        clock = ChainClock(lambda: chain.state.head_time * 1000)
        secrets = [secret_from_wif(text) for text in chain.state.spec.witness_keys]
        self.devchain = DevChain(chain, clock, secrets, mode=block_mode("manual"))
        self.devchain.make_first_blocks()
        self.processor = DirectProcessor(chain, self.devchain, clock)

    def serve(self, call_guard: CallGuard) -> None:
        """Start the service. `call_guard` makes its calls."""
        self.service = new_service(self.chain, self.processor, self.devchain, tuple(self.state.plugins), call_guard=call_guard)

    async def call(self, method: str, params: Any, caller: Caller = LOCAL) -> Any:
        """Return the result of a call, or its error object."""
        reply = self.service.answer(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode(), caller)
        decoded = json.loads(reply if isinstance(reply, bytes) else await reply)
        return decoded.get("result", decoded.get("error"))

    async def names(self, *names: str, caller: Caller = LOCAL) -> list[str]:
        """Return the names that get_accounts finds, of these."""
        return [account["name"] for account in await self.call("condenser_api.get_accounts", [list(names)], caller)]
