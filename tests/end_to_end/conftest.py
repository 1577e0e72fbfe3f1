"""Shared fixtures of the tests that run whole programs."""

from collections.abc import Iterator

import pytest

from tests.end_to_end.suites.project import PYTEST
from tests.end_to_end.test_command import CHECKOUT


@pytest.fixture(scope="session", autouse=True)
def _warm() -> Iterator[None]:
    """End the preloaded Python process that runs programs in forks."""
    yield
    CHECKOUT.end()
    PYTEST.end()
