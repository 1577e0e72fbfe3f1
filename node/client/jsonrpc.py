"""JSON-RPC requests and replies, as a client encodes and decodes them."""

import json
from typing import Any

from node.client.errors import RefusedCall


def encode_call(call_id: int, method: str, params: Any) -> bytes:
    """Encode a JSON-RPC request."""
    return json.dumps({"jsonrpc": "2.0", "id": call_id, "method": method, "params": params}).encode()


def result_of(method: str, answer: Any) -> Any:
    """Return the result in a reply. Raises RefusedCall for an error reply, and ValueError if it is not a JSON-RPC reply."""
    if not isinstance(answer, dict) or not ("result" in answer or "error" in answer):
        raise ValueError("not an answer of JSON-RPC")
    if "result" not in answer:
        error = answer["error"]
        raise RefusedCall(method, error if isinstance(error, dict) else {"message": str(error)})
    return answer["result"]
