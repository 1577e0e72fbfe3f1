"""JSON that is read in steps."""

import json

import pytest

from node.client import json_steps
from node.client.errors import TooLarge
from node.client.json_steps import WHOLE_SIZE_MAX, json_in_steps
from rpc.jsonrpc.scheduler import ReplyScheduler


@pytest.mark.parametrize("size", [10, WHOLE_SIZE_MAX // 10])
async def test_json_read_in_steps_has_the_same_value(size: int) -> None:
    value = {"texts": ["[" * 9, "é\ud7ff"] * size, "numbers": [1, -2.5, 10**18], "nothing": None}
    assert await ReplyScheduler().run_steps(json_in_steps(json.dumps(value).encode())) == value


async def test_too_many_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_steps, "MARKS_MAX", WHOLE_SIZE_MAX)
    with pytest.raises(TooLarge):
        await ReplyScheduler().run_steps(json_in_steps(b"[" + b"[]," * WHOLE_SIZE_MAX))
