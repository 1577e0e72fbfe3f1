"""Results of reads are cached between changes of the chain, and replies don't depend on it."""

import pytest

from rpc.caller import ANYBODY, LOCAL
from rpc.declare.method import Method, method
from rpc.jsonrpc import result_cache
from rpc.jsonrpc.dispatch import Service
from rpc.jsonrpc.result_cache import ResultCache
from state.protocol.work import Work
from tests.helpers.fakes import fake_wire


class Reads:
    """A service with a read that counts its calls and takes as many units as its argument says. `change` is the number of changes."""

    def __init__(self) -> None:
        registry: dict[str, Method] = {}
        self.calls, self.change, self.work = 0, 0, Work()

        @method("some_api.read", registry=registry)
        def read(state: Reads, /, units: int = 1, text: str = "") -> str:
            """Count the call."""
            state.calls += 1
            state.work.spend(units, "reading")
            return text or str(state.change)

        @method("some_api.ask", registry=registry)
        def ask(service: Service, /) -> str:
            """Return something that doesn't depend on the chain alone."""
            self.calls += 1
            return ""

        cache = ResultCache(lambda: self.change)
        self.service = Service(registry.values(), wire=fake_wire(), state=self, work=self.work, result_cache=cache)

    def reply(self, params: str = "{}", request_id: str = "1", name: str = "read", local: bool = True) -> bytes:
        """Return the reply to a call."""
        body = f'{{"jsonrpc":"2.0","method":"some_api.{name}","params":{params},"id":{request_id}}}'.encode()
        reply = self.service.answer(body, LOCAL if local else ANYBODY)
        assert isinstance(reply, bytes)
        return reply


def test_results_are_reused_until_the_chain_changes() -> None:
    reads = Reads()
    for request_id in ("1", '"a"', '",\\"id\\":"', "5000000000"):
        assert reads.reply(request_id=request_id) == b'{"jsonrpc":"2.0","result":"0","id":%s}' % (
            b'"5000000000"' if request_id == "5000000000" else request_id.encode()
        )
    assert reads.calls == 1
    assert b'"result":"x"' in reads.reply('{"text":"x"}')
    assert b'"result":"0"' in reads.reply("[]")
    assert reads.calls == 3
    reads.change += 1
    assert b'"result":"1"' in reads.reply()
    assert reads.calls == 4


def test_calls_that_depend_on_more_than_the_chain_are_made_each_time() -> None:
    reads = Reads()
    for count in (1, 2):
        reads.reply(name="ask")
        assert reads.calls == count


def test_errors_and_large_replies_are_not_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_cache, "REPLY_SIZE_MAX", 100)
    reads = Reads()
    for params in ('{"units":"x"}', '{"text":"%s"}' % ("x" * 100)):
        first = reads.reply(params)
        calls = reads.calls
        assert reads.reply(params) == first
        assert (reads.calls > calls) == (b"result" in first)


def test_a_cached_result_is_refused_like_a_new_one() -> None:
    """A client without local rights may not use more units, even if a local client has just asked for the same."""
    reads, params = Reads(), '{"units":6000}'
    refused = reads.reply(params, local=False)
    assert b'"result":"0"' in reads.reply(params)
    assert reads.reply(params, local=False) == refused
    assert b"units of work" in refused


def test_the_cache_is_emptied_when_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_cache, "CACHED_SIZE_MAX", 3 * (result_cache.ENTRY_SIZE + 100))
    reads = Reads()
    for number in range(10):
        reads.reply(f'{{"text":"{number}"}}')
    assert reads.calls == 10
    reads.reply('{"text":"9"}')
    assert reads.calls == 10
    reads.reply('{"text":"0"}')
    assert reads.calls == 11
