"""Fixtures for the tests of documentation pages."""

from collections.abc import Iterator

import pytest

from tests.docs.session import environment
from tests.helpers.warm import Warm
from tests.helpers.wheels import Installed


@pytest.fixture(scope="session")
def warm(package: Installed) -> Iterator[Warm]:
    """The installed coind in a preloaded Python, with the imports of the pages' programs."""
    started = Warm(package.python, ["coind.node.*", "coind.rpc.*", "coind.data", "coind.testing", "pandas"], environment())
    yield started
    started.end()
