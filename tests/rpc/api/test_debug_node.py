"""Making blocks by hand: debug_node_api, for programs on the same machine only."""

from typing import Any

import pytest

from state.chain.debug import BLOCKS_MAX
from state.chain.skip import Skip
from state.protocol.keys.keys import public_key, wif_from_secret
from state.protocol.values.text import time_text
from tests.helpers.api import INIT_WIF, NOW, Refusal, Site, secret

WIF = wif_from_secret(secret("other"))


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
