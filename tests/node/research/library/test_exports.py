"""SQL queries on an export in a script."""

from pathlib import Path

import pytest

from node.research.library import DataError, open_export
from tests.helpers.exported import exported


def test_an_export_is_queried_in_a_script(tmp_path: Path) -> None:
    exported(tmp_path / "export")
    with open_export(tmp_path / "export") as database:
        frame = database.sql("SELECT max(block) AS last, coins(1500) AS coins FROM blocks").df()
    assert frame["last"].tolist() == [155]
    assert float(frame["coins"][0]) == 1.5
    with pytest.raises(DataError, match=r"manifest\.json"):
        open_export(tmp_path)
