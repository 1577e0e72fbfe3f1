"""Declaring methods with `@method` and a function's signature, and replies that are wrapped under a key."""

import json
from typing import Any

import pytest

from rpc.caller import Caller
from rpc.declare.arguments import APPBASE, UInt32
from rpc.declare.method import VALUES_MAX, Method, bind, method
from rpc.declare.record_encoder import FIELDS_OF_UNIT, RecordEncoder
from rpc.describe.openrpc import document
from rpc.describe.signature import signature
from rpc.jsonrpc.dispatch import Service
from rpc.records.vesting import DelegationRecord
from state.chain.genesis import new_state
from state.protocol.work import TooMuchWork
from state.tables.accounts import VestingDelegation
from tests.helpers.chains import genesis_spec
from tests.helpers.fakes import fake_wire


def declared() -> dict[str, Method]:
    """Return two methods whose replies are wrapped under a key. One of them is asynchronous."""
    registry: dict[str, Method] = {}

    @method("a_api.now", key="numbers", registry=registry)
    @method("condenser_api.now", registry=registry)
    def now(state: None, number: UInt32) -> list[UInt32]:
        """Return the number in a list, without awaiting."""
        return [number]

    @method("a_api.later", key="number", registry=registry)
    async def later(state: None, number: UInt32) -> UInt32:
        """Return the number asynchronously."""
        return number

    return registry


@pytest.mark.parametrize(
    ("name", "params", "result"),
    [
        ("a_api.now", {"number": 7}, {"numbers": [7]}),
        ("condenser_api.now", [7], [7]),
        ("a_api.later", {"number": 7}, {"number": 7}),
    ],
)
async def test_a_reply_is_wrapped_under_its_key(name: str, params: Any, result: Any) -> None:
    service = Service(declared().values(), wire=fake_wire(), state=None)
    reply = service.answer(json.dumps({"jsonrpc": "2.0", "id": 1, "method": name, "params": params}).encode())
    answer = json.loads(reply if isinstance(reply, bytes) else await reply)
    assert answer["result"] == result


async def test_a_method_receives_its_caller() -> None:
    registry: dict[str, Method] = {}

    @method("a_api.who", registry=registry)
    async def who(state: None, caller: Caller, /, number: UInt32) -> list[Any]:
        """Return the caller's address, whether it is local, and the number."""
        return [caller.address, caller.is_local, number]

    service = Service(registry.values(), wire=fake_wire(), state=None)
    reply = service.answer(b'{"jsonrpc":"2.0","id":1,"method":"a_api.who","params":{"number":7}}', Caller("10.0.0.1", "because"))
    assert not isinstance(reply, bytes)
    assert json.loads(await reply)["result"] == ["10.0.0.1", False, 7]
    assert [parameter.name for parameter in registry["a_api.who"].parameters] == ["number"]


def test_the_key_is_in_signature_and_schema() -> None:
    registry = declared()
    assert signature(registry["a_api.now"], fake_wire())["ret"] == {"numbers": []}
    assert signature(registry["condenser_api.now"], fake_wire())["ret"] == []
    schemas = {entry["name"]: entry["result"]["schema"] for entry in document(registry.values(), fake_wire())["methods"]}
    number = {"type": "integer", "minimum": 0, "maximum": 2**32 - 1}
    assert schemas["a_api.later"] == {"type": "object", "properties": {"number": number}, "required": ["number"]}
    assert schemas["condenser_api.now"] == {"type": "array", "items": number}


def test_the_arguments_of_clients_without_local_rights_have_a_bounded_number_of_values() -> None:
    registry: dict[str, Method] = {}

    @method("test_api.count", registry=registry)
    def count(_state: object, names: Any) -> int:
        """Return the number of names."""
        return len(names)

    call = bind(registry["test_api.count"], fake_wire(), {"state": None})
    far = Caller("192.0.2.1", "it is far away")
    assert call({"names": ["a"] * VALUES_MAX}, Caller()) == VALUES_MAX
    assert call({"names": ["a"] * (VALUES_MAX - 1)}, far) == VALUES_MAX - 1
    for names in (["a"] * VALUES_MAX, [["a"] * 100] * (VALUES_MAX // 100)):
        with pytest.raises(TooMuchWork):
            call({"names": names}, far)


def test_encoded_records_count_as_work() -> None:
    state = new_state(genesis_spec("dev"))
    show = RecordEncoder(state.wire, APPBASE, state.work)
    before = state.work.spent
    show.each(DelegationRecord, state.vesting_delegations)
    assert state.work.spent == before
    row = VestingDelegation(delegator="alice", delegatee="bob")
    show.each(DelegationRecord, [row] * 10)
    assert state.work.spent == before + 10 * (1 + len(DelegationRecord.__struct_fields__) // FIELDS_OF_UNIT)
