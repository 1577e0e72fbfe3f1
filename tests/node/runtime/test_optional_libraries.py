"""Errors for missing optional libraries."""

from node.runtime.errors import NodeError
from node.runtime.optional_libraries import load_extra
from tests.helpers.golden import fails


def test_an_installed_library_is_loaded() -> None:
    assert load_extra("json", "data", what="an export").__name__ == "json"


def test_a_missing_library_is_an_error() -> None:
    with fails(NodeError):
        load_extra("no_such_module.sub", "nats", what="a relay")
