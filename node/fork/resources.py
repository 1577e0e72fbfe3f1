"""Reads the resources of a source, with the parameters of their pools and prices, and the pools."""

from typing import Any

from node.fork.rows import Reader
from rpc.declare.record_fields import whole_number
from state.plugins.rc.prices import RESOURCES, Resource
from state.protocol.errors import ChainError

RESOURCE_PARAMETERS, RESOURCE_POOLS = "rc_api.get_resource_params", "rc_api.get_resource_pool"


def resources_in(reader: Reader, method: str, reply: Any) -> tuple[Resource, ...]:
    """Return the resources with their parameters. Raises SourceWrong."""
    shown = object_in(reader, method, reply, "resource_params")
    return tuple(_resource(reader, method, resource.name, shown.get(resource.name)) for resource in RESOURCES)


def pools_in(reader: Reader, method: str, reply: Any) -> tuple[int, ...]:
    """Return the contents of the pools. Raises SourceWrong."""
    shown = object_in(reader, method, reply, "resource_pool")
    names = [resource.name for resource in RESOURCES]
    return tuple(_number(reader, method, object_in(reader, method, shown, name), name, "pool") for name in names)


def _resource(reader: Reader, method: str, name: str, shown: Any) -> Resource:
    pool = object_in(reader, method, shown, "resource_dynamics_params", name)
    price, decay = object_in(reader, method, shown, "price_curve_params", name), object_in(reader, method, pool, "decay_params", name)

    def number(values: Any, member: str) -> int:
        return _number(reader, method, values, name, member)

    return Resource(
        name,
        unit=number(pool, "resource_unit"),
        budget=number(pool, "budget_per_time_unit"),
        pool_eq=number(pool, "pool_eq"),
        max_pool=number(pool, "max_pool_size"),
        decay=number(decay, "decay_per_time_unit"),
        decay_shift=number(decay, "decay_per_time_unit_denom_shift"),
        coeff_a=number(price, "coeff_a"),
        coeff_b=number(price, "coeff_b"),
        shift=number(price, "shift"),
        min_decay=number(pool, "min_decay") if "min_decay" in pool else 0,
    )


def object_in(reader: Reader, method: str, value: Any, name: str, path: str = "") -> dict[str, Any]:
    """Return a member of a value that must be an object. `path` is the path of the value in the reply. Raises SourceWrong."""
    found = value.get(name) if type(value) is dict else None
    if type(found) is not dict:
        raise reader.wrong(method, f"{path}.{name}".strip("."), "it is not an object")
    return found


def _number(reader: Reader, method: str, values: dict[str, Any], path: str, name: str) -> int:
    try:
        return whole_number(values.get(name))
    except ChainError as error:
        raise reader.wrong(method, f"{path}.{name}", str(error)) from None
