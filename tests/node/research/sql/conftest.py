"""An export of the repository's workload, with tables, and the state that results from its blocks."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from node.research.sql.connection import open_export
from node.storage.blockfile import BlockFile
from state.protocol.transaction import SignedBlock
from state.tables import State
from tests.helpers.exported import WORKLOAD, exported


class Exported(Struct):
    """An export, its blocks, and the state after the last of them."""

    folder: Path
    blocks: list[SignedBlock]
    state: State
    connection: Any

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """Run a query, and return its rows."""
        found: list[dict[str, Any]] = self.connection.sql(sql).to_arrow_table().to_pylist()
        return found


@pytest.fixture(scope="session")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The workload, which is exported once for all tests."""
    folder = tmp_path_factory.mktemp("workload") / "export"
    state = exported(folder).chain.state
    blocks = list(BlockFile(WORKLOAD, state.wire))
    connection = open_export(folder)
    yield Exported(folder, blocks, state, connection)
    connection.close()
