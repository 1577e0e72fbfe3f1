"""Custom operations: limits, which differ between blocks and pushed transactions, and the plugins that interpret the operations."""

import pytest
from msgspec import structs

from state.chain.chain import Chain
from state.operations.custom import Custom, CustomBinary, CustomJson
from state.protocol.authority import Authority
from state.protocol.errors import Refused
from state.protocol.operation import Operation
from state.tables import State
from state.tables.texts import CommentContent
from tests.helpers.chains import add_account, apply, chain_at, key_of, push, reason

NAMES = tuple(f"crowd{i:02}" for i in range(41))
LONG = 8193


def crowd(hardfork: int = 23) -> Chain:
    chain = chain_at(hardfork)
    add_account(chain.state, "alice")
    return chain


def many(n: int) -> tuple[Operation, ...]:
    """Return operations that `n` accounts must sign."""
    authority = Authority(1, (("alice", 1),), ((key_of("alice"), 1),))
    return (
        Custom(NAMES[:n], 1, b""),
        CustomJson(NAMES[:20], NAMES[20:n], "id", "1"),
        CustomBinary(NAMES[:10], NAMES[10:20], NAMES[20 : n - 2], (authority,), "id", b""),
    )


@pytest.mark.parametrize(("one", "most"), list(zip(many(41), many(40), strict=True)))
def test_at_most_40_accounts_sign(one: Operation, most: Operation) -> None:
    text = "Authority membership exceeded. Max: 40 Current: 41"
    chain = crowd()
    assert reason(chain, one) == text
    apply(chain, most)
    # Before hardfork 20 the limit applied only to pushed transactions.
    chain = crowd(19)
    apply(chain, one)
    if not isinstance(one, CustomBinary):
        assert reason(chain, one, by=push) == text


def test_long_payloads_only_come_in_blocks() -> None:
    chain = crowd()
    custom, binary = Custom(("alice",), 1, bytes(LONG)), CustomBinary(("alice",), data=bytes(LONG))
    json = CustomJson((), ("alice",), "id", '"' + "x" * (LONG - 2) + '"')
    assert reason(chain, custom, by=push) == "Operation data must be less than 8192 bytes."
    assert reason(chain, binary, by=push) == "Operation data must be less than 8192 bytes."
    assert reason(chain, json, by=push) == "Operation JSON must be less than 8192 bytes."
    apply(chain, custom, binary, json)
    push(chain, structs.replace(custom, data=bytes(8192)), structs.replace(json, json='"' + "x" * 8190 + '"'))


def test_the_size_is_checked_first() -> None:
    chain = crowd()
    assert "data must be less" in reason(chain, Custom(NAMES, 1, bytes(LONG)), by=push)
    assert "JSON must be less" in reason(chain, CustomJson(NAMES, (), "id", '"' + "x" * LONG + '"'), by=push)


def test_custom_binary_only_comes_in_blocks_since_hardfork_14() -> None:
    binary = CustomBinary(("alice",), id="id", data=b"x")
    assert reason(crowd(), binary, by=push) == "custom_binary_operation is deprecated"
    assert reason(crowd(13), binary) == "d.has_hardfork( COIN_HARDFORK_0_14__317 )"
    apply(crowd(14), binary)


@pytest.mark.parametrize("operation", [CustomJson((), ("alice",), "known", "1"), CustomBinary(("alice",), id="known")])
def test_an_interpreter_gets_its_id_and_its_refusal_undoes_its_changes(operation: Operation) -> None:
    chain = crowd()
    read: list[Operation] = []

    def interpreter(state: State, given: Operation) -> None:
        read.append(given)
        state.comment_contents.insert(CommentContent(comment=7))
        raise Refused("no such thing", condition="known")

    chain.state.interpreters["known"] = interpreter
    apply(chain, operation, CustomJson((), ("alice",), "other", "1"), Custom(("alice",), 3, b""))
    assert read == [operation]
    assert len(chain.state.comment_contents) == 0
    if isinstance(operation, CustomJson):
        assert reason(chain, operation, by=push) == "no such thing"
