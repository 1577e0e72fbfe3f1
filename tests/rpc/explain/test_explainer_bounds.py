"""Explanations are cheap: the number of attempts is limited, logs are bounded, and a bug never reaches the reply."""

import json
import time
from typing import Any

import pytest
from msgspec.structs import replace

from rpc.explain import budget, explain, explainer, refused_log
from rpc.explain.budget import Budget, SharedBudget
from rpc.explain.case import MEMBERS_MAX, Explanation, RefusalCase, shortened, span
from rpc.explain.explainer import Explainer
from rpc.explain.refused_log import RefusedTransactionLog
from rpc.explain.values import in_words
from state.operations.custom import CustomJson
from state.protocol.errors import ChainError, Refused
from tests.rpc.explain.world import STRANGER, TRANSFER, World, signed, with_secrets

TRANSFER_JSON = {"from": "alice", "to": "bob", "amount": "1.000 COIN", "memo": ""}


@pytest.fixture(scope="module")
def world() -> World:
    return World()


def test_attempts_are_refilled_over_time() -> None:
    shared_budget = SharedBudget()
    spent = 0
    while shared_budget.budget(1000).take(budget.TRIES_MAX):
        spent += budget.TRIES_MAX
    assert spent == budget.TRIES_SAVED_MAX
    assert shared_budget.budget(1000).left == 0
    assert shared_budget.budget(1100).left == budget.TRIES_PER_SECOND // 10
    assert shared_budget.budget(10**9).left == budget.TRIES_MAX
    # Setting the clock back adds no attempts.
    assert shared_budget.budget(0).left == budget.TRIES_MAX


def test_a_budget_is_spent_by_a_refused_attempt() -> None:
    own = Budget(3)
    assert own.take(3)
    assert not own.is_spent
    assert not own.take()
    assert own.is_spent


def test_without_attempts_the_facts_are_given(world: World) -> None:
    trx = with_secrets(STRANGER)(world)
    error = world.chain.pool.refusal_of(trx)
    assert error is not None
    explained = Explainer(world.chain, lambda: 5.0).explain(trx, error, Budget(0))
    assert explained is not None
    assert (explained.rule, explained.values["cause"]) == ("missing_active_authority", None)
    assert "Not all causes could be checked" in explained.why
    assert explained.values["required"][0]["short_by"] == 1


def test_a_large_transaction_costs_many_attempts(world: World) -> None:
    """An attempt on a large transaction counts as several attempts, because the whole transaction is hashed and packed again."""
    large = CustomJson(required_auths=("alice",), id="x", json='"' + "x" * 8000 + '"')
    trx = with_secrets(STRANGER, operation=large)(world)
    error, own = world.chain.pool.refusal_of(trx), Budget()
    assert error is not None
    start = time.process_time()
    assert Explainer(world.chain, lambda: 5.0).explain(trx, error, own) is not None
    assert own.is_spent
    assert time.process_time() - start < 1


def test_nested_values_are_shortened(world: World) -> None:
    """The nested lists are shortened. Each one alone would be short enough to display, but not all of them together."""
    nested: Any = []
    for _ in range(3):
        nested = [nested] * MEMBERS_MAX
    explained = unread(world, ["transfer", TRANSFER_JSON | {"memo": nested}])
    assert (explained.rule, explained.values["field"]) == ("unreadable_field", "operations[0].memo")
    assert len(json.dumps(explained.values["given"])) < 1000
    assert len(explained.why) < 500


def test_one_undecodable_operation_among_many_is_found_quickly(world: World) -> None:
    """The valid operations are decoded as a whole. Decoding all of them field by field would take half a second."""
    unread(world, ["transfer", TRANSFER_JSON | {"memo": []}])
    proposal: dict[str, Any] = {
        "creator": "alice",
        "receiver": "alice",
        "start_date": "2027-01-01T00:00:00",
        "end_date": "2028-01-01T00:00:00",
    }
    proposal |= {"daily_pay": "1.000 SBD", "subject": "s", "permlink": "p", "extensions": []}
    start = time.process_time()
    explained = unread(world, *[["create_proposal", proposal]] * 999, ["transfer", TRANSFER_JSON | {"memo": []}])
    assert time.process_time() - start < 0.3
    assert explained.values["field"] == "operations[999].memo"


def unread(world: World, *operations: Any) -> Explanation:
    """Return the explanation of a transaction whose operations can't be parsed."""
    given = {"ref_block_num": 1, "ref_block_prefix": 1, "expiration": "2027-01-01T00:00:00", "operations": list(operations)}
    with pytest.raises(ChainError) as caught:
        world.wire.transaction_from_json(given, True)
    explained = Explainer(world.chain, lambda: 5.0).explain(None, caught.value, Budget(), given=given, is_legacy=True)
    assert explained is not None
    return explained


def test_a_bug_costs_only_the_explanation(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[str] = []

    def fail(case: RefusalCase) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(explain, "explain", fail)
    monkeypatch.setattr(explainer._log, "error", lambda text, **values: logged.append(text), raising=False)
    error = world.refuse(signed(TRANSFER, by=(("bob", "active"),))(world))
    assert error["message"].startswith("missing required active authority")
    assert "explain" not in error["data"]
    assert logged == ["a refusal could not be explained"]


def test_a_failing_listener_costs_only_the_explanation(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Explainer(world.chain, lambda: 5.0)
    calls: list[Any] = []
    own.on_refused.append(lambda trx, error, explanation: calls.append((trx, explanation)))
    trx = signed(TRANSFER)(world)
    assert own.refuse(trx, Refused("no")) == calls[0][1]
    assert calls[0][0] is trx
    own.on_refused.append(lambda trx, error, explanation: calls.append(1 // 0))
    logged: list[str] = []
    monkeypatch.setattr(explainer._log, "error", lambda text, **values: logged.append(text), raising=False)
    assert own.refuse(trx, Refused("no")) is None
    assert logged == ["a refusal could not be recorded"]


def test_the_refused_transactions_are_bounded_in_number_and_size(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    log = RefusedTransactionLog(world.wire)
    trx = signed(TRANSFER)(world)
    for time_ in range(refused_log.REFUSED_MAX + 5):
        log.add(time_, 1, trx, None, Refused("no"), None)
    assert len(log) == refused_log.REFUSED_MAX
    assert next(log.newest(1))[0].time == refused_log.REFUSED_MAX + 4
    monkeypatch.setattr(refused_log, "REFUSED_BYTES_MAX", 10 * log.size // len(log))
    log.add(0, 1, trx, None, Refused("x" * 100_000), None)
    assert 0 < len(log) < 11
    assert log.size <= refused_log.REFUSED_BYTES_MAX


def test_large_or_undecodable_transactions_are_logged_without_content(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    log = RefusedTransactionLog(world.wire)
    trx = signed(TRANSFER)(world)
    log.add(0, 1, None, {"memo": "x" * 200_000}, Refused("no"), None)
    log.add(0, 1, None, {"memo": "\udcff"}, Refused("no"), None)
    monkeypatch.setattr(refused_log, "TRANSACTION_BYTES_MAX", 10)
    log.add(0, 1, trx, None, Refused("no"), None)
    assert [transaction for _, transaction, _ in log.newest(3)] == [None, None, None]


def test_invalid_utf8_in_a_transaction_is_shown(world: World) -> None:
    """Invalid UTF-8 is possible only in packed transactions, since JSON can't represent it."""
    trx = signed(replace(TRANSFER, to="\udcff\udcfe"))(world)
    error = world.chain.pool.refusal_of(trx)
    assert error is not None
    explained = Explainer(world.chain, lambda: 5.0).refuse(trx, error)
    assert explained is not None
    assert explained.rule == "invalid_account_name"
    assert explained.values["fields"]["to"] == "\ufffd\ufffd"


def test_long_texts_are_cut() -> None:
    assert shortened("x" * 1000) == "x" * 200 + "..."
    assert shortened("a\udcffb") == "a\ufffdb"


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "0 seconds"), (1, "1 second"), (-61, "1 minute 1 second"), (90_061, "1 day 1 hour"), (7200, "2 hours")]
)
def test_durations_in_words(seconds: int, said: str) -> None:
    assert span(seconds) == said


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("o.expiration > _db.head_block_time()", "expiration must be greater than head_block_time()"),
        ("body.size() > 0", "body must not be empty"),
        ("id.size() <= COIN_CUSTOM_OP_ID_MAX_LENGTH", "the length of id must be at most COIN_CUSTOM_OP_ID_MAX_LENGTH"),
        ("is_asset_type( fee, COIN_SYMBOL )", "fee must be in COIN"),
        ("voter.can_vote", "voter.can_vote must be true"),
        ("false", ""),
        ("a > b || c > d", ""),
    ],
)
def test_conditions_in_words(condition: str, said: str) -> None:
    assert in_words(condition) == said
