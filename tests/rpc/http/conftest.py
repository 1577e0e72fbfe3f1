"""Shared fixtures of the HTTP tests."""

import pytest

from rpc.http.server import serve


@pytest.fixture(params=[True, False], ids=["fast path", "hypercorn"])
def both_paths(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Run a test twice: on a server with the fast path, and on one that handles all requests with hypercorn. The value is True for the
    former.
    """
    assert serve.__kwdefaults__ is not None
    monkeypatch.setitem(serve.__kwdefaults__, "has_fast_path", request.param)
    return bool(request.param)
