"""Arguments of `bridge` against tests/vectors/social.json."""

import re
from collections.abc import Callable
from functools import partial

import pytest

from rpc.api.bridge.arguments import account_argument, limit_argument, permlink_argument, tag_argument
from rpc.service.refusal import InvalidParameters
from tests.helpers.scenario import SOCIAL


@pytest.mark.parametrize("kind", ["account", "permlink", "tag", "limit"])
def test_checks_of_arguments(kind: str) -> None:
    for case in SOCIAL["param_checks"][kind]:
        value = case["input"]
        if isinstance(value, str) and value.startswith("x*"):
            value = "x" * int(value[2:])
        empty = case.get("allow_empty")
        checks: dict[str, Callable[[], object]] = {
            "account": partial(account_argument, value, may_be_empty=empty),
            "permlink": partial(permlink_argument, value, may_be_empty=empty),
            "tag": partial(tag_argument, value, may_be_empty=empty),
            "limit": partial(limit_argument, value, case.get("ubound", 0)),
        }
        if case["ok"]:
            assert checks[kind]() == case.get("value", value)
        else:
            with pytest.raises(InvalidParameters, match=f"^{re.escape(case['error'])}$"):
                checks[kind]()
