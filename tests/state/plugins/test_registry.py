"""The registry of plugins: their names and order, the methods that need a plugin, and the independence of plugins from each other."""

from typing import Any

import pytest

import rpc.api
from node.specs.plugins import KNOWN
from rpc.declare.method import METHODS
from rpc.declare.plugin_switches import OPTIONAL_GROUPS, REWARDS_API, hint, names_of
from state.plugins.follow.plugin import FOLLOW
from state.plugins.plugin import Plugin
from state.plugins.rc.plugin import RC
from state.plugins.registry import DECLARED, PLUGINS, enable
from state.plugins.reputation import REPUTATION
from state.tables import State
from tests.helpers.chains import chain_at
from tests.helpers.golden import fails

assert rpc.api


def test_names_are_those_of_the_declarations() -> None:
    assert list(PLUGINS) == [plugin.name for plugin in DECLARED]
    assert len(PLUGINS) == len(DECLARED)
    assert (*PLUGINS, "rewards_api") == KNOWN


def test_plugins_come_after_the_ones_they_use() -> None:
    for place, plugin in enumerate(DECLARED):
        assert all(used in DECLARED[:place] for used in plugin.uses), plugin.name


@pytest.mark.parametrize("plugin", DECLARED, ids=lambda plugin: plugin.name)
def test_each_plugin_works_alone(plugin: Plugin[Any]) -> None:
    state = chain_at(plugins=[plugin.name]).state
    assert list(state.plugins) == [plugin.name]
    assert plugin.is_on(state)
    assert isinstance(plugin.of(state), plugin.keeps)
    assert plugin.find(state) is plugin.of(state)


def test_a_plugin_that_is_off_has_no_data() -> None:
    state = chain_at(plugins=[]).state
    assert not FOLLOW.is_on(state)
    assert FOLLOW.find(state) is None
    with pytest.raises(KeyError):
        FOLLOW.of(state)


def test_plugins_are_installed_in_the_order_of_the_registry() -> None:
    state = chain_at(plugins=[]).state
    enable(state, ["follow", REWARDS_API.name, "reputation", "account_by_key"])
    assert list(state.plugins) == ["account_by_key", "reputation", "follow"]


def test_data_of_another_type_raises_a_type_error() -> None:
    def install(state: State) -> Any:
        return []

    wrong: Plugin[Any] = Plugin("wrong", dict, install)
    with fails(AssertionError):
        wrong.enable(chain_at(plugins=[]).state)


def test_methods_name_the_plugin_that_serves_their_group() -> None:
    serving = {group: plugin.name for plugin in DECLARED for group in plugin.serves}
    serving |= {group.name: group.name for group in OPTIONAL_GROUPS}
    assert set(serving) <= {method.group for method in METHODS.values()}
    for method in METHODS.values():
        if method.group in serving:
            assert method.plugins == (serving[method.group],), method.name
        elif method.plugins:
            assert method.group in ("condenser_api", "explorer_api"), method.name
        assert all(name in KNOWN for name in method.plugins), method.name


def test_hints_name_the_missing_plugin() -> None:
    assert names_of((FOLLOW, REPUTATION)) == ("follow", "reputation")
    assert hint(names_of(RC)) == "this needs the plugin rc, which is off. Start the node with --enable rc"
    assert hint(names_of(REWARDS_API)).startswith("this needs the group of methods rewards_api, which is off")
