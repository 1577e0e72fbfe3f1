"""Shared fixtures of the tests of the pytest plugin."""

from pathlib import Path

import pytest

from tests.end_to_end.suites.project import Project
from tests.helpers.wheels import Installed


@pytest.fixture
def project(tmp_path: Path, package: Installed) -> Project:
    """A user's project folder."""
    return Project(tmp_path, package)
