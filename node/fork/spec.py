"""The chain of a source: its spec, and the reader of its rows."""

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from node.client.errors import NoNode
from node.fork.rows import Reader
from node.fork.source import Source
from node.specs.foreign import NotOfFamily, known_specs, spec_of
from state.protocol.spec import TEST_BUILD, ChainSpec

Item = TypeVar("Item")
CONFIG = ("condenser_api.get_config", "database_api.get_config")
VERSION = ("condenser_api.get_version", "database_api.get_version")
PROPERTIES = "condenser_api.get_dynamic_global_properties"
HARDFORKS = "database_api.get_hardfork_properties"
HARDFORK_MAX = len(TEST_BUILD.HARDFORK_TIMES)
"""The last hardfork whose rules are here."""

_readers: WeakKeyDictionary[Source, Reader] = WeakKeyDictionary()


async def reader_of(source: Source, spec: ChainSpec | None = None) -> Reader:
    """Return the reader of a source's rows, which is made at the first call. Its notes are those of all reading from the source.

    `spec` is the spec of the source's chain; by default it is read. Raises NoNode if the source is not a node of the family.
    """
    reader = _readers.get(source)
    if reader is None:
        reader = _readers[source] = Reader(source.url, spec or await read_spec(source))
    return reader


async def read_spec(source: Source) -> ChainSpec:
    """Return the spec of the source's chain: the one in `genesis/` if there is one, otherwise one with the source's constants.

    Raises NoNode if the source is not a node of the family.
    """
    config, version, properties = [await _object(source, *methods) for methods in (CONFIG, VERSION, (PROPERTIES,))]
    try:
        spec = spec_of(config, version, properties)
    except NotOfFamily as error:
        raise NoNode(f"{source.url} {error}") from None
    if spec in known_specs():
        return spec
    found = await source.first_of((HARDFORKS, {}))
    if found is None:
        return spec
    row = Reader(source.url, spec).row("hardfork_properties", HARDFORKS, found[1])
    # Number 0 is genesis. Hardforks that the source doesn't report, but the build has, come later.
    times = tuple(row["processed_hardforks"][1 : HARDFORK_MAX + 1])
    constants = replace(spec.constants, HARDFORK_TIMES=times + spec.constants.HARDFORK_TIMES[len(times) :])
    return replace(spec, constants=constants)


async def _object(source: Source, *methods: str) -> dict[str, Any]:
    found = await source.first_of(*((method, [] if method.startswith("condenser_api.") else {}) for method in methods))
    if found is None or type(found[1]) is not dict:
        raise NoNode(f"{source.url} is not a node of this chain family: {methods[0]} doesn't return an object")
    return found[1]


def chunks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield the items in lists of at most `size`."""
    every = list(items)
    return (every[at : at + size] for at in range(0, len(every), size))
