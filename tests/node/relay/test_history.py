"""How blocks stand in a broker: names and ids, what messages say, and where a block is found whatever has been undone before."""

import random

import msgspec
import pytest

from node.failures import NodeError
from node.relay.history import (
    Message,
    Names,
    block_message_id,
    branch_of,
    find_block,
    is_in_block,
    operation_message_id,
    operation_of,
    read_message,
    undone_line,
)
from rpc.push.packed import packed_line
from tests.helpers.nodes import dev_chain, make_block


def test_names_have_no_signs_of_their_own_meaning() -> None:
    names = Names("my chain.*")
    assert (names.blocks, names.undone) == ("coind.my_chain__.blocks", "coind.my_chain__.undone")
    assert (names.blocks_stream, names.operations_stream) == ("coind-my_chain__-blocks", "coind-my_chain__-operations")
    assert Names("dev").kind("transfer_operation") == "coind.dev.operations.transfer"


def test_ids_of_messages() -> None:
    assert block_message_id("00ff", 0) == "00ff"
    assert block_message_id("00ff", 2) == "00ff+2"
    assert block_message_id("00ff", 0, 17) == "00ff.17"
    assert operation_message_id("00ff", 3) == "00ff-3"


def test_what_messages_say() -> None:
    chain = dev_chain()
    one, two = make_block(chain), make_block(chain)
    message = read_message(packed_line(chain.state.wire, two, (), ()))
    assert message == Message(2, two.id.hex(), one.id.hex())
    assert read_message(undone_line(5, 9)) == Message(4)
    for line in (b"", b"{}", b"[]", b'{"block":"x"}'):
        with pytest.raises(NodeError, match="message of the broker"):
            read_message(line)


def test_operations_have_their_block_and_place() -> None:
    name, payload = operation_of({"block": 7, "op": {"type": "vote_operation", "value": {}}}, "07aa", 2)
    assert (name, msgspec.json.decode(payload)["block_id"], msgspec.json.decode(payload)["place"]) == ("vote_operation", "07aa", 2)
    with pytest.raises(NodeError, match="form that isn't known"):
        operation_of({"op": ["vote", {}]}, "07aa", 2)


@pytest.mark.parametrize(
    ("trx_in_block", "trx_id", "is_in"),
    [(0, "aa" * 20, True), (2**32 - 1, "00" * 20, True), (2**32 - 1, "aa" * 20, False)],
)
def test_operations_that_wait_are_in_no_block(trx_in_block: int, trx_id: str, is_in: bool) -> None:
    assert is_in_block({"trx_in_block": trx_in_block, "trx_id": trx_id}) is is_in


def history(draw: random.Random, count: int) -> list[Message]:
    """Messages of a chain on which branches are left now and then; blocks have ids of their own."""
    found: list[Message] = []
    height, made = 0, 0
    while len(found) < count:
        if height and draw.random() < 0.15:
            height -= draw.randint(1, min(height, 5))
            found.append(Message(height))
        else:
            height, made = height + 1, made + 1
            found.append(Message(height, f"id{made}"))
    return found


def main_branch(messages: list[Message]) -> list[tuple[int, str]]:
    """The blocks that are left of a history, newest first."""
    branch: list[tuple[int, str]] = []
    for message in messages:
        if message.id:
            branch.append((message.height, message.id))
        else:
            branch = branch[: message.height]
    return branch[::-1]


@pytest.mark.parametrize("seed", range(20))
async def test_blocks_are_found_whatever_was_undone(seed: int) -> None:
    messages = history(random.Random(seed), 60)

    async def read(place: int) -> Message:
        return messages[place - 1]

    branch = main_branch(messages)
    assert await branch_of(1, 60, read, 100) == branch
    assert await branch_of(1, 60, read, 3) == branch[:3]
    for number, _ in branch:
        place = await find_block(number, 1, 60, read)
        assert place is not None
        found = await read(place)
        assert (found.height, bool(found.id)) == (number, True)
    assert await find_block(branch[0][0] + 10, 1, 60, read) is None
    assert await find_block(1, 2, 1, read) is None
