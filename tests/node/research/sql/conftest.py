"""The workload of the repository as an export with tables, and the state that its blocks lead to."""

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
    """An export, its blocks, and the state after them."""

    folder: Path
    blocks: list[SignedBlock]
    state: State
    connection: Any

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """The rows of a query."""
        found: list[dict[str, Any]] = self.connection.sql(sql).to_arrow_table().to_pylist()
        return found


@pytest.fixture(scope="session")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The workload, exported once."""
    folder = tmp_path_factory.mktemp("workload") / "export"
    state = exported(folder).chain.state
    blocks = list(BlockFile(WORKLOAD, state.wire))
    connection = open_export(folder)
    yield Exported(folder, blocks, state, connection)
    connection.close()
