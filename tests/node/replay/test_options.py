"""Options of `coind replay`: positions, checkpoints, and combinations that are refused."""

from pathlib import Path

import pytest

from node.history.apply import BlockPoint
from node.replay.options import read_checkpoints, read_point, require_together
from node.runtime.errors import NodeError
from tests.helpers.golden import fails

BLOCK_ID = "00000064" + 32 * "a"


@pytest.mark.parametrize(
    ("text", "point"), [("0", BlockPoint(0)), ("80", BlockPoint(80)), ("81:0", BlockPoint(81, 0)), ("81:12", BlockPoint(81, 12))]
)
def test_a_point_is_a_block_or_a_position_in_a_block(text: str, point: BlockPoint) -> None:
    assert read_point(text) == point
    assert str(point) == text


@pytest.mark.parametrize("text", ["", "-1", "1:", ":1", "1:2:3", "0:1", "99999999999", "5000000000", "x", "1.5"])
def test_other_points_are_refused(text: str) -> None:
    with fails(NodeError):
        read_point(text)


def test_checkpoints_are_ids_by_number() -> None:
    assert read_checkpoints([f"100:{BLOCK_ID}", f"100:{BLOCK_ID.upper()}"]) == {100: bytes.fromhex(BLOCK_ID)}
    for texts in (["100"], ["100:00"], [f"101:{BLOCK_ID}"], [f"100:{BLOCK_ID}", f"100:{BLOCK_ID[:-1]}b"]):
        with fails(NodeError):
            read_checkpoints(texts)


def test_contradicting_options_are_refused() -> None:
    nothing: dict[str, object] = {"--data": None, "--from": None, "--checkpoint": ()}
    require_together(nothing, None, None)
    require_together(nothing, "2", Path("s"))
    with fails(NodeError):
        require_together(nothing, "2", None)
    with fails(NodeError):
        require_together({**nothing, "--data": "d", "--checkpoint": ("x",)}, "2", Path("s"))
    with fails(NodeError):
        require_together({**nothing, "--data": "d", "--from": Path("s")}, None, None)
