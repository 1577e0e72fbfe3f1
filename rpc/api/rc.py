"""Resource credits: the resources, their prices and pools, and the credits of accounts. Source: rpc-api.md §5.3."""

from functools import lru_cache
from typing import TypedDict

from rpc.declare.arguments import AccountName, Text
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder
from rpc.records.plugins import CreditsRecord, CreditsView
from state.plugins.rc.plugin import RC
from state.plugins.rc.prices import Resource
from state.plugins.rc.rows import maximum_rc
from state.plugins.rc.usage import EXECUTION_TIMES, SIZES, STATE_BYTES_SCALE
from state.protocol.errors import require
from state.protocol.operation import OPERATIONS, SMT_TAGS
from state.protocol.values.convert import json_int
from state.tables import State

ACCOUNTS_MAX = 1000


class ResourceParameters(TypedDict):
    """The resources, the parameters of their pools and prices, and the amounts of them that operations use."""

    resource_names: list[Text]
    resource_params: Json
    size_info: Json


@method("rc_api.get_resource_params", plugin=RC)
def get_resource_params(state: State) -> ResourceParameters:
    """Return the five resources, the parameters of their pools and prices, and the amounts of them that operations use."""
    resources = RC.of(state).resources
    return {
        "resource_names": [resource.name for resource in resources],
        "resource_params": {resource.name: resource_json(resource) for resource in resources},
        "size_info": size_info(state.spec.smt),
    }


@method("rc_api.get_resource_pool", key="resource_pool", plugin=RC)
def get_resource_pool(state: State) -> Json:
    """Return the size of each resource's pool, in the resource's units."""
    left = zip(RC.of(state).resources, RC.of(state).left, strict=True)
    return {resource.name: {"pool": json_int(pool)} for resource, pool in left}


@method("rc_api.find_rc_accounts", key="rc_accounts", plugin=RC, record=CreditsRecord)
def find_rc_accounts(state: State, show: RecordEncoder, /, accounts: list[AccountName]) -> list[Json]:
    """Return the resource credits of accounts as of their last update, in the given order. Unknown accounts are omitted."""
    require(len(accounts) <= ACCOUNTS_MAX, condition="args.accounts.size() <= RC_API_SINGLE_QUERY_LIMIT")
    rows = [row for name in accounts if (row := RC.of(state).accounts.by_account.get(name)) is not None]
    views = (CreditsView(row, maximum_rc(state.account(row.account), row.adjustment)) for row in rows)
    return show.each(CreditsRecord, views)


def resource_json(resource: Resource) -> Json:
    """Return the parameters of a resource's pool, and its price curve."""
    return {
        "resource_dynamics_params": {
            "resource_unit": json_int(resource.unit),
            "budget_per_time_unit": json_int(resource.budget),
            "pool_eq": json_int(resource.pool_eq),
            "max_pool_size": json_int(resource.max_pool),
            "decay_params": {"decay_per_time_unit": json_int(resource.decay), "decay_per_time_unit_denom_shift": resource.decay_shift},
            "min_decay": json_int(resource.min_decay),
        },
        "price_curve_params": {"coeff_a": json_int(resource.coeff_a), "coeff_b": json_int(resource.coeff_b), "shift": resource.shift},
    }


@lru_cache
def size_info(smt: bool) -> Json:
    """Return the state bytes of each kind of object, and the execution time of each operation.

    With `smt`, operations on tokens are included.
    """
    of_tokens = {OPERATIONS[tag].NAME for tag in SMT_TAGS}
    times = {name: time for name, time in EXECUTION_TIMES.items() if smt or name not in of_tokens}
    return {
        "resource_state_bytes": {**SIZES, "STATE_BYTES_SCALE": STATE_BYTES_SCALE},
        "resource_execution_time": {f"{name}_operation_exec_time": time for name, time in times.items()},
    }
