"""The work limit of a call. A call that exceeds the limit is refused, and its work is deducted from the client's allowance."""

import json
from typing import Any

import pytest

from rpc.caller import LOCAL, Caller
from rpc.declare.arguments import UInt32
from rpc.declare.method import VALUES_MAX, Method, method
from rpc.jsonrpc.allowance import ALLOWANCE_UNITS, CALL_UNITS_MIN, Allowances
from rpc.jsonrpc.dispatch import Service
from state.protocol.work import LOCAL_UNITS_MAX, UNITS_MAX, TooMuchWork, Work
from state.store.lazy.incremental import NotReady
from tests.helpers.api import ApiChain
from tests.helpers.fakes import fake_wire

ONE, OTHER = Caller("10.0.0.1", "it is far away"), Caller("10.0.0.2", "it is far away")


class Site:
    """A service with a method that does the number of work units given in the call."""

    def __init__(self) -> None:
        registry: dict[str, Method] = {}

        @method("a_api.work", registry=registry)
        def work(state: Work, rows: UInt32, keys: UInt32) -> int:
            """Spend these units of work."""
            state.spend(rows, "rows")
            state.spend(keys, "keys")
            return rows + keys

        self.allowances = Allowances(lambda: 0.0)
        self.work = Work()
        self.service = Service(registry.values(), wire=fake_wire(), state=self.work, work=self.work, allowances=self.allowances)

    def call(self, caller: Caller, rows: int, keys: int = 0) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": "a_api.work", "params": {"rows": rows, "keys": keys}}
        reply = self.service.answer(json.dumps(body).encode(), caller, True)
        assert isinstance(reply, bytes)
        return json.loads(reply)


def test_work_limit_is_higher_for_local_calls() -> None:
    site = Site()
    assert site.call(ONE, UNITS_MAX - 1, 1)["result"] == UNITS_MAX
    assert site.call(LOCAL, LOCAL_UNITS_MAX)["result"] == LOCAL_UNITS_MAX
    assert "error" in site.call(LOCAL, LOCAL_UNITS_MAX + 1)
    assert site.allowances.limited == 0


def test_a_call_beyond_the_limit_is_refused_with_its_kinds_of_work() -> None:
    site = Site()
    data = site.call(ONE, 1000, UNITS_MAX)["error"]["data"]
    assert (data["units"], data["limit"]) == (UNITS_MAX + 1000, UNITS_MAX)
    assert data["kinds"] == {"keys": UNITS_MAX, "rows": 1000}
    assert site.allowances.refused == {("keys", "TooMuchWork"): UNITS_MAX, ("rows", "TooMuchWork"): 1000, ("any", "TooMuchWork"): 0}
    assert site.call(ONE, 1)["result"] == 1


def test_a_repeated_excess_leaves_the_minimum() -> None:
    site = Site()
    for _ in range(ALLOWANCE_UNITS // UNITS_MAX + 1):
        site.call(ONE, UNITS_MAX + 1)
    assert site.call(ONE, CALL_UNITS_MIN)["result"] == CALL_UNITS_MIN
    assert site.call(ONE, CALL_UNITS_MIN + 1)["error"]["data"]["limit"] == CALL_UNITS_MIN
    assert site.call(OTHER, UNITS_MAX)["result"] == UNITS_MAX


@pytest.mark.parametrize("caller", [ONE, LOCAL])
def test_the_limit_ends_with_the_call(caller: Caller) -> None:
    site = Site()
    site.call(caller, LOCAL_UNITS_MAX + 1)
    site.work.spend(10 * LOCAL_UNITS_MAX, "something else")


def test_other_refusals_of_calls_cost_nothing() -> None:
    site = Site()
    body = b'{"jsonrpc":"2.0","id":1,"method":"a_api.work","params":{"rows":"x"}}'
    assert b"error" in site.service.answer(body, ONE)  # type: ignore[operator]
    assert not site.allowances.refused


def test_a_transaction_with_too_many_values_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    api = ApiChain()

    def read(*_given: Any) -> Any:
        raise AssertionError("it was read")

    monkeypatch.setattr(api.wire, "transaction_from_json", read)
    body = {"jsonrpc": "2.0", "id": 1, "method": "condenser_api.broadcast_transaction", "params": [{"operations": [0] * VALUES_MAX}]}
    error = json.loads(api.answer(json.dumps(body).encode(), local=False))["error"]
    assert error["data"]["name"] == TooMuchWork.NAME


async def test_sorting_again_what_the_limit_of_the_memory_dropped_is_paid_for() -> None:
    registry: dict[str, Method] = {}
    units = UNITS_MAX
    is_sorted = False

    def advance() -> bool:
        nonlocal is_sorted
        is_sorted = True
        return False

    @method("a_api.read", registry=registry)
    def read(state: Work) -> int:
        """Read a list that was dropped."""
        nonlocal is_sorted
        if not is_sorted:
            raise NotReady(advance, units)
        is_sorted = False
        return 7

    work, allowances = Work(), Allowances(lambda: 0.0)
    service = Service(registry.values(), wire=fake_wire(), state=work, work=work, allowances=allowances)

    async def replies(caller: Caller, count: int) -> list[bool]:
        """Return for each of some calls whether it was answered."""
        body = b'{"jsonrpc":"2.0","id":1,"method":"a_api.read","params":{}}'
        found = [await service.answer_in_turn(body, caller) for _ in range(count)]
        return ["result" in json.loads(reply if isinstance(reply, bytes) else await reply) for reply in found]

    paid = ALLOWANCE_UNITS // UNITS_MAX
    assert await replies(ONE, paid + 2) == [True] * paid + [False] * 2
    assert await replies(LOCAL, 2 * paid) == [True] * (2 * paid)
    units = 0
    assert await replies(ONE, 2) == [True, True]
    units = 100 * UNITS_MAX
    assert await replies(OTHER, 1) == [True]
    assert not allowances.is_used_up(OTHER), "a call costs at most as much as a refused one"
