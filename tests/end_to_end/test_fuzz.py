"""Damaged requests, transactions and blocks. The node must answer each of them with a well-formed response, and a refused request must
change nothing.

`FUZZ=10000 bin/test tests/end_to_end/test_fuzz.py` runs 10,000 cases instead of 1,200.
"""

import json
import os
from collections.abc import Iterator
from random import Random
from typing import Any

import trio

from node.app.service import new_service
from node.devchain.devchain import DevChain
from node.processor.processor import Processor
from node.runtime.clock import ChainClock
from rpc.jsonrpc.dispatch import Service
from state.chain.chain import Chain
from state.chain.digest import state_digest
from state.protocol.errors import ChainError
from tests.conformance import run
from tests.conformance.play import Player
from tests.conftest import CASES
from tests.helpers.log_capture import capture_logs
from tests.helpers.mutations import damaged

ROUNDS = int(os.environ.get("FUZZ", "1200"))
ANSWER_SECONDS_MAX = 5
HEIGHT = 53


def base_requests(player: Player, service: Service) -> Iterator[dict[str, Any]]:
    """Yield recorded valid requests of all kinds, and blocks that extend the head."""
    served = {name for name in service.registry.names if not name.startswith("debug_node_api")}
    for event in player.events():
        if event.get("method") in served:
            yield {"jsonrpc": "2.0", "id": 1, "method": event["method"], "params": event["params"]}
        elif "trx" in event:
            params = {"trx": event["trx"]}
            yield {"jsonrpc": "2.0", "id": 1, "method": "network_broadcast_api.broadcast_transaction", "params": params}
    for number in (HEIGHT + 1, HEIGHT, 30):
        block = player.wire.unpack_block(player.log, player.places[number - 1][0])[0]
        for method, legacy in (("network_broadcast_api.broadcast_block", False), ("condenser_api.broadcast_block", True)):
            shown = player.wire.block_to_json(block, legacy)
            yield {"jsonrpc": "2.0", "id": 1, "method": method, "params": [shown] if legacy else {"block": shown}}


def snapshot(chain: Chain) -> tuple[str, int]:
    """Return the data that a refused request must not change."""
    return state_digest(chain.state), len(chain.pending)


async def test_damaged_requests_are_answered_and_change_nothing() -> None:
    player = Player(CASES / "tx_validity")
    player.advance(HEIGHT)
    processor = Processor(player.chain)
    service = new_service(player.chain, processor, DevChain(player.chain, ChainClock(lambda: 2_000_000_000_000)), ())
    random = Random(ROUNDS)
    refused = accepted = 0
    with capture_logs() as logs:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(processor.run)
            requests = list(base_requests(player, service))
            before = snapshot(player.chain)
            for _ in range(ROUNDS):
                body = damaged(random, random.choice(requests))
                with trio.fail_after(ANSWER_SECONDS_MAX):
                    answer = service.answer(body)
                    reply = answer if isinstance(answer, bytes) else await answer
                assert run.proper(reply.decode()), (body, reply)
                decoded = json.loads(reply)
                if "error" in (decoded if isinstance(decoded, dict) else decoded[0]):
                    refused += 1
                    assert "Traceback" not in reply.decode()
                    assert snapshot(player.chain) == before, (body, reply)
                else:
                    accepted += 1
                    before = snapshot(player.chain)
            nursery.cancel_scope.cancel()
    assert [entry for entry in logs if entry["log_level"] in ("error", "critical")] == []
    assert refused > accepted > 0


def test_damaged_blocks_are_refused_and_change_nothing() -> None:
    player = Player(CASES / "tx_validity")
    player.advance(HEIGHT)
    start, end = player.places[HEIGHT]
    packed = player.log[start:end]
    random = Random(ROUNDS)
    before = snapshot(player.chain)
    for _ in range(ROUNDS // 4):
        data = bytearray(packed)
        for _ in range(random.choice((1, 1, 2, 5))):
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        if random.random() < 0.2:
            del data[random.randrange(len(data)) :]
        if bytes(data) == packed:
            continue
        try:
            player.chain.push_block(player.wire.unpack_block(bytes(data))[0])
        except ChainError:
            assert snapshot(player.chain) == before
            continue
        # A block of another branch is stored without being applied.
        assert player.chain.state.props.head_block_number == HEIGHT
        assert snapshot(player.chain) == before
