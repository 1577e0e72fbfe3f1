"""Each method of dev_api has a `coind dev` command, and a method in the chain classes for test suites in Python and in JavaScript."""

import re

import pytest

import rpc.api  # noqa: F401 - fills METHODS
from node.client.dev_api import DevApi
from rpc.declare.method import METHODS
from tests.conftest import ROOT

# Methods that a command or class lacks, with the reason.
COMMANDS_WITHOUT: dict[str, str] = {}
CHAINS_WITHOUT = {"list_refused": "a refusal is raised where it happens; `refused` of the plugin's chain hears of those of other clients"}

VERBS = {name.removeprefix("dev_api.") for name, method in METHODS.items() if method.group == "dev_api" and not method.needs_session}


@pytest.mark.parametrize(
    ("path", "called", "without"),
    [
        ("node/cli/dev/app.py", r'call_(?:and_print|with_amount)\(options, "(\w+)"|remote\.call\("dev_api\.(\w+)"', COMMANDS_WITHOUT),
        ("node/client/dev_api.py", r'self\.call\("dev_api\.(\w+)"', CHAINS_WITHOUT),
        ("bin/package/npm/chain.js", r"this\.call\('dev_api\.(\w+)'", {}),
    ],
)
def test_every_dev_api_method_has_a_verb(path: str, called: str, without: dict[str, str]) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    found = {name for match in re.finditer(called, text) for name in match.groups() if name}
    assert found == VERBS - without.keys()


def test_javascript_has_the_same_verbs_as_python() -> None:
    python = {name for name in vars(DevApi) if not name.startswith("_")} - {"accounts"}
    folder = ROOT / "bin" / "package" / "npm"
    untyped = (folder / "chain.js").read_text(encoding="utf-8")
    typed = (folder / "index.d.ts").read_text(encoding="utf-8").partition("class Chain ")[2].partition("\n}\n")[0]
    for text, method in ((untyped, r"^  async (\w+)\("), (typed, r"^  (\w+)(?:<.*>)?\(.*: Promise")):
        found = {re.sub("[A-Z]", lambda capital: f"_{capital[0].lower()}", name) for name in re.findall(method, text, re.MULTILINE)}
        assert found == python | {"connect", "refused"}
