"""The source of blocks from a broker. A short script replaces the child process that reads the broker."""

import sys
from collections.abc import Callable

import pytest

from node.client.errors import WrongChain
from node.client.urls import broker_url, followed_url, node_url
from node.replicas.follow import broker
from node.replicas.follow.broker import BrokerSource
from node.replicas.follow.sources import SyncPosition
from node.runtime.errors import NodeError
from node.specs.builder import load_spec
from rpc.push.events import StreamHeader, encode_line, new_block
from rpc.push.header import genesis_fingerprint
from state.protocol.spec import ChainSpec
from tests.helpers.followed import replica_of, until
from tests.helpers.golden import fails
from tests.helpers.nodes import DEV, dev_chain, make_block

Say = Callable[..., None]
URL = "nats://127.0.0.1:4222"
START = SyncPosition(0, 1, "")


def about(spec: ChainSpec = DEV) -> bytes:
    """Return the stream header with which the child process's output begins."""
    header = StreamHeader(name=spec.name, chain_id=spec.chain_id.hex(), genesis=genesis_fingerprint(spec), head=2)
    return encode_line(header) + b"\n"


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> Say:
    """A function that sets the bytes that the child process writes, and the time that it sleeps before it exits."""

    def say(data: bytes, seconds: float = 0) -> None:
        text = f"import sys, time; sys.stdout.buffer.write({data!r}); sys.stdout.flush(); time.sleep({seconds})"
        monkeypatch.setattr(broker, "COMMAND", (sys.executable, "-S", "-c", text))

    monkeypatch.setattr(broker, "find_spec", lambda name: name)
    return say


async def what_comes(spec: ChainSpec = DEV) -> list[object]:
    """Read a source to its end. Return its events, or raise the error with which the source ends."""
    found: list[object] = []
    async for batch in BrokerSource(URL, spec).batches(START):
        found += batch
    return found


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"garbage\n",
        b'{"error":"the broker has gone"}\n',
        about() + b'{"block":"one"}\n',
        about() + b'{"error":"no more"}\n',
    ],
)
async def test_invalid_output_of_the_child_is_an_error(says: Say, data: bytes) -> None:
    says(data)
    with fails(NodeError):
        await what_comes()


async def test_blocks_of_another_chain_are_refused(says: Say) -> None:
    says(about())
    with fails(WrongChain):
        await what_comes(load_spec("steem-mainnet"))


async def test_a_replica_applies_blocks_from_a_broker(says: Say) -> None:
    chain = dev_chain()
    lines = [encode_line(new_block(chain, make_block(chain))) + b"\n" for _ in range(2)]
    says(about() + b"".join(lines), seconds=10)
    async with replica_of(URL) as replica:
        await until(lambda: replica.is_like(chain))


async def test_queries_are_answered_by_one_line(says: Say) -> None:
    source = BrokerSource(URL, DEV)
    says(b'{"head":7}\n')
    assert await source.head() == 7
    says(b'{"id":"00ff"}\n')
    assert await source.id_of(3) == b"\x00\xff"
    says(b'{"id":""}\n')
    assert await source.id_of(3) is None


def test_a_missing_library_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker, "find_spec", lambda name: None)
    with fails(NodeError):
        BrokerSource(URL, DEV)


def test_addresses_are_checked() -> None:
    assert (followed_url(URL), followed_url("there:8090"), node_url("https://there")) == (URL, "http://there:8090", "https://there")
    for text in ("nats://", "nats://a b", "nats://a:0", "nats://a:b", "nats://a..b"):
        with fails(NodeError):
            broker_url(text)
