"""Parsing of valid and invalid lines of a packed stream."""

import pytest

from node.replicas.follow.stream_lines import read_packed
from node.runtime.errors import NodeError
from rpc.push.events import COMMAS_MAX

NO_LINES = [
    b"",
    b"{}",
    b"5",
    b"[]",
    b'"undone"',
    b"null",
    b"NaN",
    b'{"undone":5}',
    b'{"undone":{"first":1e999,"last":1}}',
    b'{"undone":{"first":"' + b"9" * 5000 + b'","last":1}}',
    b'{"head":1e999}',
    b'{"head":' + b"9" * 30 + b"}",
    b'{"block":-1,"id":"","packed":""}',
    b'{"undone":{"first":-1,"last":1}}',
    b'{"block":1,"id":"","packed":"","accepted":[1' + b",1" * COMMAS_MAX + b"]}",
    b'{"chain":{"name":"' + b"x" * 201 + b'"}}',
    b"[" * 300_000,
    b"[" * 2000,
    b'{"a":' * 300_000,
]


@pytest.mark.parametrize("line", NO_LINES, ids=lambda line: line[:30].decode())
def test_an_invalid_line_is_an_error(line: bytes) -> None:
    with pytest.raises(NodeError):
        read_packed(line)
