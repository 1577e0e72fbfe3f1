"""The calls that bench/waits.py measures return the same results when they are read incrementally, even while posts change."""

import json

import pytest

from bench import waits
from bench.waits import CALLS, Node, filled, large_bodies, request
from node.monitoring.warm_up import warm_up
from rpc.caller import LOCAL
from state.operations.content import Vote

POSTS = 120


def voted(node: Node, number: int) -> None:
    """Cast a vote that changes the rank of a post."""
    node.chain.apply(Vote(f"user-{number + 1:06d}", f"user-{number + 2:06d}", "post", 5000))


@pytest.fixture
def _small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("state.store.lazy.incremental", "state.store.lazy.order", "state.plugins.social.ranked_posts"):
        monkeypatch.setattr(f"{module}.CHUNK_ROWS", 3)
    monkeypatch.setattr("state.plugins.tags.view.COMMENTS_CHUNK", 2)
    monkeypatch.setattr("state.plugins.social.communities.lists.COUNTED_CHUNK", 4)


@pytest.mark.usefixtures("_small_slices")
@pytest.mark.parametrize("is_ahead", [False, True], ids=["called first", "read ahead"])
async def test_incremental_calls_return_the_same_result(is_ahead: bool) -> None:
    sliced, whole = filled(POSTS), filled(POSTS)
    if is_ahead:
        await warm_up(sliced.chain.state)
    waited = 0
    for method, params in CALLS:
        body = request(method, params)
        reply = await sliced.service.answer_in_turn(body, LOCAL)
        if not isinstance(reply, bytes):
            waited += 1
            # The call has started but not returned. A change at this time must appear in its result.
            voted(sliced, waited)
            voted(whole, waited)
            reply = await reply
        plain = whole.service.answer(body, LOCAL)
        assert isinstance(plain, bytes)
        assert reply == plain, (method, params)
        assert "result" in json.loads(plain), (method, params, plain[:300])
    assert waited <= 3 if is_ahead else waited > 10
    for table in (sliced.chain.state.comments, sliced.chain.state.accounts):
        table.check()


def test_figures_of_a_call_and_a_large_body(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "LONGEST_MILLISECONDS_MAX", 1e9)
    node = filled(POSTS)
    assert waits.calls(node, "bridge.get_payout_stats")
    assert large_bodies(node, "body: digits")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["bridge.get_payout_stats", "body:"]
    assert all(" longest " in line for line in lines)
