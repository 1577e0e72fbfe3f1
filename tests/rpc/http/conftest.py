"""What the tests of the transport share."""

import pytest

from rpc.http.server import serve


@pytest.fixture(params=[True, False], ids=["fast path", "hypercorn"])
def both_paths(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether servers have the fast path: a test with this fixture runs with it, and with hypercorn alone."""
    assert serve.__kwdefaults__ is not None
    monkeypatch.setitem(serve.__kwdefaults__, "has_fast_path", request.param)
    return bool(request.param)
