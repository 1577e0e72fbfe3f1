"""Calls that need a block that another program has cut or changed in the log get an error with its number. Lists don't lose its posts."""

import os
from pathlib import Path
from typing import Any

import pytest

from node.storage.blocklog import BlockLog
from state.operations.content import Comment
from state.protocol.keys.keys import derive_secret
from tests.helpers.api import ApiChain
from tests.helpers.log_capture import capture_logs
from tests.helpers.nodes import DEV, make_block, signed_transaction
from tests.helpers.social import PLUGINS

NAMED = "Assert Exception:block is readable: block 2 can't be read, see the log of the node"


@pytest.fixture(params=["cut", "changed"])
def api(tmp_path: Path, request: pytest.FixtureRequest) -> ApiChain:
    """A chain with a post in block 2, of which the log has only the beginning, or with another letter."""
    api = ApiChain(DEV, PLUGINS)
    log = BlockLog(tmp_path, api.wire)
    api.chain.on_head_change.append(lambda change: log.switch(change.popped, change.applied))
    api.chain.irreversible_blocks.attach_log(log.packed, lambda: log.head.number, log.part)
    make_block(api.chain)
    size = log.size
    comment = Comment("", "art", "alice", "one", "A title", "A body", '{"tags":["art"]}')
    api.chain.push_transaction(signed_transaction(api.chain, [comment], derive_secret("alice", "posting", "dev")))
    for _ in range(30):
        make_block(api.chain)
    if request.param == "cut":
        os.truncate(log.path, size + 10)
    else:
        data = log.path.read_bytes()
        assert data.count(b"A body") == 1
        log.path.write_bytes(data.replace(b"A body", b"B body"))
    return api


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("condenser_api.get_content", ("alice", "one")),
        ("condenser_api.get_discussions_by_created", ({"tag": "art", "limit": 10},)),
        ("condenser_api.get_blog", ("alice", 0, 10)),
        ("condenser_api.get_block", (2,)),
        ("condenser_api.get_ops_in_block", (2,)),
        ("condenser_api.get_account_history", ("alice", -1, 10)),
    ],
)
def test_the_error_names_the_block(api: ApiChain, method: str, params: tuple[Any, ...]) -> None:
    with capture_logs() as logged:
        assert api.refused(method, *params) == (-32003, NAMED)
    assert [line["block"] for line in logged] == [2]
    assert "another program" in logged[0]["reason"]
