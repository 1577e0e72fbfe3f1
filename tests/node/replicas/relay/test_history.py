"""Blocks in a broker: names, message ids, contents, and the search for a block after earlier blocks were removed from the broker."""

import json
import random

import msgspec
import pytest
from msgspec.structs import replace

from node.replicas.relay.history import (
    PART_HEADER,
    WHOLE_SIZE_MAX,
    Joiner,
    Message,
    MessagePart,
    StreamNames,
    block_message_id,
    branch_of,
    find_block,
    first_part,
    first_whole,
    is_in_block,
    operation_message_id,
    operation_of,
    parts_of,
    read_message,
    whole_of,
)
from node.runtime.errors import NodeError
from rpc.push.events import BlocksRemoved, encode_line, new_block
from tests.helpers.golden import fails
from tests.helpers.nodes import dev_chain, make_block


def test_names_hold_no_special_characters() -> None:
    names = StreamNames("my chain.*")
    assert (names.blocks, names.undone) == ("coind.my_chain__.blocks", "coind.my_chain__.undone")
    assert (names.blocks_stream, names.operations_stream) == ("coind-my_chain__-blocks", "coind-my_chain__-operations")
    assert StreamNames("dev").kind("transfer_operation") == "coind.dev.operations.transfer"


def test_message_ids() -> None:
    assert block_message_id("00ff", 0) == "00ff"
    assert block_message_id("00ff", 2) == "00ff+2"
    assert block_message_id("00ff", 0, 17) == "00ff.17"
    assert operation_message_id("00ff", 3) == "00ff-3"


def test_messages_are_decoded() -> None:
    chain = dev_chain()
    one, two = make_block(chain), make_block(chain)
    message = read_message(encode_line(new_block(chain, two)))
    assert message == Message(2, two.id.hex(), one.id.hex(), two.timestamp)
    assert read_message(encode_line(BlocksRemoved(5, 9))) == Message(4)
    for line in (b"", b"{}", b"[]", b'{"block":"x"}', b'{"head":7}'):
        with fails(NodeError):
            read_message(line)


def test_operations_have_block_and_position() -> None:
    name, payload = operation_of({"block": 7, "op": {"type": "vote_operation", "value": {}}}, "07aa", 2)
    assert (name, msgspec.json.decode(payload)["block_id"], msgspec.json.decode(payload)["place"]) == ("vote_operation", "07aa", 2)
    with fails(NodeError):
        operation_of({"op": ["vote", {}]}, "07aa", 2)


@pytest.mark.parametrize(
    ("trx_in_block", "trx_id", "is_in"),
    [(0, "aa" * 20, True), (2**32 - 1, "00" * 20, True), (2**32 - 1, "aa" * 20, False)],
)
def test_pending_operations_are_in_no_block(trx_in_block: int, trx_id: str, is_in: bool) -> None:
    assert is_in_block({"trx_in_block": trx_in_block, "trx_id": trx_id}) is is_in


def history(draw: random.Random, count: int) -> list[Message]:
    """Return the messages of a chain with random forks. No two blocks have the same id."""
    found: list[Message] = []
    height, made = 0, 0
    while len(found) < count:
        if height and draw.random() < 0.15:
            height -= draw.randint(1, min(height, 5))
            found.append(Message(height))
        else:
            made += 1
            # Some blocks are split. Some of these have only their first parts, because the relay exited.
            parts = draw.randint(2, 4) if draw.random() < 0.3 else 0
            whole = MessagePart(f"id{made}", parts, "")
            found += [Message(height, part=replace(whole, offset=place)) for place in range(parts - 1)]
            if parts and draw.random() < 0.3:
                continue
            height += 1
            found.append(Message(height, f"id{made}", part=replace(whole, offset=parts - 1) if parts else None))
    return found[:count]


def main_branch(messages: list[Message]) -> list[tuple[int, str]]:
    """Return the number and id of each block that is on the main branch after these messages, newest first."""
    branch: list[tuple[int, str]] = []
    for message in messages:
        if message.id:
            branch.append((message.height, message.id))
        else:
            branch = branch[: message.height]
    return branch[::-1]


@pytest.mark.parametrize("seed", range(20))
async def test_blocks_are_found_whatever_was_removed(seed: int) -> None:
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
        begin = messages[await first_part(place, 1, read) - 1].part
        assert begin is None or not begin.offset
    for first in range(1, 61):
        begin = messages[await first_whole(first, 60, read) - 1 :][0].part if await first_whole(first, 60, read) <= 60 else None
        assert begin is None or not begin.offset
    assert await find_block(branch[0][0] + 10, 1, 60, read) is None
    assert await find_block(1, 2, 1, read) is None


# ------------------------------------------------------------------ parts

LINE = b"0123456789" * 3
Parts = list[tuple[bytes, dict[str, str]]]


def in_parts(line: bytes = LINE, name: str = "id", size: int = 8) -> Parts:
    """Split a message into parts, and return them with their headers."""
    return [(data, {PART_HEADER: msgspec.json.encode(part).decode()}) for part, data in parts_of(line, whole_of(line, name), size)]


def joined(parts: Parts) -> list[bytes]:
    """Return the messages that a `Joiner` assembles from these parts."""
    joiner = Joiner()
    return [whole for data, headers in parts if (whole := joiner.add(data, headers)) is not None]


ALL, OTHER = in_parts(), in_parts(b"another" * 9, "other")
WHOLE = (b"a line", {"Nats-Msg-Id": "1"})


@pytest.mark.parametrize(
    ("parts", "lines"),
    [
        (ALL, [LINE]),
        ([WHOLE, *ALL, WHOLE, *OTHER], [b"a line", LINE, b"a line", b"another" * 9]),
        # Repeated parts, also after the message is complete, and parts of another size from another relay.
        ([ALL[0], ALL[0], ALL[1], ALL[0], ALL[1], *ALL[2:], ALL[3], ALL[0]], [LINE]),
        ([*ALL[:2], *in_parts(size=5)], [LINE]),
        # Incomplete parts that a relay has left.
        ([*ALL[:3], WHOLE, *ALL], [b"a line", LINE]),
        ([*ALL[:3], *OTHER], [b"another" * 9]),
        ([*ALL[:3], *in_parts(LINE[::-1])], [LINE[::-1]]),
        (ALL[:-1], []),
        ([*ALL, WHOLE, *ALL], [LINE, b"a line", LINE]),
    ],
)
def test_parts_are_joined(parts: Parts, lines: list[bytes]) -> None:
    assert joined(parts) == lines


def with_header(**said: object) -> Parts:
    """Split a message into parts, and change fields in the header of the first part."""
    data, headers = ALL[0]
    return [(data, {PART_HEADER: json.dumps(json.loads(headers[PART_HEADER]) | said)}), *ALL[1:]]


@pytest.mark.parametrize(
    "parts",
    [
        ALL[1:],
        [ALL[0], *ALL[2:]],
        [ALL[1], ALL[0], *ALL[2:]],
        [*ALL[:2], WHOLE, *ALL[2:]],
        [(b"X" * 8, ALL[0][1]), *ALL[1:]],
        [*ALL[:3], (LINE, ALL[3][1])],
        with_header(size=-1),
        with_header(size=WHOLE_SIZE_MAX + 1),
        with_header(offset=-8),
        with_header(digest="00"),
        with_header(of=None),
        [(b"", {PART_HEADER: "["})],
    ],
)
def test_invalid_parts_are_refused(parts: Parts) -> None:
    with pytest.raises(NodeError):
        joined(parts)


def test_a_message_takes_effect_with_its_last_part() -> None:
    block = Message(8, "08aa", "07aa", 1_800_000_000, 2)
    whole = whole_of(LINE, "08aa+2", block, 7)
    messages = [read_message(data, {PART_HEADER: msgspec.json.encode(part).decode()}) for part, data in parts_of(LINE, whole, 20)]
    assert [(each.height, each.id, each.end) for each in messages] == [(7, "", 20), (8, "08aa", 30)]
    assert (messages[1].previous, messages[1].time, messages[1].edits) == ("07aa", 1_800_000_000, 2)
