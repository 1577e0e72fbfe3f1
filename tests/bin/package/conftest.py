"""What the tests of the package share."""

import os
from pathlib import Path

import pytest

from tests.helpers.wheels import Installed, installed


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder for temporary files that all workers of a run share."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def package(base: Path) -> Installed:
    """The wheel, installed."""
    return installed(base)
