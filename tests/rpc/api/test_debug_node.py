"""Making blocks by hand: debug_node_api, for programs on the same machine only."""

from typing import Any

import pytest

from state.chain.debug import BLOCKS_MAX, GENERATED_TIME_MAX
from state.chain.skip import Skip
from state.operations.transfers import Transfer
from state.protocol.keys.keys import public_key, wif_from_secret
from state.protocol.values.asset import COIN, Asset
from state.protocol.values.text import time_text
from tests.helpers.api import INIT_SECRET, INIT_WIF, NOW, Refusal, Site, secret

WIF = wif_from_secret(secret("other"))
TRANSFER = Transfer(from_="initminer", to="null", amount=Asset(1, COIN))


@pytest.fixture
def site() -> Site:
    """Two blocks."""
    site = Site()
    site.start(2)
    return site


def generated(site: Site, **params: Any) -> int:
    return int(site.call("debug_node_api.debug_generate_blocks", **{"debug_key": INIT_WIF} | params)["blocks"])


def until(site: Site, time: int, **params: Any) -> int:
    arguments = {"debug_key": INIT_WIF, "head_block_time": time_text(time)} | params
    return int(site.call("debug_node_api.debug_generate_blocks_until", **arguments)["blocks"])


def test_blocks_are_made_one_slot_after_the_other(site: Site) -> None:
    time = site.state.head_time
    assert generated(site, count=3) == 3
    assert site.state.props.head_block_number == 5
    assert site.state.head_time == time + 9


def test_slots_are_missed_before_each_block(site: Site) -> None:
    time = site.state.head_time
    assert generated(site, count=2, miss_blocks=4) == 2
    assert site.state.head_time == time + 2 * 5 * 3


def test_nothing_to_make(site: Site) -> None:
    assert generated(site, count=0) == generated(site) == generated(site, debug_key="", count=3) == 0
    code, message = site.refused("debug_node_api.debug_generate_blocks", debug_key="no key", count=1)
    assert (code, message) == (-32003, "Assert Exception:private_key.valid(): unable to parse private key")
    code, message = site.refused("debug_node_api.debug_generate_blocks", debug_key=INIT_WIF, count=BLOCKS_MAX + 1)
    assert (code, message.split(": ")[-1]) == (-32003, f"No more than {BLOCKS_MAX} blocks can be generated at once")
    assert site.state.props.head_block_number == 2


def test_the_witness_is_given_the_key(site: Site) -> None:
    head = site.state.props.head_block_id
    assert generated(site, debug_key=WIF, count=1, edit_if_needed=False) == 0
    assert generated(site, debug_key=WIF, count=2) == 2
    assert site.state.witness("initminer").signing_key == public_key(secret("other"))
    assert site.chain.block_by_number(2) is not None
    assert site.call("block_api.get_block", block_num=3)["block"]["previous"] == head.hex()


@pytest.mark.parametrize(
    ("count", "missed"), [(1, 4_294_967_295), (1, 900_000_000), (1000, 900_000), (2, 447_167_082), (BLOCKS_MAX, 4_294_967_295)]
)
def test_a_leap_beyond_the_end_of_time_changes_nothing(site: Site, count: int, missed: int) -> None:
    time = site.state.head_time
    code, message = site.refused("debug_node_api.debug_generate_blocks", debug_key=WIF, count=count, miss_blocks=missed)
    slots = (GENERATED_TIME_MAX - time) // 3
    assert (code, message.split(": ", 1)[1]) == (
        -32003,
        f"count {count} and miss_blocks {missed} lead beyond second {GENERATED_TIME_MAX} since 1970: only {slots} slots are left",
    )
    assert site.state.props.head_block_number == 2
    assert site.state.witness("initminer").signing_key == public_key(INIT_SECRET)
    assert generated(site, count=2) == 2
    assert site.state.head_time == time + 6


def test_the_last_slot_can_be_reached(site: Site) -> None:
    assert generated(site, count=1, miss_blocks=(GENERATED_TIME_MAX - site.state.head_time) // 3 - 1) == 1
    assert GENERATED_TIME_MAX - site.state.head_time < 3
    assert site.call("database_api.get_dynamic_global_properties")["head_block_number"] == 3
    _, message = site.refused("debug_node_api.debug_generate_blocks", debug_key=INIT_WIF, count=1)
    assert message.endswith("only 0 slots are left")


@pytest.mark.parametrize("skip", [*(1 << bit for bit in range(14)), Skip.FORK_DB | Skip.WITNESS_SIGNATURE, 4_294_967_295])
def test_a_chain_goes_on_whatever_was_skipped(site: Site, skip: int) -> None:
    """As blocks of others do as well: the next one links to the last, is signed, and the last one can be applied again."""
    site.chain.push_transaction(site.transaction(TRANSFER, signers=(INIT_SECRET,)))
    assert generated(site, count=2, skip=skip) == 2
    assert generated(site, count=2, skip=skip, debug_key=WIF) == 2
    block = site.chain.block_by_number(site.state.props.head_block_number)
    assert block is not None
    assert any(block.witness_signature)
    assert len(site.state.transactions) == 1
    assert generated(site, count=1) == 1
    assert generated(site, count=1, debug_key=wif_from_secret(secret("third"))) == 1
    assert site.call("debug_node_api.debug_set_hardfork", hardfork_id=23) == {}
    assert site.state.props.head_block_number == 8


def test_a_head_that_was_accepted_with_skipped_checks_is_not_lost(site: Site) -> None:
    """Changing the head applies it again, without the checks that it was accepted without."""
    site.chain.push_transaction(site.transaction(TRANSFER), Skip.AUTHORITY_CHECK)
    assert generated(site, count=1, skip=Skip.AUTHORITY_CHECK) == 1
    number = site.state.props.head_block_number
    assert site.call("debug_node_api.debug_set_hardfork", hardfork_id=23) == {}
    assert site.state.props.head_block_number == number
    assert generated(site, count=1, debug_key=WIF) == 1


def test_until_a_time_sparsely(site: Site) -> None:
    time = site.state.head_time
    assert until(site, time) == 0
    assert until(site, time + 3000) == 2
    assert site.state.head_time == time + 3000
    # One block is made now, and none for a time that lies less than two slots after it.
    assert until(site, time + 3000 + 5) == 1
    assert site.state.head_time == time + 3003
    assert until(site, time + 3003 + 13) == 2
    assert site.state.head_time == time + 3003 + 12


def test_until_a_time_in_every_slot(site: Site) -> None:
    time = site.state.head_time
    assert until(site, time + 10, generate_sparsely=False) == 4
    assert site.state.head_time == time + 12
    assert until(site, time + 15, generate_sparsely=False) == 1
    assert until(site, time + 100, debug_key="", generate_sparsely=False) == 0


def test_blocks_from_a_file(site: Site) -> None:
    def push(count: int, **more: Any) -> int:
        return int(site.call("debug_node_api.debug_push_blocks", src_filename="/some/file", count=count, **more)["blocks"])

    assert push(7) == 7
    assert push(2, skip_validate_invariants=True) == 2
    assert push(0) == 0
    assert site.processor.files == [("/some/file", 7, Skip.NOTHING), ("/some/file", 2, Skip.VALIDATE_INVARIANTS)]


def test_pop_block_tells_the_head_and_leaves_it(site: Site) -> None:
    assert site.call("debug_node_api.debug_pop_block") == site.call("block_api.get_block", block_num=2)
    assert site.state.props.head_block_number == 2
    assert Site().call("debug_node_api.debug_pop_block") == {}


def test_hardforks_are_applied_by_the_next_block() -> None:
    site = Site()
    genesis = site.state.head_time
    site.generate(2)
    assert site.state.hardfork == 0
    assert site.call("debug_node_api.debug_set_hardfork", hardfork_id=99) == {}
    assert site.call("debug_node_api.debug_set_hardfork", hardfork_id=2) == {}
    site.generate()
    has = [site.call("debug_node_api.debug_has_hardfork", hardfork_id=number)["has_hardfork"] for number in (0, 2, 3)]
    assert has == [True, True, False]
    assert site.state.head_time == genesis + 9 < NOW


def test_the_schema_is_empty(site: Site) -> None:
    assert site.call("debug_node_api.debug_get_json_schema") == {"schema": ""}


def test_others_do_not_see_it(site: Site) -> None:
    with pytest.raises(Refusal, match="Could not find API debug_node_api") as refusal:
        site.call("debug_node_api.debug_pop_block", local=False)
    assert refusal.value.code == -32002
