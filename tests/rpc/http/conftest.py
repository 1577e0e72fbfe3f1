"""What the tests of the transport share."""

import pytest

from rpc.http.asgi_app import serve


@pytest.fixture(params=[True, False], ids=["lanes", "hypercorn"])
def lanes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether servers have the fast path: a test with this fixture runs with it, and with hypercorn alone."""
    assert serve.__kwdefaults__ is not None
    monkeypatch.setitem(serve.__kwdefaults__, "has_lanes", request.param)
    return bool(request.param)
