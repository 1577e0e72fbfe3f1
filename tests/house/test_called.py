"""That calls of methods are noted: only those that ran, whether they wait for something or not."""

import json

from rpc.service.arguments import UInt32
from rpc.service.envelope import Service
from rpc.service.method import Method, method
from tests.helpers import called
from tests.helpers.fakes import fake_wire


async def test_what_runs_is_noted() -> None:
    registry: dict[str, Method] = {}

    @method("a_api.now", registry=registry)
    def now(state: None, number: UInt32) -> int:
        """At once."""
        return number

    @method("a_api.later", registry=registry)
    async def later(state: None, number: UInt32) -> int:
        """Later."""
        return number

    service = Service(called.watched(registry.values()), wire=fake_wire(), state=None)

    async def ask(name: str, number: object) -> bytes:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": name, "params": {"number": number}})
        reply = service.answer(body.encode())
        return reply if isinstance(reply, bytes) else await reply

    for name in registry:
        assert b'"error"' in await ask(name, [])
        assert name not in called.CALLED
        assert b'"result":7' in await ask(name, 7)
        assert name in called.CALLED
    called.CALLED.difference_update(registry)
