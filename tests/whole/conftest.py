"""What the tests of whole programs share."""

from collections.abc import Iterator

import pytest

from tests.whole.suites.project import PYTEST
from tests.whole.test_command import CHECKOUT


@pytest.fixture(scope="session", autouse=True)
def _warm() -> Iterator[None]:
    """End what runs programs in forks."""
    yield
    CHECKOUT.end()
    PYTEST.end()
