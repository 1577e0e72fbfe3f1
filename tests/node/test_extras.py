"""What is said where a library of an extra isn't there."""

import pytest

from node.extras import load_extra
from node.failures import NodeError


def test_a_library_that_is_there_is_loaded() -> None:
    assert load_extra("json", "data", what="an export").__name__ == "json"


def test_a_missing_one_is_named_with_the_way_to_get_it() -> None:
    with pytest.raises(NodeError, match=r"^a relay needs no_such_module, which isn't installed; install it: bin/coind install nats$"):
        load_extra("no_such_module.sub", "nats", what="a relay")
