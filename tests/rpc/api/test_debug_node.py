"""debug_node_api, which makes blocks by hand. Only programs on the same machine can use it."""

from typing import Any

import pytest

from state.chain.debug import BLOCKS_MAX, GENERATED_TIME_MAX
from state.chain.skip import Skip
from state.operations.transfers import Transfer
from state.protocol.keys.keys import public_key, wif_from_secret
from state.protocol.values.asset import COIN, Asset
from state.protocol.values.text import time_text
from tests.helpers.api import INIT_SECRET, INIT_WIF, NOW, ApiChain, Refusal, secret

WIF = wif_from_secret(secret("other"))
TRANSFER = Transfer(from_="initminer", to="null", amount=Asset(1, COIN))


@pytest.fixture
def api() -> ApiChain:
    """A chain with two blocks."""
    api = ApiChain()
    api.start(2)
    return api


def generated(api: ApiChain, **params: Any) -> int:
    return int(api.call("debug_node_api.debug_generate_blocks", **{"debug_key": INIT_WIF} | params)["blocks"])


def until(api: ApiChain, time: int, **params: Any) -> int:
    arguments = {"debug_key": INIT_WIF, "head_block_time": time_text(time)} | params
    return int(api.call("debug_node_api.debug_generate_blocks_until", **arguments)["blocks"])


def test_blocks_are_made_one_slot_after_the_other(api: ApiChain) -> None:
    time = api.state.head_time
    assert generated(api, count=3) == 3
    assert api.state.props.head_block_number == 5
    assert api.state.head_time == time + 9


def test_slots_are_missed_before_each_block(api: ApiChain) -> None:
    time = api.state.head_time
    assert generated(api, count=2, miss_blocks=4) == 2
    assert api.state.head_time == time + 2 * 5 * 3


def test_invalid_requests_make_no_blocks(api: ApiChain) -> None:
    assert generated(api, count=0) == generated(api) == generated(api, debug_key="", count=3) == 0
    code, message = api.refused("debug_node_api.debug_generate_blocks", debug_key="no key", count=1)
    assert (code, message) == (-32003, "Assert Exception:private_key.valid(): unable to parse private key")
    code, message = api.refused("debug_node_api.debug_generate_blocks", debug_key=INIT_WIF, count=BLOCKS_MAX + 1)
    assert (code, message.split(": ")[-1]) == (-32003, f"No more than {BLOCKS_MAX} blocks can be generated at once")
    assert api.state.props.head_block_number == 2


def test_the_witness_is_given_the_key(api: ApiChain) -> None:
    head = api.state.props.head_block_id
    assert generated(api, debug_key=WIF, count=1, edit_if_needed=False) == 0
    assert generated(api, debug_key=WIF, count=2) == 2
    assert api.state.witness("initminer").signing_key == public_key(secret("other"))
    assert api.chain.block_by_number(2) is not None
    assert api.call("block_api.get_block", block_num=3)["block"]["previous"] == head.hex()


@pytest.mark.parametrize(
    ("count", "missed"), [(1, 4_294_967_295), (1, 900_000_000), (1000, 900_000), (2, 447_167_082), (BLOCKS_MAX, 4_294_967_295)]
)
def test_a_time_jump_beyond_the_maximum_changes_nothing(api: ApiChain, count: int, missed: int) -> None:
    time = api.state.head_time
    code, message = api.refused("debug_node_api.debug_generate_blocks", debug_key=WIF, count=count, miss_blocks=missed)
    slots = (GENERATED_TIME_MAX - time) // 3
    assert (code, message.split(": ", 1)[1]) == (
        -32003,
        f"count {count} and miss_blocks {missed} lead beyond second {GENERATED_TIME_MAX} since 1970: only {slots} slots are left",
    )
    assert api.state.props.head_block_number == 2
    assert api.state.witness("initminer").signing_key == public_key(INIT_SECRET)
    assert generated(api, count=2) == 2
    assert api.state.head_time == time + 6


def test_the_last_slot_can_be_reached(api: ApiChain) -> None:
    assert generated(api, count=1, miss_blocks=(GENERATED_TIME_MAX - api.state.head_time) // 3 - 1) == 1
    assert GENERATED_TIME_MAX - api.state.head_time < 3
    assert api.call("database_api.get_dynamic_global_properties")["head_block_number"] == 3
    _, message = api.refused("debug_node_api.debug_generate_blocks", debug_key=INIT_WIF, count=1)
    assert message.endswith("only 0 slots are left")


@pytest.mark.parametrize("skip", [*(1 << bit for bit in range(14)), Skip.FORK_DB | Skip.WITNESS_SIGNATURE, 4_294_967_295])
def test_blocks_follow_a_block_with_skipped_checks(api: ApiChain, skip: int) -> None:
    """A block made with skipped checks is like any other block: later blocks link to it, it is signed, and it can be applied again."""
    api.chain.push_transaction(api.transaction(TRANSFER, signers=(INIT_SECRET,)))
    assert generated(api, count=2, skip=skip) == 2
    assert generated(api, count=2, skip=skip, debug_key=WIF) == 2
    block = api.chain.block_by_number(api.state.props.head_block_number)
    assert block is not None
    assert any(block.witness_signature)
    assert len(api.state.transactions) == 1
    assert generated(api, count=1) == 1
    assert generated(api, count=1, debug_key=wif_from_secret(secret("third"))) == 1
    assert api.call("debug_node_api.debug_set_hardfork", hardfork_id=23) == {}
    assert api.state.props.head_block_number == 8


def test_a_head_with_skipped_checks_survives_edits(api: ApiChain) -> None:
    """An edit reapplies the head block, and skips the same checks as when the block was first accepted."""
    api.chain.push_transaction(api.transaction(TRANSFER), Skip.AUTHORITY_CHECK)
    assert generated(api, count=1, skip=Skip.AUTHORITY_CHECK) == 1
    number = api.state.props.head_block_number
    assert api.call("debug_node_api.debug_set_hardfork", hardfork_id=23) == {}
    assert api.state.props.head_block_number == number
    assert generated(api, count=1, debug_key=WIF) == 1


def test_blocks_until_a_time_sparsely(api: ApiChain) -> None:
    time = api.state.head_time
    assert until(api, time) == 0
    assert until(api, time + 3000) == 2
    assert api.state.head_time == time + 3000
    # One block is made immediately. No block is made for a time less than two slots after it.
    assert until(api, time + 3000 + 5) == 1
    assert api.state.head_time == time + 3003
    assert until(api, time + 3003 + 13) == 2
    assert api.state.head_time == time + 3003 + 12


def test_blocks_until_a_time_in_every_slot(api: ApiChain) -> None:
    time = api.state.head_time
    assert until(api, time + 10, generate_sparsely=False) == 4
    assert api.state.head_time == time + 12
    assert until(api, time + 15, generate_sparsely=False) == 1
    assert until(api, time + 100, debug_key="", generate_sparsely=False) == 0


def test_blocks_from_a_file(api: ApiChain) -> None:
    def push(count: int, **more: Any) -> int:
        return int(api.call("debug_node_api.debug_push_blocks", src_filename="/some/file", count=count, **more)["blocks"])

    assert push(7) == 7
    assert push(2, skip_validate_invariants=True) == 2
    assert push(0) == 0
    assert api.processor.files == [("/some/file", 7, Skip.NOTHING), ("/some/file", 2, Skip.VALIDATE_INVARIANTS)]


def test_pop_block_returns_the_head_and_keeps_it(api: ApiChain) -> None:
    assert api.call("debug_node_api.debug_pop_block") == api.call("block_api.get_block", block_num=2)
    assert api.state.props.head_block_number == 2
    assert ApiChain().call("debug_node_api.debug_pop_block") == {}


def test_hardforks_are_applied_by_the_next_block() -> None:
    api = ApiChain()
    genesis = api.state.head_time
    api.generate(2)
    assert api.state.hardfork == 0
    assert api.call("debug_node_api.debug_set_hardfork", hardfork_id=99) == {}
    assert api.call("debug_node_api.debug_set_hardfork", hardfork_id=2) == {}
    api.generate()
    has = [api.call("debug_node_api.debug_has_hardfork", hardfork_id=number)["has_hardfork"] for number in (0, 2, 3)]
    assert has == [True, True, False]
    assert api.state.head_time == genesis + 9 < NOW


def test_methods_that_database_api_has_too(api: ApiChain) -> None:
    hardforks = api.call("debug_node_api.debug_get_hardfork_property_object")
    assert hardforks == api.call("database_api.get_hardfork_properties")
    assert api.call("debug_node_api.debug_get_witness_schedule") == api.call("database_api.get_witness_schedule")


def test_the_schema_is_empty(api: ApiChain) -> None:
    assert api.call("debug_node_api.debug_get_json_schema") == {"schema": ""}


def test_remote_clients_can_not_call_debug_node_api(api: ApiChain) -> None:
    with pytest.raises(Refusal, match="Could not find API debug_node_api") as refusal:
        api.call("debug_node_api.debug_pop_block", local=False)
    assert refusal.value.code == -32002
