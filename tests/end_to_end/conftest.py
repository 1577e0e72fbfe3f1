"""What the tests of whole programs share."""

from collections.abc import Iterator

import pytest

from tests.end_to_end.suites.project import PYTEST
from tests.end_to_end.test_command import CHECKOUT


@pytest.fixture(scope="session", autouse=True)
def _warm() -> Iterator[None]:
    """End what runs programs in forks."""
    yield
    CHECKOUT.end()
    PYTEST.end()
