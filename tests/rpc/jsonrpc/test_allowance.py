"""Allowances of clients for refused work, with a clock that the test advances."""

import pytest

from rpc.caller import LOCAL, Caller
from rpc.declare.errors import RefusedTooOften
from rpc.jsonrpc import allowance
from rpc.jsonrpc.allowance import (
    ADDRESSES_MAX,
    ALLOWANCE_UNITS,
    ANY_KIND,
    CALL_UNITS_MIN,
    DEBT_UNITS_MAX,
    FORGIVEN_PER_SECOND,
    LEFT_UNITS_MIN,
    REPORT_SECONDS,
    Allowances,
)
from state.protocol.errors import Refused
from state.protocol.work import LOCAL_UNITS_MAX, UNITS_MAX, TooMuchWork
from tests.helpers.log_capture import capture_logs

ONE, OTHER = Caller("10.0.0.1", "it is far away"), Caller("10.0.0.2", "it is far away")
NO = Refused("no")


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def allowances(time: Time) -> Allowances:
    """The allowances of clients on a new node, none of which has been used."""
    return Allowances(time)


def test_the_limit_is_the_rest_of_the_allowance(allowances: Allowances) -> None:
    assert allowances.units_max(ONE) == allowances.call_units_max(ONE) == UNITS_MAX
    allowances.charge(ONE, ALLOWANCE_UNITS - UNITS_MAX, NO)
    assert allowances.units_max(ONE) == UNITS_MAX
    assert allowances.limited == 0
    allowances.charge(ONE, 1500, NO)
    assert allowances.units_max(ONE) == allowances.call_units_max(ONE) == UNITS_MAX - 1500
    assert allowances.limited == 1


def test_a_used_up_allowance_is_refused_until_some_is_forgiven(allowances: Allowances, time: Time) -> None:
    allowances.charge(ONE, 10 * ALLOWANCE_UNITS, NO)
    with pytest.raises(RefusedTooOften) as refused:
        allowances.units_max(ONE)
    assert refused.value.seconds == (DEBT_UNITS_MAX + LEFT_UNITS_MIN) / FORGIVEN_PER_SECOND
    assert allowances.is_used_up(ONE)
    assert allowances.call_units_max(ONE) == CALL_UNITS_MIN
    time.now += refused.value.seconds
    assert allowances.units_max(ONE) == LEFT_UNITS_MIN
    time.now += ALLOWANCE_UNITS / FORGIVEN_PER_SECOND
    assert allowances.units_max(ONE) == UNITS_MAX
    assert allowances.limited == 0


def test_work_beyond_the_rest_is_owed(allowances: Allowances, time: Time) -> None:
    seconds = 60
    for _ in range(seconds):
        if not allowances.is_used_up(ONE):
            allowances.charge(ONE, UNITS_MAX, NO)
        time.now += 1
    assert allowances.refused[ANY_KIND, "Refused"] <= ALLOWANCE_UNITS + UNITS_MAX + seconds * FORGIVEN_PER_SECOND


def test_other_clients_and_local_programs_are_not_limited(allowances: Allowances) -> None:
    for caller in (ONE, LOCAL):
        allowances.charge(caller, ALLOWANCE_UNITS, NO)
    assert allowances.units_max(OTHER) == UNITS_MAX
    assert allowances.units_max(LOCAL) == allowances.call_units_max(LOCAL) == LOCAL_UNITS_MAX
    assert allowances.limited == 1


def test_full_allowances_are_evicted_first(monkeypatch: pytest.MonkeyPatch, time: Time) -> None:
    assert ADDRESSES_MAX <= 10_000
    monkeypatch.setattr(allowance, "ADDRESSES_MAX", 10)
    monkeypatch.setattr(allowance, "FORGOTTEN", 4)
    allowances = Allowances(time)
    for number in range(10):
        allowances.charge(Caller(f"10.1.0.{number}", "far"), ALLOWANCE_UNITS - 1000 * number, NO)
    allowances.charge(ONE, ALLOWANCE_UNITS, NO)
    limited = [number for number in range(10) if allowances.call_units_max(Caller(f"10.1.0.{number}", "far")) < UNITS_MAX]
    assert limited == [0, 1, 2, 3, 4]  # of number 5 a whole usual limit is left
    assert len(allowances._buckets) == 7


def test_refused_work_is_counted_by_kind_and_reason(allowances: Allowances) -> None:
    allowances.charge(ONE, 100, TooMuchWork("a call", 90, {"rows": 60, "keys": 31}))
    allowances.charge(LOCAL, 7, NO)
    # This work was refused before it was done.
    allowances.charge(ONE, 50, TooMuchWork("a transaction", 90, {"transfer": 6000}))
    assert {pair: units for pair, units in allowances.refused.items() if units} == {
        ("rows", "TooMuchWork"): 60,
        ("keys", "TooMuchWork"): 31,
        (ANY_KIND, "TooMuchWork"): 9,
        ("transfer", "TooMuchWork"): 50,
        (ANY_KIND, "Refused"): 7,
    }


def test_an_address_is_logged_periodically(allowances: Allowances, time: Time) -> None:
    with capture_logs() as lines:
        for _ in range(int(REPORT_SECONDS * 1.5)):
            allowances.charge(ONE, ALLOWANCE_UNITS, NO)
            allowances.charge(OTHER, 1, NO)
            time.now += 1
    assert [line["client"] for line in lines] == [ONE.address] * 2


def test_addresses_of_one_network_share_an_allowance_of_eight(allowances: Allowances) -> None:
    rotating = [Caller(f"2001:db8:1:{n:x}::/64", "it is far away") for n in range(40)]
    for caller in rotating[:8]:
        allowances.charge(caller, ALLOWANCE_UNITS, NO)
    assert allowances.is_used_up(rotating[30])
    assert not allowances.is_used_up(Caller("2001:db8:2:1::/64", "it is far away"))
    with pytest.raises(RefusedTooOften):
        allowances.units_max(rotating[30])


def test_one_address_leaves_its_network_the_rest(allowances: Allowances) -> None:
    for _ in range(3):
        allowances.charge(Caller("2001:db8:1:1::/64", "it is far away"), ALLOWANCE_UNITS, NO)
    assert allowances.units_max(Caller("2001:db8:1:2::/64", "it is far away")) == UNITS_MAX
