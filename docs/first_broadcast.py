"""Prints a request that broadcasts a signed transfer, ready for curl: FROM KEY TO AMOUNT [URL].

The reference block comes from the node, as for every client. Run it from the project's root with .venv/bin/python.
"""

import json
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import state.operations  # noqa: F401 - fills the registry
from node.specs.builder import load_spec
from state.protocol.keys.keys import secret_from_wif
from state.protocol.keys.signatures import Canonical, sign
from state.protocol.transaction import Wire

LIFETIME = 600  # seconds
WAIT_SECONDS_MAX = 60


def ask(url: str, method: str, *params: Any) -> Any:
    """Call a method, and return its result."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    with urllib.request.urlopen(url, body) as reply:
        return json.loads(reply.read())["result"]


def first_head(url: str) -> Any:
    """Return the properties of the head, once there is a block 1: before it, the head's time is that of the genesis, long ago."""
    end = time.monotonic() + WAIT_SECONDS_MAX
    while True:
        try:
            head = ask(url, "condenser_api.get_dynamic_global_properties")
            if head["head_block_number"]:
                return head
        except urllib.error.URLError as error:
            reason = str(error.reason)
        else:
            reason = "it makes no blocks"
        if time.monotonic() > end:
            sys.exit(f"no block from {url}: {reason}")
        time.sleep(0.2)


def main(source: str, key: str, target: str, amount: str, url: str = "http://127.0.0.1:8090") -> None:
    """Build, sign, and print the request."""
    wire = Wire(load_spec("dev"))
    head = first_head(url)
    fields = {
        "ref_block_num": head["head_block_number"] & 0xFFFF,
        "ref_block_prefix": int.from_bytes(bytes.fromhex(head["head_block_id"])[4:8], "little"),
        "expiration": head["time"],
        "operations": [["transfer", {"from": source, "to": target, "amount": amount, "memo": "first"}]],
    }
    trx = wire.transaction_from_json(fields, legacy=True)
    trx.expiration += LIFETIME
    wire.seal(trx)
    trx.signatures = (sign(secret_from_wif(key), wire.signature_digest(trx), Canonical.bip_0062),)
    shown = wire.transaction_to_json(wire.seal(trx), legacy=True)
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "condenser_api.broadcast_transaction", "params": [shown]}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
